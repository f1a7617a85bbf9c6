//! What a run of several steps came to: a table, and one closing line.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Tests by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    /// How many passed.
    pub passed: u64,
    /// How many failed.
    pub failed: u64,
    /// How many were not run, being ignored or filtered out on purpose.
    pub skipped: u64,
}

impl TestCounts {
    /// Adds what `line` says if it is the closing line of cargo's test harness or of nextest.
    pub fn read_line(&mut self, line: &str) {
        let line = line.trim();
        let closing = line.starts_with("test result: ") || (line.starts_with("Summary [") && line.contains("run:"));
        if !closing {
            return;
        }
        let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || ",;.:()".contains(c)).collect();
        for pair in words.windows(2) {
            let Ok(count) = pair[0].parse::<u64>() else { continue };
            match pair[1] {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "timed" => self.failed += count,
                "skipped" | "ignored" => self.skipped += count,
                _ => {}
            }
        }
    }

    fn add(&mut self, other: TestCounts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

struct Step {
    name: &'static str,
    took: Duration,
    tests: Option<TestCounts>,
    failure: Option<String>,
}

/// Steps done so far. A failed step does not stop the others: one run shows all that is wrong.
#[derive(Default)]
pub struct Report {
    steps: Vec<Step>,
}

impl Report {
    /// Does a step that has no tests to count.
    pub fn step(&mut self, name: &'static str, work: impl FnOnce() -> Result<()>) {
        self.record(name, || (None, work()));
    }

    /// Does a step that runs tests.
    pub fn tests(&mut self, name: &'static str, work: impl FnOnce() -> (TestCounts, Result<()>)) {
        self.record(name, || {
            let (counts, result) = work();
            (Some(counts), result)
        });
    }

    fn record(&mut self, name: &'static str, work: impl FnOnce() -> (Option<TestCounts>, Result<()>)) {
        println!("\n=== {name}");
        let begin = Instant::now();
        let (tests, result) = work();
        let failure = result.err().map(|error| format!("{error:#}"));
        if let Some(failure) = &failure {
            eprintln!("error: {failure}");
        }
        self.steps.push(Step { name, took: begin.elapsed(), tests, failure });
    }

    /// Prints the table and the closing line; fails if a step did.
    pub fn close(self) -> Result<()> {
        println!("\n{}", self.table());
        let failed: Vec<&str> = self.steps.iter().filter(|s| s.failure.is_some()).map(|s| s.name).collect();
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }

    fn table(&self) -> String {
        let mut text = String::new();
        let mut total = TestCounts::default();
        for step in &self.steps {
            let verdict = if step.failure.is_some() { "FAILED" } else { "ok" };
            let tests = step.tests.map_or(String::new(), |t| format!("{} tests", t.passed + t.failed));
            text += &format!("{:<24} {verdict:<7} {:>7.1} s  {tests}\n", step.name, step.took.as_secs_f64());
            let mut counts = step.tests.unwrap_or_default();
            if step.failure.is_some() && counts.failed == 0 {
                // It did not get as far as its tests, or has none: the failure must show in the closing line all the
                // same.
                counts.failed = 1;
            }
            total.add(counts);
        }
        let time: f64 = self.steps.iter().map(|step| step.took.as_secs_f64()).sum();
        text += &format!("{:<24} {:<7} {time:>7.1} s\n\n", "all", "");
        text + &format!("tests: {} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn closing_lines_of_both_runners_are_read() {
        let mut counts = TestCounts::default();
        counts
            .read_line("     Summary [   0.412s] 17 tests run: 14 passed (1 slow), 2 failed, 1 timed out, 5 skipped\n");
        assert_eq!(counts, TestCounts { passed: 14, failed: 3, skipped: 5 });
        counts.read_line(
            "test result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; 9 filtered out; finished in 1.20s",
        );
        assert_eq!(counts, TestCounts { passed: 17, failed: 4, skipped: 7 });
        counts.read_line("test it_says_9_passed ... ok, 9 passed");
        assert_eq!(counts, TestCounts { passed: 17, failed: 4, skipped: 7 });
    }

    #[test]
    fn a_failed_step_lets_the_others_run_and_shows_in_the_closing_line() {
        let mut report = Report::default();
        report.step("broken", || Err(anyhow!("no")));
        report.tests("sound", || (TestCounts { passed: 2, failed: 0, skipped: 1 }, Ok(())));
        let table = report.table();
        assert_eq!(table.lines().last(), Some("tests: 2 passed, 1 failed, 1 skipped"));
        assert_eq!(report.close().unwrap_err().to_string(), "failed: broken");
    }

    #[test]
    fn all_well() {
        let mut report = Report::default();
        report.tests("sound", || (TestCounts { passed: 2, failed: 0, skipped: 0 }, Ok(())));
        assert!(report.close().is_ok());
    }
}

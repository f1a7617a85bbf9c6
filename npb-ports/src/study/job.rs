//! One run: this same program, started as a job of its own through the launcher.

use std::path::PathBuf;
use std::time::Duration;

use rwmpi::Protocol;
use rwmpi_launcher::{JobSpec, Output, Section, Transport};

use super::plan::{Cell, Mode};
use super::record::Outcome;
use super::run::Runner;
use crate::Class;

/// Runs this same program as a job of its own.
pub struct JobRunner {
    /// The program.
    pub program: PathBuf,
    /// How long a run may take.
    pub timeout: Duration,
    /// What carries messages.
    pub transport: Transport,
}

impl Runner for JobRunner {
    fn run(&self, cell: Cell, class: Class) -> Result<Outcome, String> {
        let class = class.to_string();
        let benchmark = cell.benchmark.to_string();
        let mut arguments = vec![benchmark.as_str(), "--class", &class, "--json", "-"];
        let protocol = match cell.mode {
            Mode::Sr => Protocol::Sr,
            Mode::Nsr => Protocol::Nsr,
            Mode::Auto | Mode::OneSided => Protocol::Auto,
        };
        if cell.mode == Mode::OneSided {
            arguments.push("--one-sided");
        }
        let section = Section::new(&self.program).arguments(arguments).ranks(cell.ranks);
        let job = JobSpec::new(section)
            .protocol(protocol)
            .transport(self.transport)
            .output(Output::Capture)
            .timeout(self.timeout);
        let job = job.run().map_err(|error| error.to_string())?;
        judge(job.exit_code, job.report.as_deref(), &job.stdout, &job.stderr)
    }

    fn transport(&self) -> Transport {
        self.transport
    }
}

/// What a run's exit code, report and output amount to.
fn judge(exit_code: u8, report: Option<&str>, stdout: &str, stderr: &str) -> Result<Outcome, String> {
    // The result comes even if it does not verify; then the exit code is not zero.
    let results: Result<Vec<Outcome>, _> = serde_json::from_str(stdout);
    if let Ok(results) = &results
        && results.iter().any(|result| !result.verified)
    {
        let wrong: Vec<&str> = stderr.lines().filter(|line| line.ends_with("WRONG")).map(str::trim).collect();
        return Err(format!("the result does not verify. {}", wrong.join("; ")).trim_end().to_owned());
    }
    if exit_code != 0 || report.is_some() {
        let reported =
            report.map_or_else(|| format!("it ended with exit code {exit_code}"), |text| text.trim().to_owned());
        let said = last_lines(stderr);
        return Err(if said.is_empty() { reported } else { format!("{reported}\n  it said: {said}") });
    }
    match results {
        Ok(results) => results.into_iter().next().ok_or_else(|| "it reported no result".to_owned()),
        Err(error) => Err(format!("what it reported cannot be understood: {error}")),
    }
}

/// How much of a failed run's output its failure quotes.
const LINES_QUOTED: usize = 3;

fn last_lines(text: &str) -> String {
    // A backtrace, if there is one, would hide what was said before it.
    let said = text.lines().take_while(|line| *line != "stack backtrace:");
    let lines: Vec<&str> = said.filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES_QUOTED)..].join("\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = r#"[{"benchmark":"cg","class":"S","seconds":0.5,"mops":10.0,"verified":true,"messages":3,"bytes":24,
        "remote_write_messages":1,"remote_write_bytes":8,"large_messages":0,"large_bytes":0,"large_single_copy_bytes":0,
        "requests_posted":2,"requests_reposted":0,"requests_used":1,"requests_stale":1,"requests_skipped":0,
        "requests_dropped":0,"communication":[[{"messages":3,"bytes":24}]]}]"#;

    #[test]
    fn a_good_run_is_read_from_its_output() {
        let outcome = judge(0, None, RESULT, "").unwrap();
        assert_eq!((outcome.seconds, outcome.traffic.requests_stale), (0.5, 1));
        assert_eq!(outcome.communication, [[crate::PairTraffic { messages: 3, bytes: 24 }]]);
    }

    #[test]
    fn runs_that_went_wrong_say_why() {
        let unverified = RESULT.replace("true", "false");
        let told = judge(1, Some("rank 0 exited with code 1"), &unverified, " zeta: 1, reference 2, error 1: WRONG\n");
        assert_eq!(told.unwrap_err(), "the result does not verify. zeta: 1, reference 2, error 1: WRONG");
        assert_eq!(judge(139, Some("rank 1 died\n"), "", "").unwrap_err(), "rank 1 died");
        assert_eq!(
            judge(2, None, "", "error: no class\n").unwrap_err(),
            "it ended with exit code 2\n  it said: error: no class"
        );
        let panic =
            "thread 'main' panicked at src/cg.rs:1:2:\nno room\nstack backtrace:\n  0: one\n  1: two\n  2: three\n";
        let told = judge(101, Some("rank 0 exited with code 101"), "", panic).unwrap_err();
        assert!(told.ends_with("panicked at src/cg.rs:1:2:\n  no room"), "{told}");
        assert_eq!(judge(3, None, "", "").unwrap_err(), "it ended with exit code 3");
        assert!(judge(0, None, "oops", "").unwrap_err().contains("cannot be understood"));
    }
}

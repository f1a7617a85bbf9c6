//! `cargo xtask test`: by name, quickly, as a change needs it, or all that there is.
//!
//! Everything is built and run with one selection of packages: with another one, cargo would choose other features of
//! what they depend on, and compile all of them once more.

mod names;

use std::num::NonZero;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};

use crate::process::{run, run_tests, run_tests_if_any, start, works};
use crate::report::{Report, TestCounts};
use crate::workspace::{MEASURED, Workspace};
use crate::{coverage, tidy, verify, wheel};
use names::Program;

/// Tells whole-job tests in which folder the programs under test are.
const PROGRAM_FOLDER_VARIABLE: &str = "RWMPI_BIN_DIR";
/// All packages but this one, which whoever calls it has built with its own features.
const SELECTION: &[&str] = &["--workspace", "--exclude=xtask"];
/// Programs and libraries.
const TESTED: &[&str] = &["--lib", "--bins"];
/// Every test: of units, too, where there are some.
const TESTS: &str = "--tests";
/// What of whole jobs runs in the quick tier: one test in so many.
const QUICK_ONE_IN: u64 = 12;
/// What the quick tier runs besides unit tests.
const QUICK_HARNESSES: [&str; 4] = ["fabric", "programs", "suites", "examples"];
/// The same in the runner's words, without benchmarks, whole simulations, and fabrics made of others.
const QUICK: &str = "(not kind(test) | binary(fabric) | binary(programs) | binary(suites) | binary(examples)) & \
     not (package(npb) | test(simulation) | (binary(fabric) & not test(/^(threads|tcp_threads)\\//)))";
/// The profile in `.config/nextest.toml` that says how many places each test takes. So many a processor has, and one is
/// for tests that wait.
const PROFILE: &str = "xtask";
const PLACES_PER_PROCESSOR: usize = 3;
/// Seeds are below this, to be easy to type.
const SEEDS: u64 = 1_000_000;

/// What to test.
#[derive(clap::Args)]
pub struct Arguments {
    /// Only tests whose name contains all of these words, with all that they repeat in other modes; builds only what
    /// they need. A name is as the runner shows it: a module's and a function's, c/MODE/PROGRAM, fortran/ABI/PROGRAM,
    /// or MODE/PROTOCOL/CHECK of the suites
    names: Vec<String>,
    /// What one runs while working, 3 minutes after a build: format, conventions, lints, unit tests, and a small sample
    /// of the rest
    #[arg(long, conflicts_with_all = ["all", "names"])]
    quick: bool,
    /// What runs each night: every check in every mode, and the deep model checks
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Takes the same sample as the run that printed this number, and the same random cases
    #[arg(long)]
    seed: Option<u64>,
}

/// How much of what repeats itself is run: `rwmpi_tests::sample` knows these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tier {
    Quick,
    Usual,
    All,
}

/// One run's choice.
struct Tests<'a> {
    workspace: &'a Workspace,
    tier: Tier,
    seed: u64,
    /// Whether there is nextest, which runs tests in processes of their own and ends those that hang.
    nextest: bool,
}

/// Does what was asked for.
pub fn test(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    let tier = match (arguments.quick, arguments.all || !arguments.names.is_empty()) {
        (true, _) => Tier::Quick,
        (_, true) => Tier::All,
        _ => Tier::Usual,
    };
    let seed = arguments.seed.unwrap_or_else(new_seed);
    let nextest = works(&mut workspace.cargo(&["nextest", "--version"]));
    let tests = Tests { workspace, tier, seed, nextest };
    println!("seed {seed}: {}", tests.meaning_of_the_seed());
    let result = match tier {
        _ if !arguments.names.is_empty() => tests.named(&names::words(&arguments.names)?),
        Tier::Quick => tests.quick(),
        Tier::Usual | Tier::All => tests.whole(),
    };
    println!("seed {seed}");
    result
}

fn new_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_secs().wrapping_mul(31) ^ u64::from(now.subsec_nanos())) % SEEDS
}

impl Tests<'_> {
    fn meaning_of_the_seed(&self) -> &'static str {
        match self.tier {
            Tier::All => "the random cases; no test is left out",
            Tier::Quick | Tier::Usual => "what is left out, and the random cases; `--seed` takes the same again",
        }
    }

    /// The tests whose name contains all words.
    fn named(&self, words: &[String]) -> Result<()> {
        let programs = names::programs(self.workspace, words)?;
        let tests: Vec<String> = programs.iter().filter_map(test_option).collect();
        let mut report = Report::default();
        if let Some(needed) = needed(&tests) {
            report.step("programs", || run(self.cargo("build").args(needed).args(&tests)));
        }
        let mut ran = 0;
        let mut count = |(counts, result): (TestCounts, Result<()>)| {
            ran += counts.passed + counts.failed;
            (counts, result)
        };
        if !tests.is_empty() {
            let across = programs.iter().filter(|program| test_option(program).is_some()).collect::<Vec<_>>();
            let mut command = self.runner(SELECTION);
            command.args(&tests).args(self.filter(&expression(words, &across)));
            report.tests("tests across packages", || count(run_tests_if_any(&mut command)));
        }
        for program in &programs {
            let Program::Units { package, library, programs } = program else { continue };
            let mut command = self.runner(&["--package", package]);
            command.args(self.filter(&expression(words, &[program])));
            command.args([("--lib", library), ("--bins", programs)].iter().filter(|(_, has)| **has).map(|one| one.0));
            report.tests("unit tests", || count(run_tests_if_any(&mut command)));
        }
        report.close()?;
        ensure!(ran > 0, "no test has '{}' in its name", words.join(" "));
        Ok(())
    }

    /// What one runs while working.
    fn quick(&self) -> Result<()> {
        let mut report = Report::default();
        self.conventions(&mut report);
        self.build(&mut report);
        report.tests("unit tests and a sample", || {
            let mut command = self.runner(SELECTION);
            match self.nextest {
                true => run_tests(command.arg(TESTS).args(self.filter(QUICK))),
                false => run_tests(command.args(TESTED).args(QUICK_HARNESSES.map(|name| format!("--test={name}")))),
            }
        });
        report.tests("a sample of whole jobs", || {
            let mut command = self.runner(SELECTION);
            command.arg("--test=jobs");
            if self.nextest {
                command.arg(format!("--partition=hash:{}/{QUICK_ONE_IN}", self.seed % QUICK_ONE_IN + 1));
            }
            run_tests(&mut command)
        });
        report.close()
    }

    /// Everything that must pass before a change lands, or all that there is. Cheap steps come first; a failed one does
    /// not stop the rest.
    fn whole(&self) -> Result<()> {
        let workspace = self.workspace;
        let mut report = Report::default();
        self.conventions(&mut report);
        self.build(&mut report);
        report.tests("unit, integration, jobs", || run_tests(self.runner(SELECTION).arg(TESTS)));
        report.tests("xtask", || run_tests(&mut self.runner(&["--package=xtask", "--package=page-check"])));
        // The build of what is measured and the next steps each keep one processor busy for most of their time.
        let building = start(&mut workspace.cargo(MEASURED));
        report.tests("documentation tests", || run_tests(self.cargo("test").args(["--quiet", "--doc"])));
        report.step("documentation", || verify::documentation(workspace));
        report.step("book", || verify::book(workspace));
        let preemptions = if self.tier == Tier::All { verify::LOOM_DEEP } else { verify::LOOM_QUICK };
        report.tests("loom", || verify::loom_tests(workspace, preemptions));
        if self.tier == Tier::All {
            report.tests("model, deep", || verify::deep_model(workspace));
            report.step("packages for users", || verify::publishable(workspace));
            report.step("wheel for Python", || wheel::run(workspace, true));
        }
        // If that build has failed, the next step builds again and says why.
        let _ = building.map(|mut building| building.wait());
        report.step("instructions per call", || verify::counted_instructions(workspace));
        report.step("debug and release ranks in one job", || verify::mixed_job(workspace));
        report.close()
    }

    /// What is checked without running anything.
    fn conventions(&self, report: &mut Report) {
        let workspace = self.workspace;
        report.step("format", || run(&mut workspace.cargo(&["fmt", "--all", "--check"])));
        report.step("tidy", || tidy::run(workspace));
        report.step("list of supported functions", || coverage::check(workspace));
        report.step("clippy", || {
            run(&mut workspace.cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))
        });
    }

    /// All programs, libraries and tests, at once: built apart, they would differ in features.
    fn build(&self, report: &mut Report) {
        report.step("build", || run(self.cargo("build").args(TESTED).arg(TESTS)));
    }

    fn cargo(&self, command: &str) -> Command {
        let mut cargo = self.workspace.cargo(&[command]);
        cargo.args(SELECTION);
        cargo
    }

    /// The runner of tests, for those of these packages.
    fn runner(&self, packages: &[&str]) -> Command {
        let runner: &[&str] = if self.nextest { &["nextest", "run", "--no-tests=pass"] } else { &["test"] };
        let mut command = self.workspace.cargo(runner);
        command.args(packages).arg("--no-fail-fast");
        if self.nextest {
            let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
            command.args(["--profile", PROFILE, &format!("--test-threads={}", PLACES_PER_PROCESSOR * processors + 1)]);
        }
        let tier = match self.tier {
            Tier::Quick => "quick",
            Tier::Usual => "usual",
            Tier::All => "all",
        };
        command.env("RWMPI_TEST_TIER", tier).env("RWMPI_TEST_SEED", self.seed.to_string());
        command.env("PROPTEST_RNG_SEED", self.seed.to_string());
        command.env(PROGRAM_FOLDER_VARIABLE, self.workspace.target().join("debug"));
        command
    }

    /// What tells the runner to take what the expression says; without nextest, it takes all.
    fn filter(&self, expression: &str) -> Vec<String> {
        if self.nextest { vec!["-E".to_owned(), expression.to_owned()] } else { Vec::new() }
    }
}

/// How cargo is told to build a test program; unit tests are built by their runner.
fn test_option(program: &Program) -> Option<String> {
    match program {
        Program::Test { name, .. } => Some(format!("--test={name}")),
        Program::Units { .. } => None,
    }
}

/// What has to be built besides for test programs: what they start that cargo does not know of.
fn needed(tests: &[String]) -> Option<&'static [&'static str]> {
    let has = |name: &str| tests.iter().any(|test| test.ends_with(name));
    if has("=jobs") || has("=study") {
        return Some(TESTED);
    }
    has("=programs").then_some(&["--lib", "--bin=mpiexec"])
}

/// The runner's words for tests of these programs whose names, beginning with that of their program, contain all words.
fn expression(words: &[String], programs: &[&Program]) -> String {
    let shown: Vec<(String, String)> = programs.iter().map(|program| program.shown()).collect();
    let word = |word: &String| {
        let named = shown.iter().filter(|(name, _)| name.contains(word.as_str())).map(|(_, known_by)| known_by.clone());
        let ways: Vec<String> = named.chain([format!("test(~{word})")]).collect();
        format!("({})", ways.join(" | "))
    };
    words.iter().map(word).collect::<Vec<_>>().join(" & ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_c_needs_no_benchmarks_and_a_suite_nothing() {
        let option = |name: &str| vec![format!("--test={name}")];
        assert_eq!(needed(&option("programs")), Some(&["--lib", "--bin=mpiexec"][..]));
        assert_eq!(needed(&option("jobs")), Some(TESTED));
        assert_eq!(needed(&option("suites")), None);
        assert_eq!(needed(&[]), None);
    }

    #[test]
    fn words_are_looked_for_in_the_names_of_tests_and_programs() {
        let words = ["suites".to_owned(), "threads/sr/".to_owned()];
        let [package, name] = ["rwmpi-tests", "suites"].map(str::to_owned);
        let expected = "(binary(=suites) | test(~suites)) & (test(~threads/sr/))";
        assert_eq!(expression(&words, &[&Program::Test { package, name }]), expected);
    }

    #[test]
    fn seeds_are_short() {
        assert!(new_seed() < SEEDS);
    }
}

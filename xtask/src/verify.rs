//! The test run, and its parts that go deeper when run alone.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::coverage;
use crate::process::{run, run_tests, works};
use crate::report::{Report, TestCounts};
use crate::tidy;
use crate::workspace::{ONLY_PROGRAMS, Workspace};

/// Tells whole-job tests in which folder the programs under test are.
const PROGRAM_FOLDER_VARIABLE: &str = "RWMPI_BIN_DIR";

/// Everything that must pass before a change lands. Cheap steps come first; a failed one does not stop the rest.
pub fn test(workspace: &Workspace) -> Result<()> {
    let mut report = Report::default();
    report.step("format", || run(&mut workspace.cargo(&["fmt", "--all", "--check"])));
    report.step("tidy", || tidy::run(workspace));
    report.step("list of supported functions", || coverage::check(workspace));
    report.step("clippy", || {
        run(&mut workspace.cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    });
    report.step("programs", || run(workspace.cargo(&["build"]).args(ONLY_PROGRAMS)));
    report.tests("unit, integration, jobs", || run_tests(&mut workspace_tests(workspace)));
    report
        .tests("documentation tests", || run_tests(&mut workspace.cargo(&["test", "--quiet", "--doc", "--workspace"])));
    report.step("documentation", || {
        let mut doc = workspace.cargo(&["doc", "--quiet", "--workspace", "--no-deps"]);
        run(doc.env("RUSTDOCFLAGS", "-D warnings"))
    });
    report.step("book", || book(workspace));
    report.tests("loom", || loom_tests(workspace, "3"));
    report.step("instructions per call", || counted_instructions(workspace));
    report.step("debug and release ranks in one job", || mixed_job(workspace));
    report.close()
}

/// The book, as its readers get it.
fn book(workspace: &Workspace) -> Result<()> {
    if !works(Command::new("mdbook").arg("--version")) {
        println!("skipped: mdbook is not installed (cargo install mdbook)");
        return Ok(());
    }
    let (book, pages) = (workspace.root.join("docs/book"), workspace.target().join("book"));
    run(Command::new("mdbook").arg("build").arg(book).arg("--dest-dir").arg(pages))
}

/// The instructions of the calls that must stay short, against the limits kept in the repository.
fn counted_instructions(workspace: &Workspace) -> Result<()> {
    if !works(Command::new("valgrind").arg("--version")) {
        println!("skipped: valgrind is not installed (on Debian: apt-get install valgrind)");
        return Ok(());
    }
    let limits = workspace.root.join("bench/instructions.json");
    let run_bench = ["run", "--quiet", "--release", "--package", "mpi-bench", "--bin", "mpi-bench", "--"];
    run(workspace.cargo(&run_bench).args(["instructions", "--check"]).arg(limits))
}

/// A rank that says of what type its messages are, and one that does not: all kinds of values, and sums of them.
fn mixed_job(workspace: &Workspace) -> Result<()> {
    run(&mut workspace.cargo(&["build", "--quiet", "--release", "--package", "mpi-bench", "--bin", "mpi-bench"]))?;
    let program = |profile: &str| workspace.target().join(profile).join("mpi-bench");
    let benchmark = ["abstraction", "--sizes", "8,64K", "--seconds", "0.01"];
    let mut job = Command::new(workspace.target().join("debug/mpiexec"));
    job.args(["--timeout", "120", "-n", "1"]).arg(program("debug")).args(benchmark);
    run(job.args([":", "-n", "1"]).arg(program("release")).args(benchmark))
}

fn workspace_tests(workspace: &Workspace) -> Command {
    let nextest = works(&mut workspace.cargo(&["nextest", "--version"]));
    let runner: &[&str] = if nextest { &["nextest", "run"] } else { &["test", "--lib", "--bins", "--tests"] };
    let mut command = workspace.cargo(runner);
    command.args(["--workspace", "--no-fail-fast"]);
    command.env(PROGRAM_FOLDER_VARIABLE, workspace.target().join("debug"));
    command
}

/// The rings and the sleep/wake handshake in every order that memory allows, up to so many preemptions of each thread.
fn loom_tests(workspace: &Workspace, preemptions: &str) -> (TestCounts, Result<()>) {
    let mut command = workspace.cargo(&["test", "--package", "rwmpi-transport", "--lib", "loom"]);
    // A folder of its own: everything is compiled differently there.
    command.env("CARGO_TARGET_DIR", workspace.target().join("loom"));
    command.env("RUSTFLAGS", "--cfg loom").env("LOOM_MAX_PREEMPTIONS", preemptions);
    // Building takes longer than running.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0").env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    run_tests(&mut command)
}

/// Loom, deep.
pub fn loom(workspace: &Workspace) -> Result<()> {
    let mut report = Report::default();
    report.tests("loom", || loom_tests(workspace, "5"));
    report.close()
}

/// The protocol's model check, deep.
pub fn model(workspace: &Workspace) -> Result<()> {
    let mut report = Report::default();
    report.tests("model", || {
        let mut command =
            workspace.cargo(&["test", "--release", "--package", "rwmpi-tests", "--test", "protocol_model"]);
        run_tests(command.env("RWMPI_MODEL", "deep"))
    });
    report.close()
}

/// What cargo-deny says of the dependencies. Its database of vulnerabilities comes over the network, which is not everywhere.
pub fn dependencies(workspace: &Workspace) -> Result<()> {
    let mut report = Report::default();
    let check =
        |what: &[&str]| run(workspace.cargo(&["deny", "--workspace", "check", "--hide-inclusion-graph"]).args(what));
    report.step("licences and sources", || check(&["licenses", "bans", "sources"]));
    let fetched = works(&mut workspace.cargo(&["deny", "fetch", "db"]));
    report.step("vulnerabilities", || match fetched {
        true => check(&["advisories"]),
        false => {
            println!("skipped: the database of advisories cannot be fetched");
            Ok(())
        }
    });
    report.close()
}

/// Runs `.ci/run` as CI does: in a fresh clone of what is committed, without input, building from nothing.
pub fn rehearse_ci(workspace: &Workspace) -> Result<()> {
    let folder = workspace.target().join("ci");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot clear {}", folder.display()))?;
    }
    run(Command::new("git").args(["clone", "--quiet"]).arg(&workspace.root).arg(&folder))?;
    let mut script = Command::new("bash");
    script.current_dir(&folder).arg(".ci/run").env("CI", "true");
    script.env_remove("CARGO_TARGET_DIR").env_remove("RUSTUP_TOOLCHAIN");
    run(&mut script)
}

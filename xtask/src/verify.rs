//! The parts of the test run that are no tests of the workspace's own, some of which go deeper when run alone; and the
//! run as CI sees it.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use page_check::Browser;

use crate::counted;
use crate::process::{run, run_tests, works};
use crate::report::{Report, TestCounts};
use crate::workspace::{MEASURED, Workspace};

/// How many preemptions of each thread loom tries.
pub const LOOM_QUICK: &str = "3";
/// So many in a run of its own.
pub const LOOM_DEEP: &str = "5";

/// Packages for users, those that others need first.
const PUBLISHED: [&str; 12] = [
    "rwmpi-transport",
    "rwmpi-protocol",
    "rwmpi-derive",
    "rwmpi-engine",
    "rwmpi-rank",
    "rwmpi-collective",
    "rwmpi-core",
    "rwmpi-io",
    "rwmpi-heap",
    "rwmpi-launcher",
    "rwmpi-console",
    "rwmpi",
];

/// Pages that mdbook makes besides chapters: all of them as one, which asks to be printed, and parts of others.
const NO_CHAPTERS: [&str; 4] = ["print.html", "toc.html", "404.html", "index.html"];

/// Packs the packages for users and builds them from what was packed, as publishing does; nothing is sent anywhere.
pub fn publishable(workspace: &Workspace) -> Result<()> {
    forget_unpacked()?;
    // What was built from it, too.
    let folder = workspace.target().join("publishable");
    let _ = fs::remove_dir_all(&folder);
    let mut publish = workspace.cargo(&["publish", "--dry-run", "--allow-dirty"]);
    publish.arg("--target-dir").arg(folder);
    run(publish.args(PUBLISHED.iter().flat_map(|package| ["--package", package])))
}

/// Removes what cargo has unpacked of our packages before: it keeps that by name and version, and would build it
/// instead of what is packed now. Its registry of packages that are not published yet has no name.
fn forget_unpacked() -> Result<()> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let Some(Ok(registries)) = home.map(|home| fs::read_dir(home.join("registry/src"))) else { return Ok(()) };
    for registry in registries {
        let registry = registry?;
        if !registry.file_name().to_string_lossy().starts_with('-') {
            continue;
        }
        for package in fs::read_dir(registry.path())? {
            let package = package?;
            if package.file_name().to_string_lossy().starts_with("rwmpi") {
                fs::remove_dir_all(package.path())?;
            }
        }
    }
    Ok(())
}

/// The documentation of all packages, without a warning.
pub fn documentation(workspace: &Workspace) -> Result<()> {
    let mut doc = workspace.cargo(&["doc", "--quiet", "--workspace", "--no-deps"]);
    run(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// The book, as its readers get it, and as a browser shows it to them.
pub fn book(workspace: &Workspace) -> Result<()> {
    if !works(Command::new("mdbook").arg("--version")) {
        println!("skipped: mdbook is not installed (cargo install mdbook)");
        return Ok(());
    }
    let (book, pages) = (workspace.root.join("docs/book"), workspace.target().join("book"));
    run(Command::new("mdbook").arg("build").arg(book).arg("--dest-dir").arg(&pages))?;
    let Some(browser) = Browser::find() else { return Ok(()) };
    let mut chapters = Vec::new();
    for entry in fs::read_dir(&pages).with_context(|| format!("cannot read {}", pages.display()))? {
        let page = entry?.path();
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".html") && !NO_CHAPTERS.contains(&name.as_ref()) {
            chapters.push(page);
        }
    }
    chapters.sort();
    let complaints = browser.complaints(&chapters)?;
    ensure!(complaints.is_empty(), "a reader of the book would complain:\n{}", complaints.join("\n"));
    println!("{} chapters in the book", chapters.len());
    Ok(())
}

/// The instructions of the calls that must stay short, against the limits kept in the repository.
pub fn counted_instructions(workspace: &Workspace) -> Result<()> {
    if !works(Command::new("valgrind").arg("--version")) {
        println!("skipped: valgrind is not installed (on Debian: apt-get install valgrind)");
        return Ok(());
    }
    let limits = workspace.root.join("bench/instructions.json");
    run(&mut workspace.cargo(MEASURED))?;
    let program = workspace.target().join("release/mpi-bench");
    run(Command::new(program).args(["instructions", "--check"]).arg(&limits))?;
    counted::run(workspace, &limits)
}

/// A rank that says of what type its messages are, and one that does not: all kinds of values, and sums of them.
pub fn mixed_job(workspace: &Workspace) -> Result<()> {
    run(&mut workspace.cargo(MEASURED))?;
    let program = |profile: &str| workspace.target().join(profile).join("mpi-bench");
    let benchmark = ["abstraction", "--sizes", "8,64K", "--seconds", "0.01"];
    let mut job = Command::new(workspace.target().join("debug/mpiexec"));
    job.args(["--timeout", "120", "-n", "1"]).arg(program("debug")).args(benchmark);
    run(job.args([":", "-n", "1"]).arg(program("release")).args(benchmark))
}

/// The rings and the sleep/wake handshake in every order that memory allows, up to so many preemptions of each thread.
pub fn loom_tests(workspace: &Workspace, preemptions: &str) -> (TestCounts, Result<()>) {
    let mut command = workspace.cargo(&["test", "--package", "rwmpi-transport", "--lib", "loom"]);
    // A folder of its own: everything is compiled differently there.
    command.env("CARGO_TARGET_DIR", workspace.target().join("loom"));
    command.env("RUSTFLAGS", "--cfg loom").env("LOOM_MAX_PREEMPTIONS", preemptions);
    // Building takes longer than running.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
    run_tests(&mut command)
}

/// Loom, deep.
pub fn loom(workspace: &Workspace) -> Result<()> {
    let mut report = Report::default();
    report.tests("loom", || loom_tests(workspace, LOOM_DEEP));
    report.close()
}

/// The protocol's model check, deep.
pub fn model(workspace: &Workspace) -> Result<()> {
    let mut report = Report::default();
    report.tests("model", || deep_model(workspace));
    report.close()
}

/// Every interleaving of larger jobs.
pub fn deep_model(workspace: &Workspace) -> (TestCounts, Result<()>) {
    let mut command = workspace.cargo(&["test", "--release", "--package", "rwmpi-tests", "--test", "protocol_model"]);
    run_tests(command.env("RWMPI_MODEL", "deep"))
}

/// What cargo-deny says of the dependencies. Its database of vulnerabilities comes over the network, which is not
/// everywhere.
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

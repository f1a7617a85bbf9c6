//! `cargo xtask races`: threads that touch the same memory at the same time, which ThreadSanitizer sees.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::process::{run, run_tests, works};
use crate::report::Report;
use crate::sanitizer::{TARGET, THREAD, nightly_library};
use crate::workspace::Workspace;

/// Test programs with what has threads: the transport between them, ranks that are threads, threads in one rank, the
/// thread that makes progress.
const THREADED: &[&str] = &["fabric", "suites", "programs", "jobs"];
/// Of the fabrics and suites those whose peers are threads of one process. Of the programs in C those of one ABI, as
/// the other is the same code, with one lane, with several, and with a thread for progress. Not what counts how often a
/// process sleeps: the sanitizer has a thread of its own. Nor what limits memory or stacks, or catches system
/// calls: the sanitizer needs more memory and calls of its own.
const WITH_SANITIZER: &str = "kind(lib) | (binary(fabric) & test(/^threads/)) | (binary(suites) & test(/^threads/)) \
     | (binary(programs) & test(/^c\\/(standard|lanes|progress_thread)\\//) \
        & not test(/memory_limits|tested_in_vain|threads_small_stacks/)) \
     | (binary(jobs) & test(/^(ranks_as_threads|progress)::/) \
        & not test(/it_sleeps_where_nothing_happens|the_same_goes_for_ranks_on_several_nodes/))";

/// Runs under ThreadSanitizer what has threads. What ranks in different processes do to each other it can't see; that
/// is loom's part.
pub fn check(workspace: &Workspace) -> Result<()> {
    let nightly = works(Command::new("cargo").args(["+nightly", "--version"]));
    ensure!(nightly, "races needs a nightly toolchain beside the stable one: `rustup toolchain install nightly`");
    let std_source = nightly_library()?.join("src/rust/library/std").is_dir();
    ensure!(std_source, "races needs the sources of std: `rustup component add rust-src --toolchain nightly`");
    let nextest = works(Command::new("cargo").args(["nextest", "--version"]));
    ensure!(nextest, "races needs nextest: `cargo install --locked cargo-nextest`");

    let folder = workspace.target().join("thread-sanitizer");
    let sanitized = |arguments: &[&str]| {
        let mut command = workspace.cargo(&["+nightly"]);
        command.args(arguments).args(["-Zbuild-std", "--target", TARGET]).env("CARGO_TARGET_DIR", &folder);
        // With system calls by way of the C library, where the sanitizer sees what becomes of memory.
        command.env("RUSTFLAGS", "-Zsanitizer=thread --cfg rustix_use_libc");
        // A preloaded library with the sanitizer in it would have to be loaded into programs without it.
        command.env("RWMPI_SHARED_HEAP", "off");
        command
    };
    let mut report = Report::default();
    report.step("programs", || {
        run(sanitized(&["build"]).args(["--bins", "--lib", "--package=rwmpi", "--package=rwmpi-standard"]))
    });
    let c_options = THREAD.c_options(&folder)?;
    report.tests("thread sanitizer", || {
        let mut command = sanitized(&["nextest", "run", "--profile=races", "--no-fail-fast", "-E", WITH_SANITIZER]);
        command.args(["--package=rwmpi-transport", "--package=rwmpi-core", "--package=rwmpi-tests", "--lib"]);
        command.args(THREADED.iter().map(|test| format!("--test={test}")));
        command.env("RWMPI_CC_OPTIONS", c_options);
        run_tests(command.env("RWMPI_BIN_DIR", folder.join(TARGET).join("debug")))
    });
    report.close()
}

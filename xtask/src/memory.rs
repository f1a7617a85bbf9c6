//! `cargo xtask memcheck`: errors of memory that tests do not notice by themselves.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::process::{run, run_tests, works};
use crate::report::Report;
use crate::sanitizer::{ADDRESS, TARGET};
use crate::workspace::{ONLY_PROGRAMS, Workspace};

/// Of the programs in C those of one ABI, but for those about `malloc`, which is the sanitizer's here. Not libraries in
/// Fortran, nor those that are loaded before others; nor faults, which the sanitizer reports itself; nor jobs across
/// hosts, whose watchdogs know how long they take without it; nor pure state machines.
const WITH_SANITIZER: &str = "not (binary(misuse) | binary(protocol_model) \
     | (binary(programs) & not (test(/^c\\/standard\\//) & not test(/heap_/))) \
     | (binary(jobs) & test(/^(c_|fortran_|shared_heap|launcher_(faults|foreign|hosts|namespaces|ssh|starters|strangers)|\
     launcher_library::a_program_starts_itself)/)))";

/// Runs what this machine's tools allow: Miri or AddressSanitizer, and valgrind.
pub fn check(workspace: &Workspace) -> Result<()> {
    let nightly = works(Command::new("cargo").args(["+nightly", "--version"]));
    ensure!(nightly, "memcheck needs a nightly toolchain beside the stable one: `rustup toolchain install nightly`");
    let nextest = works(Command::new("cargo").args(["nextest", "--version"]));
    ensure!(nextest, "memcheck needs nextest: `cargo install --locked cargo-nextest`");
    let mut report = Report::default();
    if works(Command::new("cargo").args(["+nightly", "miri", "--version"])) {
        report.tests("miri", || {
            let mut command =
                workspace.cargo(&["+nightly", "miri", "test", "--package", "rwmpi-transport", "--lib", "--"]);
            command.args(["ring::", "blocks::", "range_set::"]).env("PROPTEST_CASES", "8");
            // For the file in which failures are remembered.
            command.env("MIRIFLAGS", "-Zmiri-disable-isolation");
            run_tests(command.env("CARGO_TARGET_DIR", workspace.target().join("miri")))
        });
    } else {
        println!("no Miri in the nightly toolchain (`rustup +nightly component add miri`): AddressSanitizer only");
    }
    address_sanitizer(workspace, &mut report)?;
    if works(Command::new("valgrind").arg("--version")) {
        report.step("valgrind", || valgrind(workspace));
    } else {
        println!("no valgrind on this machine (`apt-get install valgrind`): left out");
    }
    report.close()
}

/// A small job of which every rank runs under valgrind, to see uses of uninitialised memory too.
fn valgrind(workspace: &Workspace) -> Result<()> {
    run(workspace.cargo(&["build"]).args(ONLY_PROGRAMS))?;
    let programs = workspace.target().join("debug");
    let mut job = Command::new(programs.join("mpiexec"));
    job.args(["-n", "2", "valgrind", "--quiet", "--leak-check=full", "--error-exitcode=9"]);
    run(job.arg(programs.join("npb")).args(["is", "--class", "S"]))
}

fn address_sanitizer(workspace: &Workspace, report: &mut Report) -> Result<()> {
    let folder = workspace.target().join("address-sanitizer");
    let sanitized = |arguments: &[&str]| {
        let mut command = workspace.cargo(&["+nightly"]);
        command.args(arguments).args(["--target", TARGET]);
        command.env("CARGO_TARGET_DIR", &folder).env("RUSTFLAGS", "-Zsanitizer=address");
        // A preloaded library with the sanitizer in it would have to be loaded into programs without it.
        command.env("RWMPI_SHARED_HEAP", "off");
        command
    };
    report.step("programs", || run(sanitized(&["build"]).args(ONLY_PROGRAMS)));
    let c_options = ADDRESS.c_options(&folder)?;
    report.tests("address sanitizer", || {
        let mut command = sanitized(&["nextest", "run", "--workspace", "--exclude", "xtask", "--no-fail-fast"]);
        command.args(["-E", WITH_SANITIZER]);
        // Tests leak on purpose what has to live as long as their process.
        command.env("ASAN_OPTIONS", "detect_leaks=0").env("RWMPI_CC_OPTIONS", &c_options);
        run_tests(command.env("RWMPI_BIN_DIR", folder.join(TARGET).join("debug")))
    });
    Ok(())
}

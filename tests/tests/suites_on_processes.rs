//! The suites with every rank a process, started by the launcher.

use std::time::Duration;

use rwmpi::Protocol;
use rwmpi_launcher::{JobSpec, Output, Section};

fn run(protocol: Protocol, kernel_copy: &str) {
    for ranks in [1, 2, 3, 4, 8] {
        let section = Section::new(env!("CARGO_BIN_EXE_suite")).ranks(ranks);
        let job = JobSpec::new(section)
            .protocol(protocol)
            .environment("RWMPI_KERNEL_COPY", kernel_copy)
            .timeout(Duration::from_secs(300))
            .output(Output::Capture);
        let outcome = job.run().unwrap();
        assert_eq!(outcome.exit_code, 0, "{ranks} ranks: {:?}\n{}", outcome.report, outcome.stderr);
    }
}

#[test]
fn sr() {
    run(Protocol::Sr, "on");
}

#[test]
fn nsr() {
    run(Protocol::Nsr, "on");
}

#[test]
fn auto() {
    run(Protocol::Auto, "on");
}

#[test]
fn auto_without_the_kernels_copy() {
    run(Protocol::Auto, "off");
}

#[test]
fn sr_without_the_kernels_copy() {
    run(Protocol::Sr, "off");
}

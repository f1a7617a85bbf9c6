//! The suites with every rank a process, started by the launcher: over shared memory, over TCP, and over a mix of both; and with
//! processes that hold several ranks, a thread each.

use std::time::Duration;

use rwmpi::Protocol;
use rwmpi_launcher::{JobSpec, Output, Section, Transport};

/// Runs all suites as jobs of these numbers of ranks, with settings of the job's own for each.
fn run(protocol: Protocol, ranks: &[usize], setting: impl Fn(JobSpec, usize) -> JobSpec) {
    for &ranks in ranks {
        let section = Section::new(env!("CARGO_BIN_EXE_suite")).ranks(ranks);
        let job = JobSpec::new(section).protocol(protocol).timeout(Duration::from_secs(300)).output(Output::Capture);
        let outcome = setting(job, ranks).run().unwrap();
        assert_eq!(outcome.exit_code, 0, "{ranks} ranks: {:?}\n{}", outcome.report, outcome.stderr);
    }
}

fn in_memory(protocol: Protocol, kernel_copy: &str) {
    run(protocol, &[1, 2, 3, 4, 8], |job, _| job.environment("RWMPI_KERNEL_COPY", kernel_copy));
}

fn over_tcp(protocol: Protocol) {
    run(protocol, &[1, 2, 3, 4], |job, _| job.transport(Transport::Tcp));
}

/// The ranks of a node follow each other, or not.
fn over_both(protocol: Protocol) {
    for nodes in ["0,0,1,1", "0,0,0,1,2,2", "1,0,0,1,2"] {
        run(protocol, &[nodes.split(',').count()], |job, _| job.environment("RWMPI_NODES", nodes));
    }
}

/// Two ranks to a process, the last alone where they are odd, and all in one.
fn mixed(protocol: Protocol) {
    run(protocol, &[2, 3, 4, 8], |job, _| job.threads(2));
    run(protocol, &[3], |job, _| job.threads(3).environment("RWMPI_KERNEL_COPY", "off"));
}

#[test]
fn sr() {
    in_memory(Protocol::Sr, "on");
}

#[test]
fn nsr() {
    in_memory(Protocol::Nsr, "on");
}

#[test]
fn auto() {
    in_memory(Protocol::Auto, "on");
}

#[test]
fn auto_without_the_kernels_copy() {
    in_memory(Protocol::Auto, "off");
}

#[test]
fn sr_without_the_kernels_copy() {
    in_memory(Protocol::Sr, "off");
}

#[test]
fn sr_with_threads_in_processes() {
    mixed(Protocol::Sr);
}

#[test]
fn nsr_with_threads_in_processes() {
    mixed(Protocol::Nsr);
}

#[test]
fn auto_with_threads_in_processes() {
    mixed(Protocol::Auto);
}

#[test]
fn sr_over_tcp() {
    over_tcp(Protocol::Sr);
}

#[test]
fn nsr_over_tcp() {
    over_tcp(Protocol::Nsr);
}

#[test]
fn auto_over_tcp() {
    over_tcp(Protocol::Auto);
}

#[test]
fn sr_over_both() {
    over_both(Protocol::Sr);
}

#[test]
fn nsr_over_both() {
    over_both(Protocol::Nsr);
}

#[test]
fn auto_over_both() {
    over_both(Protocol::Auto);
}

/// Some ranks' memory can be read by all, that of others can't.
#[test]
fn auto_where_some_share_no_memory() {
    run(Protocol::Auto, &[1, 2], |job, ranks| {
        let others = Section::new(env!("CARGO_BIN_EXE_suite")).ranks(ranks);
        job.section(others.environment("RWMPI_SHARED_HEAP", "off"))
    });
}

#[test]
fn who_gives_up_a_collective_has_its_memory_back() {
    let section = Section::new(env!("CARGO_BIN_EXE_collective-given-up")).ranks(3);
    let outcome = JobSpec::new(section).timeout(Duration::from_secs(60)).output(Output::Capture).run().unwrap();
    assert_eq!(outcome.exit_code, 0, "{:?}\n{}", outcome.report, outcome.stderr);
}

//! The suites with every rank a process, started by the launcher: over shared memory, over TCP, and over a mix of both;
//! and with processes that hold several ranks, a thread each.

use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use rwmpi::Protocol;
use rwmpi_launcher::{JobSpec, Output, Section, Transport};
use rwmpi_tests::sample::{Sample, Tier};
use rwmpi_tests::suites;

use crate::{AUTO, NSR, SR};

/// The test that runs all checks, one after another, in one job: none of them may leave anything behind.
const TOGETHER: &str = "all_checks_in_one_job";
/// In the quick tier it is one test in so many.
const QUICK_ONE_IN: usize = 100;
/// In the usual tier it is one in so many: a check has a test in each of fifteen modes and protocols, and those with
/// ranks that are threads besides.
const USUAL_ONE_IN: usize = 4;

/// One way to run a job.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// So many ranks with shared memory.
    Memory(usize),
    /// The kernel refuses to copy between them.
    NoKernelCopy(usize),
    /// Some ranks' memory can be read by all, that of as many others can't.
    SomeShareNoMemory(usize),
    Tcp(usize),
    /// Each rank's node.
    Nodes(&'static str),
    /// So many ranks, so many to a process; the last process may have fewer.
    Threads(usize, usize),
    /// All in one process, and the kernel refuses to copy.
    ThreadsNoKernelCopy(usize),
}

/// Ways that have a name in common.
struct Mode {
    name: &'static str,
    protocols: &'static [(&'static str, Protocol)],
    ways: &'static [Way],
}

const MODES: &[Mode] = &[
    Mode {
        name: "processes",
        protocols: &[SR, NSR, AUTO],
        ways: &[Way::Memory(1), Way::Memory(2), Way::Memory(3), Way::Memory(4), Way::Memory(8)],
    },
    Mode {
        name: "processes_without_kernel_copy",
        protocols: &[SR, AUTO],
        ways: &[
            Way::NoKernelCopy(1),
            Way::NoKernelCopy(2),
            Way::NoKernelCopy(3),
            Way::NoKernelCopy(4),
            Way::NoKernelCopy(8),
        ],
    },
    Mode {
        name: "processes_of_threads",
        protocols: &[SR, NSR, AUTO],
        ways: &[
            Way::Threads(2, 2),
            Way::Threads(3, 2),
            Way::Threads(4, 2),
            Way::Threads(8, 2),
            Way::ThreadsNoKernelCopy(3),
        ],
    },
    Mode {
        name: "processes_over_tcp",
        protocols: &[SR, NSR, AUTO],
        ways: &[Way::Tcp(1), Way::Tcp(2), Way::Tcp(3), Way::Tcp(4)],
    },
    Mode {
        name: "processes_on_two_nodes",
        protocols: &[SR, NSR, AUTO],
        // The ranks of a node follow each other, or not.
        ways: &[Way::Nodes("0,0,1,1"), Way::Nodes("0,0,0,1,2,2"), Way::Nodes("1,0,0,1,2")],
    },
    Mode {
        name: "processes_some_share_no_memory",
        protocols: &[AUTO],
        ways: &[Way::SomeShareNoMemory(1), Way::SomeShareNoMemory(2)],
    },
];

impl Way {
    /// The job of these arguments of `suite`.
    fn job(self, arguments: &[&str]) -> JobSpec {
        let section = |ranks: usize| Section::new(env!("CARGO_BIN_EXE_suite")).arguments(arguments).ranks(ranks);
        let job = |ranks: usize| JobSpec::new(section(ranks));
        let without_kernel_copy = |job: JobSpec| job.environment("RWMPI_KERNEL_COPY", "off");
        match self {
            Way::Memory(ranks) => job(ranks).environment("RWMPI_KERNEL_COPY", "on"),
            Way::NoKernelCopy(ranks) => without_kernel_copy(job(ranks)),
            Way::SomeShareNoMemory(ranks) => job(ranks).section(section(ranks).environment("RWMPI_SHARED_HEAP", "off")),
            Way::Tcp(ranks) => job(ranks).transport(Transport::Tcp),
            Way::Nodes(nodes) => job(nodes.split(',').count()).environment("RWMPI_NODES", nodes),
            Way::Threads(ranks, threads) => job(ranks).threads(threads),
            Way::ThreadsNoKernelCopy(ranks) => without_kernel_copy(job(ranks).threads(ranks)),
        }
    }

    fn run(self, protocol: Protocol, arguments: &[&str]) -> Result<(), Failed> {
        let job = self.job(arguments).protocol(protocol).timeout(Duration::from_secs(300)).output(Output::Capture);
        let outcome = job.run()?;
        match outcome.exit_code {
            0 => Ok(()),
            _ => Err(format!("{self:?}: {}\n{}", outcome.report.unwrap_or_default(), outcome.stderr).into()),
        }
    }
}

/// A test for each check in each mode, by each protocol that the mode is about; and one for all checks together.
pub fn trials(sample: Sample) -> Vec<Trial> {
    let mut trials = Vec::new();
    for mode in MODES {
        for &(protocol_name, protocol) in mode.protocols {
            for name in suites::all().map(|check| check.0).chain([TOGETHER]) {
                let test = format!("{}/{protocol_name}/{name}", mode.name);
                let arguments = if name == TOGETHER { Vec::new() } else { vec![name] };
                let ways = sample.ways(&test, mode.ways).to_vec();
                let one_in = if sample.tier() == Tier::Quick { QUICK_ONE_IN } else { USUAL_ONE_IN };
                let left_out = !sample.takes(&test, one_in);
                let run = move || ways.iter().try_for_each(|way| way.run(protocol, &arguments));
                trials.push(Trial::test(test, run).with_ignored_flag(left_out));
            }
        }
    }
    trials.push(Trial::test("processes/who_gives_up_a_collective_has_its_memory_back", give_up_a_collective));
    trials
}

fn give_up_a_collective() -> Result<(), Failed> {
    let section = Section::new(env!("CARGO_BIN_EXE_collective-given-up")).ranks(3);
    let outcome = JobSpec::new(section).timeout(Duration::from_secs(60)).output(Output::Capture).run()?;
    match outcome.exit_code {
        0 => Ok(()),
        _ => Err(format!("{}\n{}", outcome.report.unwrap_or_default(), outcome.stderr).into()),
    }
}

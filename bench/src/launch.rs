//! Starting this program as a job, and bringing home what its rank 0 found.

use crate::arguments::{Command, Common};
use crate::report::{collect, write_json};
use anyhow::{Context, Result, bail};
use nix::sys::memfd::{MFdFlags, memfd_create};
use rwmpi_launcher::{JobSpec, Section};
use std::fs::File;
use std::io::Seek;
use std::os::fd::AsRawFd;

/// Runs a job of this program with its own arguments for each number of ranks, one after the other.
pub fn run(common: &Common, ranks: &[u16]) -> Result<()> {
    let program = std::env::current_exe().context("can't find this program to start it as a job")?;
    let mut figures =
        File::from(memfd_create("mpi-bench-figures", MFdFlags::MFD_CLOEXEC).context("no memory for the figures")?);
    let path = format!("/proc/{}/fd/{}", std::process::id(), figures.as_raw_fd());
    for &ranks in ranks {
        let arguments = std::env::args_os().skip(1).chain(["--figures".into(), path.clone().into()]);
        let section = Section::new(&program).arguments(arguments).ranks(usize::from(ranks));
        let mut job = JobSpec::new(section).forward_signals(true);
        if let Some(protocol) = common.protocol {
            job = job.protocol(protocol);
        }
        if let Some(transport) = common.transport {
            job = job.transport(transport);
        }
        let outcome = job.run().context("can't start the job")?;
        if let Some(report) = outcome.report {
            eprintln!("{report}");
        }
        if outcome.exit_code != 0 {
            bail!("the job of {ranks} ranks ended with exit code {}", outcome.exit_code);
        }
    }
    figures.rewind().context("can't read the figures of the job")?;
    let figures = collect(figures)?;
    common.output.json.as_deref().map_or(Ok(()), |target| write_json(&figures, target))
}

impl Command {
    /// What a benchmark that runs as a job has in common with the others, and how many ranks it wants.
    pub fn job(&self) -> Option<(&Common, Vec<u16>)> {
        let two = match self {
            Command::Latency(options) => &options.sized.two,
            Command::Bandwidth(options) => &options.sized.two,
            Command::Rate(options) => &options.two,
            Command::Pingping(options) | Command::Abstraction(options) => &options.two,
            Command::Tags(options) => &options.two,
            Command::Barrier(options) => return Some((&options.common, options.ranks.clone())),
            Command::Floor(_) | Command::Instructions(_) => return None,
        };
        Some((&two.common, vec![two.ranks]))
    }
}

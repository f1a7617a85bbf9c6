//! Starting this program as a job, and bringing home what its rank 0 found.

use crate::arguments::{Command, Common};
use crate::report::{Figure, collect, write_json};
use anyhow::{Context, Result, bail};
use nix::sys::memfd::{MFdFlags, memfd_create};
use rwmpi::Protocol;
use rwmpi::tuning::Tuning;
use rwmpi_launcher::{Binding, JobSpec, Output, Section, Transport};
use std::ffi::OsString;
use std::fs::File;
use std::io::Seek;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// A job of this program.
#[derive(Default)]
pub struct Job {
    /// What follows its name.
    pub arguments: Vec<OsString>,
    pub ranks: u16,
    /// Whether all ranks are threads of one process.
    pub threads: bool,
    pub protocol: Option<Protocol>,
    pub transport: Option<Transport>,
    pub binding: Binding,
    /// The file of its tuning table.
    pub tuning: Option<PathBuf>,
    pub output: Output,
}

impl Job {
    /// A job with this program's own arguments.
    pub fn of(common: &Common, ranks: u16) -> Self {
        Job {
            arguments: std::env::args_os().skip(1).collect(),
            ranks,
            threads: common.threads,
            protocol: common.protocol,
            transport: common.transport,
            ..Job::default()
        }
    }

    /// Runs it; returns what its rank 0 found, and what it wrote to standard output if that is captured.
    pub fn run(mut self) -> Result<(Vec<Figure>, String)> {
        let program = std::env::current_exe().context("can't find this program to start it as a job")?;
        let mut figures =
            File::from(memfd_create("mpi-bench-figures", MFdFlags::MFD_CLOEXEC).context("no memory for the figures")?);
        let path = format!("/proc/{}/fd/{}", std::process::id(), figures.as_raw_fd());
        self.arguments.extend(["--figures".into(), path.into()]);
        let ranks = usize::from(self.ranks);
        let section = Section::new(&program).arguments(self.arguments).ranks(ranks);
        let mut job = JobSpec::new(section).forward_signals(true).binding(self.binding).output(self.output);
        if self.threads {
            job = job.threads(ranks);
        }
        if let Some(protocol) = self.protocol {
            job = job.protocol(protocol);
        }
        if let Some(transport) = self.transport {
            job = job.transport(transport);
        }
        if let Some(file) = &self.tuning {
            job = job.environment(Tuning::VARIABLE, file);
        }
        let outcome = job.run().context("can't start the job")?;
        if let Some(report) = outcome.report {
            eprintln!("{}{report}", outcome.stderr);
        }
        if outcome.exit_code != 0 {
            bail!("the job of {ranks} ranks ended with exit code {}", outcome.exit_code);
        }
        figures.rewind().context("can't read the figures of the job")?;
        Ok((collect(figures)?, outcome.stdout))
    }
}

/// Runs a job of this program with its own arguments for each number of ranks, one after the other.
pub fn run(common: &Common, ranks: &[u16]) -> Result<()> {
    let mut figures = Vec::new();
    for &ranks in ranks {
        figures.extend(Job::of(common, ranks).run()?.0);
    }
    common.output.json.as_deref().map_or(Ok(()), |target| write_json(&figures, target))
}

impl Command {
    /// What a benchmark that runs as a job has in common with the others, and how many ranks it wants.
    pub fn job(&self) -> Option<(&Common, Vec<u16>)> {
        let two = match self {
            Command::Latency(options) => &options.sized.two,
            Command::Bandwidth(options) => &options.sized.two,
            Command::Rate(options) => &options.two,
            Command::Pingping(options) | Command::Abstraction(options) | Command::Histogram(options) => &options.two,
            Command::Affinity(options) => &options.sized.two,
            Command::Tags(options) => &options.two,
            Command::Tune(options) => return Some((&options.common, vec![2])),
            Command::Barrier(options) => return Some((&options.common, options.ranks.clone())),
            Command::Floor(_)
            | Command::Instructions(_)
            | Command::Compare(_)
            | Command::Ways(_)
            | Command::SocketBuffers(_) => return None,
        };
        Some((&two.common, vec![two.ranks]))
    }
}

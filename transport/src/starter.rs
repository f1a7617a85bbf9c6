//! Whoever has started this process: what it is asked for, and told of the end.
#![forbid(unsafe_code)]

use std::io::{self, Write};

use rustix::fs::OFlags;

use crate::board::Board;
use crate::environment::{self, CONNECTION_FD};
use crate::pmi::Pmi;
use crate::singleton::OwnLauncher;
use crate::spawning::{self, Command, Spelling, ToldOfParents};

/// Whoever has started this process.
#[derive(Debug, Default)]
pub struct Starter(Kind);

#[derive(Debug, Default)]
enum Kind {
    /// Nobody: the job is one of threads.
    #[default]
    Nobody,
    /// Nobody; the process is a job of its own, and starts a launcher once it wants others started.
    Singleton(Option<OwnLauncher>),
    /// Our launcher, which learns of the end from the job's file.
    Ours,
    /// Another, with which it speaks.
    Others(Board),
}

impl Starter {
    pub(crate) fn of_singleton() -> Starter {
        Starter(Kind::Singleton(None))
    }

    pub(crate) fn ours() -> Starter {
        Starter(Kind::Ours)
    }

    pub(crate) fn of_others(board: Board) -> Starter {
        Starter(Kind::Others(board))
    }

    /// Has the launcher start further processes, a job of their own, which is told of its parents. Returns when all
    /// run; whether they have been told what holds wherever they are.
    ///
    /// # Errors
    /// Says in a sentence why none has been started.
    pub fn start_more(&mut self, commands: &[Command], parents: &ToldOfParents) -> Result<bool, String> {
        let request = || spawning::request(commands, parents, Spelling::Escaped);
        match &mut self.0 {
            Kind::Nobody => {
                Err("a job whose members are threads of one process has no launcher that could start others".into())
            }
            Kind::Others(board) => board.start_more(commands, parents).map(|()| true),
            Kind::Singleton(launcher) => {
                // It ends if what it has started fails.
                let present = launcher.take().filter(|launcher| !launcher.has_ended());
                let present = present.map_or_else(OwnLauncher::start, Ok)?;
                launcher.insert(present).start_more(&request()?)
            }
            Kind::Ours => {
                let connection = environment::take(CONNECTION_FD, OFlags::RDWR).map_err(|error| error.to_string())?;
                let connection =
                    connection.ok_or("a process that is several members of its job has no connection to mpiexec")?;
                let mut pmi = Pmi::new(connection).map_err(|error| error.to_string())?;
                pmi.start_more(&request()?).map_err(|error| error.to_string())?
            }
        }
    }

    /// Whether a launcher that this process has started has ended, and with it what it was to start. With any other
    /// this process would have ended, too.
    pub fn has_ended(&self) -> bool {
        matches!(&self.0, Kind::Singleton(Some(launcher)) if launcher.has_ended())
    }

    /// Whether it is a launcher that watches over the job.
    pub fn watches(&self) -> bool {
        matches!(self.0, Kind::Ours | Kind::Others(_))
    }

    /// Whether it is a launcher of others, to which files of this machine mean nothing.
    pub fn is_of_others(&self) -> bool {
        matches!(self.0, Kind::Others(_))
    }

    /// This process ends in good order.
    pub fn finish(&mut self) {
        match &mut self.0 {
            Kind::Others(board) => board.finish(),
            Kind::Singleton(Some(launcher)) => launcher.finish(),
            _ => {}
        }
    }

    /// The job is to end for that reason. Our own launcher says it; where there is none, or another, this process does,
    /// before anybody ends it.
    pub fn abort(&mut self, code: i32, reason: &str) {
        if !matches!(self.0, Kind::Ours) {
            // There is nowhere to complain if that fails.
            let _ = writeln!(io::stderr(), "rwmpi: the job ends with code {code}: {reason}");
        }
        if let Kind::Others(board) = &mut self.0 {
            board.abort(code);
        }
    }
}

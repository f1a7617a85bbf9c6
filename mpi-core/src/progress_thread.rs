//! Progress while the program computes: what a rank's progress thread does, and how a job asks for one.
//!
//! The progress thread is a thread that shares the rank with the program's threads as these do with each other, under
//! its lock. So it is for front ends whose every call takes the lock. The typed API's values belong to one thread,
//! which is why they need no locks (docs/decisions/0015).

use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::Arc;

use rwmpi_transport::{BigLocks, IdleGuard, SleepState};

use crate::error::{Error, ErrorClass};
use crate::untyped::Endpoint;
use crate::{Result, Universe};

/// Who makes progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Progress {
    /// The program's calls.
    #[default]
    Calls,
    /// Besides, a thread of the library's own, in programs in C and Fortran.
    Thread,
}

impl Progress {
    /// The environment variable that chooses it for a job.
    pub const VARIABLE: &'static str = rwmpi_transport::settings::PROGRESS;
    /// The environment variable that says how large the library's buffer is where there is a thread, in bytes.
    pub const BUFFER_VARIABLE: &'static str = rwmpi_transport::settings::SEND_BUFFER;
    /// Its size without that.
    pub const BUFFER: usize = crate::engine::USUAL_SIZE;

    /// What the environment says.
    ///
    /// # Errors
    /// If it says something else.
    pub fn of_job() -> Result<Progress> {
        std::env::var(Progress::VARIABLE).map_or(Ok(Progress::Calls), |name| name.parse())
    }

    /// The size of the library's buffer that the environment asks for.
    ///
    /// # Errors
    /// If it is no size.
    pub fn buffer_of_job() -> Result<usize> {
        let Ok(text) = std::env::var(Progress::BUFFER_VARIABLE) else { return Ok(Progress::BUFFER) };
        let no_size = |_| {
            let what = format!("{}={text:?} is no number of bytes", Progress::BUFFER_VARIABLE);
            Error::new(ErrorClass::Other, what)
        };
        text.parse().map_err(no_size)
    }
}

impl FromStr for Progress {
    type Err = Error;

    fn from_str(name: &str) -> Result<Progress> {
        match name {
            "calls" => Ok(Progress::Calls),
            "thread" => Ok(Progress::Thread),
            _ => {
                let what = format!("{}={name:?}: progress is made by calls or by a thread", Progress::VARIABLE);
                Err(Error::new(ErrorClass::Other, what))
            }
        }
    }
}

impl Universe {
    /// Shares this rank as [`Universe::share`] does, with a progress thread for each lane among the threads; where each
    /// is to sleep. Standard sends complete as soon as they are copied, for `buffer` bytes of a lane at a time.
    ///
    /// # Errors
    /// As those of [`Universe::share`].
    pub fn employ(&self, locks: &'static BigLocks, buffer: usize) -> Result<Vec<Arc<SleepState>>> {
        self.share(locks)?;
        let refused = |error| Error::new(ErrorClass::Other, format!("can't have a thread for progress: {error}"));
        let employ = |lane| {
            let mut engine = self.in_lane(lane).process().engine();
            engine.buffer_sends(buffer);
            engine.employ().map_err(refused)
        };
        (0..self.lanes()).map(employ).collect()
    }
}

impl Endpoint {
    /// What the progress thread does with the lock: makes progress until there is nothing to do, and has itself rung
    /// when there is. Nonblocking collectives are gone on with if `with_tasks`: they may call functions of the program.
    /// Whether anything came of it; `Break` if the rank can't communicate any more: the program's next call will say
    /// why.
    pub fn work_by_progress_thread(&self, guard: &IdleGuard<'_>, with_tasks: bool) -> ControlFlow<(), bool> {
        let worked = self.process().work_by_progress_thread(guard, with_tasks);
        worked.map_or(ControlFlow::Break(()), ControlFlow::Continue)
    }
}

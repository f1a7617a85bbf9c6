//! The thread that reads and writes while the program goes on (MPI-5.0 section 14.4.2).
//!
//! There is one for a rank, from the first access that is long enough. It has copies of all that it needs: a descriptor
//! of the file, the view, the elements. Accesses are performed in the order in which they were started.
#![allow(unsafe_code)]

use std::cell::{Cell, OnceCell, RefCell};
use std::fs::File as SystemFile;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use rwmpi_core::untyped::{Elements, Outside, Status};
use rwmpi_core::{FileWays, Result as CoreResult};

use crate::access::Access;
use crate::disk::Moved;
use crate::sieved::Sieved;
use crate::transfer::{self, Scratch};
use crate::{Direction, File, Place, Result, View};

/// The thread, and the way to it.
pub struct Helper {
    tasks: RefCell<Option<Sender<Task>>>,
    thread: Cell<Option<JoinHandle<()>>>,
    /// A process that was forked has no such thread.
    process: u32,
}

/// An access that is to be performed.
struct Task {
    disk: SystemFile,
    is_sieved: bool,
    view: View,
    position: u64,
    elements: Elements,
    direction: Direction,
    ways: FileWays,
    done: Arc<Done>,
}

// SAFETY: view and elements were made for it alone (`detached`), so nobody else has a part of what they consist of. The
// memory of the elements is the program's, which has given it for this access until that is complete.
unsafe impl Send for Task {}

/// What became of it.
struct Done {
    /// Written by the helper when the rest is there (Release), read by the rank's threads (Acquire).
    is_there: AtomicBool,
    moved: Mutex<Moved>,
}

impl Task {
    fn perform(self) {
        let Task { disk: file, is_sieved, view, position, elements, direction, ways, done } = self;
        let disk = Sieved { file: &file, is_sieved };
        let moved = match direction {
            Direction::Read => transfer::read(&disk, &view, position, &elements, &mut Scratch::new(ways)),
            Direction::Write => {
                let end = position.saturating_add(transfer::bytes_of(&elements));
                transfer::write(&disk, &view, position..end, (&elements, 0), &ways)
            }
        };
        // What else it has is given back before anybody knows.
        drop((file, view, elements));
        *done.moved.lock().unwrap_or_else(PoisonError::into_inner) = moved;
        done.is_there.store(true, Ordering::Release);
    }
}

/// Starts a thread that no signal is for: these are for the program's. A new thread inherits the mask.
fn without_signals<R>(start: impl FnOnce() -> R) -> R {
    // SAFETY: sets of signals are plain data, filled in before they are used; only this thread's mask changes.
    let before = unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    };
    let started = start();
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    started
}

/// Has this thread wait for its turn when it is woken. A thread that has slept is otherwise run at once if no core is
/// free, for some milliseconds, in the place of the thread that has woken it: the program would be held up in the very
/// call that is to return at once. Its share of the core stays the same.
fn never_interrupt() {
    // SAFETY: of this thread only; the parameters are read during the call.
    unsafe {
        // What the user has chosen stays.
        if libc::sched_getscheduler(0) == libc::SCHED_OTHER {
            // Where that is not allowed, it is as it was.
            let _ = libc::sched_setscheduler(0, libc::SCHED_BATCH, &libc::sched_param { sched_priority: 0 });
        }
    }
}

impl Helper {
    /// Starts it.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start() -> io::Result<Helper> {
        let (tasks, incoming) = channel::<Task>();
        let work = move || {
            never_interrupt();
            incoming.into_iter().for_each(Task::perform);
        };
        let thread = without_signals(|| Builder::new().name("rwmpi-files".to_owned()).spawn(work))?;
        Ok(Helper { tasks: Some(tasks).into(), thread: Some(thread).into(), process: std::process::id() })
    }

    /// Returns when it has performed what it was given. It takes nothing more.
    pub fn stop(&self) {
        drop(self.tasks.take());
        if let Some(thread) = self.thread.take().filter(|_| self.process == std::process::id()) {
            // A panic of its is nobody's any more.
            let _ = thread.join();
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.stop();
    }
}

/// An access that has been started.
pub enum Started {
    /// It is done, and has transferred so many bytes.
    Done(u64),
    /// The helper is at it.
    Later(Box<dyn Outside>),
}

/// One that the helper is at.
struct Pending {
    file: File,
    direction: Direction,
    done: Arc<Done>,
    /// What it has come to, once somebody has asked.
    outcome: OnceCell<Result<u64>>,
}

impl Outside for Pending {
    fn is_done(&self) -> bool {
        self.done.is_there.load(Ordering::Acquire)
    }

    fn result(&self) -> CoreResult<Status> {
        let outcome = self.outcome.get_or_init(|| {
            let mut moved = self.done.moved.lock().unwrap_or_else(PoisonError::into_inner);
            self.file.outcome(self.direction.words(), std::mem::take(&mut *moved))
        });
        match outcome {
            Ok(bytes) => Ok(Status { bytes: *bytes, ..Status::EMPTY }),
            Err(error) => Err(error.clone().into()),
        }
    }
}

impl File {
    /// Starts an access (MPI_File_iread_at, MPI_File_iwrite and so on). A short one is done when this returns, and so
    /// is one for which the helper is of no use: `helper` gives it where there may be one.
    ///
    /// # Errors
    /// As [`File::access`], of what is found out at once.
    pub fn start<'h>(
        &self,
        direction: Direction,
        place: Place,
        elements: &Elements,
        helper: impl FnOnce() -> Option<&'h Helper>,
    ) -> Result<Started> {
        let access = self.prepare(direction, place, elements)?;
        match self.hand_over(direction, &access, elements, helper) {
            Some(pending) => Ok(Started::Later(Box::new(pending))),
            None => self.transfer(direction, &access, elements).map(Started::Done),
        }
    }

    /// Gives an access to the helper; `None` if it had better be done at once.
    fn hand_over<'h>(
        &self,
        direction: Direction,
        Access { view, position, bytes }: &Access,
        elements: &Elements,
        helper: impl FnOnce() -> Option<&'h Helper>,
    ) -> Option<Pending> {
        let shared = &self.shared;
        let ways = shared.scratch.borrow().ways;
        let may = shared.is_regular && !self.is_atomic() && view.representation().is_as_in_memory();
        if !may || !ways.goes_beside(*bytes) {
            return None;
        }
        let tasks = helper()?.tasks.borrow().clone()?;
        let is_sieved = shared.is_sieved.get();
        let disk = match (shared.disk.borrow().as_ref()?, is_sieved) {
            // Locks are of an open file: this thread's must keep that one out.
            (disk, true) => File::opened_again(disk)?,
            (disk, false) => disk.try_clone().ok()?,
        };
        let moved = Mutex::new(Moved::default());
        let done = Arc::new(Done { is_there: AtomicBool::new(false), moved });
        let (view, elements, position) = (view.detached(), elements.detached(), *position);
        let task = Task { disk, is_sieved, view, position, elements, direction, ways, done: done.clone() };
        tasks.send(task).ok()?;
        Some(Pending { file: self.clone(), direction, done, outcome: OnceCell::new() })
    }
}

/// The file's own communicator is told which handle the program has, so that errors of requests find its error handler.
impl File {
    /// The communicator that requests of this file belong to.
    pub fn communicator(&self) -> &rwmpi_core::Communicator {
        &self.shared.communicator
    }
}

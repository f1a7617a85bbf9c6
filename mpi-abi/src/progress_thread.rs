//! The threads that make progress while the program computes, one for each lane: if the user has asked for it
//! (`RWMPI_PROGRESS=thread`), and where the rank has several lanes, as a thread that waits in one makes no progress in
//! the others.

use std::ops::ControlFlow;
use std::sync::Arc;

use rwmpi_core::{Error, ErrorClass, Progress, ProgressThread, Result, SleepState, Universe};

use crate::big_lock::{BIG_LOCKS, outside};
use crate::interface::Abi;
use crate::process::in_forked_child;
use crate::rank::{Rank, are_tasks_in_calls, have_tasks_in_calls, peek};

/// Prepares the rank for its progress threads, if it is to have any; where they are to sleep.
pub(crate) fn employ(universe: &Universe) -> Result<Vec<Arc<SleepState>>> {
    match Progress::of_job()? {
        Progress::Thread => universe.employ(&BIG_LOCKS, Progress::buffer_of_job()?),
        Progress::Calls if universe.lanes() > 1 => universe.employ(&BIG_LOCKS, 0),
        Progress::Calls => Ok(Vec::new()),
    }
}

/// Starts the progress_threads.
pub(crate) fn start(rank: &Rank, sleep_states: Vec<Arc<SleepState>>) -> Result<()> {
    // Their locks at the time of the fork would never end there.
    in_forked_child(end_turns);
    for (lane, sleep_state) in sleep_states.into_iter().enumerate() {
        // When the rank has left there is nothing to come for.
        let thread = ProgressThread::start(BIG_LOCKS.of(lane), sleep_state, move |guard| match peek() {
            Ok(rank) => rank.lane(lane).endpoint.work_by_progress_thread(guard, !are_tasks_in_calls()),
            Err(_) => ControlFlow::Break(()),
        });
        let refused = |error| Error::new(ErrorClass::Other, format!("can't have a thread for progress: {error}"));
        rank.progress_threads.borrow_mut().push(thread.map_err(refused)?);
    }
    Ok(())
}

/// Ends the progress threads, if there are any.
pub(crate) fn stop(rank: &Rank) {
    for thread in rank.progress_threads.take() {
        // It may be in a function of the program, after which it wants the lock.
        outside(|| thread.stop());
    }
}

extern "C" fn end_turns() {
    BIG_LOCKS.trust();
}

/// Settles who goes on with nonblocking collectives. A program that does not reckon with threads does not expect one to
/// call its operations: then it is for the program's own calls, whatever they are about.
pub(crate) fn settle_tasks<A: Abi>(rank: &Rank) {
    have_tasks_in_calls(rank.has_operations.get() && rank.thread_level.get() < A::THREAD_MULTIPLE);
}

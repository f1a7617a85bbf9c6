//! The threads that make progress while the program computes, one for each lane: if the user has asked for it
//! (`RWMPI_PROGRESS=thread`), and where the rank has several lanes, as a thread that waits in one makes no progress in
//! the others.

use std::ops::ControlFlow;
use std::sync::Arc;

use rwmpi_core::{Cot, Error, ErrorClass, Progress, Result, Universe, Worker};

use crate::interface::Abi;
use crate::rank::{Rank, are_tasks_in_calls, have_tasks_in_calls, in_forked_child, peek};
use crate::turn::{TURNS, outside};

/// Prepares the rank for its workers, if it is to have any; where they are to sleep.
pub(crate) fn employ(universe: &Universe) -> Result<Vec<Arc<Cot>>> {
    match Progress::of_job()? {
        Progress::Thread => universe.employ(&TURNS, Progress::buffer_of_job()?),
        Progress::Calls if universe.lanes() > 1 => universe.employ(&TURNS, 0),
        Progress::Calls => Ok(Vec::new()),
    }
}

/// Starts the workers.
pub(crate) fn start(rank: &Rank, cots: Vec<Arc<Cot>>) -> Result<()> {
    // Their turns at the time of the fork would never end there.
    in_forked_child(end_turns);
    for (lane, cot) in cots.into_iter().enumerate() {
        // When the rank has left there is nothing to come for.
        let worker = Worker::start(TURNS.of(lane), cot, move |visit| match peek() {
            Ok(rank) => rank.lane(lane).endpoint.work_aside(visit, !are_tasks_in_calls()),
            Err(_) => ControlFlow::Break(()),
        });
        let refused = |error| Error::new(ErrorClass::Other, format!("can't have a thread for progress: {error}"));
        rank.workers.borrow_mut().push(worker.map_err(refused)?);
    }
    Ok(())
}

/// Ends the workers, if there are any.
pub(crate) fn stop(rank: &Rank) {
    for worker in rank.workers.take() {
        // It may be in a function of the program, after which it wants the turn.
        outside(|| worker.stop());
    }
}

extern "C" fn end_turns() {
    TURNS.trust();
}

/// Settles who goes on with nonblocking collectives. A program that does not reckon with threads does not expect one to
/// call its operations: then it is for the program's own calls, whatever they are about.
pub(crate) fn settle_tasks<A: Abi>(rank: &Rank) {
    have_tasks_in_calls(rank.has_operations.get() && rank.thread_level.get() < A::THREAD_MULTIPLE);
}

//! The thread that makes progress while the program computes, if the user has asked for one (`RWMPI_PROGRESS=thread`).

use std::ops::ControlFlow;
use std::sync::Arc;

use rwmpi_core::{Cot, Error, ErrorClass, Progress, Result, Universe, Worker};

use crate::interface::Abi;
use crate::rank::{Rank, in_forked_child, peek};
use crate::turn::{TURN, outside};

/// Prepares the rank for its worker, if it is to have one.
pub(crate) fn employ(universe: &Universe) -> Result<Option<Arc<Cot>>> {
    match Progress::of_job()? {
        Progress::Calls => Ok(None),
        Progress::Thread => universe.employ(&TURN, Progress::buffer_of_job()?).map(Some),
    }
}

/// Starts the worker.
pub(crate) fn start<A: Abi>(rank: &Rank, cot: Arc<Cot>) -> Result<()> {
    // Its turn at the time of the fork would never end there.
    in_forked_child(end_turns);
    // When the rank has left there is nothing to come for.
    let worker = Worker::start(&TURN, cot, |visit| match peek() {
        Ok(rank) => rank.endpoint.work_aside(visit, may_go_on_with_tasks::<A>(rank)),
        Err(_) => ControlFlow::Break(()),
    });
    let refused = |error| Error::new(ErrorClass::Other, format!("can't have a thread for progress: {error}"));
    *rank.worker.borrow_mut() = Some(worker.map_err(refused)?);
    Ok(())
}

/// Ends the worker, if there is one.
pub(crate) fn stop(rank: &Rank) {
    if let Some(worker) = rank.worker.take() {
        // It may be in a function of the program, after which it wants the turn.
        outside(|| worker.stop());
    }
}

extern "C" fn end_turns() {
    TURN.trust();
}

/// A program that did not reckon with threads does not expect one to call its operations.
fn may_go_on_with_tasks<A: Abi>(rank: &Rank) -> bool {
    rank.thread_level.get() >= A::THREAD_MULTIPLE || !rank.has_operations.get()
}

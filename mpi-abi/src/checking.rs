//! What a program leaves behind at its end, where the job is checked (`mpiexec --check`).

use rwmpi_core::Communicator;

use crate::error::Outcome;
use crate::rank::Rank;

/// The program is at its end: says what it has not received, and how many requests it has left open. Collective.
pub(crate) fn name_what_is_left(rank: &Rank) -> Outcome {
    let universe = rank.universe.borrow();
    let Some(universe) = universe.as_ref().filter(|universe| universe.is_checked()) else { return Ok(()) };
    let open = rank.lanes().iter().map(|lane| lane.requests.open()).sum();
    universe.name_what_is_left(&communicators(rank), open)
}

/// All that the program has made, in whichever lane.
fn communicators(rank: &Rank) -> Vec<Communicator> {
    let made = rank.lanes().iter().flat_map(|lane| {
        let codes = lane.communicators.codes().into_iter();
        codes.filter_map(|code| lane.communicators.with(code, |entry| entry.core.clone()))
    });
    made.collect()
}

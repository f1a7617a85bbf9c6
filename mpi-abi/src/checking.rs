//! What ranks do that does not go together, said in words (`mpiexec --check`).
//!
//! Before a blocking collective within one group, all its ranks tell each other what they are about to do. So each such
//! call synchronizes, and a program that relies on that none does will hang, which is a mistake of its own. At the end
//! each rank looks for messages that it has not received, and for requests that it has neither completed nor freed.
//! Each thing is said once, by the rank with the lowest number that knows it, and the program goes on.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::Write;

use rwmpi_core::reduction::Operation;
use rwmpi_core::settings::CHECK;
use rwmpi_core::untyped::Elements;
use rwmpi_core::untyped::collective::{Collective, Root};
use rwmpi_core::{Communicator, Result, Source, TagSelector};

use crate::error::Outcome;
use crate::rank::Rank;

/// A word that says nothing, as what it is about does not matter, or is not known.
const NOTHING: u64 = u64::MAX;
/// The operations of MPI by their numbers.
const OPERATIONS: [&str; 14] = [
    "MPI_MAX",
    "MPI_MIN",
    "MPI_SUM",
    "MPI_PROD",
    "MPI_LAND",
    "MPI_BAND",
    "MPI_LOR",
    "MPI_BOR",
    "MPI_LXOR",
    "MPI_BXOR",
    "MPI_MAXLOC",
    "MPI_MINLOC",
    "MPI_REPLACE",
    "MPI_NO_OP",
];
const CALLS: [&str; 12] = [
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Gather",
    "MPI_Scatter",
    "MPI_Allgather",
    "MPI_Alltoall",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Reduce_scatter",
    "MPI_Scan",
    "MPI_Neighbor_allgather",
    "MPI_Neighbor_alltoall",
];

/// Whether is checked, and what has been said.
pub(crate) struct Checks {
    is_on: Cell<bool>,
    said: RefCell<BTreeSet<String>>,
}

impl Checks {
    /// As the job is to be checked.
    pub(crate) fn of_job() -> Checks {
        let is_on = std::env::var_os(CHECK).is_some_and(|value| value == "on");
        Checks { is_on: Cell::new(is_on), said: RefCell::default() }
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.get()
    }

    /// Looks whether all ranks are about to do the same. Collective.
    pub(crate) fn compare(&self, communicator: &Communicator, collective: &Collective) -> Outcome {
        if communicator.is_inter() {
            return Ok(());
        }
        let own = signature(collective);
        let mut all = vec![[0; WORDS]; communicator.size()];
        communicator.allgather(&[own], &mut all)?;
        if communicator.rank() == 0
            && let Some(what) = difference(&all)
        {
            self.say(&format!("in {}, {what}", name_of(communicator)));
        }
        Ok(())
    }

    fn say(&self, what: &str) {
        if self.said.borrow_mut().insert(what.to_owned()) {
            // There is nowhere to complain if that fails.
            let _ = writeln!(std::io::stderr(), "rwmpi: check: {what}");
        }
    }
}

const WORDS: usize = 4;
/// Call, root, operation, bytes.
type Signature = [u64; WORDS];

fn signature(collective: &Collective) -> Signature {
    let bytes = |elements: &Elements| elements.count().saturating_mul(elements.datatype().size());
    let of = |elements: &Option<Elements>| elements.as_ref().map_or(NOTHING, bytes);
    let either =
        |data: &Option<Elements>, result: &Option<Elements>| data.as_ref().or(result.as_ref()).map_or(NOTHING, bytes);
    let root_of = |root: &Root| if let Root::Rank(rank) = root { *rank as u64 } else { NOTHING };
    match collective {
        Collective::Barrier => [0, NOTHING, NOTHING, NOTHING],
        Collective::Broadcast { data, root } => [1, root_of(root), NOTHING, bytes(data)],
        Collective::Gather { part, root, even, .. } => {
            [2, root_of(root), NOTHING, if *even { of(part) } else { NOTHING }]
        }
        Collective::Scatter { part, root, even, .. } => {
            [3, root_of(root), NOTHING, if *even { of(part) } else { NOTHING }]
        }
        Collective::Allgather { .. } => [4, NOTHING, NOTHING, NOTHING],
        Collective::Alltoall { .. } => [5, NOTHING, NOTHING, NOTHING],
        Collective::Reduce { data, result, operation, root } => {
            [6, root_of(root), code(operation), either(data, result)]
        }
        Collective::Allreduce { result, operation, .. } => [7, NOTHING, code(operation), bytes(result)],
        Collective::ReduceScatter { operation, .. } => [8, NOTHING, code(operation), NOTHING],
        Collective::Scan { result, operation, .. } => [9, NOTHING, code(operation), bytes(result)],
        Collective::NeighbourAllgather { .. } => [10, NOTHING, NOTHING, NOTHING],
        Collective::NeighbourAlltoall { .. } => [11, NOTHING, NOTHING, NOTHING],
    }
}

/// The number of an operation; functions of the program are all one, as each process has them elsewhere.
fn code(operation: &Operation) -> u64 {
    match operation {
        Operation::Predefined(predefined) => *predefined as u64,
        Operation::User(_) => OPERATIONS.len() as u64,
    }
}

fn operation_name(code: u64) -> &'static str {
    OPERATIONS.get(code as usize).unwrap_or(&"an operation of its own")
}

/// In which way the ranks differ, if they do: the first way that there is.
fn difference(all: &[Signature]) -> Option<String> {
    let call = |signature: &Signature| CALLS.get(signature[0] as usize).copied().unwrap_or("another collective");
    let known = |word: usize| all.iter().enumerate().filter(move |(_, signature)| signature[word] != NOTHING);
    let differing = |word: usize| {
        let (first, one) = known(word).next()?;
        known(word).find(|(_, other)| other[word] != one[word]).map(|(second, other)| (first, one, second, other))
    };
    if let Some((first, one, second, other)) = differing(0) {
        return Some(format!("rank {first} calls {}, and rank {second} {}", call(one), call(other)));
    }
    let name = call(all.first()?);
    if let Some((first, one, second, other)) = differing(1) {
        return Some(format!("{name} has two roots: rank {first} names {}, and rank {second} {}", one[1], other[1]));
    }
    if let Some((first, one, second, other)) = differing(2) {
        let (one, other) = (operation_name(one[2]), operation_name(other[2]));
        return Some(format!("{name} has two operations: rank {first} names {one}, and rank {second} {other}"));
    }
    let (first, one, second, other) = differing(3)?;
    Some(format!("{name} has two lengths: {} bytes at rank {first}, and {} at rank {second}", one[3], other[3]))
}

fn name_of(communicator: &Communicator) -> String {
    let name = communicator.name();
    if name.is_empty() { format!("a communicator of {} ranks", communicator.size()) } else { name }
}

/// The program is at its end: says what it has not received, the first of each communicator, and what it has left open.
/// Collective.
pub(crate) fn name_what_is_left(rank: &Rank) -> Outcome {
    let Some(world) = rank.universe.borrow().as_ref().map(|universe| universe.world().clone()) else { return Ok(()) };
    // What was sent by then is here now.
    world.barrier()?;
    let me = world.rank();
    for communicator in communicators(rank) {
        unreceived(&rank.checks, me, &communicator)?;
    }
    let open: usize = rank.lanes().iter().map(|lane| lane.requests.open()).sum();
    if open > 0 {
        let requests = if open == 1 { "request that is" } else { "requests that are" };
        rank.checks.say(&format!("rank {me} finalizes with {open} {requests} neither completed nor freed"));
    }
    world.barrier()
}

/// All that the program has, in whichever lane.
fn communicators(rank: &Rank) -> Vec<Communicator> {
    let made = rank.lanes().iter().flat_map(|lane| {
        let codes = lane.communicators.codes().into_iter();
        codes.filter_map(|code| lane.communicators.with(code, |entry| entry.core.clone()))
    });
    rank.predefined.iter().map(|entry| entry.core.clone()).chain(made).collect()
}

fn unreceived(checks: &Checks, me: usize, communicator: &Communicator) -> Result<()> {
    let Some(status) = communicator.probe_status_now(Source::Any, TagSelector::Any)? else { return Ok(()) };
    let (Source::Rank(source), TagSelector::Tag(tag)) = (status.source, status.tag) else { return Ok(()) };
    let (place, bytes) = (name_of(communicator), status.bytes);
    checks.say(&format!(
        "rank {me} finalizes without having received a message in {place}: from rank {source}, tag {tag}, {bytes} bytes"
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_told() {
        let reduce = [6, 0, 2, 40];
        assert_eq!(difference(&[reduce, reduce]), None);
        let said = |other| difference(&[reduce, reduce, other]).unwrap();
        assert_eq!(said([1, 0, NOTHING, 40]), "rank 0 calls MPI_Reduce, and rank 2 MPI_Bcast");
        assert_eq!(said([6, 1, 2, 40]), "MPI_Reduce has two roots: rank 0 names 0, and rank 2 1");
        assert_eq!(said([6, 0, 0, 40]), "MPI_Reduce has two operations: rank 0 names MPI_SUM, and rank 2 MPI_MAX");
        assert_eq!(said([6, 0, 2, 48]), "MPI_Reduce has two lengths: 40 bytes at rank 0, and 48 at rank 2");
        assert_eq!(difference(&[reduce, [6, 0, 2, NOTHING]]), None, "what is not known differs from nothing");
        assert!(difference(&[[77; WORDS], reduce]).unwrap().contains("another collective"));
    }

    #[test]
    fn operations_are_called_as_in_c() {
        use rwmpi_core::reduction::Predefined;
        let name = |operation| operation_name(code(&Operation::Predefined(operation)));
        let some = [Predefined::Max, Predefined::Sum, Predefined::BitwiseXor, Predefined::NoOperation].map(name);
        assert_eq!(some, ["MPI_MAX", "MPI_SUM", "MPI_BXOR", "MPI_NO_OP"]);
        assert_eq!(operation_name(14), "an operation of its own");
    }
}

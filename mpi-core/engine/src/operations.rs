//! The operations in flight, by their number.
//!
//! Every message that is not received at once has its operation come and go here. So nothing is moved that need not be:
//! an operation is made where it stays, ends there, and its place is used again first, while it is warm.

use std::mem::{forget, replace};
use std::ops::{Index, IndexMut};

use super::OperationId;
use super::operation::{Operation, Outcome};
use super::pieces::Sink;

/// What is true of every operation that is asked for.
const IN_FLIGHT: &str = "operation is in flight";

/// No place.
const NOWHERE: u32 = u32::MAX;

#[derive(Debug)]
enum Place {
    Taken(Operation),
    /// Nobody's; the place that became free before it.
    Free {
        next: u32,
    },
}

/// The operations of one rank.
#[derive(Debug)]
pub(super) struct Operations {
    places: Vec<Place>,
    /// The place that became free last.
    free: u32,
}

impl Default for Operations {
    fn default() -> Self {
        Operations { places: Vec::new(), free: NOWHERE }
    }
}

impl Operations {
    /// Takes in the operation that `make` makes: its number from now on.
    #[inline(always)]
    pub(super) fn insert(&mut self, make: impl FnOnce() -> Operation) -> OperationId {
        if self.free == NOWHERE {
            self.add_place();
        }
        let id = self.free;
        let place = &mut self.places[id as usize];
        let Place::Free { next } = *place else { unreachable!("a place that is taken is not free") };
        self.free = next;
        // Made when nothing can fail any more, it is made right here. There is nothing to drop, which is worth saying:
        // to find that out takes as long as all the rest.
        forget(replace(place, Place::Taken(make())));
        id
    }

    #[cold]
    fn add_place(&mut self) {
        self.free = self.places.len() as OperationId;
        self.places.push(Place::Free { next: NOWHERE });
    }

    /// The operation with that number, if there is one.
    #[inline]
    pub(super) fn get(&self, id: OperationId) -> Option<&Operation> {
        match self.places.get(id as usize) {
            Some(Place::Taken(operation)) => Some(operation),
            _ => None,
        }
    }

    /// As [`Operations::get`].
    #[inline]
    pub(super) fn get_mut(&mut self, id: OperationId) -> Option<&mut Operation> {
        match self.places.get_mut(id as usize) {
            Some(Place::Taken(operation)) => Some(operation),
            _ => None,
        }
    }

    /// An operation has completed with that outcome, which stays to be taken.
    #[inline(always)]
    pub(super) fn finish(&mut self, id: OperationId, outcome: Outcome) {
        let operation = &mut self[id];
        let done = Operation::Done(outcome);
        match operation {
            // Has nothing to drop, as in `insert`.
            Operation::Receive(receive) if matches!(receive.buffer, Sink::Span(_)) => forget(replace(operation, done)),
            _ => *operation = done,
        }
    }

    /// The outcome of an operation that has completed: then it is forgotten.
    #[inline(always)]
    pub(super) fn take_outcome(&mut self, id: OperationId) -> Option<Outcome> {
        self.forget_done(id, |outcome| *outcome)
    }

    /// Forgets an operation that has completed, after `look` has looked at its outcome.
    #[inline(always)]
    pub(super) fn forget_done<R>(&mut self, id: OperationId, look: impl FnOnce(&Outcome) -> R) -> Option<R> {
        let place = &mut self.places[id as usize];
        let result = match place {
            Place::Taken(Operation::Done(outcome)) => look(outcome),
            Place::Taken(_) => return None,
            Place::Free { .. } => unreachable!("{IN_FLIGHT}"),
        };
        forget(replace(place, Place::Free { next: self.free }));
        self.free = id;
        Some(result)
    }

    /// Forgets an operation.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn remove(&mut self, id: OperationId) {
        assert!(self.get(id).is_some(), "{IN_FLIGHT}");
        self.places[id as usize] = Place::Free { next: self.free };
        self.free = id;
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Operation> {
        self.places.iter().filter_map(|place| match place {
            Place::Taken(operation) => Some(operation),
            Place::Free { .. } => None,
        })
    }

    /// All of them, with their numbers.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (OperationId, &Operation)> {
        (0..).zip(&self.places).filter_map(|(id, place)| match place {
            Place::Taken(operation) => Some((id, operation)),
            Place::Free { .. } => None,
        })
    }

    /// Takes all out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Operation> {
        self.free = NOWHERE;
        std::mem::take(&mut self.places).into_iter().filter_map(|place| match place {
            Place::Taken(operation) => Some(operation),
            Place::Free { .. } => None,
        })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.iter().count()
    }
}

/// That of an operation in flight or not collected yet; others have no number.
impl Index<OperationId> for Operations {
    type Output = Operation;

    #[inline]
    fn index(&self, id: OperationId) -> &Operation {
        self.get(id).expect(IN_FLIGHT)
    }
}

impl IndexMut<OperationId> for Operations {
    #[inline]
    fn index_mut(&mut self, id: OperationId) -> &mut Operation {
        self.get_mut(id).expect(IN_FLIGHT)
    }
}

#[cfg(test)]
mod tests {
    use rwmpi_transport::WriteSpan;

    use super::*;
    use crate::Completion;
    use crate::Mark;
    use crate::operation::ReceiveOperation;

    fn receive(tag: u32) -> Operation {
        let pattern = rwmpi_protocol::Pattern { context: 0, source: None, tag: Some(tag) };
        let buffer = WriteSpan::EMPTY.into();
        Operation::Receive(ReceiveOperation {
            pattern,
            buffer,
            slot: None,
            matched: false,
            withdrawing: false,
            mark: Mark::NONE,
        })
    }

    fn tag(operations: &Operations, id: OperationId) -> Option<u32> {
        match operations.get(id) {
            Some(Operation::Receive(receive)) => receive.pattern.tag,
            _ => None,
        }
    }

    #[test]
    fn places_are_used_again_however_an_operation_has_ended() {
        let mut operations = Operations::default();
        let ids = [0, 1, 2].map(|tag| operations.insert(|| receive(tag)));
        assert_eq!(ids, [0, 1, 2]);
        assert_eq!(operations.take_outcome(ids[1]), None);
        operations.finish(ids[1], Ok(Completion::SENT));
        assert_eq!(operations.take_outcome(ids[1]), Some(Ok(Completion::SENT)));
        operations.remove(ids[0]);
        assert_eq!((operations.len(), operations.get(ids[0]).is_none(), tag(&operations, ids[2])), (1, true, Some(2)));
        // The last one to become free first, and no new place.
        assert_eq!([3, 4, 5].map(|tag| operations.insert(|| receive(tag))), [0, 1, 3]);
        assert_eq!([0, 1, 2, 3].map(|id| tag(&operations, id)), [Some(3), Some(4), Some(2), Some(5)]);
        assert_eq!((operations.drain().count(), operations.len()), (4, 0));
        assert_eq!(operations.insert(|| receive(6)), 0);
    }
}

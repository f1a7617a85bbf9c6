//! Communicators: who takes part, in which order, separate from all others.

use crate::Result;

/// A group of ranks with a context of its own (MPI-5.0 chapter 7). Cheap to clone: clones are the same communicator.
#[derive(Clone)]
pub struct Communicator {}

impl Communicator {
    /// The caller's rank in it.
    pub fn rank(&self) -> usize {
        todo!()
    }
    /// How many ranks it has.
    pub fn size(&self) -> usize {
        todo!()
    }
    /// The same ranks in a new context. Collective.
    pub fn dup(&self) -> Result<Communicator> {
        todo!()
    }
    /// A communicator for each colour, ordered by `(key, rank)`; `None` for those who give no colour. Collective.
    pub fn split(&self, colour: Option<u32>, key: i32) -> Result<Option<Communicator>> {
        let _ = (colour, key);
        todo!()
    }
}

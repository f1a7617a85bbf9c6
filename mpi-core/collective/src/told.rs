//! What all ranks of a collective have to do alike, as far as a rank can tell it: what is compared in a checked job.

use crate::activity::Call;

/// Which it is of the collectives that have a [`Call`] in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sibling {
    First,
    /// A scan without the own data; a neighbourhood exchange with a part for each.
    Second,
}

/// An operation that can be told from others: its number, which whoever makes [reductions](crate::Reduction) gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named(pub u64);

/// What a rank is about to do, as far as the other ranks have to do the same. `None` is what does not matter, or is not
/// known.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub call: Call,
    pub sibling: Sibling,
    pub root: Option<usize>,
    pub operation: Option<Named>,
    /// How many bytes all ranks have to give or expect, if it is as many.
    pub bytes: Option<u64>,
}

impl Told {
    pub fn new(call: Call) -> Told {
        Told { call, sibling: Sibling::First, root: None, operation: None, bytes: None }
    }

    pub fn sibling(self, sibling: Sibling) -> Told {
        Told { sibling, ..self }
    }

    pub fn root(self, root: usize) -> Told {
        Told { root: Some(root), ..self }
    }

    pub fn operation(self, operation: Option<Named>) -> Told {
        Told { operation, ..self }
    }

    pub fn bytes(self, bytes: Option<u64>) -> Told {
        Told { bytes, ..self }
    }
}

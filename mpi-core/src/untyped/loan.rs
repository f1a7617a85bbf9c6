//! Memory of the library that an operation in flight uses.

use std::mem::ManuallyDrop;

/// Memory that an operation in flight uses. Unless it is ended, it is never given back: an abandoned operation may
/// still use it.
pub(super) struct Loan(pub(super) ManuallyDrop<Vec<u8>>);

impl Loan {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Loan(ManuallyDrop::new(bytes))
    }

    /// The memory, after the operation has completed.
    pub(super) fn end(self) -> Vec<u8> {
        ManuallyDrop::into_inner(self.0)
    }
}

//! The names of what is in flight: small numbers, used again once it has been forgotten.

/// Names an operation in flight.
pub type OperationId = u32;

/// Names a task until its result has been taken or it was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskId(pub(crate) usize);

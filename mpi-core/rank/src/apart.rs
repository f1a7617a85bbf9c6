//! Steps that have a state and a stack frame of their own, so that calls take little of the program's stack: its
//! threads may have small ones.
//!
//! The state of an asynchronous function has room for those of all that it awaits; each is built on the stack before it
//! goes there, and what polls them is joined to one function. So a call would take the stack of everything that it
//! might do. A step apart takes its own, and only if it comes to that.

use std::future::Future;
use std::pin::Pin;

use crate::engine::Failure;

/// A step apart.
pub type Apart<'s, R = ()> = Pin<Box<dyn Future<Output = Result<R, Failure>> + 's>>;

/// Makes a step, which is not to be seen through.
#[inline(never)]
pub fn apart<'s, R, S>(step: impl FnOnce() -> S) -> Apart<'s, R>
where
    S: Future<Output = Result<R, Failure>> + 's,
{
    Box::pin(step())
}

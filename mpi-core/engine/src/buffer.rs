//! Where Rust references become spans: the one place of the engine that vouches for the life of a buffer.
#![allow(unsafe_code)]

use std::future::Future;
use std::pin::Pin;

use rwmpi_transport::{ReadSpan, WriteSpan};

use crate::task::Work;
use crate::{Failure, Scattered};

/// The bytes of `data`, for an operation that completes, or is waited for by its scope, before the borrow ends.
///
/// # Safety
/// The operation must be done before the borrow of `data` ends.
pub unsafe fn read_span(data: &[u8]) -> ReadSpan<'static> {
    // SAFETY: the slice is readable for the length of its borrow, and by this function's contract that is long enough.
    unsafe { ReadSpan::new(data.as_ptr(), data.len()) }
}

/// The bytes of `buffer`, as [`read_span`].
///
/// # Safety
/// The operation must be done before the borrow of `buffer` ends, and `buffer` not be touched until then.
pub unsafe fn write_span(buffer: &mut [u8]) -> WriteSpan<'static> {
    // SAFETY: the slice is writable for the length of its borrow, and by this function's contract that is long enough.
    unsafe { WriteSpan::new(buffer.as_mut_ptr(), buffer.len()) }
}

/// The bytes of a vector that the library keeps, unchanged, as long as the operation.
pub fn owned_span(data: &[u8]) -> ReadSpan<'static> {
    // SAFETY: the engine stores the vector in the operation that uses the span, and drops both together; a window keeps
    // it until it has collected the operation, or gives it to the process, which does.
    unsafe { read_span(data) }
}

/// The same, to be written to.
pub fn owned_span_mut(data: &mut [u8]) -> WriteSpan<'static> {
    // SAFETY: as above; and while the engine has it, only peers write there.
    unsafe { write_span(data) }
}

/// A future that borrows for `'a`, as one that a rank may keep.
///
/// # Safety
/// It must have come to its end or have been dropped before `'a` ends.
pub unsafe fn work<'a>(future: impl Future<Output = Result<(), Failure>> + 'a) -> Work {
    let boxed: Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>> = Box::pin(future);
    // SAFETY: only the lifetime changes, and by this function's contract nothing is used after it.
    unsafe { std::mem::transmute(boxed) }
}

/// Scattered bytes that are borrowed for `'a`, as what the engine keeps for an operation.
///
/// # Safety
/// The operation must be done before `'a` ends.
pub unsafe fn scattered<'a>(bytes: impl Scattered + 'a) -> Box<dyn Scattered> {
    let boxed: Box<dyn Scattered + 'a> = Box::new(bytes);
    // SAFETY: only the lifetime changes, and by this function's contract nothing is used after it.
    unsafe { std::mem::transmute(boxed) }
}

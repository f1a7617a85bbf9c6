//! Where Rust references become spans, or outlive their borrow: the one place of this crate that vouches for the life
//! of a buffer.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::rc::Rc;

pub(crate) use rwmpi_engine::buffer::{owned_span, owned_span_mut, read_span, scattered, work, write_span};

use crate::staged::Staged;

/// What a scope keeps for an operation that borrows for `'a`.
///
/// # Safety
/// The scope must let go of it before `'a` ends.
pub(crate) unsafe fn staged<'a>(staged: impl Staged + 'a) -> Rc<RefCell<dyn Staged>> {
    let shared: Rc<RefCell<dyn Staged + 'a>> = Rc::new(RefCell::new(staged));
    // SAFETY: only the lifetime changes, and by this function's contract nothing is used after it.
    unsafe { std::mem::transmute(shared) }
}

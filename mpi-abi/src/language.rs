//! Which language a call about attributes comes from (MPI-5.0 section 19.3.7): in Fortran they are integers, in C
//! pointers.
//!
//! The Fortran library calls the functions that programs in C call, so that tools see Fortran programs too. Around such
//! a call it announces what the call is about: a keyval, or the extra state of a keyval that is to be made. So what a
//! tool calls in between, about its own keyvals, is C's.

use std::cell::Cell;

use rwmpi_core::AttributeKind;

use crate::argument::c_int;

thread_local! {
    /// What the thread's present call of the Fortran library is about, and the integers that it passes.
    static ANNOUNCED: Cell<(usize, AttributeKind)> = const { Cell::new((0, AttributeKind::Pointer)) };
}

/// The Fortran library is about to make a call about that keyval, or extra state, in which attributes are integers of
/// so many bytes: 4 or 8. 0: the call is over.
pub fn announce(subject: usize, bytes: c_int) {
    ANNOUNCED.set(match bytes {
        8 => (subject, AttributeKind::Address),
        4 => (subject, AttributeKind::Integer),
        _ => (0, AttributeKind::Pointer),
    });
}

/// What attributes are to the present call, which is about that.
pub(crate) fn kind_in_call_about(subject: usize) -> AttributeKind {
    let (announced, kind) = ANNOUNCED.get();
    if announced == subject { kind } else { AttributeKind::Pointer }
}

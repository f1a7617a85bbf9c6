//! Exceptions (of C++, as a rule) that leave functions of the program which the library has called.
//!
//! They do not unwind the library. An exception is caught where the program's function was called ([`catching`]) and
//! held; the call goes on as after any failure of that function, so that locks, requests and this rank's part in a
//! collective end as they should. When nothing of the call is left, the exception goes on into the program
//! ([`Exception::raise`]).
//!
//! Rust has no way to catch what is no panic. So the program's functions are called by a few instructions of assembler,
//! whose *personality* (what the unwinder asks whether a frame catches) is in this file.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;

use rwmpi_core::{Error, ErrorClass, Result};

/// An exception that is to be raised again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exception(NonNull<c_void>);

thread_local! {
    /// What has left a function of the program in a call that this thread has not ended yet.
    static HELD: Cell<Option<Exception>> = const { Cell::new(None) };
}

/// What [`call_out`] calls.
type Thunk = unsafe extern "C-unwind" fn(*mut c_void);

/// Calls a function of the program.
///
/// # Errors
/// If an exception has left it, which is then held.
pub(crate) fn catching<R, F: FnOnce() -> R>(function: F) -> Result<R> {
    /// A function, until it is called, and its result.
    type Place<F, R> = (Option<F>, Option<R>);

    unsafe extern "C-unwind" fn thunk<R, F: FnOnce() -> R>(place: *mut c_void) {
        // SAFETY: the place below, which nobody else uses meanwhile.
        let (function, result) = unsafe { &mut *place.cast::<Place<F, R>>() };
        *result = function.take().map(|function| function());
    }

    let mut place: Place<F, R> = (Some(function), None);
    // SAFETY: the thunk is for this place.
    let caught = unsafe { call_out((&raw mut place).cast(), thunk::<R, F>) };
    if let Some(exception) = NonNull::new(caught) {
        hold(Exception(exception));
    }
    place.1.ok_or_else(|| Error::new(ErrorClass::Unwound, "an exception has left a function of the program"))
}

/// The first one is the one that goes on.
fn hold(exception: Exception) {
    if HELD.get().is_none() {
        return HELD.set(Some(exception));
    }
    // SAFETY: it was caught, and nobody else knows of it.
    unsafe { unwinder::_Unwind_DeleteException(exception.0.as_ptr()) };
}

/// The exception that is held, for whoever ends a call that has failed.
pub(crate) fn take() -> Option<Exception> {
    HELD.take()
}

impl Exception {
    /// Lets it go on into the program; returns if nothing there catches it. Frames between this one and the program's
    /// have nothing to drop.
    pub(crate) fn raise(self) {
        // SAFETY: it was caught, and nobody else knows of it.
        unsafe { unwinder::_Unwind_RaiseException(self.0.as_ptr()) };
    }
}

mod unwinder {
    use std::ffi::{c_int, c_void};

    // The unwinder, which the library is linked with as it is Rust. In its words: what a personality may answer, and is
    // told.
    pub(super) const HANDLER_FOUND: c_int = 6;
    pub(super) const INSTALL_CONTEXT: c_int = 7;
    pub(super) const CONTINUE_UNWIND: c_int = 8;
    pub(super) const SEARCH_PHASE: c_int = 1;
    pub(super) const HANDLER_FRAME: c_int = 4;

    unsafe extern "C-unwind" {
        pub(super) fn _Unwind_RaiseException(exception: *mut c_void) -> c_int;
        pub(super) fn _Unwind_DeleteException(exception: *mut c_void);
        pub(super) fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize);
        pub(super) fn _Unwind_SetIP(context: *mut c_void, address: usize);
    }
}

/// What the unwinder asks about the frame of [`call_out`]: it catches everything but what unwinds without a choice (a
/// thread that ends).
#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn personality(
    _version: std::ffi::c_int,
    actions: std::ffi::c_int,
    _class: u64,
    exception: *mut c_void,
    context: *mut c_void,
) -> std::ffi::c_int {
    use unwinder::{CONTINUE_UNWIND, HANDLER_FOUND, HANDLER_FRAME, INSTALL_CONTEXT, SEARCH_PHASE};
    if actions & SEARCH_PHASE != 0 {
        return HANDLER_FOUND;
    }
    if actions & HANDLER_FRAME == 0 {
        return CONTINUE_UNWIND;
    }
    // SAFETY: the unwinder's own context; at the landing, register 0 (rax) is what `call_out` returns.
    unsafe {
        unwinder::_Unwind_SetGR(context, 0, exception as usize);
        unwinder::_Unwind_SetIP(context, call_out_landing as *const () as usize);
    }
    INSTALL_CONTEXT
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C-unwind" {
    /// Calls the thunk with the place; the exception that has left it, or null.
    #[link_name = "rwmpi_call_out"]
    fn call_out(place: *mut c_void, thunk: Thunk) -> *mut c_void;
    #[link_name = "rwmpi_call_out_landing"]
    fn call_out_landing();
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .data.rel.ro.rwmpi_personality, \"aw\", @progbits",
    ".p2align 3",
    ".Lrwmpi_personality:",
    ".quad {personality}",
    ".popsection",
    ".pushsection .text.rwmpi_call_out, \"ax\", @progbits",
    ".p2align 4",
    ".globl rwmpi_call_out",
    ".hidden rwmpi_call_out",
    ".type rwmpi_call_out, @function",
    "rwmpi_call_out:",
    ".cfi_startproc",
    // By way of the word above, as it lies at an address that only the loader knows.
    ".cfi_personality 0x9b, .Lrwmpi_personality",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "call rsi",
    "xor eax, eax",
    ".globl rwmpi_call_out_landing",
    ".hidden rwmpi_call_out_landing",
    "rwmpi_call_out_landing:",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "ret",
    ".cfi_endproc",
    ".size rwmpi_call_out, . - rwmpi_call_out",
    ".popsection",
    personality = sym personality,
);

/// Elsewhere an exception ends the process here, as it leaves a function that nothing may leave.
#[cfg(not(target_arch = "x86_64"))]
unsafe extern "C" fn call_out(place: *mut c_void, thunk: Thunk) -> *mut c_void {
    // SAFETY: the caller's.
    unsafe { thunk(place) };
    std::ptr::null_mut()
}

//! Panics of the library: a fault of its own. Nothing unwinds into the program; the job ends with one sentence.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::panic::{PanicHookInfo, set_hook};

use rwmpi_interface::panic::own_fault;

unsafe extern "C" {
    fn _exit(code: c_int) -> !;
}

/// Has the job end at a panic. Called when the library is loaded: the standard library that panics here is its own, so
/// that nobody else's panics come here.
pub extern "C" fn report_panics() {
    set_hook(Box::new(end_at_panic));
}

fn end_at_panic(panic: &PanicHookInfo<'_>) {
    eprintln!("{}", own_fault(panic.payload_as_str().unwrap_or("no reason was given"), panic.location()));
    // SAFETY: nothing of the process is used any more.
    unsafe { _exit(1) }
}

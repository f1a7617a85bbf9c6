//! Generalized requests, whose procedures the program has (MPI-5.0 section 13.2).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use rwmpi_interface::Abi;
use rwmpi_interface::Function;

/// What C keeps as extra state of a request.
struct State {
    query: Function,
    free: Function,
    cancel: Function,
    /// The program's own extra state: the variable that it has passed, which its procedures may change.
    extra: *mut i64,
}

/// The extra state that C keeps for these procedures, until it frees the request.
pub fn request_state(query: Function, free: Function, cancel: Function, extra: *mut i64) -> *mut c_void {
    Box::into_raw(Box::new(State { query, free, cancel, extra })).cast()
}

/// What C calls to ask for the status.
///
/// # Safety
/// `state` is from [`request_state`].
pub unsafe extern "C-unwind" fn query_request<A: Abi>(state: *mut c_void, status: *mut A::Status) -> c_int {
    type Query = unsafe extern "C-unwind" fn(*mut i64, *mut c_int, *mut c_int);
    let mut code = A::SUCCESS;
    // SAFETY: the address is that of a procedure that the program passed for this.
    unsafe {
        let state = state.cast::<State>();
        let procedure: Query = std::mem::transmute((*state).query);
        procedure((*state).extra, status.cast(), &raw mut code);
    }
    code
}

/// What C calls once when the request is freed.
///
/// # Safety
/// As [`query_request`].
pub unsafe extern "C-unwind" fn free_request(state: *mut c_void) -> c_int {
    type Free = unsafe extern "C-unwind" fn(*mut i64, *mut c_int);
    let mut code = 0;
    // SAFETY: as above; nobody uses the state after this.
    unsafe {
        let state = Box::from_raw(state.cast::<State>());
        let procedure: Free = std::mem::transmute(state.free);
        procedure(state.extra, &raw mut code);
    }
    code
}

/// What C calls to cancel.
///
/// # Safety
/// As [`query_request`].
pub unsafe extern "C-unwind" fn cancel_request<A: Abi>(state: *mut c_void, mut complete: c_int) -> c_int {
    type Cancel = unsafe extern "C-unwind" fn(*mut i64, *mut c_int, *mut c_int);
    let mut code = A::SUCCESS;
    // SAFETY: as above.
    unsafe {
        let state = state.cast::<State>();
        let procedure: Cancel = std::mem::transmute((*state).cancel);
        procedure((*state).extra, &raw mut complete, &raw mut code);
    }
    code
}

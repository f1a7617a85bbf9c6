//! The tool information interface (MPI-5.0 section 15.3). There are no variables, categories, events and sources yet,
//! so a tool counts none of each. What would be about one says that it does not exist ([`refuse`]).
//!
//! It has no error handlers, works before MPI_Init and after MPI_Finalize, and for every thread.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::argument::{Out, c_int, c_void};
use crate::interface::Abi;

/// How often the interface was initialized without having been finalized. Written by MPI_T_init_thread and
/// MPI_T_finalize, which any thread may call; read by all others. Nothing else depends on what it says.
static USERS: AtomicU32 = AtomicU32::new(0);

/// What MPI_T_PVAR_ALL_HANDLES is in both interfaces.
const ALL_HANDLES: usize = 1;
/// What sessions for performance variables are: none has anything of its own.
const SESSION: *mut c_void = std::ptr::without_provenance_mut(2);

/// What a call about something that does not exist returns.
pub fn refuse<A: Abi>(code: c_int) -> c_int {
    if USERS.load(Ordering::Relaxed) == 0 { A::T_ERR_NOT_INITIALIZED } else { code }
}

/// Gives a result.
fn give<A: Abi, T: Copy>(place: Out<T>, value: T) -> c_int {
    match refuse::<A>(A::SUCCESS) {
        code if code != A::SUCCESS => code,
        code => place.set(value).map_or(A::T_ERR_INVALID, |()| code),
    }
}

/// MPI_T_init_thread (MPI-5.0 section 15.3.4).
pub fn t_init_thread<A: Abi>(required: c_int, provided: Out<c_int>) -> c_int {
    USERS.fetch_add(1, Ordering::Relaxed);
    give::<A, _>(provided, required.clamp(A::THREAD_SINGLE, A::THREAD_MULTIPLE))
}

/// MPI_T_finalize (MPI-5.0 section 15.3.4).
pub fn t_finalize<A: Abi>() -> c_int {
    let less = |users: u32| users.checked_sub(1);
    match USERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
        Ok(_) => A::SUCCESS,
        Err(_) => A::T_ERR_NOT_INITIALIZED,
    }
}

/// MPI_T_cvar_get_num (MPI-5.0 section 15.3.6).
pub fn t_cvar_get_num<A: Abi>(number: Out<c_int>) -> c_int {
    give::<A, _>(number, 0)
}

/// MPI_T_pvar_get_num (MPI-5.0 section 15.3.7).
pub fn t_pvar_get_num<A: Abi>(number: Out<c_int>) -> c_int {
    give::<A, _>(number, 0)
}

/// MPI_T_event_get_num (MPI-5.0 section 15.3.8).
pub fn t_event_get_num<A: Abi>(number: Out<c_int>) -> c_int {
    give::<A, _>(number, 0)
}

/// MPI_T_source_get_num (MPI-5.0 section 15.3.8).
pub fn t_source_get_num<A: Abi>(number: Out<c_int>) -> c_int {
    give::<A, _>(number, 0)
}

/// MPI_T_category_get_num (MPI-5.0 section 15.3.9).
pub fn t_category_get_num<A: Abi>(number: Out<c_int>) -> c_int {
    give::<A, _>(number, 0)
}

/// MPI_T_category_changed (MPI-5.0 section 15.3.9): they never do.
pub fn t_category_changed<A: Abi>(changes: Out<c_int>) -> c_int {
    give::<A, _>(changes, 0)
}

/// MPI_T_pvar_session_create (MPI-5.0 section 15.3.7).
pub fn t_pvar_session_create<A: Abi>(session: Out<*mut c_void>) -> c_int {
    give::<A, _>(session, SESSION)
}

/// MPI_T_pvar_session_free (MPI-5.0 section 15.3.7).
pub fn t_pvar_session_free<A: Abi>(session: Out<*mut c_void>) -> c_int {
    match session.get() {
        Ok(SESSION) => give::<A, _>(session, std::ptr::null_mut()),
        _ => refuse::<A>(A::T_ERR_INVALID_SESSION),
    }
}

/// What becomes of a handle, or of all in a session: these are none.
fn of_handles<A: Abi>(session: *mut c_void, handle: *mut c_void) -> c_int {
    refuse::<A>(match session {
        SESSION if handle.addr() == ALL_HANDLES => A::SUCCESS,
        SESSION => A::T_ERR_INVALID_HANDLE,
        _ => A::T_ERR_INVALID_SESSION,
    })
}

/// MPI_T_pvar_start (MPI-5.0 section 15.3.7).
pub fn t_pvar_start<A: Abi>(session: *mut c_void, handle: *mut c_void) -> c_int {
    of_handles::<A>(session, handle)
}

/// MPI_T_pvar_stop (MPI-5.0 section 15.3.7).
pub fn t_pvar_stop<A: Abi>(session: *mut c_void, handle: *mut c_void) -> c_int {
    of_handles::<A>(session, handle)
}

/// MPI_T_pvar_reset (MPI-5.0 section 15.3.7).
pub fn t_pvar_reset<A: Abi>(session: *mut c_void, handle: *mut c_void) -> c_int {
    of_handles::<A>(session, handle)
}

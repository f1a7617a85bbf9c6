//! The tool information interface (MPI-5.0 section 15.3): control variables are the settings and the tuning table
//! ([`control`]), performance variables what the rank has counted ([`performance`]), events what happens to messages
//! ([`event`]); categories bring them into order, and enumerations name what numbers stand for.
//!
//! It has no error handlers, works before MPI_Init and after MPI_Finalize, and for every thread. Variables are always
//! on and can't be changed, so their handles have no state: a handle is the number of its variable.

pub mod category;
pub mod control;
pub mod enumeration;
pub mod event;
pub mod performance;

use std::sync::atomic::{AtomicU32, Ordering};

use crate::argument::{Out, TextOut, c_int, c_void};
use crate::interface::Abi;
use crate::rank::{Rank, peek};

/// How often the interface was initialized without having been finalized. Written by MPI_T_init_thread and
/// MPI_T_finalize, which any thread may call; read by all others. Nothing else depends on what it says.
static USERS: AtomicU32 = AtomicU32::new(0);

/// What a call about something that does not exist returns.
pub fn refuse<A: Abi>(code: c_int) -> c_int {
    if USERS.load(Ordering::Relaxed) == 0 { A::T_ERR_NOT_INITIALIZED } else { code }
}

/// What a call may say: the code that it returns if it fails.
type Checked<T = ()> = Result<T, c_int>;

/// Runs the body of a call, if the interface is initialized.
fn run<A: Abi>(body: impl FnOnce() -> Checked) -> c_int {
    match refuse::<A>(A::SUCCESS) {
        code if code != A::SUCCESS => code,
        code => body().err().unwrap_or(code),
    }
}

/// The entry with that index.
fn entry<A: Abi, T>(table: &[T], index: c_int) -> Checked<(usize, &T)> {
    let index = usize::try_from(index).map_err(|_| A::T_ERR_INVALID_INDEX)?;
    table.get(index).map(|entry| (index, entry)).ok_or(A::T_ERR_INVALID_INDEX)
}

/// Gives a result that the program may not want.
fn offer<T: Copy>(place: Out<T>, value: T) {
    if !place.is_null() {
        // There is a place.
        let _ = place.set(value);
    }
}

/// Gives as much of a text as has room, and how long it is with its end (MPI-5.0 section 15.3.3).
fn offer_text(place: TextOut, len: Out<c_int>, text: &str) {
    let room = len.get().unwrap_or(0);
    // Without a place nothing is written.
    let _ = place.set(text, usize::try_from(room).unwrap_or(0));
    offer(len, text.len() as c_int + 1);
}

/// What the program gets as the handle of the variable with that index.
fn handle(index: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(index + FIRST_HANDLE)
}

/// The index of the variable with that handle, of so many.
fn index_of<A: Abi>(handle: *mut c_void, variables: usize) -> Checked<usize> {
    let index = handle.addr().checked_sub(FIRST_HANDLE).filter(|&index| index < variables);
    index.ok_or(A::T_ERR_INVALID_HANDLE)
}

/// Handles below this have a meaning of their own.
const FIRST_HANDLE: usize = 16;

/// Gives a result.
fn give<A: Abi, T: Copy>(place: Out<T>, value: T) -> c_int {
    match refuse::<A>(A::SUCCESS) {
        code if code != A::SUCCESS => code,
        code => place.set(value).map_or(A::T_ERR_INVALID, |()| code),
    }
}

/// MPI_T_init_thread (MPI-5.0 section 15.3.4). What a rank has counted can be read by the threads that may call MPI.
pub fn t_init_thread<A: Abi>(required: c_int, provided: Out<c_int>) -> c_int {
    USERS.fetch_add(1, Ordering::Relaxed);
    let is_single = |rank: &Rank| rank.thread_level.get() < A::THREAD_MULTIPLE;
    let most = if peek().is_ok_and(is_single) { A::THREAD_SERIALIZED } else { A::THREAD_MULTIPLE };
    give::<A, _>(provided, required.clamp(A::THREAD_SINGLE, most))
}

/// MPI_T_finalize (MPI-5.0 section 15.3.4).
pub fn t_finalize<A: Abi>() -> c_int {
    let less = |users: u32| users.checked_sub(1);
    match USERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
        Ok(_) => A::SUCCESS,
        Err(_) => A::T_ERR_NOT_INITIALIZED,
    }
}

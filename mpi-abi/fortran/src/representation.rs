//! Representations of data in files, which procedures of the program convert (MPI-5.0 section 14.5.3).
//!
//! Where the program has no such procedure it passes one of the library's, MPI_CONVERSION_FN_NULL, which is known by
//! its address: the dynamic linker makes one of the program's and the library's.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

use rwmpi_interface::Abi;
use rwmpi_interface::Function;

use crate::handle::give_handle;

/// A procedure that converts: memory, datatype, count, bytes of the file, position, extra state, error code.
type Convert<Count> =
    unsafe extern "C-unwind" fn(*mut c_void, *mut c_int, *mut Count, *mut c_void, *mut i64, *mut i64, *mut c_int);
/// A procedure that measures: datatype, extent, extra state, error code.
type Extent = unsafe extern "C-unwind" fn(*mut c_int, *mut i64, *mut i64, *mut c_int);

/// What C keeps as extra state of a representation.
struct State {
    read: Function,
    write: Function,
    extent: Function,
    /// The program's own extra state.
    extra: i64,
}

/// Where all states are: a representation stays for ever, and tools that look for lost memory find them here.
static STATES: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// The extra state that C keeps for these procedures.
pub fn representation_state(read: Function, write: Function, extent: Function, extra: i64) -> *mut c_void {
    let state = Box::into_raw(Box::new(State { read, write, extent, extra }));
    STATES.lock().unwrap_or_else(PoisonError::into_inner).push(state.addr());
    state.cast()
}

unsafe extern "C-unwind" {
    fn mpi_conversion_fn_null_();
    fn mpi_conversion_fn_null();
    fn mpi_conversion_fn_null_c_();
    fn mpi_conversion_fn_null_c();
}

/// The function that C is to call for that procedure: none if it stands for no conversion.
pub fn conversion(procedure: Function, called: Function) -> Function {
    let absent = [
        mpi_conversion_fn_null_ as *const (),
        mpi_conversion_fn_null as *const (),
        mpi_conversion_fn_null_c_ as *const (),
        mpi_conversion_fn_null_c as *const (),
    ];
    if absent.iter().any(|one| one.addr() == procedure.addr()) { std::ptr::null() } else { called }
}

/// Calls a procedure that converts, in either direction, with what C passes.
///
/// # Safety
/// `convert` is the address of such a procedure with counts of this type; the rest is as C's prototype says.
unsafe fn convert<A: Abi, Count>(
    convert: Function,
    memory: *mut c_void,
    datatype: A::Handle,
    mut count: Count,
    bytes: *mut c_void,
    mut position: i64,
    extra: *mut i64,
) -> c_int {
    let (mut code, mut number) = (A::SUCCESS, 0);
    // SAFETY: passed on.
    unsafe {
        give_handle::<A>(&raw mut number, datatype);
        let convert: Convert<Count> = std::mem::transmute(convert);
        convert(memory, &raw mut number, &raw mut count, bytes, &raw mut position, extra, &raw mut code);
    }
    code
}

/// Defines what C calls to convert by one of the program's procedures.
macro_rules! conversions {
    ($($(#[$docs:meta])* $name:ident by $procedure:ident;)*) => { $(
        $(#[$docs])*
        ///
        /// # Safety
        /// `state` is from [`representation_state`]; the rest is as C's prototype says.
        pub unsafe extern "C-unwind" fn $name<A: Abi, Count>(
            memory: *mut c_void,
            datatype: A::Handle,
            count: Count,
            bytes: *mut c_void,
            position: i64,
            state: *mut c_void,
        ) -> c_int {
            // SAFETY: the address is that of a procedure that the program passed as one that converts.
            unsafe {
                let state = state.cast::<State>();
                let extra = &raw mut (*state).extra;
                convert::<A, Count>((*state).$procedure, memory, datatype, count, bytes, position, extra)
            }
        }
    )* };
}

conversions! {
    /// What C calls to turn bytes of the file into elements.
    read_representation by read;
    /// What C calls to turn elements into bytes for the file.
    write_representation by write;
}

/// What C calls to ask how many bytes a predefined datatype has in the file.
///
/// # Safety
/// As [`read_representation`].
pub unsafe extern "C-unwind" fn measure_representation<A: Abi>(
    datatype: A::Handle,
    extent: *mut i64,
    state: *mut c_void,
) -> c_int {
    let (mut code, mut number) = (A::SUCCESS, 0);
    // SAFETY: the address is that of a procedure that the program passed as one that measures.
    unsafe {
        give_handle::<A>(&raw mut number, datatype);
        let state = state.cast::<State>();
        let measure: Extent = std::mem::transmute((*state).extent);
        measure(&raw mut number, extent, &raw mut (*state).extra, &raw mut code);
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Procedures of the library that this crate is part of.
    macro_rules! procedures {
        ($($name:ident)*) => { mod defined { $(
            #[unsafe(no_mangle)]
            extern "C-unwind" fn $name() {}
        )* } };
    }

    procedures! { mpi_conversion_fn_null_ mpi_conversion_fn_null mpi_conversion_fn_null_c_ mpi_conversion_fn_null_c }

    #[test]
    fn what_stands_for_no_conversion_is_none() {
        let called = representation_state as *const () as Function;
        assert!(conversion(mpi_conversion_fn_null_ as *const () as Function, called).is_null());
        assert!(conversion(mpi_conversion_fn_null_c as *const () as Function, called).is_null());
        assert_eq!(conversion(conversion as *const () as Function, called), called);
    }
}

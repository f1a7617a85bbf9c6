//! `libmpi.so.12`: every function of MPI under the names and with the types of the MPICH ABI, and the few symbols that
//! it has besides.
//!
//! All functions of the standard are made of the table by the build script; the bodies are in `rwmpi-abi`.
#![allow(unsafe_code, non_snake_case, non_upper_case_globals, missing_docs)]
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]
// What has no body yet looks at few of its arguments.
#![allow(unused_variables, unused_unsafe)]

mod compatibility;
mod extensions;

use rwmpi_abi::argument::*;
use rwmpi_abi::{Abi, Constants};

type A = rwmpi_abi::Mpich;

#[global_allocator]
static MEMORY: rwmpi_abi::LibraryMemory = rwmpi_abi::LibraryMemory;

include!(concat!(env!("OUT_DIR"), "/exports.rs"));

/// A constant of the interface that is an address.
#[repr(transparent)]
pub struct Marker(*const c_int);

// SAFETY: nobody reads or writes through it.
unsafe impl Sync for Marker {}

#[unsafe(no_mangle)]
pub static MPI_UNWEIGHTED: Marker = Marker(rwmpi_abi::MPICH_UNWEIGHTED as *const c_int);
#[unsafe(no_mangle)]
pub static MPI_WEIGHTS_EMPTY: Marker = Marker(rwmpi_abi::MPICH_WEIGHTS_EMPTY as *const c_int);
#[unsafe(no_mangle)]
pub static MPI_T_PVAR_ALL_HANDLES: Marker = Marker(std::ptr::without_provenance(1));
#[unsafe(no_mangle)]
pub static MPI_F_STATUS_IGNORE: Marker = Marker(std::ptr::without_provenance(1));
#[unsafe(no_mangle)]
pub static MPI_F_STATUSES_IGNORE: Marker = Marker(std::ptr::without_provenance(1));

/// MPI_DUP_FN: the attribute of the copy is the attribute itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIR_Dup_fn(
    _object: c_int,
    _keyval: c_int,
    _extra_state: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes where the copy and the flag go.
    unsafe {
        copy.cast::<*mut c_void>().write(value);
        flag.write(1);
    }
    0
}

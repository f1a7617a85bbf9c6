//! What programs built with MPICH import besides the functions of the table: conversions between C and Fortran as
//! functions, and questions about devices that this library does not serve.
//!
//! A status has the same layout in C, as an array of integers, and in the module `mpi_f08`: conversions copy.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;

use rwmpi_abi::Constants;
use rwmpi_abi::argument::{c_int, c_void};

use crate::A;
use crate::exported::{MPI_File_fromint, MPI_File_toint};

/// Integers of a status.
const STATUS: usize = 5;

/// Two functions under both names: a handle is its integer.
macro_rules! handles {
    ($($to_integer:ident $of_integer:ident $p_to_integer:ident $p_of_integer:ident;)*) => { $(
        handles!(@ $to_integer);
        handles!(@ $of_integer);
        handles!(@ $p_to_integer);
        handles!(@ $p_of_integer);
    )* };
    (@ $name:ident) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(handle: c_int) -> c_int {
            handle
        }
    };
}

handles! {
    MPI_Comm_c2f MPI_Comm_f2c PMPI_Comm_c2f PMPI_Comm_f2c;
    MPI_Errhandler_c2f MPI_Errhandler_f2c PMPI_Errhandler_c2f PMPI_Errhandler_f2c;
    MPI_Group_c2f MPI_Group_f2c PMPI_Group_c2f PMPI_Group_f2c;
    MPI_Info_c2f MPI_Info_f2c PMPI_Info_c2f PMPI_Info_f2c;
    MPI_Message_c2f MPI_Message_f2c PMPI_Message_c2f PMPI_Message_f2c;
    MPI_Op_c2f MPI_Op_f2c PMPI_Op_c2f PMPI_Op_f2c;
    MPI_Request_c2f MPI_Request_f2c PMPI_Request_c2f PMPI_Request_f2c;
    MPI_Session_c2f MPI_Session_f2c PMPI_Session_c2f PMPI_Session_f2c;
    MPI_Type_c2f MPI_Type_f2c PMPI_Type_c2f PMPI_Type_f2c;
    MPI_Win_c2f MPI_Win_f2c PMPI_Win_c2f PMPI_Win_f2c;
}

/// The same for files, whose handles are pointers.
macro_rules! files {
    ($($to_integer:ident $of_integer:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $to_integer(file: *mut c_void) -> c_int {
            // SAFETY: any pointer will do.
            unsafe { MPI_File_toint(file as _) }
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $of_integer(file: c_int) -> *mut c_void {
            // SAFETY: any integer will do.
            unsafe { MPI_File_fromint(file) as _ }
        }
    )* };
}

files! {
    MPI_File_c2f MPI_File_f2c;
    PMPI_File_c2f PMPI_File_f2c;
}

/// Copies a status from one form to another.
///
/// # Safety
/// Both places are valid, or constants or null.
unsafe fn copy(from: *const c_int, to: *mut c_int) -> c_int {
    let ignored = [<A as Constants>::STATUS_IGNORE as usize, 0];
    let is_place =
        |address: usize| !ignored.contains(&address) && address != (&raw const MPIR_F08_MPI_STATUS_IGNORE_OBJ).addr();
    if !is_place(from.addr()) || !is_place(to.addr()) {
        return <A as Constants>::ERR_ARG;
    }
    // SAFETY: passed on.
    unsafe { from.copy_to(to, STATUS) };
    <A as Constants>::SUCCESS
}

macro_rules! statuses {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(from: *const c_int, to: *mut c_int) -> c_int {
            // SAFETY: the program passes what the standard asks for.
            unsafe { copy(from, to) }
        }
    )* };
}

statuses! {
    MPI_Status_c2f MPI_Status_f2c MPI_Status_c2f08 MPI_Status_f082c MPI_Status_f2f08 MPI_Status_f082f
    PMPI_Status_c2f PMPI_Status_f2c PMPI_Status_c2f08 PMPI_Status_f082c PMPI_Status_f2f08 PMPI_Status_f082f
}

/// A status whose address is a constant. Nobody reads or writes it.
#[repr(transparent)]
pub struct Ignored(UnsafeCell<[c_int; STATUS]>);

// SAFETY: its address is all that is used.
unsafe impl Sync for Ignored {}

/// The address of such a status.
#[repr(transparent)]
pub struct IgnoredPlace(*const Ignored);

// SAFETY: as above.
unsafe impl Sync for IgnoredPlace {}

#[unsafe(no_mangle)]
pub static MPIR_F08_MPI_STATUS_IGNORE_OBJ: Ignored = Ignored(UnsafeCell::new([0; STATUS]));
#[unsafe(no_mangle)]
pub static MPIR_F08_MPI_STATUSES_IGNORE_OBJ: Ignored = Ignored(UnsafeCell::new([0; STATUS]));
#[unsafe(no_mangle)]
pub static MPI_F08_STATUS_IGNORE: IgnoredPlace = IgnoredPlace(&raw const MPIR_F08_MPI_STATUS_IGNORE_OBJ);
#[unsafe(no_mangle)]
pub static MPI_F08_STATUSES_IGNORE: IgnoredPlace = IgnoredPlace(&raw const MPIR_F08_MPI_STATUSES_IGNORE_OBJ);

/// Constants of Fortran that Intel MPI has names for in C: there are none behind them here.
#[unsafe(no_mangle)]
pub static MPI_F_ERRCODES_IGNORE: IgnoredPlace = IgnoredPlace(std::ptr::null());
#[unsafe(no_mangle)]
pub static MPI_F_ARGVS_NULL: IgnoredPlace = IgnoredPlace(std::ptr::null());

/// Whether buffers may lie in the memory of such devices: they may not.
macro_rules! devices {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> c_int {
            0
        }
    )* };
}

devices! {
    MPIX_Query_cuda_support MPIX_Query_hip_support MPIX_Query_ze_support
    PMPIX_Query_cuda_support PMPIX_Query_hip_support PMPIX_Query_ze_support
}

macro_rules! device_of_a_kind {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(_kind: c_int, is_supported: *mut c_int) -> c_int {
            if is_supported.is_null() {
                return <A as Constants>::ERR_ARG;
            }
            // SAFETY: the program passes a place for the answer.
            unsafe { is_supported.write(0) };
            <A as Constants>::SUCCESS
        }
    )* };
}

device_of_a_kind! { MPIX_GPU_query_support PMPIX_GPU_query_support }

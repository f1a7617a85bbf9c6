//! `libmpifort.so.12`: every procedure of MPI for Fortran on the MPICH ABI.
//!
//! All of it is made of the table by the build script; what becomes of arguments is in `rwmpi-fortran`.
#![allow(non_snake_case, non_upper_case_globals, missing_docs)]
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]
// Some procedures do nothing.
#![allow(unused_unsafe)]

use rwmpi_fortran as glue;
use rwmpi_interface::{Abi, Constants, Function, c_char, c_int, c_void};

type A = rwmpi_interface::Mpich;

rwmpi_fortran::common_blocks!(5);

include!(concat!(env!("OUT_DIR"), "/exports.rs"));

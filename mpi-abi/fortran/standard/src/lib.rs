//! `libmpifort_abi.so.1`: every procedure of MPI for Fortran on the standard ABI.
//!
//! All of it is made of the table by the build script; what becomes of arguments is in `rwmpi-fortran`.
#![allow(non_snake_case, non_upper_case_globals, missing_docs)]
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]
// Some procedures do nothing.
#![allow(unused_unsafe)]

use rwmpi_abi::argument::{Function, c_char, c_int, c_void};
use rwmpi_abi::{Abi, Constants};
use rwmpi_fortran as glue;

type A = rwmpi_abi::Standard;

rwmpi_fortran::common_blocks!(8);

include!(concat!(env!("OUT_DIR"), "/exports.rs"));

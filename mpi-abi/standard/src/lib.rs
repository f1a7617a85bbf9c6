//! `libmpi_abi.so.1`: every function of MPI under the names and with the types of the standard ABI (MPI-5.0 chapter
//! 20).
//!
//! All of it is made of the table by the build script; the bodies are in `rwmpi-abi`.
#![allow(non_snake_case, missing_docs)]
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]
// What has no body yet looks at few of its arguments.
#![allow(unused_variables, unused_unsafe)]

use rwmpi_abi::argument::*;
use rwmpi_abi::{Abi, Constants};

type A = rwmpi_abi::Standard;

#[global_allocator]
static MEMORY: rwmpi_abi::LibraryMemory = rwmpi_abi::LibraryMemory;

include!(concat!(env!("OUT_DIR"), "/exports.rs"));

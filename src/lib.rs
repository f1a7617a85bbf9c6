//! rwmpi: an MPI whose transport is remote memory.
#![forbid(unsafe_code)]
pub use rwmpi_core::*;

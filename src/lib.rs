//! rwmpi: an MPI whose transport is remote memory.
#![forbid(unsafe_code)]
pub use rwmpi_core::*;
pub use rwmpi_launcher::launch;

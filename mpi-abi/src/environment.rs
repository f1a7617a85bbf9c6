//! Inquiry, memory and timers (MPI-5.0 chapter 9).

use rwmpi_core::wtime as now;

use crate::interface::Abi;

/// MPI_Wtime (MPI-5.0 section 9.6).
pub fn wtime<A: Abi>() -> f64 {
    now()
}

/// MPI_Wtick (MPI-5.0 section 9.6): the clock counts nanoseconds.
pub fn wtick<A: Abi>() -> f64 {
    1e-9
}

/// MPI_Aint_add (MPI-5.0 section 5.1.5).
pub fn aint_add<A: Abi>(base: i64, displacement: i64) -> i64 {
    base.wrapping_add(displacement)
}

/// MPI_Aint_diff (MPI-5.0 section 5.1.5).
pub fn aint_diff<A: Abi>(first: i64, second: i64) -> i64 {
    first.wrapping_sub(second)
}

//! Checks of MPI's behaviour that run at any number of ranks, in any mode, with ranks as threads or as processes.
//!
//! Every rank of a job calls the same check; a check panics or fails where the library does not keep its promise.

use rwmpi::{Result, Universe};

pub mod collectives;
pub mod nonblocking_collectives;
pub mod point_to_point;
pub mod traffic;

/// Name and body of a check.
pub type Check = (&'static str, fn(&Universe) -> Result<()>);

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Check> {
    collectives::CHECKS
        .iter()
        .chain(nonblocking_collectives::CHECKS)
        .chain(point_to_point::CHECKS)
        .chain(traffic::CHECKS)
}

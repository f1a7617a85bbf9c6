//! Checks of MPI's behaviour that run at any number of ranks, in any mode, with ranks as threads or as processes.
//!
//! Every rank of a job calls the same check; a check panics or fails where the library does not keep its promise.

use rwmpi::{Result, Universe};

pub mod collectives;
pub mod communicators;
pub mod intercommunicators;
pub mod long_collectives;
pub mod mistakes;
pub mod nodes;
pub mod nonblocking_collectives;
pub mod plain_data;
pub mod point_to_point;
pub mod requests;
pub mod short_collectives;
pub mod topologies;
pub mod traffic;
pub mod typed_windows;
pub mod untyped_collectives;
pub mod values;
pub mod windows;

/// Name and body of a check.
pub type Check = (&'static str, fn(&Universe) -> Result<()>);

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Check> {
    [
        collectives::CHECKS,
        communicators::CHECKS,
        intercommunicators::CHECKS,
        long_collectives::CHECKS,
        mistakes::CHECKS,
        nodes::CHECKS,
        nonblocking_collectives::CHECKS,
        plain_data::CHECKS,
        point_to_point::CHECKS,
        requests::CHECKS,
        short_collectives::CHECKS,
        topologies::CHECKS,
        traffic::CHECKS,
        typed_windows::CHECKS,
        untyped_collectives::CHECKS,
        values::CHECKS,
        windows::CHECKS,
    ]
    .into_iter()
    .flatten()
}

//! Where ranks run: which on which cores of their host.
//!
//! What the user asks for ([`Wish`]) and what there is ([`Machine`]) go in, the hardware threads of each rank come out
//! ([`place`]). Nothing here acts, but that cores are claimed against other jobs.

mod binding;
mod mapping;
mod rankfile;
mod topology;
mod wish;

pub(crate) use binding::{Announced, Placement, place};
pub(crate) use rankfile::read_rankfile;
pub(crate) use topology::Machine;
#[cfg(test)]
pub(crate) use wish::Bind;
pub use wish::Binding;
pub(crate) use wish::{Wish, apply_bind, apply_map, apply_rank_by, parse_cpus};

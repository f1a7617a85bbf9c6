//! What every benchmark says of itself.

use rwmpi::{Communicator, Result, Universe};

use crate::outcome::Outcome;
use crate::{Class, Options};

/// What a benchmark tells the frame about itself: each benchmark's module has one as `DEFINITION`.
pub struct Definition {
    /// Which numbers of processes are legal, to follow "it needs": `"a power of two"`.
    pub process_counts: &'static str,
    /// Whether `processes` (at least 1) can run `class`.
    pub allows: fn(class: Class, processes: usize) -> bool,
    /// Bytes that the neediest of `processes` ranks allocates.
    pub memory_per_rank: fn(class: Class, processes: usize) -> u64,
    /// Whether [`Options::any_source`] makes a difference.
    pub has_any_source: bool,
    /// Whether [`Options::one_sided`] does.
    pub has_one_sided: bool,
    /// What is counted as an operation: `"floating point"`.
    pub operation_type: &'static str,
    /// Runs it; every rank of `world`, whose size is legal, calls this.
    pub run: fn(world: &Communicator, universe: &Universe, class: Class, options: &Options) -> Result<Outcome>,
}

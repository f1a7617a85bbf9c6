//! MG: to come.

use crate::benchmark::Definition;
use crate::outcome::Outcome;
use crate::{Class, Options};
use rwmpi::{Communicator, Result, Universe};

/// What the frame must know of it.
pub const DEFINITION: Definition = Definition {
    process_counts: "a power of two",
    allows,
    memory_per_rank: |_, _| 0,
    has_any_source: true,
    operation_type: "floating point",
    run,
};

fn allows(class: Class, processes: usize) -> bool {
    let _ = class;
    processes.is_power_of_two() && processes <= 128
}

fn run(_world: &Communicator, _universe: &Universe, _class: Class, _options: &Options) -> Result<Outcome> {
    todo!()
}

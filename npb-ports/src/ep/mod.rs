//! EP: to come.

use crate::benchmark::Definition;
use crate::outcome::Outcome;
use crate::{Class, Options};
use rwmpi::{Communicator, Result, Universe};

/// What the frame must know of it.
pub const DEFINITION: Definition = Definition {
    process_counts: "at most one process a batch of 65536 pairs",
    allows,
    memory_per_rank: |_, _| 0,
    has_any_source: false,
    operation_type: "floating point",
    run,
};

fn allows(class: Class, processes: usize) -> bool {
    let batches = 1
        << (match class {
            Class::S => 24,
            Class::W => 25,
            Class::A => 28,
            Class::B => 30,
            Class::C => 32,
        } - 16);
    processes <= batches
}

fn run(_world: &Communicator, _universe: &Universe, _class: Class, _options: &Options) -> Result<Outcome> {
    todo!()
}

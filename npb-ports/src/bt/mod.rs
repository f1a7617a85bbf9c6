//! BT: to come.

use crate::benchmark::Definition;
use crate::outcome::Outcome;
use crate::{Class, Options};
use rwmpi::{Communicator, Result, Universe};

/// What the frame must know of it.
pub const DEFINITION: Definition = Definition {
    process_counts: "a square number",
    allows,
    memory_per_rank: |_, _| 0,
    has_any_source: false,
    operation_type: "floating point",
    run,
};

fn allows(class: Class, processes: usize) -> bool {
    let points = match class {
        Class::S => 12,
        Class::W => 24,
        Class::A => 64,
        Class::B => 102,
        Class::C => 162,
    };
    let cells = processes.isqrt();
    cells * cells == processes && points / cells >= 3
}

fn run(_world: &Communicator, _universe: &Universe, _class: Class, _options: &Options) -> Result<Outcome> {
    todo!()
}

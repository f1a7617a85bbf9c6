//! LU: to come.

use crate::benchmark::Definition;
use crate::outcome::Outcome;
use crate::{Class, Options};
use rwmpi::{Communicator, Result, Universe};

/// What the frame must know of it.
pub const DEFINITION: Definition = Definition {
    process_counts: "a grid of processes at most twice as wide as high",
    allows,
    memory_per_rank: |_, _| 0,
    has_any_source: true,
    operation_type: "floating point",
    run,
};

fn allows(class: Class, processes: usize) -> bool {
    let points = match class {
        Class::S => 12,
        Class::W => 33,
        Class::A => 64,
        Class::B => 102,
        Class::C => 162,
    };
    let height = (1..=processes.isqrt()).rev().find(|height| processes % height == 0).unwrap_or(1);
    let width = processes / height;
    width <= 2 * height && points / width >= 3
}

fn run(_world: &Communicator, _universe: &Universe, _class: Class, _options: &Options) -> Result<Outcome> {
    todo!()
}

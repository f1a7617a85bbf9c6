//! Barrier steps: cells that say nothing but "I am here", outside matching.
//!
//! As in the thesis (section 3.2) the barrier stands on the transport directly. A process can be at most one barrier ahead of
//! another in one context, so counting arrivals by context and round is enough.

use rustc_hash::FxHashMap;
use rwmpi_transport::Fabric;

use super::{Engine, Failure, wire};

/// Steps that have arrived and were not waited for yet, by context and round.
#[derive(Debug, Default)]
pub(crate) struct Rounds(FxHashMap<(u32, u32), u32>);

impl Rounds {
    pub(super) fn arrived(&mut self, context: u32, round: u32) {
        *self.0.entry((context, round)).or_default() += 1;
    }

    fn take(&mut self, context: u32, round: u32) -> bool {
        match self.0.get_mut(&(context, round)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }
}

impl<F: Fabric> Engine<F> {
    /// Tells `peer` that this rank has reached `round` of the barrier in `context`.
    pub(crate) fn barrier_signal(&mut self, peer: u32, context: u32, round: u32) -> Result<(), Failure> {
        self.check_alive()?;
        self.push_cell(peer, [wire::BARRIER, context, round, 0], &[], None).map_err(|failure| self.poisoned(failure))
    }

    /// Waits until a peer has said so to this rank.
    pub(crate) fn barrier_wait(&mut self, context: u32, round: u32) -> Result<(), Failure> {
        self.wait_until(|engine| engine.rounds.take(context, round).then_some(()))
    }
}

//! Barrier steps: cells that say nothing but "I am here", outside matching.
//!
//! As in the thesis (section 3.2) the barrier stands on the transport directly. A step is known by its context, the barrier's
//! number in it, and the round; steps of several barriers may be there at once.

use rwmpi_transport::Fabric;

use super::{Engine, Failure, wire};

/// One step: context, number of the barrier, round.
pub(crate) type Step = [u32; 3];

/// Steps that have arrived and were not waited for yet. Few: a peer is rarely more than one barrier ahead.
#[derive(Debug, Default)]
pub(crate) struct Rounds(Vec<Step>);

impl Rounds {
    pub(super) fn arrived(&mut self, step: Step) {
        self.0.push(step);
    }

    fn take(&mut self, step: Step) -> bool {
        let place = self.0.iter().position(|&arrived| arrived == step);
        place.map(|place| self.0.swap_remove(place)).is_some()
    }
}

impl<F: Fabric> Engine<F> {
    /// Tells `peer` that this rank has reached `step`.
    pub(crate) fn barrier_signal(&mut self, peer: u32, [context, number, round]: Step) -> Result<(), Failure> {
        self.check_alive()?;
        let header = [wire::BARRIER, context, round, number];
        self.push_cell(peer, header, &[], None).map_err(|failure| self.poisoned(failure))
    }

    /// Whether a peer has said so to this rank; each is told once.
    pub(crate) fn barrier_arrived(&mut self, step: Step) -> bool {
        self.rounds.take(step)
    }
}

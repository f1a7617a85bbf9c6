//! Barrier steps: cells that say nothing but "I am here", outside matching.
//!
//! As in the thesis (section 3.2) the barrier stands on the transport directly. A step is known by its context, the
//! barrier's number in it, and the round; steps of several barriers may be there at once.

use rwmpi_transport::Fabric;

use super::{Engine, Failure, wire};

/// One step: context, number of the barrier, round.
pub type Step = [u32; 3];

/// On the wire, in a round: something has gone wrong with what the barrier is for.
const IN_TROUBLE: u32 = 1 << 31;

/// Steps that have arrived and were not waited for yet. Few: a peer is rarely more than one barrier ahead.
#[derive(Debug, Default)]
pub struct Rounds(Vec<Step>);

impl Rounds {
    pub(super) fn arrived(&mut self, step: Step) {
        self.0.push(step);
    }

    /// Whether that step has arrived, and then whether in trouble.
    fn take(&mut self, [context, number, round]: Step) -> Option<bool> {
        let is_it = |arrived: &Step| [arrived[0], arrived[1], arrived[2] & !IN_TROUBLE] == [context, number, round];
        let place = self.0.iter().position(is_it)?;
        Some(self.0.swap_remove(place)[2] & IN_TROUBLE != 0)
    }
}

impl<F: Fabric> Engine<F> {
    /// Tells `peer` that this rank has reached `step`, perhaps in trouble.
    pub fn barrier_signal(
        &mut self,
        peer: u32,
        [context, number, round]: Step,
        in_trouble: bool,
    ) -> Result<(), Failure> {
        self.check_alive()?;
        let round = if in_trouble { round | IN_TROUBLE } else { round };
        let header = [wire::BARRIER, context, round, number];
        self.push_cell(peer, header, &[], None).map_err(|failure| self.fail(failure))
    }

    /// Whether a peer has said so to this rank, and then whether in trouble; each is told once.
    pub fn barrier_arrived(&mut self, step: Step) -> Option<bool> {
        self.rounds.take(step)
    }
}

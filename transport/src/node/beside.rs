//! Peers that share a processor. Who waits for one on its own processor waits in vain until it gives way, and then had better not look
//! first; who waits for one on another processor loses a change of process, and its place, by giving way at once.

use super::NodeFabric;
use crate::primitive::{self, Ordering};

impl NodeFabric {
    /// Gives way to whoever else is to run on this processor.
    pub(super) fn yield_processor(&self) {
        primitive::yield_now();
        self.note_processor();
    }

    /// Tells the others where this peer runs.
    pub(super) fn note_processor(&self) {
        if self.policy.crowded {
            let noted = &self.control(self.me).processor;
            let processor = primitive::processor() + 1;
            if noted.load(Ordering::Relaxed) != processor {
                noted.store(processor, Ordering::Relaxed);
            }
        }
    }

    /// Whether that peer was last seen on the processor on which this one was.
    pub(super) fn shares_processor_with(&self, peer: usize) -> bool {
        let noted = |peer| self.control(peer).processor.load(Ordering::Relaxed);
        self.policy.crowded && noted(peer) != 0 && noted(peer) == noted(self.me)
    }
}

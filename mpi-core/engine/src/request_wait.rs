//! How long a sender looks for a request that its receiver may be about to post (SR).

use rwmpi_transport::{Backoff, Fabric};

use super::{Engine, Failure};

/// A look for a request takes about as long as copying this many bytes.
const BYTES_PER_LOOK: u64 = 192;
/// Most looks for one where ranks share processors: most of them yield.
const LOOKS_WHEN_OVERSUBSCRIBED: u32 = 50;
/// Most looks for one of a receiver that was late: in case it waits by now.
const LOOKS_WHEN_LATE: u32 = 16;

impl<F: Fabric> Engine<F> {
    /// Gives the receiver a chance to ask (SR): the first of two that exchange messages would never find a request
    /// otherwise. The wait takes at most about as long as the copy through the FIFO that it may save.
    pub(super) fn await_request(&mut self, peer: u32, len: u64) -> Result<(), Failure> {
        let oversubscribed = self.fabric.patience() < LOOKS_WHEN_OVERSUBSCRIBED;
        let most = match (self.policy.is_late(peer), oversubscribed) {
            (true, _) => LOOKS_WHEN_LATE,
            (false, true) => LOOKS_WHEN_OVERSUBSCRIBED,
            (false, false) => u32::MAX,
        };
        let mut backoff = Backoff::default();
        for _ in 0..u64::from(most).min(len / BYTES_PER_LOOK) {
            if self.peers[peer as usize].sender.holds_requests() {
                break;
            }
            if oversubscribed {
                self.fabric.idle(&mut backoff);
            } else {
                std::hint::spin_loop();
            }
            self.collect_requests(peer as usize)?;
        }
        Ok(())
    }
}

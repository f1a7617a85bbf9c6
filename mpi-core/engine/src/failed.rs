//! After the transport has failed: the engine stops for good, and buffers are given back only if nobody can touch them
//! any more.
//!
//! A failure of the transport (not: a message that is too long) means that this rank no longer knows what its peers
//! will do. From then on the engine is *failed*: it deals with nothing that arrives, and every call reports the first
//! failure. But its operations' buffers go back to the program with the error, and a peer that does not know of the
//! failure may still be copying from or to them. So each is taken back first: a receive by its claim word, or, where
//! bytes arrive only by this rank's own doing, by withdrawing its buffer; a shared transfer by taking all chunks that
//! nobody has begun. What cannot be taken back is not given back: the job ends instead.

use rwmpi_transport::Fabric;

use super::operation::{ReceiveOperation, SendOperation};
use super::{Engine, Failure, Operation, OperationId};

/// Exit code of a job that ends because a buffer can't be taken back.
const EXIT_CODE: i32 = 1;

impl<F: Fabric> Engine<F> {
    /// The first failure, if there was one.
    #[inline]
    pub fn check_alive(&self) -> Result<(), Failure> {
        match self.failed {
            None => Ok(()),
            Some(failure) => Err(failure),
        }
    }

    /// The transport has failed; gives the failure to report.
    #[cold]
    pub fn fail(&mut self, failure: Failure) -> Failure {
        let first = *self.failed.get_or_insert(failure);
        self.settle_short_cuts();
        first
    }

    /// An operation's buffer is about to go back to the program although the operation has not completed.
    ///
    /// Does not return if a peer might still touch the buffer.
    #[cold]
    pub fn give_up(&mut self, id: OperationId, failure: Failure) -> Failure {
        let failure = self.fail(failure);
        if !self.take_back(id) {
            let what = failure.words(|peer| peer as usize);
            let what = format!("{what}. A buffer could not be taken back from its peers, so the job ends here");
            self.fabric.end_job(EXIT_CODE, &what);
        }
        self.operations.remove(id);
        failure
    }

    /// Makes sure that no peer touches an operation's buffer from now on; false if that can't be done.
    fn take_back(&mut self, id: OperationId) -> bool {
        match &self.operations[id] {
            Operation::Done(_) => true,
            Operation::Send(SendOperation { exposed, .. }) => !exposed,
            Operation::Receive(ReceiveOperation { slot: None, .. }) => self.take_back_pull(id),
            Operation::Receive(ReceiveOperation { slot: Some(slot), matched: true, .. }) => {
                let slot = *slot;
                self.close_transfer(slot)
            }
            Operation::Receive(receive) if self.claims_with_sources(&receive.pattern) => self.take_own_claim(id),
            Operation::Receive(ReceiveOperation { slot: Some(slot), .. }) => {
                let handed_out = self.slots.give_back(*slot);
                handed_out.is_none_or(|(source, address)| self.fabric.withdraw(source as usize, &address))
            }
        }
    }
}

impl<F: Fabric> Drop for Engine<F> {
    /// Copies of messages that peers may still read outlive a failed engine.
    fn drop(&mut self) {
        if self.failed.is_none() {
            return;
        }
        for operation in self.operations.drain() {
            if let Operation::Send(SendOperation { exposed: true, owned, .. }) = operation {
                std::mem::forget(owned);
            }
        }
    }
}

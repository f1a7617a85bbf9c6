//! Barrier: dissemination. In round `k` each rank tells the one `2^k` ahead and waits for the one `2^k` behind, so after
//! `log2` rounds everybody has heard, directly or not, of everybody.

use crate::activity::Call;
use crate::{Communicator, Result};

impl Communicator {
    pub(crate) fn barrier_in_context(&self) -> Result<()> {
        let (rank, size, context) = (self.rank(), self.size(), self.context() + 1);
        let mut engine = self.process().engine();
        for round in 0..size.next_power_of_two().trailing_zeros() {
            let peer = self.group().peers()[(rank + (1 << round)) % size];
            let stepped =
                engine.barrier_signal(peer, context, round).and_then(|()| engine.barrier_wait(context, round));
            stepped.map_err(self.failed(Call::Barrier))?;
        }
        Ok(())
    }
}

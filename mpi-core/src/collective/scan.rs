//! Prefix reductions: in round `k` each rank passes what it has combined so far to the rank `2^k` ahead.

use super::TAG;
use super::reduction::{Reduction, Scratch};
use crate::{Communicator, Result, scope};

impl Communicator {
    /// `data` is this rank's contribution, afterwards that of all ranks up to this one; `before`, if asked for, becomes that of
    /// the ranks before this one and is left alone at rank 0.
    pub(crate) fn scan_bytes(&self, data: &mut [u8], op: &dyn Reduction, before: Option<&mut [u8]>) -> Result<()> {
        let (rank, size) = (self.rank(), self.size());
        let mut received = Scratch::new(data.len());
        let mut earlier: Option<Scratch> = None;
        let mut distance = 1;
        while distance < size {
            let sent = &*data;
            scope(|scope| {
                if rank >= distance {
                    let _ = self.collective_irecv(scope, received.bytes(), rank - distance, TAG)?;
                }
                if rank + distance < size {
                    let _ = self.collective_isend(scope, sent, rank + distance, TAG)?;
                }
                Ok(())
            })?;
            if rank >= distance {
                op.prepend(received.bytes(), data);
                match (&mut earlier, &before) {
                    (Some(earlier), _) => op.prepend(received.bytes(), earlier.bytes()),
                    (None, Some(_)) => {
                        let mut first = Scratch::new(data.len());
                        first.bytes().copy_from_slice(received.bytes());
                        earlier = Some(first);
                    }
                    (None, None) => {}
                }
            }
            distance *= 2;
        }
        if let (Some(before), Some(mut earlier)) = (before, earlier) {
            before.copy_from_slice(earlier.bytes());
        }
        Ok(())
    }
}

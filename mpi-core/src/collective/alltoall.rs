//! All-to-all: all receives posted, then the sends, each rank beginning with its next neighbour so that no one is flooded.

use std::ops::Range;

use super::TAG;
use super::gather::split;
use crate::{Communicator, Result, scope};

impl Communicator {
    /// Ranges in bytes.
    pub(crate) fn alltoall_bytes(
        &self,
        data: &[u8],
        sent: &[Range<usize>],
        result: &mut [u8],
        received: &[Range<usize>],
    ) -> Result<()> {
        let (me, size) = (self.rank(), self.size());
        let mut pieces = split(result, received);
        let own = std::mem::take(&mut pieces[me]);
        scope(|scope| {
            for step in 1..size {
                let from = (me + size - step) % size;
                let piece = std::mem::take(&mut pieces[from]);
                let _ = self.collective_irecv(scope, piece, from, TAG)?;
            }
            for step in 1..size {
                let to = (me + step) % size;
                let _ = self.collective_isend(scope, &data[sent[to].clone()], to, TAG)?;
            }
            own.copy_from_slice(&data[sent[me].clone()]);
            Ok(())
        })
    }
}

//! Allgather: for short parts everybody sends to everybody at once; for long ones each rank hands on what it got last around a
//! ring, so that every copy comes from a neighbour's cache.

use std::ops::Range;

use super::TAG;
use super::gather::split;
use crate::{Communicator, Result, scope};

/// Up to this length of all parts together, in bytes, everybody sends to everybody.
const DIRECT_UP_TO: usize = 32 << 10;
/// Up to this many ranks.
const DIRECT_RANKS: usize = 16;

impl Communicator {
    /// Each rank's part stands at its range in `all`; afterwards all do.
    pub(crate) fn allgather_bytes(&self, all: &mut [u8], ranges: &[Range<usize>]) -> Result<()> {
        if self.size() == 1 {
            Ok(())
        } else if self.size() == 2 || (all.len() <= DIRECT_UP_TO && self.size() <= DIRECT_RANKS) {
            self.allgather_direct(all, ranges)
        } else {
            self.allgather_ring(all, ranges)
        }
    }

    fn allgather_direct(&self, all: &mut [u8], ranges: &[Range<usize>]) -> Result<()> {
        let (me, size) = (self.rank(), self.size());
        let mut pieces = split(all, ranges);
        let mine = std::mem::take(&mut pieces[me]);
        scope(|scope| {
            for (rank, piece) in pieces.into_iter().enumerate().filter(|&(rank, _)| rank != me) {
                let _ = self.collective_irecv(scope, piece, rank, TAG)?;
            }
            for step in 1..size {
                let _ = self.collective_isend(scope, mine, (me + step) % size, TAG)?;
            }
            Ok(())
        })
    }

    fn allgather_ring(&self, all: &mut [u8], ranges: &[Range<usize>]) -> Result<()> {
        let (me, size) = (self.rank(), self.size());
        let (from, to) = ((me + size - 1) % size, (me + 1) % size);
        for step in 0..size - 1 {
            let (outgoing, incoming) = ((me + size - step) % size, (me + size - step - 1) % size);
            let mut pieces = split(all, ranges);
            let piece = std::mem::take(&mut pieces[incoming]);
            let sent = &*pieces[outgoing];
            scope(|scope| {
                let _ = self.collective_irecv(scope, piece, from, TAG)?;
                let _ = self.collective_isend(scope, sent, to, TAG)?;
                Ok(())
            })?;
        }
        Ok(())
    }
}

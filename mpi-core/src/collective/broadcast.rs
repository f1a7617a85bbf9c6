//! Broadcast: a binomial tree for short data; for long data the root scatters parts, which all then gather, so that no rank
//! sends everything more than once.

use super::{TAG, equal_ranges};
use crate::{Communicator, Result, scope};

/// From this length on, in bytes, and from three ranks on, parts are scattered.
const SCATTER_FROM: usize = 64 << 10;

impl Communicator {
    pub(crate) fn broadcast_bytes(&self, data: &mut [u8], root: usize) -> Result<()> {
        if self.size() >= 3 && data.len() >= SCATTER_FROM {
            self.broadcast_parts(data, root)
        } else {
            self.broadcast_tree(data, root)
        }
    }

    fn broadcast_tree(&self, data: &mut [u8], root: usize) -> Result<()> {
        let size = self.size();
        let relative = (self.rank() + size - root) % size;
        // The lowest set bit says from whom the data come; all lower bits, to whom they go.
        let parent_bit = if relative == 0 { size.next_power_of_two() } else { 1 << relative.trailing_zeros() };
        if relative != 0 {
            self.collective_recv(data, (relative - parent_bit + root) % size, TAG)?;
        }
        let data = &*data;
        scope(|scope| {
            let mut bit = parent_bit >> 1;
            while bit > 0 {
                if relative + bit < size {
                    let _ = self.collective_isend(scope, data, (relative + bit + root) % size, TAG)?;
                }
                bit >>= 1;
            }
            Ok(())
        })
    }

    fn broadcast_parts(&self, data: &mut [u8], root: usize) -> Result<()> {
        let (rank, size) = (self.rank(), self.size());
        // Whole cache lines, so that no two ranks write to one.
        let part = data.len().div_ceil(size).next_multiple_of(64);
        let mut ranges = equal_ranges(size, part);
        for range in &mut ranges {
            *range = range.start.min(data.len())..range.end.min(data.len());
        }
        if rank == root {
            let data = &*data;
            scope(|scope| {
                for (peer, range) in ranges.iter().enumerate() {
                    if peer != root {
                        let _ = self.collective_isend(scope, &data[range.clone()], peer, TAG)?;
                    }
                }
                Ok(())
            })?;
        } else {
            self.collective_recv(&mut data[ranges[rank].clone()], root, TAG)?;
        }
        self.allgather_bytes(data, &ranges)
    }
}

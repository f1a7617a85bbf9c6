//! Reductions. Short data: binomial tree to one rank, recursive doubling to all. Long data: everybody combines one part of the
//! whole, taken from all, and the parts are gathered.

use std::ops::Range;

use super::TAG;
use super::gather::split;
use super::reduction::{Reduction, Scratch};
use crate::{Communicator, Result, scope};

/// From this length on, in bytes, the data are reduced in parts.
const PARTS_FROM: usize = 32 << 10;

impl Communicator {
    /// `data` is this rank's contribution; at the root, afterwards the result.
    pub(crate) fn reduce_bytes(&self, data: &mut [u8], op: &dyn Reduction, root: usize) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        if data.len() >= PARTS_FROM && self.size() > 2 {
            let ranges = self.element_ranges(data.len(), op.element());
            self.combine_own_part(data, &ranges, op)?;
            let mine = data[ranges[self.rank()].clone()].to_vec();
            return self.gather_bytes(&mine, data, &ranges, root);
        }
        self.reduce_tree(data, op)?;
        // The tree ends at rank 0, so that neighbours are combined in rank order.
        match self.rank() {
            _ if root == 0 => Ok(()),
            0 => self.collective_send(data, root, TAG),
            rank if rank == root => self.collective_recv(data, 0, TAG),
            _ => Ok(()),
        }
    }

    fn reduce_tree(&self, data: &mut [u8], op: &dyn Reduction) -> Result<()> {
        let (rank, size) = (self.rank(), self.size());
        let mut received = Scratch::new(data.len());
        let mut bit = 1;
        while bit < size {
            if rank & bit != 0 {
                return self.collective_send(data, rank - bit, TAG);
            }
            if rank + bit < size {
                self.collective_recv(received.bytes(), rank + bit, TAG)?;
                op.append(data, received.bytes());
            }
            bit <<= 1;
        }
        Ok(())
    }

    /// `data` is this rank's contribution, afterwards the result.
    pub(crate) fn allreduce_bytes(&self, data: &mut [u8], op: &dyn Reduction) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        if data.len() >= PARTS_FROM {
            let ranges = self.element_ranges(data.len(), op.element());
            self.combine_own_part(data, &ranges, op)?;
            return self.allgather_bytes(data, &ranges);
        }
        self.allreduce_doubling(data, op)
    }

    /// Recursive doubling. Where the ranks are no power of two, the first ones first join into pairs, each of which acts as one.
    fn allreduce_doubling(&self, data: &mut [u8], op: &dyn Reduction) -> Result<()> {
        let (rank, size) = (self.rank(), self.size());
        let actors = 1 << size.ilog2();
        let pairs = size - actors;
        let mut received = Scratch::new(data.len());
        let actor = if rank >= 2 * pairs {
            rank - pairs
        } else if rank % 2 == 1 {
            self.collective_send(data, rank - 1, TAG)?;
            return self.collective_recv(data, rank - 1, TAG);
        } else {
            self.collective_recv(received.bytes(), rank + 1, TAG)?;
            op.append(data, received.bytes());
            rank / 2
        };
        let rank_of = |actor: usize| if actor < pairs { 2 * actor } else { actor + pairs };
        let mut bit = 1;
        while bit < actors {
            let partner = rank_of(actor ^ bit);
            let sent = &*data;
            scope(|scope| {
                let incoming = self.collective_irecv(scope, received.bytes(), partner, TAG)?;
                self.collective_send(sent, partner, TAG)?;
                incoming.wait()
            })?;
            if actor & bit == 0 {
                op.append(data, received.bytes());
            } else {
                op.prepend(received.bytes(), data);
            }
            bit <<= 1;
        }
        if rank < 2 * pairs { self.collective_send(data, rank + 1, TAG) } else { Ok(()) }
    }

    /// Nearly equal parts of whole elements.
    fn element_ranges(&self, len: usize, element: usize) -> Vec<Range<usize>> {
        let (size, elements) = (self.size(), len / element.max(1));
        (0..size).map(|rank| rank * elements / size * element..(rank + 1) * elements / size * element).collect()
    }

    /// Sends every other part to its rank and combines the own part of all ranks, in rank order, in place.
    fn combine_own_part(&self, data: &mut [u8], ranges: &[Range<usize>], op: &dyn Reduction) -> Result<()> {
        let me = self.rank();
        let own = ranges[me].clone();
        let mut combined = Scratch::new(own.len());
        self.combine_part(data, ranges, combined.bytes(), op)?;
        data[own].copy_from_slice(combined.bytes());
        Ok(())
    }

    fn combine_part(&self, data: &[u8], ranges: &[Range<usize>], result: &mut [u8], op: &dyn Reduction) -> Result<()> {
        let (me, size) = (self.rank(), self.size());
        let part = ranges[me].len();
        let stride = part.next_multiple_of(size_of::<u128>());
        let mut received = Scratch::new(stride * size);
        let places: Vec<_> = (0..size).map(|rank| rank * stride..rank * stride + part).collect();
        self.alltoall_bytes(data, ranges, received.bytes(), &places)?;
        let mut parts = split(received.bytes(), &places).into_iter();
        result.copy_from_slice(parts.next().expect("there is a rank"));
        parts.for_each(|later| op.append(result, later));
        Ok(())
    }

    /// Combines all `data`; `result` becomes the part that `ranges` names for this rank.
    pub(crate) fn reduce_scatter_bytes(
        &self,
        data: &[u8],
        ranges: &[Range<usize>],
        result: &mut [u8],
        op: &dyn Reduction,
    ) -> Result<()> {
        self.combine_part(data, ranges, result, op)
    }
}

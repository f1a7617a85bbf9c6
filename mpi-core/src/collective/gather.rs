//! Gather and scatter: the root exchanges directly with everybody, all receives posted first.

use std::ops::Range;

use super::TAG;
use crate::{Communicator, Result, scope};

/// Splits a buffer into the pieces that `ranges` name, which must not overlap; returns them in the order of `ranges`.
pub(super) fn split<'a>(mut buffer: &'a mut [u8], ranges: &[Range<usize>]) -> Vec<&'a mut [u8]> {
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_by_key(|&place| (ranges[place].start, ranges[place].end));
    let mut pieces: Vec<&'a mut [u8]> = Vec::new();
    pieces.resize_with(ranges.len(), Default::default);
    let mut consumed = 0;
    for place in order {
        let Range { start, end } = ranges[place].clone();
        if start == end {
            continue;
        }
        assert!(start >= consumed, "parts of a receive buffer overlap");
        let (piece, rest) = buffer.split_at_mut(end - consumed);
        pieces[place] = &mut piece[start - consumed..];
        (buffer, consumed) = (rest, end);
    }
    pieces
}

impl Communicator {
    /// `ranges` (bytes) and `all` matter at the root only.
    pub(crate) fn gather_bytes(&self, part: &[u8], all: &mut [u8], ranges: &[Range<usize>], root: usize) -> Result<()> {
        if self.rank() != root {
            return self.collective_send(part, root, TAG);
        }
        scope(|scope| {
            for (rank, piece) in split(all, ranges).into_iter().enumerate() {
                if rank == root {
                    piece.copy_from_slice(part);
                } else {
                    let _ = self.collective_irecv(scope, piece, rank, TAG)?;
                }
            }
            Ok(())
        })
    }

    /// `ranges` (bytes) and `all` matter at the root only.
    pub(crate) fn scatter_bytes(
        &self,
        all: &[u8],
        part: &mut [u8],
        ranges: &[Range<usize>],
        root: usize,
    ) -> Result<()> {
        if self.rank() != root {
            return self.collective_recv(part, root, TAG);
        }
        scope(|scope| {
            for (rank, range) in ranges.iter().enumerate() {
                if rank == root {
                    part.copy_from_slice(&all[range.clone()]);
                } else {
                    let _ = self.collective_isend(scope, &all[range.clone()], rank, TAG)?;
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_in_the_order_asked_for() {
        let mut buffer = [0, 1, 2, 3, 4, 5, 6];
        let pieces = split(&mut buffer, &[4..6, 2..2, 0..2, 3..4]);
        assert_eq!(pieces, [&[4, 5][..], &[], &[0, 1], &[3]]);
    }
}

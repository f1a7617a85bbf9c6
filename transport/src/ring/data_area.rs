//! The bookkeeping of a ring's data area: which bytes payloads that are longer than a cell take, one after the other,
//! until their cells are consumed.

use std::collections::VecDeque;

/// What the producer knows of it.
///
/// In use are the bytes `tail .. head`, or, if `head < tail`, `tail ..` some end and `0 .. head`. Payloads go round: a
/// place is used again as late as possible.
#[derive(Default)]
pub(super) struct DataArea {
    /// How much of the area is put to use; grows when that does not suffice.
    pub(super) limit: usize,
    head: usize,
    tail: usize,
    /// Bytes that have passed in long payloads since `limit` was set.
    pub(super) passed: usize,
    /// For each payload in flight: the position of its cell, and where the payload ends.
    pub(super) in_flight: VecDeque<(u64, usize)>,
}

impl DataArea {
    /// Takes back what the consumer has left behind: payloads of cells before `consumed`.
    pub(super) fn release(&mut self, consumed: u64) {
        while let Some(&(position, end)) = self.in_flight.front()
            && position < consumed
        {
            self.tail = end;
            self.in_flight.pop_front();
        }
    }

    /// A place for `len` bytes, a multiple of the line size.
    pub(super) fn place(&mut self, len: usize) -> Option<usize> {
        if self.in_flight.is_empty() && len > self.limit - self.head {
            (self.head, self.tail) = (0, 0);
        }
        let place = if self.is_wrapped() {
            (len < self.tail - self.head).then_some(self.head)?
        } else if len <= self.limit - self.head {
            self.head
        } else {
            // Strictly less: `head == tail` means that nothing is in use.
            (len < self.tail).then_some(0)?
        };
        self.head = place + len;
        Some(place)
    }

    pub(super) fn is_wrapped(&self) -> bool {
        self.head < self.tail
    }
}

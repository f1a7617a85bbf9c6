//! Where each rank's part of a buffer is.

use std::ops::Range;

use super::Communicator;
use crate::Result;
use crate::activity::Call;
use crate::error::{Error, ErrorClass};

/// The part of each rank in a buffer: counts and starts, in elements.
#[doc = example!(2
    "// Rank 0 gives one element, rank 1 two."
    "let mut all = [0; 3];"
    "let parts = rwmpi::Parts { counts: &[1, 2], starts: &[0, 1] };"
    "world.allgatherv(&[rank; 2][..rank + 1], &mut all, parts)?;"
    "assert_eq!(all, [0, 1, 1]);"
)]
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// How many elements each rank has.
    pub counts: &'a [usize],
    /// Where each rank's elements start.
    pub starts: &'a [usize],
}

impl Parts<'_> {
    pub(super) fn check(&self, communicator: &Communicator, call: Call, len: usize, what: &str) -> Result<()> {
        let size = communicator.size();
        let refuse = |text| Err(Error::argument(ErrorClass::Count, communicator, call, text));
        if self.counts.len() != size || self.starts.len() != size {
            let (counts, starts) = (self.counts.len(), self.starts.len());
            return refuse(format!("{what} names {counts} counts and {starts} starts for {size} ranks"));
        }
        for (rank, (&count, &start)) in self.counts.iter().zip(self.starts).enumerate() {
            if start.checked_add(count).is_none_or(|end| end > len) {
                return refuse(format!(
                    "{what}: the part of rank {rank}, {count} elements from {start}, lies outside the buffer of {len}"
                ));
            }
        }
        Ok(())
    }

    /// As [`Parts::check`], for a buffer that is written: two ranks must not write to one place.
    pub(super) fn check_apart(&self, communicator: &Communicator, call: Call, len: usize, what: &str) -> Result<()> {
        self.check(communicator, call, len, what)?;
        let ranges = || self.ranges().filter(|range| !range.is_empty());
        if ranges().zip(ranges().skip(1)).all(|(earlier, later)| earlier.end <= later.start) {
            return Ok(());
        }
        let mut sorted: Vec<Range<usize>> = ranges().collect();
        sorted.sort_by_key(|range| range.start);
        match sorted.windows(2).find(|pair| pair[0].end > pair[1].start) {
            None => Ok(()),
            Some(pair) => {
                let text = format!("{what}: two parts overlap, {:?} and {:?} (elements)", pair[0], pair[1]);
                Err(Error::argument(ErrorClass::Buffer, communicator, call, text))
            }
        }
    }

    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.counts.iter().zip(self.starts).map(|(&count, &start)| start..start + count)
    }

    /// Start and length in bytes of each rank's part, for elements of `size` bytes.
    pub(super) fn bytes(self, size: usize) -> Vec<(usize, usize)> {
        self.ranges().map(|range| (range.start * size, range.len() * size)).collect()
    }
}

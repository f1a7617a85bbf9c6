//! How files are read and written: what the package of files asks, with the values of the job.

use crate::tuning::Tuning;

/// What chooses the way of accesses to a file.
#[derive(Clone, Copy, Debug)]
pub struct FileWays {
    tuning: Tuning,
}

/// What the ranks of a collective access want together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileUnion {
    /// The bytes of all ranks.
    pub bytes: u64,
    /// In how many blocks they lie, about.
    pub blocks: u64,
    /// From the first byte in the file to the last one.
    pub extent: u64,
}

impl FileWays {
    /// Of a job with that table.
    pub fn new(tuning: &Tuning) -> FileWays {
        FileWays { tuning: *tuning }
    }

    /// The values of the default table but for the length of domains and the number of writers: for tests.
    pub fn of_domains(domain: usize, writers: usize) -> FileWays {
        let tuning = Tuning { file_domain: domain, file_writers_max: writers, file_together_min: 0, ..Tuning::DEFAULT };
        FileWays { tuning }
    }

    /// Whether a rank that reads by itself reads a gap along, after which so many bytes would be read together.
    pub fn reads_along(&self, gap: u64, together: u64) -> bool {
        gap <= self.tuning.file_gap_max as u64 && together <= self.tuning.file_sieve as u64
    }

    /// Whether the ranks of a node work together. What they want lies in short blocks, each of which would cost one of
    /// them a call of the kernel; and there is little between all that they want.
    pub fn work_together(&self, union: FileUnion, is_written: bool) -> bool {
        let FileUnion { bytes, blocks, extent } = union;
        let block_max =
            if is_written { self.tuning.file_write_block_max } else { self.tuning.file_read_block_max } as u64;
        bytes > 0
            && bytes >= self.tuning.file_together_min as u64
            && extent <= bytes.saturating_mul(self.tuning.file_together_spread_max as u64)
            && bytes <= blocks.saturating_mul(block_max)
    }

    /// Whether a nonblocking access to so many bytes is left to a thread, while the program goes on.
    pub fn goes_beside(&self, bytes: u64) -> bool {
        bytes >= self.tuning.file_beside_min as u64
    }

    /// How many bytes of the file a rank of these reads or writes at a time.
    pub fn domain(&self) -> usize {
        self.tuning.file_domain
    }

    /// How many of so many ranks write.
    pub fn writers(&self, ranks: usize) -> usize {
        ranks.min(self.tuning.file_writers_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAYS: FileWays = FileWays { tuning: Tuning::DEFAULT };
    const KIB: u64 = 1 << 10;

    #[test]
    fn short_blocks_side_by_side_are_worth_meeting_for() {
        let dense = |bytes, block| FileUnion { bytes, blocks: bytes / block, extent: bytes };
        let ways = [(64 * KIB, 64), (64 * KIB - 1, 64), (1 << 30, 32 * KIB), (1 << 30, 64 * KIB)];
        for is_written in [false, true] {
            let together = ways.map(|(bytes, block)| WAYS.work_together(dense(bytes, block), is_written));
            assert_eq!(together, [true, false, true, false]);
        }
    }

    #[test]
    fn what_lies_far_apart_is_not() {
        let union = |extent| FileUnion { bytes: 1 << 20, blocks: 1 << 14, extent };
        let together = [1 << 20, 2 << 20, (2 << 20) + 1].map(|extent| WAYS.work_together(union(extent), true));
        assert_eq!(together, [true, true, false]);
        assert!(!WAYS.work_together(FileUnion::default(), true));
    }

    #[test]
    fn a_gap_is_read_along_if_it_is_short_and_all_of_it_is() {
        let along = [(4 * KIB, 256 * KIB), (4 * KIB + 1, 8 * KIB), (1, 256 * KIB + 1)];
        assert_eq!(along.map(|(gap, together)| WAYS.reads_along(gap, together)), [true, false, false]);
        assert_eq!([1, 4].map(|ranks| WAYS.writers(ranks)), [1, 1]);
        assert_eq!([256 * KIB - 1, 256 * KIB].map(|bytes| WAYS.goes_beside(bytes)), [false, true]);
    }
}

//! How files are read and written: what the package of files asks, with the values of the job.

use crate::tuning::Tuning;

/// What chooses the way of accesses to a file.
#[derive(Clone, Copy, Debug)]
pub struct FileWays {
    tuning: Tuning,
    /// Whether blocks may be stored to the file's pages; `None`: where no other machine writes to these.
    stores: Option<bool>,
}

/// What a program says about how it reads and writes short blocks by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileHint {
    /// Gaps are read along: as long as what is read together may be, or none.
    ReadsAlong(bool),
    /// So many bytes are read together.
    ReadWindow(usize),
    /// Blocks are stored to the file's pages: on any file system, or on none.
    Stores(bool),
    /// In so many bytes of the file at a time.
    StoreWindow(usize),
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

/// A writer writes in so many rounds at least, unless these would be shorter than what is read in one.
const WRITE_ROUNDS: u64 = 8;

impl FileWays {
    /// Of a job with that table.
    pub fn new(tuning: &Tuning) -> FileWays {
        FileWays { tuning: *tuning, stores: None }
    }

    /// The values of the default table but for the length of domains and the number of writers: for tests.
    pub fn of_domains(domain: usize, writers: usize) -> FileWays {
        let tuning = Tuning { file_domain: domain, file_write_domain: 2 * domain, ..Tuning::DEFAULT };
        FileWays { tuning: Tuning { file_writers_max: writers, file_together_min: 0, ..tuning }, stores: None }
    }

    /// The same, but that windows have so many bytes and blocks need not lie close together: for tests.
    pub fn with_windows(self, window: usize) -> FileWays {
        let tuning = Tuning { file_sieve: window, file_store_window: window, file_store_min: 0, ..self.tuning };
        let tuning = Tuning { file_store_spread_max: 1 << 30, file_piece_min: 0, ..tuning };
        FileWays { tuning, stores: Some(true) }
    }

    /// Does as a program says. Values that can't be don't count.
    pub fn take_hint(&mut self, hint: FileHint) {
        let (name, value) = match hint {
            FileHint::ReadsAlong(true) => ("file_gap_max", self.tuning.file_sieve),
            FileHint::ReadsAlong(false) => ("file_gap_max", 0),
            FileHint::ReadWindow(bytes) => ("file_sieve", bytes),
            FileHint::Stores(may) => {
                self.stores = Some(may);
                return;
            }
            FileHint::StoreWindow(bytes) => ("file_store_window", bytes),
        };
        // What is out of the limits stays as it is.
        let _ = self.tuning.set(name, value);
    }

    /// Whether a rank that reads by itself reads a gap along, after which so many bytes would be read together.
    pub fn reads_along(&self, gap: u64, together: u64) -> bool {
        gap <= self.tuning.file_gap_max as u64 && together <= self.tuning.file_sieve as u64
    }

    /// Whether a rank by itself reads windows of the file, from which so many blocks are copied that have so many bytes
    /// between them in all.
    pub fn reads_windows(&self, gaps: u64, blocks: u64) -> bool {
        gaps <= blocks.saturating_mul(self.tuning.file_gap_max as u64)
    }

    /// How many bytes a window has that is read.
    pub fn read_window(&self) -> u64 {
        self.tuning.file_sieve as u64
    }

    /// Whether a rank by itself stores so many blocks, which lie in so many bytes of the file, to the file's pages.
    pub fn stores(&self, extent: u64, blocks: u64) -> bool {
        self.stores != Some(false)
            && extent >= self.tuning.file_store_min as u64
            && extent <= blocks.saturating_mul(self.tuning.file_store_spread_max as u64)
    }

    /// The same for blocks with so many bytes in all, if the kernel keeps these pages in one piece.
    pub fn stores_to_piece(&self, extent: u64, bytes: u64, blocks: u64) -> bool {
        self.stores != Some(false)
            && extent >= self.tuning.file_piece_min as u64
            && bytes <= blocks.saturating_mul(self.tuning.file_piece_block_max as u64)
            && extent <= bytes.saturating_mul(self.tuning.file_piece_spread_max as u64)
    }

    /// Whether a rank by itself reads so many blocks, which lie in so many bytes of the file, with all between them,
    /// and writes all of it back.
    pub fn sieves(&self, extent: u64, blocks: u64) -> bool {
        self.stores != Some(false)
            && extent >= self.tuning.file_store_min as u64
            && extent <= blocks.saturating_mul(2 * self.tuning.file_gap_max as u64)
    }

    /// How many bytes a window has in which blocks are stored.
    pub fn store_window(&self) -> u64 {
        self.tuning.file_store_window as u64
    }

    /// Whether they are stored also where other machines may write to the same pages.
    pub fn stores_anywhere(&self) -> bool {
        self.stores == Some(true)
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

    /// How many bytes of the file a rank of these reads at a time.
    pub fn domain(&self) -> usize {
        self.tuning.file_domain
    }

    /// How many bytes a writer of these writes at a time at most.
    pub fn write_domain_max(&self) -> usize {
        self.tuning.file_write_domain.max(self.tuning.file_domain)
    }

    /// How many bytes a writer writes at a time of so many that it writes in all. The others put together what comes
    /// next meanwhile: that takes several rounds, and each costs a meeting.
    pub fn write_domain(&self, bytes: u64) -> u64 {
        (bytes / WRITE_ROUNDS).clamp(self.domain() as u64, self.write_domain_max() as u64)
    }

    /// How many of so many ranks write.
    pub fn writers(&self, ranks: usize) -> usize {
        ranks.min(self.tuning.file_writers_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAYS: FileWays = FileWays { tuning: Tuning::DEFAULT, stores: None };
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
    fn short_blocks_close_together_are_stored() {
        let stored = [(64 * KIB, 64), (64 * KIB - 1, 64), (64 * KIB, 63), (1 << 30, 1 << 20)];
        assert_eq!(stored.map(|(extent, blocks)| WAYS.stores(extent, blocks)), [true, false, false, true]);
        let in_piece = [(256, 64, 4), (255, 64, 4), (257, 64, 4), (256, 64, 3), (2048, 1024, 256)];
        let stored = in_piece.map(|(extent, bytes, blocks)| WAYS.stores_to_piece(extent * KIB, bytes * KIB, blocks));
        assert_eq!(stored, [true, false, false, false, true]);
        assert_eq!([4 * KIB, 4 * KIB + 1].map(|gap| WAYS.reads_windows(10 * gap, 10)), [true, false]);
        let sieved = [(64 * KIB, 8), (64 * KIB - 1, 8), (64 * KIB, 7), (1 << 30, 1 << 17)];
        assert_eq!(sieved.map(|(extent, blocks)| WAYS.sieves(extent, blocks)), [true, false, false, true]);
    }

    #[test]
    fn hints_change_ways_within_limits() {
        let after = |hints: &[FileHint]| {
            let mut ways = WAYS;
            hints.iter().for_each(|hint| ways.take_hint(*hint));
            ways
        };
        assert!(!after(&[FileHint::Stores(false)]).stores(1 << 20, 1 << 16));
        assert!(after(&[FileHint::Stores(true)]).stores_anywhere() && !WAYS.stores_anywhere());
        let windows = after(&[FileHint::StoreWindow(128 << 10), FileHint::StoreWindow(1), FileHint::ReadWindow(5000)]);
        assert_eq!((windows.store_window(), windows.read_window()), (128 * KIB, 5000));
        assert!(!after(&[FileHint::ReadsAlong(false)]).reads_along(1, 100));
        assert!(after(&[FileHint::ReadsAlong(true)]).reads_along(100 * KIB, 200 * KIB));
    }

    #[test]
    fn a_gap_is_read_along_if_it_is_short_and_all_of_it_is() {
        let along = [(4 * KIB, 256 * KIB), (4 * KIB + 1, 8 * KIB), (1, 256 * KIB + 1)];
        assert_eq!(along.map(|(gap, together)| WAYS.reads_along(gap, together)), [true, false, false]);
        assert_eq!([1, 4].map(|ranks| WAYS.writers(ranks)), [1, 1]);
        assert_eq!([1, 8, 64].map(|mib| WAYS.write_domain((mib * KIB) << 10) / KIB), [512, 1024, 2048]);
        assert_eq!([256 * KIB - 1, 256 * KIB].map(|bytes| WAYS.goes_beside(bytes)), [false, true]);
    }
}

//! The lengths and numbers of ranks from which another way pays: one table, and its values for one job.
//!
//! They were measured, so they differ from machine to machine: the table is a value, which a file can give ([`text`])
//! and which a processor family may have of its own ([`family`]). What lies where in shared memory is no matter of
//! measurement, and is not here.
//!
//! Invariants:
//! 1. All ranks of a job have the same values: a collective on which they differed would wait for ever.
//! 2. Only [`select`](crate::select) compares with them.
//! 3. A value lies within its row's limits, so that whatever it is, only the time changes that a job takes.

mod family;
mod text;

use std::ops::RangeInclusive;

pub use family::{Chosen, Processor, Source};

/// Longest data of a rank that a shared-memory slot has room for (see the collectives' slots, whose layout says the
/// same).
pub const SLOT_ROOM: usize = 64 << 10;
/// Messages of fewer bytes than this are pushed on any machine: where a call's length is known when it is compiled,
/// nothing is left to ask.
pub const ALWAYS_PUSHED: usize = 64;
/// A limit where nothing else sets one.
const ANY_LENGTH: RangeInclusive<usize> = 0..=1 << 40;

/// What a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Ranks of a communicator.
    Ranks,
    /// Parts of ranks.
    Parts,
    /// Elements of a datatype.
    Elements,
}

impl Unit {
    /// Its name, for several.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Ranks => "ranks",
            Unit::Parts => "parts",
            Unit::Elements => "elements",
        }
    }
}

/// What the table says about a value.
#[derive(Debug)]
pub struct Row {
    /// Its name in the file.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// What it is unless something else is known.
    pub default: usize,
    /// What it can be.
    pub limits: RangeInclusive<usize>,
    /// What it decides.
    pub doc: &'static str,
    /// The function of `select` that reads it.
    pub reader: &'static str,
    /// The decisions that measured it (`docs/decisions`), by number.
    pub decisions: &'static [u32],
    get: fn(&Tuning) -> usize,
    set: fn(&mut Tuning, usize),
}

/// Makes of each row a field of [`Tuning`], its default and what [`Tuning::ROWS`] says.
macro_rules! table {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident: $default:expr, $unit:ident in $limits:expr, $reader:literal, $decisions:expr;
    )*) => {
        /// The values of one job.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Tuning {
            $($(#[doc = $doc])+ pub $name: usize,)*
        }

        impl Tuning {
            /// What holds where nothing else is known.
            pub const DEFAULT: Tuning = Tuning { $($name: $default,)* };

            /// The table.
            pub const ROWS: &'static [Row] = &[$(Row {
                name: stringify!($name),
                unit: Unit::$unit,
                default: $default,
                limits: $limits,
                doc: concat!($($doc),+),
                reader: $reader,
                decisions: &$decisions,
                get: |tuning| tuning.$name,
                set: |tuning, value| tuning.$name = value,
            },)*];
        }
    };
}

table! {
    /// A message of at least so many bytes is copied once where ranks share memory: its receive is advertised, and its
    /// sender announces it if it finds no request.
    single_copy_min: 8 << 10, Bytes in ALWAYS_PUSHED..=1 << 40, "message", [4, 33];
    /// The same where the kernel has to copy.
    kernel_copy_min: 192 << 10, Bytes in ANY_LENGTH, "message", [4, 28];
    /// A message to another node of at least so many bytes waits at its sender until its receive is known.
    network_pull_min: (128 << 10) + 1, Bytes in ANY_LENGTH, "message", [20];
    /// A message of up to so many bytes is pushed through the FIFO, even if it could be copied once, while its sender
    /// has batons of its own.
    passed_max: 16 << 10, Bytes in ANY_LENGTH, "message", [28, 36];
    /// Sender and receiver both copy a message of at least so many bytes.
    both_copy_min: 24 << 10, Bytes in ANY_LENGTH, "message", [3, 32];
    /// The same where messages go both ways at once.
    both_copy_min_both_ways: 256 << 10, Bytes in ANY_LENGTH, "message", [47];
    /// A receive from any source is advertised to so many ranks at most.
    any_source_ranks_max: 16, Ranks in 0..=4096, "message", [2];
    /// Data of at least so many bytes that do not lie side by side go in pieces. Fewer are packed first.
    pieces_min: 64 << 10, Bytes in ANY_LENGTH, "message", [9];

    /// A rank puts fewer bytes than this into its slot for a collective.
    slots_below: 20 << 10, Bytes in 1..=SLOT_ROOM, "SlotLimits", [55];
    /// So many ranks at most have slots with room for more than 2 KiB, and any slots at all if each has a processor.
    slots_ranks_max: 16, Ranks in 1..=62, "SlotLimits", [13, 61];
    /// So many ranks at most have slots where they outnumber the processors.
    slots_ranks_max_in_turns: 256, Ranks in 1..=4096, "SlotLimits", [61];
    /// A broadcast of fewer bytes than this goes by slots.
    broadcast_slots_below: 16 << 10, Bytes in 1..=SLOT_ROOM, "SlotLimits", [43, 55];
    /// Where ranks outnumber the processors, data of up to so many bytes that one rank combines go by slots.
    reduce_in_turns_max: 64 << 10, Bytes in 0..=SLOT_ROOM, "SlotLimits", [57];
    /// The same of data that each rank combines.
    allreduce_in_turns_max: 32 << 10, Bytes in 0..=SLOT_ROOM, "SlotLimits", [57];
    /// The same of data of which each rank takes a part,
    parts_in_turns_max: 64 << 10, Bytes in 0..=SLOT_ROOM, "SlotLimits", [57];
    /// from so many ranks on.
    parts_ranks_min: 5, Ranks in 2..=4096, "SlotLimits", [31, 57];
    /// Of so many ranks and more, each puts a part below this length into its slot for an allgather.
    allgather_slots_below: 24 << 10, Bytes in 1..=SLOT_ROOM, "SlotLimits", [31];
    /// Of two ranks, each puts a part below this length into its slot for an allgather.
    allgather_of_two_slots_below: 32 << 10, Bytes in 1..=SLOT_ROOM, "SlotLimits", [55];
    /// Of three ranks and more, but fewer than those many, each does if so many parts have room in it.
    allgather_slot_parts: 3, Parts in 1..=64, "SlotLimits", [13, 55];

    /// A root that shares its processor copies a broadcast of up to so many bytes aside, and goes on.
    broadcast_aside_max: 256 << 10, Bytes in ANY_LENGTH, "copies_aside", [26];
    /// Three ranks and more without slots read the root's memory from this length of a broadcast on.
    broadcast_read_min: 16 << 10, Bytes in ANY_LENGTH, "collective", [11];
    /// Where no memory can be read, a broadcast of at least so many bytes is scattered and gathered.
    broadcast_scatter_min: 64 << 10, Bytes in ANY_LENGTH, "collective", [11, 16];
    /// Ranks without slots read each other's memory from this length of all parts of an allgather on.
    allgather_read_min: 16 << 10, Bytes in ANY_LENGTH, "collective", [11];
    /// Where no memory can be read, the parts of an allgather go around a ring if all have more bytes than this.
    allgather_short_max: 32 << 10, Bytes in ANY_LENGTH, "collective", [11];
    /// Shorter ones go from each to each, among so many ranks at most.
    allgather_direct_ranks_max: 16, Ranks in 0..=4096, "collective", [11];
    /// Ranks without slots read each other's memory from this length of a part of an all-to-all on.
    alltoall_read_min: 8 << 10, Bytes in ANY_LENGTH, "collective", [11];
    /// On several nodes parts of up to so many bytes, times the ranks of a node, go by the leaders.
    alltoall_leaders_max: 2 << 10, Bytes in 0..=1 << 30, "collective", [24];
    /// Ranks without slots read each other's memory from this length of a reduction on.
    reduce_read_min: 16 << 10, Bytes in ANY_LENGTH, "collective", [11];
    /// Where no memory can be read, data of at least so many bytes are reduced in parts.
    reduce_parts_min: 32 << 10, Bytes in ANY_LENGTH, "collective", [11];
    /// What lies in others' memory is combined in portions of so many bytes.
    reduction_portion: 128 << 10, Bytes in 64..=1 << 40, "portion", [45];
    /// The chunks of a broadcast from memory to memory have at least so many bytes.
    broadcast_chunk_min: 64 << 10, Bytes in 64..=1 << 40, "chunk", [23, 43];

    /// After accumulates of several elements have changed so many one by one, they keep the others out, and work by
    /// loads and stores,
    accumulate_alone_min: 128, Elements in 2..=1 << 40, "works_alone", [67];
    /// and so many more elements for each rank that may have to be waited for.
    accumulate_alone_min_per_rank: 1, Elements in 0..=1 << 30, "works_alone", [67];
    /// Puts and accumulates to another node leave once they are so many bytes, if nothing makes them leave earlier.
    window_requests_min: 4 << 10, Bytes in ANY_LENGTH, "waits_for_others", [93];

    /// A rank that reads a file by itself reads gaps of up to so many bytes along,
    file_gap_max: 4 << 10, Bytes in ANY_LENGTH, "FileWays", [66];
    /// and so many bytes together at most.
    file_sieve: 256 << 10, Bytes in 1..=1 << 30, "FileWays", [66, 84];
    /// One that writes stores short blocks to the file's pages if they lie in at least so many bytes of the file,
    file_store_min: 64 << 10, Bytes in ANY_LENGTH, "FileWays", [84];
    /// and on average there is one in at most so many of these.
    file_store_spread_max: 1 << 10, Bytes in ANY_LENGTH, "FileWays", [84];
    /// Where the kernel keeps the pages in one piece, it stores blocks that lie in at least so many bytes of the file,
    file_piece_min: 256 << 10, Bytes in ANY_LENGTH, "FileWays", [92];
    /// of up to so many bytes on average,
    file_piece_block_max: 16 << 10, Bytes in ANY_LENGTH, "FileWays", [92];
    /// with at most so many bytes of the file for each of theirs.
    file_piece_spread_max: 4, Bytes in 1..=1 << 20, "FileWays", [92];
    /// It has so many bytes of the file in its memory at a time when it stores.
    file_store_window: 2 << 20, Bytes in 64 << 10..=1 << 30, "FileWays", [84, 92];
    /// A nonblocking access to a file of at least so many bytes is left to a thread, while the program goes on.
    file_beside_min: 256 << 10, Bytes in ANY_LENGTH, "FileWays", [82];
    /// In a collective access to a file ranks work together if they have at least so many bytes,
    file_together_min: 64 << 10, Bytes in ANY_LENGTH, "FileWays", [70];
    /// of at most so many bytes of the file for each,
    file_together_spread_max: 2, Bytes in 1..=1 << 20, "FileWays", [70];
    /// and, when they read, these lie in blocks of up to so many bytes on average.
    file_read_block_max: 32 << 10, Bytes in ANY_LENGTH, "FileWays", [70];
    /// The same when they write.
    file_write_block_max: 32 << 10, Bytes in ANY_LENGTH, "FileWays", [70];
    /// Then a rank reads so many bytes of the file at a time, and writes as many,
    file_domain: 512 << 10, Bytes in 4 << 10..=16 << 20, "FileWays", [70];
    /// or up to so many where all write much.
    file_write_domain: 2 << 20, Bytes in 4 << 10..=16 << 20, "FileWays", [70];
    /// So many ranks at most write what all have put together.
    file_writers_max: 1, Ranks in 1..=4096, "FileWays", [70];
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning::DEFAULT
    }
}

impl Tuning {
    /// The value of a row.
    pub fn get(&self, row: &Row) -> usize {
        (row.get)(self)
    }

    /// Sets the value of that name, which it returns.
    ///
    /// # Errors
    /// Says what is wrong if there is no such name, or if it can't be that.
    pub fn set(&mut self, name: &str, value: usize) -> Result<&'static str, String> {
        let row = Tuning::ROWS.iter().find(|row| row.name == name).ok_or_else(|| text::no_such_name(name))?;
        if !row.limits.contains(&value) {
            let (least, most, unit) = (row.limits.start(), row.limits.end(), row.unit.name());
            return Err(format!("{name} can be {least} to {most} {unit}, not {value}"));
        }
        (row.set)(self, value);
        Ok(row.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_within_its_limits() {
        let mut tuning = Tuning::DEFAULT;
        for row in Tuning::ROWS {
            assert_eq!(tuning.get(row), row.default, "{}", row.name);
            assert_eq!(tuning.set(row.name, row.default), Ok(row.name));
            assert!(!row.decisions.is_empty() && row.doc.ends_with(['.', ',']), "{}", row.name);
        }
        assert_eq!(tuning, Tuning::DEFAULT);
    }

    #[test]
    fn each_name_sets_its_own_value() {
        for row in Tuning::ROWS {
            let mut tuning = Tuning::DEFAULT;
            let (least, most) = (*row.limits.start(), *row.limits.end());
            tuning.set(row.name, if least == row.default { most } else { least }).unwrap();
            let changed = Tuning::ROWS.iter().filter(|other| tuning.get(other) != other.default);
            assert_eq!(changed.map(|other| other.name).collect::<Vec<_>>(), [row.name]);
        }
    }

    #[test]
    fn what_can_not_be_is_refused() {
        let refusal = |name, value| Tuning::DEFAULT.clone().set(name, value).unwrap_err();
        assert_eq!(refusal("slots_below", 0), "slots_below can be 1 to 65536 bytes, not 0");
        assert!(refusal("slots_bellow", 1).contains("perhaps slots_below is meant"));
    }
}

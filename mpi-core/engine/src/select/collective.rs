//! The way of a collective. Where its team has shared-memory slots, these are asked first
//! ([`SlotLimits`](super::SlotLimits)): what has no room there is read from where it lies if it can be, else it goes by
//! messages. On several nodes collectives are made of those of one node and those of its leaders.

use crate::tuning::Tuning;

/// Into so many chunks a broadcast from memory to memory is cut,
const CHUNKS: usize = 8;
/// in whole cache lines.
const LINE: usize = 64;

/// A collective, and the lengths that its way depends on, in bytes: the same on all ranks, unless the program has made
/// a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    Barrier,
    /// One gives to all.
    Broadcast {
        len: usize,
    },
    /// One combines what all give.
    Reduce {
        len: usize,
    },
    /// Each combines what all give.
    Allreduce {
        len: usize,
    },
    /// Each combines what those before it give.
    Scan {
        len: usize,
    },
    /// Each combines its part of what all give.
    ReduceScatter {
        len: usize,
    },
    /// One takes equal parts of all.
    Gather {
        part: usize,
    },
    /// All take the parts of all.
    Allgather {
        total: usize,
        longest: usize,
    },
    /// Each has as many bytes for each.
    Alltoall {
        part: usize,
        ranks: usize,
    },
    /// Each has parts of any length for all, and decides for itself: so many bytes with the table that says where they
    /// are.
    Uneven {
        len: usize,
    },
}

impl Collective {
    /// The most that a rank puts into its slot for it.
    #[inline]
    pub fn posted(self) -> usize {
        match self {
            Collective::Barrier => 0,
            Collective::Broadcast { len }
            | Collective::Reduce { len }
            | Collective::Allreduce { len }
            | Collective::Scan { len }
            | Collective::ReduceScatter { len }
            | Collective::Uneven { len } => len,
            Collective::Gather { part } => part,
            Collective::Allgather { longest, .. } => longest,
            Collective::Alltoall { part, ranks } => part.saturating_mul(ranks - 1),
        }
    }

    /// The length that ranks tell each other whose data have no room in slots.
    #[inline]
    pub fn announced(self) -> usize {
        match self {
            Collective::Allgather { total, .. } => total,
            Collective::Alltoall { part, ranks } => part.saturating_mul(ranks),
            other => other.posted(),
        }
    }
}

/// How a collective goes that does not go by slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveWay {
    /// Ranks use each other's memory where it lies.
    DirectAccess,
    Messages(Messages),
}

/// Who sends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// Along a binomial tree.
    Tree,
    /// One scatters, and all gather.
    Scattered,
    /// Around a ring.
    Ring,
    /// Each to each that needs it.
    Direct,
    /// By doubling what each has, or has combined.
    Doubling,
    /// Each to each a part, which that combines.
    Parts,
}

/// The way of a collective of so many ranks that have no slots. `readable`: they can read each other's memory, as far
/// as is known.
pub fn without_slots(tuning: &Tuning, what: Collective, ranks: usize, readable: bool) -> CollectiveWay {
    let reads = match what {
        Collective::Broadcast { len } => ranks >= 3 && len >= tuning.broadcast_read_min,
        Collective::Reduce { len } | Collective::Allreduce { len } => len >= tuning.reduce_read_min,
        Collective::Allgather { total, .. } => total >= tuning.allgather_read_min,
        Collective::Alltoall { part, .. } => part >= tuning.alltoall_read_min,
        // The second of two gets what a reduction to it would give.
        Collective::Scan { .. } => ranks == 2,
        _ => false,
    };
    if readable && reads { CollectiveWay::DirectAccess } else { CollectiveWay::Messages(messages(tuning, what, ranks)) }
}

/// Where memory is not read.
pub fn messages(tuning: &Tuning, what: Collective, ranks: usize) -> Messages {
    match what {
        Collective::Broadcast { len } if ranks >= 3 && len >= tuning.broadcast_scatter_min => Messages::Scattered,
        Collective::Broadcast { .. } => Messages::Tree,
        Collective::Reduce { len } if ranks > 2 && len >= tuning.reduce_parts_min => Messages::Parts,
        Collective::Reduce { .. } => Messages::Tree,
        Collective::Allreduce { len } if len >= tuning.reduce_parts_min => Messages::Parts,
        Collective::Barrier | Collective::Allreduce { .. } | Collective::Scan { .. } => Messages::Doubling,
        Collective::ReduceScatter { .. } => Messages::Parts,
        Collective::Allgather { total, .. } if ranks > 2 && total > tuning.allgather_short_max => Messages::Ring,
        Collective::Allgather { .. } if ranks > tuning.allgather_direct_ranks_max => Messages::Doubling,
        Collective::Allgather { .. }
        | Collective::Gather { .. }
        | Collective::Alltoall { .. }
        | Collective::Uneven { .. } => Messages::Direct,
    }
}

/// From which length on, as [`Collective`] has it for the choice, ranks without slots say first how long their data
/// are: none that is shorter takes another way than the shortest.
pub fn announced_from(tuning: &Tuning, what: Collective, readable: bool) -> usize {
    let (read, sent) = match what {
        Collective::Broadcast { .. } => (tuning.broadcast_read_min, tuning.broadcast_scatter_min),
        Collective::Reduce { .. } | Collective::Allreduce { .. } => (tuning.reduce_read_min, tuning.reduce_parts_min),
        // Whether memory is readable or not.
        Collective::Allgather { .. } => return tuning.allgather_read_min.min(tuning.allgather_short_max + 1),
        Collective::Alltoall { .. } => (tuning.alltoall_read_min, usize::MAX),
        _ => (usize::MAX, usize::MAX),
    };
    if readable { read.min(sent) } else { sent }
}

/// Whether the root of a broadcast that has no room in a slot copies it aside and goes on: where ranks share
/// processors, its readers come later than that.
pub fn copies_aside(tuning: &Tuning, len: usize, oversubscribed: bool) -> bool {
    oversubscribed && len <= tuning.broadcast_aside_max
}

/// Whether parts of an all-to-all of so many ranks go by the leaders of their nodes. Of longer ones the copies cost
/// more than the messages that they save.
pub fn by_leaders(tuning: &Tuning, part: usize, ranks: usize, nodes: usize) -> bool {
    part <= tuning.alltoall_leaders_max * (ranks / nodes)
}

/// How much of `len` bytes in others' memory is combined at a time.
pub fn portion(tuning: &Tuning, len: usize) -> usize {
    tuning.reduction_portion.min(len)
}

/// How long the chunks are in which `len` bytes of a broadcast go from memory to memory.
pub fn chunk(tuning: &Tuning, len: usize, ranks: usize) -> usize {
    // Of two ranks each brings half of what is not long.
    let half = if ranks == 2 { len.div_ceil(2) } else { usize::MAX };
    len.div_ceil(CHUNKS).max(half.min(tuning.broadcast_chunk_min)).next_multiple_of(LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TUNING: Tuning = Tuning::DEFAULT;
    const KIB: usize = 1 << 10;

    #[test]
    fn the_way_of_a_collective_without_slots() {
        use Messages::{Direct, Doubling, Parts, Ring, Scattered, Tree};
        let broadcast = |len| Collective::Broadcast { len };
        let reduce = |len| Collective::Reduce { len };
        let allreduce = |len| Collective::Allreduce { len };
        let allgather = |total| Collective::Allgather { total, longest: total };
        let alltoall = |part| Collective::Alltoall { part, ranks: 4 };
        // With how many ranks; where memory can be read, and where it can't.
        for (what, ranks, readable, unreadable) in [
            (broadcast(16 * KIB - 1), 3, None, Tree),
            (broadcast(16 * KIB), 3, Some(()), Tree),
            (broadcast(64 * KIB), 3, Some(()), Scattered),
            (broadcast(1 << 30), 2, None, Tree),
            (reduce(16 * KIB - 1), 2, None, Tree),
            (reduce(32 * KIB), 2, Some(()), Tree),
            (reduce(32 * KIB), 3, Some(()), Parts),
            (allreduce(32 * KIB - 1), 2, Some(()), Doubling),
            (allreduce(32 * KIB), 2, Some(()), Parts),
            (allgather(16 * KIB - 1), 4, None, Direct),
            (allgather(16 * KIB - 1), 17, None, Doubling),
            (allgather(32 * KIB), 4, Some(()), Direct),
            (allgather(32 * KIB + 1), 4, Some(()), Ring),
            (allgather(1 << 30), 2, Some(()), Direct),
            (alltoall(8 * KIB - 1), 4, None, Direct),
            (alltoall(8 * KIB), 4, Some(()), Direct),
            (Collective::Barrier, 4, None, Doubling),
            (Collective::Scan { len: 1 << 30 }, 4, None, Doubling),
            (Collective::Scan { len: 1 << 30 }, 2, Some(()), Doubling),
            (Collective::ReduceScatter { len: 1 }, 4, None, Parts),
            (Collective::Gather { part: 1 << 30 }, 4, None, Direct),
            (Collective::Uneven { len: 1 << 30 }, 4, None, Direct),
        ] {
            let unreadable = CollectiveWay::Messages(unreadable);
            let readable = readable.map_or(unreadable, |()| CollectiveWay::DirectAccess);
            let ways = [true, false].map(|can_read| without_slots(&TUNING, what, ranks, can_read));
            assert_eq!(ways, [readable, unreadable], "{what:?} of {ranks} ranks");
        }
    }

    /// Ranks that disagree about the length would wait for each other otherwise.
    #[test]
    fn what_is_not_announced_goes_as_the_shortest_does() {
        let mut reversed = TUNING;
        for name in ["broadcast_scatter_min", "reduce_parts_min", "allgather_short_max"] {
            reversed.set(name, 100).unwrap();
        }
        let kinds: [fn(usize) -> Collective; 5] = [
            |len| Collective::Broadcast { len },
            |len| Collective::Reduce { len },
            |len| Collective::Allreduce { len },
            |len| Collective::Allgather { total: len, longest: len },
            |part| Collective::Alltoall { part, ranks: 4 },
        ];
        for (tuning, kind, readable) in [TUNING, reversed]
            .iter()
            .flat_map(|it| kinds.map(|kind| (it, kind)))
            .flat_map(|(tuning, kind)| [true, false].map(|readable| (tuning, kind, readable)))
        {
            let end = announced_from(tuning, kind(0), readable).min(1 << 20);
            let way = |len| without_slots(tuning, kind(len), 4, readable);
            assert!((0..end).all(|len| way(len) == way(0)), "{:?}, {readable}", kind(0));
        }
    }

    #[test]
    fn what_a_collective_does_on_its_way() {
        assert_eq!(
            [(256 * KIB, true), (256 * KIB + 1, true), (1, false)].map(|(len, oversubscribed)| copies_aside(
                &TUNING,
                len,
                oversubscribed
            )),
            [true, false, false]
        );
        assert_eq!([8 * KIB, 8 * KIB + 1].map(|part| by_leaders(&TUNING, part, 8, 2)), [true, false]);
        assert_eq!([8, 1 << 20].map(|len| portion(&TUNING, len)), [8, 128 * KIB]);
        let chunks = [(100, 2), (128 * KIB, 2), (100, 3), (1 << 20, 2), (1 << 20, 3)];
        let chunks = chunks.map(|(len, ranks)| chunk(&TUNING, len, ranks));
        assert_eq!(chunks, [64, 64 * KIB, 64 * KIB, 128 * KIB, 128 * KIB]);
    }
}

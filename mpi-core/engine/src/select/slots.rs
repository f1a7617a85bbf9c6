//! Which collectives of a team go by its shared-memory slots: worked out once for the team, so that a call compares one
//! length with one limit.
//!
//! Where ranks outnumber processors they take turns, and a collective takes as long as it takes each to have its turn.
//! Who reads the others' memory has to wait until all have come, and again until all are done; what lies in a slot is
//! read later. So more goes by slots there (docs/decisions/0057).

use super::Collective;
use crate::tuning::Tuning;

/// Lengths below which collectives go by slots. The same on all ranks of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotLimits {
    /// Of what each rank, or one, puts into its slot,
    any: usize,
    /// what one gives to all,
    broadcast: usize,
    /// what one combines,
    reduce: usize,
    /// what each combines,
    allreduce: usize,
    /// what each takes a part of.
    parts: usize,
    /// Of the longest part of an allgather, if all have so many times its length and more,
    even_part: usize,
    many: usize,
    /// or less; or of all its parts.
    uneven_part: usize,
    all_parts: usize,
}

impl SlotLimits {
    /// Those of a rank that is alone: it has nothing to put anywhere.
    pub const ALONE: SlotLimits = SlotLimits::alike(usize::MAX, 0);

    /// Those of so many ranks on so many processors, where a slot of one of many has room for fewer bytes than `short`.
    pub fn new(tuning: &Tuning, ranks: usize, processors: usize, short: usize) -> SlotLimits {
        if ranks == 1 {
            return SlotLimits::ALONE;
        }
        if are_short(tuning, ranks) {
            let broadcast = tuning.broadcast_slots_below.min(short);
            return SlotLimits {
                broadcast,
                ..SlotLimits::alike(short.min(tuning.slots_below), tuning.parts_ranks_min)
            };
        }
        let any = tuning.slots_below;
        let in_turns = ranks > processors;
        let or_in_turns = |limit: usize, most: usize| if in_turns { limit.max(most + 1) } else { limit };
        let are_many = ranks >= tuning.parts_ranks_min;
        let parts = |limit| if are_many { or_in_turns(limit, tuning.parts_in_turns_max) } else { limit };
        SlotLimits {
            any,
            broadcast: any.min(tuning.broadcast_slots_below),
            reduce: or_in_turns(any, tuning.reduce_in_turns_max),
            allreduce: or_in_turns(any, tuning.allreduce_in_turns_max),
            parts: parts(any),
            even_part: parts(tuning.allgather_slots_below),
            many: tuning.parts_ranks_min,
            uneven_part: match ranks {
                2 => tuning.allgather_of_two_slots_below,
                _ => any.div_ceil(tuning.allgather_slot_parts),
            },
            all_parts: any,
        }
    }

    /// One limit for everything that a rank puts into its slot.
    const fn alike(any: usize, many: usize) -> SlotLimits {
        SlotLimits {
            any,
            broadcast: any,
            reduce: any,
            allreduce: any,
            parts: any,
            even_part: any,
            many,
            uneven_part: any,
            all_parts: 0,
        }
    }

    /// Whether a collective goes by slots.
    #[inline(always)]
    pub fn have_room_for(&self, what: Collective) -> bool {
        match what {
            Collective::Barrier => true,
            Collective::Broadcast { len } => len < self.broadcast,
            Collective::Reduce { len } => len < self.reduce,
            Collective::Allreduce { len } | Collective::Scan { len } => len < self.allreduce,
            Collective::ReduceScatter { len } | Collective::Uneven { len } => len < self.parts,
            Collective::Gather { part } => part < self.any,
            Collective::Allgather { total, longest } => {
                let is_even = total >= longest.saturating_mul(self.many);
                longest < if is_even { self.even_part } else { self.uneven_part } || total < self.all_parts
            }
            Collective::Alltoall { part, ranks } => part.saturating_mul(ranks - 1) < self.parts,
        }
    }
}

/// Whether so many ranks on so many processors have slots: more everybody looking at everybody costs more than it
/// saves. Where ranks take turns, which is what takes long, it does not (docs/decisions/0061).
pub fn are_worth_it(tuning: &Tuning, ranks: usize, processors: usize) -> bool {
    let most = if ranks > processors { tuning.slots_ranks_max_in_turns } else { tuning.slots_ranks_max };
    ranks <= most
}

/// Whether a slot of one of so many ranks has room for little.
#[inline]
pub fn are_short(tuning: &Tuning, ranks: usize) -> bool {
    ranks > tuning.slots_ranks_max
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;
    const SHORT: usize = 2 * KIB + 1;

    fn limits(ranks: usize, processors: usize) -> SlotLimits {
        SlotLimits::new(&Tuning::DEFAULT, ranks, processors, SHORT)
    }

    /// The first length that has no room, of a collective that is told by its length.
    fn end(limits: SlotLimits, what: impl Fn(usize) -> Collective) -> usize {
        let end = (0..=128 * KIB).find(|&len| !limits.have_room_for(what(len))).unwrap_or(usize::MAX);
        assert!((end..(end + KIB).min(129 * KIB)).all(|len| !limits.have_room_for(what(len))));
        end
    }

    #[test]
    fn where_each_collective_leaves_the_slots() {
        for (ranks, processors, expected) in [
            // Broadcast, reduce, allreduce, reduce_scatter, gather.
            (2, 2, [16 * KIB, 20 * KIB, 20 * KIB, 20 * KIB, 20 * KIB]),
            (4, 2, [16 * KIB, 64 * KIB + 1, 32 * KIB + 1, 20 * KIB, 20 * KIB]),
            (8, 2, [16 * KIB, 64 * KIB + 1, 32 * KIB + 1, 64 * KIB + 1, 20 * KIB]),
            (16, 16, [16 * KIB, 20 * KIB, 20 * KIB, 20 * KIB, 20 * KIB]),
            (17, 2, [SHORT; 5]),
        ] {
            let limits = limits(ranks, processors);
            let ends = [
                end(limits, |len| Collective::Broadcast { len }),
                end(limits, |len| Collective::Reduce { len }),
                end(limits, |len| Collective::Allreduce { len }),
                end(limits, |len| Collective::ReduceScatter { len }),
                end(limits, |part| Collective::Gather { part }),
            ];
            assert_eq!(ends, expected, "{ranks} ranks on {processors}");
            assert!(limits.have_room_for(Collective::Barrier));
        }
    }

    #[test]
    fn where_parts_for_all_leave_the_slots() {
        for (ranks, processors, allgather, alltoall) in [
            (2, 2, 32 * KIB, 20 * KIB),
            // Three parts have room, or all together.
            (4, 4, 6827, 6827),
            (4, 2, 6827, 6827),
            (5, 8, 24 * KIB, 5 * KIB),
            (8, 2, 64 * KIB + 1, 9363),
            (17, 32, SHORT, 129),
        ] {
            let limits = limits(ranks, processors);
            let ends = [
                end(limits, |longest| Collective::Allgather { total: ranks * longest, longest }),
                end(limits, |part| Collective::Alltoall { part, ranks }),
            ];
            assert_eq!(ends, [allgather, alltoall], "{ranks} ranks on {processors}");
        }
    }

    #[test]
    fn parts_of_an_allgather_may_be_uneven() {
        let limits = limits(8, 8);
        let has_room = |total, longest| limits.have_room_for(Collective::Allgather { total, longest });
        assert!(has_room(5 * 20 * KIB, 20 * KIB) && !has_room(5 * 20 * KIB - 1, 20 * KIB));
        assert!(has_room(20 * KIB - 1, 20 * KIB - 1) && !has_room(20 * KIB, 20 * KIB));
        assert!(has_room(30 * KIB, 6826) && !has_room(30 * KIB, 6827));
    }

    #[test]
    fn who_is_alone_has_room_for_everything() {
        for limits in [SlotLimits::ALONE, limits(1, 1)] {
            let (total, longest) = (usize::MAX - 1, usize::MAX - 1);
            assert!(limits.have_room_for(Collective::Broadcast { len: longest }));
            assert!(limits.have_room_for(Collective::Allgather { total, longest }));
            assert!(limits.have_room_for(Collective::Alltoall { part: longest, ranks: 1 }));
        }
    }

    #[test]
    fn many_ranks_have_slots_where_they_take_turns() {
        let cases = [(16, 16, true), (17, 17, false), (17, 16, true), (256, 2, true), (257, 2, false)];
        for (ranks, processors, expected) in cases {
            assert_eq!(are_worth_it(&Tuning::DEFAULT, ranks, processors), expected, "{ranks} on {processors}");
        }
    }

    /// Whatever the table says, no rank posts more than its slot has room for.
    #[test]
    fn no_table_puts_more_into_a_slot_than_has_room() {
        let mut largest = Tuning::DEFAULT;
        for row in Tuning::ROWS {
            largest.set(row.name, *row.limits.end()).unwrap();
        }
        largest.set("parts_ranks_min", 2).unwrap();
        for ranks in [2, 5, 62] {
            let limits = SlotLimits::new(&largest, ranks, 1, SHORT);
            let longest = [limits.any, limits.broadcast, limits.reduce, limits.allreduce, limits.parts]
                .into_iter()
                .chain([limits.even_part, limits.uneven_part, limits.all_parts])
                .max();
            assert!(longest.unwrap() - 1 <= crate::tuning::SLOT_ROOM);
        }
    }
}

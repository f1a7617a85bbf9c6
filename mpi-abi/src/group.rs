//! Groups (MPI-5.0 section 7.3).

use rwmpi_core::{Comparison, Error, ErrorClass, Group, RankRange, Result};

use crate::argument::{Array, Out, OutArray, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::number::{count, numbers, rank_number};
use crate::rank::{Rank, rank};

impl Rank {
    /// The group with that handle.
    pub(crate) fn group<A: Abi>(&self, handle: A::Handle) -> Result<Group> {
        let code = A::code(handle);
        if code == A::GROUP_EMPTY {
            return Ok(Group::empty());
        }
        self.groups.get(code).ok_or_else(|| {
            let what = match code == A::GROUP_NULL {
                true => "the group is MPI_GROUP_NULL".to_string(),
                false => format!("{code:#x} is no group: it was freed or never was one"),
            };
            Error::new(ErrorClass::Group, what)
        })
    }

    /// A handle for a new group.
    pub(crate) fn add_group<A: Abi>(&self, group: Group) -> Result<A::Handle> {
        Ok(A::handle(if group.size() == 0 { A::GROUP_EMPTY } else { self.groups.insert(group)? }))
    }
}

/// The interface's number for how two objects relate.
pub(crate) fn comparison<A: Abi>(comparison: Comparison) -> c_int {
    match comparison {
        Comparison::Identical => A::IDENT,
        Comparison::Congruent => A::CONGRUENT,
        Comparison::Similar => A::SIMILAR,
        Comparison::Unequal => A::UNEQUAL,
    }
}

/// MPI_Group_size (MPI-5.0 section 7.3.1).
pub fn group_size<A: Abi>(group: A::Handle, size: Out<c_int>) -> Outcome {
    size.set(rank()?.group::<A>(group)?.size() as c_int)
}

/// MPI_Group_rank (MPI-5.0 section 7.3.1).
pub fn group_rank<A: Abi>(group: A::Handle, number: Out<c_int>) -> Outcome {
    number.set(rank()?.group::<A>(group)?.rank().map_or(A::UNDEFINED, |rank| rank as c_int))
}

/// MPI_Group_translate_ranks (MPI-5.0 section 7.3.1).
pub fn group_translate_ranks<A: Abi>(
    group: A::Handle,
    len: c_int,
    ranks: Array<c_int>,
    other: A::Handle,
    translated: OutArray<c_int>,
) -> Outcome {
    let rank = rank()?;
    let (group, other) = (rank.group::<A>(group)?, rank.group::<A>(other)?);
    let ranks = ranks.slice(count("the number of ranks", len)?)?;
    let translate = |&number: &c_int| {
        if number == A::PROC_NULL {
            return Ok(A::PROC_NULL);
        }
        let found = group.translate(rank_number("rank", number)?, &other)?;
        Ok(found.map_or(A::UNDEFINED, |rank| rank as c_int))
    };
    let results: Vec<c_int> = ranks.iter().map(translate).collect::<Result<_>>()?;
    results.into_iter().enumerate().try_for_each(|(place, result)| translated.set(place, result))
}

/// MPI_Group_compare (MPI-5.0 section 7.3.1).
pub fn group_compare<A: Abi>(group: A::Handle, other: A::Handle, result: Out<c_int>) -> Outcome {
    let rank = rank()?;
    result.set(comparison::<A>(rank.group::<A>(group)?.compare(&rank.group::<A>(other)?)))
}

/// Gives the program a group, if there is a place for its handle: nobody could free it otherwise.
fn give<A: Abi>(rank: &Rank, made: Out<A::Handle>, make: impl FnOnce() -> Result<Group>) -> Outcome {
    made.check_place("the new group")?;
    made.set(rank.add_group::<A>(make()?)?)
}

/// Makes a group of two.
fn combine<A: Abi>(
    group: A::Handle,
    other: A::Handle,
    made: Out<A::Handle>,
    how: impl Fn(&Group, &Group) -> Group,
) -> Outcome {
    let rank = rank()?;
    let (group, other) = (rank.group::<A>(group)?, rank.group::<A>(other)?);
    give::<A>(rank, made, || Ok(how(&group, &other)))
}

/// MPI_Group_union (MPI-5.0 section 7.3.2).
pub fn group_union<A: Abi>(group: A::Handle, other: A::Handle, made: Out<A::Handle>) -> Outcome {
    combine::<A>(group, other, made, Group::union)
}

/// MPI_Group_intersection (MPI-5.0 section 7.3.2).
pub fn group_intersection<A: Abi>(group: A::Handle, other: A::Handle, made: Out<A::Handle>) -> Outcome {
    combine::<A>(group, other, made, Group::intersection)
}

/// MPI_Group_difference (MPI-5.0 section 7.3.2).
pub fn group_difference<A: Abi>(group: A::Handle, other: A::Handle, made: Out<A::Handle>) -> Outcome {
    combine::<A>(group, other, made, Group::difference)
}

/// MPI_Group_incl (MPI-5.0 section 7.3.2).
pub fn group_incl<A: Abi>(group: A::Handle, len: c_int, ranks: Array<c_int>, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let group = rank.group::<A>(group)?;
    give::<A>(rank, made, || {
        let ranks = numbers("rank", ranks, count("the number of ranks", len)?, ErrorClass::Rank)?;
        group.incl(&ranks)
    })
}

/// MPI_Group_excl (MPI-5.0 section 7.3.2).
pub fn group_excl<A: Abi>(group: A::Handle, len: c_int, ranks: Array<c_int>, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let group = rank.group::<A>(group)?;
    give::<A>(rank, made, || {
        let ranks = numbers("rank", ranks, count("the number of ranks", len)?, ErrorClass::Rank)?;
        group.excl(&ranks)
    })
}

fn ranges(ranges: Array<[c_int; 3]>, len: c_int) -> Result<Vec<RankRange>> {
    let ranges = ranges.slice(count("the number of ranges", len)?)?;
    let range = |&[first, last, stride]: &[c_int; 3]| RankRange {
        first: first.into(),
        last: last.into(),
        stride: stride.into(),
    };
    Ok(ranges.iter().map(range).collect())
}

/// MPI_Group_range_incl (MPI-5.0 section 7.3.2).
pub fn group_range_incl<A: Abi>(
    group: A::Handle,
    len: c_int,
    triplets: Array<[c_int; 3]>,
    made: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let group = rank.group::<A>(group)?;
    give::<A>(rank, made, || group.range_incl(&ranges(triplets, len)?))
}

/// MPI_Group_range_excl (MPI-5.0 section 7.3.2).
pub fn group_range_excl<A: Abi>(
    group: A::Handle,
    len: c_int,
    triplets: Array<[c_int; 3]>,
    made: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let group = rank.group::<A>(group)?;
    give::<A>(rank, made, || group.range_excl(&ranges(triplets, len)?))
}

/// MPI_Group_free (MPI-5.0 section 7.3.3).
pub fn group_free<A: Abi>(handle: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let group = handle.get()?;
    rank.group::<A>(group)?;
    rank.groups.remove(A::code(group));
    handle.set(A::handle(A::GROUP_NULL))
}

/// MPI_Comm_group (MPI-5.0 section 7.3.2).
pub fn comm_group<A: Abi>(communicator: A::Handle, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let group = rank.any_communicator::<A>(communicator)?.core.group().clone();
    made.set(rank.add_group::<A>(group)?)
}

//! Collectives on shelves, which have to have room for what the function of the like name says: no messages, so nothing to await.

use std::iter;

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::allgather::settle;
use super::reduction::Reduction;
use super::shelves::{CAPACITY, HALF, Shelved, is_short};
use super::team::Team;
use crate::engine::Failure;
use crate::process::Process;

#[inline(always)]
pub(crate) fn barrier(shelves: Shelved<'_>, team: Team<'_>) -> Result<(), Failure> {
    let Some(round) = shelves.begin(&team, iter::empty())? else { return Ok(()) };
    round.meet()
}

/// From this length on a broadcast is brought half by its root, where its reader wants it, sooner than all of it is taken from a shelf.
const BROUGHT_BY_BOTH: usize = 16 << 10;

/// What is compared with the room on a shelf, if one rank gives `len` bytes to all.
#[inline(always)]
pub(crate) fn broadcast_bytes(len: usize) -> usize {
    if len < BROUGHT_BY_BOTH { len } else { len.max(CAPACITY) }
}

/// As [`super::broadcast()`].
#[inline(always)]
pub(crate) fn broadcast(shelves: Shelved<'_>, team: Team<'_>, data: WriteSpan<'_>, root: usize) -> Result<(), Failure> {
    let Some(round) = shelves.begin(&team, (team.rank == root).then_some(data.as_read()).into_iter())? else {
        return Ok(());
    };
    if team.rank != root {
        round.take(root, data.len(), 0, data)?;
    }
    Ok(())
}

/// Where ranks outnumber processors they take turns, and a collective takes as long as it takes each to have its turn. Who reads the others' memory has to
/// wait until all have come, and again until all are done; what lies on a shelf is read later. So more is put there (docs/decisions/0057): for one rank
/// to combine, up to
const COMBINED_BY_ONE: usize = 64 << 10;
/// for each to combine,
const COMBINED_BY_ALL: usize = 32 << 10;
/// and, from so many ranks on,
const MANY: usize = 5;
/// for each to take its part.
pub(super) const TAKEN_BY_ALL: usize = 64 << 10;
const _: () =
    assert!(COMBINED_BY_ONE <= HALF && COMBINED_BY_ALL <= HALF && TAKEN_BY_ALL <= HALF && GATHERED_BY_MANY <= HALF);

/// What is compared with the room on a shelf, if each of `size` ranks gives `len` bytes, and one combines them.
#[inline(always)]
pub(crate) fn reduce_bytes(process: &Process, size: usize, len: usize) -> usize {
    if len < CAPACITY { len } else { unless_in_turns(process, size, len, COMBINED_BY_ONE) }
}

/// The same, if each combines all, or those of the ranks before it.
#[inline(always)]
pub(crate) fn allreduce_bytes(process: &Process, size: usize, len: usize) -> usize {
    if len < CAPACITY { len } else { unless_in_turns(process, size, len, COMBINED_BY_ALL) }
}

/// The same, if each takes a part, and combines these where that is asked for.
#[inline(always)]
pub(crate) fn parts_bytes(process: &Process, size: usize, len: usize) -> usize {
    if len < CAPACITY || size < MANY { len } else { unless_in_turns(process, size, len, TAKEN_BY_ALL) }
}

/// `len`, but no more than there is room for if it is not above `most` and so many ranks can only run in turn. The same on all of them.
#[cold]
fn unless_in_turns(process: &Process, size: usize, len: usize, most: usize) -> usize {
    let are_in_turns = size > process.engine().processors();
    if are_in_turns && len <= most { CAPACITY - 1 } else { len }
}

/// As [`super::reduce()`].
#[inline(always)]
pub(crate) fn reduce(
    shelves: Shelved<'_>,
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &(impl Reduction + ?Sized),
    root: usize,
) -> Result<(), Failure> {
    let Some(round) = shelves.begin(&team, iter::once(data))? else { return Ok(()) };
    if team.rank == root {
        round.combine(data, result.len(), 0, result, op, team.size())?;
    }
    Ok(())
}

/// As [`super::allreduce()`].
#[inline(always)]
pub(crate) fn allreduce(
    shelves: Shelved<'_>,
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &(impl Reduction + ?Sized),
) -> Result<(), Failure> {
    let Some(round) = shelves.begin(&team, iter::once(data))? else { return Ok(()) };
    round.combine(data, result.len(), 0, result, op, team.size())
}

/// As [`super::reduce_scatter()`]; this rank's part begins at `start`. It, too, is read on the shelf where the result goes to its place.
#[inline(always)]
pub(crate) fn reduce_scatter(
    shelves: Shelved<'_>,
    team: Team<'_>,
    data: ReadSpan<'_>,
    start: usize,
    result: WriteSpan<'_>,
    op: &(impl Reduction + ?Sized),
) -> Result<(), Failure> {
    let Some(round) = shelves.begin(&team, iter::once(data))? else { return Ok(()) };
    round.combine(data.part(start, result.len()), data.len(), start, result, op, team.size())
}

/// As [`super::gather()`] of even parts, of `len` bytes.
#[inline(always)]
pub(crate) fn gather<'a>(
    shelves: Shelved<'_>,
    team: Team<'_>,
    len: usize,
    part: Option<ReadSpan<'_>>,
    place: impl Fn(usize) -> WriteSpan<'a>,
    root: usize,
) -> Result<(), Failure> {
    let is_root = team.rank == root;
    let Some(round) = shelves.begin(&team, part.filter(|_| !is_root).into_iter())? else { return Ok(()) };
    if is_root {
        if let Some(part) = part {
            team.copy(part, place(root))?;
        }
        round.let_all_come()?;
        round.others().try_for_each(|rank| round.take(rank, len, 0, place(rank)))?;
    }
    Ok(())
}

/// Of the ranks before `end`, which is this one or the next: as [`super::exscan()`] or [`super::scan()`].
#[inline(always)]
pub(crate) fn scan(
    shelves: Shelved<'_>,
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &(impl Reduction + ?Sized),
    end: usize,
) -> Result<(), Failure> {
    let Some(round) = shelves.begin(&team, iter::once(data))? else { return Ok(()) };
    if end > 0 {
        round.combine(data, result.len(), 0, result, op, end)?;
    }
    Ok(())
}

/// Parts of more ranks are no reason against shelves: a rank puts up its own only, and more would have to meet otherwise.
const SHELVED_PARTS: usize = 3;
/// From so many ranks on, of which each has a processor, too, meeting once more costs more than a copy of a rank's own part below this length.
pub(super) const GATHERED_BY_MANY: usize = 24 << 10;

/// What is compared with the room on a shelf, if the parts of `size` ranks have `total` bytes together, and none has more than `longest`.
#[inline(always)]
pub(crate) fn allgather_bytes(process: &Process, size: usize, total: usize, longest: usize) -> usize {
    if is_short(size) {
        return longest;
    }
    if total >= longest.saturating_mul(MANY) {
        let len = longest.saturating_mul(CAPACITY) / GATHERED_BY_MANY;
        return if len < CAPACITY { len } else { parts_bytes(process, size, longest) };
    }
    total.min(longest.saturating_mul(SHELVED_PARTS))
}

/// As [`super::allgather()`].
#[inline(always)]
pub(crate) fn allgather<'a>(
    shelves: Shelved<'_>,
    team: Team<'_>,
    own: ReadSpan<'_>,
    place: impl Fn(usize) -> WriteSpan<'a>,
) -> Result<(), Failure> {
    let Some(round) = shelves.begin(&team, iter::once(own))? else { return Ok(()) };
    settle(own, place(team.rank));
    round.let_all_come()?;
    let mut others = (0..team.size()).filter(|&rank| rank != team.rank);
    others.try_for_each(|rank| round.take(rank, place(rank).len(), 0, place(rank)))?;
    Ok(())
}

/// What is compared with the room on a shelf, if each of `size` ranks has as many bytes for each. Its own are not put there.
#[inline(always)]
pub(crate) fn alltoall_bytes(process: &Process, size: usize, part: usize) -> usize {
    parts_bytes(process, size, part.saturating_mul(size - 1))
}

/// As [`super::alltoall()`] of even parts.
#[inline(always)]
pub(crate) fn alltoall<'s, 'r>(
    shelves: Shelved<'_>,
    team: Team<'_>,
    sent: impl Fn(usize) -> ReadSpan<'s>,
    received: impl Fn(usize) -> WriteSpan<'r>,
) -> Result<(), Failure> {
    let (me, size, len) = (team.rank, team.size(), sent(team.rank).len());
    let others = (0..size).filter(|&rank| rank != me);
    let Some(round) = shelves.begin(&team, others.map(&sent))? else { return Ok(()) };
    team.copy(sent(me), received(me))?;
    round.let_all_come()?;
    for rank in round.others() {
        let into = received(rank);
        team.check_fits(len, into.len())?;
        // Nobody's own part is there.
        let before = if me < rank { me } else { me - 1 };
        round.take(rank, len * (size - 1), before * len, into.part(0, len))?;
    }
    Ok(())
}

//! Collectives by slots that [have room](crate::select::SlotLimits) for them: no messages, so nothing to await.

use std::iter;

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::allgather::settle;
use super::reduction::Reduction;
use super::slots::Shelved;
use super::team::Team;
use crate::engine::Failure;

#[inline(always)]
pub(crate) fn barrier(slots: Shelved<'_>, team: Team<'_>) -> Result<(), Failure> {
    let Some(epoch) = slots.begin(&team, iter::empty())? else { return Ok(()) };
    epoch.meet()
}

/// As [`super::broadcast()`].
#[inline(always)]
pub(crate) fn broadcast(slots: Shelved<'_>, team: Team<'_>, data: WriteSpan<'_>, root: usize) -> Result<(), Failure> {
    let Some(epoch) = slots.begin(&team, (team.rank == root).then_some(data.as_read()).into_iter())? else {
        return Ok(());
    };
    if team.rank != root {
        epoch.read(root, data.len(), 0, data)?;
    }
    Ok(())
}

/// As [`super::reduce()`].
#[inline(always)]
pub(crate) fn reduce(
    slots: Shelved<'_>,
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &(impl Reduction + ?Sized),
    root: usize,
) -> Result<(), Failure> {
    let Some(epoch) = slots.begin(&team, iter::once(data))? else { return Ok(()) };
    if team.rank == root {
        epoch.combine(data, result.len(), 0, result, op, team.size())?;
    }
    Ok(())
}

/// As [`super::allreduce()`].
#[inline(always)]
pub(crate) fn allreduce(
    slots: Shelved<'_>,
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &(impl Reduction + ?Sized),
) -> Result<(), Failure> {
    let Some(epoch) = slots.begin(&team, iter::once(data))? else { return Ok(()) };
    epoch.combine(data, result.len(), 0, result, op, team.size())
}

/// As [`super::reduce_scatter()`]; this rank's part begins at `start`. It, too, is read in the slot where the result
/// goes to its place.
#[inline(always)]
pub(crate) fn reduce_scatter(
    slots: Shelved<'_>,
    team: Team<'_>,
    data: ReadSpan<'_>,
    start: usize,
    result: WriteSpan<'_>,
    op: &(impl Reduction + ?Sized),
) -> Result<(), Failure> {
    let Some(epoch) = slots.begin(&team, iter::once(data))? else { return Ok(()) };
    epoch.combine(data.part(start, result.len()), data.len(), start, result, op, team.size())
}

/// As [`super::gather()`] of even parts, of `len` bytes.
#[inline(always)]
pub(crate) fn gather<'a>(
    slots: Shelved<'_>,
    team: Team<'_>,
    len: usize,
    part: Option<ReadSpan<'_>>,
    place: impl Fn(usize) -> WriteSpan<'a>,
    root: usize,
) -> Result<(), Failure> {
    let is_root = team.rank == root;
    let Some(epoch) = slots.begin(&team, part.filter(|_| !is_root).into_iter())? else { return Ok(()) };
    if is_root {
        if let Some(part) = part {
            team.copy(part, place(root))?;
        }
        epoch.let_all_come()?;
        epoch.others().try_for_each(|rank| epoch.read(rank, len, 0, place(rank)))?;
    }
    Ok(())
}

/// Of the ranks before `end`, which is this one or the next: as [`super::exscan()`] or [`super::scan()`].
#[inline(always)]
pub(crate) fn scan(
    slots: Shelved<'_>,
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &(impl Reduction + ?Sized),
    end: usize,
) -> Result<(), Failure> {
    let Some(epoch) = slots.begin(&team, iter::once(data))? else { return Ok(()) };
    if end > 0 {
        epoch.combine(data, result.len(), 0, result, op, end)?;
    }
    Ok(())
}

/// As [`super::allgather()`].
#[inline(always)]
pub(crate) fn allgather<'a>(
    slots: Shelved<'_>,
    team: Team<'_>,
    own: ReadSpan<'_>,
    place: impl Fn(usize) -> WriteSpan<'a>,
) -> Result<(), Failure> {
    let Some(epoch) = slots.begin(&team, iter::once(own))? else { return Ok(()) };
    settle(own, place(team.rank));
    epoch.let_all_come()?;
    let mut others = (0..team.size()).filter(|&rank| rank != team.rank);
    others.try_for_each(|rank| epoch.read(rank, place(rank).len(), 0, place(rank)))?;
    Ok(())
}

/// As [`super::alltoall()`] of even parts.
#[inline(always)]
pub(crate) fn alltoall<'s, 'r>(
    slots: Shelved<'_>,
    team: Team<'_>,
    sent: impl Fn(usize) -> ReadSpan<'s>,
    received: impl Fn(usize) -> WriteSpan<'r>,
) -> Result<(), Failure> {
    let (me, size, len) = (team.rank, team.size(), sent(team.rank).len());
    let others = (0..size).filter(|&rank| rank != me);
    let Some(epoch) = slots.begin(&team, others.map(&sent))? else { return Ok(()) };
    team.copy(sent(me), received(me))?;
    epoch.let_all_come()?;
    for rank in epoch.others() {
        let into = received(rank);
        team.check_fits(len, into.len())?;
        // Nobody's own part is there.
        let before = if me < rank { me } else { me - 1 };
        epoch.read(rank, len * (size - 1), before * len, into.part(0, len))?;
    }
    Ok(())
}

//! Collectives on shelves: no messages, so nothing to await. Each says whether it has been done; if not, nothing has happened.

use std::iter;

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::allgather::settle;
use super::reduction::Reduction;
use super::team::Team;
use crate::engine::Failure;

type Done = Result<bool, Failure>;

#[inline]
pub(crate) fn barrier(team: Team<'_>) -> Done {
    let Some(shelves) = team.shelves(0)? else { return Ok(false) };
    shelves.put(team, iter::empty())?.meet()?;
    Ok(true)
}

/// As [`super::broadcast()`].
#[inline]
pub(crate) fn broadcast(team: Team<'_>, data: WriteSpan<'_>, root: usize) -> Done {
    let Some(shelves) = team.shelves(data.len())? else { return Ok(false) };
    let round = shelves.put(team, (team.rank == root).then_some(data.as_read()).into_iter())?;
    if team.rank != root {
        round.take(root, data.len(), 0, data)?;
    }
    Ok(true)
}

/// As [`super::reduce()`].
#[inline]
pub(crate) fn reduce(
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
    root: usize,
) -> Done {
    let Some(shelves) = team.shelves(data.len())? else { return Ok(false) };
    let round = shelves.put(team, iter::once(data))?;
    if team.rank == root {
        round.combine(result, op)?;
    }
    Ok(true)
}

/// As [`super::allreduce()`].
#[inline]
pub(crate) fn allreduce(team: Team<'_>, data: ReadSpan<'_>, result: WriteSpan<'_>, op: &dyn Reduction) -> Done {
    let Some(shelves) = team.shelves(data.len())? else { return Ok(false) };
    shelves.put(team, iter::once(data))?.combine(result, op)?;
    Ok(true)
}

/// As [`super::allgather()`], all parts together having `total` bytes.
#[inline]
pub(crate) fn allgather<'a>(
    team: Team<'_>,
    total: usize,
    own: ReadSpan<'_>,
    place: impl Fn(usize) -> WriteSpan<'a>,
) -> Done {
    let Some(shelves) = team.shelves(total)? else { return Ok(false) };
    let round = shelves.put(team, iter::once(own))?;
    settle(own, place(team.rank));
    let mut others = (0..team.size()).filter(|&rank| rank != team.rank);
    others.try_for_each(|rank| round.take(rank, place(rank).len(), 0, place(rank)))?;
    Ok(true)
}

/// As [`super::alltoall()`] of even parts.
#[inline]
pub(crate) fn alltoall<'s, 'r>(
    team: Team<'_>,
    sent: impl Fn(usize) -> ReadSpan<'s>,
    received: impl Fn(usize) -> WriteSpan<'r>,
) -> Done {
    let len = sent(team.rank).len();
    let all = len * team.size();
    let Some(shelves) = team.shelves(all)? else { return Ok(false) };
    let round = shelves.put(team, (0..team.size()).map(&sent))?;
    for rank in 0..team.size() {
        let into = received(rank);
        team.check_fits(len, into.len())?;
        round.take(rank, all, team.rank * len, into.part(0, len))?;
    }
    Ok(true)
}

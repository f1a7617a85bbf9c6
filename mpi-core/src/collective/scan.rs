//! Prefix reductions. Short data on one node: each rank combines what the ranks up to it have in their slots. Long
//! data of two: a reduction to the second. Else in rounds: in round `k` each rank passes what it has combined so far to
//! the rank `2^k` ahead.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::at_once;
use super::nodes;
use super::reduce::reduce_long;
use super::reduction::Reduction;
use super::scratch::{Scratch, prepend};
use super::slots::Shelved;
use super::team::Team;
use crate::apart::apart;
use crate::engine::Failure;
use crate::select::collective::without_slots;
use crate::select::{Collective, CollectiveWay};

/// `data` is this rank's contribution; `result`, which may be the same memory, becomes that of all ranks up to this
/// one.
pub(crate) async fn scan(
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
) -> Result<(), Failure> {
    if on_slots(team, data, result, op, team.rank + 1).await? {
        return Ok(());
    }
    let what = Collective::Scan { len: data.len() };
    let way = without_slots(team.process.tuning(), what, team.size(), team.may_access_directly());
    let is_reduction = way == CollectiveWay::DirectAccess;
    if data.start() != result.start() && !(is_reduction && team.rank == 1) {
        team.copy(data, result)?;
    }
    if is_reduction {
        return apart(|| reduce_long(team, data, result, op, 1)).await;
    }
    apart(|| by_messages(team, result, None, op)).await
}

/// As [`scan`], of the ranks before this one: rank 0's `result` is left alone.
pub(crate) async fn exscan(
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
) -> Result<(), Failure> {
    if on_slots(team, data, result, op, team.rank).await? {
        return Ok(());
    }
    let mut inclusive = Scratch::new(team, result.len());
    let inclusive = inclusive.span();
    team.copy(data, inclusive)?;
    apart(|| by_messages(team, inclusive, Some(result), op)).await
}

/// Of the ranks before `end`, if there is room in slots.
async fn on_slots(
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
    end: usize,
) -> Result<bool, Failure> {
    let on_slots = |slots: Shelved<'_>, team: Team<'_>| at_once::scan(slots, team, data, result, op, end);
    team.on_slots(Collective::Scan { len: data.len() }, |rank| rank < end, on_slots).await
}

/// `data` is this rank's contribution, afterwards that of all ranks up to this one, unless `before` is asked for: that
/// becomes the one of the ranks before this one and is left alone at rank 0.
async fn by_messages(
    team: Team<'_>,
    data: WriteSpan<'_>,
    before: Option<WriteSpan<'_>>,
    op: &dyn Reduction,
) -> Result<(), Failure> {
    if let Some(by) = team.nodes_in_order() {
        return apart(|| nodes::scan(team, by, data, before, op)).await;
    }
    // Others may have posted data of another length, so each two ask each other first.
    let epoch = team.announce_len(data.len())?;
    let agrees = |rank| epoch.map_or(Ok(true), |epoch| epoch.agrees(rank, data.len()));
    let (rank, size) = (team.rank, team.size());
    let mut received = Scratch::new(team, data.len());
    let received = received.span();
    let mut distance = 1;
    while distance < size {
        let mut flights = team.flights();
        let is_advertised = team.process.engine().advertises(data.len());
        let receives = rank >= distance && agrees(rank - distance)?;
        if receives && is_advertised {
            flights.receive(received, rank - distance)?;
        }
        if rank + distance < size && agrees(rank + distance)? {
            flights.send(data.as_read(), rank + distance)?;
        }
        if receives && !is_advertised {
            flights.receive_next(received, data.len(), rank - distance)?;
        }
        flights.await?;
        if receives {
            // What no rank will be sent is of use to this one only.
            if before.is_none() || rank + 2 * distance < size {
                prepend(&team, op, received.as_read(), data);
            }
            match before {
                Some(before) if distance == 1 => received.as_read().copy_to(before),
                Some(before) => prepend(&team, op, received.as_read(), before),
                None => {}
            }
        }
        distance *= 2;
    }
    Ok(())
}

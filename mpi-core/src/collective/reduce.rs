//! Reductions. Short data: binomial tree to one rank, recursive doubling to all. Long data: everybody combines one part of the
//! whole, read from all or, where that can't be, sent by all, and the parts are gathered. Always in rank order, so an operation need
//! only be associative, and all ranks get the same bits.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::allgather::allgather;
use super::alltoall::send_to_all;
use super::at_once;
use super::gather::gather;
use super::reduction::Reduction;
use super::scratch::{Scratch, append, prepend};
use super::team::Team;
use crate::engine::Failure;

/// From this length on, in bytes, the data are reduced in parts.
const PARTS_FROM: usize = 32 << 10;
/// From this length on the others' memory is read where that is possible.
const READ_FROM: usize = 16 << 10;

/// `data` is this rank's contribution; the root's `result` may be the same memory. `result` is used at the root only.
pub(crate) async fn reduce(
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
    root: usize,
) -> Result<(), Failure> {
    if team.size() == 1 {
        data.copy_to(result);
        return Ok(());
    }
    if at_once::reduce(team, data, result, op, root)? {
        return Ok(());
    }
    Box::pin(reduce_by_messages(team, data, result, op, root)).await
}

async fn reduce_by_messages(
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
    root: usize,
) -> Result<(), Failure> {
    if data.len() >= READ_FROM && team.may_publish() && reduce_read(team, data, result, op, root).await? {
        return Ok(());
    }
    if data.len() >= PARTS_FROM && team.size() > 2 {
        return reduce_parts(team, data, result, op, root).await;
    }
    // The tree ends at rank 0, so that neighbours are combined in rank order.
    match team.rank {
        0 if root == 0 => tree(team, data, Some(result), op, root).await,
        rank => {
            tree(team, data, (rank == root).then_some(result), op, root).await?;
            if rank == root { team.receive(result, 0).await } else { Ok(()) }
        }
    }
}

/// False, on all ranks, if someone's memory can't be read.
async fn reduce_read(
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
    root: usize,
) -> Result<bool, Failure> {
    let parts = Parts::new(team, data.len(), op);
    // Of two, one does it alone: to fetch the other's half costs as much.
    let alone = team.size() == 2;
    let is_root = team.rank == root;
    let mut own = Scratch::new(team, if alone || is_root { 0 } else { parts.len(team.rank) });
    let own = own.span();
    let Some(mut published) = team.publish(|_| [data, own.as_read()]).await? else { return Ok(false) };
    if alone {
        if is_root {
            published.combine(0, 0, data, result, op)?;
        }
    } else {
        let place = if is_root { parts.place(result, root) } else { own };
        published.combine(0, parts.start(team.rank), parts.of(data, team.rank), place, op)?;
        published.meet().await?;
        if is_root {
            for rank in (0..team.size()).filter(|&rank| rank != root) {
                published.read(rank, 1, 0, parts.place(result, rank))?;
            }
        }
    }
    published.meet().await?;
    Ok(true)
}

async fn reduce_parts(
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
    root: usize,
) -> Result<(), Failure> {
    let parts = Parts::new(team, data.len(), op);
    let mut own = Scratch::new(team, parts.len(team.rank));
    let own = own.span();
    combine(team, |rank| parts.of(data, rank), own, op).await?;
    gather(team, Some(own.as_read()), |rank| parts.place(result, rank), root).await
}

/// Combines towards rank 0, which hands the result to the root. `kept` is where partial results may be kept.
async fn tree(
    team: Team<'_>,
    data: ReadSpan<'_>,
    kept: Option<WriteSpan<'_>>,
    op: &dyn Reduction,
    root: usize,
) -> Result<(), Failure> {
    let (rank, size) = (team.rank, team.size());
    if rank % 2 == 1 {
        return team.send(data, rank - 1).await;
    }
    let mut scratch = Scratch::new(team, if kept.is_some() { 0 } else { data.len() });
    let kept = kept.unwrap_or_else(|| scratch.span());
    data.copy_to(kept);
    let mut received = Scratch::new(team, data.len());
    let received = received.span();
    let mut bit = 1;
    while bit < size {
        if rank & bit != 0 {
            return team.send(kept.as_read(), rank - bit).await;
        }
        if rank + bit < size {
            team.receive(received, rank + bit).await?;
            append(team, op, kept, received.as_read());
        }
        bit <<= 1;
    }
    if root == 0 { Ok(()) } else { team.send(kept.as_read(), root).await }
}

/// `data` is this rank's contribution; `result` may be the same memory.
pub(crate) async fn allreduce(
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
) -> Result<(), Failure> {
    team.check_fits(data.len(), result.len())?;
    if at_once::allreduce(team, data, result, op)? {
        return Ok(());
    }
    Box::pin(allreduce_by_messages(team, data, result, op)).await
}

async fn allreduce_by_messages(
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
) -> Result<(), Failure> {
    let several = team.size() > 1;
    if several && data.len() >= READ_FROM && team.may_publish() && allreduce_read(team, data, result, op).await? {
        return Ok(());
    }
    if data.start() != result.start() {
        data.copy_to(result);
    }
    match (several, data.len() < PARTS_FROM) {
        (false, _) => Ok(()),
        (true, true) => doubling(team, result, op).await,
        (true, false) => allreduce_parts(team, result, op).await,
    }
}

/// False, on all ranks, if someone's memory can't be read.
async fn allreduce_read(
    team: Team<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
) -> Result<bool, Failure> {
    let (me, size) = (team.rank, team.size());
    let parts = Parts::new(team, data.len(), op);
    let Some(mut published) = team.publish(|_| [data, result.as_read()]).await? else { return Ok(false) };
    // This rank's part of its own data is nobody else's to read.
    published.combine(0, parts.start(me), parts.of(data, me), parts.place(result, me), op)?;
    published.meet().await?;
    for step in 1..size {
        let rank = (me + step) % size;
        published.read(rank, 1, parts.start(rank), parts.place(result, rank))?;
    }
    published.meet().await?;
    Ok(true)
}

async fn allreduce_parts(team: Team<'_>, data: WriteSpan<'_>, op: &dyn Reduction) -> Result<(), Failure> {
    let parts = Parts::new(team, data.len(), op);
    let own = parts.place(data, team.rank);
    combine(team, |rank| parts.of(data.as_read(), rank), own, op).await?;
    allgather(team, |rank| parts.place(data, rank)).await
}

/// Recursive doubling. Where the ranks are no power of two, the first ones first join into pairs, each of which acts as one.
async fn doubling(team: Team<'_>, data: WriteSpan<'_>, op: &dyn Reduction) -> Result<(), Failure> {
    let (rank, size) = (team.rank, team.size());
    let actors = 1 << size.ilog2();
    let pairs = size - actors;
    let mut received = Scratch::new(team, data.len());
    let received = received.span();
    let actor = if rank >= 2 * pairs {
        rank - pairs
    } else if rank % 2 == 1 {
        team.send(data.as_read(), rank - 1).await?;
        return team.receive(data, rank - 1).await;
    } else {
        team.receive(received, rank + 1).await?;
        append(team, op, data, received.as_read());
        rank / 2
    };
    let rank_of = |actor: usize| if actor < pairs { 2 * actor } else { actor + pairs };
    let mut bit = 1;
    while bit < actors {
        let partner = rank_of(actor ^ bit);
        team.exchange(data.as_read(), partner, received, partner).await?;
        if actor & bit == 0 {
            append(team, op, data, received.as_read());
        } else {
            prepend(team, op, received.as_read(), data);
        }
        bit <<= 1;
    }
    if rank < 2 * pairs { team.send(data.as_read(), rank + 1).await } else { Ok(()) }
}

/// `part` says where this rank's contribution to each rank's part of the result is; `result` becomes its own, and may be
/// the same memory as that contribution.
pub(crate) async fn combine<'s>(
    team: Team<'_>,
    part: impl Fn(usize) -> ReadSpan<'s>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
) -> Result<(), Failure> {
    let len = result.len();
    let stride = len.next_multiple_of(size_of::<u128>());
    let mut received = Scratch::new(team, stride * team.size());
    let received = received.span();
    send_to_all(team, part, |rank| received.part(rank * stride, len)).await?;
    received.part(0, len).as_read().copy_to(result);
    for rank in 1..team.size() {
        append(team, op, result, received.part(rank * stride, len).as_read());
    }
    Ok(())
}

/// A buffer in nearly equal parts of whole elements, one for each rank.
#[derive(Clone, Copy)]
struct Parts {
    ranks: usize,
    elements: usize,
    /// Bytes.
    element: usize,
}

impl Parts {
    fn new(team: Team<'_>, len: usize, op: &dyn Reduction) -> Self {
        let element = op.element().max(1);
        Parts { ranks: team.size(), elements: len / element, element }
    }

    fn start(self, rank: usize) -> usize {
        (rank as u128 * self.elements as u128 / self.ranks as u128) as usize * self.element
    }

    fn len(self, rank: usize) -> usize {
        self.start(rank + 1) - self.start(rank)
    }

    fn of(self, data: ReadSpan<'_>, rank: usize) -> ReadSpan<'_> {
        data.part(self.start(rank), self.len(rank))
    }

    fn place(self, data: WriteSpan<'_>, rank: usize) -> WriteSpan<'_> {
        data.part(self.start(rank), self.len(rank))
    }
}

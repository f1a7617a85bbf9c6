//! What collectives do with elements: stage them as runs of bytes, run the algorithm, put the result where it belongs.

use rwmpi_collective::{
    self as collective, Allreduce, Consecutive, Outcome, Reduce, ReduceScatter, Reduction, Root, Scan, Team, Trouble,
};
use rwmpi_transport::{ReadSpan, WriteSpan};

use super::staged::{Blocks, Staged};
use super::{Collective, Elements, Neighbourhood, Prepared, Ranks};
use crate::apart::apart;

pub(super) async fn perform(prepared: &Prepared, ranks: Ranks<'_>) -> Outcome {
    if let Some(operation) = &prepared.operation {
        operation.begin();
    }
    match ranks {
        Ranks::One(team) => {
            let (trouble, one_length) = (Trouble::default(), prepared.is_of_one_length());
            let trouble_of = one_length.then_some(&trouble);
            let team = Team { trouble: trouble_of, spreads_trouble: one_length, ..team };
            apart(|| staged(prepared, Ranks::One(team))).await?;
            trouble.outcome()
        }
        Ranks::Two(_) => {
            apart(|| staged(prepared, ranks)).await?;
            prepared.operation.as_ref().and_then(Reduction::failure).map_or(Ok(()), Err)
        }
    }
}

async fn staged(prepared: &Prepared, ranks: Ranks<'_>) -> Outcome {
    // Every reduction has been given its operation.
    let op = prepared.operation.as_ref().map(|operation| operation as &dyn Reduction);
    match (&prepared.collective, op, &prepared.neighbourhood) {
        (Collective::Broadcast { data, root }, ..) => apart(|| broadcast(ranks, data, *root)).await,
        (Collective::Gather { part, all, root, even }, ..) => {
            apart(|| gather(ranks, part.as_ref(), all.as_ref(), *root, *even)).await
        }
        (Collective::Scatter { all, part, root, even }, ..) => {
            apart(|| scatter(ranks, all.as_ref(), part.as_ref(), *root, *even)).await
        }
        (Collective::Allgather { part, all }, ..) => apart(|| allgather(ranks, part.as_ref(), all)).await,
        (Collective::Alltoall { sent, received }, ..) => apart(|| alltoall(ranks, sent.as_ref(), received)).await,
        (Collective::Reduce { data, result, root, .. }, Some(op), _) => {
            apart(|| reduce(ranks, data.as_ref(), result.as_ref(), op, *root)).await
        }
        (Collective::Allreduce { data, result, .. }, Some(op), _) => {
            apart(|| allreduce(ranks, data.as_ref(), result, op)).await
        }
        (Collective::ReduceScatter { data, result, counts, .. }, Some(op), _) => {
            apart(|| reduce_scatter(ranks, data, result, counts, op)).await
        }
        (Collective::Scan { data, result, exclusive, .. }, Some(op), _) => {
            apart(|| scan(ranks, data.as_ref(), result, op, *exclusive)).await
        }
        (Collective::NeighbourAllgather { part, all }, _, Some(neighbourhood)) => {
            let part = packed(part);
            apart(|| exchange(ranks, neighbourhood, |_| part.span(0).as_read(), all)).await
        }
        (Collective::NeighbourAlltoall { sent, received }, _, Some(neighbourhood)) => {
            let sent = Staged::new(sent, neighbourhood.destinations.len());
            sent.pack();
            apart(|| exchange(ranks, neighbourhood, |place| sent.span(place).as_read(), received)).await
        }
        (Collective::Barrier, ..) => match ranks {
            Ranks::One(team) => apart(|| collective::barrier(team)).await,
            Ranks::Two(groups) => apart(|| collective::barrier_between(groups)).await,
        },
        // `prepare` lets nothing else through but a reduction to somebody else of the own group.
        _ => Ok(()),
    }
}

impl Ranks<'_> {
    fn are_of(self, root: Root) -> bool {
        match self {
            Ranks::One(team) => root == Root::Rank(team.rank),
            Ranks::Two(_) => root == Root::Here,
        }
    }

    /// How many there are to exchange with.
    fn partners(self) -> usize {
        match self {
            Ranks::One(team) => team.size(),
            Ranks::Two(groups) => groups.remote.size(),
        }
    }
}

/// Elements that are to be sent.
fn packed(elements: &Elements) -> Staged {
    let staged = Staged::one(elements);
    staged.pack();
    staged
}

async fn broadcast(ranks: Ranks<'_>, data: &Elements, root: Root) -> Outcome {
    let (staged, is_root) = (Staged::one(data), ranks.are_of(root));
    if is_root {
        staged.pack();
    }
    match (ranks, root) {
        (Ranks::One(team), Root::Rank(root)) => collective::broadcast(team, staged.span(0), root).await?,
        (Ranks::Two(groups), _) => collective::broadcast_between(groups, staged.span(0), root).await?,
        _ => {}
    }
    if !is_root && root != Root::Nobody {
        staged.unpack();
    }
    Ok(())
}

async fn gather(ranks: Ranks<'_>, part: Option<&Elements>, all: Option<&Blocks>, root: Root, even: bool) -> Outcome {
    let part = part.map(packed);
    let part = part.as_ref().map(|part| part.span(0).as_read());
    let all = all.filter(|_| ranks.are_of(root)).map(|all| Staged::new(all, ranks.partners()));
    let place = |rank| all.as_ref().map_or(WriteSpan::EMPTY, |all| all.span(rank));
    match (ranks, root) {
        (Ranks::One(team), Root::Rank(root)) => {
            if part.is_none() {
                all.iter().for_each(|all| all.pack_at(root));
            }
            collective::gather(team, part, place, root, even).await?;
        }
        (Ranks::Two(groups), _) => {
            collective::gather_between(groups, part.unwrap_or(ReadSpan::EMPTY), place, root).await?;
        }
        _ => {}
    }
    all.iter().for_each(Staged::unpack);
    Ok(())
}

async fn scatter(ranks: Ranks<'_>, all: Option<&Blocks>, part: Option<&Elements>, root: Root, even: bool) -> Outcome {
    let part = part.map(Staged::one);
    let span = part.as_ref().map(|part| part.span(0));
    let all = all.filter(|_| ranks.are_of(root)).map(|all| Staged::new(all, ranks.partners()));
    all.iter().for_each(Staged::pack);
    let place = |rank| all.as_ref().map_or(ReadSpan::EMPTY, |all| all.span(rank).as_read());
    match (ranks, root) {
        (Ranks::One(team), Root::Rank(root)) => collective::scatter(team, place, span, root, even).await?,
        (Ranks::Two(groups), _) => {
            collective::scatter_between(groups, place, span.unwrap_or(WriteSpan::EMPTY), root).await?;
        }
        _ => {}
    }
    part.iter().for_each(Staged::unpack);
    Ok(())
}

async fn allgather(ranks: Ranks<'_>, part: Option<&Elements>, all: &Blocks) -> Outcome {
    let all = Staged::new(all, ranks.partners());
    match ranks {
        Ranks::One(team) => {
            let place = all.span(team.rank);
            let in_one_run = part.and_then(Elements::read_span).filter(|run| run.len() == place.len());
            match part {
                Some(part) if in_one_run.is_none() => put(team, part, place)?,
                Some(_) => {}
                None => all.pack_at(team.rank),
            }
            collective::allgather(team, in_one_run.unwrap_or(place.as_read()), |rank| all.span(rank)).await?;
        }
        Ranks::Two(groups) => {
            let part = part.map(packed);
            let part = part.as_ref().map_or(ReadSpan::EMPTY, |part| part.span(0).as_read());
            collective::alltoall_between(groups, |_| part, |rank| all.span(rank)).await?;
        }
    }
    all.unpack();
    Ok(())
}

/// Packs this rank's own elements to where they go.
fn put(team: Team<'_>, part: &Elements, place: WriteSpan<'_>) -> Outcome {
    team.check_fits(part.bytes(), place.len())?;
    part.pack_span(place);
    Ok(())
}

async fn alltoall(ranks: Ranks<'_>, sent: Option<&Blocks>, received: &Blocks) -> Outcome {
    let partners = ranks.partners();
    let even = matches!((sent, received), (Some(Blocks::Even(_)) | None, Blocks::Even(_)));
    let sent = match sent {
        Some(sent) => {
            let staged = Staged::new(sent, partners);
            staged.pack();
            staged
        }
        None => Staged::copies(received, partners),
    };
    let received = Staged::new(received, partners);
    let (given, place) = (|rank| sent.span(rank).as_read(), |rank| received.span(rank));
    match ranks {
        Ranks::One(team) => collective::alltoall(team, given, place, even).await?,
        Ranks::Two(groups) => collective::alltoall_between(groups, given, place).await?,
    }
    received.unpack();
    Ok(())
}

async fn reduce(
    ranks: Ranks<'_>,
    data: Option<&Elements>,
    result: Option<&Elements>,
    op: &dyn Reduction,
    root: Root,
) -> Outcome {
    let result = result.filter(|_| ranks.are_of(root)).map(Staged::one);
    let place = result.as_ref().map_or(WriteSpan::EMPTY, |result| result.span(0));
    let data = data.map(packed);
    if data.is_none() {
        result.iter().for_each(Staged::pack);
    }
    let data = data.as_ref().map_or(place.as_read(), |data| data.span(0).as_read());
    match (ranks, root) {
        (Ranks::One(team), Root::Rank(root)) => {
            collective::reduce(team, Reduce { data, result: place, op, root }).await?;
        }
        (Ranks::Two(groups), _) => collective::reduce_between(groups, data, place, op, root).await?,
        _ => {}
    }
    result.iter().for_each(Staged::unpack);
    Ok(())
}

async fn allreduce(ranks: Ranks<'_>, data: Option<&Elements>, result: &Elements, op: &dyn Reduction) -> Outcome {
    let staged = Staged::one(result);
    let (result, data) = (staged.span(0), data.map(packed));
    if data.is_none() {
        staged.pack();
    }
    let data = data.as_ref().map_or(result.as_read(), |data| data.span(0).as_read());
    let allreduce = Allreduce { data, result, op };
    match ranks {
        Ranks::One(team) => collective::allreduce(team, allreduce).await?,
        Ranks::Two(groups) => collective::allreduce_between(groups, allreduce).await?,
    }
    staged.unpack();
    Ok(())
}

async fn reduce_scatter(
    ranks: Ranks<'_>,
    data: &Elements,
    result: &Elements,
    counts: &[u64],
    op: &dyn Reduction,
) -> Outcome {
    let parts = Consecutive::new(counts.iter().map(|&count| count as usize), result.datatype().size() as usize);
    let place: &dyn Fn(usize) -> (usize, usize) = &|rank| parts.place(rank);
    let (data, staged) = (packed(data), Staged::one(result));
    let reduced = ReduceScatter { data: data.span(0).as_read(), result: staged.span(0), op, place };
    match ranks {
        Ranks::One(team) => collective::reduce_scatter(team, reduced).await?,
        Ranks::Two(groups) => collective::reduce_scatter_between(groups, reduced).await?,
    }
    staged.unpack();
    Ok(())
}

async fn scan(
    ranks: Ranks<'_>,
    data: Option<&Elements>,
    result: &Elements,
    op: &dyn Reduction,
    exclusive: bool,
) -> Outcome {
    let Ranks::One(team) = ranks else { return Ok(()) };
    let staged = Staged::one(result);
    let (result, data) = (staged.span(0), data.map(packed));
    if data.is_none() {
        staged.pack();
    }
    let data = data.as_ref().map_or(result.as_read(), |data| data.span(0).as_read());
    collective::scan(team, Scan { data, result, op, exclusive }).await?;
    // Rank 0 has nobody before it: its buffer stays as it is.
    if !exclusive || team.rank > 0 {
        staged.unpack();
    }
    Ok(())
}

async fn exchange<'s>(
    ranks: Ranks<'_>,
    neighbourhood: &Neighbourhood,
    sent: impl Fn(usize) -> ReadSpan<'s>,
    received: &Blocks,
) -> Outcome {
    let Ranks::One(team) = ranks else { return Ok(()) };
    let Neighbourhood { sources, destinations, grid } = neighbourhood;
    let received = Staged::new(received, sources.len());
    collective::exchange_with_neighbours(team, sources, destinations, *grid, sent, |place| received.span(place))
        .await?;
    for place in (0..sources.len()).filter(|&place| sources[place].is_some()) {
        received.unpack_at(place);
    }
    Ok(())
}

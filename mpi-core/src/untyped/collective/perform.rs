//! What collectives do with elements: stage them as runs of bytes, run the algorithm, put the result where it belongs.

use rwmpi_collective::{
    self as collective, Allreduce, Consecutive, Groups, Outcome, Reduce, ReduceScatter, Reduction, Root, Scan, Scratch,
    Team, Trouble,
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
            apart(|| within(prepared, Team { trouble: trouble_of, spreads_trouble: one_length, ..team })).await?;
            trouble.outcome()
        }
        Ranks::Two(groups) => apart(|| between(prepared, groups)).await,
    }
}

/// On an intracommunicator.
async fn within(prepared: &Prepared, team: Team<'_>) -> Outcome {
    // Every reduction has been given its operation.
    let op = prepared.operation.as_ref().map(|operation| operation as &dyn Reduction);
    match (&prepared.collective, op, &prepared.neighbourhood) {
        (Collective::Broadcast { data, root: Root::Rank(root) }, ..) => apart(|| broadcast(team, data, *root)).await,
        (Collective::Gather { part, all, root: Root::Rank(root), even }, ..) => {
            apart(|| gather(team, part.as_ref(), all.as_ref(), *root, *even)).await
        }
        (Collective::Scatter { all, part, root: Root::Rank(root), even }, ..) => {
            apart(|| scatter(team, all.as_ref(), part.as_ref(), *root, *even)).await
        }
        (Collective::Allgather { part, all }, ..) => apart(|| allgather(team, part.as_ref(), all)).await,
        (Collective::Alltoall { sent, received }, ..) => apart(|| alltoall(team, sent.as_ref(), received)).await,
        (Collective::Reduce { data, result, root: Root::Rank(root), .. }, Some(op), _) => {
            apart(|| reduce(team, data.as_ref(), result.as_ref(), op, *root)).await
        }
        (Collective::Allreduce { data, result, .. }, Some(op), _) => {
            apart(|| allreduce(team, data.as_ref(), result, op)).await
        }
        (Collective::ReduceScatter { data, result, counts, .. }, Some(op), _) => {
            let parts = parts(counts, result);
            let (data, result) = (packed(data), Staged::one(result));
            let data = data.span(0).as_read();
            let place: &dyn Fn(usize) -> (usize, usize) = &|rank| parts.place(rank);
            let reduced = ReduceScatter { data, result: result.span(0), op, place };
            apart(|| collective::reduce_scatter(team, reduced)).await?;
            result.unpack();
            Ok(())
        }
        (Collective::Scan { data, result, exclusive, .. }, Some(op), _) => {
            apart(|| scan(team, data.as_ref(), result, op, *exclusive)).await
        }
        (Collective::NeighbourAllgather { part, all }, _, Some(neighbourhood)) => {
            let part = packed(part);
            apart(|| exchange(team, neighbourhood, |_| part.span(0).as_read(), all)).await
        }
        (Collective::NeighbourAlltoall { sent, received }, _, Some(neighbourhood)) => {
            let sent = Staged::new(sent, neighbourhood.destinations.len());
            sent.pack();
            apart(|| exchange(team, neighbourhood, |place| sent.span(place).as_read(), received)).await
        }
        (Collective::Barrier, ..) => apart(|| collective::barrier(team)).await,
        // `prepare` lets nothing else through.
        _ => Ok(()),
    }
}

/// Elements that are to be sent.
fn packed(elements: &Elements) -> Staged {
    let staged = Staged::one(elements);
    staged.pack();
    staged
}

/// The parts of a result with that many elements each, as `result` are.
fn parts(counts: &[u64], result: &Elements) -> Consecutive {
    Consecutive::new(counts.iter().map(|&count| count as usize), result.datatype().size() as usize)
}

async fn broadcast(team: Team<'_>, data: &Elements, root: usize) -> Outcome {
    let staged = Staged::one(data);
    if team.rank == root {
        staged.pack();
    }
    collective::broadcast(team, staged.span(0), root).await?;
    if team.rank != root {
        staged.unpack();
    }
    Ok(())
}

async fn gather(team: Team<'_>, part: Option<&Elements>, all: Option<&Blocks>, root: usize, even: bool) -> Outcome {
    let part = part.map(packed);
    let part = part.as_ref().map(|part| part.span(0).as_read());
    let Some(all) = all.filter(|_| team.rank == root) else {
        return collective::gather(team, part, |_| WriteSpan::EMPTY, root, even).await;
    };
    let all = Staged::new(all, team.size());
    if part.is_none() {
        all.pack_at(root);
    }
    collective::gather(team, part, |rank| all.span(rank), root, even).await?;
    all.unpack();
    Ok(())
}

async fn scatter(team: Team<'_>, all: Option<&Blocks>, part: Option<&Elements>, root: usize, even: bool) -> Outcome {
    let part = part.map(Staged::one);
    let span = part.as_ref().map(|part| part.span(0));
    match all.filter(|_| team.rank == root) {
        None => collective::scatter(team, |_| ReadSpan::EMPTY, span, root, even).await?,
        Some(all) => {
            let all = Staged::new(all, team.size());
            all.pack();
            collective::scatter(team, |rank| all.span(rank).as_read(), span, root, even).await?;
        }
    }
    if let Some(part) = part {
        part.unpack();
    }
    Ok(())
}

async fn allgather(team: Team<'_>, part: Option<&Elements>, all: &Blocks) -> Outcome {
    let all = Staged::new(all, team.size());
    let place = all.span(team.rank);
    let in_one_run = part.and_then(Elements::read_span).filter(|run| run.len() == place.len());
    match part {
        Some(part) if in_one_run.is_none() => put(team, part, place)?,
        Some(_) => {}
        None => all.pack_at(team.rank),
    }
    collective::allgather(team, in_one_run.unwrap_or(place.as_read()), |rank| all.span(rank)).await?;
    all.unpack();
    Ok(())
}

/// Packs this rank's own elements to where they go.
fn put(team: Team<'_>, part: &Elements, place: WriteSpan<'_>) -> Outcome {
    team.check_fits(part.bytes(), place.len())?;
    part.pack_span(place);
    Ok(())
}

async fn alltoall(team: Team<'_>, sent: Option<&Blocks>, received: &Blocks) -> Outcome {
    let size = team.size();
    let even = matches!((sent, received), (Some(Blocks::Even(_)) | None, Blocks::Even(_)));
    let sent = match sent {
        Some(sent) => {
            let staged = Staged::new(sent, size);
            staged.pack();
            staged
        }
        None => Staged::copies(received, size),
    };
    let received = Staged::new(received, size);
    collective::alltoall(team, |rank| sent.span(rank).as_read(), |rank| received.span(rank), even).await?;
    received.unpack();
    Ok(())
}

async fn reduce(
    team: Team<'_>,
    data: Option<&Elements>,
    result: Option<&Elements>,
    op: &dyn Reduction,
    root: usize,
) -> Outcome {
    let result = result.filter(|_| team.rank == root).map(Staged::one);
    let place = result.as_ref().map_or(WriteSpan::EMPTY, |result| result.span(0));
    let data = data.map(packed);
    if data.is_none() {
        result.iter().for_each(Staged::pack);
    }
    let data = data.as_ref().map_or(place.as_read(), |data| data.span(0).as_read());
    collective::reduce(team, Reduce { data, result: place, op, root }).await?;
    result.iter().for_each(Staged::unpack);
    Ok(())
}

async fn allreduce(team: Team<'_>, data: Option<&Elements>, result: &Elements, op: &dyn Reduction) -> Outcome {
    let staged = Staged::one(result);
    let (place, data) = (staged.span(0), data.map(packed));
    if data.is_none() {
        staged.pack();
    }
    let data = data.as_ref().map_or(place.as_read(), |data| data.span(0).as_read());
    collective::allreduce(team, Allreduce { data, result: place, op }).await?;
    staged.unpack();
    Ok(())
}

async fn scan(
    team: Team<'_>,
    data: Option<&Elements>,
    result: &Elements,
    op: &dyn Reduction,
    exclusive: bool,
) -> Outcome {
    let staged = Staged::one(result);
    if !exclusive {
        match data {
            Some(data) => put(team, data, staged.span(0))?,
            None => staged.pack(),
        }
        let (data, result) = (staged.span(0).as_read(), staged.span(0));
        collective::scan(team, Scan { data, result, op, exclusive }).await?;
        staged.unpack();
        return Ok(());
    }
    let own = data.unwrap_or(result);
    let run = own.read_span().filter(|run| run.len() == result.bytes());
    let mut packed = Scratch::new(team, if run.is_some() { 0 } else { result.bytes() });
    let packed = packed.span();
    if run.is_none() {
        put(team, own, packed)?;
    }
    let (data, result) = (run.unwrap_or(packed.as_read()), staged.span(0));
    collective::scan(team, Scan { data, result, op, exclusive }).await?;
    // Rank 0 has nobody before it: its buffer stays as it is.
    if team.rank > 0 {
        staged.unpack();
    }
    Ok(())
}

async fn exchange<'s>(
    team: Team<'_>,
    neighbourhood: &Neighbourhood,
    sent: impl Fn(usize) -> ReadSpan<'s>,
    received: &Blocks,
) -> Outcome {
    let Neighbourhood { sources, destinations, grid } = neighbourhood;
    let received = Staged::new(received, sources.len());
    collective::exchange_with_neighbours(team, sources, destinations, *grid, sent, |place| received.span(place))
        .await?;
    for place in (0..sources.len()).filter(|&place| sources[place].is_some()) {
        received.unpack_at(place);
    }
    Ok(())
}

/// On an intercommunicator.
async fn between(prepared: &Prepared, groups: Groups<'_>) -> Outcome {
    let op = prepared.operation.as_ref().map(|operation| operation as &dyn Reduction);
    let remote = groups.remote.size();
    match (&prepared.collective, op) {
        (Collective::Broadcast { data, root }, _) => {
            let staged = Staged::one(data);
            if *root == Root::Here {
                staged.pack();
            }
            collective::broadcast_between(groups, staged.span(0), *root).await?;
            if let Root::Rank(_) = root {
                staged.unpack();
            }
            Ok(())
        }
        (Collective::Gather { part, all, root, .. }, _) => {
            let part = part.as_ref().map(packed);
            let part = part.as_ref().map_or(ReadSpan::EMPTY, |part| part.span(0).as_read());
            let all = all.as_ref().map(|all| Staged::new(all, remote));
            let place = |rank| all.as_ref().map_or(WriteSpan::EMPTY, |all| all.span(rank));
            collective::gather_between(groups, part, place, *root).await?;
            all.iter().for_each(Staged::unpack);
            Ok(())
        }
        (Collective::Scatter { all, part, root, .. }, _) => {
            let part = part.as_ref().map(Staged::one);
            let span = part.as_ref().map_or(WriteSpan::EMPTY, |part| part.span(0));
            let all = all.as_ref().map(|all| Staged::new(all, remote));
            all.iter().for_each(Staged::pack);
            let place = |rank| all.as_ref().map_or(ReadSpan::EMPTY, |all| all.span(rank).as_read());
            collective::scatter_between(groups, place, span, *root).await?;
            part.iter().for_each(Staged::unpack);
            Ok(())
        }
        (Collective::Allgather { part: Some(part), all }, _) => {
            let (part, all) = (packed(part), Staged::new(all, remote));
            collective::alltoall_between(groups, |_| part.span(0).as_read(), |rank| all.span(rank)).await?;
            all.unpack();
            Ok(())
        }
        (Collective::Alltoall { sent: Some(sent), received }, _) => {
            let (sent, received) = (Staged::new(sent, remote), Staged::new(received, remote));
            sent.pack();
            let part = |rank| sent.span(rank).as_read();
            collective::alltoall_between(groups, part, |rank| received.span(rank)).await?;
            received.unpack();
            Ok(())
        }
        (Collective::Barrier, _) => collective::barrier_between(groups).await,
        (_, Some(op)) => {
            combine_between(prepared, groups, op).await?;
            op.failure().map_or(Ok(()), Err)
        }
        // A reduction to somebody else of the own group.
        _ => Ok(()),
    }
}

/// The reductions among them.
async fn combine_between(prepared: &Prepared, groups: Groups<'_>, op: &dyn Reduction) -> Outcome {
    match &prepared.collective {
        Collective::Reduce { data, result, root, .. } => {
            let (data, result) = (data.as_ref().map(packed), result.as_ref().map(Staged::one));
            let data = data.as_ref().map_or(ReadSpan::EMPTY, |data| data.span(0).as_read());
            let place = result.as_ref().map_or(WriteSpan::EMPTY, |result| result.span(0));
            collective::reduce_between(groups, data, place, op, *root).await?;
            if *root == Root::Here {
                result.iter().for_each(Staged::unpack);
            }
            Ok(())
        }
        Collective::Allreduce { data: Some(data), result, .. } => {
            let (data, result) = (packed(data), Staged::one(result));
            let (data, place) = (data.span(0).as_read(), result.span(0));
            collective::allreduce_between(groups, Allreduce { data, result: place, op }).await?;
            result.unpack();
            Ok(())
        }
        Collective::ReduceScatter { data, result, counts, .. } => {
            let parts = parts(counts, result);
            let (data, result) = (packed(data), Staged::one(result));
            let place: &dyn Fn(usize) -> (usize, usize) = &|rank| parts.place(rank);
            let reduced = ReduceScatter { data: data.span(0).as_read(), result: result.span(0), op, place };
            collective::reduce_scatter_between(groups, reduced).await?;
            result.unpack();
            Ok(())
        }
        _ => Ok(()),
    }
}

//! Collectives with a root, which leads its node.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::Nodes;
use crate::Outcome;
use crate::apart::apart;
use crate::gather::{directly_from_all, directly_to_all};
use crate::{Reduce, Reduction, Scratch, Team};

/// As [`crate::broadcast()`].
pub(crate) async fn broadcast(team: Team<'_>, nodes: &Nodes, data: WriteSpan<'_>, root: usize) -> Outcome {
    let leaders = nodes.led_by(team, Some(root));
    if let Some(between) = leaders.team(team) {
        apart(|| crate::broadcast(between, data, nodes.node_of[root])).await?;
    }
    if nodes.is_alone() { Ok(()) } else { apart(|| crate::broadcast(nodes.team(team), data, leaders.place)).await }
}

/// As [`crate::reduce()`].
pub(crate) async fn reduce(team: Team<'_>, nodes: &Nodes, reduce: Reduce<'_, &dyn Reduction>) -> Outcome {
    let Reduce { mut data, op, root, .. } = reduce;
    let leaders = nodes.led_by(team, Some(root));
    let within = Reduce { data, result: WriteSpan::EMPTY, op, root: leaders.place };
    let Some(between) = leaders.team(team) else {
        return apart(|| crate::reduce(nodes.team(team), within)).await;
    };
    let is_root = team.rank == root;
    let mut scratch = Scratch::new(team, if is_root || nodes.is_alone() { 0 } else { data.len() });
    let result = if is_root { reduce.result } else { WriteSpan::EMPTY };
    if !nodes.is_alone() {
        let combined = if is_root { result } else { scratch.span() };
        apart(|| crate::reduce(nodes.team(team), Reduce { result: combined, ..within })).await?;
        data = combined.as_read();
    }
    apart(|| crate::reduce(between, Reduce { data, result, op, root: nodes.node_of[root] })).await
}

/// As [`crate::gather()`] of even parts.
pub(crate) async fn gather<'s>(
    team: Team<'_>,
    nodes: &Nodes,
    part: Option<ReadSpan<'_>>,
    place: &dyn Fn(usize) -> WriteSpan<'s>,
    root: usize,
) -> Outcome {
    team.to_the_end(async |team| {
        let leaders = nodes.led_by(team, Some(root));
        let (node, of_root) = (nodes.team(team), nodes.node_of[root]);
        let Some(between) = leaders.team(team) else {
            return apart(|| directly_from_all(node, part, |_| WriteSpan::EMPTY, leaders.place)).await;
        };
        if team.rank != root {
            let part = part.unwrap_or(ReadSpan::EMPTY);
            let mut ours = Scratch::new(team, part.len() * node.size());
            let ours = ours.span();
            apart(|| {
                directly_from_all(node, Some(part), |member| ours.part(member * part.len(), part.len()), leaders.place)
            })
            .await?;
            return apart(|| directly_from_all(between, Some(ours.as_read()), |_| WriteSpan::EMPTY, of_root)).await;
        }
        let starts = nodes.divide(|rank| place(rank).len());
        let as_one = nodes.as_one(place);
        let mut scratch = Scratch::new(team, if as_one.is_some() { 0 } else { starts[team.size()] });
        let whole = as_one.unwrap_or_else(|| scratch.span());
        let of_node = |node: usize| {
            let (start, len) = nodes.block(&starts, node);
            whole.part(start, len)
        };
        apart(|| directly_from_all(between, None, of_node, of_root)).await?;
        let here = nodes.members(nodes.here);
        apart(|| directly_from_all(node, part, |member| place(here[member]), leaders.place)).await?;
        if as_one.is_none() {
            for (position, rank) in nodes.remote() {
                whole.part(starts[position], place(rank).len()).as_read().copy_to(place(rank));
            }
        }
        Ok(())
    })
    .await
}

/// As [`crate::scatter()`] of even parts.
pub(crate) async fn scatter<'s>(
    team: Team<'_>,
    nodes: &Nodes,
    place: &dyn Fn(usize) -> ReadSpan<'s>,
    part: Option<WriteSpan<'_>>,
    root: usize,
) -> Outcome {
    team.to_the_end(async |team| {
        let leaders = nodes.led_by(team, Some(root));
        let (node, of_root) = (nodes.team(team), nodes.node_of[root]);
        let Some(between) = leaders.team(team) else {
            return apart(|| directly_to_all(node, |_| ReadSpan::EMPTY, part, leaders.place)).await;
        };
        if team.rank != root {
            let part = part.unwrap_or(WriteSpan::EMPTY);
            let mut ours = Scratch::new(team, part.len() * node.size());
            let ours = ours.span();
            apart(|| directly_to_all(between, |_| ReadSpan::EMPTY, Some(ours), of_root)).await?;
            let of_member = |member: usize| ours.part(member * part.len(), part.len()).as_read();
            return apart(|| directly_to_all(node, of_member, Some(part), leaders.place)).await;
        }
        let starts = nodes.divide(|rank| place(rank).len());
        let as_one = nodes.read_as_one(place);
        let mut scratch = Scratch::new(team, if as_one.is_some() { 0 } else { starts[team.size()] });
        let whole = as_one.unwrap_or_else(|| {
            let whole = scratch.span();
            nodes
                .remote()
                .for_each(|(position, rank)| place(rank).copy_to(whole.part(starts[position], place(rank).len())));
            whole.as_read()
        });
        let of_node = |node: usize| {
            let (start, len) = nodes.block(&starts, node);
            whole.part(start, len)
        };
        apart(|| directly_to_all(between, of_node, None, of_root)).await?;
        let here = nodes.members(nodes.here);
        apart(|| directly_to_all(node, |member| place(here[member]), part, leaders.place)).await
    })
    .await
}

//! Collectives whose result everybody gets.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::Nodes;
use crate::Outcome;
use crate::apart::apart;
use crate::barrier::dissemination;
use crate::{Allreduce, Reduce, Reduction, Scratch, Team};

/// What goes through the ranks of a node in a barrier: that they have come.
struct Coming;

impl Reduction for Coming {
    fn append(&self, _: &mut [u8], _: &[u8]) {}

    fn prepend(&self, _: &[u8], _: &mut [u8]) {}

    fn element(&self) -> usize {
        1
    }
}

/// As [`crate::barrier()`].
pub(crate) async fn barrier(team: Team<'_>, nodes: &Nodes) -> Outcome {
    let leaders = nodes.led_by(team, None);
    let node = nodes.team(team);
    // One byte: whoever is in trouble sends none.
    let (mut own, mut all) = ([0u8], [0u8]);
    let (own, all) = (WriteSpan::from(&mut own[..]), WriteSpan::from(&mut all[..]));
    if !nodes.is_alone() {
        apart(|| crate::reduce(node, Reduce { data: own.as_read(), result: all, op: &Coming, root: leaders.place }))
            .await?;
    }
    if let Some(between) = leaders.team(team) {
        apart(|| dissemination(between)).await?;
    }
    if nodes.is_alone() { Ok(()) } else { apart(|| crate::broadcast(node, all, leaders.place)).await }
}

/// As [`crate::allreduce()`].
pub(crate) async fn allreduce(team: Team<'_>, nodes: &Nodes, allreduce: Allreduce<'_, &dyn Reduction>) -> Outcome {
    let Allreduce { mut data, result, op } = allreduce;
    let leaders = nodes.led_by(team, None);
    let (node, between) = (nodes.team(team), leaders.team(team));
    if !nodes.is_alone() {
        let combined = if between.is_some() { result } else { WriteSpan::EMPTY };
        apart(|| crate::reduce(node, Reduce { data, result: combined, op, root: leaders.place })).await?;
        data = combined.as_read();
    }
    if let Some(between) = between {
        apart(|| crate::allreduce(between, Allreduce { data, result, op })).await?;
    }
    if nodes.is_alone() { Ok(()) } else { apart(|| crate::broadcast(node, result, leaders.place)).await }
}

/// As [`crate::allgather()`].
pub(crate) async fn allgather<'s>(
    team: Team<'_>,
    nodes: &Nodes,
    own: ReadSpan<'_>,
    place: &dyn Fn(usize) -> WriteSpan<'s>,
) -> Outcome {
    team.to_the_end(async |team| {
        let leaders = nodes.led_by(team, None);
        let node = nodes.team(team);
        let starts = nodes.divide(|rank| place(rank).len());
        let as_one = nodes.as_one(place);
        let mut scratch = Scratch::new(team, if as_one.is_some() { 0 } else { starts[team.size()] });
        let whole = as_one.unwrap_or_else(|| scratch.span());
        let first = nodes.starts[nodes.here];
        let of_member = |member: usize| {
            let start = starts[first + member];
            whole.part(start, starts[first + member + 1] - start)
        };
        apart(|| crate::allgather(node, own, of_member)).await?;
        if let Some(between) = leaders.team(team) {
            let of_node = |node: usize| {
                let (start, len) = nodes.block(&starts, node);
                whole.part(start, len)
            };
            apart(|| crate::allgather(between, of_node(nodes.here).as_read(), of_node)).await?;
        }
        // The ranks of this node have each other's parts.
        let ours = nodes.block(&starts, nodes.here);
        let (before, after) = ((0, ours.0), (ours.0 + ours.1, whole.len() - ours.0 - ours.1));
        let remote = [(nodes.here > 0).then_some(before), (nodes.here + 1 < nodes.count()).then_some(after)];
        for (start, len) in remote.into_iter().flatten().filter(|_| !nodes.is_alone()) {
            apart(|| crate::broadcast(node, whole.part(start, len), leaders.place)).await?;
        }
        if as_one.is_none() {
            for (position, &rank) in nodes.order.iter().enumerate() {
                whole.part(starts[position], place(rank).len()).as_read().copy_to(place(rank));
            }
        }
        Ok(())
    })
    .await
}

//! Prefix reductions, and reductions of which each rank gets a part. They keep to rank order, so the ranks of each node
//! follow each other.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::Nodes;
use crate::Outcome;
use crate::apart::apart;
use crate::gather::directly_to_all;
use crate::reduce::combine;
use crate::scratch::prepend;
use crate::{Reduce, ReduceScatter, Reduction, Scan, Scratch, Team};

/// As [`crate::scan()`], in place; exclusive, if `before` is asked for. The last rank of each
/// node leads it: it knows what all of them give.
pub(crate) async fn scan(
    team: Team<'_>,
    nodes: &Nodes,
    data: WriteSpan<'_>,
    before: Option<WriteSpan<'_>>,
    op: &dyn Reduction,
) -> Outcome {
    let leaders = nodes.leaders(team, |node| nodes.members(node).len() - 1);
    let (node, given) = (nodes.team(team), data.as_read());
    match before {
        Some(before) => {
            apart(|| crate::scan(node, Scan { data: given, result: before, op, exclusive: true })).await?;
            if nodes.place > 0 {
                prepend(&team, op, before.as_read(), data);
            }
        }
        None => apart(|| crate::scan(node, Scan { data: given, result: data, op, exclusive: false })).await?,
    }
    let mut earlier = Scratch::new(team, data.len());
    let earlier = earlier.span();
    if let Some(between) = leaders.team(team) {
        apart(|| crate::scan(between, Scan { data: given, result: earlier, op, exclusive: true })).await?;
    }
    if nodes.here == 0 {
        return Ok(());
    }
    if !nodes.is_alone() {
        apart(|| crate::broadcast(node, earlier, leaders.place)).await?;
    }
    prepend(&team, op, earlier.as_read(), data);
    match before {
        Some(before) if nodes.place == 0 => earlier.as_read().copy_to(before),
        Some(before) => prepend(&team, op, earlier.as_read(), before),
        None => {}
    }
    Ok(())
}

/// As [`crate::reduce_scatter()`].
pub(crate) async fn reduce_scatter(
    team: Team<'_>,
    nodes: &Nodes,
    reduced: ReduceScatter<'_, &dyn Reduction, &dyn Fn(usize) -> (usize, usize)>,
) -> Outcome {
    let ReduceScatter { data, result, op, place } = reduced;
    let leaders = nodes.led_by(team, None);
    let node = nodes.team(team);
    let of_node = |node: usize| {
        let members = nodes.members(node);
        let ((start, _), (last, len)) = (place(members[0]), place(members[members.len() - 1]));
        (start, last + len - start)
    };
    let (start, len) = of_node(nodes.here);
    let Some(between) = leaders.team(team) else {
        apart(|| crate::reduce(node, Reduce { data, result: WriteSpan::EMPTY, op, root: leaders.place })).await?;
        return apart(|| directly_to_all(node, |_| ReadSpan::EMPTY, Some(result), leaders.place)).await;
    };
    let alone = nodes.is_alone();
    let (mut combined, mut ours) =
        (Scratch::new(team, if alone { 0 } else { data.len() }), Scratch::new(team, if alone { 0 } else { len }));
    let (combined, ours) = (combined.span(), if alone { result } else { ours.span() });
    let mut given = data;
    if !alone {
        apart(|| crate::reduce(node, Reduce { data, result: combined, op, root: leaders.place })).await?;
        given = combined.as_read();
    }
    let part = |node: usize| {
        let (start, len) = of_node(node);
        given.part(start, len)
    };
    apart(|| combine(between, part, ours, op)).await?;
    if alone {
        return Ok(());
    }
    let of_member = |member: usize| {
        let (begin, len) = place(nodes.members(nodes.here)[member]);
        ours.part(begin - start, len).as_read()
    };
    apart(|| directly_to_all(node, of_member, Some(result), leaders.place)).await
}

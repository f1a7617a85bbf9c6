//! All-to-all of short parts: each rank hands all its parts to its leader, the leaders exchange what their nodes have
//! for each other, and hand on to each rank what is for it.
//!
//! Long parts go directly: there the copies cost more than the messages they save. So that all go one way, everything
//! that is handed on begins with how long the parts are, and of long ones that is all.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::Nodes;
use crate::Outcome;
use crate::alltoall::send_to_all;
use crate::apart::apart;
use crate::engine::Failure;
use crate::gather::{directly_from_all, directly_to_all};
use crate::select::collective::by_leaders;
use crate::{Scratch, Team};

/// Bytes that say how long the parts are.
const HEAD: usize = size_of::<u64>();

/// As [`crate::alltoall()`] of even parts. Whether it has been done; otherwise the parts are equally long
/// on all ranks and to be sent directly, or this rank is in trouble.
pub(crate) async fn alltoall<'s, 'r>(
    team: Team<'_>,
    nodes: &Nodes,
    sent: &dyn Fn(usize) -> ReadSpan<'s>,
    received: &dyn Fn(usize) -> WriteSpan<'r>,
) -> Result<bool, Failure> {
    team.to_the_end(async |team| {
        let part = sent(team.rank).len();
        let is_short = by_leaders(team.process.tuning(), part, team.size(), nodes.count());
        let exchange = Exchange { team, nodes, part, carried: if is_short { part } else { 0 } };
        let mut row = Scratch::new(team, exchange.row());
        let row = row.span();
        exchange.begin(row);
        for (position, &rank) in nodes.order.iter().enumerate().filter(|_| is_short) {
            team.check_fits(sent(rank).len(), part)?;
            sent(rank).copy_to(exchange.part(row, position));
        }
        apart(|| exchange.exchange(row)).await?;
        if !is_short || team.is_in_trouble() {
            return Ok(false);
        }
        for (position, &rank) in nodes.order.iter().enumerate() {
            team.copy(exchange.part(row, position).as_read(), received(rank))?;
        }
        Ok(true)
    })
    .await
}

struct Exchange<'a> {
    team: Team<'a>,
    nodes: &'a Nodes,
    /// How long the parts are.
    part: usize,
    /// How much of each goes along.
    carried: usize,
}

impl Exchange<'_> {
    /// How long all parts of or for a rank are.
    fn row(&self) -> usize {
        HEAD + self.team.size() * self.carried
    }

    fn begin(&self, run: WriteSpan<'_>) {
        ReadSpan::from(bytemuck::bytes_of(&(self.part as u64))).copy_to(run.part(0, HEAD));
    }

    fn part<'s>(&self, run: WriteSpan<'s>, number: usize) -> WriteSpan<'s> {
        run.part(HEAD + number * self.carried, self.carried)
    }

    /// Whether the parts of `source`, a rank of `team`, are as long as those of this one.
    fn check(&self, team: Team<'_>, source: usize, run: WriteSpan<'_>) {
        let mut theirs = 0u64;
        run.part(0, HEAD).as_read().copy_to(WriteSpan::from(bytemuck::bytes_of_mut(&mut theirs)));
        if theirs != self.part as u64 && !team.is_in_trouble() {
            let (source, expected) = (team.peers[source], self.part as u64);
            team.note(Failure::WrongLength { source, bytes: theirs, expected });
        }
    }

    /// Gives away what `row` holds for each rank, node by node, and brings what each has for this one.
    async fn exchange(&self, row: WriteSpan<'_>) -> Outcome {
        let Exchange { team, nodes, .. } = *self;
        let leaders = nodes.led_by(team, None);
        let node = nodes.team(team);
        let (len, here) = (self.row(), node.size());
        let Some(between) = leaders.team(team) else {
            apart(|| directly_from_all(node, Some(row.as_read()), |_| WriteSpan::EMPTY, leaders.place)).await?;
            apart(|| directly_to_all(node, |_| ReadSpan::EMPTY, Some(row), leaders.place)).await?;
            self.check(node, leaders.place, row);
            return Ok(());
        };
        // A row for each member, as they give it and then as they get it.
        let mut rows = Scratch::new(team, here * len);
        let rows = rows.span();
        let row_of = |member: usize| rows.part(member * len, len);
        apart(|| directly_from_all(node, Some(row.as_read()), row_of, leaders.place)).await?;
        (0..here).for_each(|member| self.check(node, member, row_of(member)));

        // For each node, what goes from here to there, by giver and taker, and likewise what comes.
        let block_len = |node: usize| HEAD + here * nodes.members(node).len() * self.carried;
        let block_start = |node: usize| node * HEAD + here * nodes.starts[node] * self.carried;
        let blocks = block_start(nodes.count());
        let (mut going, mut coming) = (Scratch::new(team, blocks), Scratch::new(team, blocks));
        let (going, coming) = (going.span(), coming.span());
        let going_to = |node: usize| going.part(block_start(node), block_len(node));
        let coming_from = |node: usize| coming.part(block_start(node), block_len(node));
        for to in 0..nodes.count() {
            let (run, takers) = (going_to(to), nodes.members(to).len());
            self.begin(run);
            for member in 0..here {
                let parts = row_of(member).part(HEAD + nodes.starts[to] * self.carried, takers * self.carried);
                parts.as_read().copy_to(run.part(HEAD + member * takers * self.carried, parts.len()));
            }
        }
        apart(|| send_to_all(between, |node| going_to(node).as_read(), coming_from)).await?;
        for from in 0..nodes.count() {
            let run = coming_from(from);
            self.check(between, from, run);
            for (giver, member) in (0..nodes.members(from).len()).flat_map(|giver| (0..here).map(move |to| (giver, to)))
            {
                let part = self.part(run, giver * here + member).as_read();
                part.copy_to(self.part(row_of(member), nodes.starts[from] + giver));
            }
        }
        apart(|| directly_to_all(node, |member| row_of(member).as_read(), Some(row), leaders.place)).await
    }
}

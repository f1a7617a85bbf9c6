//! Collectives of ranks on several nodes: within each node by the memory that its ranks share, and between the nodes by
//! one rank of each, its *leader*. So whatever all ranks of a node are to have or have to give crosses the network
//! once, and the other ranks need no connection.
//!
//! Each is made of the collectives of two teams, the ranks of this node and the leaders, which are those of all other
//! communicators: each checks lengths and types among its own, and what goes wrong in one is known in the next. Where
//! it matters, the root leads its node.
//!
//! Reductions take the ranks node by node. That is rank order where the ranks of each node follow each other, as
//! launchers place them unless they are told otherwise; elsewhere only operations that commute go this way.
#![allow(unsafe_code)]

mod alltoall;
mod everybody;
mod rooted;
mod scans;

use std::cell::OnceCell;

use rwmpi_transport::{ReadSpan, WriteSpan};
use smallvec::SmallVec;

use crate::Reduction;
use crate::apart::apart;
use crate::engine::Failure;
use crate::process::Process;
use crate::slots::OnceSlots;
use crate::team::{Team, Trouble};
pub(crate) use alltoall::alltoall;
pub(crate) use everybody::{allgather, allreduce, barrier};
pub(crate) use rooted::{broadcast, gather, reduce, scatter};
pub(crate) use scans::{reduce_scatter, scan};

/// The nodes of a communicator, once they are known; `None` inside: it has one node only, or one rank on each.
pub type OnceNodes = OnceCell<Option<Box<Nodes>>>;

/// Which of a communicator's ranks are on which node. Nodes are numbered in the order of their first ranks, and so
/// everywhere alike.
pub struct Nodes {
    /// By rank.
    node_of: Box<[usize]>,
    /// The ranks, node by node, each node's ascending.
    order: Box<[usize]>,
    /// Where each node's ranks begin among them, and the end.
    starts: Box<[usize]>,
    /// This rank's node.
    here: usize,
    /// This rank's place on its node.
    place: usize,
    /// The ranks of this node, as peers.
    peers: Box<[u32]>,
    /// Those of this node.
    slots: OnceSlots,
}

/// One rank of each node, for one collective.
struct Leaders<'n> {
    nodes: &'n Nodes,
    peers: SmallVec<[u32; 16]>,
    /// The place on this node of its leader.
    place: usize,
}

impl<'a> Team<'a> {
    /// The nodes of its ranks, where collectives go by them. The same on all ranks.
    #[inline]
    pub(crate) fn nodes(self) -> Option<&'a Nodes> {
        self.nodes?.get_or_init(|| Nodes::of(self).map(Box::new)).as_deref()
    }

    /// The same for reductions with `op`.
    pub(crate) fn nodes_to_reduce(self, op: &dyn Reduction) -> Option<&'a Nodes> {
        self.nodes().filter(|nodes| nodes.are_consecutive() || op.commutes())
    }

    /// The same where only rank order will do.
    pub(crate) fn nodes_in_order(self) -> Option<&'a Nodes> {
        self.nodes().filter(|nodes| nodes.are_consecutive())
    }

    /// Does what takes several steps so that a rank with which something goes wrong goes on to the end: others wait for
    /// it.
    async fn to_the_end<R>(self, steps: impl AsyncFnOnce(Team<'_>) -> Result<R, Failure>) -> Result<R, Failure> {
        if self.trouble.is_some() {
            return apart(|| steps(self)).await;
        }
        let trouble = Trouble::default();
        let done = apart(|| steps(Team { trouble: Some(&trouble), spreads_trouble: true, ..self })).await?;
        trouble.outcome().map(|()| done)
    }
}

impl Nodes {
    fn of(team: Team<'_>) -> Option<Nodes> {
        let engine = team.process.engine();
        let machines: Vec<usize> = team.peers.iter().map(|&peer| engine.node_of(peer)).collect();
        drop(engine);
        Nodes::numbered(&machines, team.rank, team.peers)
    }

    /// The ranks of one node have one number in `machines`.
    fn numbered(machines: &[usize], rank: usize, peers: &[u32]) -> Option<Nodes> {
        let mut seen: Vec<usize> = Vec::new();
        let number = |&machine: &usize| {
            seen.iter().position(|&known| known == machine).unwrap_or_else(|| {
                seen.push(machine);
                seen.len() - 1
            })
        };
        let node_of: Box<[usize]> = machines.iter().map(number).collect();
        let count = seen.len();
        if count == 1 || count == machines.len() {
            return None;
        }
        let mut order: Box<[usize]> = (0..node_of.len()).collect();
        order.sort_by_key(|&rank| node_of[rank]);
        let starts: Box<[usize]> =
            (0..=count).map(|node| order.partition_point(|&rank| node_of[rank] < node)).collect();
        let here = node_of[rank];
        let members = &order[starts[here]..starts[here + 1]];
        let place = members.partition_point(|&member| member < rank);
        let peers = members.iter().map(|&member| peers[member]).collect();
        Some(Nodes { node_of, order, starts, here, place, peers, slots: OnceSlots::new() })
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The ranks of a node.
    fn members(&self, node: usize) -> &[usize] {
        &self.order[self.starts[node]..self.starts[node + 1]]
    }

    /// Whether the ranks of each node follow each other.
    fn are_consecutive(&self) -> bool {
        self.order.is_sorted()
    }

    /// The ranks of this node, for a part of what `team` does.
    fn team<'a>(&'a self, team: Team<'a>) -> Team<'a> {
        let slots = team.slots.map(|_| &self.slots);
        Team { peers: &self.peers, rank: self.place, slots, nodes: None, ..team }
    }

    /// Whether this rank has its node for itself.
    fn is_alone(&self) -> bool {
        self.peers.len() == 1
    }

    /// The first rank of each node, but `root` on its own.
    fn led_by(&self, team: Team<'_>, root: Option<usize>) -> Leaders<'_> {
        let of_root = root.map(|root| self.node_of[root]);
        self.leaders(team, |node| match root {
            Some(root) if of_root == Some(node) => self.members(node).partition_point(|&member| member < root),
            _ => 0,
        })
    }

    /// The rank at that place of each node.
    fn leaders(&self, team: Team<'_>, place: impl Fn(usize) -> usize) -> Leaders<'_> {
        let peers = (0..self.count()).map(|node| team.peers[self.members(node)[place(node)]]).collect();
        Leaders { nodes: self, peers, place: place(self.here) }
    }

    /// How memory is divided between all ranks, node by node: where the part of each begins, and the end.
    fn divide(&self, len: impl Fn(usize) -> usize) -> Vec<usize> {
        let mut end = 0;
        let ends = self.order.iter().map(|&rank| {
            end += len(rank);
            end
        });
        std::iter::once(0).chain(ends).collect()
    }

    /// Where the part of a node begins in memory divided so, and how long it is.
    fn block(&self, starts: &[usize], node: usize) -> (usize, usize) {
        let start = starts[self.starts[node]];
        (start, starts[self.starts[node + 1]] - start)
    }

    /// All places as one, if they follow each other node by node.
    fn as_one<'s>(&self, place: &dyn Fn(usize) -> WriteSpan<'s>) -> Option<WriteSpan<'s>> {
        // SAFETY: the places of a collective that goes by nodes lie in one buffer of the program's, or in memory of the
        // library's that no buffer borders on.
        unsafe { WriteSpan::joined(self.order.iter().map(|&rank| place(rank))) }
    }

    /// The same of places to be read.
    fn read_as_one<'s>(&self, place: &dyn Fn(usize) -> ReadSpan<'s>) -> Option<ReadSpan<'s>> {
        // SAFETY: as in `as_one`.
        unsafe { ReadSpan::joined(self.order.iter().map(|&rank| place(rank))) }
    }

    /// The ranks of other nodes, with their places in the order of all.
    fn remote(&self) -> impl Iterator<Item = (usize, usize)> {
        let is_remote = |&(_, rank): &(usize, usize)| self.node_of[rank] != self.here;
        self.order.iter().copied().enumerate().filter(is_remote)
    }

    /// Leaves the slots of this node.
    pub fn retire(self, process: &Process) {
        if let Some(slots) = self.slots.into_inner().flatten() {
            slots.retire(process);
        }
    }
}

impl Leaders<'_> {
    /// The leaders, for a part of what `team` does, if this rank is one.
    fn team<'a>(&'a self, team: Team<'a>) -> Option<Team<'a>> {
        let leads = self.place == self.nodes.place;
        leads.then_some(Team { peers: &self.peers, rank: self.nodes.here, slots: None, nodes: None, ..team })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(machines: &[usize], rank: usize) -> Option<Nodes> {
        let peers: Vec<u32> = (0..machines.len() as u32).map(|rank| 100 + rank).collect();
        Nodes::numbered(machines, rank, &peers)
    }

    #[test]
    fn nodes_are_numbered_by_their_first_ranks() {
        let nodes = nodes(&[7, 3, 7, 3, 5], 3).unwrap();
        assert_eq!(*nodes.node_of, [0, 1, 0, 1, 2]);
        assert_eq!((*nodes.order == [0, 2, 1, 3, 4], *nodes.starts == [0, 2, 4, 5]), (true, true));
        assert_eq!((nodes.here, nodes.place, &*nodes.peers), (1, 1, &[101, 103][..]));
        assert!(!nodes.are_consecutive() && !nodes.is_alone());
        assert_eq!(nodes.divide(|rank| rank), [0, 0, 2, 3, 6, 10]);
    }

    #[test]
    fn one_node_or_one_rank_on_each_is_nothing_to_go_by() {
        assert!(nodes(&[4, 4, 4], 1).is_none() && nodes(&[2, 1, 0], 1).is_none());
        assert!(nodes(&[1, 1, 0], 2).unwrap().is_alone());
    }
}

//! The fabric of a job on several nodes: shared memory between peers of a node, TCP between nodes, chosen for each
//! pair.
//!
//! Peers that share a node's file may be told to use TCP all the same; the file then serves only whoever watches the
//! job.
//!
//! Peers have one numbering in the whole job; the node's fabric has its own, from 0, and only this file translates. A
//! peer that waits must hear both of its fabrics: it sleeps where the sockets are, and those of its node who have
//! something for it ring it there, through a connection that says nothing.

mod fabric;

use std::sync::Arc;
use std::time::Duration;

use crate::control::Presence;
use crate::doorbell::SocketDoorbell;
use crate::layout::QUEUES;
use crate::progress_thread::SleepState;
use crate::sleep;
use crate::{Doorbell, ElementLock, Fabric, Network, NodeFabric, RemoteAddress, TcpFabric};

/// A look at the sockets is a system call, so there is one in so many looks at memory only.
const LOOKS_PER_CALL: u32 = 16;

/// One peer's end of both.
pub struct ClusterFabric<N: Network = TcpFabric> {
    node: NodeFabric,
    network: N,
    /// Of each peer, the number of the group that shares memory.
    nodes: Vec<usize>,
    /// For each peer that this one shares memory with, its number on this node.
    on_node: Vec<Option<usize>>,
    /// For each peer of this node its number in the job.
    in_job: Vec<usize>,
    /// Shares memory with nobody: then all there is to wait for are the sockets.
    alone: bool,
    looks: u32,
    /// Which of the two had its turn first last time, for each queue.
    network_first: [bool; QUEUES],
}

impl<N: Network> ClusterFabric<N> {
    /// Joins the fabric of this node with that between the nodes; `in_job` says for each peer of the node which number
    /// it has in the whole job, `nodes` for each peer of the job which group it belongs to: those of one group share
    /// memory. All peers are told the same.
    ///
    /// # Panics
    /// If the two fabrics do not belong to the same peer, `nodes` does not name each peer's group, or `in_job` does not
    /// name each peer of the node once.
    pub fn new(node: NodeFabric, mut network: N, in_job: Vec<usize>, nodes: Vec<usize>) -> Self {
        assert_eq!(nodes.len(), network.peers(), "every peer belongs to a group");
        let mut on_node = vec![None; network.peers()];
        for (number, &peer) in in_job.iter().enumerate() {
            assert!(on_node[peer].replace(number).is_none(), "peer {peer} is named twice");
        }
        assert!(in_job.len() == node.peers() && in_job[node.me()] == network.me(), "fabrics of different peers");
        for (peer, number) in on_node.iter_mut().enumerate() {
            *number = number.filter(|_| nodes[peer] == nodes[network.me()]);
            if number.is_some() {
                network.only_ring(peer);
            }
        }
        let alone = on_node.iter().flatten().count() == 1;
        ClusterFabric { node, network, nodes, on_node, in_job, alone, looks: 0, network_first: [false; QUEUES] }
    }

    /// The part within the node: its shared heap, its launcher.
    pub fn node(&self) -> &NodeFabric {
        &self.node
    }

    /// What wakes this peer from any thread.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn doorbell(&mut self) -> std::io::Result<Doorbell> {
        let sockets = SocketDoorbell { descriptor: self.network.doorbell()?, always: self.alone };
        Ok(self.node.doorbell_with(Some(sockets)))
    }

    /// As [`NodeFabric::employ`].
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn employ(&mut self) -> std::io::Result<Arc<SleepState>> {
        self.node.employ_with(Some(self.network.readiness()?))
    }

    /// As [`NodeFabric::arm_doorbell`].
    pub fn arm_doorbell(&mut self, heeds_requests: bool) -> bool {
        self.network.is_settled() && self.node.arm_doorbell_for(heeds_requests, sleep::RING)
    }

    /// Ends the job: the peers of this node and those that this one is connected with learn of it by
    /// [`crate::Signal::Abort`], and the node's launcher by the record, which is there before anybody on another node
    /// can end because of it.
    pub fn abort(&mut self, code: i32, text: &str) {
        self.node.abort(code, text);
        self.network.abort();
    }

    /// Ends in good order, as [`Network::finish`] does.
    pub fn finish(&mut self) {
        self.network.finish();
        self.node.finish();
    }

    /// Ends without the others: what was pushed or written reaches them, as far as they take it within that time.
    pub fn leave(&mut self, longest: Duration) {
        self.depart(Presence::Left);
        self.network.leave(longest);
    }

    /// As [`NodeFabric::depart`].
    pub fn depart(&mut self, presence: Presence) {
        self.node.depart(presence);
        self.network.depart(presence);
        self.ring();
    }

    /// As [`NodeFabric::element_lock`]; `None` of a peer elsewhere.
    pub fn element_lock(&self, peer: usize, address: &RemoteAddress) -> Option<ElementLock> {
        Some(self.node.element_lock(self.on_node[peer]?, address))
    }

    /// As [`NodeFabric::presence`]; of a peer elsewhere, what it has said so far.
    pub fn presence(&self, peer: usize) -> Presence {
        self.on_node[peer].map_or_else(|| self.network.presence(peer), |number| self.node.presence(number))
    }

    /// As [`NodeFabric::has_anybody_gone`], as far as it is known.
    pub fn has_anybody_gone(&self) -> bool {
        self.node.has_anybody_gone() || self.network.has_anybody_gone()
    }

    /// Whether the process of `peer` is no more, as far as can be seen at once; of a peer elsewhere, whether the
    /// connection with it is broken.
    pub fn is_gone(&self, peer: usize) -> bool {
        self.on_node[peer].map_or_else(|| self.network.has_lost(peer), |number| self.node.job().is_gone(number))
    }

    /// The first half of [`ClusterFabric::finish`], which does not wait: whoever finishes several fabrics says in all
    /// of them that it does before it waits in one.
    pub fn begin_to_finish(&mut self) {
        self.network.begin_to_finish();
    }

    /// Has a peer elsewhere that has never said anything say how it stands with it.
    pub fn ask(&mut self, peer: usize) {
        if self.on_node[peer].is_none() {
            self.network.ask(peer);
        }
    }

    /// Rings those of this node who have to be rung after what was just done.
    #[inline]
    fn ring(&mut self) {
        while let Some(peer) = self.node.next_to_ring() {
            self.network.ring(self.in_job[peer]);
        }
    }

    /// Looks at the sockets now and then.
    #[inline]
    fn look_at_network(&mut self) {
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(LOOKS_PER_CALL) {
            self.network.look_around();
        }
    }

    fn number_on_node(&self, peer: usize) -> usize {
        self.on_node[peer].expect("claim words are used among those that share memory")
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::{JobSecret, Queue, Queues};

    /// Two peers of one node.
    fn neighbours() -> [ClusterFabric; 2] {
        let endpoints = [(); 2].map(|()| TcpFabric::bind(IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap());
        let addresses: Vec<_> = endpoints.iter().map(|endpoint| vec![endpoint.address()]).collect();
        let secret = JobSecret::random().unwrap();
        let mut nodes = NodeFabric::threads(2).unwrap().into_iter();
        let mut me = 0..2;
        endpoints.map(|endpoint| {
            let network = endpoint.connect(me.next().unwrap(), addresses.clone(), secret.clone()).unwrap();
            ClusterFabric::new(nodes.next().unwrap(), network, vec![0, 1], vec![0, 0])
        })
    }

    #[test]
    fn who_has_finished_before_it_could_be_rung_has_nothing_to_say() {
        let [mut a, mut b] = neighbours();
        b.finish();
        a.network.ring(1);
        while !a.network.has_lost(1) {
            a.network.sleep();
        }
        for queue in [Queue::Messages, Queue::Requests] {
            assert_eq!((a.ready(queue), a.ready(queue)), (None, None));
        }
    }
}

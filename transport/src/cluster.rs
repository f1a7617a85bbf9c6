//! The fabric of a job on several nodes: shared memory between peers of a node, TCP between nodes, chosen for each
//! pair.
//!
//! Peers that share a node's file may be told to use TCP all the same; the file then serves only whoever watches the
//! job.
//!
//! Peers have one numbering in the whole job; the node's fabric has its own, from 0, and only this file translates. A
//! peer that waits must hear both of its fabrics: it sleeps where the sockets are, and those of its node who have
//! something for it ring it there, through a connection that says nothing.

use std::sync::Arc;
use std::time::Duration;

use crate::control::Presence;
use crate::doorbell::SocketDoorbell;
use crate::layout::QUEUES;
use crate::progress_thread::SleepState;
use crate::sleep;
use crate::{
    Arrival, Backoff, Doorbell, ElementLock, Enqueue, Fabric, Header, LentSpan, NodeFabric, Notice, Passable,
    PeerFault, PushError, Queue, ReadSpan, Reading, RemoteAddress, RemoteError, SharedPart, SharedWord, Signal,
    SignalSet, TcpFabric, Way, WriteSpan, Written,
};

/// A look at the sockets is a system call, so there is one in so many looks at memory only.
const LOOKS_PER_CALL: u32 = 16;

/// One peer's end of both.
pub struct ClusterFabric {
    node: NodeFabric,
    network: TcpFabric,
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

impl ClusterFabric {
    /// Joins the fabric of this node with that between the nodes; `in_job` says for each peer of the node which number
    /// it has in the whole job, `nodes` for each peer of the job which group it belongs to: those of one group share
    /// memory. All peers are told the same.
    ///
    /// # Panics
    /// If the two fabrics do not belong to the same peer, `nodes` does not name each peer's group, or `in_job` does not
    /// name each peer of the node once.
    pub fn new(node: NodeFabric, mut network: TcpFabric, in_job: Vec<usize>, nodes: Vec<usize>) -> ClusterFabric {
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
        network.publish_turned_away(node.turned_away_record());
        let alone = on_node.iter().flatten().count() == 1;
        ClusterFabric { node, network, nodes, on_node, in_job, alone, looks: 0, network_first: [false; QUEUES] }
    }

    /// The part within the node: its shared heap, its launcher.
    pub fn node(&self) -> &NodeFabric {
        &self.node
    }

    /// The part between nodes.
    pub fn network(&self) -> &TcpFabric {
        &self.network
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

    /// Ends the job: the peers of this node and those that this one is connected with learn of it by [`Signal::Abort`],
    /// and the node's launcher by the record, which is there before anybody on another node can end because of it.
    pub fn abort(&mut self, code: i32, text: &str) {
        self.node.abort(code, text);
        self.network.abort();
    }

    /// Ends in good order, as [`TcpFabric::finish`] does.
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

impl Fabric for ClusterFabric {
    #[inline]
    fn me(&self) -> usize {
        self.network.me()
    }

    #[inline]
    fn peers(&self) -> usize {
        self.on_node.len()
    }

    #[inline]
    fn max_payload(&self, to: usize) -> usize {
        match self.on_node[to] {
            Some(number) => self.node.max_payload(number),
            None => self.network.max_payload(to),
        }
    }

    #[inline]
    fn try_push(
        &mut self,
        to: usize,
        queue: Queue,
        enqueue: Enqueue,
        header: Header,
        payload: ReadSpan,
    ) -> Result<(), PushError> {
        let Some(number) = self.on_node[to] else {
            return self.network.try_push(to, queue, enqueue, header, payload);
        };
        let pushed = self.node.try_push(number, queue, enqueue, header, payload);
        self.ring();
        pushed.map_err(|error| match error {
            PushError::Full => PushError::Full,
            PushError::NoMemory { .. } => PushError::NoMemory { peer: to },
            PushError::PeerLost { .. } => PushError::PeerLost { peer: to },
        })
    }

    #[inline]
    fn front(&mut self, from: usize, queue: Queue) -> Result<Option<Arrival>, PeerFault> {
        match self.on_node[from] {
            Some(number) => self.node.front(number, queue).map_err(|fault| PeerFault { peer: from, ..fault }),
            None => self.network.front(from, queue),
        }
    }

    #[inline]
    fn read(&mut self, from: usize, queue: Queue, arrival: &Arrival, offset: usize, into: WriteSpan) {
        match self.on_node[from] {
            Some(number) => self.node.read(number, queue, arrival, offset, into),
            None => self.network.read(from, queue, arrival, offset, into),
        }
    }

    #[inline]
    fn pop(&mut self, from: usize, queue: Queue) {
        match self.on_node[from] {
            Some(number) => {
                self.node.pop(number, queue);
                self.ring();
            }
            None => self.network.pop(from, queue),
        }
    }

    #[inline]
    fn coming(&mut self, from: usize) -> Option<Arrival> {
        if self.on_node[from].is_some() { None } else { self.network.coming(from) }
    }

    fn place_directly(&mut self, from: usize, address: &RemoteAddress, note: Header) {
        self.network.place_directly(from, address, note);
    }

    fn passable(&self, to: usize) -> Passable {
        self.on_node[to].map_or_else(Passable::default, |number| self.node.passable(number))
    }

    fn passable_from(&self, from: usize) -> Passable {
        self.on_node[from].map_or_else(Passable::default, |number| self.node.passable_from(number))
    }

    #[inline]
    fn expect_more(&self, from: usize, cells: usize) {
        if let Some(number) = self.on_node[from] {
            self.node.expect_more(number, cells);
        }
    }

    #[inline]
    fn ready(&mut self, queue: Queue) -> Option<usize> {
        if self.alone {
            // All but what this peer pushes to itself.
            let (me, number) = (self.me(), self.node.me());
            let own = self.node.front(number, queue);
            return if matches!(own, Ok(None)) { self.network.ready(queue) } else { Some(me) };
        }
        self.look_at_network();
        let first = &mut self.network_first[queue as usize];
        *first = !*first;
        if *first && let Some(peer) = self.network.next_waiting(queue as usize) {
            return Some(peer);
        }
        match self.node.ready(queue) {
            Some(number) => Some(self.in_job[number]),
            None => self.network.next_waiting(queue as usize),
        }
    }

    #[inline]
    fn popped(&self, from: usize) -> u64 {
        self.on_node[from].map_or_else(|| self.network.popped(from), |number| self.node.popped(number))
    }

    #[inline]
    fn pushed(&self, to: usize) -> u64 {
        self.on_node[to].map_or_else(|| self.network.pushed(to), |number| self.node.pushed(number))
    }

    #[inline]
    fn accepted(&mut self, to: usize) -> Option<u64> {
        match self.on_node[to] {
            Some(number) => self.node.accepted(number),
            None => self.network.accepted(to),
        }
    }

    fn address_of(&self, span: ReadSpan) -> RemoteAddress {
        self.node.address_of(span)
    }

    fn forget_lent(&mut self) {
        self.node.forget_lent();
    }

    fn hand_out(&mut self, peer: usize, span: WriteSpan<'static>) -> RemoteAddress {
        match self.on_node[peer] {
            Some(number) => self.node.hand_out(number, span),
            None => self.network.hand_out(peer, span),
        }
    }

    fn withdraw(&mut self, peer: usize, address: &RemoteAddress) -> bool {
        match self.on_node[peer] {
            Some(number) => self.node.withdraw(number, address),
            None => self.network.withdraw(peer, address),
        }
    }

    fn way_from(&self, peer: usize, address: &RemoteAddress) -> Option<Way> {
        match self.on_node[peer] {
            Some(number) => self.node.way_from(number, address),
            None => self.network.way_from(peer, address),
        }
    }

    fn remote_write(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        from: ReadSpan,
        notice: Option<Notice>,
    ) -> Result<Written, RemoteError> {
        match self.on_node[peer] {
            Some(number) => self.node.remote_write(number, address, offset, from, notice),
            None => self.network.remote_write(peer, address, offset, from, notice),
        }
    }

    fn remote_read(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        into: WriteSpan,
        reading: Reading,
    ) -> Result<Way, RemoteError> {
        match self.on_node[peer] {
            Some(number) => self.node.remote_read(number, address, offset, into, reading),
            None => self.network.remote_read(peer, address, offset, into, reading),
        }
    }

    fn shared_part(&self, peer: usize, address: &RemoteAddress) -> Option<SharedPart> {
        self.node.shared_part(self.on_node[peer]?, address)
    }

    #[inline]
    fn shared_span(&self, part: SharedPart) -> LentSpan<'_> {
        self.node.shared_span(part)
    }

    #[inline]
    fn write_shared(&mut self, part: SharedPart, from: ReadSpan, far: bool) {
        self.node.write_shared(part, from, far);
    }

    #[inline]
    fn word(&self, word: SharedWord) -> u64 {
        self.node.word(word)
    }

    #[inline]
    fn set_word(&mut self, word: SharedWord, value: u64) {
        self.node.set_word(word, value);
    }

    #[inline]
    fn fetch_part(&self, part: SharedPart) {
        self.node.fetch_part(part);
    }

    #[inline]
    fn fetch_word(&self, word: SharedWord, to_write: bool) {
        self.node.fetch_word(word, to_write);
    }

    fn add_to_word(&mut self, word: SharedWord, amount: u64) -> u64 {
        self.node.add_to_word(word, amount)
    }

    #[inline]
    fn wake(&mut self, peer: usize) {
        if let Some(number) = self.on_node[peer] {
            self.node.wake(number);
            self.ring();
        }
    }

    fn watch(&mut self, word: SharedWord, value: u64) {
        self.node.watch(word, value);
    }

    fn direct(&self, peer: usize, address: &RemoteAddress) -> Option<WriteSpan<'static>> {
        self.node.direct(self.on_node[peer]?, address)
    }

    fn element_lock(&self, peer: usize, address: &RemoteAddress) -> Option<ElementLock> {
        self.node.element_lock(self.on_node[peer]?, address)
    }

    fn processors(&self) -> usize {
        self.node.processors()
    }

    fn is_oversubscribed(&self) -> bool {
        self.node.is_oversubscribed()
    }

    fn shares_processor(&self, peer: usize) -> bool {
        self.on_node[peer].is_some_and(|number| self.node.shares_processor(number))
    }

    fn give_way(&mut self) {
        self.node.give_way();
    }

    fn miss_room(&mut self) {
        self.node.miss_room();
    }

    /// For those that this peer shares memory with; none if there are none.
    fn claim_words(&self) -> usize {
        if self.alone { 0 } else { self.node.claim_words() }
    }

    fn node_of(&self, peer: usize) -> usize {
        self.nodes[peer]
    }

    #[inline]
    fn shares_memory_with(&self, peer: usize) -> bool {
        self.on_node[peer].is_some()
    }

    fn set_claim(&mut self, index: usize, value: u64) {
        self.node.set_claim(index, value);
    }

    fn swap_claim(&mut self, peer: usize, index: usize, expected: u64, new: u64) -> Result<(), u64> {
        self.node.swap_claim(self.number_on_node(peer), index, expected, new)
    }

    fn add_to_claim(&mut self, peer: usize, index: usize, amount: u64) -> u64 {
        self.node.add_to_claim(self.number_on_node(peer), index, amount)
    }

    fn end_job(&mut self, code: i32, reason: &str) -> ! {
        self.network.abort();
        self.node.end_job(code, reason)
    }

    fn signal(&mut self, peer: usize, signal: Signal) {
        match self.on_node[peer] {
            Some(number) => {
                self.node.signal(number, signal);
                self.ring();
            }
            None => self.network.signal(peer, signal),
        }
    }

    fn carried(&self) -> [u64; 2] {
        self.network.carried()
    }

    #[inline]
    fn take_signals(&mut self) -> SignalSet {
        SignalSet(self.node.take_signals().0 | self.network.take_signals().0)
    }

    #[inline]
    fn patience(&self) -> u32 {
        if self.alone { self.network.patience() } else { self.node.patience() }
    }

    fn idle(&mut self, backoff: &mut Backoff) {
        if self.alone {
            if self.network.pass_round(backoff) {
                // Whoever watches the job, and signals, is heard by the safety net.
                self.node.sleeps_elsewhere();
                self.network.sleep();
                self.node.has_slept();
            }
            return;
        }
        self.look_at_network();
        if self.network.take_news() {
            // The caller may want to see it.
            return backoff.reset();
        }
        if backoff.rounds >= self.node.patience() {
            self.network.pay_debts();
        }
        if self.node.pass_round(backoff) && self.node.goes_to_sleep(backoff) {
            self.network.sleep();
            self.node.has_slept();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::JobSecret;

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

//! The contract of a fabric, for peers of several nodes: each method asks the fabric that leads to the peer.
#![forbid(unsafe_code)]

use super::ClusterFabric;
use crate::{
    Arrival, Backoff, Enqueue, Fabric, Header, LentSpan, Network, Notice, Passable, PeerFault, PushError, Queue,
    Queues, ReadSpan, Reading, RemoteAddress, RemoteError, RemoteMemory, SharedMemory, SharedPart, SharedWord, Signal,
    SignalSet, Waiting, Way, WriteSpan, Written,
};

impl<N: Network> Fabric for ClusterFabric<N> {
    #[inline]
    fn me(&self) -> usize {
        self.network.me()
    }

    #[inline]
    fn peers(&self) -> usize {
        self.on_node.len()
    }

    fn node_of(&self, peer: usize) -> usize {
        self.nodes[peer]
    }

    fn carried(&self) -> [u64; 2] {
        self.network.carried()
    }

    fn end_job(&mut self, code: i32, reason: &str) -> ! {
        self.network.abort();
        self.node.end_job(code, reason)
    }
}

impl<N: Network> Queues for ClusterFabric<N> {
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
        if *first && let Some(peer) = self.network.next_waiting(queue) {
            return Some(peer);
        }
        match self.node.ready(queue) {
            Some(number) => Some(self.in_job[number]),
            None => self.network.next_waiting(queue),
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
}

impl<N: Network> RemoteMemory for ClusterFabric<N> {
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

    fn direct(&self, peer: usize, address: &RemoteAddress) -> Option<WriteSpan<'static>> {
        self.node.direct(self.on_node[peer]?, address)
    }
}

impl<N: Network> SharedMemory for ClusterFabric<N> {
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

    fn watch(&mut self, word: SharedWord, value: u64) {
        self.node.watch(word, value);
    }

    /// For those that this peer shares memory with; none if there are none.
    fn claim_words(&self) -> usize {
        if self.alone { 0 } else { self.node.claim_words() }
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
}

impl<N: Network> Waiting for ClusterFabric<N> {
    #[inline]
    fn wake(&mut self, peer: usize) {
        if let Some(number) = self.on_node[peer] {
            self.node.wake(number);
            self.ring();
        }
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

    fn signal(&mut self, peer: usize, signal: Signal) {
        match self.on_node[peer] {
            Some(number) => {
                self.node.signal(number, signal);
                self.ring();
            }
            None => self.network.signal(peer, signal),
        }
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

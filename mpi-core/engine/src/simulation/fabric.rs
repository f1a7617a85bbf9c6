//! The transport of a simulated rank. In the middle of every operation another rank may get its turn.

use std::cell::RefCell;
use std::rc::Rc;

use corosensei::Yielder;
use rwmpi_transport::{
    Arrival, Backoff, Enqueue, Fabric, Header, Notice, Passable, PeerFault, PushError, Queue, Queues, ReadSpan,
    Reading, RemoteAddress, RemoteError, RemoteMemory, SharedMemory, Signal, SignalSet, WORDS_PER_LINE, Waiting, Way,
    WriteSpan, Written,
};

use super::super::wire;
use super::memory::{Use, bytes};
use super::network::{Accident, Network, Sabotage};

/// Gives other ranks their turn.
pub(super) type Turn = Yielder<(), ()>;

pub(super) struct SimFabric<'run> {
    me: usize,
    network: Rc<RefCell<Network>>,
    turn: &'run Turn,
    /// Where the round robin over peers stands, by queue.
    next: [usize; 2],
}

impl<'run> SimFabric<'run> {
    pub(super) fn new(me: usize, network: Rc<RefCell<Network>>, turn: &'run Turn) -> Self {
        SimFabric { me, network, turn, next: [0; 2] }
    }

    /// A step of time passes, and perhaps a turn of others.
    fn step(&self) {
        let switch = {
            let mut network = self.network.borrow_mut();
            network.now += 1;
            let percent = network.conditions.switch_percent;
            network.chance(percent)
        };
        if switch {
            self.turn.suspend(());
        }
    }

    fn is(&self, accident: Accident) -> bool {
        self.network.borrow().accident() == Some(accident)
    }

    /// Checks a copy between memory of `peer` and this rank; the peer's end of it.
    fn reach(
        &self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        len: usize,
        wanted: Use,
    ) -> Result<(Way, WriteSpan<'static>), RemoteError> {
        self.step();
        let mut network = self.network.borrow_mut();
        if offset.checked_add(len as u64).is_none_or(|end| end > address.len) {
            return Err(RemoteError::Refused);
        }
        let way = network.way(peer, self.me, address.space).ok_or(RemoteError::NoWay)?;
        if network.dead[peer] {
            return Err(RemoteError::PeerLost);
        }
        match network.memory.at(address, offset, len) {
            Ok((_, lent)) if lent == wanted && network.accident() == Some(Accident::CopiesFail) => {
                Err(RemoteError::NoWay)
            }
            Ok((span, lent)) if lent == wanted => Ok((way, span)),
            _ if network.is_hostile() => Err(RemoteError::Refused),
            Ok(_) => {
                network.violated(format!("rank {} touches a buffer of rank {peer} the wrong way", self.me));
                Err(RemoteError::Refused)
            }
            Err(what) => {
                network.violated(format!("rank {} touches, at rank {peer}, {what}", self.me));
                Err(RemoteError::Refused)
            }
        }
    }

    /// Checks a write through a connection; where it goes.
    fn reach_by_name(
        &self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        len: usize,
    ) -> Result<WriteSpan<'static>, RemoteError> {
        self.step();
        let mut network = self.network.borrow_mut();
        if network.dead[peer] {
            return Err(RemoteError::PeerLost);
        }
        if network.accident() == Some(Accident::CopiesFail) {
            return Err(RemoteError::NoWay);
        }
        match network.named(peer, self.me, address.space) {
            Some(span) if offset as usize + len <= span.len() => {
                let into = span.part(offset as usize, len);
                if !network.memory.writable(into) {
                    network.violated(format!("rank {peer} left memory handed out that it has given back"));
                }
                Ok(into)
            }
            _ if network.conditions.accident.is_some() => Err(RemoteError::PeerLost),
            _ => {
                network.violated(format!("rank {} writes to memory that rank {peer} has not handed out", self.me));
                Err(RemoteError::Refused)
            }
        }
    }

    fn is_over_network(&self) -> bool {
        self.network.borrow().conditions.over_network
    }

    /// Copies in two halves, between which others may get their turn.
    fn copy(&self, from: ReadSpan<'_>, into: WriteSpan<'_>) {
        let half = from.len() / 2;
        from.part(0, half).copy_to(into);
        self.step();
        let rest = from.len() - half;
        from.part(half, rest).copy_to(into.part(half, rest));
    }
}

impl Fabric for SimFabric<'_> {
    fn me(&self) -> usize {
        self.me
    }

    fn peers(&self) -> usize {
        self.network.borrow().conditions.ranks
    }

    fn end_job(&mut self, _code: i32, _reason: &str) -> ! {
        self.network.borrow_mut().ended[self.me] = true;
        loop {
            self.turn.suspend(());
        }
    }
}

impl Queues for SimFabric<'_> {
    fn max_payload(&self, _: usize) -> usize {
        self.network.borrow().conditions.max_payload
    }

    /// Anything: what two peers know of each other need not be the same.
    fn passable(&self, _: usize) -> Passable {
        let mut network = self.network.borrow_mut();
        if network.conditions.over_network {
            return Passable::default();
        }
        let most = 32 << 10;
        Passable { now: network.below(3) * most / 2, most }
    }

    fn passable_from(&self, from: usize) -> Passable {
        self.passable(from)
    }

    fn try_push(
        &mut self,
        to: usize,
        queue: Queue,
        enqueue: Enqueue,
        header: Header,
        payload: ReadSpan,
    ) -> Result<(), PushError> {
        self.step();
        if self.is(Accident::NoMemory) {
            return Err(PushError::NoMemory { peer: to });
        }
        let nonsense = self.is(Accident::Nonsense) && self.me == 0;
        let mut network = self.network.borrow_mut();
        assert!(queue == Queue::Requests || payload.len() <= network.conditions.max_payload, "too long for a cell");
        let held_back = network.line(to, self.me, queue).refused && enqueue == Enqueue::Next;
        if held_back || !network.has_room(to, self.me, queue) {
            network.line(to, self.me, queue).refused = true;
            return Err(PushError::Full);
        }
        network.line(to, self.me, queue).refused = false;
        let (mut header, mut payload) = (header, bytes(payload));
        if network.is_hostile() && self.me == 0 {
            (header, payload) = network.spoil(queue, header, payload);
        } else if nonsense && queue == Queue::Messages && wire::kind(&header) == wire::BEGIN {
            // A message longer than there can be.
            payload[..size_of::<u64>()].fill(0xff);
        } else if nonsense {
            header = [0xee; 4];
        }
        network.append(to, self.me, queue, header, payload);
        Ok(())
    }

    fn front(&mut self, from: usize, queue: Queue) -> Result<Option<Arrival>, PeerFault> {
        self.step();
        let mut network = self.network.borrow_mut();
        let cell = network.front(self.me, from, queue);
        let arrival = cell.map(|cell| Arrival { header: cell.header, len: cell.payload.len(), place: 0 });
        if arrival.is_none() && network.dead[from] && network.chance(20) {
            return Err(PeerFault { peer: from, what: "is gone" });
        }
        Ok(arrival)
    }

    fn read(&mut self, from: usize, queue: Queue, arrival: &Arrival, offset: usize, into: WriteSpan) {
        let mut network = self.network.borrow_mut();
        if !network.memory.writable(into) {
            network.violated(format!("rank {} fills a buffer that was given back", self.me));
        }
        let cell = network.front(self.me, from, queue).expect("the cell stays until it is popped");
        assert_eq!(cell.payload.len(), arrival.len, "the same cell");
        ReadSpan::from(&cell.payload[offset..offset + into.len()]).copy_to(into);
    }

    fn pop(&mut self, from: usize, queue: Queue) {
        self.network.borrow_mut().pop(self.me, from, queue);
        self.step();
    }

    fn coming(&mut self, from: usize) -> Option<Arrival> {
        let mut network = self.network.borrow_mut();
        let cell = network.coming(self.me, from)?;
        Some(Arrival { header: cell.header, len: cell.payload.len(), place: 0 })
    }

    fn place_directly(&mut self, from: usize, address: &RemoteAddress, note: Header) {
        self.network.borrow_mut().place_directly(self.me, from, address.space, note);
        self.step();
    }

    fn ready(&mut self, queue: Queue) -> Option<usize> {
        self.step();
        let peers = self.peers();
        let mut network = self.network.borrow_mut();
        // It looks at some of the peers only.
        for _ in 0..2.min(peers) {
            let peer = self.next[queue as usize] % peers;
            self.next[queue as usize] += 1;
            let gone = network.dead[peer] && network.chance(5);
            let coming = queue == Queue::Messages && network.is_coming(self.me, peer);
            if network.front(self.me, peer, queue).is_some() || coming || gone {
                return Some(peer);
            }
        }
        None
    }

    fn popped(&self, from: usize) -> u64 {
        self.network.borrow_mut().line(self.me, from, Queue::Messages).popped
    }

    fn pushed(&self, to: usize) -> u64 {
        self.network.borrow_mut().line(to, self.me, Queue::Messages).pushed
    }

    fn accepted(&mut self, to: usize) -> Option<u64> {
        self.step();
        let mut network = self.network.borrow_mut();
        let fresh = network.chance(50) && !network.hides_requests(self.me, to);
        let early = network.conditions.sabotage == Some(Sabotage::AcceptsEarly);
        let line = network.line(to, self.me, Queue::Messages);
        if fresh {
            line.published = line.popped;
        }
        Some(if early { line.pushed } else { line.published })
    }
}

impl RemoteMemory for SimFabric<'_> {
    fn address_of(&self, span: ReadSpan) -> RemoteAddress {
        self.network.borrow().memory.address_of(span)
    }

    fn hand_out(&mut self, peer: usize, span: WriteSpan<'static>) -> RemoteAddress {
        if self.is_over_network() {
            return self.network.borrow_mut().hand_out(self.me, peer, span);
        }
        self.address_of(span.as_read())
    }

    fn withdraw(&mut self, _: usize, address: &RemoteAddress) -> bool {
        let over_network = self.is_over_network();
        if over_network {
            self.network.borrow_mut().withdraw(address.space);
        }
        over_network
    }

    fn way_from(&self, peer: usize, address: &RemoteAddress) -> Option<Way> {
        self.network.borrow().way(self.me, peer, address.space)
    }

    fn remote_write(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        from: ReadSpan,
        notice: Option<Notice>,
    ) -> Result<Written, RemoteError> {
        let wanted = from.len();
        let half =
            |network: &mut Network| network.conditions.sabotage == Some(Sabotage::WritesHalf) && network.chance(10);
        if self.is_over_network() {
            let len = self.network.borrow_mut().take_write(peer, self.me, address.space, offset, from.len());
            let from = from.part(0, len);
            let from = if half(&mut self.network.borrow_mut()) { from.part(0, len / 2) } else { from };
            let middle = from.len() / 2;
            for (start, len) in [(0, middle), (middle, from.len() - middle)] {
                let into = self.reach_by_name(peer, address, offset + start as u64, len)?;
                from.part(start, len).copy_to(into);
            }
            let together = notice.filter(|_| len == wanted && self.network.borrow_mut().chance(50));
            let told = together.is_some_and(|Notice { header, payload }| {
                self.try_push(peer, Queue::Messages, Enqueue::Next, header, payload).is_ok()
            });
            return Ok(Written { way: Way::Network, len, told });
        }
        let len = from.len();
        let (way, into) = self.reach(peer, address, offset, len, Use::Receive)?;
        let half = half(&mut self.network.borrow_mut());
        let from = if half { from.part(0, from.len() / 2) } else { from };
        self.copy(from, into);
        // The second half needs the buffer too.
        self.reach(peer, address, offset, from.len(), Use::Receive)?;
        Ok(Written { way, len, told: false })
    }

    fn remote_read(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        into: WriteSpan,
        _: Reading,
    ) -> Result<Way, RemoteError> {
        if self.is_over_network() {
            return Err(RemoteError::NoWay);
        }
        let (way, from) = self.reach(peer, address, offset, into.len(), Use::Send)?;
        self.copy(from.as_read(), into);
        self.reach(peer, address, offset, into.len(), Use::Send)?;
        Ok(way)
    }
}

impl SharedMemory for SimFabric<'_> {
    fn claim_words(&self) -> usize {
        self.network.borrow().conditions.slots * WORDS_PER_LINE
    }

    fn set_claim(&mut self, index: usize, value: u64) {
        self.network.borrow_mut().claims[self.me][index] = value;
        self.step();
    }

    fn swap_claim(&mut self, peer: usize, index: usize, expected: u64, new: u64) -> Result<(), u64> {
        self.step();
        let mut network = self.network.borrow_mut();
        let granted =
            network.conditions.sabotage == Some(Sabotage::GrantsAllClaims) && index.is_multiple_of(WORDS_PER_LINE);
        let word = &mut network.claims[peer][index];
        if *word != expected && !granted {
            return Err(*word);
        }
        *word = new;
        Ok(())
    }

    fn add_to_claim(&mut self, peer: usize, index: usize, amount: u64) -> u64 {
        self.step();
        let mut network = self.network.borrow_mut();
        let word = &mut network.claims[peer][index];
        let before = *word;
        *word += amount;
        before
    }
}

impl Waiting for SimFabric<'_> {
    fn signal(&mut self, _peer: usize, _signal: Signal) {}

    fn take_signals(&mut self) -> SignalSet {
        SignalSet(if self.network.borrow().aborted { Signal::Abort as u32 } else { 0 })
    }

    fn patience(&self) -> u32 {
        2
    }

    fn idle(&mut self, _backoff: &mut Backoff) {
        self.network.borrow_mut().now += 1;
        self.turn.suspend(());
    }
}

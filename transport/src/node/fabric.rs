//! What the fabric of a node does, of the contract of a fabric.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering;

use super::link::Link;
use super::memory::InFile;
use super::{HANDED_OVER, LOOKS_WITHOUT_HINT, MOST_LOOKS, NodeFabric, PRIVATE_SPACE, SHARED_PAST_CACHES};
use crate::caches::LINE;
use crate::handover::{copy_for_reader, fetch};
use crate::layout::{CLAIM_WORDS, MAX_PAYLOAD, PEERS_WITHOUT_HINTS};
use crate::remote_memory::Reach;
use crate::ring::batons::BATON_SIZE;
use crate::ring::{Area, Consumer, Producer, Refused};
use crate::sleep::{ASLEEP, ASLEEP_FOR_ROOM};
use crate::small_copy::copy_small;
use crate::{
    Arrival, Backoff, Enqueue, Fabric, Header, INLINE_PAYLOAD, LentSpan, Notice, Passable, PeerFault, Presence,
    PushError, Queue, Queues, ReadSpan, Reading, RemoteAddress, RemoteError, RemoteMemory, SharedMemory, SharedPart,
    SharedWord, Signal, SignalSet, Waiting, Way, WriteSpan, Written, signal,
};

impl Fabric for NodeFabric {
    #[inline]
    fn me(&self) -> usize {
        self.me
    }

    #[inline]
    fn peers(&self) -> usize {
        self.links.len()
    }

    fn has_died(&self, peer: usize) -> bool {
        self.presence(peer) == Presence::Died
    }

    fn end_job(&mut self, code: i32, reason: &str) -> ! {
        self.abort(code, reason);
        if self.links.iter().all(|link| link.pid == std::process::id()) {
            // There is no launcher to say it.
            eprintln!("the job ends: {reason}");
        }
        std::process::exit(code)
    }
}

impl Queues for NodeFabric {
    #[inline]
    fn max_payload(&self, _: usize) -> usize {
        if self.passes_batons { BATON_SIZE } else { MAX_PAYLOAD }
    }

    #[inline(always)]
    fn try_push(
        &mut self,
        to: usize,
        queue: Queue,
        enqueue: Enqueue,
        header: Header,
        payload: ReadSpan,
    ) -> Result<(), PushError> {
        let most = if queue == Queue::Messages { BATON_SIZE } else { INLINE_PAYLOAD };
        assert!(payload.len() <= most, "payload longer than the queue takes");
        if self.links[to].outgoing[queue as usize].is_none() {
            self.open(to, queue)?;
        }
        // By reference: only a ring that grows needs them.
        let (segment, first_end, me) = (&self.segment, &self.first_end, &self.me);
        let Link { outgoing, incoming, batons, .. } = &mut self.links[to];
        let Some(producer) = &mut outgoing[queue as usize] else { unreachable!("opened above") };
        producer.note_answers(incoming[Queue::Messages as usize].as_ref().map_or(0, Consumer::popped));
        let reserve = |area, from, end| {
            let (here, there) = (first_end + me, first_end + to);
            let start = match area {
                Area::Data => segment.layout().data(there, here),
                Area::Batons => segment.layout().batons(there, here),
            };
            segment.reserve(start + from, end - from).is_ok()
        };
        let batons = self.passes_batons.then_some(batons);
        producer.try_push(enqueue, header, payload, batons, reserve).map_err(|refused| match refused {
            Refused::Full => PushError::Full,
            Refused::NoMemory => PushError::NoMemory { peer: to },
        })?;
        if self.links.len() > PEERS_WITHOUT_HINTS {
            self.leave_hint(to, queue);
        }
        self.wake_if_asleep(to, ASLEEP | ASLEEP_FOR_ROOM);
        Ok(())
    }

    #[inline(always)]
    fn front(&mut self, from: usize, queue: Queue) -> Result<Option<Arrival>, PeerFault> {
        if let Some(front) = self.links[from].front(from, queue) {
            return front;
        }
        self.notice_openings(queue);
        self.links[from].front(from, queue).unwrap_or(Ok(None))
    }

    #[inline(always)]
    fn read(&mut self, from: usize, queue: Queue, arrival: &Arrival, offset: usize, into: WriteSpan) {
        self.links[from].read(queue, arrival, offset, into);
    }

    #[inline(always)]
    fn take(&mut self, from: usize, queue: Queue, arrival: &Arrival, into: WriteSpan) {
        let link = &mut self.links[from];
        link.read(queue, arrival, 0, into);
        link.pop(queue);
        self.wake_if_asleep(from, ASLEEP_FOR_ROOM);
    }

    #[inline(always)]
    fn pop(&mut self, from: usize, queue: Queue) {
        self.links[from].pop(queue);
        self.wake_if_asleep(from, ASLEEP_FOR_ROOM);
    }

    fn passable(&self, to: usize) -> Passable {
        if self.passes_batons { self.links[to].batons.passable() } else { Passable::default() }
    }

    fn passable_from(&self, from: usize) -> Passable {
        if self.passes_batons { self.links[from].batons.passable_from() } else { Passable::default() }
    }

    #[inline(always)]
    fn expect_more(&self, from: usize, cells: usize) {
        if let Some(consumer) = &self.links[from].incoming[Queue::Messages as usize] {
            consumer.expect_more(cells);
        }
    }

    #[inline]
    fn ready(&mut self, queue: Queue) -> Option<usize> {
        self.notice_openings(queue);
        let mut looks = MOST_LOOKS;
        if self.links.len() > PEERS_WITHOUT_HINTS {
            if let Some(peer) = self.ready_by_hint(queue) {
                return Some(peer);
            }
            looks = LOOKS_WITHOUT_HINT;
        }
        let senders = self.inboxes[queue as usize].senders.len();
        for _ in 0..senders.min(looks) {
            let inbox = &mut self.inboxes[queue as usize];
            let peer = inbox.senders[inbox.cursor];
            inbox.cursor = if inbox.cursor + 1 == senders { 0 } else { inbox.cursor + 1 };
            if self.is_waiting(peer, queue) {
                return Some(peer);
            }
        }
        None
    }

    #[inline]
    fn popped(&self, from: usize) -> u64 {
        self.links[from].incoming[Queue::Messages as usize].as_ref().map_or(0, Consumer::popped)
    }

    #[inline(always)]
    fn pushed(&self, to: usize) -> u64 {
        self.links[to].outgoing[Queue::Messages as usize].as_ref().map_or(0, Producer::pushed)
    }

    #[inline]
    fn accepted(&mut self, to: usize) -> Option<u64> {
        self.watches_pops = true;
        Some(self.links[to].outgoing[Queue::Messages as usize].as_mut().map_or(0, Producer::refresh))
    }
}

impl RemoteMemory for NodeFabric {
    fn address_of(&self, span: ReadSpan) -> RemoteAddress {
        let len = span.len() as u64;
        let layout = self.segment.layout();
        if let Some((owner, place)) = self.segment.offset_of_span(span).and_then(|offset| layout.in_heap(offset))
            && self.is_shared(owner, place, span.len())
        {
            return RemoteAddress { space: PRIVATE_SPACE + 1 + owner as u64, place: place as u64, len };
        }
        RemoteAddress { space: PRIVATE_SPACE, place: span.start() as u64, len }
    }

    fn forget_lent(&mut self) {
        self.segment.forget_lent(self.me);
    }

    fn way_from(&self, peer: usize, address: &RemoteAddress) -> Option<Way> {
        match Reach::from(self.segment.reach(peer, self.me).load(Ordering::Relaxed)) {
            Reach::SameProcess => Some(Way::SameProcess),
            _ if address.space != PRIVATE_SPACE => Some(Way::SharedHeap),
            Reach::Kernel => Some(Way::Kernel),
            Reach::None => None,
        }
    }

    fn remote_write(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        from: ReadSpan,
        _: Option<Notice>,
    ) -> Result<Written, RemoteError> {
        self.write(peer, address, offset, from)
    }

    fn remote_read(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        into: WriteSpan,
        reading: Reading,
    ) -> Result<Way, RemoteError> {
        self.read_from(peer, address, offset, into, reading)
    }

    fn direct(&self, peer: usize, address: &RemoteAddress) -> Option<WriteSpan<'static>> {
        self.mapped_here(peer, address)
    }
}

impl SharedMemory for NodeFabric {
    fn shared_part(&self, _: usize, address: &RemoteAddress) -> Option<SharedPart> {
        let len = usize::try_from(address.len).ok()?;
        match self.shared(address, 0, len)? {
            Ok(InFile::Mapped(place)) => Some(SharedPart::new(place, len)),
            Ok(InFile::Unmapped(_)) | Err(_) => None,
        }
    }

    #[inline]
    fn shared_span(&self, part: SharedPart) -> LentSpan<'_> {
        let start = self.segment.heap_part(part.place, part.len()).as_ptr();
        // SAFETY: `heap_part` has checked that the bytes lie in the heaps; they have had pages since the part was made.
        unsafe { LentSpan::new(ReadSpan::new(start, part.len()), self.writes_back) }
    }

    #[inline(always)]
    fn write_shared(&mut self, part: SharedPart, from: ReadSpan, far: bool) {
        assert_eq!(part.len(), from.len(), "a shared part of another length");
        let into = self.segment.heap_part(part.place, from.len()).as_ptr();
        // SAFETY: as in `shared_span`; their owner, by the contract of the part, is who calls.
        unsafe {
            match from.len() {
                len if len <= LINE => copy_small(into, from.start(), len),
                len if far && self.passes_batons && len >= SHARED_PAST_CACHES => {
                    from.copy_past_caches_to(WriteSpan::new(into, len));
                }
                len if len <= HANDED_OVER => copy_for_reader(into, from.start(), len),
                len => from.copy_long_to(WriteSpan::new(into, len)),
            }
        }
    }

    #[inline]
    fn word(&self, word: SharedWord) -> u64 {
        self.segment.word(word.0).load(Ordering::SeqCst)
    }

    #[inline]
    fn set_word(&mut self, word: SharedWord, value: u64) {
        self.segment.word(word.0).store(value, Ordering::Release);
    }

    #[inline]
    fn fetch_part(&self, part: SharedPart) {
        let start = self.segment.heap_part(part.place, part.len()).as_ptr();
        (0..part.len()).step_by(LINE).for_each(|line| fetch(start.wrapping_add(line)));
    }

    fn fetch_word(&self, word: SharedWord, to_write: bool) {
        self.segment.fetch_word(word.0, to_write);
    }

    fn add_to_word(&mut self, word: SharedWord, amount: u64) -> u64 {
        self.segment.word(word.0).fetch_add(amount, Ordering::SeqCst)
    }

    fn watch(&mut self, word: SharedWord, value: u64) {
        self.watched.add(word, value);
    }

    fn claim_words(&self) -> usize {
        CLAIM_WORDS
    }

    fn set_claim(&mut self, index: usize, value: u64) {
        self.segment.claim(self.end(self.me), index).store(value, Ordering::Release);
    }

    fn swap_claim(&mut self, peer: usize, index: usize, expected: u64, new: u64) -> Result<(), u64> {
        let word = self.segment.claim(self.end(peer), index);
        word.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst).map(|_| ())
    }

    fn add_to_claim(&mut self, peer: usize, index: usize, amount: u64) -> u64 {
        self.segment.claim(self.end(peer), index).fetch_add(amount, Ordering::AcqRel)
    }
}

impl Waiting for NodeFabric {
    #[inline]
    fn patience(&self) -> u32 {
        self.policy.spins()
    }

    #[inline]
    fn wake(&mut self, peer: usize) {
        self.wake_if_asleep(peer, ASLEEP | ASLEEP_FOR_ROOM);
    }

    fn processors(&self) -> usize {
        self.policy.processors
    }

    fn is_oversubscribed(&self) -> bool {
        self.policy.oversubscribed
    }

    fn shares_processor(&self, peer: usize) -> bool {
        self.shares_processor_with(peer)
    }

    fn give_way(&mut self) {
        self.yield_processor();
    }

    fn miss_room(&mut self) {
        self.ask_for_room();
    }

    fn signal(&mut self, peer: usize, signal: Signal) {
        if signal::send(&self.segment, self.end(peer), signal) {
            self.to_ring.push(peer);
        }
    }

    #[inline]
    fn take_signals(&mut self) -> SignalSet {
        signal::take(&self.segment, self.end(self.me))
    }

    #[inline]
    fn idle(&mut self, backoff: &mut Backoff) {
        if self.pass_round(backoff) {
            self.sleep(backoff);
        }
    }
}

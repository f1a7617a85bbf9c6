//! The fabric of one node: peers are processes that share a mapped file, threads of one process, or both mixed.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::control::Control;
use crate::doorbell::SocketDoorbell;
use crate::handover::{LINE, copy_for_reader, fetch, hands_over};
use crate::job::{self, Job, JobEnder};
use crate::layout::{CLAIM_WORDS, MAX_PAYLOAD, PEERS_WITHOUT_HINTS, QUEUES};
use crate::progress_thread::SleepState;
use crate::remote_memory::{ProbeWords, Reach};
use crate::ring::batons::{BATON_SIZE, Batons};
use crate::ring::{Area, Consumer, Producer, Refused};
use crate::segment::{ControlsPlace, Segment};
use crate::sleep::{self, ASLEEP, ASLEEP_FOR_ROOM, AWAKE};
use crate::small_copy::copy_small;
use crate::wait::WaitPolicy;
use crate::{
    Arrival, Backoff, Doorbell, ElementLock, Enqueue, Fabric, Header, Heap, INLINE_PAYLOAD, LentSpan, Notice, Passable,
    PeerFault, Presence, PushError, Queue, ReadSpan, Reading, RemoteAddress, RemoteError, SharedPart, SharedWord,
    Signal, SignalSet, Way, WriteSpan, Written, signal,
};
use link::Link;
use memory::InFile;
use watched::Watched;

/// Most rings that one call of `ready` looks at.
const MOST_LOOKS: usize = 16;
/// Most rings that one call of `ready` looks at when no hint says that it should.
const LOOKS_WITHOUT_HINT: usize = 4;
/// Longer data in shared memory are not handed over to their readers, who may be busy with data of their own meanwhile.
const HANDED_OVER: usize = 512;
/// From this length on what others read far away is written past the caches.
const SHARED_PAST_CACHES: usize = 512;
/// The space of addresses in a peer's private memory; `PRIVATE_SPACE + 1 + end` is the heap of that end, in any lane.
const PRIVATE_SPACE: u64 = 0;

/// One peer's end of the fabric of its node, or of one lane of it.
pub struct NodeFabric {
    me: usize,
    /// The lane's first end: what a peer has in this lane is at its number from here on.
    first_end: usize,
    controls: ControlsPlace,
    segment: Arc<Segment>,
    heap: Heap,
    policy: WaitPolicy,
    /// How often this peer has given way since it last looked whether it should move.
    given_way: Cell<u32>,
    links: Vec<Link>,
    inboxes: [Inbox; QUEUES],
    /// `accepted` was asked since the last sleep: pops are of interest.
    watches_pops: bool,
    /// What ends the next sleep besides.
    watched: Watched,
    /// Peers that were woken but have to be rung to notice.
    to_ring: Vec<usize>,
    /// Payloads go by batons, as lines can't be handed over to the core that will read them.
    passes_batons: bool,
    /// What other peers lend is [written back](crate::LentSpan): all are other processes.
    writes_back: bool,
    /// Where the progress thread of this peer sleeps, if it has one.
    progress_thread: Option<Arc<SleepState>>,
    /// Peers make their test transfers here, which may be at any time in theory.
    _probe_words: Arc<ProbeWords>,
}

/// Who sends to one queue of this peer.
#[derive(Default)]
struct Inbox {
    /// The senders, in the order in which they were noticed.
    senders: Vec<usize>,
    /// How many registrations were noticed.
    openings: u32,
    /// Where in `senders` the next look goes.
    cursor: usize,
    /// The peer whose hint is taken up next.
    hint_cursor: usize,
}

impl NodeFabric {
    /// The fabric of peer `me` in that lane. Only when all have probed, and once.
    pub(crate) fn new(me: usize, lane: usize, job: &Job, probe_words: Arc<ProbeWords>) -> NodeFabric {
        let segment = job.segment.clone();
        let links: Vec<Link> = (0..job.peers())
            .map(|peer| Link {
                outgoing: [None, None],
                incoming: [None, None],
                batons: Batons::new(segment.layout().batons_of_two, me < peer),
                // Found out by all in the first lane.
                reach: segment.reach(me, peer).load(Ordering::Relaxed).into(),
                pid: segment.control(peer).identity.pid.load(Ordering::Relaxed),
            })
            .collect();
        NodeFabric {
            me,
            first_end: job.end(lane, 0),
            controls: segment.controls_from(job.end(lane, 0)),
            heap: Heap::new(segment.clone(), job.end(lane, me)),
            policy: WaitPolicy::for_peer(job, me),
            given_way: Cell::new(0),
            writes_back: copying::writes_back(me, &links),
            links,
            inboxes: Default::default(),
            watches_pops: false,
            watched: Watched::default(),
            to_ring: Vec::new(),
            passes_batons: !hands_over(),
            progress_thread: None,
            segment,
            _probe_words: probe_words,
        }
    }

    /// This peer's shared heap.
    pub fn heap(&self) -> &Heap {
        &self.heap
    }

    /// What wakes this peer from any thread.
    pub fn doorbell(&self) -> Doorbell {
        self.doorbell_with(None)
    }

    /// The same for a peer that sleeps where its sockets are.
    pub(crate) fn doorbell_with(&self, sockets: Option<SocketDoorbell>) -> Doorbell {
        Doorbell::new(self.segment.clone(), self.end(self.me), sockets)
    }

    /// The job that this peer belongs to.
    pub fn job(&self) -> Job {
        Job { segment: self.segment.clone(), peers: self.links.len() }
    }

    /// How this peer ends the job, also where its end of the fabric is in use.
    pub fn ender(&self) -> JobEnder {
        JobEnder::new(&self.segment, self.me)
    }

    /// Ends the job, as [`JobEnder::end`] does.
    pub fn abort(&self, code: i32, text: &str) {
        self.ender().end(code, text);
    }

    /// Whether somebody has ended the job.
    #[inline]
    pub fn job_aborted(&self) -> bool {
        job::is_aborted(&self.segment)
    }

    /// Has `handler` called on the present thread, in a signal handler, when a signal arrives. The signals stay to be
    /// taken by [`Fabric::take_signals`]. Without this call, a peer learns of signals only when it looks.
    ///
    /// `handler` may be called between any two instructions of this thread: it may only do what a signal handler may.
    /// The job's file stays mapped for the rest of the process's life.
    ///
    /// # Errors
    /// If the system refuses the handler.
    pub fn on_signal(&self, handler: fn(SignalSet)) -> std::io::Result<()> {
        signal::interrupt_this_thread(&self.segment, self.end(self.me), handler)
    }

    /// The number of a peer's end in this lane.
    #[inline(always)]
    fn end(&self, peer: usize) -> usize {
        debug_assert!(peer < self.links.len());
        self.first_end + peer
    }

    #[inline(always)]
    fn control(&self, peer: usize) -> &Control {
        debug_assert!(peer < self.links.len());
        self.segment.control_of(self.controls, peer)
    }

    /// Words of a bitmap over the peers of this lane.
    fn bitmap_words(&self) -> usize {
        self.links.len().div_ceil(64)
    }

    /// Creates the ring to `to` and registers with it.
    #[cold]
    #[inline(never)]
    fn open(&mut self, to: usize, queue: Queue) -> Result<(), PushError> {
        let (here, there) = (self.end(self.me), self.end(to));
        self.segment.reserve_ring(there, queue, here).map_err(|_| PushError::NoMemory { peer: to })?;
        let memory = self.segment.ring(there, queue, here);
        // SAFETY: only the fabric of peer `me` in this lane, of which there is one (`Joined::new`), makes it, and once.
        self.links[to].outgoing[queue as usize] = Some(unsafe { Producer::new(memory) });
        self.segment.opened(there, queue, self.me / 64).fetch_or(1 << (self.me % 64), Ordering::AcqRel);
        self.control(to).openings[queue as usize].fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Notices senders that have registered since the last look.
    #[inline(always)]
    fn notice_openings(&mut self, queue: Queue) {
        let openings = self.control(self.me).openings[queue as usize].load(Ordering::Acquire);
        if openings != self.inboxes[queue as usize].openings {
            self.welcome_senders(queue, openings);
        }
    }

    #[cold]
    #[inline(never)]
    fn welcome_senders(&mut self, queue: Queue, openings: u32) {
        let (peers, here) = (self.links.len(), self.end(self.me));
        for word in 0..self.bitmap_words() {
            let mut registered = self.segment.opened(here, queue, word).load(Ordering::Acquire);
            while registered != 0 {
                let source = word * 64 + registered.trailing_zeros() as usize;
                registered &= registered - 1;
                if source >= peers || self.links[source].incoming[queue as usize].is_some() {
                    continue;
                }
                let memory = self.segment.ring(here, queue, self.end(source));
                // SAFETY: only the fabric of peer `me` in this lane, of which there is one, makes it, and once.
                self.links[source].incoming[queue as usize] = Some(unsafe { Consumer::new(memory) });
                self.inboxes[queue as usize].senders.push(source);
            }
        }
        self.inboxes[queue as usize].openings = openings;
    }

    /// Wakes `peer` if it sleeps in one of these ways, after something was published for it or popped.
    #[inline(always)]
    fn wake_if_asleep(&mut self, peer: usize, ways: u32) {
        sleep::before_look(self.policy.fences_needed);
        let flag = &self.control(peer).sleeping;
        let how = flag.load(Ordering::Relaxed);
        if how & ways != AWAKE && sleep::wake(flag, how) {
            self.to_ring.push(peer);
        }
    }

    /// One round of a wait, but for the sleep: returns whether it is time for that.
    #[inline]
    pub(crate) fn pass_round(&mut self, backoff: &mut Backoff) -> bool {
        let sleeps = self.policy.pass_round(backoff);
        if !sleeps {
            self.watched.clear();
        }
        if backoff.rounds > self.policy.spins() {
            self.note_processor();
        }
        sleeps
    }

    fn is_waiting(&self, from: usize, queue: Queue) -> bool {
        self.links[from].incoming[queue as usize].as_ref().is_some_and(Consumer::is_waiting)
    }
}

impl Fabric for NodeFabric {
    #[inline]
    fn me(&self) -> usize {
        self.me
    }

    #[inline]
    fn peers(&self) -> usize {
        self.links.len()
    }

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

    #[inline]
    fn patience(&self) -> u32 {
        self.policy.spins()
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

    #[inline]
    fn wake(&mut self, peer: usize) {
        self.wake_if_asleep(peer, ASLEEP | ASLEEP_FOR_ROOM);
    }

    fn watch(&mut self, word: SharedWord, value: u64) {
        self.watched.add(word, value);
    }

    fn direct(&self, peer: usize, address: &RemoteAddress) -> Option<WriteSpan<'static>> {
        self.mapped_here(peer, address)
    }

    fn element_lock(&self, peer: usize, address: &RemoteAddress) -> Option<ElementLock> {
        Some(self.lock_of_elements(peer, address))
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

    fn claim_words(&self) -> usize {
        CLAIM_WORDS
    }

    fn has_died(&self, peer: usize) -> bool {
        self.presence(peer) == Presence::Died
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

    fn signal(&mut self, peer: usize, signal: Signal) {
        if signal::send(&self.segment, self.end(peer), signal) {
            self.to_ring.push(peer);
        }
    }

    fn end_job(&mut self, code: i32, reason: &str) -> ! {
        self.abort(code, reason);
        if self.links.iter().all(|link| link.pid == std::process::id()) {
            // There is no launcher to say it.
            eprintln!("the job ends: {reason}");
        }
        std::process::exit(code)
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

mod copying;
mod hints;
mod link;
mod memory;
mod oversubscribed;
mod presence;
mod sleeping;
#[cfg(test)]
mod tests;
mod watched;

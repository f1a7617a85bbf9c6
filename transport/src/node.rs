//! The fabric of one node: peers are processes that share a mapped file, threads of one process, or both mixed.
#![allow(unsafe_code)]

mod copying;
mod fabric;
mod hints;
mod link;
mod memory;
mod oversubscribed;
mod presence;
mod sleeping;
#[cfg(test)]
mod tests;
mod watched;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::control::Control;
use crate::doorbell::SocketDoorbell;
use crate::handover::hands_over;
use crate::job::{self, Job, JobEnder};
use crate::layout::QUEUES;
use crate::progress_thread::SleepState;
use crate::remote_memory::ProbeWords;
use crate::ring::batons::Batons;
use crate::ring::{Consumer, Producer};
use crate::segment::{ControlsPlace, Segment};
use crate::sleep::{self, AWAKE};
use crate::wait::WaitPolicy;
use crate::{Backoff, Doorbell, Heap, PushError, Queue, SignalSet, signal};
use link::Link;
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
    /// taken by [`take_signals`](crate::Waiting::take_signals). Without this call, a peer learns of signals only when
    /// it looks.
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

//! The progress engine: joins the protocol's state machines to a transport, for one rank.
//!
//! It knows peers (numbers in the job), contexts and tags, not communicators or ranks in them; it owns every operation
//! in flight. Ownership rules:
//!
//! 1. An operation's buffer belongs to the engine from its start until it is [`Operation::Done`]; the caller (the typed
//!    API's scopes, the C front end) keeps it valid that long.
//! 2. Nothing overtakes `Peer::queued`: while it holds something, everything for that peer goes behind it.
//! 3. A receive that is advertised is completed by whoever has taken its claim word: the sender, whose notice names the
//!    slot, or this engine, before it fills the buffer from the FIFO or cancels.

// Only other packages of this project use it: a name that says all needs no sentence beside it.
#![allow(missing_docs, clippy::len_without_is_empty)]

mod arrivals;
mod barrier;
mod bounce_buffer;
pub mod buffer;
mod buffer_pool;
mod buffered_send;
mod completion;
pub mod context;
mod deaths;
mod eager;
pub mod event;
mod failed;
mod failure;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod id;
mod job_engine;
mod mark;
mod match_on_arrival;
mod notes;
mod observe;
mod operation;
mod operations;
mod pieces;
mod policy;
mod probe;
mod progress;
mod publish;
mod receive;
mod rendezvous;
mod request_wait;
pub mod select;
mod send;
#[cfg(any(test, fuzzing))]
#[cfg_attr(fuzzing, allow(dead_code))]
mod simulation;
mod slots;
pub mod task;
pub mod tuning;
mod unexpected;
pub mod waiting;
mod wire;

use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use rwmpi_protocol::{Counters, Pattern, Receiver, Rule, Sender};
use rwmpi_transport::{Fabric, Header};
use slab::Slab;

pub use barrier::{Rounds, Step};
use bounce_buffer::BounceBuffer;
pub use bounce_buffer::USUAL_SIZE;
use buffer_pool::BufferPool;
pub use completion::Completion;
use deaths::Deaths;
use event::Observer;
pub use failure::Failure;
pub use id::{OperationId, TaskId};
pub use job_engine::JobEngine;
pub use mark::{Mark, Signature};
pub use notes::Notes;
pub use operation::{Operation, Outcome, Received, SendMode};
use operations::Operations;
pub use pieces::{Room, Scattered, Sink};
use policy::Policy;
pub use probe::MatchedMessage;
use rendezvous::{Answer, Pull};
use select::message::small_end;
use slots::Slots;
use tuning::Tuning;
use unexpected::{Body, Unexpected};
use waiting::Kind;

/// What is known about one peer, and what waits to be sent to it.
struct Peer {
    sender: Sender,
    /// Messages and notices that found no room yet, in order.
    queued: VecDeque<Outgoing>,
    /// Answers that found no room in the queue for requests yet.
    answers: VecDeque<Answer>,
    /// Messages that the peer has asked for and that are being written, one after the other.
    asked_for: VecDeque<OperationId>,
    /// The message that has begun to arrive from it.
    stream: Option<Stream>,
    /// Whether messages came out of its FIFO since requests were last posted to it (SR).
    refresh: bool,
    messages: u64,
    bytes: u64,
}

enum Outgoing {
    Message(OperationId),
    /// A cell whose payload fits into its line.
    Cell {
        header: Header,
        payload: [u8; 16],
        len: usize,
    },
    /// The peer has died: nothing behind this leaves.
    ToNobody,
}

/// A message that has begun to arrive from a peer and whose data still come.
#[derive(Clone, Copy, Debug)]
struct Stream {
    target: Target,
    arrived: u64,
    total: u64,
    tag: u32,
}

#[derive(Clone, Copy, Debug)]
enum Target {
    Receive(OperationId),
    Unexpected(usize),
}

/// How many messages were sent by which way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    pub remote_write_messages: u64,
    pub remote_write_bytes: u64,
    pub large_messages: u64,
    pub large_bytes: u64,
    pub large_single_copy_bytes: u64,
}

/// Messages of at least this many bytes count as large in [`Traffic`], whichever way they go.
const LARGE: u64 = 8 << 10;

/// Slots where there are no claim words to bound their number.
const SLOTS_WITHOUT_CLAIMS: usize = 1024;

/// So many bytes of memory for unexpected messages are kept when they have found their receives.
const UNEXPECTED_POOL: usize = 4 << 20;

/// The progress engine of one rank over the transport `F`.
pub struct Engine<F: Fabric> {
    pub fabric: F,
    rule: Rule,
    tuning: Tuning,
    policy: Policy,
    /// Messages of fewer bytes than this fit into a cell and are not worth a look for requests.
    small_end: usize,
    peers: Vec<Peer>,
    /// How often a peer has something in `queued`, `answers` or `asked_for`.
    backlog: usize,
    receiver: Receiver,
    operations: Operations,
    /// How many operations have completed in flight.
    completions: u64,
    /// What the next message that is sent says about its type.
    mark: Mark,
    /// What the message that is being dealt with says.
    heard: Mark,
    unexpected: Slab<Unexpected>,
    /// Where each message of the protocol's unexpected queue is kept.
    bodies: Vec<usize>,
    unexpected_bytes: u64,
    /// Memory for their data.
    pool: BufferPool,
    slots: Slots,
    /// Sends that wait for an answer of their receiver.
    answers_awaited: usize,
    /// Those of them that were left to their receivers, in order.
    left: VecDeque<OperationId>,
    /// How often this rank has looked in vain since it heard of one of these.
    looks_for_receiver: u32,
    /// Messages that were asked for.
    pulls: Slab<Pull>,
    groups: FxHashMap<u32, Rc<[u32]>>,
    /// Contexts all of whose members have claim words in common with this rank.
    any_source: FxHashSet<u32>,
    rounds: Rounds,
    /// How often this rank has looked in vain since one of them came, or the last was announced.
    looks_in_vain: u32,
    /// Where copies of messages count that could not leave at once.
    buffer: Rc<BounceBuffer>,
    /// Whether everything is copied that can't leave.
    copies_all: bool,
    traffic: Traffic,
    /// The failure of the transport that has stopped this engine.
    failed: Option<Failure>,
    /// What is left of peers that have died.
    deaths: Deaths,
    /// Who is told about events.
    observer: Option<Observer>,
    /// Who takes notes.
    notes: Option<Rc<dyn Notes>>,
    /// Whether it has failed, is observed, or takes notes: then short cuts are closed.
    is_disturbed: bool,
}

impl<F: Fabric> Engine<F> {
    /// Begins; `rule` is what the program wants, which peers without claim words in common can't have all of.
    pub fn new(fabric: F, rule: Rule, tuning: &Tuning) -> Self {
        let claims = Self::slots_with_claims(&fabric);
        let rule_between = |shared| match rule {
            Rule::Auto { claims } => Rule::Auto { claims: claims && shared },
            other => other,
        };
        let rule = rule_between(claims > 0);
        let peers = fabric.peers();
        let peer = |peer| Peer {
            sender: Sender::new(rule_between(claims > 0 && fabric.shares_memory_with(peer))),
            queued: VecDeque::new(),
            answers: VecDeque::new(),
            asked_for: VecDeque::new(),
            stream: None,
            refresh: false,
            messages: 0,
            bytes: 0,
        };
        Engine {
            rule,
            tuning: *tuning,
            policy: Policy::new(peers),
            small_end: small_end(tuning, fabric.max_payload(fabric.me())),
            peers: (0..peers).map(peer).collect(),
            backlog: 0,
            receiver: Receiver::new(rule, peers),
            operations: Operations::default(),
            completions: 0,
            mark: Mark::NONE,
            heard: Mark::NONE,
            unexpected: Slab::new(),
            bodies: Vec::new(),
            unexpected_bytes: 0,
            pool: BufferPool::new(UNEXPECTED_POOL),
            slots: Slots::new(if claims > 0 { claims } else { SLOTS_WITHOUT_CLAIMS }),
            answers_awaited: 0,
            left: VecDeque::new(),
            looks_for_receiver: 0,
            pulls: Slab::new(),
            groups: FxHashMap::default(),
            any_source: FxHashSet::default(),
            rounds: Rounds::default(),
            looks_in_vain: 0,
            buffer: Rc::new(BounceBuffer::new(USUAL_SIZE)),
            copies_all: false,
            traffic: Traffic::default(),
            failed: None,
            deaths: Deaths::default(),
            observer: None,
            notes: None,
            is_disturbed: false,
            fabric,
        }
    }

    /// Tells who takes part in a context, so that receives from any source can be advertised to all of them.
    pub fn register_group(&mut self, context: u32, peers: Rc<[u32]>) {
        if self.claims() && peers.iter().all(|&peer| self.fabric.shares_memory_with(peer as usize)) {
            self.any_source.insert(context);
        }
        self.groups.insert(context, peers);
    }

    /// Forgets a context.
    pub fn forget_group(&mut self, context: u32) {
        self.groups.remove(&context);
        self.any_source.remove(&context);
    }

    /// Forgets all contexts: nothing will be received any more. Of a table there are only pointers to its middle, so
    /// what looks for lost memory would take these for lost.
    pub fn forget_groups(&mut self) {
        (self.groups, self.any_source) = Default::default();
    }

    /// If no peer can be using memory of this rank's: false while an operation is under way, or the engine has failed.
    pub fn uses_no_memory(&self) -> bool {
        self.failed.is_none() && self.operations.iter().all(|operation| matches!(operation, Operation::Done(_)))
    }

    /// How many operations there are whose outcomes nobody has taken.
    pub fn operations_open(&self) -> usize {
        self.operations.len()
    }

    /// Takes note that it is so.
    pub fn forget_lent(&mut self) {
        self.fabric.forget_lent();
    }

    fn me(&self) -> u32 {
        self.fabric.me() as u32
    }

    /// Whether this rank has claim words, for those that it shares memory with.
    fn claims(&self) -> bool {
        self.fabric.claim_words() > 0
    }

    /// Whether it and `peer` use each other's claim words.
    fn claims_with(&self, peer: u32) -> bool {
        self.claims() && self.fabric.shares_memory_with(peer as usize)
    }

    /// As [`Engine::claims_with`], for all who may send what a receive is for.
    fn claims_with_sources(&self, pattern: &Pattern) -> bool {
        match pattern.source {
            Some(source) => self.claims_with(source),
            None => self.any_source.contains(&pattern.context),
        }
    }

    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Messages and bytes sent to each peer.
    pub fn traffic_by_peer(&self) -> Vec<(u64, u64)> {
        self.peers.iter().map(|state| (state.messages, state.bytes)).collect()
    }

    pub fn counters(&self) -> Counters {
        let mut counters = self.receiver.counters();
        self.peers.iter().for_each(|state| counters += state.sender.counters());
        counters
    }

    fn count_message(&mut self, peer: u32, bytes: u64) {
        let state = &mut self.peers[peer as usize];
        state.messages += 1;
        state.bytes += bytes;
        if bytes >= LARGE {
            self.traffic.large_messages += 1;
            self.traffic.large_bytes += bytes;
        }
    }

    fn count_remote_write(&mut self, bytes: u64) {
        self.traffic.remote_write_messages += 1;
        self.traffic.remote_write_bytes += bytes;
    }

    fn count_single_copy(&mut self, bytes: u64) {
        if bytes >= LARGE {
            self.traffic.large_single_copy_bytes += bytes;
        }
    }

    #[inline]
    fn add_operation(&mut self, operation: Operation) -> OperationId {
        self.operations.insert(|| operation)
    }

    /// The next send says this about its type.
    #[inline(always)]
    pub fn mark(&mut self, mark: Mark) {
        self.mark = mark;
    }

    /// What an operation's message says about its type.
    #[inline]
    fn mark_of(&self, id: OperationId) -> Mark {
        match Mark::CHECKED.then(|| &self.operations[id]) {
            Some(Operation::Send(send)) => send.mark,
            Some(Operation::Receive(receive)) => receive.mark,
            Some(Operation::Done(_)) | None => Mark::NONE,
        }
    }

    fn tag_of(&self, id: OperationId) -> u32 {
        if let Operation::Send(send) = &self.operations[id] { send.tag } else { 0 }
    }

    /// A receive has met a message that says this about its type.
    fn hear(&mut self, id: OperationId, mark: Mark) {
        if Mark::CHECKED
            && let Operation::Receive(receive) = &mut self.operations[id]
        {
            receive.mark = mark;
        }
    }

    #[inline]
    fn finish(&mut self, id: OperationId, mut outcome: Outcome) {
        self.completions = self.completions.wrapping_add(1);
        if self.is_disturbed {
            self.note_received(id, &outcome);
        }
        if Mark::CHECKED
            && let Ok(completion) = &mut outcome
        {
            completion.mark = self.mark_of(id);
        }
        self.operations.finish(id, outcome);
    }

    /// The result of an operation, which stays to be collected; `None` while it is in flight.
    #[inline]
    pub fn outcome(&self, id: OperationId) -> Option<&Outcome> {
        match &self.operations[id] {
            Operation::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// A number that changes whenever an operation that was in flight completes.
    pub fn completions(&self) -> u64 {
        self.completions
    }

    /// What an operation waits for, in the words of [`waiting`].
    #[cold]
    pub fn awaited(&self, id: OperationId) -> [u64; 2] {
        match self.operations.get(id) {
            Some(Operation::Send(send)) => {
                let bytes = send.data.len() as u64;
                waiting::words(Kind::Send, Some(Some(send.peer)), Some(send.tag), send.context, bytes)
            }
            Some(Operation::Receive(receive)) => {
                let Pattern { source, tag, context } = receive.pattern;
                waiting::words(Kind::Receive, Some(source), tag, context, 0)
            }
            _ => waiting::UNKNOWN,
        }
    }

    /// The sources of the receives in flight in such contexts.
    pub fn sources(&self, contexts: fn(u32) -> bool) -> Vec<u32> {
        let source = |operation: &Operation| match operation {
            Operation::Receive(receive) if contexts(receive.pattern.context) => receive.pattern.source,
            _ => None,
        };
        self.operations.iter().filter_map(source).collect()
    }

    /// Has `look` look at the result of an operation, which is then forgotten; `None` while it is in flight. It is
    /// looked at where it lies: as a rule nobody wants to know.
    #[inline(always)]
    pub fn collect_seen(&mut self, id: OperationId, look: impl FnOnce(&Outcome)) -> Option<()> {
        self.operations.forget_done(id, look)
    }

    /// The result of an operation, which is then forgotten; `None` while it is in flight.
    #[inline]
    pub fn collect(&mut self, id: OperationId) -> Option<Outcome> {
        self.operations.take_outcome(id)
    }
}

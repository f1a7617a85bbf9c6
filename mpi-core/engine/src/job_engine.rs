//! The engine of a rank, over whichever fabric the job has.
//!
//! A job within one node has [`NodeFabric`], any other [`ClusterFabric`]. Both engines are compiled, and each call
//! tests once which it is: a test in every call of the *fabric* would cost a small message several times as much
//! (docs/decisions/0007).

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rwmpi_protocol::{Counters, Envelope, Pattern, Rule};
use rwmpi_transport::{
    Backoff, ClusterFabric, Distance, Doorbell, ElementLock, Fabric, Heap, JobFabric, LentSpan, NodeFabric, Presence,
    ReadSpan, Reading, RemoteAddress, SharedMemory, SharedPart, SharedWord, SignalSet, SleepState, Waiting, WriteSpan,
};

use crate::event::Observer;
use crate::tuning::Tuning;
use crate::{
    Completion, Engine, Failure, Mark, MatchedMessage, Notes, OperationId, Outcome, Received, Room, Scattered,
    SendMode, Sink, Step, Traffic,
};

/// How long a rank that gives up waits for others to take what it has sent them.
const TIME_TO_LEAVE: Duration = Duration::from_millis(500);

/// One of the two. What its methods do is said at those of [`Engine`] and [`Fabric`].
#[allow(clippy::large_enum_variant)]
pub enum JobEngine {
    Node(Engine<NodeFabric>),
    Cluster(Engine<ClusterFabric>),
}

/// Evaluates the same for whichever it is.
macro_rules! on {
    ($self:expr, $engine:ident => $body:expr) => {
        match $self {
            JobEngine::Node($engine) => $body,
            JobEngine::Cluster($engine) => $body,
        }
    };
}

/// Methods that are the engine's own.
macro_rules! forward {
    ($(fn $name:ident(&mut self $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => {
        impl JobEngine {
            $(
                #[inline(always)]
                pub fn $name(&mut self $(, $argument: $type)*) $(-> $result)? {
                    on!(self, engine => engine.$name($($argument),*))
                }
            )*
        }
    };
}

impl JobEngine {
    pub fn new(fabric: JobFabric, rule: Rule, tuning: &Tuning, notes: Option<Rc<dyn Notes>>) -> Self {
        let mut engine = match fabric {
            // There nobody reads or writes others' memory, who might die.
            JobFabric::Node(fabric) if fabric.keeps_going() => {
                let mut engine = Engine::new(fabric, Rule::Nsr, tuning);
                engine.go_on_without_dead();
                JobEngine::Node(engine)
            }
            JobFabric::Node(fabric) => JobEngine::Node(Engine::new(fabric, rule, tuning)),
            JobFabric::Cluster(fabric) => JobEngine::Cluster(Engine::new(*fabric, rule, tuning)),
        };
        notes.into_iter().for_each(|notes| engine.take_notes(notes));
        engine
    }
}

forward! {
    fn start_send(
        &mut self,
        peer: u32,
        context: u32,
        tag: u32,
        data: ReadSpan<'static>,
        mode: SendMode
    ) -> Result<Option<OperationId>, Failure>;
    fn start_buffered_send(
        &mut self,
        peer: u32,
        context: u32,
        tag: u32,
        data: ReadSpan<'_>
    ) -> Result<Option<OperationId>, Failure>;
    fn receive(&mut self, pattern: Pattern, buffer: WriteSpan<'static>, looks: u32) -> Result<Received, Failure>;
    fn receive_next(&mut self, pattern: Pattern, room: &mut dyn Room, looks: u32) -> Result<Option<Outcome>, Failure>;
    fn start_scattered_send(
        &mut self,
        peer: u32,
        context: u32,
        tag: u32,
        data: Box<dyn Scattered>,
        mode: SendMode
    ) -> Result<Option<OperationId>, Failure>;
    fn start_receive(&mut self, pattern: Pattern, buffer: Sink) -> Result<OperationId, Failure>;
    fn begin_receive(&mut self, pattern: Pattern, span: WriteSpan<'static>) -> Result<Received, Failure>;
    fn start_span_receive(&mut self, pattern: Pattern, span: WriteSpan<'static>) -> Result<OperationId, Failure>;
    fn start_matched_receive(
        &mut self,
        message: MatchedMessage,
        buffer: Sink
    ) -> Result<OperationId, Failure>;
    fn matched_probe(&mut self, pattern: &Pattern) -> Option<(MatchedMessage, Completion)>;
    fn progress(&mut self) -> Result<bool, Failure>;
    fn collect(&mut self, id: OperationId) -> Option<Outcome>;
    fn collect_seen(&mut self, id: OperationId, look: impl FnOnce(&Outcome)) -> Option<()>;
    fn advertises(&mut self, capacity: usize) -> bool;
    fn probe(&mut self, pattern: &Pattern) -> Option<Completion>;
    fn uses_no_memory(&mut self) -> bool;
    fn operations_open(&mut self) -> usize;
    fn forget_lent(&mut self);
    fn cancel(&mut self, id: OperationId) -> Result<(), Failure>;
    fn outcome(&mut self, id: OperationId) -> Option<&Outcome>;
    fn mark(&mut self, mark: Mark) -> ();
    fn completions(&mut self) -> u64;
    fn detach_local(&mut self, id: OperationId);
    fn buffer_sends(&mut self, size: usize);
    fn reads_from_copy(&mut self, id: OperationId) -> bool;
    fn is_send(&mut self, id: OperationId) -> bool;
    fn is_with_receiver(&mut self, id: OperationId) -> bool;
    fn give_up(&mut self, id: OperationId, failure: Failure) -> Failure;
    fn fail(&mut self, failure: Failure) -> Failure;
    fn check_alive(&mut self) -> Result<(), Failure>;
    fn observe(&mut self, observer: Option<Observer>) -> ();
    fn take_notes(&mut self, notes: Rc<dyn Notes>) -> ();
    fn awaited(&mut self, id: OperationId) -> [u64; 2];
    fn acts_later(&mut self) -> bool;
    fn unmatched(&mut self) -> Vec<(Envelope, u64)>;
    fn is_flushed(&mut self) -> bool;
    fn take_stored(&mut self, pattern: &Pattern) -> Option<(Completion, Vec<u8>)>;
    fn drop_agreements(&mut self, context: u32, tag: u32);
    fn take_in(&mut self, peer: u32) -> Result<(), Failure>;
    fn bury(&mut self, peer: u32) -> Result<(), Failure>;
    fn fail_operation(&mut self, id: OperationId, failure: Failure) -> bool;
    fn fail_hopeless(&mut self, is_revoked: &dyn Fn(u32) -> bool) -> bool;
    fn barrier_signal(&mut self, peer: u32, step: Step, in_trouble: bool) -> Result<(), Failure>;
    fn barrier_arrived(&mut self, step: Step) -> Option<bool>;
    fn register_group(&mut self, context: u32, peers: Rc<[u32]>);
    fn forget_group(&mut self, context: u32);
    fn may_publish(&mut self, peers: &[u32]) -> bool;
    fn published(&mut self, peers: &[u32], span: ReadSpan<'_>) -> Option<RemoteAddress>;
    fn read_published(
        &mut self,
        peer: u32,
        address: &RemoteAddress,
        offset: usize,
        into: WriteSpan<'_>,
        reading: Reading
    ) -> Result<(), Failure>;
    fn write_published(
        &mut self,
        peer: u32,
        address: &RemoteAddress,
        offset: usize,
        from: ReadSpan<'_>
    ) -> Result<(), Failure>;
    fn shared_part(&mut self, peer: u32, address: &RemoteAddress) -> Option<SharedPart>;
    fn write_shared(&mut self, part: SharedPart, from: ReadSpan<'_>, far: bool);
    fn fetch_word(&mut self, word: SharedWord, to_write: bool);
    fn word(&mut self, word: SharedWord) -> u64;
    fn set_words(&mut self, words: impl IntoIterator<Item = (SharedWord, u64)>, watchers: &[u32]);
    fn add_to_word(&mut self, word: SharedWord, amount: u64) -> u64;
    fn wake(&mut self, peer: u32);
    fn has_word(&mut self, word: SharedWord, value: u64, looks: u32, next: Option<SharedPart>) -> bool;
    fn stays_awake(&mut self, word: SharedWord, value: u64);
    fn measure_word(&mut self, word: SharedWord, value: u64, looks: u32, distance: &mut Distance) -> bool;
    fn address_of(&mut self, span: ReadSpan<'_>) -> RemoteAddress;
    fn direct(&mut self, peer: u32, address: &RemoteAddress) -> Option<WriteSpan<'static>>;
    fn is_reachable(&mut self, peers: &[u32], span: ReadSpan<'_>) -> bool;
    fn processors(&mut self) -> usize;
    fn is_oversubscribed(&mut self) -> bool;
    fn shares_processor(&mut self, peer: u32) -> bool;
    fn give_way(&mut self);
    fn traffic(&mut self) -> Traffic;
    fn traffic_by_peer(&mut self) -> Vec<(u64, u64)>;
    fn counters(&mut self) -> Counters;
    fn unexpected(&mut self) -> (u64, u64);
}

impl JobEngine {
    /// How often a waiting rank should look before it does anything else.
    #[inline(always)]
    pub fn patience(&self) -> u32 {
        on!(self, engine => engine.patience())
    }

    /// The bytes of a part that peers share.
    #[inline]
    pub fn shared_span(&self, part: SharedPart) -> LentSpan<'_> {
        on!(self, engine => engine.shared_span(part))
    }

    /// Waits a little; the signals that have come.
    pub fn idle(&mut self, backoff: &mut Backoff) -> SignalSet {
        on!(self, engine => {
            engine.fabric.idle(backoff);
            engine.fabric.take_signals()
        })
    }

    /// What wakes this rank from any thread.
    pub fn doorbell(&mut self) -> std::io::Result<Doorbell> {
        match self {
            JobEngine::Node(engine) => Ok(engine.fabric.doorbell()),
            JobEngine::Cluster(engine) => engine.fabric.doorbell(),
        }
    }

    /// This rank will have a progress thread, which sleeps there.
    pub fn employ(&mut self) -> std::io::Result<Arc<SleepState>> {
        on!(self, engine => engine.fabric.employ())
    }

    /// Has whoever has something for this rank ring from now on, unless there is something to do already.
    pub fn arm_doorbell(&mut self) -> bool {
        on!(self, engine => engine.fabric.arm_doorbell(engine.awaits_answers()))
    }

    /// Nobody needs to ring.
    pub fn disarm_doorbell(&mut self) {
        match self {
            JobEngine::Node(engine) => engine.fabric.disarm_doorbell(),
            JobEngine::Cluster(engine) => engine.fabric.node().disarm_doorbell(),
        }
    }

    /// The signals that have come.
    pub fn signals(&mut self) -> SignalSet {
        on!(self, engine => engine.fabric.take_signals())
    }

    /// How many bytes have been sent over the network so far, and how many were taken in.
    pub fn carried(&self) -> [u64; 2] {
        on!(self, engine => engine.fabric.carried())
    }

    pub fn me_and_peers(&self) -> (u32, u32) {
        on!(self, engine => (engine.fabric.me() as u32, engine.fabric.peers() as u32))
    }

    /// Whether memory can be shared with `peer`.
    pub fn shares_memory_with(&self, peer: u32) -> bool {
        on!(self, engine => engine.fabric.shares_memory_with(peer as usize))
    }

    /// Which node `peer` is on: the same number at every rank.
    pub fn node_of(&self, peer: u32) -> usize {
        on!(self, engine => engine.fabric.node_of(peer as usize))
    }

    /// Whether `peer` still takes part, as far as it is known; a peer elsewhere that has not been heard of is asked.
    pub fn presence(&mut self, peer: u32) -> Presence {
        match self {
            JobEngine::Node(engine) => engine.fabric.presence(peer as usize),
            JobEngine::Cluster(engine) => {
                engine.fabric.ask(peer as usize);
                engine.fabric.presence(peer as usize)
            }
        }
    }

    /// Whether the process of `peer` is no more, if it is on this node; or the connection with it is broken.
    pub fn is_gone(&self, peer: u32) -> bool {
        match self {
            JobEngine::Node(engine) => engine.fabric.job().is_gone(peer as usize),
            JobEngine::Cluster(engine) => engine.fabric.is_gone(peer as usize),
        }
    }

    /// Whether it is known of anybody that it does not take part any more.
    pub fn has_anybody_gone(&self) -> bool {
        match self {
            JobEngine::Node(engine) => engine.fabric.has_anybody_gone(),
            JobEngine::Cluster(engine) => engine.fabric.has_anybody_gone(),
        }
    }

    /// Whether all peers are on this node.
    pub fn is_of_one_node(&self) -> bool {
        matches!(self, JobEngine::Node(_))
    }

    /// A number that changes whenever a peer of this node has died, or left a notice.
    pub fn news(&self) -> u64 {
        match self {
            JobEngine::Node(engine) => engine.fabric.news(),
            JobEngine::Cluster(_) => 0,
        }
    }

    /// The notices of all peers of this node, and whether these are all that they have begun to leave.
    pub fn notices(&self) -> (Vec<u64>, bool) {
        match self {
            JobEngine::Node(engine) => engine.fabric.notices(),
            JobEngine::Cluster(_) => (Vec::new(), true),
        }
    }

    /// Leaves a notice for all; false if that can't be done.
    pub fn leave_notice(&self, notice: u64) -> bool {
        match self {
            JobEngine::Node(engine) => engine.fabric.leave_notice(notice),
            JobEngine::Cluster(_) => false,
        }
    }

    /// The sources of the receives in flight in such contexts.
    pub fn sources(&self, contexts: fn(u32) -> bool) -> Vec<u32> {
        on!(self, engine => engine.sources(contexts))
    }

    /// Says that this rank is about to finalize with the others: everything else that it sends has been sent.
    pub fn begin_to_leave(&mut self) {
        on!(self, engine => engine.fabric.depart(Presence::Leaving));
    }

    /// Counts memory of this rank that a window is made of, for reports.
    pub fn count_window(&self, is_mapped_by_all: bool) {
        match self {
            JobEngine::Node(engine) => engine.fabric.count_window(is_mapped_by_all),
            JobEngine::Cluster(engine) => engine.fabric.node().count_window(is_mapped_by_all),
        }
    }

    /// The same of a window for which this rank serves others elsewhere.
    pub fn count_served_window(&self) {
        if let JobEngine::Cluster(engine) = self {
            engine.fabric.node().count_served_window();
        }
    }

    /// What makes operations on elements of `peer`'s memory atomic; `None` where no memory is shared with it.
    pub fn element_lock(&self, peer: u32, address: &RemoteAddress) -> Option<ElementLock> {
        match self {
            JobEngine::Node(engine) => Some(engine.fabric.element_lock(peer as usize, address)),
            JobEngine::Cluster(engine) => engine.fabric.element_lock(peer as usize, address),
        }
    }

    pub fn heap(&self) -> &Heap {
        match self {
            JobEngine::Node(engine) => engine.fabric.heap(),
            JobEngine::Cluster(engine) => engine.fabric.node().heap(),
        }
    }

    /// Says that this rank is about to [finish](JobEngine::finish), without waiting for anybody.
    pub fn begin_to_finish(&mut self) {
        match self {
            JobEngine::Node(_) => {}
            JobEngine::Cluster(engine) => engine.fabric.begin_to_finish(),
        }
    }

    /// Ends in good order, as all others do.
    pub fn finish(&mut self) {
        match self {
            JobEngine::Node(engine) => {
                engine.forget_groups();
                engine.fabric.finish();
            }
            JobEngine::Cluster(engine) => {
                engine.forget_groups();
                engine.fabric.finish();
            }
        }
    }

    /// Ends without the others, as soon as they have what was sent to them, or will not take it.
    pub fn leave(&mut self) {
        match self {
            JobEngine::Node(engine) => engine.fabric.depart(Presence::Left),
            JobEngine::Cluster(engine) => engine.fabric.leave(TIME_TO_LEAVE),
        }
    }

    pub fn abort(&mut self, code: i32, reason: &str) {
        on!(self, engine => engine.fabric.abort(code, reason));
    }
}

//! One rank, or one lane of it: its engine, and what all its communicators share. Every wait of a rank goes through
//! here.

mod awaited_words;
mod big_lock;
pub mod company;
pub mod departure;
pub(crate) mod failures;
pub(crate) mod lanes;
mod noted_wait;
mod outlasting;
mod services;
mod wait;

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::rc::Rc;
use std::time::Duration;

use rwmpi_protocol::{Pattern, Rule};
use rwmpi_transport::{
    ActivityRecord, Backoff, BigLock, BigLocks, JobEnder, JobFabric, ReadSpan, Signal, SignalSet, WriteSpan,
};

use crate::activity::{self, Call, Target};
use crate::answer::Answers;
use crate::engine::{Completion, Failure, JobEngine, Notes, OperationId, Outcome, Received, Room, SendMode, TaskId};
use crate::numbers::Numbers;
use crate::profile::Recorder;
use crate::streams::Streams;
use crate::task::Tasks;
use crate::tuning::Tuning;
use crate::waiting::Awaited;
use crate::wakers::Wakers;
use company::Company;
use failures::Failures;
use lanes::Lanes;
pub use outlasting::Retired;
use services::Services;

/// How long a lost peer is the launcher's business alone.
const TIME_TO_REPORT: Duration = Duration::from_secs(1);

/// How often a thread looks for its message while others may want their lock.
const LOOKS_OF_MANY: u32 = 16;

/// What a rank owns, or a lane of it ([`Lanes`]). Communicators, requests and scopes hold it together; it belongs to
/// one thread.
pub struct Process {
    engine: RefCell<JobEngine>,
    /// Who takes notes, if somebody wants them.
    recorder: Option<Rc<Recorder>>,
    rule: Rule,
    tuning: Tuning,
    activity: ActivityRecord,
    ender: JobEnder,
    /// The lock, where several threads act as this rank, one at a time.
    lock: OnceCell<&'static BigLock>,
    /// Those of all lanes, if there are several: whoever waits may have them all.
    locks: OnceCell<&'static BigLocks>,
    lanes: Rc<Lanes>,
    lane: usize,
    /// Whether there may be other engines of the rank for whoever waits in this one: those of lanes, or of other files.
    has_others: Cell<bool>,
    /// How many operations are performed outside of all engines.
    outside: Cell<i32>,
    /// Those of other files, once there are any.
    company: OnceCell<Rc<Company>>,
    /// Whose numbers its peers have, if not those of the job.
    numbers: OnceCell<Numbers>,
    /// How many communicators it has.
    communicators: Cell<usize>,
    /// Nonblocking collectives in flight.
    tasks: Tasks,
    /// What is done for others as this rank makes progress.
    services: Services,
    /// How many blocking ones are: one calls a function of the program's that calls another.
    driven: Cell<u32>,
    /// Buffered sends that nobody waits for; collected when they are done.
    detached: RefCell<Vec<OperationId>>,
    /// Whatever goes on although nobody holds its request any more; true once it has ended.
    abandoned: RefCell<Vec<Box<dyn FnMut() -> bool>>>,
    pub(crate) wakers: Wakers,
    /// What it has answered when it was asked what it waits for.
    pub answers: Answers,
    /// Slots of communicators that are gone, at which others may still look.
    retired: RefCell<Vec<Box<dyn Retired>>>,
    /// What the present wait waits for.
    awaited: Cell<Awaited>,
    /// How many calls in a row that do not wait have found nothing while nothing else happened either.
    pub in_vain: Cell<u32>,
    finalized: Cell<bool>,
    /// Tags for partitioned sends.
    streams: Streams,
    /// How many windows there are: peers use memory of this rank's at any time.
    windows: Cell<usize>,
    /// How often others have asked this rank to look around, as they do when they leave.
    calls_to_look: Cell<u32>,
    /// Waits may sleep after a few looks: whether they are in vain is to be known before.
    pub may_sleep_soon: Cell<bool>,
    /// A lost peer was left to the launcher to report.
    left_to_launcher: Cell<bool>,
    /// What it has heard of failures that the job survives.
    failures: Failures,
}

impl Process {
    /// That one of these lanes.
    pub fn new(
        fabric: JobFabric,
        rule: Rule,
        tuning: &Tuning,
        (lanes, lane): (Rc<Lanes>, usize),
        recorder: Option<Rc<Recorder>>,
    ) -> Self {
        let notes = recorder.clone().map(|recorder| recorder as Rc<dyn Notes>);
        let may_sleep_soon = Cell::new(matches!(fabric, JobFabric::Cluster(_)));
        let failures = Failures::new(matches!(&fabric, JobFabric::Node(fabric) if fabric.keeps_going()));
        Process {
            activity: fabric.activity(),
            ender: fabric.ender(),
            engine: RefCell::new(JobEngine::new(fabric, rule, tuning, notes)),
            recorder,
            rule,
            tuning: *tuning,
            lock: OnceCell::new(),
            locks: OnceCell::new(),
            lanes,
            lane,
            has_others: Cell::new(false),
            outside: Cell::new(0),
            company: OnceCell::new(),
            numbers: OnceCell::new(),
            communicators: Cell::new(0),
            tasks: Tasks::default(),
            services: Services::default(),
            driven: Cell::new(0),
            detached: RefCell::default(),
            abandoned: RefCell::default(),
            wakers: Wakers::default(),
            answers: Answers::default(),
            retired: RefCell::default(),
            awaited: Cell::new(Awaited::Unknown),
            in_vain: Cell::new(0),
            finalized: Cell::new(false),
            streams: Streams::default(),
            windows: Cell::new(0),
            calls_to_look: Cell::new(0),
            may_sleep_soon,
            left_to_launcher: Cell::new(false),
            failures,
        }
    }

    /// Tags for partitioned sends.
    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// The values by which ways are chosen.
    #[inline]
    pub fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    /// The engine; never held while foreign code runs or the rank waits.
    #[inline(always)]
    pub fn engine(&self) -> RefMut<'_, JobEngine> {
        self.engine.borrow_mut()
    }

    /// The engine, after telling the watchers what it will be doing.
    #[inline(always)]
    pub fn enter(&self, call: Call, target: Target, context: u32, bytes: usize) -> RefMut<'_, JobEngine> {
        self.tell(call, target, context, bytes);
        self.engine.borrow_mut()
    }

    /// Tells the watchers what this rank will be doing.
    #[inline(always)]
    pub fn tell(&self, call: Call, target: Target, context: u32, bytes: usize) {
        self.activity.publish(0, activity::words(call, target, context, bytes));
    }

    /// The nonblocking collectives in flight.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Deals with what has arrived and goes on with what was blocked, nonblocking collectives included; true if
    /// anything happened that may let a wait end.
    pub fn progress(&self) -> Result<bool, Failure> {
        let moved = self.engine().progress()?;
        let moved = self.serve()? || moved;
        let moved = self.poll_tasks() || moved;
        if moved {
            self.in_vain.set(0);
        }
        if let Some(lock) = self.lock.get() {
            lock.found(moved);
        }
        Ok(moved)
    }

    /// Polls the nonblocking collectives in flight; true if one came to its end.
    #[inline]
    pub fn poll_tasks(&self) -> bool {
        self.tasks.poll_all(&self.awaited)
    }

    /// As [`Process::progress`], in all engines of the rank that this thread has.
    #[inline]
    pub fn progress_all(&self) -> Result<bool, Failure> {
        if self.has_others.get() { self.progress_with_others() } else { self.progress() }
    }

    /// As [`Process::progress_all`], for a call that does not wait for `awaited`, and then what `find` finds.
    pub fn look_for<R>(
        &self,
        awaited: Awaited,
        find: impl FnOnce(&mut JobEngine) -> Option<R>,
    ) -> Result<Option<R>, Failure> {
        self.progress_all()?;
        let found = find(&mut self.engine());
        if found.is_none() {
            self.found_nothing(awaited)?;
        }
        Ok(found)
    }

    /// Waits a little, as long as the transport sees fit. An error if the job has been aborted.
    pub fn idle(&self, backoff: &mut Backoff) -> Result<(), Failure> {
        if self.has_others.get()
            && let Some(stood_by) = self.stand_by(backoff)
        {
            return stood_by;
        }
        if self.let_others_in() {
            return self.engine().check_alive();
        }
        let mut engine = self.engine();
        let signals = engine.idle(backoff);
        self.heed(engine, signals)
    }

    /// Heeds the signals that have come. An error if the job has been aborted.
    pub fn take_signals(&self) -> Result<(), Failure> {
        let mut engine = self.engine();
        let signals = engine.signals();
        self.heed(engine, signals)
    }

    #[inline]
    fn heed(&self, mut engine: RefMut<'_, JobEngine>, signals: SignalSet) -> Result<(), Failure> {
        if signals.contains(Signal::Abort) {
            return Err(engine.fail(Failure::Aborted));
        }
        if signals.contains(Signal::Wake) {
            self.calls_to_look.set(self.calls_to_look.get().wrapping_add(1));
        }
        engine.check_alive()
    }

    /// Whether no peer can be using memory of this rank's in this lane: nothing is under way.
    pub fn is_idle(&self) -> bool {
        let is_free = || self.engine.try_borrow_mut().is_ok_and(|mut engine| engine.uses_no_memory());
        self.driven.get() == 0
            && !self.has_joined()
            && self.windows.get() == 0
            && !self.tasks.are_running()
            && is_free()
    }

    /// Waits for an operation and forgets it: whatever the outcome, nobody touches its buffer any more.
    #[inline]
    pub fn wait(&self, id: OperationId) -> Outcome {
        let completed = self.engine().collect(id);
        completed.unwrap_or_else(|| self.wait_on(id))
    }

    /// As [`Process::wait`], of an operation that an earlier call has started. If it has not completed, the watchers
    /// hear what it was: what they were told last may have been another.
    #[inline]
    pub fn wait_for_started(&self, id: OperationId, (call, context): (Call, u32)) -> Outcome {
        let completed = self.engine().collect(id);
        completed.unwrap_or_else(|| {
            self.tell(call, Target::NONE, context, 0);
            self.wait_on(id)
        })
    }

    fn wait_on(&self, id: OperationId) -> Outcome {
        self.engine().detach_local(id);
        let waited = self.wait_for_awaited(Awaited::Operation(id), || self.engine().collect(id));
        waited.unwrap_or_else(|failure| Err(self.wait_has_failed(id, failure)))
    }

    /// A wait for an operation has failed, which is given up.
    #[cold]
    fn wait_has_failed(&self, id: OperationId, failure: Failure) -> Failure {
        let failure = match failure {
            Failure::Unacknowledged { peer } => Failure::Died { peer },
            other => other,
        };
        let mut engine = self.engine();
        if engine.check_alive().is_ok() && self.keeps_going() && engine.fail_operation(id, failure) {
            let _ = engine.collect(id);
            return failure;
        }
        engine.give_up(id, failure)
    }

    /// Whether an operation has completed, so that waiting for it takes no time. Makes no progress.
    pub fn has_completed(&self, id: OperationId) -> bool {
        let mut engine = self.engine();
        engine.detach_local(id);
        engine.outcome(id).is_some()
    }

    /// The result of an operation if it has completed; then it is forgotten. After an error it still has to be waited
    /// for.
    pub fn test(&self, id: OperationId) -> Result<Option<Outcome>, Failure> {
        let mut engine = self.engine();
        if let Some(outcome) = engine.collect(id) {
            return Ok(Some(outcome));
        }
        engine.detach_local(id);
        drop(engine);
        self.look_for(Awaited::Operation(id), |engine| engine.collect(id))
    }

    /// Waits for a nonblocking collective and forgets it.
    pub fn wait_for_task(&self, id: TaskId) -> Outcome {
        let ended = self.wait_for_awaited(Awaited::Task(id), || self.tasks.collect(id));
        // Where even waiting fails, the task must not go on using the caller's memory.
        ended.inspect_err(|_| self.tasks.cancel(id))?.map(|()| Completion::SENT)
    }

    /// Goes on with a send: returns when the buffer may be used again (or, synchronous, when the receive was matched).
    /// The common small message makes no operation. `engine` is this rank's, as [`Process::enter`] gave it.
    #[inline(always)]
    pub fn send(
        &self,
        mut engine: RefMut<'_, JobEngine>,
        envelope: (u32, u32, u32),
        data: ReadSpan<'static>,
        mode: SendMode,
    ) -> Result<(), Failure> {
        let (peer, context, tag) = envelope;
        let started = engine.start_send(peer, context, tag, data, mode)?;
        drop(engine);
        match started {
            None => Ok(()),
            Some(id) if self.leaves_from_copy(id) => Ok(()),
            Some(id) => self.wait(id).map(drop),
        }
    }

    /// Receives, and returns when the message is in the buffer. `engine` as for [`Process::send`].
    #[inline(always)]
    pub fn receive(
        &self,
        mut engine: RefMut<'_, JobEngine>,
        pattern: Pattern,
        buffer: WriteSpan<'static>,
    ) -> Result<Completion, Failure> {
        let looks = self.looks(&engine);
        let received = engine.receive(pattern, buffer, looks)?;
        drop(engine);
        match received {
            Received::Now(completion) => Ok(completion),
            Received::Later(id) => self.wait(id),
        }
    }

    /// Receives the short message that is the next to arrive, if it is wanted, into `room`, which is made for it.
    /// `None` if it is not like that, or there is no room: then the message is still to be received.
    #[inline]
    pub fn receive_next(
        &self,
        mut engine: RefMut<'_, JobEngine>,
        pattern: Pattern,
        room: &mut dyn Room,
    ) -> Result<Option<Completion>, Failure> {
        let looks = self.looks(&engine);
        engine.receive_next(pattern, room, looks)?.transpose()
    }

    /// How often a receive that waits looks for its message at once: as often as a waiting rank should, unless other
    /// threads may want their lock.
    #[inline(always)]
    pub fn looks(&self, engine: &JobEngine) -> u32 {
        if self.others_may_want_lock() { LOOKS_OF_MANY } else { engine.patience() }
    }

    /// Who takes notes, if somebody wants them.
    pub fn recorder(&self) -> Option<&Rc<Recorder>> {
        self.recorder.as_ref()
    }

    /// This rank's number in the job, and how many ranks the job has.
    pub fn me_and_peers(&self) -> (u32, u32) {
        self.engine.borrow().me_and_peers()
    }

    /// A peer was lost. Whoever started the job learns of its death too, and is about to end the job with one report
    /// that says why: only if that does not happen is it for this rank to complain.
    #[cold]
    pub fn leave_report_to_launcher(&self) {
        if !self.left_to_launcher.replace(true) {
            std::thread::sleep(TIME_TO_REPORT);
        }
    }

    /// Ends the job. Whoever has started it learns of that also where a signal handler says so while the engine is in
    /// use.
    pub fn end_job(&self, code: i32, reason: &str) {
        self.ender.end(code, reason);
        if let Ok(mut engine) = self.engine.try_borrow_mut() {
            engine.abort(code, reason);
        }
    }

    /// What the present wait waits for.
    pub fn awaiting(&self) -> Awaited {
        self.awaited.get()
    }

    /// Whether a collective is in progress.
    pub fn is_in_collective(&self) -> bool {
        self.driven.get() > 0 || self.tasks.are_running()
    }

    /// How often others have asked this rank to look around.
    #[inline(always)]
    pub fn calls_to_look(&self) -> u32 {
        self.calls_to_look.get()
    }

    /// Whether several threads act as this rank.
    pub fn is_shared(&self) -> bool {
        self.lock.get().is_some()
    }

    /// Whether the rank is leaving.
    pub fn is_finalizing(&self) -> bool {
        self.finalized.get()
    }

    /// A window has been made.
    pub fn has_window(&self) {
        self.windows.set(self.windows.get() + 1);
    }

    /// A window is no more.
    pub fn has_window_no_more(&self) {
        self.windows.set(self.windows.get() - 1);
    }

    /// Marks the rank as leaving; true the first time.
    pub fn begin_finalize(&self) -> bool {
        !self.finalized.replace(true)
    }
}

//! Who takes part in a collective, as its algorithm sees it, and the messages between them.
//!
//! Every collective of a communicator has a tag of its own, so messages of two that are in flight at once never mix.
//! Within one collective, two ranks exchange messages in the order that the algorithm says.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::hint::cold_path;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use rwmpi_protocol::Pattern;
use rwmpi_transport::{LentSpan, ReadSpan, SharedPart, WriteSpan};
use smallvec::SmallVec;

use crate::Mark;
use crate::Outcome;
use crate::agreement;
use crate::engine::{Completion, Failure, OperationId, Received, SendMode};
use crate::nodes::OnceNodes;
use crate::process::Process;
use crate::slots::{Nonblocking, OnceSlots};
use crate::waiting::Awaited;

/// The ranks of one group and what is needed to exchange messages with them.
#[derive(Clone, Copy)]
pub struct Team<'a> {
    pub process: &'a Process,
    /// By rank.
    pub peers: &'a [u32],
    /// The caller's rank.
    pub rank: usize,
    pub context: u32,
    pub tag: u32,
    /// Whether the caller does nothing but wait for the collective: then looking at a queue for a while beats posting a
    /// receive.
    pub waits: bool,
    /// The slots of a nonblocking one.
    pub nonblocking: Option<&'a Nonblocking<'a>>,
    /// What its messages say about their type.
    pub mark: Mark,
    /// What has gone wrong here first. `None` where a message of another length than expected is nobody's mistake.
    pub trouble: Option<&'a Trouble>,
    /// Whether a rank that is in trouble sends nothing in place of its data, so that all who depend on them learn of
    /// it. Not where what is sent says what will be sent next.
    pub spreads_trouble: bool,
    /// Those of its communicator.
    pub slots: Option<&'a OnceSlots>,
    /// Those of its communicator; `None`: its collectives do not go by nodes.
    pub nodes: Option<&'a OnceNodes>,
}

/// What has gone wrong in a collective on this rank, which takes part to its end all the same: otherwise others would
/// wait in vain.
#[derive(Default)]
pub struct Trouble {
    /// Asked first: to copy a failure that is none takes long where little of it has been written
    /// (docs/decisions/0049).
    is_there: Cell<bool>,
    failure: Cell<Option<Failure>>,
}

impl Trouble {
    pub(crate) fn get(&self) -> Option<Failure> {
        self.failure.get()
    }

    /// At the end of the collective, which has a result of its own.
    #[inline]
    pub fn outcome(&self) -> Outcome {
        if !self.is_there.get() {
            return Ok(());
        }
        cold_path();
        self.failure.get().map_or(Ok(()), Err)
    }

    fn set(&self, failure: Failure) {
        self.is_there.set(true);
        self.failure.set(Some(failure));
    }
}

/// Messages in flight that use memory borrowed for `'a`. Dropping it cancels those that can be and waits for the
/// others, so it must not be forgotten.
pub struct Flights<'a> {
    team: Team<'a>,
    /// With the number of bytes expected.
    ids: SmallVec<[(OperationId, u64); 4]>,
    /// The first message that there was no room for. The others are received all the same: whoever sends them waits for
    /// that.
    too_long: Option<Failure>,
    memory: PhantomData<(&'a [u8], &'a mut [u8])>,
}

/// In place of a number of bytes expected: it is a send.
const SENT: u64 = u64::MAX;

impl<'a> Team<'a> {
    /// Those of one group. Made in one piece: to copy parts of it that have just been written takes long
    /// (docs/decisions/0049).
    #[inline(always)]
    pub fn new(
        process: &'a Process,
        (peers, rank): (&'a [u32], usize),
        [context, tag]: [u32; 2],
        waits: bool,
        (slots, nodes): (Option<&'a OnceSlots>, Option<&'a OnceNodes>),
    ) -> Self {
        let (mark, spreads_trouble, nonblocking, trouble) = (Mark::NONE, false, None, None);
        Team { process, peers, rank, context, tag, waits, nonblocking, mark, trouble, spreads_trouble, slots, nodes }
    }

    #[inline]
    pub fn size(&self) -> usize {
        self.peers.len()
    }

    /// The other ranks, each rank's beginning with the next, so that no one is flooded.
    pub(crate) fn others_in_turn(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let (me, size) = (self.rank, self.size());
        (1..size).map(move |step| (me + step) % size)
    }

    /// Something has gone wrong on this rank.
    #[cold]
    pub fn note(&self, failure: Failure) {
        if let Some(trouble) = self.trouble {
            trouble.set(trouble.get().unwrap_or(failure));
        }
    }

    /// The same, which ends the collective where nothing is noted.
    #[cold]
    pub(crate) fn note_or_end(&self, failure: Failure) -> Outcome {
        self.note(failure);
        if self.trouble.is_some() { Ok(()) } else { Err(failure) }
    }

    /// What is really wrong has come out.
    #[cold]
    pub(crate) fn note_instead(&self, failure: Failure) {
        self.trouble.into_iter().for_each(|trouble| trouble.set(failure));
    }

    /// What `source` says about the type of its data.
    #[inline]
    pub(crate) fn listen(&self, source: u32, mark: Mark) {
        if mark.contradicts(self.mark) {
            self.note(Failure::OtherType { source, sent: mark, of: self.mark.name() });
        }
    }

    pub fn is_in_trouble(&self) -> bool {
        self.trouble.is_some_and(|trouble| trouble.is_there.get())
    }

    /// Where a message has been received: whether it is what was expected. An error that ends the collective is one of
    /// the transport.
    #[inline]
    pub(crate) fn check(&self, received: Result<Completion, Failure>, expected: u64) -> Outcome {
        if let Ok(Completion { source, mark, .. }) = received {
            self.listen(source, mark);
        }
        match received {
            Ok(completion) if completion.bytes == expected || expected == SENT => Ok(()),
            Ok(Completion { source, bytes: 0, .. }) => {
                self.note(Failure::Nothing { source });
                Ok(())
            }
            Ok(Completion { source, bytes, .. }) | Err(Failure::Truncated { source, bytes, .. })
                if self.trouble.is_some() =>
            {
                // Nobody's data may be that long: it says that longer ones were to come.
                let is_announcement = bytes == agreement::LEN as u64;
                let length = Failure::WrongLength { source, bytes, expected };
                self.note(if is_announcement { Failure::OtherLength { source, expected } } else { length });
                Ok(())
            }
            other => other.map(drop),
        }
    }

    /// The bytes of a part that its ranks share.
    #[inline]
    pub(crate) fn shared_span(self, part: SharedPart) -> LentSpan<'a> {
        let engine = self.process.engine();
        // SAFETY: the memory stays mapped as long as the process has its engine, which is for its life, and the team
        // borrows it.
        unsafe { engine.shared_span(part).extended() }
    }

    pub fn flights(self) -> Flights<'a> {
        Flights { team: self, ids: SmallVec::new(), too_long: None, memory: PhantomData }
    }

    /// Returns when `data` may be used again.
    pub async fn send(self, data: ReadSpan<'_>, to: usize) -> Outcome {
        let mut flights = self.flights();
        flights.send(data, to)?;
        flights.await
    }

    pub async fn receive(self, into: WriteSpan<'_>, from: usize) -> Outcome {
        self.receive_expecting(into, into.len(), from).await
    }

    /// As [`Team::receive`], of `expected` bytes where there is room for more.
    pub(crate) async fn receive_expecting(self, into: WriteSpan<'_>, expected: usize, from: usize) -> Outcome {
        let mut flights = self.flights();
        flights.receive_next(into, expected, from)?;
        flights.await
    }

    /// Sends and receives at once.
    pub(crate) async fn exchange(self, data: ReadSpan<'_>, to: usize, into: WriteSpan<'_>, from: usize) -> Outcome {
        let mut flights = self.flights();
        if self.process.engine().advertises(into.len()) {
            flights.receive(into, from)?;
            flights.send(data, to)?;
        } else {
            flights.send(data, to)?;
            flights.receive_next(into, into.len(), from)?;
        }
        flights.await
    }

    /// One round of a barrier: tells `to`; whether this rank has been told already by `by`, who has it as its `to`. Who
    /// is told by a rank in trouble is in trouble, too.
    pub(crate) fn tell(&self, round: u32, to: usize, by: usize) -> Result<bool, Failure> {
        let step = [self.context, self.tag, round];
        let mut engine = self.process.engine();
        engine.barrier_signal(self.peers[to], step, self.is_in_trouble())?;
        let told = engine.barrier_arrived(step);
        drop(engine);
        Ok(told.map(|in_trouble| self.told(in_trouble, by)).is_some())
    }

    /// Tells `to` that this rank has come to that round.
    pub(crate) fn say(&self, round: u32, to: usize) -> Outcome {
        self.process.engine().barrier_signal(self.peers[to], [self.context, self.tag, round], self.is_in_trouble())
    }

    fn told(&self, in_trouble: bool, by: usize) {
        if in_trouble {
            self.note(Failure::Nothing { source: self.peers[by] });
        }
    }

    /// Why it can't be completed, if a rank has died, or its communicator was revoked, in a job that goes on.
    #[inline]
    pub(crate) fn interrupted(&self) -> Option<Failure> {
        self.process.interruption(self.context, self.peers)
    }

    /// Fails if this rank has heard that a member has died, or that the communicator was revoked; called before a
    /// collective sends anything. A rank that has left a collective because of a death no longer begins the same
    /// collectives as ranks that have not heard of it yet, so its tags differ from theirs: it would match their
    /// messages of one collective in another.
    #[inline]
    pub fn check_can_begin(&self) -> Outcome {
        if self.process.keeps_going() { self.heed_failures() } else { Ok(()) }
    }

    #[cold]
    fn heed_failures(&self) -> Outcome {
        self.process.heed_failures()?;
        self.interrupted().map_or(Ok(()), Err)
    }

    /// Waits to be told by `from`.
    pub(crate) async fn hear(&self, round: u32, from: usize) -> Outcome {
        let step = [self.context, self.tag, round];
        poll_fn(|_| {
            let told = self.process.engine().barrier_arrived(step);
            if let Some(in_trouble) = told {
                self.told(in_trouble, from);
                return Poll::Ready(Ok(()));
            }
            self.process.now_awaits(Awaited::Step(self.peers[from]));
            self.interrupted().map_or(Poll::Pending, |failure| Poll::Ready(Err(failure)))
        })
        .await
    }

    /// Whether this rank's own `bytes` bytes fit into where they go.
    pub fn check_fits(self, bytes: usize, capacity: usize) -> Outcome {
        if bytes <= capacity {
            return Ok(());
        }
        let (source, bytes, capacity) = (self.peers[self.rank], bytes as u64, capacity as u64);
        Err(Failure::Truncated { source, tag: self.tag, bytes, capacity })
    }

    /// As [`Team::copy`], in a collective that goes through `working_set` bytes of memory in all ranks together.
    pub(crate) fn copy_of(self, working_set: usize, data: ReadSpan<'_>, into: WriteSpan<'_>) -> Outcome {
        self.check_fits(data.len(), into.len())?;
        data.copy_of_working_set_to(into, working_set as u64);
        Ok(())
    }

    /// Copies this rank's own data to where they go.
    pub fn copy(self, data: ReadSpan<'_>, into: WriteSpan<'_>) -> Outcome {
        self.check_fits(data.len(), into.len())?;
        data.copy_long_to(into);
        Ok(())
    }

    fn pattern(&self, from: usize) -> Pattern {
        Pattern { context: self.context, source: Some(self.peers[from]), tag: Some(self.tag) }
    }
}

impl<'a> Flights<'a> {
    /// Starts a send.
    #[inline]
    pub fn send(&mut self, data: ReadSpan<'a>, to: usize) -> Outcome {
        let Team { process, peers, context, tag, .. } = self.team;
        let data = if self.team.spreads_trouble && self.team.is_in_trouble() { ReadSpan::EMPTY } else { data };
        // SAFETY: `self` keeps the operation and completes it before `'a`, for which the memory is valid, ends.
        let data = unsafe { ReadSpan::new(data.start(), data.len()) };
        let mut engine = process.engine();
        engine.mark(self.team.mark);
        let started = engine.start_send(peers[to], context, tag, data, SendMode::InPlace)?;
        self.ids.extend(started.map(|id| (id, SENT)));
        Ok(())
    }

    /// Starts a receive.
    #[inline]
    pub(crate) fn receive(&mut self, into: WriteSpan<'a>, from: usize) -> Outcome {
        // SAFETY: as in `send`.
        let into = unsafe { WriteSpan::new(into.start(), into.len()) };
        let id = self.team.process.engine().start_span_receive(self.team.pattern(from), into)?;
        self.ids.push((id, into.len() as u64));
        Ok(())
    }

    /// As [`Flights::receive`], for the message that the caller waits for next, of `expected` bytes.
    #[inline]
    pub(crate) fn receive_next(&mut self, into: WriteSpan<'a>, expected: usize, from: usize) -> Outcome {
        // SAFETY: as in `send`.
        let into = unsafe { WriteSpan::new(into.start(), into.len()) };
        let mut engine = self.team.process.engine();
        let pattern = self.team.pattern(from);
        let looks = if self.team.waits { self.team.process.looks(&engine) } else { 1 };
        let outcome = match engine.receive(pattern, into, looks) {
            Ok(Received::Later(id)) => {
                self.ids.push((id, expected as u64));
                return Ok(());
            }
            Ok(Received::Now(completion)) => Ok(completion),
            Err(failure) => Err(failure),
        };
        self.settle(outcome, expected as u64)
    }

    #[inline]
    fn settle(&mut self, outcome: Result<Completion, Failure>, expected: u64) -> Outcome {
        match self.team.check(outcome, expected) {
            Err(failure @ Failure::Truncated { .. }) => {
                self.too_long.get_or_insert(failure);
                Ok(())
            }
            settled => settled,
        }
    }

    #[inline]
    fn outcome(&self) -> Outcome {
        if self.too_long.is_none() {
            return Ok(());
        }
        cold_path();
        self.too_long.map_or(Ok(()), Err)
    }
}

/// Ends when all have completed. After an error of the transport the others are ended too.
impl Future for Flights<'_> {
    type Output = Outcome;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        if self.ids.is_empty() {
            return Poll::Ready(self.outcome());
        }
        let mut engine = self.team.process.engine();
        while let Some(&(id, expected)) = self.ids.last() {
            let Some(outcome) = engine.collect(id) else {
                self.team.process.now_awaits(Awaited::Operation(id));
                return self.team.interrupted().map_or(Poll::Pending, |failure| Poll::Ready(Err(failure)));
            };
            self.ids.pop();
            self.settle(outcome, expected)?;
        }
        Poll::Ready(self.outcome())
    }
}

impl Flights<'_> {
    #[cold]
    fn end(&mut self) {
        for &(id, _) in &self.ids {
            // What can't be cancelled is waited for; where even that fails, the transport has, and nothing will come.
            let _ = self.team.process.engine().cancel(id);
        }
        for (id, expected) in std::mem::take(&mut self.ids) {
            match self.team.nonblocking.filter(|_| expected == SENT) {
                Some(nonblocking) => nonblocking.leave(id),
                None => drop(self.team.process.wait(id)),
            }
        }
    }
}

impl Drop for Flights<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.ids.is_empty() {
            self.end();
        }
    }
}

//! What a simulated rank does: its part of the program, then clearing up, then checking that nothing is left in its
//! engine.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use rwmpi_protocol::Pattern;
use rwmpi_transport::{Backoff, ReadSpan, Signal, Waiting, WriteSpan};

use super::fabric::{SimFabric, Turn};
use super::memory::{Apart, BlockId, Use, bytes};
use super::network::Network;
use super::oracle::{Bytes, Got, Message, Receive, Record, contents};
use super::program::{BARRIERS, FREE, How, MEETING, Mode, Program, Step};
use crate::Received;
use crate::tuning::Tuning;
use crate::{Completion, Engine, Failure, OperationId, Outcome, SendMode, Sink};

/// What all ranks of a run share.
pub(super) struct World {
    pub(super) program: Program,
    pub(super) network: Rc<RefCell<Network>>,
    pub(super) record: RefCell<Record>,
    /// Ranks that have done their steps.
    pub(super) done: Cell<usize>,
    /// Messages that somebody's receive waits for, by who is to send them.
    pub(super) errands: RefCell<Vec<VecDeque<Errand>>>,
}

/// A message that a receive waits for.
#[derive(Clone, Copy)]
pub(super) struct Errand {
    dest: usize,
    context: u32,
    tag: u32,
    len: usize,
}

/// An operation in flight.
struct Pending {
    id: OperationId,
    block: BlockId,
    span: WriteSpan<'static>,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Send(usize),
    Receive(usize),
}

/// Bytes that the library's buffer holds, at every third rank or so.
const BUFFER: usize = 16384;

pub(super) struct Rank<'run> {
    me: usize,
    world: Rc<World>,
    engine: Engine<SimFabric<'run>>,
    /// Whether it copies whatever can't leave.
    copies_all: bool,
    pending: Vec<Pending>,
    /// How many barriers it has begun.
    barriers: u32,
}

/// `Err`: the transport has failed.
type Attempt<T = ()> = Result<T, Failure>;

impl<'run> Rank<'run> {
    pub(super) fn new(me: usize, world: Rc<World>, turn: &'run Turn) -> Self {
        let fabric = SimFabric::new(me, world.network.clone(), turn);
        let mut engine = Engine::new(fabric, world.program.rule, &Tuning::DEFAULT);
        let all: Rc<[u32]> = (0..world.program.conditions.ranks as u32).collect();
        for context in FREE.into_iter().chain([MEETING]) {
            engine.register_group(context, all.clone());
        }
        let copies_all = world.program.steps[me].len().is_multiple_of(3);
        if copies_all {
            engine.buffer_sends(BUFFER);
        }
        Rank { me, world, engine, copies_all, pending: Vec::new(), barriers: 0 }
    }

    /// All of it. `Err`: the transport has failed; all buffers have been given back.
    pub(super) fn run(&mut self) -> Attempt {
        let outcome = self.run_program();
        if let Err(failure) = outcome {
            self.after_failure(failure);
        }
        outcome
    }

    fn run_program(&mut self) -> Attempt {
        let world = self.world.clone();
        for step in &world.program.steps[self.me] {
            self.step(step)?;
        }
        world.done.set(world.done.get() + 1);
        self.clear_up()?;
        self.barrier()?;
        self.wait_until(|engine| engine.is_flushed().then_some(()))?;
        self.check_empty();
        Ok(())
    }

    /// A failed engine reports the first failure whatever it is asked, and gives all buffers back.
    fn after_failure(&mut self, failure: Failure) {
        let any = Pattern { context: FREE[0], source: None, tag: None };
        let other = ((self.me + 1) % self.world.program.conditions.ranks) as u32;
        let reports = [
            self.engine.progress().err(),
            self.engine.start_send(other, FREE[0], 0, ReadSpan::EMPTY, SendMode::Standard).err(),
            self.receive_blocking(any, WriteSpan::EMPTY).err(),
            self.receive_blocking(Pattern { source: Some(other), ..any }, WriteSpan::EMPTY).err(),
            self.engine.start_span_receive(any, WriteSpan::EMPTY).err(),
            self.engine.barrier_signal(other, [BARRIERS, 0, 0], false).err(),
        ];
        if reports != [Some(failure); 6] {
            self.violated(format!("after {failure:?} rank {} reports {reports:?}", self.me));
        }
        for Pending { id, block, span, what } in std::mem::take(&mut self.pending) {
            match (self.wait(id), what) {
                (Err(reported), _) if reported == failure => self.give_back(block, span),
                (outcome, What::Receive(place)) => {
                    let received = self.received(place, block, span, outcome);
                    received.unwrap_or_else(|other| self.violated(format!("{other:?} after {failure:?}")));
                }
                (_, What::Send(_)) => self.give_back(block, span),
            }
        }
    }

    pub(super) fn counters(&self) -> rwmpi_protocol::Counters {
        self.engine.counters()
    }

    fn chance(&self, percent: u8) -> bool {
        self.world.network.borrow_mut().chance(percent)
    }

    /// Where a peer is hostile, what it makes of messages is nobody's fault: only buffers are looked after.
    fn violated(&self, what: impl Into<String>) {
        let mut network = self.world.network.borrow_mut();
        if !network.is_hostile() {
            network.violated(what);
        }
    }

    fn tick(&self) -> u64 {
        self.world.record.borrow_mut().tick()
    }

    fn step(&mut self, step: &Step) -> Attempt {
        match *step {
            Step::Send { dest, context, tag, len, mode } => self.start_send(dest, context, tag, len, mode),
            Step::Meet { dest, tag, len, mode } => self.send(dest, tag, len, mode),
            Step::Receive { pattern, capacity } => self.start_receive(pattern, capacity),
            Step::Met { source, tag, capacity, how } => {
                let pattern = Pattern { context: MEETING, source: Some(source as u32), tag };
                self.receive(pattern, capacity, how)
            }
            Step::Probe { pattern, matched } => self.probe(pattern, matched),
            Step::Test => self.test_one(),
            Step::Cancel => self.cancel_one(),
            Step::Barrier => self.barrier(),
        }
    }

    // Sends.

    fn new_message(
        &mut self,
        dest: usize,
        context: u32,
        tag: u32,
        len: usize,
        mode: Mode,
    ) -> (usize, BlockId, WriteSpan<'static>) {
        let (block, span) = self.world.network.borrow_mut().memory.lend(len, Use::Send);
        let mut record = self.world.record.borrow_mut();
        let (name, begun) = (record.messages.len(), record.tick());
        ReadSpan::from(&contents(name, len)[..]).copy_to(span);
        let (source, synchronous) = (self.me, mode == Mode::Synchronous);
        let message = Message { source, dest, context, tag, len, synchronous, begun, done: None, cancelled: false };
        record.messages.push(message);
        (name, block, span)
    }

    fn start_send(&mut self, dest: usize, context: u32, tag: u32, len: usize, mode: Mode) -> Attempt {
        let (name, block, span) = self.new_message(dest, context, tag, len, mode);
        let started = self.start(dest, context, tag, span, mode);
        match self.unless_failed(started, block, span)? {
            Some(id) if self.engine.reads_from_copy(id) => {
                // The engine has a copy; what becomes of it is looked at all the same.
                self.world.record.borrow_mut().copied += usize::from(!self.copies_all && mode != Mode::Buffered);
                self.give_back(block, span);
                let (block, span) = self.world.network.borrow_mut().memory.lend(0, Use::Send);
                self.pending.push(Pending { id, block, span, what: What::Send(name) });
            }
            Some(id) => self.pending.push(Pending { id, block, span, what: What::Send(name) }),
            None => self.sent(name, block, span),
        }
        Ok(())
    }

    fn start(
        &mut self,
        dest: usize,
        context: u32,
        tag: u32,
        span: WriteSpan<'static>,
        mode: Mode,
    ) -> Attempt<Option<OperationId>> {
        let (peer, data) = (dest as u32, span.as_read());
        let engine_mode = match mode {
            Mode::Standard => SendMode::Standard,
            Mode::Synchronous => SendMode::Synchronous,
            Mode::Buffered => return self.engine.start_buffered_send(peer, context, tag, data),
        };
        if self.chance(25) {
            let scattered = Box::new(Apart(span));
            return self.engine.start_scattered_send(peer, context, tag, scattered, engine_mode);
        }
        self.engine.start_send(peer, context, tag, data, engine_mode)
    }

    fn send(&mut self, dest: usize, tag: u32, len: usize, mode: Mode) -> Attempt {
        if mode == Mode::Buffered {
            return self.start_send(dest, MEETING, tag, len, mode);
        }
        let (name, block, span) = self.new_message(dest, MEETING, tag, len, mode);
        let mode = if mode == Mode::Synchronous { SendMode::Synchronous } else { SendMode::Standard };
        let started = self.engine.start_send(dest as u32, MEETING, tag, span.as_read(), mode);
        if let Some(id) = self.unless_failed(started, block, span)? {
            let sent = self.wait(id);
            self.unless_failed(sent, block, span)?;
        }
        self.sent(name, block, span);
        Ok(())
    }

    fn sent(&mut self, name: usize, block: BlockId, span: WriteSpan<'static>) {
        let now = self.tick();
        self.world.record.borrow_mut().messages[name].done = Some(now);
        self.give_back(block, span);
    }

    /// Gives the buffer back if the operation has failed.
    fn unless_failed<T>(&mut self, result: Attempt<T>, block: BlockId, span: WriteSpan<'static>) -> Attempt<T> {
        if result.is_err() {
            self.give_back(block, span);
        }
        result
    }

    fn give_back(&mut self, block: BlockId, span: WriteSpan<'static>) {
        let mut network = self.world.network.borrow_mut();
        if let Err(what) = network.memory.give_back(block, span) {
            network.violated(what);
        }
    }

    // Waiting, as the process does it.

    fn wait_until<R>(&mut self, mut done: impl FnMut(&mut Engine<SimFabric<'run>>) -> Option<R>) -> Attempt<R> {
        let mut backoff = Backoff::default();
        loop {
            if let Some(result) = done(&mut self.engine) {
                return Ok(result);
            }
            if self.engine.progress()? {
                continue;
            }
            self.engine.fabric.idle(&mut backoff);
            if self.engine.fabric.take_signals().contains(Signal::Abort) {
                return Err(self.engine.fail(Failure::Aborted));
            }
        }
    }

    fn wait(&mut self, id: OperationId) -> Outcome {
        self.engine.detach_local(id);
        let waited = self.wait_until(|engine| engine.collect(id));
        waited.unwrap_or_else(|failure| Err(self.engine.give_up(id, failure)))
    }

    fn receive_blocking(&mut self, pattern: Pattern, span: WriteSpan<'static>) -> Outcome {
        let looks = self.engine.fabric.patience();
        match self.engine.receive(pattern, span, looks)? {
            Received::Now(completion) => Ok(completion),
            Received::Later(id) => self.wait(id),
        }
    }

    // Receives.

    fn new_receive(
        &mut self,
        pattern: Pattern,
        capacity: usize,
        promised: Option<(usize, u32, usize)>,
    ) -> (usize, BlockId, WriteSpan<'static>) {
        let (block, span) = self.world.network.borrow_mut().memory.lend(capacity, Use::Receive);
        let mut record = self.world.record.borrow_mut();
        let begun = record.tick();
        record.receives.push(Receive { rank: self.me, pattern, capacity, begun, got: Got::Nothing, promised });
        (record.receives.len() - 1, block, span)
    }

    /// The buffer, now and then as if its bytes were scattered.
    fn sink(&mut self, span: WriteSpan<'static>) -> Sink {
        if self.chance(25) { Sink::scattered(Box::new(Apart(span))) } else { span.into() }
    }

    fn start_receive(&mut self, pattern: Pattern, capacity: usize) -> Attempt {
        let (place, block, span) = self.new_receive(pattern, capacity, None);
        let sink = self.sink(span);
        let started = self.engine.start_receive(pattern, sink);
        let id = self.unless_failed(started, block, span)?;
        self.pending.push(Pending { id, block, span, what: What::Receive(place) });
        Ok(())
    }

    fn receive(&mut self, pattern: Pattern, capacity: usize, how: How) -> Attempt {
        match how {
            How::Blocking => {
                let (place, block, span) = self.new_receive(pattern, capacity, None);
                let outcome = self.receive_blocking(pattern, span);
                self.received(place, block, span, outcome)
            }
            How::Probed => {
                let found = self.wait_until(|engine| engine.probe(&pattern))?;
                self.receive_probed(pattern.context, &found)
            }
            How::Matched => {
                let before = self.tick();
                let (message, found) = self.wait_until(|engine| engine.matched_probe(&pattern))?;
                self.receive_matched(pattern, message, &found, before)
            }
            How::Around { dest, tag, len } => {
                let (place, block, span) = self.new_receive(pattern, capacity, None);
                let sink = self.sink(span);
                let started = self.engine.start_receive(pattern, sink);
                let id = self.unless_failed(started, block, span)?;
                // Should the send fail, the receive is waited for like any other.
                self.pending.push(Pending { id, block, span, what: What::Receive(place) });
                self.send(dest, tag, len, Mode::Standard)?;
                self.pending.retain(|pending| pending.id != id);
                let outcome = self.wait(id);
                self.received(place, block, span, outcome)
            }
        }
    }

    fn probe(&mut self, pattern: Pattern, matched: bool) -> Attempt {
        self.engine.progress()?;
        if matched {
            let before = self.tick();
            if let Some((message, found)) = self.engine.matched_probe(&pattern) {
                self.receive_matched(pattern, message, &found, before)?;
            }
        } else if let Some(found) = self.engine.probe(&pattern) {
            self.receive_probed(pattern.context, &found)?;
        }
        Ok(())
    }

    /// What a probe has found is what a receive of exactly that gets at once.
    fn receive_probed(&mut self, context: u32, found: &Completion) -> Attempt {
        let promised = (found.source as usize, found.tag, found.bytes as usize);
        let exact = Pattern { context, source: Some(found.source), tag: Some(found.tag) };
        let (place, block, span) = self.new_receive(exact, found.bytes as usize, Some(promised));
        let outcome = self.receive_blocking(exact, span);
        self.received(place, block, span, outcome)
    }

    fn receive_matched(
        &mut self,
        pattern: Pattern,
        message: crate::MatchedMessage,
        found: &Completion,
        begun: u64,
    ) -> Attempt {
        let promised = (found.source as usize, found.tag, found.bytes as usize);
        let short = usize::from(self.chance(10));
        let capacity = promised.2.saturating_sub(short * 3);
        let (place, block, span) = self.new_receive(pattern, capacity, Some(promised));
        self.world.record.borrow_mut().receives[place].begun = begun;
        let sink = self.sink(span);
        let started = self.engine.start_matched_receive(message, sink);
        let id = self.unless_failed(started, block, span)?;
        self.pending.push(Pending { id, block, span, what: What::Receive(place) });
        Ok(())
    }

    /// Notes what a receive has got. `Err`: the transport has failed.
    fn received(&mut self, place: usize, block: BlockId, span: WriteSpan<'static>, outcome: Outcome) -> Attempt {
        let (source, tag, total) = match outcome {
            Ok(completion) if completion.is_cancelled() => {
                self.world.record.borrow_mut().receives[place].got = Got::Cancelled;
                self.give_back(block, span);
                return Ok(());
            }
            Ok(completion) => (completion.source, completion.tag, completion.bytes),
            Err(Failure::Truncated { source, tag, bytes, capacity }) => {
                if capacity != span.len() as u64 || bytes <= capacity {
                    self.violated("a truncation that was none");
                }
                (source, tag, bytes)
            }
            Err(failure) => {
                self.give_back(block, span);
                return Err(failure);
            }
        };
        let arrived = (total as usize).min(span.len());
        let beginning = Bytes(bytes(span.part(0, arrived).as_read()));
        let at = self.tick();
        let got = Got::Message { source: source as usize, tag, bytes: total as usize, beginning, at };
        self.world.record.borrow_mut().receives[place].got = got;
        self.give_back(block, span);
        Ok(())
    }

    // Whatever is pending.

    fn test_one(&mut self) -> Attempt {
        match self.pending.len() {
            0 => self.engine.progress().map(drop),
            len => {
                let place = self.world.network.borrow_mut().below(len);
                self.test(place).map(drop)
            }
        }
    }

    /// Whether it was done; then it is no longer pending.
    fn test(&mut self, place: usize) -> Attempt<bool> {
        let id = self.pending[place].id;
        self.engine.detach_local(id);
        self.engine.progress()?;
        let Some(outcome) = self.engine.collect(id) else { return Ok(false) };
        let Pending { block, span, what, .. } = self.pending.swap_remove(place);
        match what {
            What::Send(name) => {
                let outcome = self.unless_failed(outcome, block, span)?;
                self.world.record.borrow_mut().messages[name].cancelled = outcome.is_cancelled();
                self.sent(name, block, span);
            }
            What::Receive(place) => self.received(place, block, span, outcome)?,
        }
        Ok(true)
    }

    fn cancel_one(&mut self) -> Attempt {
        if self.pending.is_empty() {
            return Ok(());
        }
        let place = self.world.network.borrow_mut().below(self.pending.len());
        if self.waited_for(self.pending[place].what) {
            return Ok(());
        }
        self.engine.cancel(self.pending[place].id)?;
        self.test(place).map(drop)
    }

    /// Whether somebody waits for its other side.
    fn waited_for(&self, what: What) -> bool {
        let record = self.world.record.borrow();
        match what {
            What::Send(name) => record.messages[name].context == MEETING,
            What::Receive(place) => record.receives[place].pattern.context == MEETING,
        }
    }

    fn barrier(&mut self) -> Attempt {
        let ranks = self.world.program.conditions.ranks;
        let number = self.barriers;
        self.barriers += 1;
        let mut distance = 1;
        let mut round = 0;
        while distance < ranks {
            let step = [BARRIERS, number, round];
            self.engine.barrier_signal(((self.me + distance) % ranks) as u32, step, false)?;
            self.wait_until(|engine| engine.barrier_arrived(step))?;
            (distance, round) = (distance * 2, round + 1);
        }
        Ok(())
    }

    /// Goes on until no operation of any rank is left.
    fn clear_up(&mut self) -> Attempt {
        let world = self.world.clone();
        loop {
            let mut place = 0;
            while place < self.pending.len() {
                place += usize::from(!self.test(place)?);
            }
            if world.done.get() == world.program.conditions.ranks {
                if world.record.borrow().settled() {
                    return Ok(());
                }
                self.clear_up_messages()?;
            }
            self.engine.progress()?;
            self.engine.fabric.idle(&mut Backoff::default());
            if self.engine.fabric.take_signals().contains(Signal::Abort) {
                return Err(self.engine.fail(Failure::Aborted));
            }
        }
    }

    fn clear_up_messages(&mut self) -> Attempt {
        let errand = self.world.errands.borrow_mut()[self.me].pop_front();
        if let Some(Errand { dest, context, tag, len }) = errand {
            return self.start_send(dest, context, tag, len, Mode::Standard);
        }
        if self.world.record.borrow().unreceived() > 0 {
            for context in FREE.into_iter().chain([MEETING]) {
                self.probe(Pattern { context, source: None, tag: None }, true)?;
            }
            return Ok(());
        }
        let waiting = self.pending.iter().position(|pending| matches!(pending.what, What::Receive(_)));
        let Some(waiting) = waiting else { return Ok(()) };
        if self.chance(50) {
            self.engine.cancel(self.pending[waiting].id)?;
            if self.test(waiting)? {
                return Ok(());
            }
        }
        // One at a time: it may go to another receive than this.
        let under_way = self.world.errands.borrow().iter().any(|errands| !errands.is_empty());
        let What::Receive(place) = self.pending[waiting].what else { return Ok(()) };
        if under_way || self.world.record.borrow().unreceived() > 0 {
            return Ok(());
        }
        let (pattern, capacity) = {
            let record = self.world.record.borrow();
            (record.receives[place].pattern, record.receives[place].capacity)
        };
        let source = pattern.source.map_or_else(
            || self.world.network.borrow_mut().below(self.world.program.conditions.ranks),
            |source| source as usize,
        );
        let (dest, context, tag) = (self.me, pattern.context, pattern.tag.unwrap_or(1));
        let errand = Errand { dest, context, tag, len: capacity };
        self.world.errands.borrow_mut()[source].push_back(errand);
        Ok(())
    }

    /// Nothing may be left in the engine of a rank that has done everything.
    fn check_empty(&self) {
        let left = self.engine.left_over();
        if !left.is_empty() {
            self.violated(format!("rank {} is left with {left}", self.me));
        }
    }
}

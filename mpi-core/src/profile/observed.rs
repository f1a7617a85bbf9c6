//! An engine that takes notes of what passes through it: which messages leave, and which are received.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use rwmpi_protocol::Pattern;
use rwmpi_transport::{ReadSpan, WriteSpan};

use super::Recorder;
use crate::communicator::is_collective;
use crate::engine::{
    Completion, Failure, MatchedMessage, OperationId, Outcome, Received, Room, Scattered, SendMode, Sink,
};
use crate::job_engine::JobEngine;

/// How often a rank looks before it waits: what it spends on looks would not be known to be waiting.
const LOOKS: u32 = 4;

/// An engine, and who takes notes.
pub(crate) struct Observed {
    pub(crate) engine: JobEngine,
    recorder: Rc<Recorder>,
    /// The contexts of receives that are under way.
    receives: FxHashMap<OperationId, u32>,
    /// The contexts of messages that matched probes have taken.
    matched: FxHashMap<usize, u32>,
}

impl Observed {
    pub(crate) fn new(engine: JobEngine, recorder: Rc<Recorder>) -> Observed {
        Observed { engine, recorder, receives: FxHashMap::default(), matched: FxHashMap::default() }
    }

    /// Does something that counts as a call of the program's, unless it is a part of something else.
    fn call<R>(&mut self, context: u32, work: impl FnOnce(&mut Observed) -> R) -> R {
        let recorder = self.recorder.clone();
        recorder.part(|| (work(self), Some(u64::from(!is_collective(context)))))
    }

    fn noted_send(
        &mut self,
        (peer, context, tag): (u32, u32, u32),
        bytes: usize,
        start: impl FnOnce(&mut JobEngine) -> Result<Option<OperationId>, Failure>,
    ) -> Result<Option<OperationId>, Failure> {
        self.call(context, |this| {
            this.recorder.sent(peer, context, tag, bytes as u64);
            let started = start(&mut this.engine);
            if let Ok(Some(id)) = started {
                // Its number may have been a receive's.
                this.receives.remove(&id);
            }
            started
        })
    }

    fn noted_receive(
        &mut self,
        context: u32,
        start: impl FnOnce(&mut JobEngine) -> Result<Received, Failure>,
    ) -> Result<Received, Failure> {
        self.call(context, |this| {
            let received = start(&mut this.engine);
            match &received {
                Ok(Received::Now(completion)) => this.recorder.received(context, completion),
                Ok(Received::Later(id)) => _ = this.receives.insert(*id, context),
                Err(_) => {}
            }
            received
        })
    }

    fn noted_operation(
        &mut self,
        context: u32,
        start: impl FnOnce(&mut JobEngine) -> Result<OperationId, Failure>,
    ) -> Result<OperationId, Failure> {
        let started = self.noted_receive(context, |engine| start(engine).map(Received::Later));
        started.map(|received| match received {
            Received::Later(id) => id,
            Received::Now(_) => unreachable!("it was made of an operation"),
        })
    }

    #[cold]
    pub(crate) fn start_send(
        &mut self,
        peer: u32,
        context: u32,
        tag: u32,
        data: ReadSpan<'static>,
        mode: SendMode,
    ) -> Result<Option<OperationId>, Failure> {
        let start = |engine: &mut JobEngine| engine.start_send(peer, context, tag, data, mode);
        self.noted_send((peer, context, tag), data.len(), start)
    }

    #[cold]
    pub(crate) fn start_buffered_send(
        &mut self,
        peer: u32,
        context: u32,
        tag: u32,
        data: ReadSpan<'_>,
    ) -> Result<Option<OperationId>, Failure> {
        let start = |engine: &mut JobEngine| engine.start_buffered_send(peer, context, tag, data);
        self.noted_send((peer, context, tag), data.len(), start)
    }

    #[cold]
    pub(crate) fn start_scattered_send(
        &mut self,
        peer: u32,
        context: u32,
        tag: u32,
        data: Box<dyn Scattered>,
        mode: SendMode,
    ) -> Result<Option<OperationId>, Failure> {
        let len = data.len();
        self.noted_send((peer, context, tag), len, |engine| engine.start_scattered_send(peer, context, tag, data, mode))
    }

    #[cold]
    pub(crate) fn receive(
        &mut self,
        pattern: Pattern,
        buffer: WriteSpan<'static>,
        looks: u32,
    ) -> Result<Received, Failure> {
        self.noted_receive(pattern.context, |engine| engine.receive(pattern, buffer, looks))
    }

    #[cold]
    pub(crate) fn receive_next(
        &mut self,
        pattern: Pattern,
        room: &mut dyn Room,
        looks: u32,
    ) -> Result<Option<Outcome>, Failure> {
        let recorder = self.recorder.clone();
        recorder.part(|| {
            let received = self.engine.receive_next(pattern, room, looks);
            // Otherwise it is still to be received.
            let is_received = matches!(received, Ok(Some(_)));
            if let Ok(Some(Ok(completion))) = &received {
                recorder.received(pattern.context, completion);
            }
            (received, is_received.then_some(1))
        })
    }

    #[cold]
    pub(crate) fn begin_receive(&mut self, pattern: Pattern, span: WriteSpan<'static>) -> Result<Received, Failure> {
        self.noted_receive(pattern.context, |engine| engine.begin_receive(pattern, span))
    }

    #[cold]
    pub(crate) fn start_receive(&mut self, pattern: Pattern, buffer: Sink) -> Result<OperationId, Failure> {
        self.noted_operation(pattern.context, |engine| engine.start_receive(pattern, buffer))
    }

    #[cold]
    pub(crate) fn start_span_receive(
        &mut self,
        pattern: Pattern,
        span: WriteSpan<'static>,
    ) -> Result<OperationId, Failure> {
        self.noted_operation(pattern.context, |engine| engine.start_span_receive(pattern, span))
    }

    #[cold]
    pub(crate) fn start_matched_receive(
        &mut self,
        message: MatchedMessage,
        buffer: Sink,
    ) -> Result<OperationId, Failure> {
        let context = self.matched.remove(&message.number()).unwrap_or(0);
        self.noted_operation(context, |engine| engine.start_matched_receive(message, buffer))
    }

    #[cold]
    pub(crate) fn matched_probe(&mut self, pattern: &Pattern) -> Option<(MatchedMessage, Completion)> {
        let (message, completion) = self.engine.matched_probe(pattern)?;
        self.matched.insert(message.number(), pattern.context);
        Some((message, completion))
    }

    /// What makes no progress is looking, and counted as waiting where a call waits.
    #[cold]
    pub(crate) fn progress(&mut self) -> Result<bool, Failure> {
        let recorder = self.recorder.clone();
        recorder.part(|| {
            let moved = self.engine.progress();
            (moved, (moved == Ok(true)).then_some(0))
        })
    }

    #[cold]
    pub(crate) fn collect(&mut self, id: OperationId) -> Option<Outcome> {
        let outcome = self.engine.collect(id)?;
        self.completed(id, &outcome);
        Some(outcome)
    }

    #[cold]
    pub(crate) fn collect_seen(&mut self, id: OperationId, look: impl FnOnce(&Outcome)) -> Option<()> {
        // By value: each engine within another would make another function of `look`.
        self.collect(id).map(|outcome| look(&outcome))
    }

    fn completed(&mut self, id: OperationId, outcome: &Outcome) {
        if let (Some(context), Ok(completion)) = (self.receives.remove(&id), outcome) {
            self.recorder.part(|| (self.recorder.received(context, completion), Some(0)));
        }
    }

    pub(crate) fn patience(&self) -> u32 {
        self.engine.patience().min(LOOKS)
    }
}

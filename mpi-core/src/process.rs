//! One rank: its engine, and what all its communicators share.

use std::cell::{Cell, RefCell, RefMut};

use rwmpi_transport::{Fabric, NodeFabric};

use crate::activity::{self, Call, Target};
use crate::engine::{Engine, Failure, OperationId};

/// What a rank owns. Communicators, requests and scopes hold it together; it belongs to one thread.
pub(crate) struct Process {
    engine: RefCell<Engine<NodeFabric>>,
    /// The lowest context that this rank has not used.
    next_context: Cell<u32>,
    /// Buffered sends that nobody waits for; collected when they are done.
    detached: RefCell<Vec<OperationId>>,
    finalized: Cell<bool>,
}

impl Process {
    pub(crate) fn new(engine: Engine<NodeFabric>, next_context: u32) -> Self {
        Process {
            engine: RefCell::new(engine),
            next_context: Cell::new(next_context),
            detached: RefCell::default(),
            finalized: Cell::new(false),
        }
    }

    /// The engine; never held while foreign code runs.
    #[inline]
    pub(crate) fn engine(&self) -> RefMut<'_, Engine<NodeFabric>> {
        self.engine.borrow_mut()
    }

    /// The engine, after telling the watchers what it will be doing.
    #[inline]
    pub(crate) fn enter(
        &self,
        call: Call,
        target: Target,
        context: u32,
        bytes: usize,
    ) -> RefMut<'_, Engine<NodeFabric>> {
        let mut engine = self.engine.borrow_mut();
        let [first, second] = activity::words(call, target, context, bytes);
        engine.fabric.set_activity(0, first);
        engine.fabric.set_activity(1, second);
        engine
    }

    pub(crate) fn next_context(&self) -> u32 {
        self.next_context.get()
    }

    pub(crate) fn set_next_context(&self, context: u32) {
        self.next_context.set(context);
    }

    /// Keeps a buffered send until it is done.
    pub(crate) fn detach(&self, id: OperationId) {
        let mut detached = self.detached.borrow_mut();
        detached.push(id);
        let mut engine = self.engine();
        detached.retain(|&id| engine.collect(id).is_none());
    }

    /// Waits for all buffered sends.
    pub(crate) fn collect_detached(&self) -> Result<(), Failure> {
        let detached = self.detached.take();
        let mut engine = self.engine();
        detached.into_iter().try_for_each(|id| engine.wait(id).map(drop))
    }

    /// Marks the rank as leaving; true the first time.
    pub(crate) fn begin_finalize(&self) -> bool {
        !self.finalized.replace(true)
    }
}

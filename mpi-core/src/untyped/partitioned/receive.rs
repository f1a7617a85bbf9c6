//! The receiving side.

use std::cell::{Cell, RefCell, RefMut};
use std::future::poll_fn;
use std::mem;
use std::rc::Rc;
use std::task::Poll;

use rwmpi_protocol::Pattern;

use super::checked_partition;
use super::opening::Opening;
use super::parts::{Parts, Stretch};
use crate::Mark;
use crate::activity::{Call, Target};
use crate::apart::apart;
use crate::engine::{Completion, Failure, OperationId, Outcome, Received, Sink, TaskId};
use crate::error::{Error, ErrorClass};
use crate::partner::receive_target;
use crate::untyped::elements::write_span_of;
use crate::untyped::loan::Loan;
use crate::untyped::{Elements, Status};
use crate::waiting::Awaited;
use crate::{Communicator, Result, Source, TagSelector};

/// A message that arrives in partitions.
pub struct PartitionedReceive {
    communicator: Communicator,
    /// All partitions.
    whole: Elements,
    partitions: usize,
    target: Target,
    /// The sender's number and the tag; `None`: from nobody.
    from: Option<(u32, u32)>,
    sender: RefCell<Sender>,
    parts: RefCell<Parts>,
    /// Posts the receives once the opening is there, whichever call of the program makes progress then.
    posting: Cell<Option<TaskId>>,
    active: Cell<bool>,
}

/// What is known of the sender.
enum Sender {
    /// There is none.
    Nobody,
    /// The receive of its opening, into memory that belongs to that receive.
    Expected(OperationId, Loan),
    Known(Opening),
    /// It can't be received from.
    Failed(Failure),
}

impl PartitionedReceive {
    /// Prepares the receive of so many partitions, which `whole` consists of (MPI_Precv_init).
    ///
    /// # Errors
    /// A rank or tag that does not exist, or is any; what does not fit into memory.
    pub fn new(
        communicator: &Communicator,
        whole: Elements,
        partitions: usize,
        source: Source,
        tag: TagSelector,
    ) -> Result<Self> {
        whole.packed_size()?;
        let pattern = communicator.checked_pattern(Call::Receive, source, tag, communicator.context())?;
        let (from, sender) = match pattern {
            None => (None, Sender::Nobody),
            Some(Pattern { source: Some(peer), tag: Some(tag), .. }) => {
                (Some((peer, tag)), expect(communicator, peer, tag)?)
            }
            Some(_) => {
                let what = "a partitioned receive names its source and its tag: neither may be any";
                let class = if source == Source::Any { ErrorClass::Rank } else { ErrorClass::Tag };
                return Err(Error::new(class, what));
            }
        };
        Ok(PartitionedReceive {
            communicator: communicator.clone(),
            whole,
            partitions,
            target: receive_target(source, tag),
            from,
            sender: sender.into(),
            parts: RefCell::default(),
            posting: Cell::new(None),
            active: Cell::new(false),
        })
    }

    pub(super) fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    pub(crate) fn start(self: &Rc<Self>) -> Result<()> {
        let process = self.communicator.process();
        drop(process.enter(Call::Receive, self.target, self.communicator.context(), self.whole.bytes()));
        self.parts.borrow_mut().reset(0);
        self.active.set(true);
        let receive = self.clone();
        let posting = apart(|| {
            poll_fn(move |_| match receive.post() {
                true => Poll::Ready(Ok(())),
                false => Poll::Pending,
            })
        });
        self.posting.set(process.tasks().start(posting).map_err(self.communicator.failed(Call::Receive))?);
        Ok(())
    }

    /// Posts all receives if the opening is here; false if it is not.
    fn post(&self) -> bool {
        let opening = match &*self.known() {
            Sender::Nobody => return true,
            Sender::Expected(..) => return false,
            Sender::Known(opening) => *opening,
            Sender::Failed(failure) => {
                self.parts.borrow_mut().failure = Some(*failure);
                return true;
            }
        };
        let mut parts = self.parts.borrow_mut();
        parts.reset(opening.partitions as usize);
        for place in 0..opening.partitions as usize {
            match self.post_one(&opening, place) {
                Ok(Received::Now(completion)) => {
                    parts.bytes += completion.bytes;
                    parts.start(place, None);
                }
                Ok(Received::Later(id)) => parts.start(place, Some(id)),
                Err(failure) => parts.fail(place, failure),
            }
        }
        true
    }

    /// Posts the receive of one of the sender's partitions.
    fn post_one(&self, opening: &Opening, place: usize) -> std::result::Result<Received, Failure> {
        let tag = opening.stream.first_tag + place as u32;
        let source = self.from.map(|(peer, _)| peer);
        let pattern = Pattern { context: opening.stream.context, source, tag: Some(tag) };
        let len = opening.bytes as usize;
        let mut engine = self.communicator.process().engine();
        match self.whole.write_span() {
            Some(span) => engine.begin_receive(pattern, span.part(place * len, len)),
            None => {
                let stretch = Stretch { elements: self.whole.clone(), start: place * len, len };
                engine.start_receive(pattern, Sink::scattered(Box::new(stretch))).map(Received::Later)
            }
        }
    }

    /// What is known of the sender, after a look whether the opening has come.
    fn known(&self) -> RefMut<'_, Sender> {
        let mut sender = self.sender.borrow_mut();
        if let Sender::Expected(id, _) = *sender
            && let Some(outcome) = self.communicator.process().engine().collect(id)
            && let Sender::Expected(_, room) = mem::replace(&mut *sender, Sender::Failed(Failure::Overwritten))
        {
            *sender = self.read(outcome, &room.end());
        }
        sender
    }

    /// The sender whose opening has come.
    fn read(&self, outcome: Outcome, message: &[u8]) -> Sender {
        let (opening, source) = match outcome {
            Ok(Completion { bytes, source, .. }) if bytes == message.len() as u64 => (Opening::read(message), source),
            Ok(Completion { source, .. }) => (None, source),
            Err(failure) => return Sender::Failed(failure),
        };
        let Some(opening) = opening else {
            let (bytes, expected) = (message.len() as u64, size_of::<Opening>() as u64);
            return Sender::Failed(Failure::WrongLength { source, bytes, expected });
        };
        let (bytes, capacity) = (opening.partitions * opening.bytes, self.whole.bytes() as u64);
        match bytes <= capacity {
            true => Sender::Known(opening),
            false => {
                let tag = self.from.map_or(0, |(_, tag)| tag);
                Sender::Failed(Failure::Truncated { source, tag, bytes, capacity })
            }
        }
    }

    /// Whether the receives have been posted.
    fn is_posted(&self) -> bool {
        if let Some(id) = self.posting.get() {
            if !self.communicator.process().tasks().discard(id) {
                return false;
            }
            self.posting.set(None);
        }
        true
    }

    /// Whether all of that partition has arrived (MPI_Parrived). Makes no progress. All have in a request that is
    /// inactive.
    ///
    /// # Errors
    /// MPI_ERR_ARG if there is none.
    pub fn has_arrived(&self, partition: i32) -> Result<bool> {
        let place = checked_partition(partition, self.partitions)?;
        if !self.active.get() {
            return Ok(true);
        }
        if !self.is_posted() {
            return Ok(false);
        }
        let Sender::Known(opening) = *self.known() else { return Ok(true) };
        let (process, mut parts) = (self.communicator.process(), self.parts.borrow_mut());
        let own = self.whole.bytes() as u64 / self.partitions as u64;
        if own == 0 || opening.bytes == 0 {
            return Ok(parts.are_done(process));
        }
        let (start, end) = (place as u64 * own, (place as u64 + 1) * own);
        let last = end.div_ceil(opening.bytes).min(opening.partitions);
        Ok((start / opening.bytes..last).all(|part| parts.is_done(process, part as usize)))
    }

    pub(crate) fn is_done(&self) -> bool {
        if !self.active.get() {
            return !matches!(*self.known(), Sender::Expected(..));
        }
        self.is_posted() && self.parts.borrow_mut().are_done(self.communicator.process())
    }

    pub(super) fn status(&self) -> Status {
        let Some((source, tag)) = self.from else { return Status::NOBODY };
        let bytes = self.parts.borrow().bytes;
        Status::new(&self.communicator, Completion { source, tag, bytes, mark: Mark::NONE })
    }

    pub(crate) fn finish(&self) -> Result<Status> {
        self.active.set(false);
        let failure = self.parts.borrow().failure;
        failure.map_or_else(|| Ok(self.status()), |failure| Err(self.communicator.failed(Call::Receive)(failure)))
    }

    pub(crate) fn awaited(&self) -> Awaited {
        match &*self.sender.borrow() {
            Sender::Expected(id, _) => Awaited::Operation(*id),
            _ => self.parts.borrow().awaited(),
        }
    }

    pub(super) fn give_up(&self) {
        let process = self.communicator.process();
        if let Some(id) = self.posting.take() {
            process.tasks().cancel(id);
        }
        self.parts.borrow_mut().give_up(process);
        self.active.set(false);
    }
}

/// Posts the receive of an opening.
fn expect(communicator: &Communicator, peer: u32, tag: u32) -> Result<Sender> {
    let (context, tag) = Opening::envelope(communicator, tag as i32);
    let mut room = vec![0; size_of::<Opening>()];
    let span = write_span_of(&mut room);
    let pattern = Pattern { context, source: Some(peer), tag: Some(tag) };
    let started = communicator.process().engine().start_span_receive(pattern, span);
    let id = started.map_err(communicator.failed(Call::Receive))?;
    Ok(Sender::Expected(id, Loan::new(room)))
}

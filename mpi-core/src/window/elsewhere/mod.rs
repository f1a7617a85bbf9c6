//! Windows whose ranks are on several nodes: what is asked of a target that shares no memory with this rank, and the
//! target's part of it.
//!
//! Requests are messages in the context of the window's own communicator, and so are answers: whatever holds for
//! messages holds for them, by every way and protocol, for any length, and when a peer is lost. A target serves them
//! whenever it makes progress (`service`), with the same code, and so by the same rule for elements, as ranks of its
//! node use. Requests of one origin are served in the order in which they were sent. So these hold:
//!
//! - Operations of one origin on one target are done in program order.
//! - An answer says that everything which was asked of that target before has been done.
//! - What has been sent without an answer is *unsettled*; a flush asks for an answer if anything is.
//! - Requests without an answer wait here for others to the same target, and go with these in one message: when one is
//!   to be answered or to be heard of at once, when they are many bytes, or when this rank makes progress.
//! - A message of this rank's keeps its bytes here until it has left; what the program has given to an operation is its
//!   own again when the call returns, but for what was put in place.
//! - The elements of a long put follow its request as a message of their own, from memory to memory. Others like it may
//!   begin meanwhile; whatever else the origin has asked for is done when they have come.
//! - Nothing that is served waits: a lock that is not to be had yet stands in line, and other requests are served.

mod operations;
mod request;
mod service;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::iter;
use std::rc::Rc;

use rwmpi_protocol::Pattern;
use rwmpi_transport::ReadSpan;

pub(super) use request::There;
#[cfg(any(test, fuzzing))]
pub(crate) use request::read_request;

use super::Window;
use crate::activity::{Call, Target};
use crate::buffer::{owned_span, owned_span_mut};
use crate::engine::{Completion, Failure, OperationId, SendMode};
use crate::error::ErrorClass;
use crate::process::Process;
use crate::waiting::Awaited;
use crate::{Error, Result, select};
use request::{Outcome, Request};
use service::Service;

/// The tag of requests. Answers have the others.
const REQUEST: u32 = 0;
/// So many tags are used for answers, one after the other.
const ANSWERS: u32 = 1 << 30;
/// The tag of elements that have a message of their own.
const DATA: u32 = ANSWERS + 1;

/// So many messages, of so many bytes, may be on their way before an operation waits for some of them to leave.
const MESSAGES_ON_THEIR_WAY: usize = 256;
const BYTES_ON_THEIR_WAY: usize = 64 << 20;

/// What a rank knows of its targets on other nodes, and of what these have asked.
pub(super) struct Elsewhere {
    /// How many answers have been asked for.
    asked: Cell<u32>,
    /// By rank.
    settled: RefCell<Box<[Settled]>>,
    unsent: RefCell<Unsent>,
    leaving: RefCell<Leaving>,
    service: RefCell<Service>,
    /// By rank: what is attached there, as far as it has been heard since the last time that something was settled.
    attached: RefCell<Box<[Option<Regions>]>>,
}

/// What becomes of a message that is started.
type Started = std::result::Result<(), Failure>;

/// Where regions begin, and how many bytes each has.
type Regions = Rc<[[u64; 2]]>;

/// How many requests without an answer have been sent to a target, and how many of these are known to be done.
#[derive(Clone, Copy, Default)]
struct Settled {
    sent: u64,
    done: u64,
}

/// Requests that have not been sent yet.
struct Unsent {
    /// By rank: a message of them.
    messages: Box<[Vec<u8>]>,
    /// To which ranks there are any.
    ranks: Vec<usize>,
}

impl Unsent {
    /// The message of requests to a rank, to append one.
    fn message_to(&mut self, rank: usize) -> &mut Vec<u8> {
        if self.messages[rank].is_empty() {
            self.ranks.push(rank);
        }
        &mut self.messages[rank]
    }

    fn take(&mut self, rank: usize) -> Vec<u8> {
        self.ranks.retain(|&other| other != rank);
        std::mem::take(&mut self.messages[rank])
    }
}

/// Messages that have not left yet.
#[derive(Default)]
struct Leaving {
    messages: VecDeque<OnItsWay>,
    bytes: usize,
}

/// A message that the engine uses the bytes of.
struct OnItsWay {
    id: OperationId,
    /// None: they are the program's, which has lent them.
    bytes: Vec<u8>,
}

impl Leaving {
    fn is_full(&self) -> bool {
        self.messages.len() > MESSAGES_ON_THEIR_WAY || self.bytes > BYTES_ON_THEIR_WAY
    }

    fn add(&mut self, message: OnItsWay) {
        self.bytes += message.bytes.len();
        self.messages.push_back(message);
    }

    fn take_lent(&mut self) -> VecDeque<OnItsWay> {
        let (lent, own) = std::mem::take(&mut self.messages).into_iter().partition(|one| one.bytes.is_empty());
        self.messages = own;
        lent
    }

    fn forget_left(&mut self, process: &Process) {
        let mut engine = process.engine();
        self.messages.retain(|message| engine.collect(message.id).is_none());
        self.bytes = self.messages.iter().map(|message| message.bytes.len()).sum();
    }
}

impl OnItsWay {
    /// Keeps it until it has arrived or left, though nobody asks for it any more.
    fn abandon(self, process: &Rc<Process>) {
        let engine = Rc::downgrade(process);
        process.abandon(Box::new(move || {
            // All of it is kept here, the bytes too.
            let message = &self;
            engine.upgrade().is_none_or(|process| process.engine().collect(message.id).is_some())
        }));
    }
}

/// An answer that a target owes this rank.
struct Answer {
    process: Rc<Process>,
    rank: usize,
    id: OperationId,
    bytes: Vec<u8>,
    /// How many requests without an answer had been sent to the target before.
    sent: u64,
    is_here: bool,
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.is_here {
            // The engine writes to the bytes until then. Whoever needs to know of a failure has been told.
            let _ = self.process.wait(self.id);
        }
    }
}

impl Elsewhere {
    /// Of a window of so many ranks.
    pub(super) fn new(ranks: usize) -> Elsewhere {
        Elsewhere {
            asked: Cell::new(0),
            settled: RefCell::new(vec![Settled::default(); ranks].into()),
            unsent: RefCell::new(Unsent { messages: vec![Vec::new(); ranks].into(), ranks: Vec::new() }),
            leaving: RefCell::default(),
            service: RefCell::new(Service::new(ranks)),
            attached: RefCell::new(vec![None; ranks].into()),
        }
    }

    /// The window is no more: what the engine still uses is kept until it does not.
    pub(super) fn abandon(&mut self, process: &Rc<Process>) {
        let leaving = std::mem::take(self.leaving.get_mut()).messages;
        let arriving = self.service.get_mut().take_arriving();
        leaving.into_iter().chain(arriving).for_each(|message| message.abandon(process));
    }
}

impl Window {
    /// Whether a rank is on another node.
    #[inline]
    pub(super) fn is_elsewhere(&self, rank: usize) -> bool {
        self.shared.targets[rank].memory.is_none()
    }

    /// For windows that have ranks elsewhere.
    fn elsewhere(&self) -> &Elsewhere {
        self.shared.elsewhere.as_deref().expect("it has ranks elsewhere")
    }

    /// Has this rank serve what others ask of it, if any of them is elsewhere, until the window is no more.
    pub(super) fn begin_to_serve(&self) {
        if self.shared.elsewhere.is_some() {
            let shared = Rc::downgrade(&self.shared);
            self.process().add_service(Box::new(move || Some(Window { shared: shared.upgrade()? }.serve())));
        }
    }

    /// Starts a message to a rank. It is on its way when this returns.
    fn start_message(&self, rank: usize, tag: u32, bytes: Vec<u8>) -> Started {
        self.start_span(rank, tag, owned_span(&bytes), bytes)
    }

    /// The same of bytes that lie in `owner`, or in memory of the program that is lent until they have left.
    fn start_span(&self, rank: usize, tag: u32, span: ReadSpan<'static>, owner: Vec<u8>) -> Started {
        let (peer, context) = (self.shared.targets[rank].peer, self.shared.communicator.context());
        let started = self.process().engine().start_send(peer, context, tag, span, SendMode::InPlace);
        if let Some(id) = started? {
            self.elsewhere().leaving.borrow_mut().add(OnItsWay { id, bytes: owner });
        }
        Ok(())
    }

    /// Waits until not too much is on its way.
    fn make_room(&self) -> Result<()> {
        loop {
            let oldest = {
                let mut leaving = self.elsewhere().leaving.borrow_mut();
                if !leaving.is_full() {
                    return Ok(());
                }
                leaving.forget_left(self.process());
                let oldest = if leaving.is_full() { leaving.messages.pop_front() } else { None };
                leaving.bytes -= oldest.as_ref().map_or(0, |oldest| oldest.bytes.len());
                oldest
            };
            if let Some(OnItsWay { id, bytes }) = oldest {
                let left = self.process().wait(id);
                drop(bytes);
                left.map_err(|failure| self.failed(failure))?;
            }
        }
    }

    /// Has a request that has no answer sent with others. `fill` writes the elements that follow it.
    fn tell_elsewhere(&self, rank: usize, request: &Request, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<()> {
        self.make_room()?;
        let waiting = self.append_request(rank, request, 0, len, fill)?;
        self.elsewhere().settled.borrow_mut()[rank].sent += 1;
        if select::window::waits_for_others(self.process().tuning(), waiting) {
            return Ok(());
        }
        self.send_requests(rank)
    }

    /// Puts bytes that lie side by side, here and there, which leave from where they lie.
    fn put_apart(&self, rank: usize, span: ReadSpan<'static>, there: There) -> Result<()> {
        self.tell_elsewhere(rank, &Request::PutApart(there), 0, |_| {})?;
        self.send_requests(rank)?;
        self.start_span(rank, DATA, span, Vec::new()).map_err(|failure| self.failed(failure))
    }

    /// Appends a request to those that have not been sent yet; how many bytes these are.
    fn append_request(
        &self,
        rank: usize,
        request: &Request,
        answer: u32,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<usize> {
        let mut unsent = self.elsewhere().unsent.borrow_mut();
        let message = unsent.message_to(rank);
        let start = request.append_to(message, answer, len)?;
        fill(&mut message[start..start + len]);
        Ok(message.len())
    }

    /// Sends the requests to a rank that have not been sent yet.
    fn send_requests(&self, rank: usize) -> Result<()> {
        self.start_requests(rank).map_err(|failure| self.failed(failure))
    }

    fn start_requests(&self, rank: usize) -> Started {
        let message = self.elsewhere().unsent.borrow_mut().take(rank);
        if message.is_empty() { Ok(()) } else { self.start_message(rank, REQUEST, message) }
    }

    /// Waits until everything that the program has lent has left.
    pub(super) fn take_back_lent(&self) -> Result<()> {
        let Some(elsewhere) = &self.shared.elsewhere else { return Ok(()) };
        let lent = elsewhere.leaving.borrow_mut().take_lent();
        let left =
            lent.into_iter().map(|one| self.process().wait(one.id).map(drop).map_err(|failure| self.failed(failure)));
        // One that fails keeps nobody from waiting for the others.
        left.fold(Ok(()), Result::and)
    }

    /// Sends a request that is answered by so many bytes at most, behind those that have not been sent yet.
    fn ask_elsewhere(
        &self,
        rank: usize,
        request: &Request,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
        room: usize,
    ) -> Result<Answer> {
        let elsewhere = self.elsewhere();
        let tag = 1 + elsewhere.asked.get() % ANSWERS;
        elsewhere.asked.set(elsewhere.asked.get().wrapping_add(1));
        let mut bytes = Vec::new();
        let total = Outcome::BYTES.saturating_add(room);
        let no_memory = |_| Error::new(ErrorClass::NoMemory, format!("there is no memory for {room} bytes"));
        bytes.try_reserve_exact(total).map_err(no_memory)?;
        bytes.resize(total, 0);
        self.append_request(rank, request, tag, len, fill)?;
        let (peer, context) = (self.shared.targets[rank].peer, self.shared.communicator.context());
        let pattern = Pattern { context, source: Some(peer), tag: Some(tag) };
        let started = self.process().engine().start_span_receive(pattern, owned_span_mut(&mut bytes));
        let id = started.map_err(|failure| self.failed(failure))?;
        let sent = elsewhere.settled.borrow()[rank].sent;
        let answer =
            Answer { process: self.shared.communicator.process().clone(), rank, id, bytes, sent, is_here: false };
        self.send_requests(rank)?;
        Ok(answer)
    }

    /// Waits for an answer; the bytes that it has besides how it went.
    fn answered(&self, call: Call, mut answer: Answer) -> Result<Vec<u8>> {
        let (process, rank, id) = (self.process(), answer.rank, answer.id);
        let awaited = match call {
            Call::LockWindow => Awaited::Lock(None),
            _ => Awaited::Epoch(self.shared.targets[rank].peer),
        };
        process.tell(call, Target::NONE, self.shared.communicator.context(), 0);
        let waited = process.wait_for_awaited(awaited, || process.engine().collect(id));
        let failed = |failure| self.shared.communicator.failed(call)(failure);
        let arrived = waited.map_err(failed)?;
        answer.is_here = true;
        let Completion { bytes: len, .. } = arrived.map_err(failed)?;
        let settled = &mut self.elsewhere().settled.borrow_mut()[rank];
        settled.done = settled.done.max(answer.sent);
        let mut bytes = std::mem::take(&mut answer.bytes);
        bytes.truncate(len as usize);
        let outcome = Outcome::of(&bytes).unwrap_or(Outcome::Refused);
        match outcome.error() {
            None => Ok(bytes),
            Some((class, what)) => Err(self.error(class, format!("target {rank} says that {what}"))),
        }
    }

    /// Serves ranks of other nodes, if there are any: in calls that do not wait, but of which a program may make many
    /// before it does what others wait for.
    #[inline]
    pub(crate) fn look(&self) -> Result<()> {
        if self.shared.elsewhere.is_none() {
            return Ok(());
        }
        self.process().progress().map(drop).map_err(|failure| self.failed(failure))
    }

    /// Waits until everything that has been asked of a rank has been done.
    pub(super) fn settle(&self, rank: usize) -> Result<()> {
        match self.begin_to_settle(rank)? {
            Some(answer) => self.answered(Call::UseWindow, answer).map(drop),
            None => self.look().and(self.check_touched(iter::once(rank))),
        }
    }

    /// The same of all ranks.
    pub(crate) fn settle_all(&self) -> Result<()> {
        if self.shared.is_plain {
            return Ok(());
        }
        if self.shared.elsewhere.is_none() {
            return self.check_touched(0..self.size());
        }
        let asked: Vec<_> = (0..self.size()).map(|rank| self.begin_to_settle(rank)).collect();
        if asked.iter().all(|asked| matches!(asked, Ok(None))) {
            return self.look();
        }
        self.all_answered(Call::UseWindow, asked)
    }

    /// Waits for all of them; the first error.
    fn all_answered(&self, call: Call, asked: Vec<Result<Option<Answer>>>) -> Result<()> {
        let answered = asked.into_iter().map(|asked| match asked? {
            Some(answer) => self.answered(call, answer).map(drop),
            None => Ok(()),
        });
        // One that fails keeps nobody from waiting for the others.
        answered.fold(Ok(()), Result::and)
    }

    /// Asks for an answer, if anything is unsettled. What is attached to the rank is to be asked for again.
    fn begin_to_settle(&self, rank: usize) -> Result<Option<Answer>> {
        if !self.is_elsewhere(rank) {
            return Ok(None);
        }
        self.elsewhere().attached.borrow_mut()[rank] = None;
        let Settled { sent, done } = self.elsewhere().settled.borrow()[rank];
        if sent == done {
            return Ok(None);
        }
        self.ask_elsewhere(rank, &Request::Flush, 0, |_| {}, 0).map(Some)
    }
}

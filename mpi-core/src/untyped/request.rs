//! Requests: operations in flight that somebody waits for (MPI-5.0 section 3.7).

use std::cell::RefCell;
use std::rc::Rc;

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::loan::Loan;
use super::outside::Awaiting;
use super::{
    AttachedBuffer, BufferOwner, Elements, Generalized, Mode, Partitioned, Persistent, Runs, SimpleRequest, Started,
    StartedReceive, Status, buffered::BufferedSend, elements::read_span_of,
};
use crate::activity::Call;
use crate::engine::{Failure, OperationId, Received, TaskId};
use crate::error::{Error, ErrorClass};
use crate::partner::{receive_target, send_target};
use crate::process::Process;
use crate::waiting::Awaited;
use crate::{Communicator, Destination, Result, Source, TagSelector, Universe};

/// What the untyped calls of a rank share, or of one of its lanes: buffers for buffered sends, and requests that were
/// freed while they were active.
pub struct Endpoint {
    pub(super) process: Rc<Process>,
    world: Communicator,
    pub(super) buffers: RefCell<Vec<(BufferOwner, AttachedBuffer)>>,
    freed: RefCell<Vec<Request>>,
}

impl Endpoint {
    /// Whether no peer can be using memory of this rank's in this lane.
    pub fn is_idle(&self) -> bool {
        self.process.is_idle()
    }

    /// No peer uses memory of this rank's in any lane: what they have been told of it is no longer true.
    pub fn forget_lent(&self) {
        self.process.engine().forget_lent();
    }

    /// That of this rank. There should be only one.
    pub fn new(universe: &Universe) -> Self {
        Endpoint::in_lane(universe, 0)
    }

    /// That of this rank in one of its lanes.
    pub fn in_lane(universe: &Universe, lane: usize) -> Self {
        let world = universe.in_lane(lane).clone();
        let process = world.process().clone();
        Endpoint { process, world, buffers: RefCell::default(), freed: RefCell::default() }
    }

    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// The communicator for what belongs to none of the program's.
    pub fn communicator(&self) -> &Communicator {
        &self.world
    }

    pub(super) fn failed(&self, failure: Failure) -> Error {
        self.world.failed(Call::Receive)(failure)
    }

    /// Makes progress once.
    ///
    /// # Errors
    /// Whatever keeps the rank from communicating.
    pub fn progress(&self) -> Result<()> {
        self.process.progress_all().map(drop).map_err(|failure| self.failed(failure))
    }

    /// A call that does not wait has found nothing: after some in a row it lets other ranks have the processor.
    ///
    /// # Errors
    /// Whatever keeps the rank from communicating.
    pub fn found_nothing(&self) -> Result<()> {
        self.process.found_nothing(Awaited::Unknown).map_err(|failure| self.failed(failure))
    }

    /// Makes progress until `done` has a result.
    ///
    /// # Errors
    /// Whatever keeps the rank from waiting.
    pub(super) fn wait_for<R>(&self, done: impl FnMut() -> Option<R>) -> Result<R> {
        self.wait_for_awaited(Awaited::Unknown, done)
    }

    pub(super) fn wait_for_awaited<R>(&self, awaited: Awaited, done: impl FnMut() -> Option<R>) -> Result<R> {
        self.process.wait_for_awaited(awaited, done).map_err(|failure| self.failed(failure))
    }

    /// Lets go of a request whose operation may still go on (MPI_Request_free).
    ///
    /// # Errors
    /// What the free function of a generalized request says.
    pub fn free(&self, mut request: Request) -> Result<()> {
        self.drop_completed();
        if let State::Generalized(generalized) = &request.state {
            return generalized.freed_by_program();
        }
        if let State::Persistent(mut persistent) = request.state {
            let active = persistent.take_active();
            match active.or_else(|| persistent.into_unfinished(&request.communicator)) {
                Some(active) => request = active,
                None => return Ok(()),
            }
        }
        if request.is_done() {
            request.forget();
        } else {
            self.freed.borrow_mut().push(request);
        }
        Ok(())
    }

    /// Forgets freed requests that have completed: what was received goes where it belongs.
    fn drop_completed(&self) {
        let done: Vec<Request> = self.freed.borrow_mut().extract_if(.., |request| request.is_done()).collect();
        done.into_iter().for_each(Request::forget);
    }

    /// Completes what was freed and delivers what was sent from buffers: for the end of the job.
    ///
    /// # Errors
    /// Whatever keeps the rank from waiting.
    pub fn complete_all(&self) -> Result<()> {
        let owners: Vec<BufferOwner> = self.buffers.borrow().iter().map(|(owner, _)| *owner).collect();
        owners.into_iter().try_for_each(|owner| self.flush_buffer(owner))?;
        // A freed receive whose message never comes must not keep the rank.
        self.progress()?;
        self.drop_completed();
        Ok(())
    }
}

/// An operation in flight, or one that has completed and whose result nobody has taken.
pub struct Request {
    communicator: Communicator,
    state: State,
}

pub(super) enum State {
    /// Completed when it was started.
    Done(Status),
    /// A send; the packed copy that it reads from.
    Sending { id: OperationId, call: Call, packed: Option<Loan> },
    /// A receive.
    Receiving(OperationId),
    /// A receive and a send that belong together.
    Both(Box<[Request; 2]>),
    /// A nonblocking collective; the memory that only it uses.
    Collective { id: TaskId, call: Call },
    /// One that can be started again.
    Persistent(Box<Persistent>),
    /// A partitioned operation, which can be started again.
    Partitioned(Partitioned),
    /// One that the program completes.
    Generalized(Rc<Generalized>),
    /// The buffered sends of an owner.
    Flushing(Vec<Rc<BufferedSend>>),
    /// One that another thread of the library performs.
    Outside(Awaiting),
}

impl Communicator {
    /// Starts a send (MPI_Isend, MPI_Issend, MPI_Irsend); `None`: it has completed already.
    ///
    /// # Errors
    /// As [`Communicator::send_elements`].
    pub fn start_send_elements(
        &self,
        elements: &Elements,
        destination: Destination,
        tag: i32,
        mode: Mode,
    ) -> Result<Option<Request>> {
        if let Some(span) = elements.read_span() {
            let started = self.start_send_block(span, destination, tag, mode)?;
            return Ok(started.map(|started| SimpleRequest::new(self, started).into()));
        }
        if !elements.go_in_pieces(self.process().tuning())? {
            return self.start_packed_send(elements.packed()?, destination, tag, mode);
        }
        let (call, target) = (mode.call(), send_target(destination, tag));
        let Some(peer) = self.checked_destination(call, destination, tag)? else { return Ok(None) };
        let started = self.start_scattered_send(elements, peer, target, tag, mode)?;
        let started = started.filter(|&id| !self.process().leaves_from_copy(id));
        Ok(started.map(|id| Request::new(self, State::Sending { id, call, packed: None })))
    }

    /// Starts a send of a packed copy.
    fn start_packed_send(
        &self,
        packed: Vec<u8>,
        destination: Destination,
        tag: i32,
        mode: Mode,
    ) -> Result<Option<Request>> {
        let packed = Loan::new(packed);
        let Some(Started { id, call }) = self.start_send_block(read_span_of(&packed.0), destination, tag, mode)? else {
            packed.end();
            return Ok(None);
        };
        Ok(Some(Request::new(self, State::Sending { id, call, packed: Some(packed) })))
    }

    /// As [`Communicator::start_send_elements`], of elements that lie side by side: the first block.
    ///
    /// # Errors
    /// As there.
    #[inline(always)]
    pub fn start_send_runs(
        &self,
        data: Runs,
        destination: Destination,
        tag: i32,
        mode: Mode,
    ) -> Result<Option<Started>> {
        self.start_send_block(data.block(0).as_read(), destination, tag, mode)
    }

    #[inline(always)]
    pub(super) fn start_send_block(
        &self,
        block: ReadSpan<'static>,
        destination: Destination,
        tag: i32,
        mode: Mode,
    ) -> Result<Option<Started>> {
        let call = mode.call();
        let Some(peer) = self.checked_destination(call, destination, tag)? else { return Ok(None) };
        let mut engine = self.process().enter(call, send_target(destination, tag), self.context(), block.len());
        let started = engine.start_send(peer, self.context(), tag as u32, block, mode.in_engine());
        drop(engine);
        match started {
            Ok(None) => Ok(None),
            Ok(Some(id)) if self.process().leaves_from_copy(id) => Ok(None),
            Ok(Some(id)) => Ok(Some(Started { id, call })),
            Err(failure) => Err(self.failed(call)(failure)),
        }
    }

    /// As [`Communicator::start_receive`], of elements that lie side by side: the first block.
    ///
    /// # Errors
    /// As there.
    #[inline(always)]
    pub fn start_receive_runs(&self, data: Runs, source: Source, tag: TagSelector) -> Result<StartedReceive> {
        self.start_receive_block(data.block(0), source, tag)
    }

    #[inline(always)]
    fn start_receive_block(
        &self,
        block: WriteSpan<'static>,
        source: Source,
        tag: TagSelector,
    ) -> Result<StartedReceive> {
        let Some(pattern) = self.checked_pattern(Call::Receive, source, tag, self.context())? else {
            return Ok(StartedReceive::Completed(Status::NOBODY));
        };
        let mut engine = self.process().enter(Call::Receive, receive_target(source, tag), pattern.context, 0);
        match engine.begin_receive(pattern, block) {
            Ok(Received::Now(completion)) => Ok(StartedReceive::Completed(Status::new(self, completion))),
            Ok(Received::Later(id)) => Ok(StartedReceive::InFlight(Started::receive(id))),
            Err(failure) => {
                drop(engine);
                Err(self.failed(Call::Receive)(failure))
            }
        }
    }

    /// Starts a receive (MPI_Irecv).
    ///
    /// # Errors
    /// As [`Communicator::receive_elements`], but for what only the message shows.
    pub fn start_receive(&self, elements: &Elements, source: Source, tag: TagSelector) -> Result<StartedReceive> {
        if let Some(span) = elements.write_span() {
            return self.start_receive_block(span, source, tag);
        }
        let Some(pattern) = self.checked_pattern(Call::Receive, source, tag, self.context())? else {
            return Ok(StartedReceive::Completed(Status::NOBODY));
        };
        let sink = elements.sink()?;
        let mut engine = self.process().enter(Call::Receive, receive_target(source, tag), pattern.context, 0);
        let started = engine.start_receive(pattern, sink);
        drop(engine);
        let id = started.map_err(self.failed(Call::Receive))?;
        Ok(StartedReceive::InFlight(Started::receive(id)))
    }

    /// As [`Communicator::start_receive`].
    pub(super) fn start_receive_elements(
        &self,
        elements: &Elements,
        source: Source,
        tag: TagSelector,
    ) -> Result<Request> {
        Ok(match self.start_receive(elements, source, tag)? {
            StartedReceive::Completed(status) => Request::done(self, status),
            StartedReceive::InFlight(started) => SimpleRequest::new(self, started).into(),
        })
    }

    /// Starts a send and a receive that complete together (MPI_Isendrecv).
    ///
    /// # Errors
    /// As those of both.
    pub fn start_send_and_receive(
        &self,
        (sent, destination, send_tag): (&Elements, Destination, i32),
        (received, source, receive_tag): (Elements, Source, TagSelector),
    ) -> Result<Request> {
        self.checked_destination(Call::Send, destination, send_tag)?;
        let incoming = self.start_receive_elements(&received, source, receive_tag)?;
        let outgoing = self.start_send_elements(sent, destination, send_tag, Mode::Standard)?;
        let outgoing = outgoing.unwrap_or_else(|| Request::done(self, Status::EMPTY));
        Ok(Request::new(self, State::Both(Box::new([incoming, outgoing]))))
    }

    /// As [`Communicator::start_send_and_receive`], the received message taking the place of the sent one
    /// (MPI_Isendrecv_replace).
    ///
    /// # Errors
    /// As those of both.
    pub fn start_replace(
        &self,
        elements: Elements,
        (destination, send_tag): (Destination, i32),
        (source, receive_tag): (Source, TagSelector),
    ) -> Result<Request> {
        self.checked_destination(Call::Send, destination, send_tag)?;
        let packed = elements.packed()?;
        let incoming = self.start_receive_elements(&elements, source, receive_tag)?;
        let outgoing = self.start_packed_send(packed, destination, send_tag, Mode::Standard)?;
        let outgoing = outgoing.unwrap_or_else(|| Request::done(self, Status::EMPTY));
        Ok(Request::new(self, State::Both(Box::new([incoming, outgoing]))))
    }
}

impl Request {
    pub(super) fn new(communicator: &Communicator, state: State) -> Self {
        Request { communicator: communicator.clone(), state }
    }

    /// One that has completed already.
    pub fn done(communicator: &Communicator, status: Status) -> Self {
        Request::new(communicator, State::Done(status))
    }

    /// The request of a nonblocking collective that has been started as a task; none has come to its end already.
    pub(crate) fn collective(communicator: &Communicator, call: Call, id: Option<TaskId>) -> Self {
        match id {
            Some(id) => Request::new(communicator, State::Collective { id, call }),
            None => Request::done(communicator, Status::EMPTY),
        }
    }

    /// A request that the program completes.
    pub fn generalized(communicator: &Communicator, generalized: Rc<Generalized>) -> Self {
        Request::new(communicator, State::Generalized(generalized))
    }

    /// One that can be started again and again.
    pub fn persistent(communicator: &Communicator, persistent: Persistent) -> Self {
        Request::new(communicator, State::Persistent(Box::new(persistent)))
    }

    pub(super) fn partitioned(communicator: &Communicator, partitioned: Partitioned) -> Self {
        Request::new(communicator, State::Partitioned(partitioned))
    }

    pub(super) fn flushing(communicator: &Communicator, sends: Vec<Rc<BufferedSend>>) -> Self {
        Request::new(communicator, State::Flushing(sends))
    }

    /// The communicator that it belongs to.
    pub fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    /// Whether it stays a request after it has completed.
    pub fn is_persistent(&self) -> bool {
        matches!(self.state, State::Persistent(_))
    }

    /// Whether waiting for it means anything: a persistent request is inactive until it is started.
    pub fn is_active(&self) -> bool {
        !matches!(&self.state, State::Persistent(persistent) if !persistent.is_active())
    }

    /// The persistent request that it is.
    ///
    /// # Errors
    /// MPI_ERR_REQUEST if it is none.
    pub fn as_persistent(&mut self) -> Result<&mut Persistent> {
        match &mut self.state {
            State::Persistent(persistent) => Ok(persistent),
            _ => Err(Error::new(ErrorClass::Request, "the request is not persistent: it can't be started")),
        }
    }

    /// The generalized request that it is.
    ///
    /// # Errors
    /// MPI_ERR_REQUEST if it is none.
    pub fn as_generalized(&self) -> Result<&Rc<Generalized>> {
        match &self.state {
            State::Generalized(generalized) => Ok(generalized),
            _ => Err(Error::new(ErrorClass::Request, "the request is not a generalized one")),
        }
    }

    /// Whether it has completed, or is inactive. Makes no progress by itself.
    #[inline]
    pub fn is_done(&self) -> bool {
        let process = self.communicator.process();
        match &self.state {
            State::Done(_) => true,
            State::Receiving(id) => process.engine().outcome(*id).is_some(),
            State::Sending { id, .. } => process.has_completed(*id),
            State::Both(both) => both.iter().all(Request::is_done),
            State::Collective { id, .. } => process.tasks().is_done(*id),
            State::Persistent(persistent) => persistent.active().is_none_or(Request::is_done),
            State::Partitioned(partitioned) => partitioned.is_done(),
            State::Generalized(generalized) => generalized.is_complete(),
            State::Flushing(sends) => sends.iter().all(|sent| sent.has_left()),
            State::Outside(awaiting) => awaiting.operation.is_done(),
        }
    }

    /// The simple request that it is, if it is one.
    pub fn into_simple(self) -> std::result::Result<SimpleRequest, Request> {
        let Request { communicator, state } = self;
        match state {
            State::Receiving(id) => Ok(SimpleRequest { communicator, id, call: Call::Receive }),
            State::Sending { id, call, packed: None } => Ok(SimpleRequest { communicator, id, call }),
            state => Err(Request { communicator, state }),
        }
    }

    /// The status that [`Request::finish`] will give, if it has completed (MPI_Request_get_status).
    ///
    /// # Errors
    /// What the query function of a generalized request says.
    pub fn peek(&self) -> Result<Option<Status>> {
        if !self.is_done() {
            return Ok(None);
        }
        let status = match &self.state {
            State::Done(status) => *status,
            State::Sending { id, .. } | State::Receiving(id) => {
                let mut engine = self.communicator.process().engine();
                engine.outcome(*id).map_or(Status::EMPTY, |outcome| Status::of_outcome(&self.communicator, outcome))
            }
            State::Both(both) => return both[0].peek(),
            State::Persistent(persistent) => match persistent.active() {
                Some(active) => return active.peek(),
                None => Status::EMPTY,
            },
            State::Partitioned(partitioned) => partitioned.status(),
            State::Generalized(generalized) => generalized.query()?,
            State::Outside(awaiting) => awaiting.operation.result()?,
            State::Collective { .. } | State::Flushing(_) => Status::EMPTY,
        };
        Ok(Some(status))
    }

    /// The result of a request that is done. A persistent request is inactive afterwards; others are to be dropped.
    ///
    /// # Errors
    /// What went wrong with the operation.
    pub fn finish(&mut self) -> Result<Status> {
        let Request { communicator, state } = self;
        let communicator = &*communicator;
        let collect = |id: OperationId, call: Call| {
            let outcome = communicator.process().engine().collect(id);
            let unfinished = || Error::new(ErrorClass::Internal, "the operation has not completed");
            outcome.ok_or_else(unfinished)?.map_err(communicator.failed(call))
        };
        match state {
            State::Done(status) => Ok(*status),
            State::Sending { id, call, packed } => {
                let outcome = collect(*id, *call);
                packed.take().map(Loan::end);
                Ok(Status::new(communicator, outcome?))
            }
            State::Receiving(id) => Ok(Status::new(communicator, collect(*id, Call::Receive)?)),
            State::Both(both) => {
                let [incoming, outgoing] = &mut **both;
                let status = incoming.finish();
                outgoing.finish()?;
                status
            }
            State::Collective { id, call } => {
                let ended = communicator.process().tasks().collect(*id);
                let unfinished = || Error::new(ErrorClass::Internal, "the collective has not come to its end");
                ended.ok_or_else(unfinished)?.map_err(communicator.failed(*call))?;
                Ok(Status::EMPTY)
            }
            State::Persistent(persistent) => persistent.take_active().map_or(Ok(Status::EMPTY), |mut one| one.finish()),
            State::Partitioned(partitioned) => partitioned.finish(),
            State::Generalized(generalized) => generalized.finish(),
            State::Outside(awaiting) => awaiting.operation.result(),
            State::Flushing(_) => Ok(Status::EMPTY),
        }
    }

    /// Gives back what it holds, being done: nobody asks for its result any more.
    fn forget(mut self) {
        drop(self.finish());
    }

    /// Waits until it has completed (MPI_Wait). A persistent request is inactive afterwards; others are to be dropped.
    ///
    /// # Errors
    /// What went wrong with the operation.
    #[inline]
    pub fn wait(&mut self, endpoint: &Endpoint) -> Result<Status> {
        if !self.is_done() {
            let waited = self.wait_by(endpoint);
            waited.inspect_err(|error| self.give_up_after(error))?;
        }
        self.finish()
    }

    pub(super) fn awaited(&self) -> Awaited {
        match &self.state {
            State::Sending { id, .. } | State::Receiving(id) => Awaited::Operation(*id),
            State::Both(both) => both[usize::from(both[0].is_done())].awaited(),
            State::Persistent(persistent) => persistent.active().map_or(Awaited::Unknown, Request::awaited),
            State::Collective { id, .. } => Awaited::Task(*id),
            State::Partitioned(partitioned) => partitioned.awaited(),
            State::Done(_) | State::Generalized(_) | State::Flushing(_) | State::Outside(_) => Awaited::Unknown,
        }
    }

    /// The transport has failed and the buffer goes back to the program: makes sure that no peer touches it any more.
    #[cold]
    pub(super) fn give_up(&mut self) {
        let process = self.communicator.process();
        match &mut self.state {
            // Waiting on after a failure gives up, or ends the job.
            State::Sending { id, .. } | State::Receiving(id) => drop(process.wait(*id)),
            State::Both(both) => both.iter_mut().for_each(Request::give_up),
            State::Persistent(persistent) => {
                if let Some(mut active) = persistent.take_active() {
                    active.give_up();
                }
                return;
            }
            State::Collective { id, .. } => process.tasks().cancel(*id),
            State::Partitioned(partitioned) => partitioned.give_up(),
            State::Outside(awaiting) => return awaiting.end(),
            State::Done(_) | State::Generalized(_) | State::Flushing(_) => return,
        }
        self.state = State::Done(Status::EMPTY);
    }

    /// Asks for the operation to be cancelled (MPI_Cancel). It still has to be completed; its status then tells whether
    /// it was.
    ///
    /// # Errors
    /// MPI_ERR_REQUEST for an operation that can't be cancelled by definition; what a generalized request's function
    /// says.
    pub fn cancel(&mut self) -> Result<()> {
        let cannot = |what: &str| Err(Error::new(ErrorClass::Request, format!("{what} can't be cancelled")));
        match &mut self.state {
            State::Done(_) => Ok(()),
            State::Sending { id, call, .. } => {
                let cancelled = self.communicator.process().engine().cancel(*id);
                cancelled.map_err(self.communicator.failed(*call))
            }
            State::Receiving(id) => {
                let process = self.communicator.process();
                // A message that has come as far as a connection goes first: who posts and cancels in a loop gets it.
                let cancelled = process.progress_all().and_then(|_| process.engine().cancel(*id));
                cancelled.map_err(self.communicator.failed(Call::Receive))
            }
            State::Persistent(persistent) => match persistent.active_mut() {
                Some(active) => active.cancel(),
                None => cannot("an inactive request"),
            },
            State::Generalized(generalized) => generalized.cancel(),
            State::Both(_) => cannot("a send and receive in one"),
            State::Collective { .. } => cannot("a collective operation"),
            State::Partitioned(_) => cannot("a partitioned operation"),
            State::Flushing(_) => cannot("the flushing of a buffer"),
            State::Outside(_) => cannot("an access of a file"),
        }
    }
}

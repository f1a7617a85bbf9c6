//! Point-to-point communication on the typed API (MPI-5.0 chapter 3): buffers whose memory is their message are here,
//! others in `packed_values`, values in `values` and `nonblocking_values`, and messages that have not been received in
//! `probe`.
//!
//! A *ready* send is a standard one here: knowing that the receive is posted would save nothing, since the request for
//! send already says so.
#![allow(unsafe_code)]

mod nonblocking_values;
mod packed_values;
mod probe;
mod values;

use std::mem::MaybeUninit;

use rwmpi_protocol::Pattern;
use rwmpi_transport::{ReadSpan, WriteSpan};

use crate::activity::Call;
use crate::buffer::{read_span, staged, write_span};
use crate::engine::{Completion, Failure, SendMode};
use crate::error::{Error, ErrorClass};
use crate::message::{Arriving, Place};
use crate::partner::{receive_target, send_target};
use crate::plain::{direct, direct_mut};
use crate::staged::{Incoming, Outgoing, Staged, checked};
use crate::{Communicator, Datatype, Destination, Mark, Message, Request, Result, Scope, Source, Status, TagSelector};
use packed_values::go_in_pieces;
pub use probe::MatchedMessage;
use values::said_of_value;

impl Communicator {
    #[inline]
    pub(crate) fn checked_destination(&self, call: Call, destination: Destination, tag: i32) -> Result<Option<u32>> {
        if tag < 0 {
            let what = format!("tag {tag} is negative; tags are 0 to {}", crate::TAG_MAX);
            return Err(Error::argument(ErrorClass::Tag, self, call, what));
        }
        match destination {
            Destination::Null => Ok(None),
            Destination::Rank(rank) => match self.partners().peer(rank) {
                Some(peer) => Ok(Some(peer)),
                None => Err(self.no_such_rank(call, "destination", rank)),
            },
        }
    }

    #[inline]
    pub(crate) fn checked_pattern(
        &self,
        call: Call,
        source: Source,
        tag: TagSelector,
        context: u32,
    ) -> Result<Option<Pattern>> {
        let tag = match tag {
            TagSelector::Any => None,
            TagSelector::Tag(tag) if tag >= 0 => Some(tag as u32),
            TagSelector::Tag(tag) => {
                let what = format!("tag {tag} is negative; tags are 0 to {}, or any", crate::TAG_MAX);
                return Err(Error::argument(ErrorClass::Tag, self, call, what));
            }
        };
        let source = match source {
            Source::Null => return Ok(None),
            Source::Any => None,
            Source::Rank(rank) => match self.partners().peer(rank) {
                Some(peer) => Some(peer),
                None => return Err(self.no_such_rank(call, "source", rank)),
            },
        };
        Ok(Some(Pattern { context, source, tag }))
    }

    #[cold]
    fn no_such_rank(&self, call: Call, role: &str, rank: usize) -> Error {
        let what = format!("{role} {rank} is out of range; the ranks are 0 to {}", self.partners().size() - 1);
        Error::argument(ErrorClass::Rank, self, call, what)
    }

    #[inline(always)]
    pub(crate) fn send_in_mode<T: Datatype>(
        &self,
        call: Call,
        data: &[T],
        destination: Destination,
        tag: i32,
        mode: SendMode,
        mark: Mark,
    ) -> Result<()> {
        let Some(memory) = direct(data) else {
            return self.send_packed(call, data, destination, tag, mode, mark);
        };
        // SAFETY: the send has completed when the call returns, and the slice is borrowed until then.
        let span = unsafe { read_span(memory) };
        self.send_span(call, span, destination, tag, mode, mark)
    }

    /// The same for all types.
    #[inline(always)]
    pub(crate) fn send_span(
        &self,
        call: Call,
        span: ReadSpan<'static>,
        destination: Destination,
        tag: i32,
        mode: SendMode,
        mark: Mark,
    ) -> Result<()> {
        let Some(peer) = self.checked_destination(call, destination, tag)? else { return Ok(()) };
        let context = self.context();
        let mut engine = self.process().enter(call, send_target(destination, tag), context, span.len());
        engine.mark(mark);
        self.process().send(engine, (peer, context, tag as u32), span, mode).map_err(self.failed(call))
    }

    /// Sends `data`; returns when the slice may be used again (MPI_Send). Small messages are buffered; large ones may
    /// wait for their receive.
    #[doc = example!(2
        "if rank == 0 {"
        "    world.send(&[1.5, 2.5], 1, 7)?;"
        "} else {"
        "    let mut data = [0.0; 2];"
        "    world.recv(&mut data, 0, 7)?;"
        "    assert_eq!(data, [1.5, 2.5]);"
        "}"
    )]
    #[inline(always)]
    #[doc(alias = "MPI_Send")]
    pub fn send<T: Datatype>(&self, data: &[T], destination: impl Into<Destination>, tag: i32) -> Result<()> {
        self.send_in_mode(Call::Send, data, destination.into(), tag, SendMode::Standard, Mark::of(T::SIGNATURE))
    }

    /// As [`Communicator::send`]; returns only when the receive has been matched (MPI_Ssend).
    #[doc = example!(2
        "if rank == 0 {"
        "    world.synchronous_send(&[1.5], 1, 7)?;"
        "} else {"
        "    world.recv(&mut [0.0], 0, 7)?;"
        "}"
    )]
    #[doc(alias = "MPI_Ssend")]
    pub fn synchronous_send<T: Datatype>(
        &self,
        data: &[T],
        destination: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        let call = Call::SynchronousSend;
        self.send_in_mode(call, data, destination.into(), tag, SendMode::Synchronous, Mark::of(T::SIGNATURE))
    }

    /// As [`Communicator::send`], where the caller knows that the receive has been posted (MPI_Rsend).
    #[doc = example!(2
        "let (mut data, other) = ([0], 1 - rank);"
        "rwmpi::scope(|s| {"
        "    let incoming = world.irecv(s, &mut data, other, 7)?;"
        "    world.barrier()?;"
        "    world.ready_send(&[rank], other, 7)?;"
        "    incoming.wait()"
        "})?;"
        "assert_eq!(data, [other]);"
    )]
    #[doc(alias = "MPI_Rsend")]
    pub fn ready_send<T: Datatype>(&self, data: &[T], destination: impl Into<Destination>, tag: i32) -> Result<()> {
        self.send(data, destination, tag)
    }

    /// Sends a copy of `data` that the library keeps; returns at once (MPI_Bsend). The copy is bounded by memory only.
    #[doc = example!(1
        "world.buffered_send(&[7], 0, 0)?;"
        "let mut data = [0];"
        "world.recv(&mut data, 0, 0)?;"
        "assert_eq!(data, [7]);"
    )]
    #[doc(alias = "MPI_Bsend")]
    pub fn buffered_send<T: Datatype>(&self, data: &[T], destination: impl Into<Destination>, tag: i32) -> Result<()> {
        let (call, destination) = (Call::BufferedSend, destination.into());
        let Some(peer) = self.checked_destination(call, destination, tag)? else { return Ok(()) };
        let outgoing = Outgoing::new(data);
        let bytes = outgoing.bytes();
        let mut engine = self.process().enter(call, send_target(destination, tag), self.context(), bytes.len());
        engine.mark(Mark::of(T::SIGNATURE));
        let id = engine.start_buffered_send(peer, self.context(), tag as u32, bytes.into());
        drop(engine);
        if let Some(id) = id.map_err(self.failed(call))? {
            self.process().detach(id);
        }
        Ok(())
    }

    /// Receives a message of at most `buffer.len()` elements (MPI_Recv).
    #[doc = example!(2
        "use rwmpi::{ANY_SOURCE, ANY_TAG};"
        "if rank == 0 {"
        "    world.send(&[1, 2, 3], 1, 7)?;"
        "} else {"
        "    let mut data = [0; 8];"
        "    let status = world.recv(&mut data, ANY_SOURCE, ANY_TAG)?;"
        "    assert_eq!((status.source(), status.tag(), status.count::<i32>()), (Some(0), Some(7), Some(3)));"
        "}"
    )]
    #[inline(always)]
    #[doc(alias = "MPI_Recv")]
    pub fn recv<T: Datatype>(
        &self,
        buffer: &mut [T],
        source: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Status> {
        let (source, tag) = (source.into(), tag.into());
        let Some(memory) = direct_mut(buffer) else { return self.recv_packed(buffer, source, tag) };
        // SAFETY: the receive has completed when the call returns, and the slice is borrowed until then.
        let span = unsafe { write_span(memory) };
        match self.receive_span(span, source, tag)? {
            Some(completion) => self.arrived::<T>(completion, |_| Ok(())),
            None => Ok(Status::EMPTY),
        }
    }

    /// The same for all types; `None`: from nobody.
    #[inline(always)]
    pub(crate) fn receive_span(
        &self,
        span: WriteSpan<'static>,
        source: Source,
        tag: TagSelector,
    ) -> Result<Option<Completion>> {
        let call = Call::Receive;
        let Some(pattern) = self.checked_pattern(call, source, tag, self.context())? else { return Ok(None) };
        let engine = self.process().enter(call, receive_target(source, tag), pattern.context, span.len());
        match self.process().receive(engine, pattern, span) {
            Ok(completion) => Ok(Some(completion)),
            Err(failure) => Err(self.failed(call)(failure)),
        }
    }

    /// A receive of elements has completed: what `unpack` makes of so many bytes.
    #[inline(always)]
    pub(crate) fn arrived<T: Datatype>(
        &self,
        completion: Completion,
        unpack: impl FnOnce(u64) -> std::result::Result<(), Failure>,
    ) -> Result<Status> {
        match checked::<T>(&completion).and_then(|()| unpack(completion.bytes)) {
            Ok(()) => Ok(self.status_of(completion)),
            Err(failure) => Err(self.failed(Call::Receive)(failure).of_message(self.status_of(completion))),
        }
    }

    /// Receives a value in its place.
    #[inline(always)]
    pub(crate) fn receive_value<T: Message>(
        &self,
        mut place: Place<T>,
        source: Source,
        tag: TagSelector,
    ) -> Result<(T, Status)> {
        let span = place.span();
        // SAFETY: the receive has completed when the call returns, and the place stays where it is until then.
        let span = unsafe { WriteSpan::new(span.start(), span.len()) };
        match self.receive_span(span, source, tag)? {
            Some(completion) => self.landed(completion, place),
            None => Err(self.no_value::<T>()),
        }
    }

    /// As [`Communicator::receive_value`], where the value is its message: without a place of which nobody knows what
    /// it holds, this takes hardly more instructions than a receive of raw bytes.
    #[inline(always)]
    pub(crate) fn receive_itself<T: Message>(&self, source: Source, tag: TagSelector) -> Result<(T, Status)> {
        let mut value = MaybeUninit::<T>::zeroed();
        // SAFETY: as in `receive_value`.
        let span = unsafe { WriteSpan::new(value.as_mut_ptr().cast(), size_of::<T>()) };
        let Some(completion) = self.receive_span(span, source, tag)? else { return Err(self.no_value::<T>()) };
        if let Err(failure) = said_of_value::<T>(&completion) {
            return Err(self.failed(Call::Receive)(failure));
        }
        // SAFETY: all bytes of the value were written when it was made, whatever a peer has written since.
        match unsafe { T::FORM.itself(value, completion.bytes as usize) } {
            Ok(value) => Ok((value, self.status_of(completion))),
            Err(error) => {
                let source = self.status_of(completion).source();
                Err(self.not_decoded::<T>(Call::Receive, completion.bytes as usize, source, &error))
            }
        }
    }

    /// As [`Communicator::receive_value`], of a message of any length that is short and the next to arrive: room is
    /// made for it when its length is known. `None` if it is not like that.
    pub(crate) fn receive_next_value<T: Message>(
        &self,
        source: Source,
        tag: TagSelector,
    ) -> Result<Option<(T, Status)>> {
        let call = Call::Receive;
        let Some(pattern) = self.checked_pattern(call, source, tag, self.context())? else { return Ok(None) };
        let mut room = Arriving::NOTHING;
        let engine = self.process().enter(call, receive_target(source, tag), pattern.context, 0);
        let received = self.process().receive_next(engine, pattern, &mut room).map_err(self.failed(call))?;
        received.zip(room.take()).map(|(completion, place)| self.landed(completion, place)).transpose()
    }

    /// As [`Communicator::receive_value`], of a message that a matched probe has taken.
    pub(crate) fn receive_matched_value<T: Message>(
        &self,
        mut place: Place<T>,
        message: MatchedMessage,
    ) -> Result<(T, Status)> {
        let span = place.span();
        // SAFETY: as in `receive_value`.
        let span = unsafe { WriteSpan::new(span.start(), span.len()) };
        let started = self.process().engine().start_matched_receive(message.message, span.into());
        let received = started.and_then(|id| self.process().wait(id));
        self.landed(received.map_err(self.failed(Call::Receive))?, place)
    }

    /// The value that a receive which has completed has brought.
    #[inline(always)]
    pub(crate) fn landed<T: Message>(&self, completion: Completion, place: Place<T>) -> Result<(T, Status)> {
        if let Err(failure) = said_of_value::<T>(&completion) {
            return Err(self.failed(Call::Receive)(failure));
        }
        let (bytes, status) = (completion.bytes as usize, self.status_of(completion));
        match place.value(bytes) {
            Ok(value) => Ok((value, status)),
            Err(error) => Err(self.not_decoded::<T>(Call::Receive, bytes, status.source(), &error)),
        }
    }

    fn isend_in_mode<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        call: Call,
        data: &'scope [T],
        destination: Destination,
        tag: i32,
        mode: SendMode,
    ) -> Result<Request<'scope>> {
        let context = self.context();
        let Some(peer) = self.checked_destination(call, destination, tag)? else {
            return Ok(Request::done(Ok(Status::EMPTY)));
        };
        if go_in_pieces::<T>(self.process().tuning(), data.len()) {
            return self.isend_in_pieces(scope, call, data, (destination, peer), tag, mode);
        }
        let outgoing = Outgoing::new(data);
        // SAFETY: the scope completes the send before the borrow of the slice, which lasts as long as the scope, ends.
        let span = unsafe { read_span(outgoing.bytes()) };
        let mut engine = self.process().enter(call, send_target(destination, tag), context, span.len());
        engine.mark(Mark::of(T::SIGNATURE));
        let started = engine.start_send(peer, context, tag as u32, span, mode);
        drop(engine);
        Ok(match started.map_err(self.failed(call))?.filter(|&id| !self.process().leaves_from_copy(id)) {
            // SAFETY: the scope lets go of it when the send has completed.
            Some(id) => scope.adopt(self, call, id, checked::<T>, (!T::DIRECT).then(|| unsafe { staged(outgoing) })),
            None => Request::done(Ok(Status::EMPTY)),
        })
    }

    /// Starts a send (MPI_Isend).
    #[doc = example!(2
        "let other = 1 - rank;"
        "let (data, mut heard) = ([rank; 100], [0_usize; 100]);"
        "rwmpi::scope(|s| {"
        "    let sent = world.isend(s, &data, other, 0)?;"
        "    world.recv(&mut heard, other, 0)?;"
        "    sent.wait()"
        "})?;"
    )]
    #[doc(alias = "MPI_Isend")]
    pub fn isend<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        destination: impl Into<Destination>,
        tag: i32,
    ) -> Result<Request<'scope>> {
        self.isend_in_mode(scope, Call::Send, data, destination.into(), tag, SendMode::Standard)
    }

    /// Starts a synchronous send (MPI_Issend).
    #[doc = example!(2
        "let other = 1 - rank;"
        "let (data, mut heard) = ([rank; 100], [0_usize; 100]);"
        "rwmpi::scope(|s| {"
        "    let sent = world.synchronous_isend(s, &data, other, 0)?;"
        "    world.recv(&mut heard, other, 0)?;"
        "    sent.wait()"
        "})?;"
    )]
    #[doc(alias = "MPI_Issend")]
    pub fn synchronous_isend<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        destination: impl Into<Destination>,
        tag: i32,
    ) -> Result<Request<'scope>> {
        let call = Call::SynchronousSend;
        self.isend_in_mode(scope, call, data, destination.into(), tag, SendMode::Synchronous)
    }

    /// Starts a send where the caller knows that the receive has been posted (MPI_Irsend).
    #[doc = example!(2
        "let other = 1 - rank;"
        "let (data, mut heard) = ([rank], [0_usize]);"
        "rwmpi::scope(|s| {"
        "    let incoming = world.irecv(s, &mut heard, other, 0)?;"
        "    world.barrier()?;"
        "    world.ready_isend(s, &data, other, 0)?.wait()?;"
        "    incoming.wait()"
        "})?;"
    )]
    #[doc(alias = "MPI_Irsend")]
    pub fn ready_isend<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        destination: impl Into<Destination>,
        tag: i32,
    ) -> Result<Request<'scope>> {
        self.isend(scope, data, destination, tag)
    }

    /// Starts a buffered send, which has completed when it returns (MPI_Ibsend).
    #[doc = example!(1
        "world.buffered_isend(&[7], 0, 0)?.wait()?;"
        "world.recv(&mut [0], 0, 0)?;"
    )]
    #[doc(alias = "MPI_Ibsend")]
    pub fn buffered_isend<'scope, T: Datatype>(
        &self,
        data: &[T],
        destination: impl Into<Destination>,
        tag: i32,
    ) -> Result<Request<'scope>> {
        self.buffered_send(data, destination, tag)?;
        Ok(Request::done(Ok(Status::EMPTY)))
    }

    /// Starts a receive (MPI_Irecv).
    #[doc = example!(2
        "let other = 1 - rank;"
        "let mut heard = [0; 100];"
        "rwmpi::scope(|s| {"
        "    let incoming = world.irecv(s, &mut heard, other, 0)?;"
        "    world.send(&[rank; 100], other, 0)?;"
        "    incoming.wait()"
        "})?;"
        "assert_eq!(heard, [other; 100]);"
    )]
    #[doc(alias = "MPI_Irecv")]
    pub fn irecv<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        buffer: &'scope mut [T],
        source: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Request<'scope>> {
        let (call, context, source, tag) = (Call::Receive, self.context(), source.into(), tag.into());
        let Some(pattern) = self.checked_pattern(call, source, tag, context)? else {
            return Ok(Request::done(Ok(Status::EMPTY)));
        };
        if go_in_pieces::<T>(self.process().tuning(), buffer.len()) {
            return self.irecv_in_pieces(scope, buffer, pattern, receive_target(source, tag));
        }
        let mut incoming = Incoming::new(buffer);
        // SAFETY: the scope completes or cancels the receive before the borrow of the slice, which lasts as long as the
        // scope, ends.
        let span = unsafe { write_span(incoming.bytes()) };
        let mut engine = self.process().enter(call, receive_target(source, tag), context, span.len());
        let started = engine.start_span_receive(pattern, span);
        drop(engine);
        let id = started.map_err(self.failed(call))?;
        // SAFETY: the scope lets go of it when the receive has completed.
        Ok(scope.adopt(self, call, id, checked::<T>, (!T::DIRECT).then(|| unsafe { staged(incoming) })))
    }

    /// Sends to one and receives from another at the same time (MPI_Sendrecv).
    #[doc = example!(2
        "let other = 1 - rank;"
        "let mut heard = [0];"
        "world.sendrecv(&[rank], other, 0, &mut heard, other, 0)?;"
        "assert_eq!(heard, [other]);"
    )]
    #[doc(alias = "MPI_Sendrecv")]
    pub fn sendrecv<S: Datatype, R: Datatype>(
        &self,
        data: &[S],
        destination: impl Into<Destination>,
        send_tag: i32,
        buffer: &mut [R],
        source: impl Into<Source>,
        receive_tag: impl Into<TagSelector>,
    ) -> Result<Status> {
        let (source, receive_tag) = (source.into(), receive_tag.into());
        self.checked_pattern(Call::Receive, source, receive_tag, self.context())?;
        crate::scope(|scope| {
            let outgoing = self.isend(scope, data, destination, send_tag)?;
            let status = self.recv(buffer, source, receive_tag);
            outgoing.wait().and(status)
        })
    }

    /// As [`Communicator::sendrecv`], the received message taking the place of the sent one (MPI_Sendrecv_replace).
    #[doc = example!(2
        "let other = 1 - rank;"
        "let mut data = [rank];"
        "world.sendrecv_replace(&mut data, other, 0, other, 0)?;"
        "assert_eq!(data, [other]);"
    )]
    #[doc(alias = "MPI_Sendrecv_replace")]
    pub fn sendrecv_replace<T: Datatype>(
        &self,
        data: &mut [T],
        destination: impl Into<Destination>,
        send_tag: i32,
        source: impl Into<Source>,
        receive_tag: impl Into<TagSelector>,
    ) -> Result<Status> {
        let sent = data.to_vec();
        self.sendrecv(&sent, destination, send_tag, data, source, receive_tag)
    }

    /// Receives a message that a matched probe has taken (MPI_Mrecv).
    #[doc = example!(1
        "world.buffered_send(&[7], 0, 0)?;"
        "let message = world.matched_probe(0.into(), 0)?.expect(\"from somebody\");"
        "let mut data = [0];"
        "world.matched_recv(&mut data, message)?;"
        "assert_eq!(data, [7]);"
    )]
    #[doc(alias = "MPI_Mrecv")]
    pub fn matched_recv<T: Datatype>(&self, buffer: &mut [T], message: MatchedMessage) -> Result<Status> {
        let mut incoming = Incoming::new(buffer);
        // SAFETY: the receive has completed when the call returns, and the slice is borrowed until then.
        let span = unsafe { write_span(incoming.bytes()) };
        self.tell_again(Call::Receive);
        let started = self.process().engine().start_matched_receive(message.message, span.into());
        let received = started.and_then(|id| self.process().wait(id));
        self.arrived::<T>(received.map_err(self.failed(Call::Receive))?, |bytes| incoming.arrived(bytes))
    }
}

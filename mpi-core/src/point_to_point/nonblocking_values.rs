//! Sending and receiving values without waiting. The requests own everything: the library keeps a sent value's bytes,
//! and room for a received one is made when its message comes, however long it is. So the receive is posted at once,
//! and stands in MPI's order of matching where it was started.

use std::cell::RefCell;
use std::rc::Rc;

use crate::activity::Call;
use crate::engine::{Completion, Failure, OperationId, Sink};
use crate::error::{Error, ErrorClass};
use crate::message::Arriving;
use crate::partner::{receive_target, send_target};
use crate::request::InFlight;
use crate::waiting::Awaited;
use crate::{Communicator, Destination, Message, Request, Result, Source, Status, TagSelector};

impl Communicator {
    /// As [`Communicator::send_value`]: the value may be changed or dropped at once.
    ///
    /// ```
    /// # extern crate rwmpi_core as rwmpi;
    /// # fn main() -> rwmpi::Result<()> {
    /// # rwmpi::run_threads(2, rwmpi::Protocol::Auto, |universe| {
    /// # let world = universe.world();
    /// let other = world.size() - 1 - world.rank();
    /// let sent = world.isend_value(&vec!["any"; 3].concat(), other, 0)?;
    /// assert_eq!(world.recv_value::<String>(other, 0)?.0, "anyanyany");
    /// sent.wait()?;
    /// # Ok(())
    /// # })?.into_iter().collect()
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Communicator::send_value`].
    pub fn isend_value<T: Message>(
        &self,
        value: &T,
        destination: impl Into<Destination>,
        tag: i32,
    ) -> Result<Request<'static>> {
        let (call, destination) = (Call::Send, destination.into());
        let parcel = self.parcel(call, value)?;
        let Some(peer) = self.checked_destination(call, destination, tag)? else {
            return Ok(Request::done(Ok(Status::EMPTY)));
        };
        let (context, target, bytes) = (self.context(), send_target(destination, tag), parcel.bytes());
        let mut engine = self.process().enter(call, target, context, bytes.len());
        engine.mark(T::mark());
        let started = engine.start_buffered_send(peer, context, tag as u32, bytes.into());
        drop(engine);
        Ok(match started.map_err(self.failed(call))? {
            Some(id) => Request::whole(Sent { communicator: self.clone(), operation: Some(id) }),
            None => Request::done(Ok(Status::EMPTY)),
        })
    }

    /// As [`Communicator::recv_value`]. Dropping the request cancels the receive; a message that it has already met is
    /// lost.
    ///
    /// ```
    /// # extern crate rwmpi_core as rwmpi;
    /// # fn main() -> rwmpi::Result<()> {
    /// # rwmpi::run_threads(2, rwmpi::Protocol::Auto, |universe| {
    /// # let world = universe.world();
    /// let other = world.size() - 1 - world.rank();
    /// let received = world.irecv_value::<Vec<f64>>(other, 0)?;
    /// world.send_value(&vec![0.5; 1000], other, 0)?;
    /// assert_eq!(received.wait()?.0.len(), 1000);
    /// # Ok(())
    /// # })?.into_iter().collect()
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Communicator::recv_value`]; what arrives is looked at when the request is waited for.
    pub fn irecv_value<T: Message + 'static>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Request<'static, (T, Status)>> {
        let (call, source, tag) = (Call::Receive, source.into(), tag.into());
        let pattern = self.checked_pattern(call, source, tag, self.context())?;
        let pattern = pattern.ok_or_else(|| self.no_value::<T>())?;
        let room = Rc::new(RefCell::new(Arriving::NOTHING));
        let mut engine = self.process().enter(call, receive_target(source, tag), pattern.context, 0);
        let started = engine.start_receive(pattern, Sink::in_room(Box::new(room.clone())));
        drop(engine);
        let operation = Some(started.map_err(self.failed(call))?);
        Ok(Request::whole(Receiving { communicator: self.clone(), operation, room }))
    }
}

/// A send whose bytes the library keeps.
struct Sent {
    communicator: Communicator,
    operation: Option<OperationId>,
}

impl InFlight<Status> for Sent {
    fn take(&mut self) -> Option<Result<Status>> {
        let process = self.communicator.process();
        let id = self.operation.take_if(|id| process.has_completed(*id))?;
        let completed = process.wait(id).map_err(self.communicator.failed(Call::Send));
        Some(completed.map(|completion| self.communicator.status_of(completion)))
    }

    fn place(&self) -> Option<(Communicator, Call)> {
        self.operation.map(|_| (self.communicator.clone(), Call::Send))
    }

    fn awaited(&self) -> Awaited {
        self.operation.map_or(Awaited::Unknown, Awaited::Operation)
    }

    fn cancel(&mut self) -> Result<()> {
        cancel(&self.communicator, Call::Send, self.operation)
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        if let Some(id) = self.operation {
            self.communicator.process().detach(id);
        }
    }
}

/// A receive whose message becomes a value.
struct Receiving<T> {
    communicator: Communicator,
    operation: Option<OperationId>,
    room: Rc<RefCell<Arriving<T>>>,
}

impl<T: Message> Receiving<T> {
    fn value(&self, id: OperationId) -> Result<(T, Status)> {
        let (communicator, call) = (&self.communicator, Call::Receive);
        let completed = communicator.process().wait(id);
        match (completed, self.room.borrow_mut().take()) {
            (Ok(completion), _) if completion.is_cancelled() => {
                let what = "the receive has been cancelled: there is no value".to_string();
                Err(Error::argument(ErrorClass::Request, communicator, call, what))
            }
            (Ok(completion), Some(place)) => communicator.landed(completion, place),
            (Ok(Completion { bytes, .. }) | Err(Failure::Truncated { bytes, .. }), None) => {
                Err(communicator.no_room(bytes))
            }
            (Err(failure), _) => Err(communicator.failed(call)(failure)),
        }
    }
}

impl<T: Message> InFlight<(T, Status)> for Receiving<T> {
    fn take(&mut self) -> Option<Result<(T, Status)>> {
        let process = self.communicator.process();
        let id = self.operation.take_if(|id| process.has_completed(*id))?;
        Some(self.value(id))
    }

    fn place(&self) -> Option<(Communicator, Call)> {
        self.operation.map(|_| (self.communicator.clone(), Call::Receive))
    }

    fn awaited(&self) -> Awaited {
        self.operation.map_or(Awaited::Unknown, Awaited::Operation)
    }

    fn cancel(&mut self) -> Result<()> {
        cancel(&self.communicator, Call::Receive, self.operation)
    }
}

impl<T> Drop for Receiving<T> {
    fn drop(&mut self) {
        if let Some(id) = self.operation {
            let _ = self.communicator.process().engine().cancel(id);
            // Its room is its own: if a message is arriving, nobody has to wait for the rest of it.
            self.communicator.process().detach(id);
        }
    }
}

fn cancel(communicator: &Communicator, call: Call, operation: Option<OperationId>) -> Result<()> {
    let cancel = |id| communicator.process().engine().cancel(id).map_err(communicator.failed(call));
    operation.map_or(Ok(()), cancel)
}

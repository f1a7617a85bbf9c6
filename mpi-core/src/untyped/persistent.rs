//! Requests that are started again and again (MPI-5.0 section 3.9).

use super::collective::PersistentCollective;
use super::{Elements, Endpoint, Mode, Partitioned, Request};
use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::{Communicator, Destination, Result, Source, TagSelector};

/// A send, receive or collective with its arguments, and the operation that it has started.
pub struct Persistent {
    what: What,
    active: Option<Request>,
}

enum What {
    Send { elements: Elements, destination: Destination, tag: i32, mode: Mode },
    BufferedSend { elements: Elements, destination: Destination, tag: i32 },
    Receive { elements: Elements, source: Source, tag: TagSelector },
    Collective(PersistentCollective),
    Partitioned(Partitioned),
}

impl Persistent {
    /// A send (MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init).
    ///
    /// # Errors
    /// A rank or tag that does not exist.
    pub fn send(
        communicator: &Communicator,
        elements: Elements,
        destination: Destination,
        tag: i32,
        mode: Mode,
    ) -> Result<Self> {
        communicator.checked_destination(mode.call(), destination, tag)?;
        Ok(Persistent { what: What::Send { elements, destination, tag, mode }, active: None })
    }

    /// A buffered send (MPI_Bsend_init).
    ///
    /// # Errors
    /// A rank or tag that does not exist.
    pub fn buffered_send(
        communicator: &Communicator,
        elements: Elements,
        destination: Destination,
        tag: i32,
    ) -> Result<Self> {
        communicator.checked_destination(Call::BufferedSend, destination, tag)?;
        Ok(Persistent { what: What::BufferedSend { elements, destination, tag }, active: None })
    }

    /// A receive (MPI_Recv_init).
    ///
    /// # Errors
    /// A rank or tag that does not exist.
    pub fn receive(communicator: &Communicator, elements: Elements, source: Source, tag: TagSelector) -> Result<Self> {
        communicator.checked_pattern(Call::Receive, source, tag, communicator.context())?;
        Ok(Persistent { what: What::Receive { elements, source, tag }, active: None })
    }

    /// A collective (MPI_Barrier_init and so on).
    pub fn collective(collective: PersistentCollective) -> Self {
        Persistent { what: What::Collective(collective), active: None }
    }

    /// A partitioned send or receive (MPI_Psend_init, MPI_Precv_init).
    pub fn partitioned(partitioned: Partitioned) -> Self {
        Persistent { what: What::Partitioned(partitioned), active: None }
    }

    /// Starts it (MPI_Start).
    ///
    /// # Errors
    /// MPI_ERR_REQUEST if it is active; as those of the operation.
    pub fn start(&mut self, communicator: &Communicator, endpoint: &Endpoint) -> Result<()> {
        if self.active.is_some() {
            let what = "the persistent request is active: complete it before it is started again";
            return Err(Error::new(ErrorClass::Request, what));
        }
        self.active = Some(match &self.what {
            What::Send { elements, destination, tag, mode } => {
                let started = communicator.start_send_elements(elements, *destination, *tag, *mode)?;
                started.unwrap_or_else(|| Request::done(communicator, super::Status::EMPTY))
            }
            What::BufferedSend { elements, destination, tag } => {
                endpoint.buffered_send(communicator, elements, *destination, *tag)?;
                Request::done(communicator, super::Status::EMPTY)
            }
            What::Receive { elements, source, tag } => communicator.start_receive_elements(elements, *source, *tag)?,
            What::Collective(collective) => collective.start()?,
            What::Partitioned(partitioned) => {
                partitioned.start()?;
                Request::partitioned(communicator, partitioned.clone())
            }
        });
        Ok(())
    }

    /// Whether it was started and has not been completed.
    pub fn is_active(&self) -> bool {
        self.active.is_some()
    }

    pub(super) fn active(&self) -> Option<&Request> {
        self.active.as_ref()
    }

    pub(super) fn active_mut(&mut self) -> Option<&mut Request> {
        self.active.as_mut()
    }

    /// What goes on although the request is inactive: a partitioned receive that has not heard of its send.
    pub(super) fn into_unfinished(self, communicator: &Communicator) -> Option<Request> {
        match self.what {
            What::Partitioned(partitioned) if !partitioned.is_done() => {
                Some(Request::partitioned(communicator, partitioned))
            }
            _ => None,
        }
    }

    pub(super) fn take_active(&mut self) -> Option<Request> {
        self.active.take()
    }
}

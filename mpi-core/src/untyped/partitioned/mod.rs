//! Partitioned communication (MPI-5.0 chapter 4): one message whose parts leave as the program says that they are
//! ready, possibly each in another thread.
//!
//! Each partition of the send is a message of its own. The receive posts a receive for each of them when it is started,
//! so that partitions are written to where they belong. The partitions that the two sides name may differ: both are
//! stretches of the same packed bytes.
//!
//! Two requests find each other by an *opening*: a short message that the send's side sends when its request is made,
//! and that the receive's side receives into its own. It says in which context and with which tags the partitions come
//! ([`opening`]). No other message is needed, and neither side ever waits for the other where MPI says that a call is
//! local.

mod opening;
mod parts;
mod receive;
mod send;

use std::rc::Rc;

pub use receive::PartitionedReceive;
pub use send::PartitionedSend;

use super::Status;
use crate::error::{Error, ErrorClass};
use crate::waiting::Awaited;
use crate::{Communicator, Result};

/// A partitioned operation. The program says and asks things of it while a wait may have its request, so both have it.
#[derive(Clone)]
pub enum Partitioned {
    /// MPI_Psend_init.
    Send(Rc<PartitionedSend>),
    /// MPI_Precv_init.
    Receive(Rc<PartitionedReceive>),
}

impl Partitioned {
    /// The send that it is.
    ///
    /// # Errors
    /// MPI_ERR_REQUEST if it is a receive.
    pub fn as_send(&self) -> Result<&PartitionedSend> {
        match self {
            Partitioned::Send(send) => Ok(send),
            Partitioned::Receive(_) => Err(Error::new(ErrorClass::Request, "the request is of a partitioned receive")),
        }
    }

    /// The receive that it is.
    ///
    /// # Errors
    /// MPI_ERR_REQUEST if it is a send.
    pub fn as_receive(&self) -> Result<&PartitionedReceive> {
        match self {
            Partitioned::Receive(receive) => Ok(receive),
            Partitioned::Send(_) => Err(Error::new(ErrorClass::Request, "the request is of a partitioned send")),
        }
    }

    /// Whose ranks it is about.
    pub fn communicator(&self) -> &Communicator {
        match self {
            Partitioned::Send(send) => send.communicator(),
            Partitioned::Receive(receive) => receive.communicator(),
        }
    }

    pub(super) fn start(&self) -> Result<()> {
        match self {
            Partitioned::Send(send) => send.start(),
            Partitioned::Receive(receive) => receive.start(),
        }
    }

    /// Whether it has completed. If it is inactive: whether nothing of it is under way.
    pub(super) fn is_done(&self) -> bool {
        match self {
            Partitioned::Send(send) => send.is_done(),
            Partitioned::Receive(receive) => receive.is_done(),
        }
    }

    /// The status, if it is done.
    pub(super) fn status(&self) -> Status {
        match self {
            Partitioned::Send(_) => Status::EMPTY,
            Partitioned::Receive(receive) => receive.status(),
        }
    }

    /// The result, being done; it is inactive afterwards.
    pub(super) fn finish(&self) -> Result<Status> {
        match self {
            Partitioned::Send(send) => send.finish(),
            Partitioned::Receive(receive) => receive.finish(),
        }
    }

    pub(super) fn awaited(&self) -> Awaited {
        match self {
            Partitioned::Send(send) => send.awaited(),
            Partitioned::Receive(receive) => receive.awaited(),
        }
    }

    /// The transport has failed: makes sure that no peer touches the program's memory any more.
    pub(super) fn give_up(&self) {
        match self {
            Partitioned::Send(send) => send.give_up(),
            Partitioned::Receive(receive) => receive.give_up(),
        }
    }
}

/// A partition of the program's, as an index.
fn checked_partition(partition: i32, partitions: usize) -> Result<usize> {
    let index = usize::try_from(partition).ok().filter(|&index| index < partitions);
    index.ok_or_else(|| {
        let what = format!("there is no partition {partition}: the request has {partitions}, counted from 0");
        Error::new(ErrorClass::Argument, what)
    })
}

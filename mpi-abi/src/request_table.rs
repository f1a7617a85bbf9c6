//! The requests of the program, by handle.
//!
//! A request that is one send or receive in flight stands at the number of its operation. Of a receive that had
//! completed when it was started only the status is kept, of such a send nothing. All others have a table of their own.
//! The kind in the code of a handle says where.

use rwmpi_core::Error;
use rwmpi_core::untyped::{Request, SimpleRequest, Status};

use crate::handle_table::{Kind, Table, code_without_place, is_of};

/// The code of every send that had completed when it was started.
pub(crate) const SENT: u32 = code_without_place(Kind::Request);

/// All requests of a rank's lane.
pub(crate) struct RequestTable {
    pub(crate) simple: Table<SimpleRequest>,
    pub(crate) completed: Table<Status>,
    pub(crate) others: Table<Request>,
}

/// Whether it is the code of a request that is one send or receive in flight.
#[inline]
fn is_simple(code: u32) -> bool {
    is_of(Kind::SimpleRequest, code)
}

/// Whether it is the code of a receive that had completed when it was started.
#[inline]
fn is_completed_receive(code: u32) -> bool {
    is_of(Kind::CompletedReceive, code)
}

/// Whether a request with that code has a place, and completes without the program's functions, its datatypes and other
/// lanes.
#[inline]
pub(crate) fn completes_alone(code: u32) -> bool {
    is_simple(code) || is_completed_receive(code)
}

impl RequestTable {
    /// Those of that one of so many lanes.
    pub(crate) fn new(lane: usize, lanes: usize) -> Self {
        let simple = Table::placed(Kind::SimpleRequest).in_lane(lane, lanes);
        let completed = Table::new(Kind::CompletedReceive).in_lane(lane, lanes);
        RequestTable { simple, completed, others: Table::new(Kind::Request).in_lane(lane, lanes) }
    }

    /// How many there are that the program has started, or made, and neither completed nor freed.
    pub(crate) fn open(&self) -> usize {
        self.simple.codes().len() + self.completed.codes().len() + self.others.codes().len()
    }

    /// Takes a request in, and returns the code of its handle.
    pub(crate) fn insert(&self, request: Request) -> Result<u32, (Request, Error)> {
        // The numbers of operations with ranks of other jobs are those of another engine.
        let is_numbered_here = !request.communicator().is_joined();
        match if is_numbered_here { request.into_simple() } else { Err(request) } {
            Ok(simple) => {
                let (number, mut simple) = (simple.number(), Some(simple));
                let code = self.simple.insert_at(number, || simple.take().expect("it is put there once"));
                code.map_err(|error| (simple.take().expect("it was not put there").into(), error))
            }
            Err(request) => {
                let mut request = Some(request);
                let code = self.others.insert_made(|| request.take().expect("it is put there once"));
                code.map_err(|error| (request.take().expect("it was not put there"), error))
            }
        }
    }

    /// Whether there is a request with that code that is simple or had completed when it was started.
    #[inline]
    pub(crate) fn has_in_place(&self, code: u32) -> bool {
        if is_completed_receive(code) { self.completed.has(code) } else { code == SENT || self.simple.has(code) }
    }

    /// Forgets a request that had completed when it was started, after `look` has looked at its status.
    #[inline(always)]
    pub(crate) fn remove_completed(&self, code: u32, look: impl FnOnce(&Status)) -> Option<()> {
        if code == SENT {
            look(&Status::EMPTY);
            return Some(());
        }
        if !is_completed_receive(code) {
            return None;
        }
        let place = self.completed.occupied(code)?;
        look(place.get());
        place.remove();
        Some(())
    }

    /// Lends such a request out.
    pub(crate) fn take_completed(&self, code: u32) -> Option<Status> {
        if code == SENT { Some(Status::EMPTY) } else { self.completed.take(code) }
    }

    /// Lends one of the others out, until [`RequestTable::restore`] or [`RequestTable::release`].
    pub(crate) fn take(&self, code: u32) -> Option<Request> {
        if is_simple(code) { self.simple.take(code).map(Request::from) } else { self.others.take(code) }
    }

    /// Puts back what was lent out.
    pub(crate) fn restore(&self, code: u32, request: Request) {
        if is_completed_receive(code) {
            return self.completed.restore(code, request.peek().ok().flatten().unwrap_or(Status::EMPTY));
        }
        if !is_simple(code) {
            return self.others.restore(code, request);
        }
        match request.into_simple() {
            Ok(simple) => self.simple.restore(code, simple),
            // A failure has ended it.
            Err(_) => self.simple.release(code),
        }
    }

    /// Gives up the handle of what was lent out.
    pub(crate) fn release(&self, code: u32) {
        if is_completed_receive(code) {
            self.completed.release(code);
        } else if is_simple(code) {
            self.simple.release(code);
        } else {
            self.others.release(code);
        }
    }

    /// Whether waiting for the request means anything; `None` if there is none.
    pub(crate) fn is_active(&self, code: u32) -> Option<bool> {
        match self.has_in_place(code) {
            true => Some(true),
            false => self.others.with(code, Request::is_active),
        }
    }
}

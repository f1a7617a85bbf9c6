//! The requests of the program, by handle.
//!
//! A request that is one send or receive in flight stands at the number of its operation, all others in a table of their own. The kind in
//! the code of a handle says where.

use rwmpi_core::Communicator;
use rwmpi_core::untyped::{Request, SimpleRequest, Started};

use crate::handle_table::{Kind, Table, code_without_place, is_of};

/// The code of every send that had completed when it was started: there is nothing to keep of it.
pub(crate) const SENT: u32 = code_without_place(Kind::Request);

/// The same for every receive from nobody.
pub(crate) const FROM_NOBODY: u32 = code_without_place(Kind::SimpleRequest);

/// All requests of a rank's lane.
pub(crate) struct RequestTable {
    pub(crate) simple: Table<SimpleRequest>,
    pub(crate) others: Table<Request>,
}

/// Whether it is the code of a request that is one send or receive.
#[inline]
pub(crate) fn is_simple(code: u32) -> bool {
    is_of(Kind::SimpleRequest, code)
}

impl RequestTable {
    /// Those of that one of so many lanes.
    pub(crate) fn new(lane: usize, lanes: usize) -> Self {
        let simple = Table::placed(Kind::SimpleRequest).in_lane(lane, lanes);
        RequestTable { simple, others: Table::new(Kind::Request).in_lane(lane, lanes) }
    }

    /// Takes a request in, and returns the code of its handle.
    pub(crate) fn insert(&self, request: Request) -> u32 {
        match request.into_simple() {
            Ok(simple) => self.simple.insert_at(simple.number(), || simple),
            Err(request) => self.others.insert(request),
        }
    }

    /// As [`RequestTable::insert`], of what has been started.
    #[inline(always)]
    pub(crate) fn insert_started(&self, communicator: &Communicator, started: Started) -> u32 {
        self.simple.insert_at(started.number(), || SimpleRequest::new(communicator, started))
    }

    /// Lends a request out, until [`RequestTable::restore`] or [`RequestTable::release`].
    pub(crate) fn take(&self, code: u32) -> Option<Request> {
        if is_simple(code) { self.simple.take(code).map(Request::from) } else { self.others.take(code) }
    }

    /// Puts back what was lent out.
    pub(crate) fn restore(&self, code: u32, request: Request) {
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
        if is_simple(code) {
            self.simple.release(code);
        } else {
            self.others.release(code);
        }
    }

    /// Whether waiting for the request means anything; `None` if there is none.
    pub(crate) fn is_active(&self, code: u32) -> Option<bool> {
        match is_simple(code) {
            true => self.simple.with(code, |_| true),
            false => self.others.with(code, Request::is_active),
        }
    }
}

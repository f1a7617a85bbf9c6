//! Requests: giving them handles, completing them (MPI-5.0 sections 3.7.3 to 3.7.6), freeing them, and cancelling them
//! (3.8.4).
//!
//! Unless they complete in place (`in_place`), a call lends the requests out of the table, so that whatever the program
//! does in a callback meanwhile cannot touch them, and puts back those that stay.

pub mod get_status;
mod in_place;
mod results;
pub mod several;
pub mod single;

use rwmpi_core::untyped::{Request, SimpleRequest, Started, StartedReceive, Status};
use rwmpi_core::{Communicator, Error, ErrorClass, Result};

use crate::argument::{Out, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::number::not_negative;
use crate::rank::{Rank, rank};

/// Whether a call waits until requests have come to their end, or looks whether they have.
#[derive(Clone, Copy, Debug)]
enum Mode {
    Wait,
    Test,
}

/// Tells whether a test has completed something, and ends as that has.
fn tell(flag: Out<c_int>, completed: Option<Outcome>) -> Outcome {
    flag.set(completed.is_some().into())?;
    completed.unwrap_or(Ok(()))
}

/// Ends a wait as what it has completed has.
fn waited(completed: Option<Outcome>) -> Outcome {
    completed.unwrap_or_else(|| Err(Error::new(ErrorClass::Internal, "a wait has completed no request")))
}

#[cold]
pub(crate) fn no_request<A: Abi>(code: u32) -> Error {
    let what = if code == A::REQUEST_NULL {
        "the request is MPI_REQUEST_NULL".to_string()
    } else {
        format!("{code:#x} is no request: it has completed, was freed or never was one")
    };
    Error::new(ErrorClass::Request, what)
}

/// The length of an array of requests.
pub(crate) fn length(count: c_int) -> Result<usize> {
    not_negative("count", count, ErrorClass::Count)
}

impl Rank {
    /// The code of the handle of a request.
    pub(crate) fn keep(&self, request: Request) -> Result<u32> {
        self.requests.insert(request).map_err(|(request, error)| self.let_go(request, error))
    }

    /// As [`Rank::keep`], of what has been started.
    #[inline(always)]
    pub(crate) fn keep_started(&self, communicator: &Communicator, started: Started) -> Result<u32> {
        if communicator.is_joined() {
            return self.keep(SimpleRequest::new(communicator, started).into());
        }
        let code = self.requests.simple.insert_at(started.number(), || SimpleRequest::new(communicator, started));
        code.map_err(|error| self.let_go(SimpleRequest::new(communicator, started).into(), error))
    }

    /// As [`Rank::keep`], of a receive.
    #[inline(always)]
    pub(crate) fn keep_receive(&self, communicator: &Communicator, started: StartedReceive) -> Result<u32> {
        match started {
            StartedReceive::Completed(status) => self.requests.completed.insert(status),
            StartedReceive::InFlight(started) => self.keep_started(communicator, started),
        }
    }

    /// There is no handle for a request: it is cancelled, or what can't be goes on by itself.
    #[cold]
    fn let_go(&self, mut request: Request, error: Error) -> Error {
        let _ = request.cancel();
        let _ = self.endpoint.free(request);
        error
    }

    /// A request that has completed already and belongs to no communicator of the program.
    pub(crate) fn request_done(&self, status: Status) -> Result<Request> {
        Ok(Request::done(self.endpoint.communicator(), status))
    }

    /// Lends a request out of its table.
    pub(crate) fn borrow<A: Abi>(&self, code: u32) -> Result<Request> {
        let requests = &self.lane_of(code).requests;
        if let Some(status) = requests.take_completed(code) {
            return self.request_done(status);
        }
        let request = requests.take(code).ok_or_else(|| self.refuse::<A>(code))?;
        self.blame(request.communicator());
        Ok(request)
    }

    /// The error of a code that is no request's. It belongs to no communicator, whatever those of other requests of the
    /// call are.
    #[cold]
    fn refuse<A: Abi>(&self, code: u32) -> Error {
        self.lock.set_note(0);
        no_request::<A>(code)
    }

    /// Puts a completed request back if it is persistent, and returns true: the caller must not write the handle, as
    /// other threads may read it for MPI_Pready. Otherwise releases it; the caller sets the handle to MPI_REQUEST_NULL.
    fn put_back_done(&self, code: u32, request: Request) -> bool {
        let stays = request.is_persistent();
        if stays {
            self.lane_of(code).requests.restore(code, request);
        } else {
            self.lane_of(code).requests.release(code);
        }
        stays
    }
}

/// MPI_Request_free (MPI-5.0 section 3.7.3): the operation goes on.
pub fn request_free<A: Abi>(handle: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let code = A::code(handle.get()?);
    let request = rank.borrow::<A>(code)?;
    rank.lane_of(code).requests.release(code);
    rank.partitioned.borrow_mut().remove(&code);
    handle.set(A::handle(A::REQUEST_NULL))?;
    rank.endpoint.free(request)
}

/// MPI_Cancel (MPI-5.0 section 3.8.4).
pub fn cancel<A: Abi>(handle: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let code = A::code(handle.get()?);
    // The program's function may use the request, which must not be lent out meanwhile.
    let incomplete = rank.generalized.borrow().get(&code).cloned();
    let generalized = incomplete.or_else(|| {
        rank.lane_of(code).requests.others.with(code, |request| request.as_generalized().ok().cloned()).flatten()
    });
    if let Some(generalized) = generalized {
        return generalized.cancel();
    }
    let mut request = rank.borrow::<A>(code)?;
    let cancelled = request.cancel();
    rank.lane_of(code).requests.restore(code, request);
    cancelled
}

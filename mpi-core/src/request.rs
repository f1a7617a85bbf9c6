//! Operations in flight. A request borrows its buffer for as long as its scope lasts, so safe code cannot touch it.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

use rwmpi_transport::Backoff;
use slab::Slab;

use crate::activity::Call;
use crate::buffer::work;
use crate::communicator::Communicator;
use crate::engine::{Completion, Failure, OperationId};
use crate::error::{Error, ErrorClass};
use crate::staged::Staged;
use crate::task::TaskId;
use crate::{Result, Status};

/// A scope has room for so many requests at once from the first on.
const USUAL_REQUESTS: usize = 8;

/// Lends buffers to requests: whatever was started in it has completed when [`scope`] returns.
pub struct Scope<'scope, 'env: 'scope> {
    pending: RefCell<Slab<Pending>>,
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// What is needed to complete an operation.
#[derive(Clone)]
struct Pending {
    communicator: Communicator,
    call: Call,
    flight: Flight,
    /// Where the buffer's elements are packed meanwhile, if they must be.
    staged: Option<Rc<RefCell<dyn Staged>>>,
}

/// What is in flight.
#[derive(Clone, Copy)]
enum Flight {
    Operation(OperationId),
    Collective(TaskId),
}

/// An operation in flight (MPI-5.0 section 3.7). Dropping it leaves the operation to its scope.
#[must_use = "wait for it, or let the end of the scope do so"]
pub struct Request<'scope> {
    state: State<'scope>,
}

enum State<'scope> {
    /// Completed when it was started, or collected since.
    Done(Status),
    /// In flight; listed in the scope at `place`.
    Active { place: usize, list: &'scope RefCell<Slab<Pending>> },
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Takes charge of an operation whose buffer, and what is staged for it, is borrowed for `'scope`.
    pub(crate) fn adopt(
        &'scope self,
        communicator: &Communicator,
        call: Call,
        id: OperationId,
        staged: Option<Rc<RefCell<dyn Staged>>>,
    ) -> Request<'scope> {
        self.list(Pending { communicator: communicator.clone(), call, flight: Flight::Operation(id), staged })
    }

    /// Starts a collective and takes charge of it.
    pub(crate) fn begin(
        &'scope self,
        communicator: &Communicator,
        call: Call,
        collective: impl Future<Output = std::result::Result<(), Failure>> + 'scope,
    ) -> Result<Request<'scope>> {
        // SAFETY: the scope waits for the task or drops it before `'scope` ends, in any case.
        let work = unsafe { work(collective) };
        let started = communicator.process().tasks().start(work).map_err(communicator.failed(call))?;
        Ok(match started {
            None => Request::done(Status::EMPTY),
            Some(id) => {
                let flight = Flight::Collective(id);
                self.list(Pending { communicator: communicator.clone(), call, flight, staged: None })
            }
        })
    }

    fn list(&'scope self, pending: Pending) -> Request<'scope> {
        let mut list = self.pending.borrow_mut();
        if list.capacity() == 0 {
            list.reserve(USUAL_REQUESTS);
        }
        let place = list.insert(pending);
        Request { state: State::Active { place, list: &self.pending } }
    }
}

impl Pending {
    fn wait(&self) -> Result<Status> {
        let process = self.communicator.process();
        let outcome = match self.flight {
            Flight::Operation(id) => process.wait(id),
            Flight::Collective(id) => process.wait_for_task(id),
        };
        self.status(outcome)
    }

    /// An error outside is one of the transport: it is still in flight.
    fn test(&self) -> Result<Option<Result<Status>>> {
        let process = self.communicator.process();
        let outcome = match self.flight {
            Flight::Operation(id) => process.test(id),
            Flight::Collective(id) => process.test_task(id),
        };
        Ok(outcome.map_err(self.communicator.failed(self.call))?.map(|outcome| self.status(outcome)))
    }

    fn status(&self, outcome: std::result::Result<Completion, Failure>) -> Result<Status> {
        let status = |completion: Completion| {
            if let Some(staged) = &self.staged {
                staged.borrow_mut().arrived(completion.bytes)?;
            }
            Ok(Status::new(&self.communicator, completion))
        };
        outcome.and_then(status).map_err(self.communicator.failed(self.call))
    }

    /// Ends it as far as that can be done at once, at the price of peers that wait in vain; whether it still has to be waited for.
    fn give_up(&self) -> bool {
        let process = self.communicator.process();
        match self.flight {
            Flight::Operation(id) => {
                let _ = process.engine().cancel(id);
                true
            }
            Flight::Collective(id) => {
                process.tasks().cancel(id);
                false
            }
        }
    }
}

impl<'scope> Request<'scope> {
    /// One that has completed already.
    pub(crate) fn done(status: Status) -> Self {
        Request { state: State::Done(status) }
    }

    /// Waits until it has completed (MPI_Wait).
    pub fn wait(self) -> Result<Status> {
        match self.state {
            State::Done(status) => Ok(status),
            State::Active { place, list } => {
                let pending = list.borrow_mut().remove(place);
                pending.wait()
            }
        }
    }

    /// Whether it has completed; if so, this is its result (MPI_Test). Asking again gives the same result.
    pub fn test(&mut self) -> Result<Option<Status>> {
        let status = match self.state {
            State::Done(status) => return Ok(Some(status)),
            State::Active { place, list } => {
                let pending = list.borrow()[place].clone();
                let Some(status) = pending.test()? else { return Ok(None) };
                list.borrow_mut().remove(place);
                status
            }
        };
        self.state = State::Done(status.as_ref().copied().unwrap_or(Status::EMPTY));
        status.map(Some)
    }

    /// What is needed to complete it; `None` once it has completed.
    fn pending(&self) -> Option<Pending> {
        match self.state {
            State::Done(_) => None,
            State::Active { place, list } => Some(list.borrow()[place].clone()),
        }
    }

    /// Asks for the operation to be cancelled (MPI_Cancel). It still has to be waited for; [`Status::cancelled`] then tells
    /// whether it was. A receive that no message has met yet is always cancelled. A collective can't be.
    pub fn cancel(&mut self) -> Result<()> {
        let Some(Pending { communicator, call, flight, .. }) = self.pending() else { return Ok(()) };
        match flight {
            Flight::Operation(id) => communicator.process().engine().cancel(id).map_err(communicator.failed(call)),
            Flight::Collective(_) => {
                let what = "a nonblocking collective can't be cancelled: wait for it".to_string();
                Err(Error::argument(ErrorClass::Request, &communicator, call, what))
            }
        }
    }
}

/// Runs `f`, then completes every request that was started in its scope and not waited for. If `f` fails or panics, pending
/// receives are cancelled first, and collectives end where they stand. The result is `f`'s, or the first error of a request that the scope had to complete.
///
/// ```no_run
/// # fn main() -> rwmpi_core::Result<()> {
/// let universe = rwmpi_core::init()?;
/// let world = universe.world();
/// let (mut ghost, edge) = ([0.0; 8], [1.0; 8]);
/// let (left, right) = ((world.rank() + world.size() - 1) % world.size(), (world.rank() + 1) % world.size());
/// rwmpi_core::scope(|s| {
///     let incoming = world.irecv(s, &mut ghost, left, 7)?;
///     world.send(&edge, right, 7)?;
///     incoming.wait()
/// })?;
/// assert_eq!(ghost, [1.0; 8]);
/// # Ok(()) }
/// ```
pub fn scope<'env, R>(f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>) -> Result<R> {
    /// Completes what is left even if `f` panics: buffers must not be given back before.
    struct Completer<'a> {
        pending: &'a RefCell<Slab<Pending>>,
        cancel: bool,
    }
    impl Completer<'_> {
        fn complete(&mut self) -> Result<()> {
            if self.cancel {
                let all: Vec<usize> = self.pending.borrow().iter().map(|(place, _)| place).collect();
                for place in all {
                    let pending = self.pending.borrow()[place].clone();
                    if !pending.give_up() {
                        self.pending.borrow_mut().remove(place);
                    }
                }
            }
            // Taken one at a time: if waiting for one panics, the rest is completed by `drop`.
            let take = || {
                let mut pending = self.pending.borrow_mut();
                let place = pending.iter().next()?.0;
                Some(pending.remove(place))
            };
            let mut result = Ok(());
            while let Some(pending) = take() {
                result = result.and(pending.wait().map(drop));
            }
            result
        }
    }
    impl Drop for Completer<'_> {
        fn drop(&mut self) {
            self.cancel = true;
            let _ = self.complete();
        }
    }

    let scope = Scope { pending: RefCell::default(), lifetimes: PhantomData };
    let mut completer = Completer { pending: &scope.pending, cancel: true };
    let result = f(&scope);
    completer.cancel = result.is_err();
    let completed = completer.complete();
    drop(completer);
    result.and_then(|value| completed.map(|()| value))
}

/// Waits for all of them (MPI_Waitall).
pub fn wait_all<'scope>(requests: impl IntoIterator<Item = Request<'scope>>) -> Result<Vec<Status>> {
    requests.into_iter().map(Request::wait).collect()
}

/// Waits until one has completed; gives its place and result, and takes it out of the list (MPI_Waitany). `None` for an empty
/// list.
pub fn wait_any(requests: &mut Vec<Request<'_>>) -> Result<Option<(usize, Status)>> {
    let mut backoff = Backoff::default();
    while !requests.is_empty() {
        if let Some(completed) = test_any(requests)? {
            return Ok(Some(completed));
        }
        idle(requests, &mut backoff)?;
    }
    Ok(None)
}

/// As [`wait_any`], without waiting (MPI_Testany).
pub fn test_any(requests: &mut Vec<Request<'_>>) -> Result<Option<(usize, Status)>> {
    for place in 0..requests.len() {
        if let Some(status) = requests[place].test()? {
            let _ = requests.remove(place);
            return Ok(Some((place, status)));
        }
    }
    Ok(None)
}

/// Waits until at least one has completed; gives the places (in the list as it was) and results of all that have, and takes them
/// out of the list (MPI_Waitsome).
pub fn wait_some(requests: &mut Vec<Request<'_>>) -> Result<Vec<(usize, Status)>> {
    let mut backoff = Backoff::default();
    loop {
        let completed = test_some(requests)?;
        if !completed.is_empty() || requests.is_empty() {
            return Ok(completed);
        }
        idle(requests, &mut backoff)?;
    }
}

/// As [`wait_some`], without waiting (MPI_Testsome).
pub fn test_some(requests: &mut Vec<Request<'_>>) -> Result<Vec<(usize, Status)>> {
    let mut completed = Vec::new();
    for (place, request) in requests.iter_mut().enumerate() {
        if let Some(status) = request.test()? {
            completed.push((place, status));
        }
    }
    requests.retain(|request| matches!(request.state, State::Active { .. }));
    Ok(completed)
}

/// Whether all have completed; if so their results, in order, and the list is left empty (MPI_Testall).
pub fn test_all(requests: &mut Vec<Request<'_>>) -> Result<Option<Vec<Status>>> {
    let mut statuses = Vec::with_capacity(requests.len());
    for request in requests.iter_mut() {
        match request.test()? {
            Some(status) => statuses.push(status),
            None => return Ok(None),
        }
    }
    requests.clear();
    Ok(Some(statuses))
}

/// Waits a little, as long as the transport sees fit.
fn idle(requests: &[Request<'_>], backoff: &mut Backoff) -> Result<()> {
    for request in requests {
        if let Some(Pending { communicator, call, .. }) = request.pending() {
            return communicator.process().idle(backoff).map_err(communicator.failed(call));
        }
    }
    Ok(())
}

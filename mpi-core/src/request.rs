//! Operations in flight. A request borrows its buffer for as long as its scope lasts, so safe code cannot touch it.

use std::cell::RefCell;
use std::marker::PhantomData;

use rwmpi_transport::{Backoff, Fabric};

use crate::activity::Call;
use crate::communicator::Communicator;
use crate::engine::{Completion, OperationId};
use crate::{Result, Status};

/// Lends buffers to requests: whatever was started in it has completed when [`scope`] returns.
pub struct Scope<'scope, 'env: 'scope> {
    pending: RefCell<Vec<Option<Pending>>>,
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// What is needed to complete an operation.
#[derive(Clone)]
struct Pending {
    communicator: Communicator,
    call: Call,
    id: OperationId,
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
    Active { pending: Pending, place: usize, list: &'scope RefCell<Vec<Option<Pending>>> },
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Takes charge of an operation whose buffer is borrowed for `'scope`.
    pub(crate) fn adopt(&'scope self, communicator: &Communicator, call: Call, id: OperationId) -> Request<'scope> {
        let pending = Pending { communicator: communicator.clone(), call, id };
        let mut list = self.pending.borrow_mut();
        let place = list.len();
        list.push(Some(pending.clone()));
        Request { state: State::Active { pending, place, list: &self.pending } }
    }
}

impl Pending {
    fn wait(&self) -> Result<Status> {
        let outcome = self.communicator.process().engine().wait(self.id);
        outcome.map(|completion| self.status(completion)).map_err(self.communicator.failed(self.call))
    }

    fn status(&self, completion: Completion) -> Status {
        Status::new(&self.communicator, completion)
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
            State::Active { pending, place, list } => {
                list.borrow_mut()[place] = None;
                pending.wait()
            }
        }
    }

    /// Whether it has completed; if so, this is its result (MPI_Test). Asking again gives the same result.
    pub fn test(&mut self) -> Result<Option<Status>> {
        let (outcome, pending) = match &self.state {
            State::Done(status) => return Ok(Some(*status)),
            State::Active { pending, place, list } => {
                let failed = pending.communicator.failed(pending.call);
                let outcome = pending.communicator.process().engine().test(pending.id).map_err(&failed)?;
                let Some(outcome) = outcome else { return Ok(None) };
                list.borrow_mut()[*place] = None;
                (outcome.map_err(&failed), pending)
            }
        };
        let status = outcome.map(|completion| pending.status(completion));
        self.state = State::Done(status.as_ref().copied().unwrap_or(Status::EMPTY));
        status.map(Some)
    }

    /// Asks for the operation to be cancelled (MPI_Cancel). It still has to be waited for; [`Status::cancelled`] then tells
    /// whether it was. A receive that no message has met yet is always cancelled.
    pub fn cancel(&mut self) -> Result<()> {
        match &self.state {
            State::Done(_) => Ok(()),
            State::Active { pending, .. } => {
                let cancelled = pending.communicator.process().engine().cancel(pending.id);
                cancelled.map_err(pending.communicator.failed(pending.call))
            }
        }
    }
}

/// Runs `f`, then completes every request that was started in its scope and not waited for. If `f` fails or panics, pending
/// receives are cancelled first. The result is `f`'s, or the first error of a request that the scope had to complete.
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
        pending: &'a RefCell<Vec<Option<Pending>>>,
        cancel: bool,
    }
    impl Completer<'_> {
        fn complete(&mut self) -> Result<()> {
            let left: Vec<Pending> = self.pending.take().into_iter().flatten().collect();
            if self.cancel {
                for pending in &left {
                    // What can't be cancelled is waited for below.
                    let _ = pending.communicator.process().engine().cancel(pending.id);
                }
            }
            left.iter().map(|pending| pending.wait().map(drop)).fold(Ok(()), Result::and)
        }
    }
    impl Drop for Completer<'_> {
        fn drop(&mut self) {
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
        idle(requests, &mut backoff);
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
        idle(requests, &mut backoff);
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
fn idle(requests: &[Request<'_>], backoff: &mut Backoff) {
    for request in requests {
        if let State::Active { pending, .. } = &request.state {
            pending.communicator.process().engine().fabric.idle(backoff);
            return;
        }
    }
}

//! Requests that own what they use.
//!
//! *Owning*: buffers that are moved in and given back. They lie on the heap together with a scope of their own, which
//! lends them to any nonblocking call. *Spawned*: an asynchronous function as a task of the rank, whose result is a
//! value.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr::NonNull;
use std::rc::Rc;

use crate::activity::Call;
use crate::communicator::Communicator;
use crate::engine::TaskId;
use crate::error::{Error, ErrorClass};
use crate::pending::{Pending, not_cancelled};
use crate::request::InFlight;
use crate::waiting::Awaited;
use crate::{Request, Result, Scope};

/// Starts nonblocking operations on buffers that the request owns: `wait` gives them back, with what the operation
/// gives. Such a request may be kept anywhere, returned and forgotten.
///
/// ```
/// # extern crate rwmpi_core as rwmpi;
/// # fn main() -> rwmpi::Result<()> {
/// # rwmpi::run_threads(2, rwmpi::Protocol::Auto, |universe| {
/// # let world = universe.world();
/// let (data, sum) = (vec![1.0; 100], vec![0.0; 100]);
/// let request = rwmpi::owning((data, sum), |s, (data, sum)| world.iallreduce(s, data, sum, rwmpi::op::sum))?;
/// // … while there is something else to do …
/// let ((_data, sum), _) = request.wait()?;
/// assert_eq!(sum[99], 2.0);
/// # Ok(())
/// # })?.into_iter().collect()
/// # }
/// ```
///
/// # Errors
/// Those of `start`, or of the operations: then the buffers are dropped.
pub fn owning<B: 'static, R: 'static>(
    buffers: B,
    start: impl for<'scope> FnOnce(&'scope Scope<'scope, 'static>, &'scope mut B) -> Result<Request<'scope, R>>,
) -> Result<Request<'static, (B, R)>> {
    let held = NonNull::from(Box::leak(Box::new(Held { scope: Scope::new(), buffers })));
    let mut owning = Owning { held: Some(held), request: None, result: None };
    // SAFETY: `Owning` frees the memory only when every operation of the scope has ended, and looks at the buffers only
    // then. `start` works for any lifetime, so that it can keep nothing of this one.
    let (scope, buffers) = unsafe { (&(*held.as_ptr()).scope, &mut (*held.as_ptr()).buffers) };
    owning.request = Some(start(scope, buffers)?);
    Ok(Request::whole(owning))
}

/// Buffers, and who lends them.
struct Held<B> {
    scope: Scope<'static, 'static>,
    buffers: B,
}

struct Owning<B: 'static, R: 'static> {
    /// Until the buffers have been given back.
    held: Option<NonNull<Held<B>>>,
    request: Option<Request<'static, R>>,
    /// That of the request, while others of its scope are in flight.
    result: Option<Result<R>>,
}

impl<B: 'static, R: 'static> Owning<B, R> {
    /// The scope, until the buffers have been given back.
    fn scope(&self) -> Option<&Scope<'static, 'static>> {
        // SAFETY: it is freed by whoever takes `held`.
        self.held.map(|held| unsafe { &(*held.as_ptr()).scope })
    }

    /// What the scope still has to complete: the first of it.
    fn pending(&self) -> Option<Pending> {
        Some(self.scope()?.pending().borrow().iter().next()?.1.clone())
    }
}

/// # Safety
/// Every operation of its scope must have ended, and nobody else may free it.
unsafe fn free<B>(held: NonNull<Held<B>>) -> B {
    // SAFETY: it comes from a box, which by this function's contract nobody uses any more.
    unsafe { Box::from_raw(held.as_ptr()) }.buffers
}

impl<B: 'static, R: 'static> InFlight<(B, R)> for Owning<B, R> {
    fn take(&mut self) -> Option<Result<(B, R)>> {
        if self.result.is_none() {
            self.result = Some(self.request.as_mut()?.take()?);
            self.request = None;
        }
        let scope = self.scope()?;
        let mut others = Ok(());
        while let Some(pending) = scope.take_completed() {
            others = others.and(pending.wait().map(drop));
        }
        if !scope.pending().borrow().is_empty() {
            return None;
        }
        // SAFETY: the scope's list is empty.
        let buffers = unsafe { free(self.held.take()?) };
        let result = self.result.take()?;
        Some(result.and_then(|result| others.map(|()| (buffers, result))))
    }

    fn place(&self) -> Option<(Communicator, Call)> {
        self.request.as_ref().and_then(Request::place).or_else(|| Some(self.pending()?.place()))
    }

    fn awaited(&self) -> Awaited {
        match &self.request {
            Some(request) => request.awaited(),
            None => self.pending().map_or(Awaited::Unknown, |pending| pending.awaited()),
        }
    }

    fn cancel(&mut self) -> Result<()> {
        self.request.as_mut().map_or(Ok(()), Request::cancel)
    }
}

impl<B: 'static, R: 'static> Drop for Owning<B, R> {
    fn drop(&mut self) {
        self.request = None;
        let Some(held) = self.held else { return };
        let Some(scope) = self.scope() else { return };
        let mut rest: Vec<Pending> = scope.pending().take().into_iter().map(|(_, pending)| pending).collect();
        let process = rest.first().map(|pending| pending.place().0);
        rest.retain(Pending::let_go);
        let mut held = Some(held);
        let mut ended = move || {
            rest.retain(|pending| !pending.has_ended());
            if rest.is_empty() {
                // SAFETY: nothing of its scope is left, and `held` is taken once.
                held.take().into_iter().for_each(|held| drop(unsafe { free(held) }));
            }
            rest.is_empty()
        };
        if !ended()
            && let Some(communicator) = process
        {
            communicator.process().abandon(Box::new(ended));
        }
    }
}

/// An asynchronous function that runs as a task of the rank.
struct Spawned<T> {
    communicator: Communicator,
    call: Call,
    task: Option<TaskId>,
    result: Rc<Cell<Option<Result<T>>>>,
}

/// Starts `future`, which goes on by itself if its request is dropped.
pub(crate) fn spawn<T: 'static>(
    communicator: &Communicator,
    call: Call,
    future: impl Future<Output = Result<T>> + 'static,
) -> Result<Request<'static, T>> {
    let result = Rc::new(Cell::new(None));
    let place = result.clone();
    let work = Box::pin(async move {
        place.set(Some(future.await));
        Ok(())
    });
    let task = communicator.process().tasks().start(work).map_err(communicator.failed(call))?;
    let mut spawned = Spawned { communicator: communicator.clone(), call, task, result };
    Ok(match spawned.task {
        None => Request::done(spawned.ended()),
        Some(_) => Request::whole(spawned),
    })
}

impl<T> Spawned<T> {
    fn ended(&mut self) -> Result<T> {
        self.task = None;
        let lost = || Err(Error::new(ErrorClass::Internal, "an operation has ended without a result"));
        self.result.take().unwrap_or_else(lost)
    }
}

impl<T> InFlight<T> for Spawned<T> {
    fn take(&mut self) -> Option<Result<T>> {
        let tasks = self.communicator.process().tasks();
        let task = self.task.filter(|&task| tasks.is_done(task))?;
        self.task = None;
        let ended = tasks.collect(task)?.map_err(self.communicator.failed(self.call));
        Some(ended.and_then(|()| self.ended()))
    }

    fn place(&self) -> Option<(Communicator, Call)> {
        self.task.map(|_| (self.communicator.clone(), self.call))
    }

    fn awaited(&self) -> Awaited {
        self.task.map_or(Awaited::Unknown, Awaited::Task)
    }

    fn cancel(&mut self) -> Result<()> {
        Err(not_cancelled(&self.communicator, self.call))
    }
}

impl<T> Drop for Spawned<T> {
    fn drop(&mut self) {
        let Some(task) = self.task else { return };
        let communicator = self.communicator.clone();
        self.communicator.process().abandon(Box::new(move || communicator.process().tasks().discard(task)));
    }
}

//! Scopes: they lend buffers to requests, and take them back before they end.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

use slab::Slab;

use crate::activity::Call;
use crate::buffer::work;
use crate::communicator::Communicator;
use crate::engine::{Failure, OperationId};
use crate::pending::{Check, Flight, Pending};
use crate::staged::Staged;
use crate::{Request, Result, Status};

/// A scope has room for so many requests at once from the first on.
const USUAL_REQUESTS: usize = 8;

/// Lends buffers to requests: whatever was started in it has completed when [`scope`] returns.
#[doc = example!(2
    "let other = 1 - rank;"
    "let (own, mut heard) = ([rank; 8], [0; 8]);"
    "rwmpi::scope(|s| {"
    "    // Both buffers are lent until the scope ends; requests that are not waited for end with it."
    "    world.isend(s, &own, other, 0)?;"
    "    world.irecv(s, &mut heard, other, 0)?.wait()"
    "})?;"
    "assert_eq!(heard, [other; 8]);"
)]
pub struct Scope<'scope, 'env: 'scope> {
    pending: RefCell<Slab<Pending>>,
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

impl<'scope, 'env> Scope<'scope, 'env> {
    pub(crate) fn new() -> Self {
        Scope { pending: RefCell::default(), lifetimes: PhantomData }
    }

    /// Takes charge of an operation whose buffer, and what is staged for it, is borrowed for `'scope`.
    #[inline]
    pub(crate) fn adopt(
        &'scope self,
        communicator: &Communicator,
        call: Call,
        id: OperationId,
        check: Check,
        staged: Option<Rc<RefCell<dyn Staged>>>,
    ) -> Request<'scope> {
        self.list(Pending { communicator: communicator.clone(), call, flight: Flight::Operation(id), check, staged })
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
            None => Request::done(Ok(Status::EMPTY)),
            Some(id) => {
                let flight = Flight::Collective(id);
                self.list(Pending { communicator: communicator.clone(), call, flight, check: |_| Ok(()), staged: None })
            }
        })
    }

    #[inline]
    fn list(&'scope self, pending: Pending) -> Request<'scope> {
        let mut list = self.pending.borrow_mut();
        if list.capacity() == 0 {
            list.reserve(USUAL_REQUESTS);
        }
        let place = list.insert(pending);
        Request::lent(&self.pending, place)
    }

    /// An operation that has completed, which the scope then no longer has charge of.
    pub(crate) fn take_completed(&self) -> Option<Pending> {
        let place = self.pending.borrow().iter().find(|(_, pending)| pending.has_completed())?.0;
        Some(self.pending.borrow_mut().remove(place))
    }

    /// What nobody has waited for yet.
    pub(crate) fn pending(&self) -> &RefCell<Slab<Pending>> {
        &self.pending
    }
}

/// Runs `f`, then completes every request that was started in its scope and not waited for. If `f` fails or panics,
/// pending receives are cancelled first, and collectives end where they stand. The result is `f`'s, or the first error
/// of a request that the scope had to complete.
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

    let scope = Scope::new();
    let mut completer = Completer { pending: &scope.pending, cancel: true };
    let result = f(&scope);
    completer.cancel = result.is_err();
    let completed = completer.complete();
    drop(completer);
    result.and_then(|value| completed.map(|()| value))
}

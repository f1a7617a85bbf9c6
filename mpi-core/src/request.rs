//! Operations in flight, as the program holds them.
//!
//! A request either borrows its buffers, then it is listed in the scope that lends them ([`scope`](crate::scope())), or
//! it owns all it needs, then it may be kept anywhere. Forgetting the first kind leaves it to its scope; forgetting the
//! second leaks what it owns. Neither lets the program touch memory that the library still uses.

use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll};

use slab::Slab;

use crate::activity::Call;
use crate::communicator::Communicator;
use crate::departure::Several;
use crate::error::{Error, ErrorClass};
use crate::pending::Pending;
use crate::waiting::Awaited;
use crate::{Result, Status};

/// An operation in flight (MPI-5.0 section 3.7), which gives a `T` when it has completed.
///
/// It is waited for ([`Request::wait`]), asked ([`Request::test`]), or awaited: a request is a future for any executor
/// that runs where the rank does. The library has no thread of its own, so somebody must make progress: polling does,
/// and under a foreign executor a request that has not completed asks to be polled again at once.
/// [`Communicator::block_on`] sleeps instead.
///
/// Dropping a request leaves it to its scope, if it borrows from one. Otherwise a receive is cancelled, and what others
/// wait for, a send or a collective, goes on by itself.
///
/// ```
/// # extern crate rwmpi_core as rwmpi;
/// # fn main() -> rwmpi::Result<()> {
/// # rwmpi::run_threads(2, rwmpi::Protocol::Auto, |universe| {
/// # let world = universe.world();
/// let other = world.size() - 1 - world.rank();
/// let sent = world.isend_value(&"any value".to_string(), other, 0)?;
/// let received = world.irecv_value::<String>(other, 0)?;
/// let sum = world.iallreduce_value(1, rwmpi::op::sum)?;
/// // … while there is something else to do …
/// let (text, status) = received.wait()?;
/// assert_eq!((text.as_str(), status.source()), ("any value", Some(other)));
/// assert_eq!(sum.wait()?, 2);
/// sent.wait()?;
/// # Ok(())
/// # })?.into_iter().collect()
/// # }
/// ```
#[must_use = "wait for it, or let the end of its scope do so"]
pub struct Request<'scope, T = Status> {
    state: State<'scope, T>,
}

enum State<'scope, T> {
    /// It has completed.
    Done(Result<T>),
    /// It borrows; listed in its scope at `place`.
    Lent { place: usize, list: &'scope RefCell<Slab<Pending>>, give: fn(Status) -> T },
    /// It owns what it needs.
    Whole(Box<dyn InFlight<T> + 'scope>),
    /// Its result has been given to whoever awaited it.
    Given,
}

/// What owns all it needs. Dropping it ends it, or leaves it to the rank.
pub(crate) trait InFlight<T> {
    /// Its result if it has completed; then it is not asked again. Makes no progress.
    fn take(&mut self) -> Option<Result<T>>;

    /// Where it is waited for; `None` if it has completed.
    fn place(&self) -> Option<(Communicator, Call)>;

    /// What its completion depends on, as far as it is known.
    fn awaited(&self) -> Awaited;

    fn cancel(&mut self) -> Result<()>;
}

impl<'scope> Request<'scope> {
    /// An operation that is listed in a scope.
    pub(crate) fn lent(list: &'scope RefCell<Slab<Pending>>, place: usize) -> Self {
        Request { state: State::Lent { place, list, give: |status| status } }
    }
}

impl<'scope, T> Request<'scope, T> {
    /// One that has completed already.
    pub(crate) fn done(result: Result<T>) -> Self {
        Request { state: State::Done(result) }
    }

    pub(crate) fn whole(operation: impl InFlight<T> + 'scope) -> Self {
        Request { state: State::Whole(Box::new(operation)) }
    }

    /// Waits until it has completed (MPI_Wait).
    #[doc = example!(1
        "let received = world.irecv_value::<String>(0, 0)?;"
        "world.send_value(&\"hello\".to_string(), 0, 0)?;"
        "assert_eq!(received.wait()?.0, \"hello\");"
    )]
    #[doc(alias = "MPI_Wait")]
    pub fn wait(self) -> Result<T> {
        match self.state {
            State::Done(result) => result,
            State::Lent { place, list, give } => {
                let pending = list.borrow_mut().remove(place);
                pending.wait().map(give)
            }
            State::Whole(mut operation) => match operation.place() {
                Some((communicator, call)) => {
                    communicator.tell_again(call);
                    let waited = communicator.process().wait_for_awaited(operation.awaited(), || operation.take());
                    waited.map_err(communicator.failed(call))?
                }
                None => operation.take().unwrap_or_else(given),
            },
            State::Given => given(),
        }
    }

    /// Waits until it has completed, for whoever waits for all of `others`, too.
    pub(crate) fn complete_beside(&mut self, others: &[Self]) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        let Some((communicator, call)) = self.place() else { return Ok(()) };
        let awaited = self.awaited();
        let all = |each: &mut dyn FnMut(Awaited)| {
            each(awaited);
            others.iter().for_each(|other| each(other.awaited()));
        };
        communicator.tell_again(call);
        let process = communicator.process();
        let waited = process.wait_for_several(Several::All, awaited, all, || self.is_done().then_some(()));
        waited.map_err(communicator.failed(call))
    }

    /// Whether it has completed (MPI_Test): then [`Request::wait`] gives its result at once.
    ///
    /// # Errors
    /// If the transport has failed. An error of the operation itself comes out of [`Request::wait`].
    #[doc = example!(1
        "let mut received = world.irecv_value::<u64>(0, 0)?;"
        "assert!(!received.test()?);"
        "world.send_value(&7_u64, 0, 0)?;"
        "while !received.test()? {"
        "    // Something useful."
        "}"
        "assert_eq!(received.wait()?.0, 7);"
    )]
    #[doc(alias = "MPI_Test")]
    pub fn test(&mut self) -> Result<bool> {
        let is_done = self.look()?;
        if !is_done {
            self.found_nothing()?;
        }
        Ok(is_done)
    }

    /// Makes progress unless it has completed; whether it has by then.
    pub(crate) fn look(&mut self) -> Result<bool> {
        if self.is_done() {
            return Ok(true);
        }
        if let Some((communicator, call)) = self.place() {
            communicator.process().progress_all().map_err(communicator.failed(call))?;
        }
        Ok(self.is_done())
    }

    /// A call that does not wait, for this request and perhaps for others, returns with nothing.
    pub(crate) fn found_nothing(&self) -> Result<()> {
        match self.place() {
            Some((communicator, call)) => {
                communicator.process().found_nothing(self.awaited()).map_err(communicator.failed(call))
            }
            None => Ok(()),
        }
    }

    /// Asks for the operation to be cancelled (MPI_Cancel). It still has to be waited for; [`Status::cancelled`] then
    /// tells whether it was, and what would have given a value gives an error. A receive that no message has met yet is
    /// always cancelled. A collective can't be.
    #[doc = example!(1
        "let mut buffer = [0; 4];"
        "let status = rwmpi::scope(|s| {"
        "    let mut incoming = world.irecv(s, &mut buffer, 0, 0)?;"
        "    incoming.cancel()?;"
        "    incoming.wait()"
        "})?;"
        "assert!(status.cancelled());"
    )]
    #[doc(alias = "MPI_Cancel")]
    pub fn cancel(&mut self) -> Result<()> {
        match &mut self.state {
            State::Done(_) | State::Given => Ok(()),
            State::Lent { place, list, .. } => {
                let pending = list.borrow()[*place].clone();
                pending.cancel()
            }
            State::Whole(operation) => operation.cancel(),
        }
    }

    /// The same operation, which gives what `f` makes of its result. So requests of different types can be waited for
    /// together:
    ///
    /// ```
    /// # extern crate rwmpi_core as rwmpi;
    /// # fn main() -> rwmpi::Result<()> {
    /// enum Event { Text(String), Sum(u64) }
    ///
    /// # rwmpi::run_threads(1, rwmpi::Protocol::Auto, |universe| {
    /// # let world = universe.world();
    /// let mut requests = vec![
    ///     world.irecv_value(0, 0)?.map(|(text, _)| Event::Text(text)),
    ///     world.iallreduce_value(1, rwmpi::op::sum)?.map(Event::Sum),
    /// ];
    /// world.send_value(&"hello".to_string(), 0, 0)?;
    /// while let Some((_, event)) = rwmpi::wait_any(&mut requests)? {
    ///     match event {
    ///         Event::Text(text) => assert_eq!(text, "hello"),
    ///         Event::Sum(sum) => assert_eq!(sum, 1),
    ///     }
    /// }
    /// # Ok(())
    /// # })?.into_iter().collect()
    /// # }
    /// ```
    pub fn map<U>(self, f: impl FnOnce(T) -> U + 'scope) -> Request<'scope, U>
    where
        T: 'scope,
    {
        Request::whole(Mapped { request: self, f: Some(f) })
    }

    /// Whether it has completed, as far as has become known.
    pub(crate) fn is_done(&mut self) -> bool {
        match self.take() {
            Some(result) => {
                self.state = State::Done(result);
                true
            }
            None => matches!(self.state, State::Given),
        }
    }

    /// Its result if it has completed. Makes no progress.
    pub(crate) fn take(&mut self) -> Option<Result<T>> {
        match &mut self.state {
            State::Lent { place, list, give } => {
                let (place, list, give) = (*place, *list, *give);
                if !list.borrow()[place].has_completed() {
                    return None;
                }
                // Should its operation have panicked, that comes out here, and nothing of it is left.
                self.state = State::Given;
                let pending = list.borrow_mut().remove(place);
                return Some(pending.wait().map(give));
            }
            State::Whole(operation) => {
                let result = operation.take()?;
                self.state = State::Given;
                return Some(result);
            }
            State::Done(_) | State::Given => {}
        }
        match std::mem::replace(&mut self.state, State::Given) {
            State::Done(result) => Some(result),
            _ => None,
        }
    }

    /// Where it is waited for; `None` once it has completed.
    pub(crate) fn place(&self) -> Option<(Communicator, Call)> {
        match &self.state {
            State::Done(_) | State::Given => None,
            State::Lent { place, list, .. } => Some(list.borrow()[*place].place()),
            State::Whole(operation) => operation.place(),
        }
    }

    /// What its completion depends on, as far as it is known.
    pub(crate) fn awaited(&self) -> Awaited {
        match &self.state {
            State::Done(_) | State::Given => Awaited::Unknown,
            State::Lent { place, list, .. } => list.borrow()[*place].awaited(),
            State::Whole(operation) => operation.awaited(),
        }
    }

    /// Whether it has completed with an error, and that is known.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.state, State::Done(Err(_)))
    }
}

#[cold]
fn given<T>() -> Result<T> {
    Err(Error::new(ErrorClass::Request, "the request's result has been taken already"))
}

/// It is not pinned: where its buffers are, it does not move them.
impl<T> Unpin for Request<'_, T> {}

impl<T> Future for Request<'_, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        match self.look() {
            Err(error) => Poll::Ready(Err(error)),
            Ok(true) => Poll::Ready(self.take().unwrap_or_else(given)),
            Ok(false) => {
                if let Some((communicator, _)) = self.place() {
                    communicator.process().wake_later(context.waker(), self.awaited());
                }
                Poll::Pending
            }
        }
    }
}

/// An operation whose result something is made of.
struct Mapped<'scope, S, F> {
    request: Request<'scope, S>,
    f: Option<F>,
}

impl<S, T, F: FnOnce(S) -> T> InFlight<T> for Mapped<'_, S, F> {
    fn take(&mut self) -> Option<Result<T>> {
        let result = self.request.take()?;
        let f = self.f.take()?;
        Some(result.map(f))
    }

    fn place(&self) -> Option<(Communicator, Call)> {
        self.request.place()
    }

    fn awaited(&self) -> Awaited {
        self.request.awaited()
    }

    fn cancel(&mut self) -> Result<()> {
        self.request.cancel()
    }
}

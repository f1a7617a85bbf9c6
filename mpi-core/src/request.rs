//! Operations in flight. A request borrows its buffer for as long as its scope lasts, so safe code cannot touch it.

use crate::{Result, Status};
use std::marker::PhantomData;

/// Lends buffers to requests: whatever was started in it has completed when [`scope`] returns.
pub struct Scope<'scope, 'env: 'scope> {
    _marker: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// An operation in flight.
#[must_use = "wait for it, or let the end of the scope do so"]
pub struct Request<'scope> {
    _marker: PhantomData<&'scope ()>,
}

impl Request<'_> {
    /// Waits until it has completed (MPI_Wait).
    pub fn wait(self) -> Result<Status> {
        todo!()
    }
    /// Whether it has completed; if so, this is its result and the request is spent (MPI_Test).
    pub fn test(&mut self) -> Result<Option<Status>> {
        todo!()
    }
}

/// Runs `f`, then completes every request that was started in its scope: pending receives are cancelled if `f` failed or
/// panicked, everything else is waited for.
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
pub fn scope<'env, R>(f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> R {
    let _ = f;
    todo!()
}

/// Waits for all of them, in any order (MPI_Waitall).
pub fn wait_all<'scope>(requests: impl IntoIterator<Item = Request<'scope>>) -> Result<Vec<Status>> {
    let _ = requests.into_iter();
    todo!()
}

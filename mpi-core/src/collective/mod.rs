//! The collectives of communicators (MPI-5.0 chapter 6), for Rust programs. Every rank of the communicator makes the
//! same call. The algorithms are in the package `rwmpi-collective`.
//!
//! Buffers and values that are their own messages are *described* (`typed`, `own_messages`) and then done by slots, or
//! otherwise (`perform`), in either form (`form`). All other values take the way of `values`.

mod blocking;
mod checking;
mod combining;
mod elementwise;
mod form;
mod mishap;
mod nonblocking;
mod own_messages;
mod packed;
mod parts;
mod perform;
mod places;
mod typed;
mod value_calls;
mod values;

use rwmpi_collective::Team;

use crate::Communicator;
use crate::communicator::nonblocking_tag;
use crate::engine::Failure;
pub(crate) use checking::CallForm;
pub use parts::Parts;

impl Communicator {
    /// Runs the nonblocking collective of that number.
    pub(crate) fn run_nonblocking<R>(
        &self,
        number: u64,
        collective: impl AsyncFnOnce(Team<'_>) -> std::result::Result<R, Failure>,
    ) -> impl Future<Output = std::result::Result<R, Failure>> {
        self.team(nonblocking_tag(number), false).run_nonblocking(self.nonblocking_slots(), number, collective)
    }
}

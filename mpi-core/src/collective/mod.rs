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
use crate::apart::apart;
use crate::communicator::nonblocking_tag;
use crate::engine::Failure;
pub(crate) use checking::{CallForm, ToCompare};
pub use parts::Parts;

impl Communicator {
    /// The next nonblocking collective, as what is to be done: it begins once all ranks have told what they are about
    /// to do, if that is to be compared.
    pub(crate) fn next_nonblocking<R, C>(
        &self,
        to_compare: Option<ToCompare>,
        collective: C,
    ) -> impl Future<Output = std::result::Result<R, Failure>> + use<R, C>
    where
        C: AsyncFnOnce(&Communicator, Team<'_>) -> std::result::Result<R, Failure>,
    {
        let (communicator, number) = (self.clone(), self.next_nonblocking_collective());
        async move {
            let team = communicator.team(nonblocking_tag(number), false);
            team.check_can_begin()?;
            if let Some(to_compare) = to_compare {
                apart(|| to_compare.compare()).await?;
            }
            let collective = async |team: Team<'_>| collective(&communicator, team).await;
            team.run_nonblocking(communicator.nonblocking_slots(), number, collective).await
        }
    }
}

//! Collective communication (MPI-5.0 chapter 6). Every rank of the communicator makes the same call.
//!
//! Each algorithm is written once, as an `async fn` on spans of bytes whose awaits are messages. The blocking form of a
//! collective drives it in place; the nonblocking one makes a task of it, which every call that waits moves on. What a
//! collective does with its typed arguments, whatever its form, is its *plan* (`plans`); short ones need none
//! (`short`). Receives are posted before sends wherever that lets remote write serve them (MPI/MBCF thesis, section
//! 3.2). Reductions combine in rank order, so an operation need only be associative, and all ranks get the same bits;
//! only on several nodes those of operations that commute may be combined node by node (`nodes`).

mod agreement;
mod allgather;
mod alltoall;
pub(crate) mod at_once;
mod barrier;
mod blocking;
mod broadcast;
mod combining;
mod direct_access;
mod form;
mod gather;
mod inter;
mod neighbour;
mod nodes;
mod nonblocking;
mod parts;
mod places;
mod plans;
mod reduce;
pub(crate) mod reduction;
mod scan;
mod scratch;
mod short;
mod short_values;
mod slots;
mod team;
mod uneven;
mod value_calls;
mod values;

use crate::activity::{Call, Target};
use crate::apart::apart;
use crate::communicator::{context, nonblocking_tag};
use crate::engine::Failure;
use crate::error::{Error, ErrorClass};
use crate::{Communicator, Request, Result, Scope};
pub(crate) use allgather::allgather;
pub(crate) use alltoall::alltoall;
pub(crate) use barrier::{barrier, tree};
pub(crate) use broadcast::broadcast;
pub(crate) use gather::{gather, scatter};
pub use inter::Root;
pub(crate) use inter::{
    Groups, allreduce_between, alltoall_between, barrier_between, broadcast_between, combine_between, gather_between,
    reduce_between, scatter_between,
};
pub(crate) use neighbour::exchange_with_neighbours;
pub(crate) use nodes::OnceNodes;
pub use parts::Parts;
pub(crate) use reduce::{allreduce, reduce, reduce_scatter};
pub(crate) use reduction::Reduction;
pub(crate) use scan::{exscan, scan};
pub(crate) use scratch::Scratch;
use slots::{Nonblocking, Turn};
pub(crate) use slots::{OnceSlots, Retired, Shelved, Slots};
pub(crate) use team::{Team, Trouble};

/// What a collective does once its arguments have been checked: called with the ranks that take part.
trait Plan: AsyncFnOnce(Team<'_>) -> std::result::Result<(), Failure> {}
impl<P: AsyncFnOnce(Team<'_>) -> std::result::Result<(), Failure>> Plan for P {}

impl Communicator {
    /// Tells the watchers.
    pub(crate) fn begin(&self, call: Call, bytes: usize) {
        self.process().tell(self.told_as(call), Target::NONE, self.context() + context::COLLECTIVE, bytes);
    }

    pub(crate) fn team(&self, tag: u32, waits: bool) -> Team<'_> {
        let (process, peers) = (self.process(), self.group().peers());
        let context = self.context() + context::COLLECTIVE;
        Team::new(process, (peers, self.rank()), [context, tag], waits, (self.slots(), self.nodes()))
    }

    /// The typed collectives are those within one group.
    fn check_one_group(&self, call: Call) -> Result<()> {
        if !self.is_inter() {
            return Ok(());
        }
        let what = "an intercommunicator has two groups: merge them, or use the untyped collectives".to_string();
        Err(Error::argument(ErrorClass::Communicator, self, call, what))
    }

    /// The blocking form of a collective.
    pub(crate) fn complete<R>(
        &self,
        call: Call,
        plan: impl AsyncFnOnce(Team<'_>) -> std::result::Result<R, Failure>,
    ) -> Result<R> {
        self.check_one_group(call)?;
        let trouble = Trouble::default();
        let team = Team { trouble: Some(&trouble), poisons: true, ..self.team(self.next_collective(), true) };
        let result = self.process().block_on(|| plan(team));
        result.and_then(|result| trouble.outcome().map(|()| result)).map_err(self.failed(call))
    }

    /// The nonblocking form of a collective.
    fn start<'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        call: Call,
        plan: impl Plan + 'scope,
    ) -> Result<Request<'scope>> {
        self.check_one_group(call)?;
        let (communicator, number) = (self.clone(), self.next_nonblocking_collective());
        let collective = async move |team: Team<'_>| {
            let trouble = Trouble::default();
            plan(Team { trouble: Some(&trouble), poisons: true, ..team }).await?;
            trouble.outcome()
        };
        scope.begin(self, call, async move { communicator.run_nonblocking(number, collective).await })
    }

    /// Runs the nonblocking collective of that number.
    pub(crate) async fn run_nonblocking<R>(
        &self,
        number: u64,
        collective: impl AsyncFnOnce(Team<'_>) -> std::result::Result<R, Failure>,
    ) -> std::result::Result<R, Failure> {
        let team = self.team(nonblocking_tag(number), false);
        let slots = match self.nonblocking_slots() {
            Some(slots) if team.size() > 1 => apart(|| team.nonblocking_slots(slots, number)).await?,
            _ => None,
        };
        let Some(slots) = slots else { return apart(|| collective(team)).await };
        let nonblocking = Nonblocking::new(team, slots, number);
        // What it leaves in flight is dealt with when it is no more.
        let result = {
            let mut plan = apart(|| collective(Team { nonblocking: Some(&nonblocking), ..team }));
            nonblocking.watch(plan.as_mut()).await
        };
        apart(|| nonblocking.end()).await.and(result)
    }
}

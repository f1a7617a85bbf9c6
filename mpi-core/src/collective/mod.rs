//! Collective communication (MPI-5.0 chapter 6). Every rank of the communicator makes the same call.
//!
//! Each algorithm is written once, as an `async fn` on spans of bytes whose awaits are messages. The blocking form of a
//! collective drives it in place; the nonblocking one makes a task of it, which every call that waits moves on. Short
//! data go by slots, which is two steps and needs no future. Both, and which data they concern, is a description
//! (`described`), of which every front end makes one. Receives are posted before sends wherever that lets remote write
//! serve them (MPI/MBCF thesis, section 3.2). Reductions combine in rank order, so an operation need only be
//! associative, and all ranks get the same bits; only on several nodes those of operations that commute may be combined
//! node by node (`nodes`).

mod agreement;
mod allgather;
mod alltoall;
mod barrier;
mod blocking;
mod broadcast;
mod checking;
mod combining;
mod described;
mod direct_access;
mod form;
mod gather;
mod inter;
mod neighbour;
mod nodes;
mod nonblocking;
mod own_messages;
mod packed;
mod parts;
mod places;
mod reduce;
pub(crate) mod reduction;
mod scan;
mod scratch;
mod slots;
mod team;
mod typed;
mod uneven;
mod value_calls;
mod values;

use crate::Communicator;
use crate::activity::{Call, Target};
use crate::apart::apart;
use crate::communicator::{context, nonblocking_tag};
use crate::engine::Failure;
pub(crate) use allgather::{Allgather, allgather, direct};
pub(crate) use alltoall::{Alltoall, alltoall};
pub(crate) use barrier::{Barrier, barrier, tree};
pub(crate) use broadcast::{Broadcast, broadcast};
pub(crate) use checking::{CallForm, Named, Sibling, Told};
pub(crate) use described::Described;
pub(crate) use gather::{Gather, Scatter, gather, scatter};
pub use inter::Root;
pub(crate) use inter::{
    Groups, allreduce_between, alltoall_between, barrier_between, broadcast_between, combine_between, gather_between,
    reduce_between, scatter_between,
};
pub(crate) use neighbour::exchange_with_neighbours;
pub(crate) use nodes::OnceNodes;
pub use parts::Parts;
pub(crate) use reduce::{Allreduce, Consecutive, Reduce, ReduceScatter, allreduce, reduce, reduce_scatter};
pub(crate) use reduction::Reduction;
pub(crate) use scan::{Scan, exscan, scan};
pub(crate) use scratch::Scratch;
use slots::Nonblocking;
pub(crate) use slots::{OnceSlots, Slots};
pub(crate) use team::{Team, Trouble};

type Outcome = std::result::Result<(), Failure>;

impl Communicator {
    /// Tells the watchers.
    pub(crate) fn begin(&self, call: Call, bytes: usize) {
        self.process().tell(self.told_as(call), Target::NONE, self.context() + context::COLLECTIVE, bytes);
    }

    /// Tells the watchers that the rank waits for what an earlier call has started: they may have heard of others
    /// since.
    pub(crate) fn tell_again(&self, call: Call) {
        self.process().tell(self.told_as(call), Target::NONE, self.context(), 0);
    }

    pub(crate) fn team(&self, tag: u32, waits: bool) -> Team<'_> {
        let (process, peers) = (self.process(), self.group().peers());
        let context = self.context() + context::COLLECTIVE;
        Team::new(process, (peers, self.rank()), [context, tag], waits, (self.slots(), self.nodes()))
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

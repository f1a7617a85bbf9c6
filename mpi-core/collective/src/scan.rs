//! Prefix reductions. Short data on one node: each rank combines what the ranks up to it have in their slots. Long
//! data of two: a reduction to the second. Else in rounds: in round `k` each rank passes what it has combined so far to
//! the rank `2^k` ahead.

use std::iter;

use rwmpi_transport::{ReadSpan, WriteSpan};

use crate::Outcome;
use crate::activity::Call;
use crate::apart::apart;
use crate::described::Described;
use crate::nodes;
use crate::reduce::{Reduce, reduce_long};
use crate::reduction::Reduction;
use crate::scratch::{Scratch, prepend};
use crate::select::collective::without_slots;
use crate::select::{Collective, CollectiveWay};
use crate::slots::Epoch;
use crate::team::Team;
use crate::told::{Sibling, Told};

/// `data` is this rank's contribution; `result`, which may be the same memory, becomes that of all ranks up to this
/// one, or, if it is `exclusive`, of the ranks before it: then rank 0's is left alone.
#[derive(Clone, Copy)]
pub struct Scan<'a, O> {
    pub data: ReadSpan<'a>,
    pub result: WriteSpan<'a>,
    pub op: O,
    pub exclusive: bool,
}

impl<O> Scan<'_, O> {
    /// The ranks before that one count.
    fn end(&self, me: usize) -> usize {
        me + usize::from(!self.exclusive)
    }
}

impl<O: Reduction> Described for Scan<'_, O> {
    const CALL: Call = Call::Scan;

    fn bytes(&self) -> usize {
        self.data.len()
    }

    fn told(&self) -> Told {
        let sibling = if self.exclusive { Sibling::Second } else { Sibling::First };
        Told::new(Self::CALL).sibling(sibling).operation(self.op.named()).bytes(Some(self.data.len() as u64))
    }

    #[inline(always)]
    fn kind(&self, _: usize) -> Option<Collective> {
        Some(Collective::Scan { len: self.data.len() })
    }

    #[inline(always)]
    fn given(&self, _: &Team<'_>) -> impl Iterator<Item = ReadSpan<'_>> + Clone {
        iter::once(self.data)
    }

    fn reads_from(&self, me: usize, rank: usize) -> bool {
        rank < self.end(me)
    }

    #[inline(always)]
    fn read(&self, epoch: &Epoch<'_>) -> Outcome {
        match self.end(epoch.team.rank) {
            0 => Ok(()),
            end => epoch.combine(self.data, self.result.len(), 0, self.result, &self.op, end),
        }
    }

    async fn run(&self, team: Team<'_>) -> Outcome {
        let Scan { data, result, ref op, exclusive } = *self;
        scan(team, Scan { data, result, op, exclusive }).await
    }

    #[inline(always)]
    fn finish(self) -> Outcome {
        self.op.outcome()
    }
}

/// [`Scan`].
pub async fn scan(team: Team<'_>, scan: Scan<'_, &dyn Reduction>) -> Outcome {
    if team.on_slots(&scan).await? {
        return Ok(());
    }
    let Scan { data, result, op, exclusive } = scan;
    if exclusive {
        let mut inclusive = Scratch::new(team, result.len());
        let inclusive = inclusive.span();
        team.copy(data, inclusive)?;
        return apart(|| by_messages(team, inclusive, Some(result), op)).await;
    }
    let what = Collective::Scan { len: data.len() };
    let way = without_slots(team.process.tuning(), what, team.size(), team.may_access_directly());
    let is_reduction = way == CollectiveWay::DirectAccess;
    if data.start() != result.start() && !(is_reduction && team.rank == 1) {
        team.copy(data, result)?;
    }
    if is_reduction {
        return apart(|| reduce_long(team, Reduce { data, result, op, root: 1 })).await;
    }
    apart(|| by_messages(team, result, None, op)).await
}

/// `data` is this rank's contribution, afterwards that of all ranks up to this one, unless `before` is asked for: that
/// becomes the one of the ranks before this one and is left alone at rank 0.
async fn by_messages(
    team: Team<'_>,
    data: WriteSpan<'_>,
    before: Option<WriteSpan<'_>>,
    op: &dyn Reduction,
) -> Outcome {
    if let Some(by) = team.nodes_in_order() {
        return apart(|| nodes::scan(team, by, data, before, op)).await;
    }
    // Others may have posted data of another length, so each two ask each other first.
    let epoch = team.announce_len(data.len())?;
    let agrees = |rank| epoch.map_or(Ok(true), |epoch| epoch.agrees(rank, data.len()));
    let (rank, size) = (team.rank, team.size());
    let mut received = Scratch::new(team, data.len());
    let received = received.span();
    let mut distance = 1;
    while distance < size {
        let mut flights = team.flights();
        let is_advertised = team.process.engine().advertises(data.len());
        let receives = rank >= distance && agrees(rank - distance)?;
        if receives && is_advertised {
            flights.receive(received, rank - distance)?;
        }
        if rank + distance < size && agrees(rank + distance)? {
            flights.send(data.as_read(), rank + distance)?;
        }
        if receives && !is_advertised {
            flights.receive_next(received, data.len(), rank - distance)?;
        }
        flights.await?;
        if receives {
            // What no rank will be sent is of use to this one only.
            if before.is_none() || rank + 2 * distance < size {
                prepend(&team, op, received.as_read(), data);
            }
            match before {
                Some(before) if distance == 1 => received.as_read().copy_to(before),
                Some(before) => prepend(&team, op, received.as_read(), before),
                None => {}
            }
        }
        distance *= 2;
    }
    Ok(())
}

//! Collectives between the two groups of an intercommunicator (MPI-5.0 section 6.2.2): each group gets what the other
//! one gives.
//!
//! Where data of a whole group go to the other one, the first ranks of both exchange them; where each rank has data for
//! each other one, all send directly.

use rwmpi_transport::{ReadSpan, WriteSpan};

use crate::Outcome;
use crate::barrier::barrier;
use crate::broadcast::broadcast;
use crate::gather::directly_to_all;
use crate::reduce::{Allreduce, Reduce, ReduceScatter, reduce};
use crate::reduction::Reduction;
use crate::scratch::Scratch;
use crate::team::Team;

/// The root of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// The rank with that number; on an intercommunicator one of the other group.
    Rank(usize),
    /// The caller, whose data go to or come from the other group (MPI_ROOT).
    Here,
    /// Another rank of the caller's group: nothing is to be done (MPI_PROC_NULL).
    Nobody,
}

/// Both groups.
#[derive(Clone, Copy)]
pub struct Groups<'a> {
    pub local: Team<'a>,
    /// As what messages to and from it are exchanged; its `rank` means nothing.
    pub remote: Team<'a>,
}

impl Groups<'_> {
    fn leads(&self) -> bool {
        self.local.rank == 0
    }
}

/// Nobody leaves before all of the other group have arrived.
pub async fn barrier_between(groups: Groups<'_>) -> Outcome {
    barrier(groups.local).await?;
    if groups.leads() {
        groups.remote.exchange(ReadSpan::EMPTY, 0, WriteSpan::EMPTY, 0).await?;
    }
    broadcast(groups.local, WriteSpan::EMPTY, 0).await
}

/// `data` is read at the root and written in the other group.
pub async fn broadcast_between(groups: Groups<'_>, data: WriteSpan<'_>, root: Root) -> Outcome {
    match root {
        Root::Nobody => Ok(()),
        Root::Here => groups.remote.send(data.as_read(), 0).await,
        Root::Rank(root) => {
            if groups.leads() {
                groups.remote.receive(data, root).await?;
            }
            broadcast(groups.local, data, 0).await
        }
    }
}

/// `place` is asked at the root, `part` sent in the other group.
pub async fn gather_between<'a>(
    groups: Groups<'_>,
    part: ReadSpan<'_>,
    place: impl Fn(usize) -> WriteSpan<'a>,
    root: Root,
) -> Outcome {
    match root {
        Root::Nobody => Ok(()),
        Root::Rank(root) => groups.remote.send(part, root).await,
        Root::Here => {
            let mut receives = groups.remote.flights();
            for rank in 0..groups.remote.size() {
                receives.receive(place(rank), rank)?;
            }
            receives.await
        }
    }
}

/// `place` is asked at the root, `part` received in the other group.
pub async fn scatter_between<'a>(
    groups: Groups<'_>,
    place: impl Fn(usize) -> ReadSpan<'a>,
    part: WriteSpan<'_>,
    root: Root,
) -> Outcome {
    match root {
        Root::Nobody => Ok(()),
        Root::Rank(root) => groups.remote.receive(part, root).await,
        Root::Here => {
            let mut sends = groups.remote.flights();
            for rank in 0..groups.remote.size() {
                sends.send(place(rank), rank)?;
            }
            sends.await
        }
    }
}

/// `sent` and `received` say where the part for and from each rank of the other group is.
pub async fn alltoall_between<'s, 'r>(
    groups: Groups<'_>,
    sent: impl Fn(usize) -> ReadSpan<'s>,
    received: impl Fn(usize) -> WriteSpan<'r>,
) -> Outcome {
    let (me, size) = (groups.local.rank, groups.remote.size());
    let mut flights = groups.remote.flights();
    for rank in 0..size {
        flights.receive(received(rank), rank)?;
    }
    for step in 0..size {
        let to = (me + step) % size;
        flights.send(sent(to), to)?;
    }
    flights.await
}

/// `data` is combined in the group that the root does not belong to; `result` matters at the root.
pub async fn reduce_between(
    groups: Groups<'_>,
    data: ReadSpan<'_>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
    root: Root,
) -> Outcome {
    match root {
        Root::Nobody => Ok(()),
        Root::Here => groups.remote.receive(result, 0).await,
        Root::Rank(root) => {
            let mut combined = Scratch::new(groups.local, if groups.leads() { data.len() } else { 0 });
            let combined = combined.span();
            reduce(groups.local, Reduce { data, result: combined, op, root: 0 }).await?;
            if groups.leads() { groups.remote.send(combined.as_read(), root).await } else { Ok(()) }
        }
    }
}

/// `result` becomes what the other group's `data` give.
pub async fn allreduce_between(groups: Groups<'_>, allreduce: Allreduce<'_, &dyn Reduction>) -> Outcome {
    let Allreduce { data, result, op } = allreduce;
    let mut combined = Scratch::new(groups.local, if groups.leads() { data.len() } else { 0 });
    let combined = combined.span();
    reduce(groups.local, Reduce { data, result: combined, op, root: 0 }).await?;
    if groups.leads() {
        groups.remote.exchange(combined.as_read(), 0, result, 0).await?;
    }
    broadcast(groups.local, result, 0).await
}

/// As [`allreduce_between`], each rank getting its part.
pub async fn reduce_scatter_between(
    groups: Groups<'_>,
    reduced: ReduceScatter<'_, &dyn Reduction, &dyn Fn(usize) -> (usize, usize)>,
) -> Outcome {
    let ReduceScatter { data, result, op, place } = reduced;
    let len = if groups.leads() { data.len() } else { 0 };
    let (mut combined, mut whole) = (Scratch::new(groups.local, len), Scratch::new(groups.local, len));
    let (combined, whole) = (combined.span(), whole.span());
    reduce(groups.local, Reduce { data, result: combined, op, root: 0 }).await?;
    if groups.leads() {
        groups.remote.exchange(combined.as_read(), 0, whole, 0).await?;
    }
    let part = |rank| {
        let (start, len) = place(rank);
        whole.as_read().part(start, len)
    };
    directly_to_all(groups.local, part, Some(result), 0).await
}

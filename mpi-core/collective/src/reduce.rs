//! Reductions. Short data: binomial tree to one rank, recursive doubling to all. Long data: everybody combines one part
//! of the whole, read from all or, where that can't be, sent by all, and the parts are gathered, unless each rank is to
//! have its part only. On one node short data are posted in slots instead. Always in rank order, so an operation need
//! only be associative, and all ranks get the same bits.

use std::iter;

use rwmpi_transport::{ReadSpan, WriteSpan};
use smallvec::SmallVec;

use crate::Outcome;
use crate::activity::Call;
use crate::agreement::{self, Announcement, Same, is_announced};
use crate::allgather::exchange_parts;
use crate::alltoall::send_to_all;
use crate::apart::apart;
use crate::described::Described;
use crate::direct_access::{DirectAccess, ExposedAddress};
use crate::engine::Failure;
use crate::gather::directly_from_all;
use crate::nodes;
use crate::reduction::Reduction;
use crate::scratch::{Scratch, append, prepend};
use crate::select::collective::{announced_from, messages};
use crate::select::{Collective, Messages};
use crate::slots::Epoch;
use crate::team::Team;
use crate::told::Told;

/// `data` is this rank's contribution; the root's `result` may be the same memory. `result` is used at the root only.
#[derive(Clone, Copy)]
pub struct Reduce<'a, O> {
    pub data: ReadSpan<'a>,
    pub result: WriteSpan<'a>,
    pub op: O,
    pub root: usize,
}

impl<O: Reduction> Described for Reduce<'_, O> {
    const CALL: Call = Call::Reduce;

    fn bytes(&self) -> usize {
        self.data.len()
    }

    fn told(&self) -> Told {
        Told::new(Self::CALL).root(self.root).operation(self.op.named()).bytes(Some(self.data.len() as u64))
    }

    #[inline(always)]
    fn kind(&self, _: usize) -> Option<Collective> {
        Some(Collective::Reduce { len: self.data.len() })
    }

    #[inline(always)]
    fn given(&self, _: &Team<'_>) -> impl Iterator<Item = ReadSpan<'_>> + Clone {
        iter::once(self.data)
    }

    fn reads_from(&self, me: usize, _: usize) -> bool {
        me == self.root
    }

    #[inline(always)]
    fn read(&self, epoch: &Epoch<'_>) -> Outcome {
        if epoch.team.rank != self.root {
            return Ok(());
        }
        epoch.combine(self.data, self.result.len(), 0, self.result, &self.op, epoch.team.size())
    }

    async fn run(&self, team: Team<'_>) -> Outcome {
        let Reduce { data, result, ref op, root } = *self;
        reduce(team, Reduce { data, result, op, root }).await
    }

    #[inline(always)]
    fn finish(self) -> Outcome {
        self.op.outcome()
    }
}

/// [`Reduce`].
pub async fn reduce(team: Team<'_>, reduce: Reduce<'_, &dyn Reduction>) -> Outcome {
    if team.size() == 1 {
        reduce.data.copy_to(reduce.result);
        return Ok(());
    }
    if team.on_slots(&reduce).await? {
        return Ok(());
    }
    if let Some(by) = team.nodes_to_reduce(reduce.op) {
        return apart(|| nodes::reduce(team, by, reduce)).await;
    }
    apart(|| reduce_long(team, reduce)).await
}

/// What no slot has room for, among all ranks as they are.
pub(crate) async fn reduce_long(team: Team<'_>, reduce: Reduce<'_, &dyn Reduction>) -> Outcome {
    let Reduce { data, result, op, root } = reduce;
    let what = Collective::Reduce { len: data.len() };
    let place = if team.rank == root { result.as_read() } else { ReadSpan::EMPTY };
    let mine = || [data, place].map(|span| team.address_of(span));
    let with = |access: &DirectAccess<'_>| reduce_read(access, team, reduce);
    let agree = async || agree_to_reduce(team, data.len(), root).await;
    if apart(|| team.access_directly(what, mine, || Ok(()), with, agree)).await? {
        return Ok(());
    }
    if messages(team.process.tuning(), what, team.size()) == Messages::Parts {
        return apart(|| reduce_parts(team, reduce)).await;
    }
    // The tree ends at rank 0, so that neighbours are combined in rank order.
    match team.rank {
        0 if root == 0 => apart(|| tree(team, data, Some(result), op, root)).await,
        rank => {
            apart(|| tree(team, data, (rank == root).then_some(result), op, root)).await?;
            if rank == root { apart(|| team.receive(result, 0)).await } else { Ok(()) }
        }
    }
}

/// Whether data of that length are announced; the same on all ranks.
fn are_announced(team: Team<'_>, what: Collective) -> bool {
    is_announced(what.announced(), announced_from(team.process.tuning(), what, team.may_access_directly()))
}

/// Whether all ranks have as long data, if this one's are long. The announcements go up the tree of short data, and the
/// verdict comes down.
async fn agree_to_reduce(team: Team<'_>, len: usize, root: usize) -> Result<bool, Failure> {
    let (rank, size) = (team.rank, team.size());
    if !are_announced(team, Collective::Reduce { len }) {
        return Ok(true);
    }
    let team = team.announcing().always_sends();
    let said = |disagree: bool| Announcement::new(team, if disagree { 0 } else { len });
    let mut children: SmallVec<[usize; 8]> = SmallVec::new();
    let mut bit = 1;
    while bit < size && rank & bit == 0 {
        if rank + bit < size {
            let mut heard = Announcement::none();
            team.receive(heard.place(), rank + bit).await?;
            if heard.is_one() {
                children.push(rank + bit);
                heard.differs(len).into_iter().for_each(|failure| team.note(failure));
            }
        }
        bit <<= 1;
    }
    if rank != 0 {
        team.send(said(team.is_in_trouble()).read(), rank - bit).await?;
        team.receive(Announcement::none().place(), rank - bit).await?;
    }
    let (agreed, verdict) = (!team.is_in_trouble(), said(team.is_in_trouble()));
    for child in children {
        team.send(if agreed { verdict.read() } else { ReadSpan::EMPTY }, child).await?;
    }
    if !agreed && root != 0 && rank == 0 {
        // It may have short data, and wait for the result.
        team.send(ReadSpan::EMPTY, root).await?;
    } else if !agreed && root != 0 && rank == root {
        team.receive(WriteSpan::EMPTY, 0).await?;
    }
    Ok(agreed)
}

/// As [`agree_to_reduce`], by doubling, which tells all of all.
async fn agree_to_allreduce(team: Team<'_>, len: usize) -> Result<bool, Failure> {
    if !are_announced(team, Collective::Allreduce { len }) {
        return Ok(true);
    }
    doubling(team.announcing(), Announcement::new(team, len).place(), &Same::new(len)).await?;
    Ok(!team.is_in_trouble())
}

fn reduce_read(access: &DirectAccess<'_>, team: Team<'_>, reduce: Reduce<'_, &dyn Reduction>) -> Outcome {
    let Reduce { data, result, op, root } = reduce;
    // The root alone need not put its part anywhere else.
    let favoured = (team.size() == 2).then_some(root);
    let parts = Parts { favoured, ..Parts::new(team, data.len(), op) };
    let (me, is_root) = (team.rank, team.rank == root);
    // Each part of each rank's data is read by one rank only, so a part of the result may be put where data have been.
    let own = is_root.then(|| parts.place(result, root));
    let to = (!is_root).then_some(root).into_iter();
    access.combine(parts.start(me), parts.of(data, me), own, op, to)
}

async fn reduce_parts(team: Team<'_>, reduce: Reduce<'_, &dyn Reduction>) -> Outcome {
    let Reduce { data, result, op, root } = reduce;
    let parts = Parts::new(team, data.len(), op);
    let mut own = Scratch::new(team, parts.len(team.rank));
    let own = own.span();
    apart(|| combine(team, |rank| parts.of(data, rank), own, op)).await?;
    apart(|| directly_from_all(team, Some(own.as_read()), |rank| parts.place(result, rank), root)).await
}

/// Combines towards rank 0, which hands the result to the root. `kept` is where partial results may be kept.
async fn tree(
    team: Team<'_>,
    data: ReadSpan<'_>,
    kept: Option<WriteSpan<'_>>,
    op: &dyn Reduction,
    root: usize,
) -> Outcome {
    let (rank, size) = (team.rank, team.size());
    if rank % 2 == 1 {
        return team.send(data, rank - 1).await;
    }
    let mut scratch = Scratch::new(team, if kept.is_some() { 0 } else { data.len() });
    let kept = kept.unwrap_or_else(|| scratch.span());
    data.copy_to(kept);
    let mut room = Scratch::new(team, data.len().max(agreement::LEN));
    let room = room.span();
    let received = room.part(0, data.len());
    let mut bit = 1;
    while bit < size {
        if rank & bit != 0 {
            return team.send(kept.as_read(), rank - bit).await;
        }
        if rank + bit < size {
            team.receive_expecting(room, data.len(), rank + bit).await?;
            if team.is_in_trouble() && Announcement::take(room, data.len()).is_some_and(|it| it.note(team, data.len()))
            {
                // It waits for a verdict.
                team.send(ReadSpan::EMPTY, rank + bit).await?;
            }
            append(&team, op, kept, received.as_read());
        }
        bit <<= 1;
    }
    if root == 0 { Ok(()) } else { team.send(kept.as_read(), root).await }
}

/// `data` is this rank's contribution; `result` may be the same memory.
#[derive(Clone, Copy)]
pub struct Allreduce<'a, O> {
    pub data: ReadSpan<'a>,
    pub result: WriteSpan<'a>,
    pub op: O,
}

impl<O: Reduction> Described for Allreduce<'_, O> {
    const CALL: Call = Call::Allreduce;

    fn bytes(&self) -> usize {
        self.data.len()
    }

    fn told(&self) -> Told {
        Told::new(Self::CALL).operation(self.op.named()).bytes(Some(self.data.len() as u64))
    }

    #[inline(always)]
    fn kind(&self, _: usize) -> Option<Collective> {
        Some(Collective::Allreduce { len: self.data.len() })
    }

    #[inline(always)]
    fn given(&self, _: &Team<'_>) -> impl Iterator<Item = ReadSpan<'_>> + Clone {
        iter::once(self.data)
    }

    #[inline(always)]
    fn read(&self, epoch: &Epoch<'_>) -> Outcome {
        epoch.combine(self.data, self.result.len(), 0, self.result, &self.op, epoch.team.size())
    }

    async fn run(&self, team: Team<'_>) -> Outcome {
        let Allreduce { data, result, ref op } = *self;
        allreduce(team, Allreduce { data, result, op }).await
    }

    #[inline(always)]
    fn finish(self) -> Outcome {
        self.op.outcome()
    }
}

/// [`Allreduce`].
pub async fn allreduce(team: Team<'_>, allreduce: Allreduce<'_, &dyn Reduction>) -> Outcome {
    let Allreduce { data, result, op } = allreduce;
    team.check_fits(data.len(), result.len())?;
    if team.on_slots(&allreduce).await? {
        return Ok(());
    }
    if let Some(by) = team.nodes_to_reduce(op) {
        return apart(|| nodes::allreduce(team, by, allreduce)).await;
    }
    let what = Collective::Allreduce { len: data.len() };
    let mine = || [data, result.as_read()].map(|span| team.address_of(span));
    let with = |access: &DirectAccess<'_>| allreduce_read(access, team, allreduce);
    let agree = async || agree_to_allreduce(team, data.len()).await;
    if team.size() > 1 && apart(|| team.access_directly(what, mine, || Ok(()), with, agree)).await? {
        return Ok(());
    }
    if data.start() != result.start() {
        data.copy_to(result);
    }
    match messages(team.process.tuning(), what, team.size()) {
        _ if team.size() == 1 => Ok(()),
        Messages::Parts => apart(|| allreduce_parts(team, result, op)).await,
        _ => apart(|| doubling(team, result, op)).await,
    }
}

fn allreduce_read(access: &DirectAccess<'_>, team: Team<'_>, allreduce: Allreduce<'_, &dyn Reduction>) -> Outcome {
    let Allreduce { data, result, op } = allreduce;
    let parts = Parts::new(team, data.len(), op);
    // As in `reduce_read`.
    access.combine(
        parts.start(team.rank),
        parts.of(data, team.rank),
        Some(parts.place(result, team.rank)),
        op,
        team.others_in_turn(),
    )
}

async fn allreduce_parts(team: Team<'_>, data: WriteSpan<'_>, op: &dyn Reduction) -> Outcome {
    let parts = Parts::new(team, data.len(), op);
    let own = parts.place(data, team.rank);
    apart(|| combine(team, |rank| parts.of(data.as_read(), rank), own, op)).await?;
    apart(|| exchange_parts(team, data.len(), |rank| parts.place(data, rank))).await
}

/// Recursive doubling. Where the ranks are no power of two, the first ones first join into pairs, each of which acts as
/// one.
async fn doubling(team: Team<'_>, data: WriteSpan<'_>, op: &dyn Reduction) -> Outcome {
    let (rank, size) = (team.rank, team.size());
    let actors = 1 << size.ilog2();
    let pairs = size - actors;
    let mut received = Scratch::new(team, data.len());
    let received = received.span();
    let actor = if rank >= 2 * pairs {
        rank - pairs
    } else if rank % 2 == 1 {
        team.send(data.as_read(), rank - 1).await?;
        return team.receive(data, rank - 1).await;
    } else {
        team.receive(received, rank + 1).await?;
        append(&team, op, data, received.as_read());
        rank / 2
    };
    let rank_of = |actor: usize| if actor < pairs { 2 * actor } else { actor + pairs };
    let mut bit = 1;
    while bit < actors {
        let partner = rank_of(actor ^ bit);
        team.exchange(data.as_read(), partner, received, partner).await?;
        if actor & bit == 0 {
            append(&team, op, data, received.as_read());
        } else {
            prepend(&team, op, received.as_read(), data);
        }
        bit <<= 1;
    }
    if rank < 2 * pairs { team.send(data.as_read(), rank + 1).await } else { Ok(()) }
}

/// `data` is this rank's contribution, all ranks' parts one behind the other, and `place` says where in it each begins
/// and how long it is; `result` becomes this rank's part of what all give, and may be memory of `data`: where its part
/// is, or at the beginning. (By slots the data are read there, too, where the result goes to their place.)
#[derive(Clone, Copy)]
pub struct ReduceScatter<'a, O, P> {
    pub data: ReadSpan<'a>,
    pub result: WriteSpan<'a>,
    pub op: O,
    pub place: P,
}

impl<O: Reduction, P: Fn(usize) -> (usize, usize)> Described for ReduceScatter<'_, O, P> {
    const CALL: Call = Call::ReduceScatter;

    fn bytes(&self) -> usize {
        self.data.len()
    }

    fn told(&self) -> Told {
        Told::new(Self::CALL).operation(self.op.named()).bytes(Some(self.data.len() as u64))
    }

    #[inline(always)]
    fn kind(&self, _: usize) -> Option<Collective> {
        Some(Collective::ReduceScatter { len: self.data.len() })
    }

    #[inline(always)]
    fn given(&self, _: &Team<'_>) -> impl Iterator<Item = ReadSpan<'_>> + Clone {
        iter::once(self.data)
    }

    #[inline(always)]
    fn read(&self, epoch: &Epoch<'_>) -> Outcome {
        let (data, result, start) = (self.data, self.result, (self.place)(epoch.team.rank).0);
        epoch.combine(data.part(start, result.len()), data.len(), start, result, &self.op, epoch.team.size())
    }

    async fn run(&self, team: Team<'_>) -> Outcome {
        let ReduceScatter { data, result, ref op, ref place } = *self;
        reduce_scatter(team, ReduceScatter { data, result, op, place }).await
    }

    #[inline(always)]
    fn finish(self) -> Outcome {
        self.op.outcome()
    }
}

/// [`ReduceScatter`].
pub async fn reduce_scatter(
    team: Team<'_>,
    reduced: ReduceScatter<'_, &dyn Reduction, &dyn Fn(usize) -> (usize, usize)>,
) -> Outcome {
    if team.on_slots(&reduced).await? {
        return Ok(());
    }
    if let Some(by) = team.nodes_in_order() {
        return apart(|| nodes::reduce_scatter(team, by, reduced)).await;
    }
    let ReduceScatter { data, result, op, place } = reduced;
    let part = |rank: usize| {
        let (start, len) = place(rank);
        data.part(start, len)
    };
    let own = part(team.rank);
    // Where the result goes to data that another rank reads, that has to be done first.
    let is_free = result.start().cast_const() == own.start() || !overlap(data, result);
    let mut aside = Scratch::new(team, if is_free { 0 } else { result.len() });
    let kept = if is_free { result } else { aside.span() };
    let mine = || [team.address_of(data), ExposedAddress::NOTHING];
    let with = |access: &DirectAccess<'_>| access.combine(place(team.rank).0, own, Some(kept), op, iter::empty());
    let what = Collective::ReduceScatter { len: data.len() };
    // Messages are parts in any case.
    match apart(|| team.access_directly(what, mine, || Ok(()), with, async || Ok(true))).await? {
        true if is_free || team.is_in_trouble() => Ok(()),
        true => team.copy(kept.as_read(), result),
        false => apart(|| combine(team, part, result, op)).await,
    }
}

/// Where parts lie that follow each other, one for each rank.
pub struct Consecutive {
    /// Where each ends, in bytes.
    ends: SmallVec<[usize; 8]>,
}

impl Consecutive {
    /// Of so many elements each, of `element` bytes.
    pub fn new(counts: impl Iterator<Item = usize>, element: usize) -> Self {
        let mut end = 0;
        let count = |count| {
            end += count * element;
            end
        };
        Consecutive { ends: counts.map(count).collect() }
    }

    /// Where that of `rank` begins, and how long it is.
    #[inline]
    pub fn place(&self, rank: usize) -> (usize, usize) {
        let start = if rank == 0 { 0 } else { self.ends[rank - 1] };
        (start, self.ends[rank] - start)
    }
}

fn overlap(data: ReadSpan<'_>, result: WriteSpan<'_>) -> bool {
    let (data_start, result_start) = (data.start().addr(), result.start().addr());
    data_start < result_start + result.len() && result_start < data_start + data.len()
}

/// `part` says where this rank's contribution to each rank's part of the result is; `result` becomes its own, and may
/// be the same memory as that contribution.
pub(crate) async fn combine<'s>(
    team: Team<'_>,
    part: impl Fn(usize) -> ReadSpan<'s>,
    result: WriteSpan<'_>,
    op: &dyn Reduction,
) -> Outcome {
    let len = result.len();
    let stride = len.next_multiple_of(size_of::<u128>());
    let mut received = Scratch::new(team, stride * team.size());
    let received = received.span();
    send_to_all(team, part, |rank| received.part(rank * stride, len)).await?;
    received.part(0, len).as_read().copy_to(result);
    for rank in 1..team.size() {
        append(&team, op, result, received.part(rank * stride, len).as_read());
    }
    Ok(())
}

/// A buffer in nearly equal parts of whole elements, one for each rank.
#[derive(Clone, Copy)]
struct Parts {
    ranks: usize,
    /// The rank whose part is half as long again.
    favoured: Option<usize>,
    elements: usize,
    /// Bytes.
    element: usize,
}

impl Parts {
    fn new(team: Team<'_>, len: usize, op: &dyn Reduction) -> Self {
        let element = op.element().max(1);
        Parts { ranks: team.size(), favoured: None, elements: len / element, element }
    }

    fn start(self, rank: usize) -> usize {
        let halves = |ranks: usize| 2 * ranks + usize::from(self.favoured.is_some_and(|favoured| favoured < ranks));
        (halves(rank) as u128 * self.elements as u128 / halves(self.ranks) as u128) as usize * self.element
    }

    fn len(self, rank: usize) -> usize {
        self.start(rank + 1) - self.start(rank)
    }

    fn of(self, data: ReadSpan<'_>, rank: usize) -> ReadSpan<'_> {
        data.part(self.start(rank), self.len(rank))
    }

    fn place(self, data: WriteSpan<'_>, rank: usize) -> WriteSpan<'_> {
        data.part(self.start(rank), self.len(rank))
    }
}

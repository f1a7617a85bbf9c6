//! Gather and scatter: the root exchanges directly with everybody, long receives all posted first. Short even parts are
//! gathered by slots on one node; on several the root exchanges even parts with the leaders.

use std::iter;
use std::marker::PhantomData;

use rwmpi_transport::{ReadSpan, WriteSpan};
use smallvec::SmallVec;

use crate::Outcome;
use crate::activity::Call;
use crate::apart::apart;
use crate::described::Described;
use crate::nodes;
use crate::select::Collective;
use crate::slots::Epoch;
use crate::team::Team;
use crate::told::Told;

/// `place` says where each rank's part belongs; it is asked at the root only. `part` is `None` where it stands there
/// already.
pub struct Gather<'a, P> {
    part: Option<ReadSpan<'a>>,
    place: P,
    root: usize,
    /// If all parts are equally long, and their places lie in one buffer: how long.
    even: Option<usize>,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a, P: Fn(usize) -> WriteSpan<'a>> Gather<'a, P> {
    /// Of parts that are all equally long.
    #[inline(always)]
    pub fn even(part: Option<ReadSpan<'a>>, place: P, root: usize, len: usize) -> Self {
        Gather { part, place, root, even: Some(len), memory: PhantomData }
    }

    /// Of parts of any length.
    pub fn uneven(part: Option<ReadSpan<'a>>, place: P, root: usize) -> Self {
        Gather { part, place, root, even: None, memory: PhantomData }
    }
}

impl<'a, P: Fn(usize) -> WriteSpan<'a>> Described for Gather<'a, P> {
    const CALL: Call = Call::Gather;

    fn bytes(&self) -> usize {
        self.even.or(self.part.map(ReadSpan::len)).unwrap_or(0)
    }

    fn told(&self) -> Told {
        Told::new(Self::CALL).root(self.root).bytes(self.even.map(|len| len as u64))
    }

    #[inline(always)]
    fn kind(&self, _: usize) -> Option<Collective> {
        self.even.map(|part| Collective::Gather { part })
    }

    fn is_of_one_length(&self) -> bool {
        self.even.is_some()
    }

    #[inline(always)]
    fn given(&self, team: &Team<'_>) -> impl Iterator<Item = ReadSpan<'_>> + Clone {
        self.part.filter(|_| team.rank != self.root).into_iter()
    }

    fn reads_from(&self, me: usize, _: usize) -> bool {
        me == self.root
    }

    #[inline(always)]
    fn read(&self, epoch: &Epoch<'_>) -> Outcome {
        if epoch.team.rank != self.root {
            return Ok(());
        }
        if let Some(part) = self.part {
            epoch.team.copy(part, (self.place)(self.root))?;
        }
        epoch.let_all_come()?;
        let len = self.even.unwrap_or(0);
        epoch.others().try_for_each(|rank| epoch.read(rank, len, 0, (self.place)(rank)))
    }

    async fn run(&self, team: Team<'_>) -> Outcome {
        gather(team, self.part, &self.place, self.root, self.even.is_some()).await
    }
}

/// [`Gather`].
pub async fn gather<'a>(
    team: Team<'_>,
    part: Option<ReadSpan<'a>>,
    place: impl Fn(usize) -> WriteSpan<'a>,
    root: usize,
    even: bool,
) -> Outcome {
    if !even {
        return apart(|| directly_from_all(team, part, place, root)).await;
    }
    let len = if team.rank == root { place(root).len() } else { part.map_or(0, ReadSpan::len) };
    if team.on_slots(&Gather::even(part, &place, root, len)).await? {
        return Ok(());
    }
    if let Some(by) = team.nodes() {
        return apart(|| nodes::gather(team, by, part, &place, root)).await;
    }
    apart(|| agreed(team, part, place, root)).await
}

/// `place` says where each rank's part is; it is asked at the root only. `part` is `None` where it stays there. If they
/// are `even`, all parts are equally long. It goes by messages (docs/decisions/0026).
pub struct Scatter<'a, P> {
    place: P,
    part: Option<WriteSpan<'a>>,
    root: usize,
    even: bool,
}

impl<'a, P: Fn(usize) -> ReadSpan<'a>> Scatter<'a, P> {
    pub fn new(place: P, part: Option<WriteSpan<'a>>, root: usize, even: bool) -> Self {
        Scatter { place, part, root, even }
    }
}

impl<'a, P: Fn(usize) -> ReadSpan<'a>> Described for Scatter<'a, P> {
    const CALL: Call = Call::Scatter;

    fn bytes(&self) -> usize {
        self.part.map_or(0, WriteSpan::len)
    }

    fn told(&self) -> Told {
        let len = self.part.filter(|_| self.even).map(|part| part.len() as u64);
        Told::new(Self::CALL).root(self.root).bytes(len)
    }

    fn kind(&self, _: usize) -> Option<Collective> {
        None
    }

    fn is_of_one_length(&self) -> bool {
        false
    }

    fn given(&self, _: &Team<'_>) -> impl Iterator<Item = ReadSpan<'_>> + Clone {
        iter::empty()
    }

    fn read(&self, _: &Epoch<'_>) -> Outcome {
        Ok(())
    }

    async fn run(&self, team: Team<'_>) -> Outcome {
        scatter(team, &self.place, self.part, self.root, self.even).await
    }
}

/// [`Scatter`].
pub async fn scatter<'a>(
    team: Team<'_>,
    place: impl Fn(usize) -> ReadSpan<'a>,
    part: Option<WriteSpan<'_>>,
    root: usize,
    even: bool,
) -> Outcome {
    match team.nodes().filter(|_| even) {
        Some(by) => apart(|| nodes::scatter(team, by, &place, part, root)).await,
        None => apart(|| directly_to_all(team, place, part, root)).await,
    }
}

/// Even parts that no slot has room for. Others may have posted shorter ones, so root and giver ask each other
/// first.
async fn agreed<'a>(
    team: Team<'_>,
    part: Option<ReadSpan<'_>>,
    place: impl Fn(usize) -> WriteSpan<'a>,
    root: usize,
) -> Outcome {
    let len = if team.rank == root { place(root).len() } else { part.map_or(0, ReadSpan::len) };
    let Some(epoch) = team.announce_len(len)? else {
        return apart(|| directly_from_all(team, part, place, root)).await;
    };
    let agrees = |rank| match rank {
        _ if rank == team.rank => Ok(true),
        _ if team.rank == root || rank == root => epoch.agrees(rank, len),
        _ => Ok(false),
    };
    let agreeing: SmallVec<[bool; 16]> = (0..team.size()).map(agrees).collect::<Result<_, _>>()?;
    from(team, part, place, root, |rank| agreeing[rank]).await
}

/// As [`gather`], from everybody to the root.
pub(crate) async fn directly_from_all<'a>(
    team: Team<'_>,
    part: Option<ReadSpan<'_>>,
    place: impl Fn(usize) -> WriteSpan<'a>,
    root: usize,
) -> Outcome {
    from(team, part, place, root, |_| true).await
}

/// The root gathers from those of which it is so.
async fn from<'a>(
    team: Team<'_>,
    part: Option<ReadSpan<'_>>,
    place: impl Fn(usize) -> WriteSpan<'a>,
    root: usize,
    is_so: impl Fn(usize) -> bool,
) -> Outcome {
    if team.rank != root {
        return if is_so(root) { team.send(part.unwrap_or(ReadSpan::EMPTY), root).await } else { Ok(()) };
    }
    let others = || (0..team.size()).filter(|&rank| rank != root && is_so(rank));
    let is_advertised = |&rank: &usize| team.process.engine().advertises(place(rank).len());
    let mut receives = team.flights();
    for rank in others().filter(is_advertised) {
        receives.receive(place(rank), rank)?;
    }
    if let Some(part) = part {
        team.copy(part, place(root))?;
    }
    for rank in others().filter(|rank| !is_advertised(rank)) {
        receives.receive_next(place(rank), place(rank).len(), rank)?;
    }
    receives.await
}

/// As [`scatter`], from the root to everybody.
pub(crate) async fn directly_to_all<'a>(
    team: Team<'_>,
    place: impl Fn(usize) -> ReadSpan<'a>,
    part: Option<WriteSpan<'_>>,
    root: usize,
) -> Outcome {
    if team.rank != root {
        return team.receive(part.unwrap_or(WriteSpan::EMPTY), root).await;
    }
    let mut sends = team.flights();
    for rank in (0..team.size()).filter(|&rank| rank != root) {
        sends.send(place(rank), rank)?;
    }
    if let Some(part) = part {
        team.copy(place(root), part)?;
    }
    sends.await
}

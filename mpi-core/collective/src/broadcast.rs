//! Broadcast: a binomial tree for short data; for long data all read the root's memory or a copy, or, where they can't,
//! the root scatters parts, which all then gather, so that no rank sends everything more than once.

use rwmpi_transport::{ReadSpan, WriteSpan};

use crate::Mark;
use crate::Outcome;
use crate::activity::Call;
use crate::agreement::{Announcement, LEN, is_announced};
use crate::allgather::ring;
use crate::apart::{Apart, apart};
use crate::described::Described;
use crate::direct_access::Way;
use crate::gather::directly_to_all;
use crate::nodes;
use crate::select::collective::{announced_from, messages, without_slots};
use crate::select::{Collective, CollectiveWay, Messages};
use crate::slots::Epoch;
use crate::team::Team;
use crate::told::Told;

/// `data` is read at the root and written elsewhere.
pub struct Broadcast<'a> {
    pub data: WriteSpan<'a>,
    pub root: usize,
}

impl Described for Broadcast<'_> {
    const CALL: Call = Call::Broadcast;

    fn bytes(&self) -> usize {
        self.data.len()
    }

    fn told(&self) -> Told {
        Told::new(Self::CALL).root(self.root).bytes(Some(self.data.len() as u64))
    }

    #[inline(always)]
    fn kind(&self, _: usize) -> Option<Collective> {
        Some(Collective::Broadcast { len: self.data.len() })
    }

    #[inline(always)]
    fn given(&self, team: &Team<'_>) -> impl Iterator<Item = ReadSpan<'_>> + Clone {
        (team.rank == self.root).then_some(self.data.as_read()).into_iter()
    }

    fn reads_from(&self, _: usize, rank: usize) -> bool {
        rank == self.root
    }

    #[inline(always)]
    fn read(&self, epoch: &Epoch<'_>) -> Outcome {
        if epoch.team.rank == self.root { Ok(()) } else { epoch.read(self.root, self.data.len(), 0, self.data) }
    }

    async fn run(&self, team: Team<'_>) -> Outcome {
        broadcast(team, self.data, self.root).await
    }
}

/// [`Broadcast`].
pub async fn broadcast(team: Team<'_>, data: WriteSpan<'_>, root: usize) -> Outcome {
    if team.on_slots(&Broadcast { data, root }).await? {
        return Ok(());
    }
    if let Some(by) = team.nodes() {
        return apart(|| nodes::broadcast(team, by, data, root)).await;
    }
    if team.rank == root && team.spread_copy(data.as_read())? {
        return Ok(());
    }
    // What is left has a box of its own size, since a nonblocking broadcast of a few bytes spends most on moving its
    // state.
    let rest: Apart<'_> = match apart(|| team.access_root(root, data)).await? {
        Way::Done => return Ok(()),
        Way::Messages => apart(|| unread(team, data, data.len(), root)),
        Way::Unsettled if team.size() > 2 && is_announced(data.len(), border(team)) => {
            apart(|| announced(team, data, root))
        }
        Way::Unsettled => apart(|| unannounced(team, data, root)),
    };
    rest.await
}

/// From which length on data are announced; the same on all ranks.
fn border(team: Team<'_>) -> usize {
    announced_from(team.process.tuning(), Collective::Broadcast { len: 0 }, team.may_access_directly())
}

/// Long data: the root says first how long they are, along the tree of short data.
async fn announced(team: Team<'_>, data: WriteSpan<'_>, root: usize) -> Outcome {
    let mut said = if team.rank == root { Announcement::new(team, data.len()) } else { Announcement::none() };
    let quiet = Team { mark: Mark::NONE, ..team };
    if let Some(parent) = parent(team, root) {
        apart(|| quiet.receive(said.place(), parent)).await?;
        if !said.is_one() {
            // Short data: who waits for what this rank should pass on is sent nothing.
            return apart(|| pass_on(team, ReadSpan::EMPTY, root)).await;
        }
    }
    apart(|| pass_on(quiet.always_sends(), said.read(), root)).await?;
    apart(|| as_announced(team, data, root, &said)).await
}

/// Short data, unless the root has announced long ones.
async fn unannounced(team: Team<'_>, data: WriteSpan<'_>, root: usize) -> Outcome {
    if let Some(parent) = parent(team, root) {
        let mut room = [0; LEN];
        let room = if data.len() < LEN { WriteSpan::from(&mut room[..]) } else { data };
        team.receive_expecting(room, data.len(), parent).await?;
        if team.is_in_trouble()
            && let Some(said) = Announcement::take(room, data.len())
        {
            pass_on(team.always_sends(), said.read(), root).await?;
            return apart(|| as_announced(team, data, root, &said)).await;
        }
        if data.len() < LEN {
            room.part(0, data.len()).as_read().copy_to(data);
        }
    }
    pass_on(team, data.as_read(), root).await
}

/// Takes part in what the root has announced, also where other data were expected: then with no memory for it, since
/// the length is another rank's word. Whoever is to have something from this rank is sent nothing.
async fn as_announced(team: Team<'_>, data: WriteSpan<'_>, root: usize, said: &Announcement) -> Outcome {
    let len = usize::try_from(said.bytes()).unwrap_or(usize::MAX);
    if len == data.len() {
        return apart(|| by_length(team, data, len, root)).await;
    }
    said.note(team, data.len());
    apart(|| by_length(team, WriteSpan::EMPTY, len, root)).await
}

/// Once all go by the same length. `data` are as long, or nothing.
async fn by_length(team: Team<'_>, data: WriteSpan<'_>, len: usize, root: usize) -> Outcome {
    let what = Collective::Broadcast { len };
    if without_slots(team.process.tuning(), what, team.size(), team.may_access_directly())
        == CollectiveWay::DirectAccess
        && let Some(access) = apart(|| team.exchange_address(root, data.as_read())).await?
    {
        return apart(|| access.read_from(root, data)).await;
    }
    apart(|| unread(team, data, len, root)).await
}

/// Where the root's memory is not read.
async fn unread(team: Team<'_>, data: WriteSpan<'_>, len: usize, root: usize) -> Outcome {
    match messages(team.process.tuning(), Collective::Broadcast { len }, team.size()) {
        Messages::Scattered => apart(|| parts(team, data, root)).await,
        _ => apart(|| tree(team, data, root)).await,
    }
}

pub(crate) async fn tree(team: Team<'_>, data: WriteSpan<'_>, root: usize) -> Outcome {
    if let Some(parent) = parent(team, root) {
        team.receive(data, parent).await?;
    }
    pass_on(team, data.as_read(), root).await
}

/// This rank's number, counted from the root, and the lowest bit set in it: the bit says from whom the data come, all
/// lower ones to whom they go.
fn place(team: Team<'_>, root: usize) -> (usize, usize) {
    let size = team.size();
    let relative = (team.rank + size - root) % size;
    (relative, if relative == 0 { size.next_power_of_two() } else { 1 << relative.trailing_zeros() })
}

/// From whom this rank's data come.
fn parent(team: Team<'_>, root: usize) -> Option<usize> {
    let (relative, bit) = place(team, root);
    (relative != 0).then(|| (relative - bit + root) % team.size())
}

async fn pass_on(team: Team<'_>, data: ReadSpan<'_>, root: usize) -> Outcome {
    let (size, (relative, bit)) = (team.size(), place(team, root));
    let mut sends = team.flights();
    let mut bit = bit >> 1;
    while bit > 0 {
        if relative + bit < size {
            sends.send(data, (relative + bit + root) % size)?;
        }
        bit >>= 1;
    }
    sends.await
}

async fn parts(team: Team<'_>, data: WriteSpan<'_>, root: usize) -> Outcome {
    // Whole cache lines, so that no two ranks write to one.
    let part = data.len().div_ceil(team.size()).next_multiple_of(64);
    let place = |rank: usize| {
        let start = (rank * part).min(data.len());
        data.part(start, part.min(data.len() - start))
    };
    let own = (team.rank != root).then(|| place(team.rank));
    apart(|| directly_to_all(team, |rank| place(rank).as_read(), own, root)).await?;
    // Where the root's memory can't be read, nothing is gained by asking for that of the others.
    apart(|| ring(team, place)).await
}

#[cfg(test)]
mod tests {
    use rwmpi_protocol::Rule;

    use super::*;
    use crate::Trouble;
    use crate::engine::Failure;
    use crate::tests::on_teams;

    /// A root that says more than there is memory for, or than a length can be.
    #[test]
    fn what_another_rank_announces_takes_no_memory() {
        for len in [1 << 60, usize::MAX] {
            let outcomes = on_teams(4, Rule::Nsr, |team| {
                let trouble = Trouble::default();
                let team = Team { spreads_trouble: true, trouble: Some(&trouble), ..team };
                let mut data = [0; 8];
                team.process.block_on(async || {
                    if team.rank == 0 {
                        pass_on(team, Announcement::new(team, len).read(), 0).await?;
                        return parts(team, WriteSpan::EMPTY, 0).await;
                    }
                    broadcast(team, WriteSpan::from(&mut data[..]), 0).await
                })?;
                Ok::<_, Failure>(trouble.get())
            });
            for outcome in &outcomes[1..] {
                let bytes = len as u64;
                assert_eq!(*outcome, Ok(Some(Failure::WrongLength { source: 0, bytes, expected: 8 })));
            }
        }
    }
}

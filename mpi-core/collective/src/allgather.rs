//! Allgather. Short parts: everybody sends to everybody at once, or, of many ranks, dissemination (Bruck's algorithm),
//! where what a rank has doubles in each round. Long ones: all read each other's memory, or, where they can't, each
//! rank hands on what it got last around a ring, so that every copy comes from a neighbour's cache.

use std::iter;
use std::marker::PhantomData;

use rwmpi_transport::{ReadSpan, WriteSpan};

use crate::Outcome;
use crate::activity::Call;
use crate::agreement::{self, Announcement, all_agree};
use crate::apart::apart;
use crate::described::Described;
use crate::direct_access::{DirectAccess, ExposedAddress};
use crate::engine::Failure;
use crate::nodes;
use crate::scratch::Scratch;
use crate::select::collective::{announced_from, messages};
use crate::select::{Collective, Messages};
use crate::slots::Epoch;
use crate::team::Team;
use crate::told::Told;

/// `own` is this rank's part, as long as its place, where it may stand already; afterwards all parts stand at theirs.
/// If the team has nodes, all places lie in one buffer.
pub struct Allgather<'a, P> {
    own: ReadSpan<'a>,
    place: P,
    /// How long all parts are together,
    total: usize,
    /// and how long is the longest.
    longest: usize,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a, P: Fn(usize) -> WriteSpan<'a>> Allgather<'a, P> {
    /// Of as long parts of so many ranks.
    #[inline(always)]
    pub fn even(own: ReadSpan<'a>, place: P, ranks: usize) -> Self {
        let longest = own.len();
        Allgather { own, place, total: longest.saturating_mul(ranks), longest, memory: PhantomData }
    }

    /// Of parts of any length.
    pub fn uneven(own: ReadSpan<'a>, place: P, ranks: usize) -> Self {
        let lens = || (0..ranks).map(|rank| place(rank).len());
        let (total, longest) = (lens().sum(), lens().max().unwrap_or(0));
        Allgather { own, place, total, longest, memory: PhantomData }
    }
}

impl<'a, P: Fn(usize) -> WriteSpan<'a>> Described for Allgather<'a, P> {
    const CALL: Call = Call::Allgather;

    fn bytes(&self) -> usize {
        self.own.len()
    }

    fn told(&self) -> Told {
        Told::new(Self::CALL).bytes(Some(self.total as u64))
    }

    #[inline(always)]
    fn kind(&self, _: usize) -> Option<Collective> {
        Some(Collective::Allgather { total: self.total, longest: self.longest })
    }

    fn is_of_one_length(&self) -> bool {
        false
    }

    #[inline(always)]
    fn given(&self, _: &Team<'_>) -> impl Iterator<Item = ReadSpan<'_>> + Clone {
        iter::once(self.own)
    }

    #[inline(always)]
    fn read(&self, epoch: &Epoch<'_>) -> Outcome {
        settle(self.own, (self.place)(epoch.team.rank));
        epoch.let_all_come()?;
        epoch.others().try_for_each(|rank| {
            let place = (self.place)(rank);
            epoch.read(rank, place.len(), 0, place)
        })
    }

    async fn run(&self, team: Team<'_>) -> Outcome {
        allgather(team, self.own, &self.place).await
    }
}

/// [`Allgather`].
pub async fn allgather<'a>(team: Team<'_>, own: ReadSpan<'a>, place: impl Fn(usize) -> WriteSpan<'a>) -> Outcome {
    let total = {
        let described = Allgather::uneven(own, &place, team.size());
        if team.on_slots(&described).await? {
            return Ok(());
        }
        described.total
    };
    if let Some(by) = team.nodes() {
        return apart(|| nodes::allgather(team, by, own, &place)).await;
    }
    // What has just been written is copied best while it is in no other core's cache.
    let settled = || {
        settle(own, place(team.rank));
        Ok(())
    };
    let mine = || [team.address_of(own), ExposedAddress::NOTHING];
    let with = |access: &DirectAccess<'_>| read(access, team, total, &place);
    let agree = async || agree(team, total, &place).await;
    if apart(|| team.access_directly(of_length(total), mine, settled, with, agree)).await? {
        return Ok(());
    }
    apart(|| send_parts(team, total, own, place)).await
}

/// Copies the own part to its place, unless it is there.
#[inline]
pub(crate) fn settle(own: ReadSpan<'_>, place: WriteSpan<'_>) {
    if own.start() != place.start() {
        own.copy_long_to(place);
    }
}

/// Whether all ranks have as long data, if this one's are long. The announcements go the way of short data.
async fn agree<'a>(team: Team<'_>, total: usize, place: impl Fn(usize) -> WriteSpan<'a>) -> Result<bool, Failure> {
    let size = team.size();
    let as_announcement = || (0..size).any(|rank| place(rank).len() == agreement::LEN);
    let readable = team.may_access_directly();
    let border = announced_from(team.process.tuning(), of_length(total), readable);
    if (size == 2 && !readable) || (total < border && !as_announcement()) {
        return Ok(true);
    }
    let mut heard = vec![0; size * agreement::LEN];
    let places = WriteSpan::from(&mut heard[..]);
    let place = |rank: usize| places.part(rank * agreement::LEN, agreement::LEN);
    Announcement::new(team, total).read().copy_to(place(team.rank));
    apart(|| short(team.announcing(), place)).await?;
    Ok(all_agree(team, &heard, total))
}

/// Where each rank's own part stands at its place, and all agree on the lengths, whose sum is `total`.
pub(crate) async fn exchange_parts<'a>(
    team: Team<'_>,
    total: usize,
    place: impl Fn(usize) -> WriteSpan<'a>,
) -> Outcome {
    let own = place(team.rank).as_read();
    let mine = || [team.address_of(own), ExposedAddress::NOTHING];
    let with = |access: &DirectAccess<'_>| read(access, team, total, &place);
    if team.access_by_messages(of_length(total), mine, || Ok(()), with).await? {
        return Ok(());
    }
    apart(|| send_parts(team, total, own, place)).await
}

/// Where memory is not read.
async fn send_parts<'a>(
    team: Team<'_>,
    total: usize,
    own: ReadSpan<'_>,
    place: impl Fn(usize) -> WriteSpan<'a>,
) -> Outcome {
    settle(own, place(team.rank));
    match messages(team.process.tuning(), of_length(total), team.size()) {
        Messages::Ring => apart(|| ring(team, place)).await,
        _ => apart(|| short(team, place)).await,
    }
}

/// An allgather of so many bytes in all, where it matters no more how long the parts are.
fn of_length(total: usize) -> Collective {
    Collective::Allgather { total, longest: total }
}

/// Short parts, where each rank's own stands at its place.
pub async fn short<'a>(team: Team<'_>, place: impl Fn(usize) -> WriteSpan<'a>) -> Outcome {
    match messages(team.process.tuning(), of_length(0), team.size()) {
        Messages::Doubling => apart(|| dissemination(team, place)).await,
        _ => direct(team, place).await,
    }
}

fn read<'a>(
    access: &DirectAccess<'_>,
    team: Team<'_>,
    total: usize,
    place: impl Fn(usize) -> WriteSpan<'a>,
) -> Outcome {
    let working_set = total.saturating_mul(team.size() + 1);
    team.others_in_turn().try_for_each(|rank| access.read(rank, 0, 0, place(rank), working_set))
}

/// The same, where each rank hears from each.
pub async fn direct<'a>(team: Team<'_>, place: impl Fn(usize) -> WriteSpan<'a>) -> Outcome {
    let (me, size) = (team.rank, team.size());
    if size == 2 {
        return team.exchange(place(me).as_read(), 1 - me, place(1 - me), 1 - me).await;
    }
    let mut flights = team.flights();
    for step in 1..size {
        let from = (me + size - step) % size;
        flights.receive(place(from), from)?;
    }
    for to in team.others_in_turn() {
        flights.send(place(me).as_read(), to)?;
    }
    flights.await
}

pub(crate) async fn ring<'a>(team: Team<'_>, place: impl Fn(usize) -> WriteSpan<'a>) -> Outcome {
    let (me, size) = (team.rank, team.size());
    let (from, to) = ((me + size - 1) % size, (me + 1) % size);
    for step in 0..size - 1 {
        let (outgoing, incoming) = ((me + size - step) % size, (me + size - step - 1) % size);
        team.exchange(place(outgoing).as_read(), to, place(incoming), from).await?;
    }
    Ok(())
}

async fn dissemination<'a>(team: Team<'_>, place: impl Fn(usize) -> WriteSpan<'a>) -> Outcome {
    let (me, size) = (team.rank, team.size());
    // The parts from the own one on, in rank order, one behind the other.
    let len = |number: usize| place((me + number) % size).len();
    let total = (0..size).map(len).sum();
    let mut known = Scratch::new(team, total);
    let known = known.span();
    place(me).as_read().copy_to(known);
    let (mut count, mut end) = (1, len(0));
    while count < size {
        let more = count.min(size - count);
        let sent: usize = (0..more).map(len).sum();
        let received: usize = (count..count + more).map(len).sum();
        let (to, from) = ((me + size - count) % size, (me + count) % size);
        team.exchange(known.part(0, sent).as_read(), to, known.part(end, received), from).await?;
        (count, end) = (count + more, end + received);
    }
    let mut start = len(0);
    for number in 1..size {
        known.part(start, len(number)).as_read().copy_to(place((me + number) % size));
        start += len(number);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rwmpi_protocol::Rule;

    use super::*;
    use crate::tests::on_teams;

    #[test]
    fn dissemination_brings_parts_of_any_length_to_all() {
        for ranks in [1, 2, 3, 5, 8] {
            on_teams(ranks, Rule::Auto { claims: true }, |team| {
                let expected: Vec<u8> = (0..ranks).flat_map(|rank| vec![rank as u8 + 1; rank * 3]).collect();
                let mut all = vec![0; expected.len()];
                let start = |rank: usize| (0..rank).sum::<usize>() * 3;
                let own = start(team.rank)..start(team.rank + 1);
                all[own.clone()].copy_from_slice(&expected[own]);
                let span = WriteSpan::from(&mut all[..]);
                let place = |rank| span.part(start(rank), rank * 3);
                team.process.block_on(|| dissemination(team, place)).unwrap();
                assert_eq!(all, expected);
            });
        }
    }
}

//! All-to-all: long receives are posted, then everything is sent, then the rest received, each rank beginning with its
//! next neighbour so that no one is flooded. On one node short parts are posted in slots, and long ones are read from
//! each other's memory where that is possible.

use std::marker::PhantomData;

use rwmpi_transport::{ReadSpan, WriteSpan};
use smallvec::SmallVec;

use crate::Outcome;
use crate::activity::Call;
use crate::agreement::{Announcement, LEN, all_agree, is_announced};
use crate::apart::apart;
use crate::described::Described;
use crate::direct_access::{DirectAccess, ExposedAddress};
use crate::engine::Failure;
use crate::nodes;
use crate::select::Collective;
use crate::select::collective::announced_from;
use crate::slots::{Epoch, MOST_TAKERS};
use crate::team::Team;
use crate::told::Told;
use crate::uneven::{self, Left};

/// `sent` and `received` say where the part for and from each rank is.
pub struct Alltoall<'a, S, R> {
    sent: S,
    received: R,
    /// How long this rank's part for itself is: if they are `even`, all parts of all ranks are as long.
    part: usize,
    even: bool,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a, S: Fn(usize) -> ReadSpan<'a>, R: Fn(usize) -> WriteSpan<'a>> Alltoall<'a, S, R> {
    /// Of parts that are all as long.
    #[inline(always)]
    pub fn even(sent: S, received: R, part: usize) -> Self {
        Alltoall { sent, received, part, even: true, memory: PhantomData }
    }

    /// Of parts of any length, of which rank `me` sends and receives.
    pub fn uneven(sent: S, received: R, me: usize) -> Self {
        let part = sent(me).len();
        Alltoall { sent, received, part, even: false, memory: PhantomData }
    }
}

impl<'a, S: Fn(usize) -> ReadSpan<'a>, R: Fn(usize) -> WriteSpan<'a>> Described for Alltoall<'a, S, R> {
    const CALL: Call = Call::Alltoall;

    fn bytes(&self) -> usize {
        self.part
    }

    fn told(&self) -> Told {
        Told::new(Self::CALL).bytes(self.even.then_some(self.part as u64))
    }

    #[inline(always)]
    fn kind(&self, ranks: usize) -> Option<Collective> {
        self.even.then_some(Collective::Alltoall { part: self.part, ranks })
    }

    fn is_of_one_length(&self) -> bool {
        false
    }

    #[inline(always)]
    fn given(&self, team: &Team<'_>) -> impl Iterator<Item = ReadSpan<'_>> + Clone {
        let me = team.rank;
        (0..team.size()).filter(move |&rank| rank != me).map(|rank| (self.sent)(rank))
    }

    #[inline(always)]
    fn read(&self, epoch: &Epoch<'_>) -> Outcome {
        let (me, size, len) = (epoch.team.rank, epoch.team.size(), self.part);
        epoch.team.copy((self.sent)(me), (self.received)(me))?;
        epoch.let_all_come()?;
        epoch.others().try_for_each(|rank| {
            let into = (self.received)(rank);
            epoch.team.check_fits(len, into.len())?;
            // Nobody's own part is there.
            let before = if me < rank { me } else { me - 1 };
            epoch.read(rank, len * (size - 1), before * len, into.part(0, len))
        })
    }

    async fn run(&self, team: Team<'_>) -> Outcome {
        alltoall(team, &self.sent, &self.received, self.even).await
    }
}

/// [`Alltoall`].
pub async fn alltoall<'a>(
    team: Team<'_>,
    sent: impl Fn(usize) -> ReadSpan<'a>,
    received: impl Fn(usize) -> WriteSpan<'a>,
    even: bool,
) -> Outcome {
    let (size, part) = (team.size(), sent(team.rank).len());
    if even {
        if team.on_slots(&Alltoall::even(&sent, &received, part)).await? {
            return Ok(());
        }
    } else if (2..=MOST_TAKERS).contains(&size)
        && let Some(slots) = team.slots()?
    {
        let own = || team.copy(sent(team.rank), received(team.rank));
        let left = uneven::exchange(slots, team, &sent, &received, own)?;
        if left.is_nothing() {
            return left.outcome;
        }
        return left.outcome.and(apart(|| send(team, sent, received, &left)).await);
    }
    if !even {
        return apart(|| send_to_all(team, sent, received)).await;
    }
    if let Some(by) = team.nodes() {
        let done = apart(|| nodes::alltoall(team, by, &sent, &received)).await? || team.is_in_trouble();
        return if done { Ok(()) } else { apart(|| send_to_all(team, sent, received)).await };
    }
    // Even parts of all ranks go through, sent and received.
    let working_set = part.saturating_mul(2 * size * size);
    let own = || team.copy_of(working_set, sent(team.rank), received(team.rank));
    let mine = || [team.address_of_row(&sent), ExposedAddress::NOTHING];
    let with = |access: &DirectAccess<'_>| {
        team.others_in_turn().try_for_each(|rank| {
            let into = received(rank);
            access.read_of_row(rank, part, into.part(0, part.min(into.len())), working_set)
        })
    };
    let agree = async || agree(team, part).await;
    if apart(|| team.access_directly(Collective::Alltoall { part, ranks: size }, mine, own, with, agree)).await? {
        return Ok(());
    }
    apart(|| send_to_all(team, sent, received)).await
}

/// Whether all ranks have as long parts, if this one's are long. The announcements go the way of short ones.
async fn agree(team: Team<'_>, part: usize) -> Result<bool, Failure> {
    let what = Collective::Alltoall { part, ranks: team.size() };
    let border = announced_from(team.process.tuning(), what, true);
    if !team.may_access_directly() || !is_announced(part, border) {
        return Ok(true);
    }
    let own = Announcement::new(team, part);
    let mut heard = vec![0; team.size() * LEN];
    let places = WriteSpan::from(&mut heard[..]);
    send_to_all(team.announcing(), |_| own.read(), |rank| places.part(rank * LEN, LEN)).await?;
    Ok(all_agree(team, &heard, part))
}

/// Every rank sends to every other. The parts may be of any length.
pub(crate) async fn send_to_all<'s, 'r>(
    team: Team<'_>,
    sent: impl Fn(usize) -> ReadSpan<'s>,
    received: impl Fn(usize) -> WriteSpan<'r>,
) -> Outcome {
    let left = Left { gives: true, gets: SmallVec::from_elem(true, team.size()), outcome: Ok(()) };
    send(team, sent, received, &left).await
}

/// Sends and receives what is left; of a rank's own part, if that is to be copied.
async fn send<'s, 'r>(
    team: Team<'_>,
    sent: impl Fn(usize) -> ReadSpan<'s>,
    received: impl Fn(usize) -> WriteSpan<'r>,
    left: &Left,
) -> Outcome {
    let (me, size) = (team.rank, team.size());
    let sources = || (1..size).map(|step| (me + size - step) % size).filter(|&from| left.gets[from]);
    let is_advertised = |&from: &usize| team.process.engine().advertises(received(from).len());
    let mut flights = team.flights();
    for from in sources().filter(is_advertised) {
        flights.receive(received(from), from)?;
    }
    for to in team.others_in_turn().filter(|_| left.gives) {
        flights.send(sent(to), to)?;
    }
    if left.gets[me] {
        team.copy(sent(me), received(me))?;
    }
    for from in sources().filter(|from| !is_advertised(from)) {
        flights.receive_next(received(from), received(from).len(), from)?;
    }
    flights.await
}

//! Nonblocking collectives of long data: each rank exposes its memory to the others, as in blocking ones, and takes
//! part whenever it is called, until all say that they are done. What can't be read goes by messages then. A collective
//! may end before its time, because its request is given up or its operation panics; then its rank revokes what it has
//! exposed (docs/decisions/0058).
//!
//! Invariant: a rank that uses another's memory has set its own bit in a word of that rank before, and the word has
//! said that the memory was not revoked. The owner revokes it in the same word, finds these bits in that step, and
//! waits for every rank that has set one.

use std::task::{Poll, ready};

use rwmpi_transport::WriteSpan;
use smallvec::SmallVec;

use super::epoch::Epoch;
use super::nonblocking::{Nonblocking, step};
use crate::Outcome;
use crate::direct_access::{DirectAccess, ExposedAddress, Way};
use crate::engine::Failure;
use crate::team::Team;
use crate::waiting::Awaited;

/// Among the bits of those who use a rank's data: it has revoked them.
const REVOKED: u64 = 1 << 63;
/// More ranks have no bit each.
const MOST_USERS: usize = 63;

impl Nonblocking<'_> {
    /// As [`Team::access_directly`].
    pub(crate) async fn access_directly(
        &self,
        team: Team<'_>,
        len: usize,
        mine: [ExposedAddress; 2],
        meanwhile: impl FnOnce() -> Outcome,
        with: impl FnOnce(&DirectAccess<'_>) -> Outcome,
    ) -> Result<Way, Failure> {
        let epoch = Epoch::new(&team, self.slots, self.number);
        if !self.expose(&epoch, len, &mine).await? {
            return Ok(Way::Unsettled);
        }
        if !mine.iter().all(|address| address.is_readable()) {
            return Ok(self.send_instead());
        }
        meanwhile()?;
        step(self.team.process, || epoch.have_come(|_| true, 1)).await;
        let way = match epoch.all_addresses(len)? {
            None => Way::Done,
            Some(addresses) => {
                let may_use = epoch.may_use(|_| true)?;
                match DirectAccess::new(team, addresses, Some(self.slots)) {
                    Some(access) => {
                        if may_use {
                            with(&access)?;
                        }
                        epoch.leave();
                        step(self.team.process, || epoch.have_left(|_| true)).await;
                        epoch.others().try_for_each(|rank| epoch.has_left(rank))?;
                        Way::Done
                    }
                    None if may_use => Way::Messages,
                    None => Way::Done,
                }
            }
        };
        self.exposes.set(false);
        Ok(way)
    }

    /// As [`Team::access_root`], `mine` being what this rank tells.
    pub(crate) async fn access_root(
        &self,
        team: Team<'_>,
        root: usize,
        data: WriteSpan<'_>,
        mine: [ExposedAddress; 2],
    ) -> Result<Way, Failure> {
        let (epoch, len, is_root) = (Epoch::new(&team, self.slots, self.number), data.len(), team.rank == root);
        if !self.expose(&epoch, len, &mine).await? {
            return Ok(Way::Unsettled);
        }
        step(self.team.process, || epoch.have_come(|rank| rank == root, 1)).await;
        if !epoch.agrees(root, len)? {
            self.exposes.set(false);
            return Ok(Way::Done);
        }
        let Some(access) = DirectAccess::of(team, root, &epoch, self.slots)? else { return Ok(self.send_instead()) };
        if is_root {
            let mut reads: SmallVec<[Option<bool>; 16]> = SmallVec::from_elem(None, team.size());
            step(self.team.process, || epoch.bring_to_all(&access, data, &mut reads)).await?;
        } else if epoch.may_use(|rank| rank == root)? {
            let left = access.take_chunks(epoch, root, data)?;
            epoch.leave();
            step(self.team.process, || epoch.is_helped(root, left)).await;
        } else {
            epoch.leave();
        }
        self.exposes.set(false);
        Ok(Way::Done)
    }

    /// Where this rank knows already that memory can't be read: messages can go while it, and the others, compute.
    /// Ranks that disagree about the length find that out meanwhile.
    fn send_instead(&self) -> Way {
        self.exposes.set(false);
        self.is_settled.set(false);
        Way::Messages
    }

    /// Says how long this rank's data are, and where, so that others may use them. False: they are not of the
    /// collective that had no room under this number.
    async fn expose(&self, epoch: &Epoch<'_>, len: usize, mine: &[ExposedAddress; 2]) -> Result<bool, Failure> {
        if self.team.size() > MOST_USERS || self.asked.get() > 1 || self.too_long.get().is_none() {
            return Ok(false);
        }
        self.too_long.set(Some(len));
        self.is_settled.set(true);
        step(self.team.process, || epoch.has_turn_among(epoch.places())).await;
        let users = epoch.slots_of(self.team.rank).slot(self.number).users();
        self.exposes.set(true);
        self.team.process.engine().set_words([(users, 0)], &[]);
        self.slots.announce_now(epoch, len, mine)?;
        Ok(true)
    }

    /// Of a collective that ends before its time: others that come to use this rank's memory find that it is
    /// revoked. Waits for those that use it already.
    #[cold]
    pub(super) fn revoke(&self) {
        let (process, epoch) = (self.team.process, self.epoch());
        epoch.leave_in_trouble();
        let mine = epoch.slots_of(self.team.rank).slot(self.number).users();
        let users = process.engine().add_to_word(mine, REVOKED);
        let is_free = |rank: usize| users & 1 << rank == 0 || self.is_done(rank);
        let _ = process.wait_for_awaited(Awaited::Unknown, || epoch.others().all(is_free).then_some(()));
    }
}

impl Epoch<'_> {
    /// Whether those whom `from` names, who have announced data, use those of others no more.
    fn have_left(&self, from: impl Fn(usize) -> bool) -> Poll<()> {
        self.have_set(from, |theirs| theirs.slot(self.number()).done(), 1)
    }

    /// Brings those who have come what they have not taken yet; whether nobody needs this rank's `data` any more.
    /// `reads`: by rank, whether it expects as many, once it has come.
    fn bring_to_all(
        &self,
        access: &DirectAccess<'_>,
        data: WriteSpan<'_>,
        reads: &mut [Option<bool>],
    ) -> Poll<Outcome> {
        while self.others().any(|rank| reads[rank].is_none()) {
            for rank in self.others() {
                if reads[rank].is_none() && self.have_come(|other| other == rank, 1).is_ready() {
                    let agrees = self.agrees(rank, data.len())?;
                    if agrees && self.may_use(|other| other == rank)? {
                        access.bring_chunks(*self, rank, data)?;
                    }
                    reads[rank] = Some(agrees);
                    self.team.process.answers.moved();
                }
            }
            // Who has not come has said nothing: where it will, data of another collective may lie.
            ready!(self.have_come(|rank| reads[rank].is_none(), 1));
        }
        let reads = |rank: usize| reads[rank] != Some(false);
        ready!(self.have_left(reads));
        Poll::Ready(self.others().filter(|&rank| reads(rank)).try_for_each(|rank| self.has_left(rank)))
    }

    /// Whether `helper` has put so many chunks here.
    fn is_helped(&self, helper: usize, chunks: u64) -> Poll<()> {
        let helped = self.slots_of(self.team.rank).slot(self.number()).helped();
        if self.team.process.engine().has_word(helped, chunks, 1, None) {
            return Poll::Ready(());
        }
        self.team.process.now_awaits(Awaited::Step(self.team.peers[helper]));
        Poll::Pending
    }

    /// Whether this rank may use what those whom `from` names have announced, until it leaves. It says that it does in
    /// the same step in which it looks whether their owner has revoked them: so the owner waits for it, or was sooner.
    fn may_use(&self, from: impl Fn(usize) -> bool) -> Result<bool, Failure> {
        for rank in self.others().filter(|&rank| from(rank)) {
            let users = self.slots_of(rank).slot(self.number()).users();
            if self.team.process.engine().add_to_word(users, 1 << self.team.rank) & REVOKED != 0 {
                self.team.note_or_end(Failure::Nothing { source: self.team.peers[rank] })?;
                return Ok(false);
            }
        }
        Ok(true)
    }
}

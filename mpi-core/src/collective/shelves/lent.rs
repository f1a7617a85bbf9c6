//! Nonblocking collectives of long data: each rank lends the others its memory, as in blocking ones, and takes part
//! whenever it is called, until all say that they are done. What can't be read goes by messages then. A collective may
//! end before its time (its request is given up, or its operation panics), and then its rank takes back what it has
//! lent (docs/decisions/0058). Invariant: who uses a rank's memory has set a bit of its own in a word of that rank's
//! before, and found there that it had not been taken back; who takes it back finds these bits in the same step, and
//! waits for whoever has set one.

use std::task::{Poll, ready};

use rwmpi_transport::WriteSpan;
use smallvec::SmallVec;

use super::later::{Later, step};
use super::round::Round;
use crate::collective::published::{Published, Told, Way};
use crate::collective::team::Team;
use crate::engine::Failure;
use crate::waiting::Awaited;

/// Among the bits of those who use a rank's data: it has taken them back.
const TAKEN_BACK: u64 = 1 << 63;
/// More ranks have no bit each.
const MOST_USERS: usize = 63;

impl Later<'_> {
    /// As [`Team::show`].
    pub(in crate::collective) async fn show(
        &self,
        team: Team<'_>,
        len: usize,
        mine: [Told; 2],
        meanwhile: impl FnOnce() -> Result<(), Failure>,
        with: impl FnOnce(&Published<'_>) -> Result<(), Failure>,
    ) -> Result<Way, Failure> {
        let round = Round::new(&team, self.shelves, self.number);
        if !self.lend(&round, len, &mine).await? {
            return Ok(Way::Unsettled);
        }
        if !mine.iter().all(|told| told.is_readable()) {
            return Ok(self.send_instead());
        }
        meanwhile()?;
        step(self.team.process, || round.have_come(|_| true, 1)).await;
        let way = match round.all_told(len)? {
            None => Way::Done,
            Some(told) => {
                let may_use = round.may_use(|_| true)?;
                match Published::new(team, told, Some(self.shelves)) {
                    Some(published) => {
                        if may_use {
                            with(&published)?;
                        }
                        round.leave();
                        step(self.team.process, || round.have_left(|_| true)).await;
                        round.others().try_for_each(|rank| round.has_left(rank))?;
                        Way::Done
                    }
                    None if may_use => Way::Messages,
                    None => Way::Done,
                }
            }
        };
        self.lends.set(false);
        Ok(way)
    }

    /// As [`Team::show_from`], `mine` being what this rank tells.
    pub(in crate::collective) async fn show_from(
        &self,
        team: Team<'_>,
        root: usize,
        data: WriteSpan<'_>,
        mine: [Told; 2],
    ) -> Result<Way, Failure> {
        let (round, len, is_root) = (Round::new(&team, self.shelves, self.number), data.len(), team.rank == root);
        if !self.lend(&round, len, &mine).await? {
            return Ok(Way::Unsettled);
        }
        step(self.team.process, || round.have_come(|rank| rank == root, 1)).await;
        if !round.agrees(root, len)? {
            self.lends.set(false);
            return Ok(Way::Done);
        }
        let Some(published) = Published::of(team, root, &round, self.shelves)? else { return Ok(self.send_instead()) };
        if is_root {
            let mut reads: SmallVec<[Option<bool>; 16]> = SmallVec::from_elem(None, team.size());
            step(self.team.process, || round.bring_to_all(&published, data, &mut reads)).await?;
        } else if round.may_use(|rank| rank == root)? {
            let left = published.take_chunks(round, root, data)?;
            round.leave();
            step(self.team.process, || round.is_helped(root, left)).await;
        } else {
            round.leave();
        }
        self.lends.set(false);
        Ok(Way::Done)
    }

    /// Where this rank knows already that memory can't be read: messages can go while it, and the others, compute.
    /// Ranks that disagree about the length find that out meanwhile.
    fn send_instead(&self) -> Way {
        self.lends.set(false);
        self.is_settled.set(false);
        Way::Messages
    }

    /// Says how long this rank's data are, and where, so that others may use them. False: they are not of the
    /// collective that had no room under this number.
    async fn lend(&self, round: &Round<'_>, len: usize, mine: &[Told; 2]) -> Result<bool, Failure> {
        if self.team.size() > MOST_USERS || self.asked.get() > 1 || self.too_long.get().is_none() {
            return Ok(false);
        }
        self.too_long.set(Some(len));
        self.is_settled.set(true);
        step(self.team.process, || round.has_turn_among(round.places())).await;
        let users = round.shelf(self.team.rank).slot(self.number).users();
        self.lends.set(true);
        self.team.process.engine().set_words([(users, 0)], &[]);
        self.shelves.announce_now(round, len, mine)?;
        Ok(true)
    }

    /// Of a collective that ends before its time: others that come to use this rank's memory find that it is taken
    /// back; waits for those that do already.
    #[cold]
    pub(super) fn take_back(&self) {
        let (process, round) = (self.team.process, self.round());
        round.leave_in_trouble();
        let mine = round.shelf(self.team.rank).slot(self.number).users();
        let users = process.engine().add_to_word(mine, TAKEN_BACK);
        let is_free = |rank: usize| users & 1 << rank == 0 || self.is_done(rank);
        let _ = process.wait_for_awaited(Awaited::Unknown, || round.others().all(is_free).then_some(()));
    }
}

impl Round<'_> {
    /// Whether those whom `from` names, who have announced data, use those of others no more.
    fn have_left(&self, from: impl Fn(usize) -> bool) -> Poll<()> {
        self.have_set(from, |shelf| shelf.slot(self.number()).done(), 1)
    }

    /// Brings those who have come what they have not taken yet; whether nobody needs this rank's `data` any more.
    /// `reads`: by rank, whether it expects as many, once it has come.
    fn bring_to_all(
        &self,
        published: &Published<'_>,
        data: WriteSpan<'_>,
        reads: &mut [Option<bool>],
    ) -> Poll<Result<(), Failure>> {
        while self.others().any(|rank| reads[rank].is_none()) {
            for rank in self.others() {
                if reads[rank].is_none() && self.have_come(|other| other == rank, 1).is_ready() {
                    let agrees = self.agrees(rank, data.len())?;
                    if agrees && self.may_use(|other| other == rank)? {
                        published.bring_chunks(*self, rank, data)?;
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
        let helped = self.shelf(self.team.rank).slot(self.number()).helped();
        if self.team.process.engine().has_word(helped, chunks, 1, None) {
            return Poll::Ready(());
        }
        self.team.process.now_awaits(Awaited::Step(self.team.peers[helper]));
        Poll::Pending
    }

    /// Whether this rank may use what those whom `from` names have announced, until it leaves. It says that it does in
    /// the same step in which it looks whether their owner has taken them back, who therefore waits for it or has been
    /// sooner.
    fn may_use(&self, from: impl Fn(usize) -> bool) -> Result<bool, Failure> {
        for rank in self.others().filter(|&rank| from(rank)) {
            let users = self.shelf(rank).slot(self.number()).users();
            if self.team.process.engine().add_to_word(users, 1 << self.team.rank) & TAKEN_BACK != 0 {
                self.team.note_or_end(Failure::Nothing { source: self.team.peers[rank] })?;
                return Ok(false);
            }
        }
        Ok(true)
    }
}

//! Nonblocking collectives by slots. A communicator has other slots for them, in which they are counted apart, too:
//! each has its number from its start, and posts then what others want of its rank, so that no other rank waits until
//! this one is called again.
//!
//! Several may be under way, and they end in any order. So here a stamp says nothing about collectives before it, other
//! than among blocking ones, and every rank says in a word of its own up to which collective all are over: a rank puts
//! its data where those of an earlier one were once no rank needs those.
//!
//! Data that no slot has room for are exposed where they lie ([`exposed`](super::exposed)). Other collectives of long
//! data go by messages, and a rank says so in its slot when it gets to it: if others have posted short ones for the
//! same collective, it ends with an error, where messages would wait for ever.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use rwmpi_transport::SharedWord;

use super::epoch::Epoch;
use super::layout::{LONG, NOTHING, RankSlots};
use super::{OnceSlots, Slots};
use crate::Outcome;
use crate::apart::apart;
use crate::described::{Described, Typed, while_passing};
use crate::direct_access::ExposedAddress;
use crate::engine::{Failure, OperationId};
use crate::process::Process;
use crate::select::Collective;
use crate::team::Team;
use crate::waiting::Awaited;

/// How often a rank that starts a collective looks for each of the others: as long as it takes those that start it at
/// the same time.
const LOOKS: u32 = 30;

/// After so many looks at messages that have not come a rank looks whether the others expect them at all.
const UNSUSPICIOUS: u32 = 16;

/// A nonblocking collective's use of slots. When it is dropped, they may be used for others.
pub struct Nonblocking<'a> {
    pub(super) team: Team<'a>,
    pub(super) slots: &'a Slots,
    pub(super) number: u64,
    /// How often it has been asked whether there is room, which is answered once.
    pub(super) asked: Cell<u32>,
    /// So many bytes have no room.
    pub(super) too_long: Cell<Option<usize>>,
    /// Others may use this rank's memory until they say that they don't any more.
    pub(super) exposes: Cell<bool>,
    /// The others' slots say the same.
    pub(super) is_settled: Cell<bool>,
    /// Sends that nobody may ever receive.
    left: RefCell<Vec<OperationId>>,
}

/// Which nonblocking collectives are over on this rank.
#[derive(Default)]
pub(super) struct Over {
    /// All up to this one.
    up_to: u64,
    /// And these.
    beyond: BTreeSet<u64>,
    /// All up to this one are on all ranks, as far as this rank knows.
    everywhere: u64,
}

impl Over {
    /// Adds one.
    fn add(&mut self, number: u64) {
        if number != self.up_to + 1 {
            self.beyond.insert(number);
            return;
        }
        self.up_to = number;
        while self.beyond.remove(&(self.up_to + 1)) {
            self.up_to += 1;
        }
    }
}

/// Whatever becomes of the collective that makes the slots, those who wait for them are not left waiting.
struct Making<'a>(&'a OnceSlots);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        let _ = self.0.set(None);
    }
}

impl<'a> Team<'a> {
    /// The slots of nonblocking collectives, which the first of them makes.
    async fn nonblocking_slots(self, slots: &'a OnceSlots, number: u64) -> Result<Option<&'a Slots>, Failure> {
        if slots.get().is_none() {
            if number == 1 {
                let making = Making(slots);
                let _ = slots.set(apart(|| self.make_slots()).await?);
                drop(making);
            } else {
                step(self.process, || if slots.get().is_some() { Poll::Ready(()) } else { Poll::Pending }).await;
            }
        }
        Ok(slots.get().and_then(Option::as_ref))
    }

    /// Runs the nonblocking collective of that number, which may use `slots`.
    pub async fn run_nonblocking<R>(
        self,
        slots: Option<&'a OnceSlots>,
        number: u64,
        collective: impl AsyncFnOnce(Team<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let slots = match slots {
            Some(slots) if self.size() > 1 => apart(|| self.nonblocking_slots(slots, number)).await?,
            _ => None,
        };
        let Some(slots) = slots else { return apart(|| collective(self)).await };
        let nonblocking = Nonblocking::new(self, slots, number);
        // What it leaves in flight is dealt with when it is no more.
        let result = {
            let mut plan = apart(|| collective(Team { nonblocking: Some(&nonblocking), ..self }));
            nonblocking.watch(plan.as_mut()).await
        };
        apart(|| nonblocking.end()).await.and(result)
    }

    /// Does a collective by slots, if there is room for it. False: it goes another way.
    pub(crate) async fn on_slots(self, described: &impl Described) -> Result<bool, Failure> {
        let Some(kind) = described.kind(self.size()) else { return Ok(false) };
        if let Some(slots) = self.slots_for(kind)? {
            return slots.complete(&self, described).map(|()| true);
        }
        let Some(nonblocking) = self.nonblocking.filter(|nonblocking| nonblocking.has_room(kind)) else {
            return Ok(false);
        };
        let mut epoch = Epoch::new(&self, nonblocking.slots, nonblocking.number);
        step(self.process, || epoch.has_turn(kind)).await;
        epoch.post_now(described.given(&self))?;
        step(self.process, || epoch.have_come(|rank| described.reads_from(self.rank, rank), 1)).await;
        described.read(&Epoch::new(&self, nonblocking.slots, nonblocking.number)).map(|()| true)
    }
}

/// Waits until `look` is ready: what others set in shared memory shows nowhere else, so steps are counted.
pub(super) async fn step<R>(process: &Process, mut look: impl FnMut() -> Poll<R>) -> R {
    poll_fn(|_| {
        let looked = look();
        if looked.is_ready() {
            process.answers.moved();
        }
        looked
    })
    .await
}

/// Of a nonblocking collective.
impl Epoch<'_> {
    /// Whether all have done with the collective that had its place before.
    fn has_turn(&self, what: Collective) -> Poll<()> {
        let (_, places) = self.slots_of(self.team.rank).data(self.number(), what.posted());
        self.has_turn_among(places)
    }

    /// The same of so many places.
    pub(super) fn has_turn_among(&self, places: u64) -> Poll<()> {
        let before = self.number().saturating_sub(places);
        let mut over = self.slots.over.borrow_mut();
        if before > over.everywhere {
            let mut engine = self.team.process.engine();
            let mut everywhere = u64::MAX;
            for slots in &self.slots.of_ranks {
                let theirs = engine.word(slots.over);
                everywhere = everywhere.min(theirs);
                if theirs < before && !engine.has_word(slots.over, before, 1, None) {
                    self.team.process.now_awaits(Awaited::Step(slots.peer));
                    return Poll::Pending;
                }
            }
            // Only when all have been looked at: another collective may have another place.
            over.everywhere = everywhere;
        }
        Poll::Ready(())
    }

    /// Whether those whom `from` names have posted what they give. Looks so often for each.
    pub(super) fn have_come(&self, from: impl Fn(usize) -> bool, looks: u32) -> Poll<()> {
        self.have_set(from, |theirs| theirs.slot(self.number()).stamp(), looks)
    }

    /// Whether the others whom `from` names have set a word to the number of this collective.
    pub(super) fn have_set(
        &self,
        from: impl Fn(usize) -> bool,
        word: impl Fn(&RankSlots) -> SharedWord,
        looks: u32,
    ) -> Poll<()> {
        let is_set = |rank| {
            let word = word(self.slots_of(rank));
            self.team.process.engine().has_word(word, self.number(), looks, None)
        };
        match self.others().find(|&rank| from(rank) && !is_set(rank)) {
            None => Poll::Ready(()),
            Some(rank) => {
                self.team.process.now_awaits(Awaited::Step(self.team.peers[rank]));
                Poll::Pending
            }
        }
    }

    /// This rank needs nobody's data any more.
    fn is_over(&self) {
        let mut over = self.slots.over.borrow_mut();
        over.add(self.number());
        let mine = self.slots_of(self.team.rank).over;
        self.team.process.engine().set_words([(mine, over.up_to)], self.team.peers);
    }
}

impl<'a> Nonblocking<'a> {
    fn new(team: Team<'a>, slots: &'a Slots, number: u64) -> Self {
        let (asked, too_long, exposes, is_settled, left) = Default::default();
        Nonblocking { team, slots, number, asked, too_long, exposes, is_settled, left }
    }

    /// The same on all ranks, unless they disagree about the length. What a collective does in further steps goes by
    /// messages.
    fn has_room(&self, what: Collective) -> bool {
        self.asked.set(self.asked.get() + 1);
        if self.asked.get() > 1 {
            return false;
        }
        let has_room = self.slots.limits.have_room_for(what);
        if !has_room {
            self.too_long.set(Some(what.announced()));
        }
        has_room
    }

    pub(super) fn epoch(&self) -> Epoch<'_> {
        Epoch::new(&self.team, self.slots, self.number)
    }

    /// Whether `rank`, whose data are long, is past this collective or says that it needs nothing more.
    pub(super) fn is_done(&self, rank: usize) -> bool {
        let theirs = self.epoch().slots_of(rank);
        let is_at = |word| self.team.process.engine().has_word(word, self.number, 1, None);
        is_at(theirs.over) || is_at(theirs.slot(self.number).done())
    }

    /// Runs the collective.
    async fn watch<R>(
        &self,
        mut plan: Pin<&mut (impl Future<Output = Result<R, Failure>> + ?Sized)>,
    ) -> Result<R, Failure> {
        let mut polls = 0_u32;
        let run = poll_fn(|context| {
            let result = plan.as_mut().poll(context);
            polls = polls.saturating_add(1);
            if result.is_ready() || polls < UNSUSPICIOUS {
                return result;
            }
            self.disagreement().map_or(Poll::Pending, |failure| Poll::Ready(Err(failure)))
        });
        run.await
    }

    /// When it has run.
    async fn end(&self) -> Outcome {
        if !self.left.borrow().is_empty() {
            apart(|| self.forsake()).await?;
        }
        match self.too_long.get() {
            Some(len) => step(self.team.process, || self.say_too_long(len)).await,
            None => Ok(()),
        }
    }

    /// Of data that go by messages: what is wrong if others wait for them in slots.
    #[inline]
    fn disagreement(&self) -> Option<Failure> {
        let len = self.too_long.get().filter(|_| !self.is_settled.get())?;
        match self.say_too_long(len) {
            Poll::Pending => None,
            Poll::Ready(Err(failure)) => Some(failure),
            Poll::Ready(Ok(())) => self.compare(len),
        }
    }

    fn compare(&self, len: usize) -> Option<Failure> {
        let epoch = self.epoch();
        let mut all_have_come = true;
        for rank in epoch.others() {
            if epoch.have_come(|other| other == rank, 1).is_pending() {
                all_have_come = false;
                continue;
            }
            let source = self.team.peers[rank];
            let said = epoch.said(rank, None).and_then(|said| match said {
                LONG => epoch.announced(rank).map(|announced| announced.len),
                bytes => Ok(bytes),
            });
            match said {
                Ok(bytes) if bytes == len as u64 => {}
                Ok(NOTHING) => return Some(Failure::Nothing { source }),
                Ok(bytes) => return Some(Failure::WrongLength { source, bytes, expected: len as u64 }),
                Err(failure) => return Some(failure),
            }
        }
        self.is_settled.set(all_have_come);
        None
    }

    /// Takes charge of a send of a collective that ends too early.
    pub(crate) fn leave(&self, send: OperationId) {
        self.left.borrow_mut().push(send);
    }

    /// Waits until all who may receive from this rank do not any more. What they have not received by then stays where
    /// it is, and is looked at by nobody.
    async fn forsake(&self) -> Outcome {
        let process = self.team.process;
        let epoch = self.epoch();
        if let Some(len) = self.too_long.get() {
            // Until then its slot may be another's.
            step(self.team.process, || self.say_too_long(len)).await?;
            let done = epoch.slots_of(self.team.rank).slot(self.number).done();
            process.engine().set_words([(done, self.number)], self.team.peers);
        }
        for rank in epoch.others() {
            step(process, || epoch.have_come(|other| other == rank, 1)).await;
            if epoch.said(rank, None)? == LONG {
                step(process, || if self.is_done(rank) { Poll::Ready(()) } else { Poll::Pending }).await;
            }
        }
        for send in self.left.take() {
            let _ = process.engine().collect(send);
        }
        Ok(())
    }

    /// Says once, when it is its turn, how long the data are.
    fn say_too_long(&self, len: usize) -> Poll<Outcome> {
        let epoch = self.epoch();
        if epoch.has_come(self.team.rank) {
            return Poll::Ready(Ok(()));
        }
        epoch
            .has_turn_among(epoch.places())
            .map(|()| self.slots.announce_now(&epoch, len, &[ExposedAddress::UNREADABLE; 2]))
    }
}

impl Drop for Nonblocking<'_> {
    fn drop(&mut self) {
        for send in self.left.take() {
            let _ = self.team.process.wait(send);
        }
        if self.exposes.get() {
            self.revoke();
        }
        self.epoch().is_over();
    }
}

/// A collective that is over on this rank, whatever comes of it.
struct Ends<'a>(Epoch<'a>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.is_over();
    }
}

impl Slots {
    /// Whether nonblocking collective `number`, for which they have room, can begin at once. Nothing has happened by
    /// then.
    #[inline]
    pub fn has_turn(&self, team: &Team<'_>, number: u64, kind: Collective) -> bool {
        Epoch::new(team, self, number).has_turn(kind).is_ready()
    }

    /// Starts a collective whose turn it is; gives it back if others have not posted yet what it reads:
    /// [`Slots::finish`] is still to be done.
    #[inline(always)]
    pub fn start<D: Described>(
        &self,
        team: Team<'_>,
        number: u64,
        typed: Typed,
        described: D,
    ) -> Result<Option<D>, Failure> {
        if self.are_alone() {
            return read(team, (self, number), typed, described).map(|()| None);
        }
        let posted = while_passing(team, typed, |team| Epoch::new(team, self, number).post_now(described.given(team)));
        let epoch = Epoch::new(&team, self, number);
        if posted.is_err() || epoch.have_come(|rank| described.reads_from(team.rank, rank), LOOKS).is_ready() {
            let _ends = Ends(epoch);
            return posted.and_then(|()| read(team, (self, number), typed, described)).map(|()| None);
        }
        Ok(Some(described))
    }

    /// Comes to the end of one that has been started.
    pub async fn finish(&self, team: Team<'_>, number: u64, typed: Typed, described: impl Described) -> Outcome {
        let ends = Ends(Epoch::new(&team, self, number));
        step(team.process, || ends.0.have_come(|rank| described.reads_from(team.rank, rank), 1)).await;
        read(team, (self, number), typed, described)
    }
}

/// Reads what others have posted, all of which is there.
#[inline(always)]
fn read(team: Team<'_>, (slots, number): (&Slots, u64), typed: Typed, described: impl Described) -> Outcome {
    while_passing(team, typed, |team| {
        described.read(&Epoch::new(team, slots, number))?;
        described.finish()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_end_in_any_order() {
        let mut over = Over::default();
        let mut add = |number| {
            over.add(number);
            over.up_to
        };
        assert_eq!([3, 1, 5, 2, 4, 6].map(&mut add), [0, 1, 1, 3, 5, 6]);
        assert!(over.beyond.is_empty());
    }
}

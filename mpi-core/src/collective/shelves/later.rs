//! Nonblocking collectives on shelves. A communicator has shelves apart for them, on which they are counted apart, too:
//! each has its number from its start, and puts up then what others want of its rank, so that no other waits for this
//! one to be called again.
//!
//! Several may be under way, and they end in any order. So here a stamp says nothing about collectives before it, other
//! than among blocking ones, and every rank says in a word of its own up to which collective all are over: a rank puts
//! its data where those of an earlier one were once no rank needs those.
//!
//! Data that no shelf has room for are lent where they lie ([`lent`](super::lent)). Other collectives of long data go
//! by messages, and a rank says so on its shelf when it gets to it: if others have put up short ones for the same
//! collective, it ends with an error, where messages would wait for ever.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use rwmpi_transport::SharedWord;

use super::round::Round;
use super::shelf::{LONG, NOTHING, Shelf};
use super::{OnceShelves, Shelved, Shelves};
use crate::Communicator;
use crate::activity::Call;
use crate::apart::apart;
use crate::collective::published::Told;
use crate::collective::team::Team;
use crate::communicator::nonblocking_tag;
use crate::engine::{Failure, OperationId};
use crate::process::Process;
use crate::select::Collective;
use crate::waiting::Awaited;

/// How often a rank that starts a collective looks for each of the others: as long as it takes those that start it at
/// the same time.
const LOOKS: u32 = 30;

/// After so many looks at messages that have not come a rank looks whether the others expect them at all.
const UNSUSPICIOUS: u32 = 16;

/// How far a collective on shelves goes.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// To its end: who called it waits.
    Whole,
    /// The nonblocking one of that number, which puts up what others want of this rank.
    Put(u64),
    /// It takes what others have put up, all of which is there.
    Take(u64),
}

impl Shelves {
    fn put(&self, number: u64) -> Shelved<'_> {
        Shelved { shelves: self, step: Step::Put(number) }
    }

    fn take(&self, number: u64) -> Shelved<'_> {
        Shelved { shelves: self, step: Step::Take(number) }
    }
}

/// A nonblocking collective's use of shelves. When it is dropped, they may be used for others.
pub(crate) struct Later<'a> {
    pub(super) team: Team<'a>,
    pub(super) shelves: &'a Shelves,
    pub(super) number: u64,
    /// How often it has been asked whether there is room, which is answered once.
    pub(super) asked: Cell<u32>,
    /// So many bytes have no room.
    pub(super) too_long: Cell<Option<usize>>,
    /// Others may use this rank's memory until they say that they don't any more.
    pub(super) lends: Cell<bool>,
    /// The others' shelves say the same.
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

/// Whatever becomes of whom makes the shelves, those who wait for that are not left waiting.
struct Making<'a>(&'a OnceShelves);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        let _ = self.0.set(None);
    }
}

impl<'a> Team<'a> {
    /// The shelves of nonblocking collectives, which the first of them makes.
    pub(in crate::collective) async fn shelves_for_later(
        self,
        shelves: &'a OnceShelves,
        number: u64,
    ) -> Result<Option<&'a Shelves>, Failure> {
        if shelves.get().is_none() {
            if number == 1 {
                let making = Making(shelves);
                let _ = shelves.set(apart(|| self.make_shelves()).await?);
                drop(making);
            } else {
                step(self.process, || if shelves.get().is_some() { Poll::Ready(()) } else { Poll::Pending }).await;
            }
        }
        Ok(shelves.get().and_then(Option::as_ref))
    }

    /// Does a collective on shelves, if there is room for `what` it is, which takes what those have put up that `from`
    /// names. False: it goes another way.
    pub(in crate::collective) async fn on_shelves(
        self,
        what: Collective,
        from: impl Fn(usize) -> bool,
        collective: impl Fn(Shelved<'_>, Team<'_>) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        if let Some(shelves) = self.shelves_for(what)? {
            return collective(shelves.whole(), self).map(|()| true);
        }
        let Some(later) = self.later.filter(|later| later.has_room(what)) else { return Ok(false) };
        let Later { shelves, number, .. } = *later;
        step(self.process, || later.round().has_turn(what)).await;
        collective(shelves.put(number), self)?;
        step(self.process, || later.round().have_come(&from, 1)).await;
        collective(shelves.take(number), self)?;
        Ok(true)
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
impl Round<'_> {
    /// Whether all have done with the collective that had its place before.
    fn has_turn(&self, what: Collective) -> Poll<()> {
        let (_, places) = self.shelf(self.team.rank).data(self.number(), what.put_up());
        self.has_turn_among(places)
    }

    /// The same of so many places.
    pub(super) fn has_turn_among(&self, places: u64) -> Poll<()> {
        let before = self.number().saturating_sub(places);
        let mut over = self.shelves.over.borrow_mut();
        if before > over.everywhere {
            let mut engine = self.team.process.engine();
            let mut everywhere = u64::MAX;
            for shelf in &self.shelves.shelves {
                let theirs = engine.word(shelf.over);
                everywhere = everywhere.min(theirs);
                if theirs < before && !engine.has_word(shelf.over, before, 1, None) {
                    self.team.process.now_awaits(Awaited::Step(shelf.peer));
                    return Poll::Pending;
                }
            }
            // Only when all have been looked at: another collective may have another place.
            over.everywhere = everywhere;
        }
        Poll::Ready(())
    }

    /// Whether those whom `from` names have put up what they give. Looks so often for each.
    pub(super) fn have_come(&self, from: impl Fn(usize) -> bool, looks: u32) -> Poll<()> {
        self.have_set(from, |shelf| shelf.slot(self.number()).stamp(), looks)
    }

    /// Whether the others whom `from` names have set a word to the number of this collective.
    pub(super) fn have_set(
        &self,
        from: impl Fn(usize) -> bool,
        word: impl Fn(&Shelf) -> SharedWord,
        looks: u32,
    ) -> Poll<()> {
        let is_set = |rank| {
            let word = word(self.shelf(rank));
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
        let mut over = self.shelves.over.borrow_mut();
        over.add(self.number());
        let mine = self.shelf(self.team.rank).over;
        self.team.process.engine().set_words([(mine, over.up_to)], self.team.peers);
    }
}

impl<'a> Later<'a> {
    pub(in crate::collective) fn new(team: Team<'a>, shelves: &'a Shelves, number: u64) -> Self {
        let (asked, too_long, lends, is_settled, left) = Default::default();
        Later { team, shelves, number, asked, too_long, lends, is_settled, left }
    }

    /// The same on all ranks, unless they disagree about the length. What a collective does in further steps goes by
    /// messages.
    fn has_room(&self, what: Collective) -> bool {
        self.asked.set(self.asked.get() + 1);
        if self.asked.get() > 1 {
            return false;
        }
        let has_room = self.shelves.limits.have_room_for(what);
        if !has_room {
            self.too_long.set(Some(what.told()));
        }
        has_room
    }

    pub(super) fn round(&self) -> Round<'_> {
        Round::new(&self.team, self.shelves, self.number)
    }

    /// Whether `rank`, whose data are long, is past this collective or says that it needs nothing more.
    pub(super) fn is_done(&self, rank: usize) -> bool {
        let shelf = self.round().shelf(rank);
        let is_at = |word| self.team.process.engine().has_word(word, self.number, 1, None);
        is_at(shelf.over) || is_at(shelf.slot(self.number).done())
    }

    /// Runs the collective.
    pub(in crate::collective) async fn watch<R>(
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
    pub(in crate::collective) async fn end(&self) -> Result<(), Failure> {
        if !self.left.borrow().is_empty() {
            apart(|| self.forsake()).await?;
        }
        match self.too_long.get() {
            Some(len) => step(self.team.process, || self.say_too_long(len)).await,
            None => Ok(()),
        }
    }

    /// Of data that go by messages: what is wrong if others wait for them on shelves.
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
        let round = self.round();
        let mut all_have_come = true;
        for rank in round.others() {
            if round.have_come(|other| other == rank, 1).is_pending() {
                all_have_come = false;
                continue;
            }
            let source = self.team.peers[rank];
            let said = round.said(rank, None).and_then(|said| match said {
                LONG => round.announced(rank).map(|announced| announced.len),
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
    pub(in crate::collective) fn leave(&self, send: OperationId) {
        self.left.borrow_mut().push(send);
    }

    /// Waits until all who may receive from this rank do not any more. What they have not received by then stays where
    /// it is, and is looked at by nobody.
    async fn forsake(&self) -> Result<(), Failure> {
        let process = self.team.process;
        let round = self.round();
        if let Some(len) = self.too_long.get() {
            // Its slot may be another's before.
            step(self.team.process, || self.say_too_long(len)).await?;
            let done = round.shelf(self.team.rank).slot(self.number).done();
            process.engine().set_words([(done, self.number)], self.team.peers);
        }
        for rank in round.others() {
            step(process, || round.have_come(|other| other == rank, 1)).await;
            if round.said(rank, None)? == LONG {
                step(process, || if self.is_done(rank) { Poll::Ready(()) } else { Poll::Pending }).await;
            }
        }
        for send in self.left.take() {
            let _ = process.engine().collect(send);
        }
        Ok(())
    }

    /// Says once, when it is its turn, how long the data are.
    fn say_too_long(&self, len: usize) -> Poll<Result<(), Failure>> {
        let round = self.round();
        if round.has_come(self.team.rank) {
            return Poll::Ready(Ok(()));
        }
        round.has_turn_among(round.places()).map(|()| self.shelves.announce_now(&round, len, &[Told::UNREADABLE; 2]))
    }
}

impl Drop for Later<'_> {
    fn drop(&mut self) {
        for send in self.left.take() {
            let _ = self.team.process.wait(send);
        }
        if self.lends.get() {
            self.take_back();
        }
        self.round().is_over();
    }
}

/// The next nonblocking collective of a communicator can begin on these shelves.
pub(crate) struct Turn<'a> {
    shelves: &'a Shelves,
    number: u64,
}

/// A collective that is over on this rank, whatever comes of it.
struct Ends<'a>(Round<'a>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.is_over();
    }
}

impl Communicator {
    /// Whether the next nonblocking collective can begin on shelves: they are known, and have room for `what` it is at
    /// once. Nothing has happened by then.
    #[inline]
    pub(crate) fn turn_on_shelves(&self, what: Collective) -> Option<Turn<'_>> {
        if self.size() == 1 {
            return self.shelves_for(what).map(|shelves| Turn { shelves, number: 0 });
        }
        let shelves = self.shelves_for_later()?.get()?.as_ref().filter(|shelves| shelves.limits.have_room_for(what))?;
        let number = self.nonblocking_collective_to_come();
        let team = self.team(nonblocking_tag(number), false);
        Round::new(&team, shelves, number).has_turn(what).is_ready().then_some(Turn { shelves, number })
    }

    /// Starts a collective whose turn it is. It takes what those put up that `from` names. If that has not come, the
    /// rest is to be done as a task.
    #[inline]
    pub(crate) fn start_on_shelves<'a>(
        &self,
        Turn { shelves, number }: Turn<'_>,
        (call, bytes): (Call, usize),
        from: impl Fn(usize) -> bool + 'a,
        collective: impl Fn(Shelved<'_>, Team<'_>) -> Result<(), Failure> + 'a,
    ) -> Result<Option<impl Future<Output = Result<(), Failure>> + 'a>, Failure> {
        self.begin(call, bytes);
        let team = self.team(nonblocking_tag(number), false);
        if shelves.are_alone() {
            return collective(shelves.whole(), team).map(|()| None);
        }
        self.next_nonblocking_collective();
        let put = collective(shelves.put(number), team);
        let round = Round::new(&team, shelves, number);
        if put.is_err() || round.have_come(&from, LOOKS).is_ready() {
            let _ends = Ends(round);
            return put.and_then(|()| collective(shelves.take(number), team)).map(|()| None);
        }
        let communicator = self.clone();
        Ok(Some(async move {
            let Some(shelves) = communicator.shelves_for_later().and_then(|shelves| shelves.get()?.as_ref()) else {
                return Ok(());
            };
            let team = communicator.team(nonblocking_tag(number), false);
            let ends = Ends(Round::new(&team, shelves, number));
            step(team.process, || ends.0.have_come(&from, 1)).await;
            collective(shelves.take(number), team)
        }))
    }
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

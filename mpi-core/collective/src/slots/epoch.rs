//! One collective's use of the slots: its epoch.

use rwmpi_transport::{LentSpan, ReadSpan, SharedPart, SharedWord, WriteSpan};

use super::layout::{FETCHED_AHEAD, LONG, NOTHING, RankSlots};
use super::{Announced, Slots};
use crate::Mark;
use crate::Outcome;
use crate::departure::Several;
use crate::direct_access::{Addresses, ExposedAddress};
use crate::engine::Failure;
use crate::reduction::Reduction;
use crate::scratch::append;
use crate::team::Team;
use crate::waiting::Awaited;

/// In the word that says that a rank is done with the others' data: it is in trouble.
const IN_TROUBLE: u64 = 1 << 63;

/// How often a rank on another processor is looked for, where ranks share processors.
const LOOKS: u32 = 1000;
/// How often a rank gives way to one on its own processor, before it does what else there is.
const TIMES: u32 = 20;
/// In one collective of so many it is measured how far away the others are. Odd, so that it meets all places that are
/// used in turn.
const MEASURED: u64 = 31;

#[derive(Clone, Copy)]
pub struct Epoch<'a> {
    pub(crate) team: &'a Team<'a>,
    pub(super) slots: &'a Slots,
    number: u64,
    /// How many bytes others may take from this rank. A word: where parts of one were written, the epoch could not be
    /// copied soon (docs/decisions/0049).
    given: usize,
}

impl<'a> Epoch<'a> {
    #[inline]
    pub(crate) fn new(team: &'a Team<'a>, slots: &'a Slots, number: u64) -> Self {
        Epoch { team, slots, number, given: usize::MAX }
    }

    /// How many collectives whose data or addresses lie in places take turns.
    pub(super) fn places(&self) -> u64 {
        self.slots_of(self.team.rank).places()
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn slots_of(&self, rank: usize) -> &'a RankSlots {
        &self.slots.of_ranks[rank]
    }

    /// Posts `parts`, one behind the other, in this rank's slot. Nothing is returned that would have to be copied:
    /// behind the stamp, which takes a line from the others, a processor waits for that before it reads what several
    /// writes have made.
    #[inline(always)]
    pub(crate) fn post<'s>(&mut self, parts: impl Iterator<Item = ReadSpan<'s>> + Clone) -> Outcome {
        let len = length_of(parts.clone());
        let mine = self.slots_of(self.team.rank);
        let (place, places) = mine.data(self.number, len);
        // There are as many slots, or more: the own one is free, too.
        self.wait_for_turn(places)?;
        self.post_at(mine, place, len, parts)
    }

    /// As [`Epoch::post`], when it is this rank's turn.
    pub(super) fn post_now<'s>(&mut self, parts: impl Iterator<Item = ReadSpan<'s>> + Clone) -> Outcome {
        let len = length_of(parts.clone());
        let mine = self.slots_of(self.team.rank);
        let (place, _) = mine.data(self.number, len);
        self.post_at(mine, place, len, parts)
    }

    #[inline(always)]
    fn post_at<'s>(
        &mut self,
        mine: &RankSlots,
        mut place: usize,
        len: usize,
        parts: impl Iterator<Item = ReadSpan<'s>>,
    ) -> Outcome {
        let team = self.team;
        let mut engine = team.process.engine();
        let says = if team.spreads_trouble && team.is_in_trouble() {
            NOTHING
        } else {
            for part in parts {
                engine.write_shared(mine.part(place, part.len())?, part, self.slots.far.get());
                place += part.len();
            }
            len as u64
        };
        self.slots.stamp(team, &mut engine, self.number, says);
        self.given = len;
        Ok(())
    }

    /// Waits until `rank` has said something: how long its data are, or one of the words in place of that.
    #[inline(always)]
    pub(super) fn said(&self, rank: usize, next: Option<SharedPart>) -> Result<u64, Failure> {
        self.wait_and_fetch(rank, self.number, next)?;
        let word = self.team.process.engine().word(self.slots_of(rank).slot(self.number).len());
        self.team.listen(self.team.peers[rank], Mark::heard((word >> 32) as u32));
        Ok(word & NOTHING)
    }

    /// Waits until `rank` has posted its data; their length, unless it is in trouble.
    #[inline(always)]
    fn see(&self, rank: usize, next: Option<SharedPart>) -> Result<Option<u64>, Failure> {
        let said = self.said(rank, next)?;
        if said == NOTHING {
            self.team.note(Failure::Nothing { source: self.team.peers[rank] });
        }
        Ok((said != NOTHING).then_some(said))
    }

    /// Waits until `rank` has posted as many bytes as `len`, of which it takes those from `offset` on.
    pub(crate) fn read(&self, rank: usize, len: usize, offset: usize, into: WriteSpan<'_>) -> Outcome {
        if self.has_posted(rank, len, offset, into.len())? {
            self.data_of(rank, len, offset, into.len())?.copy_to(into);
            let theirs = self.slots_of(rank);
            if self.given == 0 && theirs.taken_in.replace(self.number) + 1 == self.number {
                self.team.process.engine().fetch_word(theirs.slot(self.number + FETCHED_AHEAD).stamp(), false);
            }
        }
        Ok(())
    }

    /// Waits until `rank` has posted its data; whether there are as many bytes as `len`, of which a `part` from
    /// `offset` on is read next.
    #[inline(always)]
    fn has_posted(&self, rank: usize, len: usize, offset: usize, part: usize) -> Result<bool, Failure> {
        let next = self.slots_of(rank).lines_ahead(self.number, len, offset, part);
        let Some(put) = self.see(rank, next)? else { return Ok(false) };
        if put != len as u64 {
            let bytes = if put == LONG { self.announced(rank)?.len } else { put };
            return self.differs(rank, bytes, len);
        }
        Ok(true)
    }

    /// `rank` has another length than this one expects: false, or an error where that ends the collective.
    #[cold]
    fn differs(&self, rank: usize, bytes: u64, expected: usize) -> Result<bool, Failure> {
        let differs = Failure::WrongLength { source: self.team.peers[rank], bytes, expected: expected as u64 };
        self.team.note_or_end(differs).map(|()| false)
    }

    /// Of the `len` bytes that `rank` has posted, so many from `offset` on.
    #[inline(always)]
    fn data_of(&self, rank: usize, len: usize, offset: usize, part: usize) -> Result<LentSpan<'a>, Failure> {
        let theirs = self.slots_of(rank);
        let (place, _) = theirs.data(self.number, len);
        Ok(self.given(theirs.part(place + offset, part)?))
    }

    /// The bytes of a part of somebody's slot. What several read need not go back and forth between them.
    #[inline(always)]
    pub(super) fn given(&self, part: SharedPart) -> LentSpan<'a> {
        let data = self.team.shared_span(part);
        if self.team.size() == 2 { data } else { data.as_read().into() }
    }

    /// What `rank` has said about data that are elsewhere.
    pub(super) fn announced(&self, rank: usize) -> Result<Announced, Failure> {
        self.value(rank, RankSlots::announcement(self.number))
    }

    /// Where the data lie that `rank` has announced.
    pub(crate) fn addresses(&self, rank: usize) -> Result<[ExposedAddress; 2], Failure> {
        self.value(rank, self.slots_of(rank).addresses(self.number))
    }

    pub(super) fn value<T: bytemuck::Pod>(&self, rank: usize, place: usize) -> Result<T, Failure> {
        let mut value = T::zeroed();
        let into = WriteSpan::from(bytemuck::bytes_of_mut(&mut value));
        let part = self.slots_of(rank).part(place, into.len())?;
        self.team.shared_span(part).copy_to(into);
        Ok(value)
    }

    /// Waits until `rank` has said how long its data are; whether it has announced as many bytes as `len`.
    pub(crate) fn agrees(&self, rank: usize, len: usize) -> Result<bool, Failure> {
        let (said, source) = (self.said(rank, None)?, self.team.peers[rank]);
        let mut bytes = if said == NOTHING { 0 } else { said };
        if said == LONG {
            let announced = self.announced(rank)?;
            if announced.in_trouble != 0 {
                self.team.note(Failure::Nothing { source });
            }
            if announced.len == len as u64 {
                return Ok(true);
            }
            bytes = announced.len;
        }
        self.differs(rank, bytes, len)
    }

    /// Waits until all others have said how long their data are; whether they have announced as many bytes as `len`.
    /// The same on all ranks that have announced theirs.
    pub(crate) fn all_agree(&self, len: usize) -> Result<bool, Failure> {
        self.let_all_come()?;
        let mut agreed = true;
        for rank in self.others() {
            agreed &= self.agrees(rank, len)?;
        }
        Ok(agreed)
    }

    /// Where all have their data, once they have announced them, if all announce as many bytes as `len`. The same on
    /// all ranks that do.
    pub(crate) fn all_addresses(&self, len: usize) -> Result<Option<Addresses>, Failure> {
        let (mut addresses, mut agreed) = (Addresses::new(), true);
        for rank in 0..self.team.size() {
            agreed &= self.agrees(rank, len)?;
            addresses.push(self.addresses(rank)?);
        }
        Ok(agreed.then_some(addresses))
    }

    /// Waits until all have come as far.
    #[inline]
    pub(crate) fn meet(&self) -> Outcome {
        self.let_all_come()?;
        self.others().try_for_each(|rank| self.see(rank, None).map(drop))
    }

    /// Says, after an announcement, that this rank uses the others' data no more.
    pub(crate) fn leave(&self) {
        self.leave_as(self.team.spreads_trouble && self.team.is_in_trouble());
    }

    /// The same of a rank whose part the others can't count upon.
    #[cold]
    pub(super) fn leave_in_trouble(&self) {
        self.leave_as(true);
    }

    #[inline]
    fn leave_as(&self, in_trouble: bool) {
        let said = self.number | if in_trouble { IN_TROUBLE } else { 0 };
        let done = self.slots_of(self.team.rank).slot(self.number).done();
        self.team.process.engine().set_words([(done, said)], self.team.peers);
    }

    /// Waits until `rank`, which has announced data, uses those of others no more.
    pub(crate) fn has_left(&self, rank: usize) -> Outcome {
        let done = self.slots_of(rank).slot(self.number).done();
        self.look_for(rank, done, self.number, None)?;
        if self.team.process.engine().word(done) & IN_TROUBLE != 0 {
            self.team.note_or_end(Failure::Nothing { source: self.team.peers[rank] })?;
        }
        Ok(())
    }

    /// The same of all.
    pub(crate) fn all_leave(&self) -> Outcome {
        self.wait_for_others(|rank| self.has_left(rank))
    }

    /// Whether `rank` is known to have come.
    pub(crate) fn has_come(&self, rank: usize) -> bool {
        let theirs = self.slots_of(rank);
        theirs.is_stamped(self.number)
            || self.team.process.engine().word(theirs.slot(self.number).stamp()) >= self.number
    }

    /// Of the chunks that are to be put where `rank` has announced, the next that nobody has taken.
    pub(crate) fn take_chunk(&self, rank: usize) -> u64 {
        self.team.process.engine().add_to_word(self.slots_of(rank).slot(self.number).taken(), 1)
    }

    /// Says that this rank has put one there.
    pub(crate) fn has_helped(&self, rank: usize) {
        let mut engine = self.team.process.engine();
        engine.add_to_word(self.slots_of(rank).slot(self.number).helped(), 1);
        engine.wake(self.team.peers[rank]);
    }

    /// Waits until `helper` has put so many here.
    pub(crate) fn wait_for_help(&self, helper: usize, chunks: u64) -> Outcome {
        self.look_for(helper, self.slots_of(self.team.rank).slot(self.number).helped(), chunks, None)
    }

    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.team.rank;
        (0..self.team.size()).filter(move |&rank| rank != me)
    }

    /// Combines what the ranks before `end`, at least one, have posted, in rank order: of `len` bytes each those from
    /// `offset` on, as many as `result` has. `own` are these of this rank, where they were before it posted them;
    /// `result` may lie there, too.
    pub(crate) fn combine(
        &self,
        own: ReadSpan<'_>,
        len: usize,
        offset: usize,
        result: WriteSpan<'_>,
        op: &(impl Reduction + ?Sized),
        end: usize,
    ) -> Outcome {
        self.wait_for_same_processor(|rank| if rank < end { self.wait(rank, self.number) } else { Ok(()) })?;
        // Later, what lies where the result goes is in the slot only.
        let stays = (own.start() as usize).abs_diff(result.start() as usize) >= result.len();
        let here = |rank| (rank == self.team.rank && (rank == 0 || stays)).then_some(own);
        match op.where_it_lies() {
            Some(arithmetic) if end > 1 => {
                let part = result.len();
                let mut earlier = self.part_of(0, len, offset, part, here(0))?;
                for rank in 1..end {
                    let later = self.part_of(rank, len, offset, part, here(rank))?;
                    // What has not come is trouble, and nothing is combined.
                    if !self.team.is_in_trouble() {
                        arithmetic.combine(earlier, later, result);
                    }
                    earlier = result.as_read().into();
                }
                Ok(())
            }
            _ => self.combine_copies(len, offset, result, op, end, here),
        }
    }

    /// Of what `rank` has posted, unless that is `here`, a `part` from `offset` on: there are as many bytes as `len`,
    /// or there is trouble.
    #[inline(always)]
    fn part_of<'d>(
        &self,
        rank: usize,
        len: usize,
        offset: usize,
        part: usize,
        here: Option<ReadSpan<'d>>,
    ) -> Result<LentSpan<'d>, Failure>
    where
        'a: 'd,
    {
        if let Some(here) = here {
            return Ok(here.into());
        }
        self.has_posted(rank, len, offset, part)?;
        self.data_of(rank, len, offset, part)
    }

    /// As [`Epoch::combine`], of copies of the others' data. `here` is what this rank has, at its own number.
    fn combine_copies<'d>(
        &self,
        len: usize,
        offset: usize,
        result: WriteSpan<'_>,
        op: &(impl Reduction + ?Sized),
        end: usize,
        here: impl Fn(usize) -> Option<ReadSpan<'d>>,
    ) -> Outcome {
        match here(0) {
            Some(own) => own.copy_to(result),
            None => self.read(0, len, offset, result)?,
        }
        self.slots.with_room(result.len(), |theirs| {
            for rank in 1..end {
                if let Some(own) = here(rank) {
                    append(self.team, op, result, own);
                } else {
                    self.read(rank, len, offset, theirs)?;
                    append(self.team, op, result, theirs.as_read());
                }
            }
            Ok(())
        })
    }

    /// Waits until all have finished with the last collective before this one to have its place, of so many. Who has to
    /// wait lets them come half as far again, so that it looks at their slots, and may have to give way to them, only
    /// now and then.
    #[inline]
    pub(super) fn wait_for_turn(&self, places: u64) -> Outcome {
        let last_user = self.number.saturating_sub(places);
        if last_user < self.slots.all_at.get() { Ok(()) } else { self.let_all_reach(last_user + places / 2) }
    }

    #[cold]
    fn let_all_reach(&self, number: u64) -> Outcome {
        self.wait_for_others(|rank| self.wait_as_for_all(rank, number))?;
        self.slots.all_at.set(number);
        Ok(())
    }

    /// Waits until all others have stamped their slots for this collective.
    pub(super) fn wait_for_all(&self) -> Outcome {
        self.wait_for_others(|rank| self.wait_as_for_all(rank, self.number))
    }

    /// Waits until `rank` has stamped its slot for collective `number`.
    #[inline]
    fn wait(&self, rank: usize, number: u64) -> Outcome {
        self.wait_and_fetch(rank, number, None)
    }

    /// The same, after which `next` is read.
    #[inline(always)]
    fn wait_and_fetch(&self, rank: usize, number: u64, next: Option<SharedPart>) -> Outcome {
        let theirs = self.slots_of(rank);
        if theirs.is_stamped(number) {
            return Ok(());
        }
        let stamp = theirs.slot(number).stamp();
        if self.team.process.engine().word(stamp) < number {
            self.look_for(rank, stamp, number, next)?;
        }
        theirs.has_stamped(number);
        Ok(())
    }

    /// As [`Epoch::wait`], where all others are waited for: if one of them has gone, it does not matter for whom this
    /// looks first.
    fn wait_as_for_all(&self, rank: usize, number: u64) -> Outcome {
        let theirs = self.slots_of(rank);
        if theirs.is_stamped(number) {
            return Ok(());
        }
        let stamp = |rank: usize| self.slots_of(rank).slot(number).stamp();
        let (process, peers) = (self.team.process, self.team.peers);
        let has_come = |rank: usize| process.engine().has_word(stamp(rank), number, 1, None);
        if !self.finds(rank, stamp(rank), number, None) {
            let missing = |each: &mut dyn FnMut(Awaited)| {
                self.others().filter(|&rank| !has_come(rank)).for_each(|rank| each(Awaited::Step(peers[rank])));
            };
            let done = || has_come(rank).then_some(());
            process.wait_for_several(Several::All, Awaited::Step(peers[rank]), missing, done)?;
        }
        theirs.has_stamped(number);
        Ok(())
    }

    /// Waits until a word that `rank` sets is at least `number`.
    fn look_for(&self, rank: usize, word: SharedWord, number: u64, next: Option<SharedPart>) -> Outcome {
        if self.finds(rank, word, number, next) {
            return Ok(());
        }
        let process = self.team.process;
        let done = || process.engine().has_word(word, number, 1, None).then_some(());
        process.wait_for_awaited(Awaited::Step(self.team.peers[rank]), done)
    }

    /// Looks for a while; whether a word that `rank` sets is at least `number`.
    fn finds(&self, rank: usize, word: SharedWord, number: u64, next: Option<SharedPart>) -> bool {
        let process = self.team.process;
        // Patient once only: later, others are to be served in between.
        let patience = process.looks(&process.engine());
        if self.slots.oversubscribed && !process.others_may_want_lock() {
            self.look_where_oversubscribed(rank, word, number)
        } else {
            self.look(rank, word, number, patience, next)
        }
    }

    /// Looks so often for a word that `rank` sets.
    #[inline]
    fn look(&self, rank: usize, word: SharedWord, number: u64, looks: u32, next: Option<SharedPart>) -> bool {
        let mut engine = self.team.process.engine();
        if !self.number.is_multiple_of(MEASURED) {
            return engine.has_word(word, number, looks, next);
        }
        self.slots.measure(rank, |distance| engine.measure_word(word, number, looks, distance))
    }

    /// Looks a while for a word that `rank` sets, where ranks share processors.
    fn look_where_oversubscribed(&self, rank: usize, word: SharedWord, number: u64) -> bool {
        let (process, peer) = (self.team.process, self.team.peers[rank]);
        if !process.engine().shares_processor(peer) {
            return self.look(rank, word, number, LOOKS, None);
        }
        let mut engine = process.engine();
        (0..TIMES).any(|_| {
            engine.has_word(word, number, 1, None) || {
                engine.give_way();
                false
            }
        })
    }

    /// Where ranks share processors and all are needed: waits first for those that cannot come before this one gives
    /// way.
    #[inline]
    pub(crate) fn let_all_come(&self) -> Outcome {
        self.wait_for_same_processor(|rank| self.wait_as_for_all(rank, self.number))
    }

    /// As `wait` waits for each other rank, first those that cannot come before this one gives way.
    #[inline]
    fn wait_for_others(&self, wait: impl Fn(usize) -> Outcome) -> Outcome {
        self.wait_for_same_processor(&wait)?;
        self.others().try_for_each(wait)
    }

    #[inline(always)]
    fn wait_for_same_processor(&self, wait: impl Fn(usize) -> Outcome) -> Outcome {
        if self.slots.oversubscribed { self.wait_on_same_processor(wait) } else { Ok(()) }
    }

    /// Waits for those that can come no further before this rank gives way.
    #[inline(never)]
    fn wait_on_same_processor(&self, wait: impl Fn(usize) -> Outcome) -> Outcome {
        let shares_processor = |&rank: &usize| self.team.process.engine().shares_processor(self.team.peers[rank]);
        self.others().filter(shares_processor).try_for_each(wait)
    }
}

fn length_of<'s>(parts: impl Iterator<Item = ReadSpan<'s>>) -> usize {
    parts.map(|part| part.len()).sum()
}

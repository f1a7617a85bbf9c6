//! What a rank that waits for a lock writes down: its number in the line, and whether others may take the lock first.
//!
//! Where ranks outnumber processors, the next rank in line is often asleep. It has to be woken and scheduled before it
//! can take the lock, and a lock that is idle meanwhile costs every operation a context switch. So other ranks may
//! *overtake* the waiter: one after the other, they take the lock in its place and give it back. The waiter claims the
//! lock once it is awake. If another rank has the lock at that moment, the waiter *presses*: it gets the lock next, and
//! nobody overtakes it any more. A waiter is overtaken only after its turn has come and before it claims the lock, so
//! the order of the line stands.
//!
//! The word also counts how often its rank has been overtaken. That shows the waiter whether others still use the lock.
//!
//! Once it has been written, the word changes by compare-and-exchange only.

/// How many bits say which rank waits.
const RANK_BITS: u32 = 20;
/// How many bits count, over and over.
const COUNT_BITS: u32 = 4;
const STAGE_BITS: u32 = 2;
/// How many bits are left for the number, of which the upper ones are lost.
const NUMBER_BITS: u32 = u64::BITS - NUMBER_AT;
const COUNT_AT: u32 = STAGE_BITS;
const RANK_AT: u32 = COUNT_AT + COUNT_BITS;
const NUMBER_AT: u32 = RANK_AT + RANK_BITS;

/// Who may take the lock when this waiter's turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u64)]
enum Stage {
    /// Its rank, or another in its place: it may be asleep.
    Asleep,
    /// Nobody: another rank has the lock in its place.
    Overtaken,
    /// The same, and its rank is awake and gets the lock next.
    Pressing,
    /// Its rank alone.
    Own,
}

/// What a waiter has written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Waiter(u64);

/// What a waiter finds when its turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It has the lock.
    HasTurn,
    /// It has the lock if it changes the word to this one.
    Claims(Waiter),
    /// Another rank has the lock, and gives it to this one if it changes the word to this one.
    Presses(Waiter),
    /// Another rank has the lock, and will give it to this one.
    IsOvertaken,
}

impl Waiter {
    /// The waiter with that number. One that `may_be_overtaken` must [arrive](Self::arrive) before it takes the lock.
    #[inline]
    pub fn new(number: u64, rank: usize, may_be_overtaken: bool) -> Waiter {
        let stage = if may_be_overtaken { Stage::Asleep } else { Stage::Own };
        let rank = (rank as u64 + 1) & ((1 << RANK_BITS) - 1);
        Waiter(number << NUMBER_AT | rank << RANK_AT | stage as u64)
    }

    /// What is in a word.
    #[inline]
    pub fn read(word: u64) -> Waiter {
        Waiter(word)
    }

    /// What the word shows.
    #[inline]
    pub fn word(self) -> u64 {
        self.0
    }

    /// Its rank, if it has that number; `None`: it is an earlier waiter.
    #[inline]
    pub fn rank_of(self, number: u64) -> Option<usize> {
        let is_that = self.0 >> NUMBER_AT == number & ((1 << NUMBER_BITS) - 1);
        let rank = (self.0 >> RANK_AT) & ((1 << RANK_BITS) - 1);
        if is_that { (rank as usize).checked_sub(1) } else { None }
    }

    /// A rank that finds the gate at `number` has the lock if it changes the word to this one; `None`: this waiter
    /// can't be overtaken.
    #[inline]
    pub fn overtaken(self, number: u64) -> Option<Waiter> {
        (self.rank_of(number).is_some() && self.stage() == Stage::Asleep).then(|| self.counted().at(Stage::Overtaken))
    }

    /// Whether others may take the lock in its place, now or once it has been given back.
    #[inline]
    pub fn may_be_overtaken(self) -> bool {
        self.stage() < Stage::Pressing
    }

    /// Whether nobody has overtaken it since it was like `before`.
    #[inline]
    pub fn is_unused_since(self, before: Waiter) -> bool {
        self == before && self.stage() == Stage::Asleep
    }

    /// What the rank that has overtaken it changes the word to when it gives the lock back, and whether it has to wake
    /// the waiter.
    #[inline]
    pub fn given_back(self) -> (Waiter, bool) {
        match self.stage() {
            Stage::Pressing => (self.at(Stage::Own), true),
            _ => (self.at(Stage::Asleep), false),
        }
    }

    /// What the waiter does when its turn has come.
    #[inline]
    pub fn arrive(self) -> Arrival {
        match self.stage() {
            Stage::Asleep => Arrival::Claims(self.own()),
            Stage::Overtaken => Arrival::Presses(self.at(Stage::Pressing)),
            Stage::Pressing => Arrival::IsOvertaken,
            Stage::Own => Arrival::HasTurn,
        }
    }

    /// What the word shows when only its rank may take the lock: no value is greater.
    #[inline]
    pub fn own(self) -> Waiter {
        self.at(Stage::Own)
    }

    fn counted(self) -> Waiter {
        let mask = ((1 << COUNT_BITS) - 1) << COUNT_AT;
        Waiter(self.0 & !mask | self.0.wrapping_add(1 << COUNT_AT) & mask)
    }

    fn stage(self) -> Stage {
        match self.0 & ((1 << STAGE_BITS) - 1) {
            0 => Stage::Asleep,
            1 => Stage::Overtaken,
            2 => Stage::Pressing,
            _ => Stage::Own,
        }
    }

    fn at(self, stage: Stage) -> Waiter {
        Waiter(self.0 >> STAGE_BITS << STAGE_BITS | stage as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_by_its_number_however_large() {
        for number in [0, 5, (1 << NUMBER_BITS) - 1, 1 << NUMBER_BITS, u64::MAX] {
            let waiter = Waiter::new(number, 3, false);
            assert_eq!(waiter.rank_of(number), Some(3));
            assert_eq!(waiter.rank_of(number.wrapping_add(1)), None);
        }
        assert_eq!(Waiter::read(0).rank_of(0), None, "nobody has written anything down");
    }

    #[test]
    fn only_who_sleeps_is_overtaken_and_who_presses_gets_the_turn() {
        assert_eq!(Waiter::new(7, 0, false).overtaken(7), None);
        let asleep = Waiter::new(7, 0, true);
        assert_eq!(asleep.overtaken(6), None, "it is another's turn");
        let overtaken = asleep.overtaken(7).unwrap();
        let (again, wakes) = overtaken.given_back();
        assert!(overtaken.overtaken(7).is_none() && !wakes && again.overtaken(7).is_some());
        assert!(!again.is_unused_since(asleep) && again.is_unused_since(again), "it has been overtaken meanwhile");
        assert!(!overtaken.is_unused_since(overtaken));
        let Arrival::Presses(pressing) = overtaken.arrive() else { panic!("{:?}", overtaken.arrive()) };
        assert_eq!((pressing.arrive(), pressing.overtaken(7)), (Arrival::IsOvertaken, None));
        let (own, wakes) = pressing.given_back();
        assert!(wakes && own.arrive() == Arrival::HasTurn && own == overtaken.own() && own > pressing);
        assert_eq!(asleep.arrive(), Arrival::Claims(asleep.own()));
        let often = (0..100).fold(asleep, |waiter, _| waiter.overtaken(7).unwrap().given_back().0);
        assert_eq!(often.rank_of(7), Some(0), "what counts does not run over");
    }
}

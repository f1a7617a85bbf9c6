//! What a rank writes down while it stands in the line for a lock: which number it has, and how far its turn is.
//!
//! Where ranks outnumber processors, the rank whose turn has come often sleeps: it has to be woken, and to be given a
//! processor. If the lock were idle for so long, every operation would cost a change of processes. So others may have
//! it in the meantime, one after the other: each *overtakes* the rank whose turn it is, and gives the turn back. When
//! that rank comes it has the lock at once, or, if it has been overtaken, when that one gives the turn back; nobody can
//! overtake it from then on. A rank is overtaken only between its turn and its coming, so the line stays a line, and
//! nobody's share depends on luck. The word counts how often its rank has been overtaken: so that one sees whether
//! others go on using its turn, and may leave it to them for a while.
//!
//! The word of a place goes from one value to another by compare-and-exchange alone, once it has been written down.

/// How many bits say who stands there.
const RANK_BITS: u32 = 20;
/// How many bits count, over and over.
const COUNT_BITS: u32 = 4;
const STAGE_BITS: u32 = 2;
/// How many bits are left for the number, of which the upper ones are lost.
const NUMBER_BITS: u32 = u64::BITS - NUMBER_AT;
const COUNT_AT: u32 = STAGE_BITS;
const RANK_AT: u32 = COUNT_AT + COUNT_BITS;
const NUMBER_AT: u32 = RANK_AT + RANK_BITS;

/// How far the turn of a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u64)]
enum Stage {
    /// Its rank sleeps, or may: others may have its turn.
    Asleep,
    /// Somebody has its turn.
    Overtaken,
    /// Somebody has its turn, and its rank waits for just that.
    Pressing,
    /// The turn is, or will be, its rank's own.
    Own,
}

/// What is written down about a place in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Standing(u64);

/// What a rank finds when its turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It has the turn.
    HasTurn,
    /// It has the turn if it changes the word to this one.
    Claims(Standing),
    /// Somebody has the turn, and hears that the rank has come if it changes the word to this one.
    Presses(Standing),
    /// Somebody has the turn, and will give it back.
    IsOvertaken,
}

impl Standing {
    /// That of a rank which has `number`. If it `may_be_overtaken` it must [arrive](Self::arrive) before it enters.
    #[inline]
    pub fn new(number: u64, rank: usize, may_be_overtaken: bool) -> Standing {
        let stage = if may_be_overtaken { Stage::Asleep } else { Stage::Own };
        let rank = (rank as u64 + 1) & ((1 << RANK_BITS) - 1);
        Standing(number << NUMBER_AT | rank << RANK_AT | stage as u64)
    }

    /// What is in a word.
    #[inline]
    pub fn read(word: u64) -> Standing {
        Standing(word)
    }

    /// What the word shows.
    #[inline]
    pub fn word(self) -> u64 {
        self.0
    }

    /// The rank that stands there, if it has that number; `None`: it is somebody's who came earlier.
    #[inline]
    pub fn rank_of(self, number: u64) -> Option<usize> {
        let is_that = self.0 >> NUMBER_AT == number & ((1 << NUMBER_BITS) - 1);
        let rank = (self.0 >> RANK_AT) & ((1 << RANK_BITS) - 1);
        if is_that { (rank as usize).checked_sub(1) } else { None }
    }

    /// If it is the turn of `number`, and its rank may be overtaken: whoever changes the word to this one has the lock.
    #[inline]
    pub fn overtaken(self, number: u64) -> Option<Standing> {
        (self.rank_of(number).is_some() && self.stage() == Stage::Asleep).then(|| self.counted().at(Stage::Overtaken))
    }

    /// Whether its rank is overtaken, or may be.
    #[inline]
    pub fn may_be_overtaken(self) -> bool {
        self.stage() < Stage::Pressing
    }

    /// Whether nobody has used its turn since it was like `before`.
    #[inline]
    pub fn is_unused_since(self, before: Standing) -> bool {
        self == before && self.stage() == Stage::Asleep
    }

    /// What whoever has overtaken it changes the word to when it gives the turn back; and whether its rank is to be
    /// woken.
    #[inline]
    pub fn given_back(self) -> (Standing, bool) {
        match self.stage() {
            Stage::Pressing => (self.at(Stage::Own), true),
            _ => (self.at(Stage::Asleep), false),
        }
    }

    /// What its rank does when its turn has come.
    #[inline]
    pub fn arrive(self) -> Arrival {
        match self.stage() {
            Stage::Asleep => Arrival::Claims(self.own()),
            Stage::Overtaken => Arrival::Presses(self.at(Stage::Pressing)),
            Stage::Pressing => Arrival::IsOvertaken,
            Stage::Own => Arrival::HasTurn,
        }
    }

    /// What the word shows at last, and no less, when the turn is its rank's.
    #[inline]
    pub fn own(self) -> Standing {
        self.at(Stage::Own)
    }

    fn counted(self) -> Standing {
        let mask = ((1 << COUNT_BITS) - 1) << COUNT_AT;
        Standing(self.0 & !mask | self.0.wrapping_add(1 << COUNT_AT) & mask)
    }

    fn stage(self) -> Stage {
        match self.0 & ((1 << STAGE_BITS) - 1) {
            0 => Stage::Asleep,
            1 => Stage::Overtaken,
            2 => Stage::Pressing,
            _ => Stage::Own,
        }
    }

    fn at(self, stage: Stage) -> Standing {
        Standing(self.0 >> STAGE_BITS << STAGE_BITS | stage as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_by_its_number_however_large() {
        for number in [0, 5, (1 << NUMBER_BITS) - 1, 1 << NUMBER_BITS, u64::MAX] {
            let standing = Standing::new(number, 3, false);
            assert_eq!(standing.rank_of(number), Some(3));
            assert_eq!(standing.rank_of(number.wrapping_add(1)), None);
        }
        assert_eq!(Standing::read(0).rank_of(0), None, "nobody has written anything down");
    }

    #[test]
    fn only_who_sleeps_is_overtaken_and_who_presses_gets_the_turn() {
        assert_eq!(Standing::new(7, 0, false).overtaken(7), None);
        let asleep = Standing::new(7, 0, true);
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
        let often = (0..100).fold(asleep, |standing, _| standing.overtaken(7).unwrap().given_back().0);
        assert_eq!(often.rank_of(7), Some(0), "what counts does not run over");
    }
}

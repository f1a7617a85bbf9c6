//! What a rank writes down while it stands in the line for a lock: which number it has, and how far its turn is.
//!
//! Where ranks outnumber processors, the rank whose turn has come often sleeps: it has to be woken, and to be given a
//! processor. If the lock were idle for so long, every operation would cost a change of processes. So others may have
//! it in the meantime, one after the other: each *overtakes* the rank whose turn it is, and gives the turn back. When
//! that rank comes it has the lock at once, or, if it has been overtaken, when that one gives the turn back; nobody can
//! overtake it from then on. A rank is overtaken only between its turn and its coming, so the line stays a line, and
//! nobody's share depends on luck.
//!
//! The word of a place goes from one value to another by compare-and-exchange alone, once it has been written down.

/// How many bits say who stands there.
const RANK_BITS: u32 = 24;
const STAGE_BITS: u32 = 2;
/// How many bits are left for the number, of which the upper ones are lost.
const NUMBER_BITS: u32 = u64::BITS - RANK_BITS - STAGE_BITS;

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
        Standing(number << (RANK_BITS + STAGE_BITS) | rank << STAGE_BITS | stage as u64)
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
        let is_that = self.0 >> (RANK_BITS + STAGE_BITS) == number & ((1 << NUMBER_BITS) - 1);
        let rank = (self.0 >> STAGE_BITS) & ((1 << RANK_BITS) - 1);
        if is_that { (rank as usize).checked_sub(1) } else { None }
    }

    /// If it is the turn of `number`, and its rank may be overtaken: whoever changes the word to this one has the lock.
    #[inline]
    pub fn overtaken(self, number: u64) -> Option<Standing> {
        (self.rank_of(number).is_some() && self.stage() == Stage::Asleep).then_some(self.at(Stage::Overtaken))
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
        assert_eq!((overtaken.overtaken(7), overtaken.given_back()), (None, (asleep, false)));
        let Arrival::Presses(pressing) = overtaken.arrive() else { panic!("{:?}", overtaken.arrive()) };
        assert_eq!((pressing.arrive(), pressing.overtaken(7)), (Arrival::IsOvertaken, None));
        let (own, wakes) = pressing.given_back();
        assert!(wakes && own.arrive() == Arrival::HasTurn && own == asleep.own());
        assert_eq!(asleep.arrive(), Arrival::Claims(own));
    }
}

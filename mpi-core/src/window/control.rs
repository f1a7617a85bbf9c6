//! The words of a window that belong to one rank, and that others read and change.
//!
//! They lie in that rank's shared heap, and are of these kinds, each of which begins a cache line: the lock of the
//! rank's memory, what is attached to it, who waits for its lock with which number, who has posted for it, who has
//! completed an access to it. All are 0 at first.

use rwmpi_protocol::window::Gate;
use rwmpi_transport::{RemoteAddress, SharedPart, SharedWord};

use crate::engine::JobEngine;

const WORD: usize = size_of::<u64>();
const LINE: usize = 64;

/// In the first line.
const NEXT: usize = 0;
const SHARING: usize = WORD;
const ALL: usize = 2 * WORD;
const HOLDER: usize = 3 * WORD;
/// In the second.
const ATTACHED: usize = LINE;

/// Where a rank's words lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    words: SharedPart,
    ranks: usize,
    /// The next number in the line for the lock; counted up by whoever comes.
    pub(super) next: SharedWord,
    /// The gates of the lock; moved on by who has it.
    sharing: SharedWord,
    all: SharedWord,
    /// The peer that has the lock alone, plus 1; only a hint for who waits. Set by that peer.
    pub(super) holder: SharedWord,
}

/// How many words a rank of so many has.
pub(super) fn words(ranks: usize) -> usize {
    end(3, ranks) / WORD
}

/// Where the lists by rank begin and end.
fn end(lists: usize, ranks: usize) -> usize {
    2 * LINE + lists * (ranks * WORD).next_multiple_of(LINE)
}

impl Control {
    /// Those of `peer`, which has put them there; `None` if that can't be.
    pub(super) fn new(engine: &mut JobEngine, peer: u32, address: &RemoteAddress, ranks: usize) -> Option<Control> {
        let part = engine.shared_part(peer, address).filter(|part| part.len() == words(ranks) * WORD)?;
        let [next, sharing, all, holder] = [NEXT, SHARING, ALL, HOLDER].map(|offset| part.word(offset));
        Some(Control { words: part, ranks, next: next?, sharing: sharing?, all: all?, holder: holder? })
    }

    fn word(&self, offset: usize) -> SharedWord {
        self.words.word(offset).expect("their number was checked")
    }

    /// Where a gate of the lock shows whose turn it is.
    pub(super) fn gate(&self, gate: Gate) -> SharedWord {
        match gate {
            Gate::Sharing => self.sharing,
            Gate::All => self.all,
        }
    }

    /// What says who has that number; set by that rank.
    pub(super) fn named(&self, number: u64) -> SharedWord {
        self.word(end(0, self.ranks) + (number % self.ranks as u64) as usize * WORD)
    }

    /// How often `rank` has posted for this one; set by `rank`.
    pub(super) fn posts_of(&self, rank: usize) -> SharedWord {
        self.word(end(1, self.ranks) + rank * WORD)
    }

    /// How often `rank` has completed an access to this one; set by `rank`.
    pub(super) fn completions_of(&self, rank: usize) -> SharedWord {
        self.word(end(2, self.ranks) + rank * WORD)
    }

    /// Words about what is attached; set by the owner.
    pub(super) fn attached(&self, number: usize) -> SharedWord {
        self.word(ATTACHED + number * WORD)
    }
}

//! The words of a window that belong to one rank, and that others read and change.
//!
//! They lie in that rank's shared heap, and are of these kinds, each of which begins a cache line: the lock of the
//! rank's memory, what is attached to it, who waits for its lock with which number, who has posted for it, who has
//! completed an access to it. All are 0 at first.

use rwmpi_protocol::window::Gate;
use rwmpi_transport::{CountWord, RemoteAddress, SharedPart, SharedWord, WriteSpan};

use super::line::Line;
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
    /// The same where this process has them.
    mapped: WriteSpan<'static>,
    ranks: usize,
    /// The line for the lock.
    pub(super) line: Line,
}

/// A word of which there is one for each rank.
#[derive(Clone, Copy, Debug)]
pub(super) enum Listed {
    /// What says who has that number in the line; set by that rank.
    Named(u64),
    /// How often that rank has posted for this one; set by it.
    PostsOf(usize),
    /// How often that rank has completed an access to this one; set by it.
    CompletionsOf(usize),
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
        let mapped = engine.direct(peer, address).filter(|span| span.len() == part.len())?;
        let [next, sharing, all, holder] = [NEXT, SHARING, ALL, HOLDER].map(|offset| mapped.count_word(offset));
        let line = Line { next: next?, sharing: sharing?, all: all?, holder: holder? };
        Some(Control { words: part, mapped, ranks, line })
    }

    /// Where this process has a word.
    pub(super) fn mapped(&self, word: Listed) -> CountWord<'static> {
        self.mapped.count_word(self.offset(word)).expect("their number was checked")
    }

    fn offset(&self, word: Listed) -> usize {
        let (list, place) = match word {
            Listed::Named(number) => (0, (number % self.ranks as u64) as usize),
            Listed::PostsOf(rank) => (1, rank),
            Listed::CompletionsOf(rank) => (2, rank),
        };
        end(list, self.ranks) + place * WORD
    }

    fn word(&self, offset: usize) -> SharedWord {
        self.words.word(offset).expect("their number was checked")
    }

    /// Where a gate of the lock shows whose turn it is, for who waits.
    pub(super) fn gate(&self, gate: Gate) -> SharedWord {
        self.word(match gate {
            Gate::Sharing => SHARING,
            Gate::All => ALL,
        })
    }

    /// Such a word, for who waits.
    pub(super) fn awaited(&self, word: Listed) -> SharedWord {
        self.word(self.offset(word))
    }

    /// Words about what is attached; set by the owner.
    pub(super) fn attached(&self, number: usize) -> SharedWord {
        self.word(ATTACHED + number * WORD)
    }
}

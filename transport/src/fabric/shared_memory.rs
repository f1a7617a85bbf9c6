//! Memory that peers of one node share: parts that one writes and all read, words, and claim words (the compound
//! operations compare-and-swap and fetch-and-add).

use super::RemoteAddress;
use crate::{LentSpan, ReadSpan};

/// Claim words in a cache line.
pub const WORDS_PER_LINE: usize = 8;

/// Bytes in memory that peers share. Made by [`SharedMemory::shared_part`], for use with the same fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedPart {
    pub(crate) place: usize,
    len: usize,
}

/// A word in memory that peers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedWord(pub(crate) usize);

impl SharedPart {
    #[cfg_attr(loom, allow(dead_code))]
    pub(crate) fn new(place: usize, len: usize) -> Self {
        SharedPart { place, len }
    }

    /// How many bytes it has.
    #[inline]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// `len` of its bytes, from `offset` on; `None` if it has not that many.
    #[inline]
    pub fn part(self, offset: usize, len: usize) -> Option<SharedPart> {
        let is_part = offset <= self.len && len <= self.len - offset;
        is_part.then(|| SharedPart { place: self.place + offset, len })
    }

    /// The word at `offset`; `None` if it is not wholly within, or not aligned.
    pub fn word(self, offset: usize) -> Option<SharedWord> {
        let word = self.part(offset, size_of::<u64>())?;
        word.place.is_multiple_of(size_of::<u64>()).then_some(SharedWord(word.place))
    }

    /// So many lines from `offset` on; `None` if they are not wholly within, or not aligned.
    pub fn lines<const COUNT: usize>(self, offset: usize) -> Option<SharedLines<COUNT>> {
        const { assert!(COUNT.is_power_of_two()) };
        let first = self.part(offset, COUNT.checked_mul(SHARED_LINE)?)?.place;
        first.is_multiple_of(SHARED_LINE).then_some(SharedLines { first })
    }
}

/// Bytes of each of [`SharedLines`].
pub const SHARED_LINE: usize = 64;

/// So many lines in memory that peers share, one behind the other: their words are found without being kept. How many
/// is a constant, as it is used wherever a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedLines<const COUNT: usize> {
    first: usize,
}

impl<const COUNT: usize> SharedLines<COUNT> {
    /// The word at `offset` of a line. Lines are counted on round and round.
    ///
    /// # Panics
    /// If there is no such word in a line.
    #[inline(always)]
    pub fn word(self, line: u64, offset: usize) -> SharedWord {
        assert!(offset < SHARED_LINE && offset.is_multiple_of(size_of::<u64>()), "no word of a line");
        SharedWord(self.first + (line as usize & (COUNT - 1)) * SHARED_LINE + offset)
    }
}

/// What peers have that share memory. By default nothing is shared: then nobody has a part or a word that he could ask
/// about.
pub trait SharedMemory {
    /// Whether this peer and `peer` have memory in common: each can use the other's claim words, if there are any.
    fn shares_memory_with(&self, _peer: usize) -> bool {
        self.claim_words() > 0
    }
    /// What `peer`, or this peer itself, handed out, if all who share memory with it can use it. By convention only its
    /// owner [writes](SharedMemory::write_shared) there and [sets](SharedMemory::set_word) its words.
    fn shared_part(&self, _peer: usize, _address: &RemoteAddress) -> Option<SharedPart> {
        None
    }
    /// The bytes of a shared part, to be read. Nobody may write there meanwhile but a broken peer.
    fn shared_span(&self, _part: SharedPart) -> LentSpan<'_> {
        unreachable!("nothing is shared")
    }
    /// Copies to all bytes of a shared part, which others read next; are some of them [not near](crate::Distance)?
    ///
    /// # Panics
    /// If `from` has another length.
    fn write_shared(&mut self, _part: SharedPart, _from: ReadSpan, _far: bool) {}
    /// Has the lines of a shared part fetched, which is going to be read here. Only a hint.
    fn fetch_part(&self, _part: SharedPart) {}
    /// The value of a shared word (SeqCst, for [`SharedMemory::add_to_word`]), or 0.
    fn word(&self, _word: SharedWord) -> u64 {
        0
    }
    /// Sets a shared word of this peer's (Release: whoever reads it sees what was written before). Peers that may
    /// [watch](SharedMemory::watch) it are then to be [woken](crate::Waiting::wake).
    fn set_word(&mut self, _word: SharedWord, _value: u64) {}
    /// Adds to a shared word of any peer; gives the value before, or 0. (SeqCst: of two peers that each add to a word
    /// and then read the one to which the other adds, one sees the other's: windows' locks need it.)
    fn add_to_word(&mut self, _word: SharedWord, _amount: u64) -> u64 {
        0
    }
    /// Has the line of a shared word fetched, which is going to be read here, or, if it is this peer's, written.
    fn fetch_word(&self, _word: SharedWord, _to_write: bool) {}
    /// The next [`Waiting::idle`](crate::Waiting::idle) does not sleep if `word` is at least `value`. Of several words,
    /// if one is.
    fn watch(&mut self, _word: SharedWord, _value: u64) {}
    /// How many claim words each peer has: 0 where no peers share memory. [`WORDS_PER_LINE`] of them from a multiple of
    /// that number on share a cache line with each other and with nothing else.
    fn claim_words(&self) -> usize {
        0
    }
    /// Sets claim word `index` of this peer (Release).
    fn set_claim(&mut self, _index: usize, _value: u64) {
        unreachable!("there are no claim words")
    }
    /// Compare-and-swap on claim word `index` of `peer`, which may be this peer; `Err` has the value found.
    fn swap_claim(&mut self, _peer: usize, _index: usize, _expected: u64, _new: u64) -> Result<(), u64> {
        unreachable!("there are no claim words")
    }
    /// Fetch-and-add on claim word `index` of `peer`; gives the value before.
    fn add_to_claim(&mut self, _peer: usize, _index: usize, _amount: u64) -> u64 {
        unreachable!("there are no claim words")
    }
}

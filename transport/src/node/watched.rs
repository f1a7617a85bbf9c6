//! Words of peers that a peer looks at before it sleeps.

use crate::SharedWord;

/// As many as collectives that are usually in flight at once.
const MOST: usize = 16;

/// Those, and the values that they are to have at least.
#[derive(Default)]
pub(super) struct Watched {
    words: Vec<(SharedWord, u64)>,
    /// There were more of them than are kept, any of which may have come by now.
    are_too_many: bool,
}

impl Watched {
    #[inline]
    pub(super) fn add(&mut self, word: SharedWord, value: u64) {
        if self.words.len() < MOST {
            self.words.push((word, value));
        } else {
            self.are_too_many = true;
        }
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.are_too_many = false;
    }

    /// Whether `has_come` says so of one, or may.
    pub(super) fn any(&self, has_come: impl Fn(SharedWord, u64) -> bool) -> bool {
        self.are_too_many || self.words.iter().any(|&(word, value)| has_come(word, value))
    }
}

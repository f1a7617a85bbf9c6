//! What is true of each page of an arena: all that the allocator behind a process's `malloc` and this library tell each
//! other.
//!
//! A page is *lent* from when a peer may have been told where it lies until its block is freed, or the library knows
//! that no peer uses any. It is *private* while the process has something else there than the job's file, so that peers
//! must go by the process's memory. No page becomes private that is lent: peers would then write where nobody looks.
//! Both bits of a page lie in one word, so of a thread that lends it and one that makes it private one comes first, and
//! the other sees it.
//!
//! The words lie in the job's file, behind the arena, as the two libraries have only that in common. Peers do not look
//! at them.

use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The smallest page that a system has, bytes. Where they are larger, several marks stand for one.
const PAGE: usize = 4 << 10;
/// Pages that have their marks in one word: those of being lent below, those of being private above.
const PAGES: usize = 32;
const ALL: u64 = u32::MAX as u64;
/// The largest page that a system has.
const LARGEST_PAGE: usize = 64 << 10;

/// How a page may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is the file's, and no peer knows where it lies.
    Shared,
    /// It is the file's, and peers may use it.
    Lent,
    /// It is the process's own.
    Private,
}

/// The marks of all pages of an arena.
#[derive(Clone, Copy)]
pub struct PageMarks<'a> {
    /// Changed by the threads of the process that has the arena, the bits of several pages at a time (Relaxed: nothing
    /// hangs on the order of two words).
    words: &'a [AtomicU64],
}

/// How many bytes the marks of so many bytes of memory take, in whole pages.
pub(crate) const fn bytes_for(memory: usize) -> usize {
    (memory / PAGE / PAGES * size_of::<AtomicU64>()).next_multiple_of(LARGEST_PAGE)
}

/// The words of these bytes' pages: where each is, and which bits of its lower half.
fn places(bytes: &Range<usize>) -> impl Iterator<Item = (usize, u64)> + use<> {
    let (first, end) = (bytes.start / PAGE, bytes.end.div_ceil(PAGE));
    (first / PAGES..end.div_ceil(PAGES)).map(move |word| {
        let start = word * PAGES;
        let (from, to) = (first.max(start) - start, end.clamp(start, start + PAGES) - start);
        (word, ALL << from & !(ALL << to))
    })
}

impl<'a> PageMarks<'a> {
    /// Those in these words.
    pub fn of(words: &'a [AtomicU64]) -> Self {
        PageMarks { words }
    }

    /// How many bytes the marks of all pages before the byte at `end` take.
    pub fn bytes_up_to(&self, end: usize) -> usize {
        end.div_ceil(PAGE * PAGES) * size_of::<AtomicU64>()
    }

    /// Copies the first of these marks.
    pub fn copy_to(&self, words: &[AtomicU64]) {
        for (to, from) in words.iter().zip(self.words) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// The pages of these bytes are lent from now on, as far as they are the file's; whether all are.
    #[inline]
    pub fn lend(&self, bytes: Range<usize>) -> bool {
        places(&bytes).fold(true, |are_shared, (place, pages)| {
            let Some(word) = self.words.get(place) else { return false };
            // Once lent they are so until their block is freed, which nobody does who uses it.
            let known = word.load(Ordering::Relaxed);
            let marks = if known & pages == pages { known } else { word.fetch_or(pages, Ordering::Relaxed) };
            are_shared && marks >> PAGES & pages == 0
        })
    }

    /// These pages are private from now on, except those that are lent.
    pub fn make_private(&self, bytes: Range<usize>) {
        for (place, pages) in places(&bytes) {
            let lent = self.words[place].fetch_or(pages << PAGES, Ordering::Relaxed) & pages;
            if lent != 0 {
                self.words[place].fetch_and(!(lent << PAGES), Ordering::Relaxed);
            }
        }
    }

    /// These pages are private from now on, lent or not: the program has mapped something else there.
    pub fn make_foreign(&self, bytes: Range<usize>) {
        for (place, pages) in places(&bytes) {
            self.words[place].fetch_or(pages << PAGES, Ordering::Relaxed);
        }
    }

    /// These pages are the file's, and stay so.
    pub fn keep_shared(&self, bytes: Range<usize>) {
        for (place, pages) in places(&bytes) {
            self.words[place].fetch_or(pages, Ordering::Relaxed);
            self.words[place].fetch_and(!(pages << PAGES), Ordering::Relaxed);
        }
    }

    /// These pages are the file's, and nobody has them.
    pub fn clear(&self, bytes: Range<usize>) {
        for (place, pages) in places(&bytes) {
            let both = pages | pages << PAGES;
            if self.words[place].load(Ordering::Relaxed) & both != 0 {
                self.words[place].fetch_and(!both, Ordering::Relaxed);
            }
        }
    }

    /// No peer uses any of these pages any more.
    pub(crate) fn forget_lent(&self, bytes: Range<usize>) {
        for (place, pages) in places(&bytes) {
            self.words[place].fetch_and(!pages, Ordering::Relaxed);
        }
    }

    /// Whether any of these pages are private.
    pub fn has_private(&self, bytes: Range<usize>) -> bool {
        places(&bytes).any(|(place, pages)| self.words[place].load(Ordering::Relaxed) >> PAGES & pages != 0)
    }

    /// These bytes in order, cut where the marks change.
    pub fn runs(self, bytes: Range<usize>) -> impl Iterator<Item = (Range<usize>, Mark)> + use<'a> {
        let mut start = bytes.start;
        iter::from_fn(move || {
            (start < bytes.end).then(|| {
                let mark = self.mark(start);
                let mut end = start;
                while end < bytes.end && self.mark(end) == mark {
                    let is_of_one = end.is_multiple_of(PAGE * PAGES) && self.all_of(end) == Some(mark);
                    end = (end - end % PAGE) + if is_of_one { PAGE * PAGES } else { PAGE };
                }
                let run = start..end.min(bytes.end);
                start = run.end;
                (run, mark)
            })
        })
    }

    /// The mark of the page with this byte.
    fn mark(self, byte: usize) -> Mark {
        let (page, word) = (byte / PAGE, self.words[byte / PAGE / PAGES].load(Ordering::Relaxed));
        match (word >> (page % PAGES) & 1, word >> (page % PAGES + PAGES) & 1) {
            (_, 1) => Mark::Private,
            (1, _) => Mark::Lent,
            _ => Mark::Shared,
        }
    }

    /// The mark of all pages in the word that begins with this byte's, if they have the same.
    fn all_of(self, byte: usize) -> Option<Mark> {
        match self.words[byte / PAGE / PAGES].load(Ordering::Relaxed) {
            0 => Some(Mark::Shared),
            ALL => Some(Mark::Lent),
            word if word >> PAGES == ALL => Some(Mark::Private),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Vec<AtomicU64> {
        (0..4).map(|_| AtomicU64::new(0)).collect()
    }

    fn pages(range: Range<usize>) -> Range<usize> {
        range.start * PAGE..range.end * PAGE
    }

    #[test]
    fn what_is_lent_does_not_become_private() {
        let words = words();
        let marks = PageMarks::of(&words);
        assert!(marks.lend(pages(30..35)));
        marks.make_private(pages(0..100));
        let runs: Vec<_> = marks.runs(pages(0..128)).collect();
        let expected =
            [(0..30, Mark::Private), (30..35, Mark::Lent), (35..100, Mark::Private), (100..128, Mark::Shared)];
        assert_eq!(runs, expected.map(|(run, mark)| (pages(run), mark)));
        assert!(marks.lend(pages(31..34)) && !marks.lend(pages(29..31)) && !marks.lend(pages(34..36)));
        // By then these have been named to a peer, as part of private memory.
        assert!(marks.has_private(pages(29..31)) && !marks.has_private(pages(30..35)));
        marks.forget_lent(pages(0..31));
        marks.make_private(pages(0..100));
        assert!(marks.has_private(pages(30..31)) && !marks.has_private(pages(31..35)));
        marks.clear(pages(0..128));
        assert!(marks.lend(pages(0..128)) && !marks.lend(pages(127..129)), "the last one has no mark");
    }

    #[test]
    fn what_is_named_together_with_private_pages_is_lent() {
        let words = words();
        let marks = PageMarks::of(&words);
        marks.make_private(pages(0..40));
        assert!(!marks.lend(pages(39..50)));
        marks.make_private(pages(40..60));
        let runs: Vec<_> = marks.runs(pages(0..60)).map(|(run, mark)| (run.end / PAGE, mark)).collect();
        assert_eq!(runs, [(40, Mark::Private), (50, Mark::Lent), (60, Mark::Private)]);
        marks.keep_shared(pages(10..20));
        marks.make_private(pages(0..60));
        assert!(!marks.has_private(pages(10..20)));
        marks.make_foreign(pages(12..13));
        assert!(marks.has_private(pages(10..20)) && marks.has_private(12 * PAGE + 1..12 * PAGE + 2));
    }

    #[test]
    fn parts_of_pages_count_as_pages() {
        let words = words();
        let marks = PageMarks::of(&words);
        assert!(marks.lend(PAGE - 1..PAGE + 1) && marks.lend(70 * PAGE + 5..70 * PAGE + 5));
        let runs: Vec<_> = marks.runs(10..3 * PAGE).collect();
        assert_eq!(runs, [(10..2 * PAGE, Mark::Lent), (2 * PAGE..3 * PAGE, Mark::Shared)]);
    }
}

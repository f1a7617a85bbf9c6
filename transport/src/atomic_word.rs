//! Words of memory that others change at the same time, and may even share with other processes: atomic operations at
//! an address.
//!
//! A word is 1, 2, 4 or 8 aligned bytes. Its value is passed as a number of 64 bits, of which the upper ones are 0:
//! this library is for machines on which that is also the order of its bytes.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::{ReadSpan, WriteSpan};

const _: () =
    assert!(cfg!(target_endian = "little"), "bytes of a word are taken in the order of a little-endian number");

/// A word that anybody may change at any time. Every operation on it is one step (SeqCst) that sees what came before
/// those that it follows.
#[derive(Clone, Copy, Debug)]
pub enum AtomicWord<'a> {
    /// Of one byte.
    One(&'a AtomicU8),
    /// Of two.
    Two(&'a AtomicU16),
    /// Of four.
    Four(&'a AtomicU32),
    /// Of eight.
    Eight(&'a AtomicU64),
}

/// Does the same with a word of any length.
macro_rules! on {
    ($self:expr, $word:ident: $type:ident => $body:expr) => {
        match $self {
            AtomicWord::One($word) => {
                type $type = u8;
                u64::from($body)
            }
            AtomicWord::Two($word) => {
                type $type = u16;
                u64::from($body)
            }
            AtomicWord::Four($word) => {
                type $type = u32;
                u64::from($body)
            }
            AtomicWord::Eight($word) => {
                type $type = u64;
                $body
            }
        }
    };
}

impl<'a> WriteSpan<'a> {
    /// The word that these bytes are, if an atomic operation reaches it.
    #[inline(always)]
    pub fn word(self) -> Option<AtomicWord<'a>> {
        let start = self.start();
        if !start.addr().is_multiple_of(self.len().max(1)) {
            return None;
        }
        // SAFETY: the bytes are valid for reads and writes as long as the span is, which the result is not used beyond,
        // and aligned; any bytes are a value. Whoever else uses them at the same time does so by atomic operations, or
        // does not mind what it gets.
        unsafe {
            match self.len() {
                1 => Some(AtomicWord::One(AtomicU8::from_ptr(start))),
                2 => Some(AtomicWord::Two(AtomicU16::from_ptr(start.cast()))),
                4 => Some(AtomicWord::Four(AtomicU32::from_ptr(start.cast()))),
                8 => Some(AtomicWord::Eight(AtomicU64::from_ptr(start.cast()))),
                _ => None,
            }
        }
    }
}

impl ReadSpan<'_> {
    /// The number that these bytes are, as the value of a [word](WriteSpan::word) is one; they need not be aligned.
    ///
    /// # Panics
    /// If they are more than 8.
    #[inline(always)]
    pub fn number(self) -> u64 {
        let mut bytes = [0; size_of::<u64>()];
        assert!(self.len() <= bytes.len(), "a number of more than 64 bits");
        let start = self.start();
        // SAFETY: as many bytes as the span has.
        unsafe {
            match self.len() {
                4 => return u64::from(start.cast::<u32>().read_unaligned()),
                8 => return start.cast::<u64>().read_unaligned(),
                len => start.copy_to_nonoverlapping(bytes.as_mut_ptr(), len),
            }
        }
        u64::from_ne_bytes(bytes)
    }
}

impl WriteSpan<'_> {
    /// The converse of [`ReadSpan::number`]: as many bytes of the number as these are.
    ///
    /// # Panics
    /// If they are more than 8.
    #[inline(always)]
    pub fn set_number(self, number: u64) {
        let bytes = number.to_ne_bytes();
        assert!(self.len() <= bytes.len(), "a number of more than 64 bits");
        let start = self.start();
        // SAFETY: as many bytes as the span has.
        unsafe {
            match self.len() {
                4 => start.cast::<u32>().write_unaligned(number as u32),
                8 => start.cast::<u64>().write_unaligned(number),
                len => start.copy_from_nonoverlapping(bytes.as_ptr(), len),
            }
        }
    }
}

impl AtomicWord<'_> {
    /// The value.
    #[inline]
    pub fn load(self) -> u64 {
        on!(self, word: Number => word.load(Ordering::SeqCst) as Number)
    }

    /// Gives it another value; the one before.
    #[inline]
    pub fn swap(self, value: u64) -> u64 {
        on!(self, word: Number => word.swap(value as Number, Ordering::SeqCst))
    }

    /// Gives it another value if it has that one; the one before in any case.
    #[inline]
    pub fn compare_exchange(self, expected: u64, value: u64) -> u64 {
        on!(self, word: Number => {
            let (expected, value) = (expected as Number, value as Number);
            word.compare_exchange(expected, value, Ordering::SeqCst, Ordering::SeqCst).unwrap_or_else(|found| found)
        })
    }

    /// Adds to it, modulo its size; the value before.
    #[inline]
    pub fn fetch_add(self, amount: u64) -> u64 {
        on!(self, word: Number => word.fetch_add(amount as Number, Ordering::SeqCst))
    }

    /// Keeps the bits that are set in `bits`, too; the value before.
    #[inline]
    pub fn fetch_and(self, bits: u64) -> u64 {
        on!(self, word: Number => word.fetch_and(bits as Number, Ordering::SeqCst))
    }

    /// Sets bits; the value before.
    #[inline]
    pub fn fetch_or(self, bits: u64) -> u64 {
        on!(self, word: Number => word.fetch_or(bits as Number, Ordering::SeqCst))
    }

    /// Changes bits; the value before.
    #[inline]
    pub fn fetch_xor(self, bits: u64) -> u64 {
        on!(self, word: Number => word.fetch_xor(bits as Number, Ordering::SeqCst))
    }

    /// Gives it the value that `change` makes of the one before, however often that has changed meanwhile; the one
    /// before.
    #[inline]
    pub fn update(self, change: impl Fn(u64) -> u64) -> u64 {
        let mut seen = self.load();
        loop {
            let found = self.compare_exchange(seen, change(seen));
            if found == seen {
                return seen;
            }
            seen = found;
        }
    }
}

/// A word of eight bytes in which peers count for each other, wherever they have it mapped.
#[derive(Clone, Copy, Debug)]
pub struct CountWord<'a>(&'a AtomicU64);

impl<'a> WriteSpan<'a> {
    /// The word at `offset`; `None` if it is not wholly within, or not aligned.
    #[inline]
    pub fn count_word(self, offset: usize) -> Option<CountWord<'a>> {
        match self.part_within(offset, size_of::<u64>())?.word()? {
            AtomicWord::Eight(word) => Some(CountWord(word)),
            _ => None,
        }
    }
}

impl CountWord<'_> {
    /// The value.
    #[inline(always)]
    pub fn load(self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Sets the value. Who sees it sees what was written before.
    #[inline(always)]
    pub fn set(self, value: u64) {
        self.0.store(value, Ordering::Release);
    }

    /// Counts up by one; the value before.
    #[inline(always)]
    pub fn count_up(self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }

    /// Counts up by one if it has that value; whether it had.
    #[inline(always)]
    pub fn count_up_from(self, value: u64) -> bool {
        self.replace(value, value.wrapping_add(1))
    }

    /// Sets the value to `new` if it is `old`; whether it was.
    #[inline(always)]
    pub fn replace(self, old: u64, new: u64) -> bool {
        self.0.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// What was written before is seen by all before what is read afterwards is read.
#[inline(always)]
pub fn full_fence() {
    // Half as long as `mfence`, which orders what no memory of peers needs. The compiler orders, too, as the assembly
    // may read and write memory.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: nothing is changed: the word on the stack is given the value that it has.
    unsafe {
        std::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    std::sync::atomic::fence(Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn words_are_aligned_and_of_a_length_that_the_processor_knows() {
        let mut words = [0_u64; 4];
        let whole = WriteSpan::from(bytes_of(&mut words));
        for (offset, len, is_word) in [
            (0, 8, true),
            (4, 8, false),
            (4, 4, true),
            (6, 2, true),
            (7, 2, false),
            (7, 1, true),
            (0, 3, false),
            (0, 16, false),
        ] {
            assert_eq!(whole.part(offset, len).word().is_some(), is_word, "{len} bytes at {offset}");
        }
        assert!(WriteSpan::EMPTY.word().is_none());
    }

    #[test]
    fn operations_change_their_word_alone() {
        for len in [1, 2, 4, 8_usize] {
            let mut words = [u64::MAX; 3];
            let (mask, place) = (u64::MAX >> (64 - 8 * len), 8);
            let word = WriteSpan::from(bytes_of(&mut words)).part(place, len).word().unwrap();
            assert_eq!((word.load(), word.swap(5), word.load()), (mask, mask, 5));
            assert_eq!((word.compare_exchange(4, 9), word.compare_exchange(5, 9), word.load()), (5, 5, 9));
            assert_eq!((word.fetch_add(mask - 8), word.load()), (9, 0), "{len} bytes overflow within themselves");
            assert_eq!((word.fetch_or(12), word.fetch_and(6), word.fetch_xor(5), word.load()), (0, 12, 4, 1));
            assert_eq!((word.update(|value| value * 3 + 4), word.load()), (1, 7));
            assert_eq!(words, [u64::MAX, !mask | 7, u64::MAX]);
        }
    }

    #[test]
    fn numbers_are_read_and_written_as_words_have_them() {
        for len in 0..=8_usize {
            let mut words = [u64::MAX; 2];
            let span = WriteSpan::from(bytes_of(&mut words)).part(3, len);
            span.set_number(0x0807_0605_0403_0201);
            let expected = 0x0807_0605_0403_0201 & u64::MAX.checked_shr(64 - 8 * len as u32).unwrap_or(0);
            assert_eq!(span.as_read().number(), expected, "{len} bytes");
            let bytes = bytes_of(&mut words);
            assert!(bytes[..3].iter().chain(&bytes[3 + len..]).all(|&byte| byte == u8::MAX));
        }
    }

    #[test]
    fn counts_go_up_from_the_value_that_was_seen() {
        let mut words = [0_u64; 2];
        let whole = WriteSpan::from(bytes_of(&mut words));
        assert!(whole.count_word(4).is_none() && whole.count_word(16).is_none());
        let word = whole.count_word(8).unwrap();
        assert_eq!((word.count_up(), word.load()), (0, 1));
        assert!(!word.count_up_from(0) && word.count_up_from(1));
        word.set(word.load() + 5);
        assert_eq!(words, [0, 7]);
    }

    #[test]
    fn either_of_two_sees_the_other_after_a_fence() {
        for _ in 0..2000 {
            let mut words = [0_u64; 16];
            let whole = WriteSpan::from(bytes_of(&mut words));
            let [first, second] = [0, 64].map(|offset| whole.count_word(offset).unwrap());
            let other_sees = thread::scope(|scope| {
                let other = scope.spawn(move || {
                    first.set(1);
                    full_fence();
                    second.load() == 1
                });
                second.set(1);
                full_fence();
                let sees = first.load() == 1;
                other.join().unwrap() || sees
            });
            assert!(other_sees);
        }
    }

    #[test]
    fn no_update_is_lost() {
        let mut words = [0_u64; 1];
        let span = WriteSpan::from(bytes_of(&mut words));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    let word = span.word().unwrap();
                    for _ in 0..10_000 {
                        word.update(|value| value + 1);
                        word.fetch_add(1);
                    }
                });
            }
        });
        assert_eq!(words, [80_000]);
    }

    fn bytes_of(words: &mut [u64]) -> &mut [u8] {
        // SAFETY: the same memory.
        unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
    }
}

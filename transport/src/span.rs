//! Spans: raw memory that a peer may touch while we hold it, so never a Rust reference.
//!
//! A span is made once, where the owner of the memory is known (the typed API, the C front end), by an `unsafe` call
//! that states how long it stays valid, or from a slice whose borrow it carries along. From there on it travels as a
//! plain value, and every copy out of or into it is bounds-checked.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::ptr;

use crate::caches::{self, LINE};
use crate::copy::copy;
use crate::handover::{copy_past_caches, fetch_to_write};

/// Of how many bytes the places are fetched ahead: shorter data fit the nearest cache, longer ones had better not push
/// each other out of the next.
const FETCHED_AHEAD: RangeInclusive<usize> = 8 << 10..=256 << 10;
/// How far ahead.
const AHEAD: usize = 1024;
/// How much is copied at a time.
const PIECE: usize = 512;

/// Bytes that may be read until the operation they were given to has completed.
#[derive(Clone, Copy, Debug)]
pub struct ReadSpan<'a> {
    start: *const u8,
    len: usize,
    valid: PhantomData<&'a [u8]>,
}

/// Bytes that may be written until the operation they were given to has completed.
#[derive(Clone, Copy, Debug)]
pub struct WriteSpan<'a> {
    start: *mut u8,
    len: usize,
    valid: PhantomData<&'a mut [u8]>,
}

// SAFETY: a span is an address with a length; the contract of `new` (valid until the operation has completed) does not
// depend on the thread that uses it.
unsafe impl Send for ReadSpan<'_> {}
// SAFETY: as for `ReadSpan`.
unsafe impl Send for WriteSpan<'_> {}

impl<'a> ReadSpan<'a> {
    /// No bytes.
    pub const EMPTY: Self = ReadSpan { start: ptr::NonNull::<u8>::dangling().as_ptr(), len: 0, valid: PhantomData };

    /// A span of `len` bytes from `start`.
    ///
    /// # Safety
    /// The bytes must stay readable until the operation that the span is given to has completed, been cancelled or
    /// failed, and nobody may change them until then except through the library.
    pub const unsafe fn new(start: *const u8, len: usize) -> Self {
        ReadSpan { start, len, valid: PhantomData }
    }

    /// Where the bytes start.
    pub const fn start(self) -> *const u8 {
        self.start
    }

    /// How many bytes there are.
    pub const fn len(self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The `len` bytes that begin `offset` bytes into the span.
    ///
    /// # Panics
    /// If they do not all lie in the span.
    pub fn part(self, offset: usize, len: usize) -> Self {
        assert!(offset <= self.len && len <= self.len - offset, "part of a span lies outside it");
        // SAFETY: just checked to lie within the span, whose contract carries over.
        unsafe { ReadSpan::new(self.start.add(offset), len) }
    }

    /// The spans as one, if each begins where the one before it ends.
    ///
    /// # Safety
    /// Those that follow each other must lie in one allocation.
    pub unsafe fn joined(spans: impl IntoIterator<Item = ReadSpan<'a>>) -> Option<Self> {
        spans.into_iter().filter(|span| !span.is_empty()).try_fold(ReadSpan::EMPTY, |joined, span| {
            if joined.is_empty() {
                return Some(span);
            }
            let follows = joined.start.wrapping_add(joined.len) == span.start;
            // SAFETY: both are valid by their contracts, which carry over, and lie side by side in one allocation.
            follows.then(|| unsafe { ReadSpan::new(joined.start, joined.len + span.len) })
        })
    }

    /// Copies the whole span to the beginning of `into`. The two may be the same place but not overlap otherwise.
    ///
    /// # Panics
    /// If `into` is shorter.
    pub fn copy_to(self, into: WriteSpan<'_>) {
        assert!(self.len <= into.len, "copy into a shorter span");
        // SAFETY: both are valid for `self.len` bytes by their contracts.
        unsafe { copy(into.start, self.start, self.len) }
    }

    /// As [`ReadSpan::copy_to`], for what may be long: lines that this core has written before, but not in its nearest
    /// cache any more, are asked for ahead. Each store would wait for its own, since stores leave a core in order. What
    /// overlaps arrives in no certain form.
    ///
    /// # Panics
    /// If `into` is shorter.
    pub fn copy_long_to(self, into: WriteSpan<'_>) {
        if !FETCHED_AHEAD.contains(&self.len) {
            return self.copy_to(into);
        }
        for start in (0..self.len).step_by(PIECE) {
            let next = start + AHEAD..self.len.min(start + AHEAD + PIECE);
            next.step_by(LINE).for_each(|line| fetch_to_write(into.start.wrapping_add(line)));
            let len = PIECE.min(self.len - start);
            self.part(start, len).copy_to(into.part(start, len));
        }
    }

    /// As [`ReadSpan::copy_long_to`], for what belongs to an operation that goes through `working_set` bytes of memory
    /// in all: past the caches if they can't hold so many.
    ///
    /// # Panics
    /// If `into` is shorter.
    pub fn copy_of_working_set_to(self, into: WriteSpan<'_>, working_set: u64) {
        if caches::hold(working_set) { self.copy_long_to(into) } else { self.copy_past_caches_to(into) }
    }

    /// As [`ReadSpan::copy_to`], for lines of `into` that no cache holds until they are used, or that a peer used last:
    /// they are neither read before they are written nor taken away from that peer's core, and push nothing out.
    ///
    /// # Panics
    /// If `into` is shorter.
    pub(crate) fn copy_past_caches_to(self, into: WriteSpan<'_>) {
        #[cfg(test)]
        tests::PAST_CACHES.set(tests::PAST_CACHES.get() + 1);
        assert!(self.len <= into.len, "copy into a shorter span");
        if self.start.addr().abs_diff(into.start.addr()) < self.len {
            return self.copy_to(into);
        }
        let head = self.len.min(into.start.align_offset(LINE));
        self.part(0, head).copy_to(into);
        // SAFETY: both are valid for `self.len` bytes by their contracts, and do not overlap; the place is aligned, or
        // nothing is left.
        unsafe { copy_past_caches(into.start.add(head), self.start.add(head), self.len - head) };
    }
}

impl<'a> WriteSpan<'a> {
    /// No bytes.
    pub const EMPTY: Self = WriteSpan { start: ptr::NonNull::<u8>::dangling().as_ptr(), len: 0, valid: PhantomData };

    /// A span of `len` bytes from `start`.
    ///
    /// # Safety
    /// The bytes must stay writable until the operation that the span is given to has completed, been cancelled or
    /// failed, and nobody may touch them until then except through the library.
    pub const unsafe fn new(start: *mut u8, len: usize) -> Self {
        WriteSpan { start, len, valid: PhantomData }
    }

    /// Where the bytes start.
    pub const fn start(self) -> *mut u8 {
        self.start
    }

    /// How many bytes there are.
    pub const fn len(self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The `len` bytes that begin `offset` bytes into the span.
    ///
    /// # Panics
    /// If they do not all lie in the span.
    pub fn part(self, offset: usize, len: usize) -> Self {
        assert!(offset <= self.len && len <= self.len - offset, "part of a span lies outside it");
        // SAFETY: just checked to lie within the span, whose contract carries over.
        unsafe { WriteSpan::new(self.start.add(offset), len) }
    }

    /// The same, if it lies within the span.
    #[inline(always)]
    pub fn part_within(self, offset: usize, len: usize) -> Option<Self> {
        if offset.checked_add(len)? > self.len {
            return None;
        }
        // SAFETY: just checked to lie within the span, whose contract carries over.
        Some(unsafe { WriteSpan::new(self.start.add(offset), len) })
    }

    /// As [`ReadSpan::joined`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn joined(spans: impl IntoIterator<Item = WriteSpan<'a>>) -> Option<Self> {
        // SAFETY: the caller's; what is joined is writable since each of the spans is.
        unsafe {
            let joined = ReadSpan::joined(spans.into_iter().map(WriteSpan::as_read))?;
            Some(WriteSpan::new(joined.start.cast_mut(), joined.len))
        }
    }

    /// The same bytes, to be read.
    pub const fn as_read(self) -> ReadSpan<'a> {
        ReadSpan { start: self.start, len: self.len, valid: PhantomData }
    }
}

impl<'a> From<&'a [u8]> for ReadSpan<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        ReadSpan { start: bytes.as_ptr(), len: bytes.len(), valid: PhantomData }
    }
}

impl<'a> From<&'a mut [u8]> for WriteSpan<'a> {
    fn from(bytes: &'a mut [u8]) -> Self {
        WriteSpan { start: bytes.as_mut_ptr(), len: bytes.len(), valid: PhantomData }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// How many copies were to go past the caches.
        pub(crate) static PAST_CACHES: Cell<u32> = const { Cell::new(0) };
    }

    #[test]
    fn what_no_cache_holds_goes_past_them() {
        for (working_set, past_caches) in [(100, 0), (u64::MAX, 1)] {
            PAST_CACHES.set(0);
            copies_exactly(100, |from, into| from.copy_of_working_set_to(into, working_set));
            assert_eq!(PAST_CACHES.get(), past_caches, "of {working_set}");
        }
    }

    #[test]
    fn spans_are_one_only_if_they_follow_each_other() {
        let mut bytes = [0; 8];
        let whole = WriteSpan::from(&mut bytes[..]);
        let joined = |parts: &[(usize, usize)]| {
            // SAFETY: parts of one array.
            let joined = unsafe { WriteSpan::joined(parts.iter().map(|&(start, len)| whole.part(start, len))) };
            joined.map(|span| (span.start().addr() - whole.start().addr(), span.len()))
        };
        assert_eq!(joined(&[(1, 2), (5, 0), (3, 4)]), Some((1, 6)));
        assert_eq!(joined(&[(1, 2), (4, 2)]), None);
        assert_eq!(joined(&[(4, 2), (2, 2)]), None);
        assert_eq!(joined(&[(2, 2), (3, 2)]), None);
        // SAFETY: there are none.
        assert!(unsafe { WriteSpan::joined([WriteSpan::EMPTY]) }.is_some_and(WriteSpan::is_empty));
    }

    #[test]
    fn what_is_fetched_ahead_is_copied_exactly() {
        let (least, most) = (*FETCHED_AHEAD.start(), *FETCHED_AHEAD.end());
        for len in [0, 1, least - 1, least, least + 1, least + PIECE + 1, least + AHEAD + 1, most - 1, most, most + 1] {
            copies_exactly(len, ReadSpan::copy_long_to);
        }
    }

    #[test]
    fn what_goes_past_the_caches_is_copied_exactly() {
        for len in [0, 1, 62, 63, 64, 65, 127, 128, 1000, 5000] {
            copies_exactly(len, ReadSpan::copy_past_caches_to);
        }
        let mut bytes: Vec<u8> = (0..200).collect();
        let whole = WriteSpan::from(&mut bytes[..]);
        whole.part(0, 150).as_read().copy_past_caches_to(whole.part(50, 150));
        assert!(bytes[50..].iter().copied().eq(0..150), "spans that overlap");
    }

    fn copies_exactly(len: usize, copy: impl Fn(ReadSpan<'static>, WriteSpan<'static>)) {
        let source: Vec<u8> = (0..len).map(|index| (index % 251) as u8 + 1).collect();
        let mut target = vec![0_u8; len + 2];
        // SAFETY: both live until the end of this function, and the target is longer than `len` from its second byte
        // on.
        unsafe { copy(ReadSpan::new(source.as_ptr(), len), WriteSpan::new(target.as_mut_ptr().add(1), len)) };
        assert_eq!(&target[1..=len], &source[..]);
        assert_eq!((target[0], target[len + 1]), (0, 0), "wrote beyond {len} bytes");
    }
}

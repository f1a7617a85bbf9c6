//! Spans of memory that another peer owns, in which it will write again.
//!
//! A core of some processors goes on owning lines that it has written and another has read, and before it writes to one
//! again it has to take it back from there, each after the one before: eight times as long as writing takes otherwise.
//! What another has *written* to last it takes back many lines at a time. So whoever reads such memory writes to each
//! line a byte that is there already (docs/decisions/0047). To the reader, which has the line in its nearest cache just
//! then, that costs next to nothing.
//!
//! Only to lines of which the owner has a copy that it has not written to lately, as it has read them again after they
//! had left its caches, does a store of the reader's take as long as the owner's would. So with long data it is tried
//! on the way, and given up once it takes too long.
//!
//! Invariant: nobody changes bytes as long as they are lent. Several may read them, and write back the same, at the
//! same time.
#![allow(unsafe_code)]

use std::ops::Range;

use crate::clock::ticks;
use crate::copy::{copy, copy_writing_back, write_back};
use crate::{ReadSpan, WriteSpan};

/// Shorter data lie in the nearest cache of their owner, who takes them back fast enough.
const WRITTEN_BACK: usize = 1024;
/// From this length on it is tried,
const TRIED: usize = 32 << 10;
/// with two pieces of this length at first, and then each four times as long as the one before,
const FIRST: usize = 4 << 10;
/// but no longer than this.
const LONGEST: usize = 64 << 10;
/// If a piece takes so many times as long as the first, which is only read, the rest is only read, too.
const TOO_LONG: u64 = 2;

/// What is done with pieces of a span, one after the other.
struct Trial {
    len: usize,
    next: usize,
    piece: usize,
    /// How long the first piece has taken.
    read: Option<u64>,
    began: u64,
    pays: bool,
}

impl Trial {
    #[inline(always)]
    fn new(len: usize) -> Trial {
        Trial { len, next: 0, piece: 0, read: None, began: 0, pays: true }
    }

    /// The next piece, and whether it is to be written back. The one before has been dealt with by now.
    #[inline(always)]
    fn next(&mut self) -> Option<(Range<usize>, bool)> {
        let start = self.next;
        if !self.pays || self.len < TRIED {
            self.next = self.len;
            return (start < self.len).then_some((start..self.len, self.pays));
        }
        self.judge(ticks())
    }

    #[inline(never)]
    fn judge(&mut self, now: u64) -> Option<(Range<usize>, bool)> {
        let took = now.wrapping_sub(self.began);
        match self.read {
            // In parts of the first piece's length; only the last piece may be shorter.
            Some(read) => self.pays = took / (self.piece / FIRST).max(1) as u64 <= TOO_LONG.saturating_mul(read),
            None if self.next > 0 => self.read = Some(took),
            None => {}
        }
        let (start, longest) = (self.next, if self.next <= FIRST { FIRST } else { LONGEST.min(4 * self.piece) });
        self.piece = if self.pays { longest } else { self.len }.min(self.len - start);
        self.next = start + self.piece;
        self.began = now;
        (self.piece > 0).then_some((start..self.next, start > 0 && self.pays))
    }
}

/// Bytes that another peer owns, or this one.
#[derive(Clone, Copy, Debug)]
pub struct LentSpan<'a> {
    bytes: ReadSpan<'a>,
    is_written_back: bool,
}

impl<'a> From<ReadSpan<'a>> for LentSpan<'a> {
    /// Bytes that are only read.
    fn from(bytes: ReadSpan<'a>) -> Self {
        LentSpan { bytes, is_written_back: false }
    }
}

impl<'a> LentSpan<'a> {
    /// Bytes of a peer, which are written back if that pays and they are many.
    ///
    /// # Safety
    /// Until the operation that the span is given to has completed nobody may change the bytes, not even through the
    /// library. If they are written back, they must be writable, and no other thread of this process may use them.
    #[inline]
    pub(crate) const unsafe fn new(bytes: ReadSpan<'a>, pays: bool) -> Self {
        LentSpan { bytes, is_written_back: pays && bytes.len() >= WRITTEN_BACK }
    }

    /// The same bytes for a longer time.
    ///
    /// # Safety
    /// The memory must stay mapped, and the bytes as they are, for that long.
    #[inline]
    pub const unsafe fn extended<'b>(self) -> LentSpan<'b> {
        // SAFETY: the caller's.
        let bytes = unsafe { ReadSpan::new(self.bytes.start(), self.bytes.len()) };
        LentSpan { bytes, is_written_back: self.is_written_back }
    }

    /// The same bytes, to be read only.
    #[inline]
    pub const fn as_read(self) -> ReadSpan<'a> {
        self.bytes
    }

    /// The `len` bytes that begin `offset` bytes into the span.
    ///
    /// # Panics
    /// If they do not all lie in the span.
    pub fn part(self, offset: usize, len: usize) -> Self {
        LentSpan { bytes: self.bytes.part(offset, len), ..self }
    }

    /// Copies the whole span to the beginning of `into`. The two may be the same place but not overlap otherwise.
    ///
    /// # Panics
    /// If `into` is shorter.
    #[inline]
    pub fn copy_to(self, into: WriteSpan<'_>) {
        let overlaps = self.bytes.start().addr().abs_diff(into.start().addr()) < self.bytes.len();
        if !self.is_written_back || overlaps {
            return self.bytes.copy_to(into);
        }
        assert!(self.bytes.len() <= into.len(), "copy into a shorter span");
        let (to, from) = (into.start(), self.bytes.start().cast_mut());
        let mut trial = Trial::new(self.bytes.len());
        while let Some((piece, is_written_back)) = trial.next() {
            if is_written_back {
                self.make_up_for_first(&piece);
            }
            // SAFETY: both are valid for as many bytes, and do not overlap; for the rest the contract of `new`.
            unsafe {
                let (to, from) = (to.add(piece.start), from.add(piece.start));
                if is_written_back { copy_writing_back(to, from, piece.len()) } else { copy(to, from, piece.len()) }
            }
        }
    }

    /// Puts `function` of this span's bytes and of `other`'s into `into`, `N` bytes at a time, as often as there are so
    /// many; how many bytes that were. Each of the three may be the same place as another but not overlap it otherwise,
    /// and none that is written back may be that of `into`. What a broken peer changes nevertheless is read once.
    ///
    /// # Panics
    /// If the spans differ in length.
    #[inline(always)]
    pub fn zip_to<const N: usize>(
        self,
        other: LentSpan<'_>,
        into: WriteSpan<'_>,
        function: impl Fn([u8; N], [u8; N]) -> [u8; N],
    ) -> usize {
        const { assert!(FIRST.is_multiple_of(N), "pieces hold whole elements") };
        let len = self.bytes.len();
        assert!(len == other.bytes.len() && len == into.len(), "spans of different lengths");
        let end = len / N * N;
        if !self.is_written_back && !other.is_written_back {
            self.zip_piece_to(other, into, 0..end, &function, false);
            return end;
        }
        let mut trial = Trial::new(end);
        while let Some((piece, is_written_back)) = trial.next() {
            if is_written_back {
                self.make_up_for_first(&piece);
                other.make_up_for_first(&piece);
            }
            self.zip_piece_to(other, into, piece, &function, is_written_back);
        }
        end
    }

    /// A piece of what [`LentSpan::zip_to`] does, within all three spans.
    #[inline(always)]
    fn zip_piece_to<const N: usize>(
        self,
        other: LentSpan<'_>,
        into: WriteSpan<'_>,
        piece: Range<usize>,
        function: &impl Fn([u8; N], [u8; N]) -> [u8; N],
        is_written_back: bool,
    ) {
        let written_back = [self, other].map(|lent| is_written_back && lent.is_written_back);
        for start in piece.step_by(N) {
            let (one, other) = (self.bytes.start().wrapping_add(start), other.bytes.start().wrapping_add(start));
            // SAFETY: within all three, which are valid for as many bytes by their contracts; arrays of bytes may lie
            // anywhere. For the rest the contract of `new`.
            unsafe {
                let result = function(one.cast::<[u8; N]>().read(), other.cast::<[u8; N]>().read());
                into.start().add(start).cast::<[u8; N]>().write(result);
                if written_back[0] {
                    write_back(one.cast_mut(), N);
                }
                if written_back[1] {
                    write_back(other.cast_mut(), N);
                }
            }
        }
    }

    /// Writes the first piece back, which was only read, once that is known to pay.
    #[inline]
    fn make_up_for_first(self, piece: &Range<usize>) {
        if self.is_written_back && piece.start == 2 * FIRST {
            // SAFETY: what is tried is longer; for the rest the contract of `new`.
            unsafe { write_back(self.bytes.start().cast_mut(), FIRST) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_over_is_not_zipped() {
        let (one, mut other) = ([1_u8, 2, 3, 4, 5, 6, 7], [10_u8; 7]);
        let other = WriteSpan::from(&mut other[..]);
        let subtract = |[a, b]: [u8; 2], [c, d]: [u8; 2]| [c - a, d - b];
        assert_eq!(LentSpan::from(ReadSpan::from(&one[..])).zip_to(other.as_read().into(), other, subtract), 6);
        let mut result = [0; 7];
        other.as_read().copy_to(WriteSpan::from(&mut result[..]));
        assert_eq!(result, [9, 8, 7, 6, 5, 4, 10]);
    }

    /// How long each piece is, and whether it is written back, if each 4 KiB take so long.
    fn pieces(len: usize, took: impl Fn(usize) -> u64) -> Vec<(usize, bool)> {
        let (mut trial, mut now, mut pieces) = (Trial::new(len), 0, Vec::new());
        while let Some((piece, is_written_back)) = trial.judge(now) {
            now += took(piece.start) * piece.len().div_ceil(FIRST) as u64;
            pieces.push((piece.len(), is_written_back));
        }
        pieces
    }

    #[test]
    fn what_takes_too_long_is_given_up() {
        const KIB: usize = 1 << 10;
        let all = [(4 * KIB, false), (4 * KIB, true), (16 * KIB, true), (64 * KIB, true), (12 * KIB, true)];
        assert_eq!(pieces(100 * KIB, |_| 100), all);
        assert_eq!(pieces(100 * KIB, |start| if start == 0 { 100 } else { 200 }), all);
        let given_up = [&all[..2], &[(92 * KIB, false)]].concat();
        assert_eq!(pieces(100 * KIB, |start| if start == 0 { 100 } else { 201 }), given_up);
        let later = [&all[..3], &[(76 * KIB, false)]].concat();
        assert_eq!(pieces(100 * KIB, |start| if start < 8 * KIB { 100 } else { 900 }), later);
        assert_eq!(pieces(24 * KIB + 1, |_| 100).last(), Some(&(1, true)));
    }

    /// Each way to read, with bytes in one array and a place in another.
    #[test]
    fn what_is_lent_does_not_change() {
        let bytes: Vec<u8> = (0..3 * TRIED).map(|index| (index % 251) as u8).collect();
        for (pays, len) in [(true, 3 * TRIED), (true, TRIED + 1), (true, WRITTEN_BACK), (true, 1), (false, 3000)] {
            let (mut lent, mut place) = (bytes.clone(), vec![0; len]);
            let into = WriteSpan::from(&mut place[..]);
            // SAFETY: nobody else uses them before the end of this round.
            let span = unsafe { LentSpan::new(WriteSpan::from(&mut lent[..len]).as_read(), pays) };
            assert_eq!(span.is_written_back, pays && len >= WRITTEN_BACK);
            span.copy_to(into);
            span.zip_to(into.as_read().into(), into, |[one], [other]| [one.wrapping_add(other)]);
            LentSpan::from(into.as_read()).zip_to(span, into, |[one], [other]| [one.wrapping_add(other)]);
            assert!(place.iter().zip(&bytes).all(|(&result, &byte)| result == byte.wrapping_mul(3)));
            assert!(lent == bytes, "{len} bytes have changed");
        }
    }
}

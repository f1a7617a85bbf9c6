//! Spans of memory that another peer owns, in which it will write again.
//!
//! A core of some processors goes on owning lines that it has written and another has read, and before it writes to one again it has to take it back from
//! there, each after the one before: eight times as long as writing takes otherwise. What another has *written* to last it takes back many lines at a
//! time. So whoever reads such memory writes to each line a byte that is there already (docs/decisions/0047). To the reader, which has the line in its
//! nearest cache just then, that costs next to nothing.
//!
//! Invariant: nobody changes bytes as long as they are lent. Several may read them, and write back the same, at the same time.
#![allow(unsafe_code)]

use crate::copy::{copy_writing_back, write_back};
use crate::{ReadSpan, WriteSpan};

/// Shorter data lie in the nearest cache of their owner, who takes them back fast enough.
const WRITTEN_BACK: usize = 1024;

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
    /// Until the operation that the span is given to has completed nobody may change the bytes, not even through the library. If they are written back, they must
    /// be writable, and no other thread of this process may use them.
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
        // SAFETY: both are valid for as many bytes, and do not overlap; for the rest the contract of `new`.
        unsafe { copy_writing_back(into.start(), self.bytes.start().cast_mut(), self.bytes.len()) }
    }

    /// Puts `function` of this span's bytes and of `other`'s into `into`, `N` bytes at a time, as often as there are so many; how many bytes that
    /// were. Each of the three may be the same place as another but not overlap it otherwise, and none that is written back may be that of `into`. What a broken peer
    /// changes nevertheless is read once.
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
        let len = self.bytes.len();
        assert!(len == other.bytes.len() && len == into.len(), "spans of different lengths");
        for start in (0..len / N).map(|step| step * N) {
            // SAFETY: within all three, which are valid for as many bytes by their contracts; arrays of bytes may lie anywhere.
            unsafe {
                let (one, other) = (self.bytes.start().add(start), other.bytes.start().add(start));
                let result = function(one.cast::<[u8; N]>().read(), other.cast::<[u8; N]>().read());
                into.start().add(start).cast::<[u8; N]>().write(result);
            }
            for lent in [self, other] {
                if lent.is_written_back {
                    // SAFETY: within the span; for the rest the contract of `new`.
                    unsafe { write_back(lent.bytes.start().cast_mut().add(start), N) };
                }
            }
        }
        len / N * N
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_over_is_not_zipped() {
        let (one, mut other) = ([1_u8, 2, 3, 4, 5, 6, 7], [10_u8; 7]);
        let other = WriteSpan::from(&mut other[..]);
        let subtract = |[a, b, c]: [u8; 3], [d, e, f]: [u8; 3]| [d - a, e - b, f - c];
        assert_eq!(LentSpan::from(ReadSpan::from(&one[..])).zip_to(other.as_read().into(), other, subtract), 6);
        let mut result = [0; 7];
        other.as_read().copy_to(WriteSpan::from(&mut result[..]));
        assert_eq!(result, [9, 8, 7, 6, 5, 4, 10]);
    }

    /// Each way to read, with bytes in one array and a place in another.
    #[test]
    fn what_is_lent_does_not_change() {
        let bytes: Vec<u8> = (0..3000).map(|index| (index % 251) as u8).collect();
        for (pays, len) in [(true, 3000), (true, WRITTEN_BACK), (true, 1), (false, 3000)] {
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

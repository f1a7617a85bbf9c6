//! Copying long data, wherever the two places lie, and whoever writes to the one next.
//!
//! The C library copies them by `rep movsb`, which processors of AMD (Zen 3 and 4) execute half as fast, or ten times
//! as slowly, where the place lies 1 to 31 bytes further into its page than the source does. So it is for all large
//! blocks of the usual `malloc`, which begin 16 bytes into a page, once anything is copied there from where a page
//! begins (docs/decisions/0035).
#![allow(unsafe_code)]

use std::ptr;

use crate::caches::LINE;

/// Shorter data the C library copies by loads and stores.
const LONG: usize = 2048;
/// Bytes of a page.
const PAGE: usize = 4096;
/// How much further into its page a place lies if `rep movsb` is slow.
const SLOW: std::ops::Range<usize> = 1..32;

/// Copies `len` bytes.
///
/// # Safety
/// `from` must be readable and `to` writable for `len` bytes. The two may overlap.
#[inline(always)]
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's.
    unsafe { if len < LONG { ptr::copy(from, to, len) } else { copy_long(to, from, len) } }
}

/// As [`copy`].
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn copy_long(to: *mut u8, from: *const u8, len: usize) {
    let distance = to.addr().wrapping_sub(from.addr());
    let is_slow = SLOW.contains(&(distance % PAGE)) && distance >= len;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if is_slow && std::is_x86_feature_detected!("avx") {
        // SAFETY: the caller's; the processor has the instructions, and the place does not begin within the source.
        return unsafe { copy_by_vectors::<false>(to, from, len) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = is_slow;
    // SAFETY: the caller's.
    unsafe { ptr::copy(from, to, len) };
}

/// Copies `len` bytes from where another core has written them, and writes to each line there what is there already
/// (docs/decisions/0047).
///
/// # Safety
/// `from` must be readable and writable, and `to` writable, for `len` bytes; the two must not overlap, and until this
/// returns nobody may change the bytes at `from`.
#[inline(never)]
pub(crate) unsafe fn copy_writing_back(to: *mut u8, from: *mut u8, len: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if std::is_x86_feature_detected!("avx") {
        // SAFETY: the caller's; the processor has the instructions.
        return unsafe { copy_by_vectors::<true>(to, from, len) };
    }
    // SAFETY: the caller's.
    unsafe {
        copy(to, from, len);
        write_back(from, len);
    }
}

/// Writes to each line of `len` bytes what is there already.
///
/// # Safety
/// They must be readable and writable, and until this returns nobody may change them.
#[inline(always)]
pub(crate) unsafe fn write_back(from: *mut u8, len: usize) {
    for line in (0..len).step_by(LINE) {
        // SAFETY: within `len`.
        unsafe { from.add(line).write_volatile(from.add(line).read_volatile()) };
    }
}

/// As [`copy`], two lines at a time, or as [`copy_writing_back`].
///
/// # Safety
/// As there; and the processor must have AVX, and `to` must not lie within the source.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx")]
unsafe fn copy_by_vectors<const WRITES_BACK: bool>(to: *mut u8, from: *const u8, len: usize) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256 as load, _mm256_store_si256 as store};
    const STEP: usize = 4 * size_of::<__m256i>();
    let head = len.min(to.align_offset(STEP));
    let end = head + (len - head) / STEP * STEP;
    // SAFETY: `0 .. head`, steps up to `end`, and `end .. len` are all within `len`; from `head` on the place is
    // aligned.
    unsafe {
        ptr::copy(from, to, head);
        for start in (head..end).step_by(STEP) {
            let (from, to) = (from.add(start).cast::<__m256i>(), to.add(start).cast::<__m256i>());
            let bytes = [load(from), load(from.add(1)), load(from.add(2)), load(from.add(3))];
            // No closure: what calls it would not be compiled for the same processors.
            for (part, bytes) in bytes.into_iter().enumerate() {
                store(to.add(part), bytes);
            }
            if WRITES_BACK {
                // At once, as long as the lines are in the nearest cache.
                write_back(from.cast_mut().cast(), STEP);
            }
        }
        ptr::copy(from.add(end), to.add(end), len - end);
        if WRITES_BACK {
            write_back(from.cast_mut(), head);
            write_back(from.add(end).cast_mut(), len - end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_what_overlaps() {
        for (from, to) in [(0, 1), (1, 0), (0, 31), (LONG, 0), (0, PAGE + 1), (PAGE, 1)] {
            let mut bytes: Vec<u8> = (0..4 * PAGE).map(|index| (index % 251) as u8).collect();
            let mut copied = bytes.clone();
            copied.copy_within(from..from + 2 * PAGE, to);
            // SAFETY: both lie within the array.
            unsafe { copy(bytes.as_mut_ptr().add(to), bytes.as_ptr().add(from), 2 * PAGE) };
            assert!(bytes == copied, "from {from} to {to}");
        }
    }

    #[test]
    fn copies_exactly_wherever_the_places_lie() {
        let source: Vec<u8> = (0..4 * PAGE).map(|index| (index % 251) as u8 + 1).collect();
        for into_page in [0, 1, 8, 31, 32, PAGE - 1] {
            for len in [0, 1, LONG - 1, LONG, LONG + 1, LONG + 127, 3 * PAGE] {
                let mut target = vec![0_u8; 5 * PAGE];
                let start = (source.as_ptr().addr() + into_page).wrapping_sub(target.as_ptr().addr() + 1) % PAGE + 1;
                // SAFETY: the source has more bytes, and the target from its second to `PAGE + 1`st on, too.
                unsafe { copy(target.as_mut_ptr().add(start), source.as_ptr(), len) };
                assert_eq!(&target[start..start + len], &source[..len], "{len} bytes, {into_page} further into a page");
                assert!(
                    target[..start].iter().chain(&target[start + len..]).all(|&byte| byte == 0),
                    "wrote beyond {len} bytes"
                );
            }
        }
    }

    #[test]
    fn what_is_written_back_is_what_was_there() {
        let source: Vec<u8> = (0..4 * PAGE).map(|index| (index % 251) as u8 + 1).collect();
        for start in [0, 1, 63, 64] {
            for len in [0, 1, 63, 64, 65, 127, 128, 129, 1000, 2 * PAGE + 1] {
                let (mut lent, mut target) = (source.clone(), vec![0_u8; len + 2]);
                // SAFETY: the source has more bytes, and the target from its second on, too.
                unsafe { copy_writing_back(target.as_mut_ptr().add(1), lent.as_mut_ptr().add(start), len) };
                assert_eq!(&target[1..=len], &source[start..start + len], "{len} bytes from {start}");
                assert_eq!((target[0], target[len + 1]), (0, 0), "wrote beyond {len} bytes");
                assert!(lent == source, "{len} bytes from {start} have changed");
            }
        }
    }
}

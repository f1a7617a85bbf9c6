//! Copying what another core will read next.
//!
//! A line that one core has just written reaches the other through the cache they share, if any: the reader's request
//! goes there, from there to the writer's own cache, and back. A processor can be told to move the line towards the
//! shared cache as soon as it is written (`CLDEMOTE`), so that the request finds it. This is a hint: processors that do
//! not know it do nothing.
//!
//! A line that the reader has read before costs its writer more than that: it has to be taken away there first. On
//! processors without the hint a long payload is sooner written to memory, past all caches (docs/decisions/0028).
#![allow(unsafe_code)]

use std::sync::LazyLock;

use crate::caches::LINE;
use crate::copy::copy;

/// Lines are handed over in pieces of this many bytes: the first are on their way while the next are written.
const PIECE: usize = 256;
/// Longer copies are not handed over: the hints keep the writer from its own work longer than they save the reader.
const LONGEST: usize = 8192;

/// Copies `len` bytes to where another core will read them next.
///
/// # Safety
/// `from` must be readable and `to` writable for `len` bytes, and the two must not overlap.
#[inline]
pub(crate) unsafe fn copy_for_reader(to: *mut u8, from: *const u8, len: usize) {
    let piece = if len <= LONGEST { PIECE } else { len };
    for start in (0..len).step_by(piece) {
        let end = len.min(start + piece);
        // SAFETY: `start .. end` lies within `len`.
        unsafe { copy(to.add(start), from.add(start), end - start) };
        if len <= LONGEST {
            (start..end).step_by(LINE).for_each(|line| hand_over(to.wrapping_add(line)));
        }
    }
}

/// Copies `len` bytes past the caches, so that the lines need not be taken away from the core that has read them last:
/// it will read them from memory. They are written when this returns.
///
/// # Safety
/// As for [`copy_for_reader`]; `to` must be a multiple of 16.
pub(crate) unsafe fn copy_past_caches(to: *mut u8, from: *const u8, len: usize) {
    let streamed = if cfg!(all(target_arch = "x86_64", not(miri))) { len / LINE * LINE } else { 0 };
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: whole lines of `len` bytes, aligned to 16 at `to`; every processor of this kind has these instructions.
    unsafe {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
        for line in (0..streamed).step_by(LINE) {
            let (from, to) = (from.add(line).cast::<__m128i>(), to.add(line).cast::<__m128i>());
            // All of a line at once: halves of it would be written to memory one by one.
            let bytes: [__m128i; 4] = std::array::from_fn(|part| _mm_loadu_si128(from.add(part)));
            bytes.into_iter().enumerate().for_each(|(part, bytes)| _mm_stream_si128(to.add(part), bytes));
        }
        // Such stores are in no order with later ones.
        _mm_sfence();
    }
    // SAFETY: the rest of `len`.
    unsafe { copy(to.add(streamed), from.add(streamed), len - streamed) };
}

/// Whether this processor can be told to hand lines over.
pub(crate) fn hands_over() -> bool {
    /// Of leaf 7, in ECX.
    const CLDEMOTE: u32 = 1 << 25;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return std::arch::x86_64::__cpuid_count(7, 0).ecx & CLDEMOTE != 0;
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return CLDEMOTE == 0;
}

/// Whether a core of this processor goes on owning lines that it has written and another has read, and takes them back
/// one by one: so do those of AMD and their descendants.
pub(crate) fn owns_what_others_read() -> bool {
    /// To ask takes a virtual machine microseconds.
    static SAID: LazyLock<bool> = LazyLock::new(|| {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            let vendor = std::arch::x86_64::__cpuid(0);
            let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
            [b"AuthenticAMD", b"HygonGenuine"].iter().any(|maker| name.as_flattened() == *maker)
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        false
    });
    *SAID
}

/// Declares hints to the processor about the line with a byte. One that it does not know is no operation.
macro_rules! hints {
    ($($(#[$documentation:meta])* $visibility:vis fn $name:ident = $instruction:literal;)*) => { $(
        $(#[$documentation])*
        #[inline(always)]
        $visibility fn $name(line: *const u8) {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: a hint, which changes no register, no flag and no memory, wherever it points.
            unsafe {
                std::arch::asm!(concat!($instruction, " [{}]"), in(reg) line, options(nostack, preserves_flags));
            }
            #[cfg(not(all(target_arch = "x86_64", not(miri))))]
            let _ = line;
        }
    )* };
}

hints! {
    /// It will be read here soon.
    pub(crate) fn fetch = "prefetcht0";
    /// It will be written here soon.
    pub(crate) fn fetch_to_write = "prefetchw";
    /// Another core will want it.
    fn hand_over = "cldemote";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_exactly_every_length() {
        for len in [0, 1, 63, 64, 65, 255, 256, 257, 1000, LONGEST - 1, LONGEST, LONGEST + 1, 3 * LONGEST] {
            let source: Vec<u8> = (0..len).map(|index| (index % 251) as u8 + 1).collect();
            let mut target = vec![0_u8; len + 2];
            // SAFETY: both are longer than `len`, the target from its second byte on.
            unsafe { copy_for_reader(target.as_mut_ptr().add(1), source.as_ptr(), len) };
            assert_eq!(&target[1..=len], &source[..]);
            assert_eq!((target[0], target[len + 1]), (0, 0), "wrote beyond {len} bytes");
            let mut target = vec![0_u128; len / 16 + 3];
            // SAFETY: longer than `len` from its second element on, which is a multiple of 16.
            unsafe { copy_past_caches(target.as_mut_ptr().add(1).cast(), source.as_ptr(), len) };
            let target: Vec<u8> = target.into_iter().flat_map(u128::to_ne_bytes).collect();
            assert_eq!(&target[16..16 + len], &source[..]);
            assert!(target[..16].iter().chain(&target[16 + len..]).all(|&byte| byte == 0), "wrote beyond {len} bytes");
        }
    }
}

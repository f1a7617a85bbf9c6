//! Copies of at most one cell's payload, without a call into the C library.
#![allow(unsafe_code)]

/// Copies `len` bytes, at most 64, by a few loads and stores that may overlap.
///
/// # Safety
/// `from` must be readable and `to` writable for `len` bytes, and the two must not overlap.
#[inline(always)]
pub(crate) unsafe fn copy_small(to: *mut u8, from: *const u8, len: usize) {
    debug_assert!(len <= 64);
    // SAFETY: in each branch all offsets plus the width of the access are at most `len`.
    unsafe {
        if len == 8 {
            copy_word::<u64>(to, from, 0);
        } else if len > 32 {
            copy_word::<[u64; 4]>(to, from, 0);
            copy_word::<[u64; 4]>(to, from, len - 32);
        } else if len >= 16 {
            copy_word::<[u64; 2]>(to, from, 0);
            copy_word::<[u64; 2]>(to, from, len - 16);
        } else if len >= 8 {
            copy_word::<u64>(to, from, 0);
            copy_word::<u64>(to, from, len - 8);
        } else if len >= 4 {
            copy_word::<u32>(to, from, 0);
            copy_word::<u32>(to, from, len - 4);
        } else if len > 0 {
            copy_word::<u8>(to, from, 0);
            copy_word::<u8>(to, from, len / 2);
            copy_word::<u8>(to, from, len - 1);
        }
    }
}

/// Copies one `W` at `offset`.
///
/// # Safety
/// `from` must be readable and `to` writable for `size_of::<W>()` bytes from `offset`.
#[inline(always)]
unsafe fn copy_word<W: Copy>(to: *mut u8, from: *const u8, offset: usize) {
    // SAFETY: as promised by the caller; the unaligned accesses ask for no alignment.
    unsafe { to.add(offset).cast::<W>().write_unaligned(from.add(offset).cast::<W>().read_unaligned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_exactly_every_length() {
        let source: Vec<u8> = (1..=64).collect();
        for len in 0..=64 {
            let mut target = [0_u8; 66];
            // SAFETY: both are longer than `len`, the target from its second byte on.
            unsafe { copy_small(target.as_mut_ptr().add(1), source.as_ptr(), len) };
            assert_eq!(target[0], 0);
            assert_eq!(&target[1..=len], &source[..len]);
            assert!(target[len + 1..].iter().all(|&byte| byte == 0), "wrote beyond {len} bytes");
        }
    }
}

//! `librwmpi_heap.so`: the C library's allocator with large blocks in the shared heap, for the launcher to put in front
//! of a rank's libraries (`LD_PRELOAD`).
//!
//! It is a library of its own and not part of the MPI libraries, so that a process has it once, whichever of those it
//! loads, how many, and when: a Python program has allocated its arrays long before it loads MPI.
//!
//! Every function asks for the *next* one of its name (`next`) where the block is small or there is no shared heap. If
//! the program brings an allocator of its own, behind this library or in front of it, that one gets everything.
#![allow(unsafe_code, missing_docs)]
#![allow(clippy::missing_safety_doc)]

mod exec;
mod next;

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

use rwmpi_shared_heap::{LARGE, allocate, free as free_own, is_own, resize, usable_size};

use next::next;

/// What blocks are aligned to that ask for nothing stricter.
const ALIGNMENT: usize = 16;

/// Runs when the library is loaded, before the program has threads.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = {
    extern "C" fn begin() {
        if next::is_the_c_library() {
            rwmpi_shared_heap::begin();
            rwmpi_shared_heap::share_static_data();
        } else {
            rwmpi_shared_heap::retreat();
        }
    }
    begin
};

/// The functions behind these, for the MPI libraries' own tables: no other rank can write to the blocks that they give.
/// `free` takes these back.
#[repr(C)]
pub struct PrivateMemory {
    malloc: unsafe extern "C" fn(usize) -> *mut c_void,
    calloc: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    realloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    memalign: unsafe extern "C" fn(usize, usize) -> *mut c_void,
}

/// The functions; null if the program brings an allocator of its own, so that `free` is not this one.
#[unsafe(no_mangle)]
pub extern "C" fn rwmpi_private_memory() -> *const PrivateMemory {
    static FOUND: OnceLock<Option<PrivateMemory>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let next = next();
        let (malloc, calloc, realloc, memalign) = (next.malloc, next.calloc, next.realloc, next.memalign);
        next::is_the_c_library().then_some(PrivateMemory { malloc, calloc, realloc, memalign })
    });
    found.as_ref().map_or(std::ptr::null(), std::ptr::from_ref)
}

fn address(block: Option<NonNull<u8>>) -> Option<*mut c_void> {
    block.map(|block| block.as_ptr().cast())
}

fn large(size: usize, align: usize, zeroed: bool) -> Option<*mut c_void> {
    if size < LARGE { None } else { address(allocate(size, align, zeroed)) }
}

fn own(block: *mut c_void) -> Option<NonNull<u8>> {
    if is_own(block.cast()) { NonNull::new(block.cast()) } else { None }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: as its own.
    large(size, ALIGNMENT, false).unwrap_or_else(|| unsafe { (next().malloc)(size) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let shared = count.checked_mul(size).and_then(|bytes| large(bytes, ALIGNMENT, true));
    // SAFETY: as its own; it finds out about an overflow itself.
    shared.unwrap_or_else(|| unsafe { (next().calloc)(count, size) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    match own(block) {
        Some(block) => free_own(block),
        // SAFETY: by the caller; what is not of the shared heap is the next allocator's.
        None => unsafe { next::free(block) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    let is_own = own(block);
    match is_own {
        None if size < LARGE || block.is_null() => {
            return match large(size, ALIGNMENT, false).filter(|_| block.is_null()) {
                Some(new) => new,
                // SAFETY: by the caller; what is not of the shared heap is the next allocator's.
                None => unsafe { next::realloc(block, size) },
            };
        }
        Some(block) if size == 0 => {
            free_own(block);
            return std::ptr::null_mut();
        }
        Some(own) if size >= LARGE && resize(own, size) => return block,
        _ => {}
    }
    // SAFETY: by the caller.
    unsafe { move_block(block, is_own, size) }
}

/// Moves a block to the shared heap, or away from it.
unsafe fn move_block(block: *mut c_void, is_own: Option<NonNull<u8>>, size: usize) -> *mut c_void {
    let new = match (large(size, ALIGNMENT, false), is_own) {
        (Some(new), _) => new,
        // SAFETY: as its own.
        (None, Some(_)) => unsafe { (next().malloc)(size) },
        // No room in the shared heap: it stays where it is.
        // SAFETY: by the caller; the block is the next allocator's.
        (None, None) => return unsafe { next::realloc(block, size) },
    };
    if !new.is_null() {
        let len = match is_own {
            Some(own) => usable_size(own),
            // SAFETY: the block is the next allocator's.
            None => unsafe { next::usable_size(block) },
        };
        // SAFETY: both blocks have that many bytes, and they are two.
        unsafe { block.copy_to_nonoverlapping(new, len.min(size)) };
        // SAFETY: by the caller.
        unsafe { free(block) };
    }
    new
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    // More than there is, if it is more than can be said: `realloc` then fails as it should.
    // SAFETY: by the caller.
    unsafe { realloc(block, count.saturating_mul(size)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(place: *mut *mut c_void, align: usize, size: usize) -> c_int {
    let valid = align.is_power_of_two() && align.is_multiple_of(size_of::<*mut c_void>());
    match if valid { large(size, align, false) } else { None } {
        Some(block) => {
            // SAFETY: by the caller.
            unsafe { place.write(block) };
            0
        }
        // SAFETY: by the caller.
        None => unsafe { (next().posix_memalign)(place, align, size) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    let shared = if align.is_power_of_two() { large(size, align, false) } else { None };
    // SAFETY: as its own.
    shared.unwrap_or_else(|| unsafe { (next().aligned_alloc)(align, size) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    let shared = if align.is_power_of_two() { large(size, align, false) } else { None };
    // SAFETY: as its own.
    shared.unwrap_or_else(|| unsafe { (next().memalign)(align, size) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    // SAFETY: as for `memalign`.
    unsafe { memalign(page_size(), size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    // More than there is, if it is more than can be said.
    let pages = size.checked_next_multiple_of(page_size()).unwrap_or(usize::MAX);
    // SAFETY: as for `memalign`.
    unsafe { memalign(page_size(), pages) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    match own(block) {
        Some(own) => usable_size(own),
        // SAFETY: by the caller; what is not of the shared heap is the next allocator's.
        None => unsafe { next::usable_size(block) },
    }
}

/// Only to notice what is mapped over a block: its bytes are then no longer those of the shared file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    start: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    if flags & libc::MAP_FIXED != 0 {
        rwmpi_shared_heap::mapped_over(start as usize..(start as usize).saturating_add(len));
    }
    // SAFETY: the call that was asked for.
    unsafe { (next().mmap)(start, len, protection, flags, file, offset) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    start: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    // SAFETY: by the caller.
    unsafe { mmap(start, len, protection, flags, file, offset) }
}

/// Only for what programs expect of memory of their own: what they give back is zero when they look again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(start: *mut c_void, len: usize, advice: c_int) -> c_int {
    let next = next().madvise;
    let addresses = start as usize..(start as usize).saturating_add(len);
    let is_whole = addresses.start.is_multiple_of(page_size());
    if advice == libc::MADV_DONTNEED && is_whole && rwmpi_shared_heap::give_back(&addresses) {
        return 0;
    }
    // SAFETY: the call that was asked for.
    unsafe { next(start, len, advice) }
}

/// Only to notice what the program protects: it would be lost if `fork` mapped that anew.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(start: *mut c_void, len: usize, protection: c_int) -> c_int {
    rwmpi_shared_heap::protected(&(start as usize..(start as usize).saturating_add(len)));
    // SAFETY: the call that was asked for.
    unsafe { (next().mprotect)(start, len, protection) }
}

/// `fork` without handlers, ours among them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Fork() -> libc::pid_t {
    // SAFETY: the call that was asked for.
    rwmpi_shared_heap::around_fork(|| unsafe { (next().fork_alone)() })
}

fn page_size() -> usize {
    // SAFETY: the call has no conditions.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

//! The shared heap as the allocator of a Rust program.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::NonNull;
use std::sync::Once;

use crate::{LARGE, process};

/// Has large blocks in the shared heap and all others where they would be anyway: `Vec`s and boxes that are sent from
/// or received into are then copied once, without the kernel. Outside of a job it is the system's allocator.
///
/// ```no_run
/// #[global_allocator]
/// static HEAP: rwmpi_shared_heap::SharedHeap = rwmpi_shared_heap::SharedHeap;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SharedHeap;

static BEGUN: Once = Once::new();

fn shared(layout: Layout, zeroed: bool) -> Option<NonNull<u8>> {
    if layout.size() < LARGE {
        return None;
    }
    BEGUN.call_once(process::begin);
    process::allocate(layout.size(), layout.align(), zeroed)
}

// SAFETY: a block comes from the shared heap or from the system's allocator, and its address says from which; both keep
// the contract.
unsafe impl GlobalAlloc for SharedHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match shared(layout, false) {
            Some(block) => block.as_ptr(),
            // SAFETY: by the caller.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match shared(layout, true) {
            Some(block) => block.as_ptr(),
            // SAFETY: by the caller.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match NonNull::new(block).filter(|_| process::is_own(block)) {
            Some(block) => process::free(block),
            // SAFETY: by the caller; it is not the shared heap's, so it is the system's.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let is_own = process::is_own(block);
        if !is_own && size < LARGE {
            // SAFETY: by the caller; it is not the shared heap's, so it is the system's.
            return unsafe { System.realloc(block, layout, size) };
        }
        if is_own && size >= LARGE && NonNull::new(block).is_some_and(|block| process::resize(block, size)) {
            return block;
        }
        // SAFETY: by the caller.
        unsafe { Moving.realloc(block, layout, size) }
    }
}

/// The same memory, moved as the trait does it where nobody knows better.
struct Moving;

// SAFETY: all of it is [`SharedHeap`]'s.
unsafe impl GlobalAlloc for Moving {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller.
        unsafe { SharedHeap.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: by the caller.
        unsafe { SharedHeap.dealloc(block, layout) }
    }
}

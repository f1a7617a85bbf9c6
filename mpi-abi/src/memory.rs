//! Where the library's own memory lies: its tables are private to the process, its copies of data are not.
//!
//! The ranks of a job write into each other's memory, and large blocks of `malloc` are memory that all of them can
//! write (`librwmpi_heap.so`). A rank that writes where it should not may then damage another one's data, but must not
//! damage what the library in there relies on. So whatever may hold an address has private memory: that is every block
//! with an alignment. What has none are bytes, mostly copies of messages, and those are to lie where other ranks reach
//! them without the kernel.
//!
//! Private memory comes from the allocator behind the preloaded library, which takes it back like any other block.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// As the preloaded library has it (`mpi-abi/heap/preload`).
#[repr(C)]
struct PrivateMemory {
    malloc: unsafe extern "C" fn(usize) -> *mut c_void,
    calloc: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    realloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    memalign: unsafe extern "C" fn(usize, usize) -> *mut c_void,
}

/// What every block is aligned to.
const ALIGNMENT: usize = 16;
/// What `malloc` gives is private.
static ALL_IS_PRIVATE: u8 = 0;
/// The functions, or `ALL_IS_PRIVATE`, or null as long as nobody has asked. Stored (Relaxed) by whoever asks first, the
/// same by all: what it points at is constant.
static FOUND: AtomicPtr<PrivateMemory> = AtomicPtr::new(ptr::null_mut());

fn private_memory() -> Option<&'static PrivateMemory> {
    let all = ptr::from_ref(&ALL_IS_PRIVATE).cast_mut().cast();
    let mut found = FOUND.load(Ordering::Relaxed);
    if found.is_null() {
        found = look_up().unwrap_or(all);
        FOUND.store(found, Ordering::Relaxed);
    }
    // SAFETY: not null and not the mark, so the preloaded library's table, which stays.
    (found != all).then(|| unsafe { &*found })
}

#[cold]
fn look_up() -> Option<*mut PrivateMemory> {
    // SAFETY: the name is a C string.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"rwmpi_private_memory".as_ptr()) };
    if function.is_null() {
        return None;
    }
    // SAFETY: the function of that name has that type.
    let function = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> *mut PrivateMemory>(function) };
    Some(function()).filter(|found| !found.is_null())
}

/// The functions for a block that may hold addresses.
fn for_tables(layout: Layout) -> Option<&'static PrivateMemory> {
    if layout.align() == 1 { None } else { private_memory() }
}

/// The allocator of the MPI libraries.
#[derive(Clone, Copy, Debug, Default)]
pub struct LibraryMemory;

// SAFETY: a block comes from `malloc` or from one of the functions behind it; `free` takes back both, and the contract
// is theirs.
unsafe impl GlobalAlloc for LibraryMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(private) = for_tables(layout) else {
            // SAFETY: by the caller.
            return unsafe { System.alloc(layout) };
        };
        // SAFETY: any size will do, and the alignment is a power of two.
        let block = unsafe {
            if layout.align() <= ALIGNMENT {
                (private.malloc)(layout.size())
            } else {
                (private.memalign)(layout.align(), layout.size())
            }
        };
        block.cast()
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match for_tables(layout) {
            // SAFETY: any size will do.
            Some(private) if layout.align() <= ALIGNMENT => unsafe { (private.calloc)(1, layout.size()) }.cast(),
            // SAFETY: by the caller.
            Some(_) => unsafe { Plain.alloc_zeroed(layout) },
            // SAFETY: by the caller.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: by the caller; `free` knows whose it is.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(private) = for_tables(layout) else {
            // SAFETY: by the caller.
            return unsafe { System.realloc(block, layout, size) };
        };
        if layout.align() <= ALIGNMENT {
            // SAFETY: by the caller; all blocks of such a layout come from functions behind `malloc`.
            return unsafe { (private.realloc)(block.cast(), size) }.cast();
        }
        // SAFETY: by the caller.
        unsafe { Plain.realloc(block, layout, size) }
    }
}

/// The same memory, zeroed and moved as the trait does it where nobody knows better.
struct Plain;

// SAFETY: all of it is [`LibraryMemory`]'s.
unsafe impl GlobalAlloc for Plain {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller.
        unsafe { LibraryMemory.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: by the caller.
        unsafe { LibraryMemory.dealloc(block, layout) }
    }
}

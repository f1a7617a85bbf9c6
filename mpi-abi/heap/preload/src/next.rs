//! The allocator behind this library: the next functions of the same names, which are the C library's unless the
//! program brings its own.
//!
//! They are looked up at the first call, whoever makes it: constructors of other libraries allocate before ours runs.
//! The look-up itself may allocate; what it asks for then comes from a small reserve, which is never given back.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

type Address = *mut c_void;

type Malloc = unsafe extern "C" fn(usize) -> Address;
type Calloc = unsafe extern "C" fn(usize, usize) -> Address;
type PosixMemalign = unsafe extern "C" fn(*mut Address, usize, usize) -> c_int;
type Realloc = unsafe extern "C" fn(Address, usize) -> Address;
type Free = unsafe extern "C" fn(Address);
type Mmap = unsafe extern "C" fn(Address, usize, c_int, c_int, c_int, i64) -> Address;
type Madvise = unsafe extern "C" fn(Address, usize, c_int) -> c_int;
type Exec = unsafe extern "C" fn(*const c_char, *const *const c_char, *const *const c_char) -> c_int;
/// Of a function with any number of arguments, which are passed on as they are.
pub(crate) type Any = unsafe extern "C" fn();
type Mprotect = unsafe extern "C" fn(Address, usize, c_int) -> c_int;
type ForkAlone = unsafe extern "C" fn() -> libc::pid_t;
type UsableSize = unsafe extern "C" fn(Address) -> usize;

/// The functions.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    pub(crate) malloc: Malloc,
    pub(crate) calloc: Calloc,
    pub(crate) posix_memalign: PosixMemalign,
    pub(crate) aligned_alloc: Calloc,
    pub(crate) memalign: Calloc,
    pub(crate) mmap: Mmap,
    pub(crate) madvise: Madvise,
    pub(crate) realloc: Realloc,
    pub(crate) mprotect: Mprotect,
    pub(crate) fork_alone: ForkAlone,
    pub(crate) execve: Exec,
    pub(crate) execvpe: Exec,
    pub(crate) execl: Any,
    pub(crate) execlp: Any,
    free: Free,
    usable_size: UsableSize,
}

/// What stands in while the functions are looked up.
const RESERVE: Next = Next {
    malloc: reserve::malloc,
    calloc: reserve::calloc,
    posix_memalign: reserve::posix_memalign,
    aligned_alloc: reserve::memalign,
    memalign: reserve::memalign,
    mmap: map_by_the_kernel,
    madvise: advise_the_kernel,
    execve: execute_by_the_kernel,
    execvpe: execute_by_the_kernel,
    execl: fail_to_execute,
    execlp: fail_to_execute,
    mprotect: protect_by_the_kernel,
    fork_alone: fork_by_the_kernel,
    realloc: reserve::realloc,
    free: reserve::free,
    usable_size: reserve::usable_size,
};

struct Table(UnsafeCell<Next>);

// SAFETY: written once, by the first caller of `next`, before any other thread exists or `READY` tells others to read
// it.
unsafe impl Sync for Table {}

static TABLE: Table = Table(UnsafeCell::new(RESERVE));
static READY: AtomicBool = AtomicBool::new(false);
static LOOKING: AtomicBool = AtomicBool::new(false);

/// The functions to go on to.
#[inline]
pub(crate) fn next() -> &'static Next {
    if READY.load(Ordering::Acquire) {
        // SAFETY: it is not written any more.
        return unsafe { &*TABLE.0.get() };
    }
    look_up()
}

#[cold]
fn look_up() -> &'static Next {
    if LOOKING.swap(true, Ordering::Acquire) {
        // Called by the look-up itself. (Or by another thread: but the first thread that a program starts allocates
        // before it runs.)
        return &RESERVE;
    }
    // SAFETY: each has the type of the function of that name; nobody else writes to the table.
    unsafe {
        *TABLE.0.get() = Next {
            malloc: std::mem::transmute::<Address, Malloc>(symbol(c"malloc")),
            calloc: std::mem::transmute::<Address, Calloc>(symbol(c"calloc")),
            posix_memalign: std::mem::transmute::<Address, PosixMemalign>(symbol(c"posix_memalign")),
            aligned_alloc: std::mem::transmute::<Address, Calloc>(symbol(c"aligned_alloc")),
            memalign: std::mem::transmute::<Address, Calloc>(symbol(c"memalign")),
            mmap: std::mem::transmute::<Address, Mmap>(symbol(c"mmap")),
            madvise: std::mem::transmute::<Address, Madvise>(symbol(c"madvise")),
            execve: std::mem::transmute::<Address, Exec>(symbol(c"execve")),
            execvpe: std::mem::transmute::<Address, Exec>(symbol(c"execvpe")),
            execl: std::mem::transmute::<Address, Any>(symbol(c"execl")),
            execlp: std::mem::transmute::<Address, Any>(symbol(c"execlp")),
            mprotect: std::mem::transmute::<Address, Mprotect>(symbol(c"mprotect")),
            // It has that from version 2.34 on.
            fork_alone: match find(c"_Fork") {
                found if found.is_null() => fork_by_the_kernel,
                found => std::mem::transmute::<Address, ForkAlone>(found),
            },
            realloc: std::mem::transmute::<Address, Realloc>(symbol(c"realloc")),
            free: std::mem::transmute::<Address, Free>(symbol(c"free")),
            usable_size: std::mem::transmute::<Address, UsableSize>(symbol(c"malloc_usable_size")),
        };
    }
    READY.store(true, Ordering::Release);
    // SAFETY: as in `next`.
    unsafe { &*TABLE.0.get() }
}

/// `mmap` without a library.
unsafe extern "C" fn map_by_the_kernel(
    start: Address,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> Address {
    let [protection, flags, file] = [protection, flags, file].map(c_long::from);
    // SAFETY: the call that was asked for.
    unsafe { libc::syscall(libc::SYS_mmap, start, len, protection, flags, file, offset) as Address }
}

/// `madvise` without a library.
unsafe extern "C" fn advise_the_kernel(start: Address, len: usize, advice: c_int) -> c_int {
    // SAFETY: the call that was asked for.
    unsafe { libc::syscall(libc::SYS_madvise, start, len, c_long::from(advice)) as c_int }
}

/// `execve` without a library.
unsafe extern "C" fn execute_by_the_kernel(
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    // SAFETY: the call that was asked for.
    unsafe { libc::syscall(libc::SYS_execve, path, arguments, environment) as c_int }
}

/// `execl` in the middle of a look-up, which nobody calls there: it returns, and so has failed.
unsafe extern "C" fn fail_to_execute() {}

/// `mprotect` without a library.
unsafe extern "C" fn protect_by_the_kernel(start: Address, len: usize, protection: c_int) -> c_int {
    // SAFETY: the call that was asked for.
    unsafe { libc::syscall(libc::SYS_mprotect, start, len, c_long::from(protection)) as c_int }
}

/// `_Fork` without a library that has it.
unsafe extern "C" fn fork_by_the_kernel() -> libc::pid_t {
    // SAFETY: the call that was asked for: a child with the same memory, and a signal to its parent when it ends.
    unsafe { libc::syscall(libc::SYS_clone, c_long::from(libc::SIGCHLD), 0, 0, 0, 0) as libc::pid_t }
}

/// The next function of that name, if there is one; the C library's, should that have been put in front of this one.
fn find(name: &CStr) -> Address {
    // SAFETY: the names are C strings, and the library is loaded already.
    unsafe {
        let next = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
        if !next.is_null() {
            return next;
        }
        let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() { library } else { libc::dlsym(library, name.as_ptr()) }
    }
}

/// The same for a function that is called rarely, and never where nothing may be looked up.
///
/// # Safety
/// `F` must be the type of the functions of that name.
pub(crate) unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    let found = find(name);
    // SAFETY: not null, and of that type by the caller's word.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy::<Address, F>(&found) })
}

/// The next function of that name. The C library has all of them.
fn symbol(name: &CStr) -> Address {
    let found = find(name);
    if found.is_null() {
        // SAFETY: ends the process. There is no allocator, so there is nobody to say it with.
        unsafe { libc::abort() }
    }
    found
}

/// Whether this library's functions are the program's, and the C library's are next.
pub(crate) fn is_the_c_library() -> bool {
    let next = next();
    // By a name that nobody else has: those of the allocator mean the program's where it has them.
    let ours = object_of(is_the_c_library as *const () as usize);
    let is_ours = |name: &CStr| {
        // SAFETY: the name is a C string.
        let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        object_of(first as usize) == ours
    };
    let of_c = object_of(libc::getenv as *const () as usize);
    [c"malloc", c"free", c"realloc"].into_iter().all(is_ours)
        && of_c.is_some()
        && object_of(next.malloc as *const () as usize) == of_c
        && object_of(next.free as *const () as usize) == of_c
}

/// Where the library that this function belongs to is loaded.
fn object_of(function: usize) -> Option<usize> {
    // SAFETY: all-zero is a valid value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the place for the answer is valid, and the address is only looked up.
    let found = unsafe { libc::dladdr(function as *const c_void, &mut info) };
    (found != 0).then_some(info.dli_fbase as usize)
}

/// Gives back a block that is not the shared heap's.
pub(crate) unsafe fn free(block: Address) {
    if !reserve::has(block) {
        // SAFETY: by the caller.
        unsafe { (next().free)(block) }
    }
}

/// Changes the size of a block that is not the shared heap's.
pub(crate) unsafe fn realloc(block: Address, size: usize) -> Address {
    if reserve::has(block) {
        // SAFETY: by the caller.
        return unsafe { reserve::realloc(block, size) };
    }
    // SAFETY: by the caller.
    unsafe { (next().realloc)(block, size) }
}

/// The size of a block that is not the shared heap's.
pub(crate) unsafe fn usable_size(block: Address) -> usize {
    if reserve::has(block) {
        // SAFETY: by the caller.
        return unsafe { reserve::usable_size(block) };
    }
    // SAFETY: by the caller.
    unsafe { (next().usable_size)(block) }
}

/// The reserve: each block behind a word with its size.
mod reserve {
    use super::*;

    const SIZE: usize = 16 << 10;
    const HEADER: usize = 16;

    #[repr(C, align(64))]
    struct Memory(UnsafeCell<[u8; SIZE]>);

    // SAFETY: each byte is handed out at most once.
    unsafe impl Sync for Memory {}

    static MEMORY: Memory = Memory(UnsafeCell::new([0; SIZE]));
    static USED: AtomicUsize = AtomicUsize::new(0);

    fn start() -> usize {
        MEMORY.0.get() as usize
    }

    pub(super) fn has(block: Address) -> bool {
        (block as usize).wrapping_sub(start()) < SIZE
    }

    pub(super) unsafe extern "C" fn memalign(align: usize, size: usize) -> Address {
        let align = align.max(HEADER);
        let mut used = USED.load(Ordering::Relaxed);
        loop {
            let place = (start() + used + HEADER).next_multiple_of(align) - start();
            let Some(end) = place.checked_add(size).filter(|&end| end <= SIZE) else { return std::ptr::null_mut() };
            match USED.compare_exchange_weak(used, end.next_multiple_of(HEADER), Ordering::Relaxed, Ordering::Relaxed) {
                Err(now) => used = now,
                Ok(_) => {
                    let block = MEMORY.0.get().cast::<u8>().wrapping_add(place);
                    // SAFETY: the bytes before and from `place` on are within the reserve and now ours; aligned for a
                    // word.
                    unsafe { block.sub(HEADER).cast::<usize>().write(size) };
                    return block.cast();
                }
            }
        }
    }

    pub(super) unsafe extern "C" fn malloc(size: usize) -> Address {
        // SAFETY: no conditions.
        unsafe { memalign(HEADER, size) }
    }

    pub(super) unsafe extern "C" fn calloc(count: usize, size: usize) -> Address {
        // The reserve is zero, and never used twice.
        // SAFETY: no conditions.
        count.checked_mul(size).map_or(std::ptr::null_mut(), |bytes| unsafe { malloc(bytes) })
    }

    pub(super) unsafe extern "C" fn posix_memalign(place: *mut Address, align: usize, size: usize) -> c_int {
        // SAFETY: no conditions.
        let block = unsafe { memalign(align, size) };
        if block.is_null() {
            return libc::ENOMEM;
        }
        // SAFETY: by the caller.
        unsafe { place.write(block) };
        0
    }

    pub(super) unsafe extern "C" fn free(_block: Address) {}

    pub(super) unsafe extern "C" fn usable_size(block: Address) -> usize {
        // SAFETY: the block is one of the reserve: its size stands before it.
        unsafe { block.cast::<u8>().sub(HEADER).cast::<usize>().read() }
    }

    /// Moves the block to wherever blocks come from now.
    pub(super) unsafe extern "C" fn realloc(block: Address, size: usize) -> Address {
        // SAFETY: as its own.
        let new = unsafe { (next().malloc)(size) };
        if !new.is_null() && !block.is_null() {
            // SAFETY: both have that many bytes, and they are two.
            unsafe { block.copy_to_nonoverlapping(new, usable_size(block).min(size)) };
        }
        new
    }
}

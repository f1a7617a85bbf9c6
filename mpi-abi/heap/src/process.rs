//! The heap of this process: the only global state, and who may touch it when.
//!
//! The heap is behind a lock. `HOLDER` says which thread has it, so that a thread that asks again is not made to wait
//! for itself. At `fork` the lock is taken before and given back after, in both processes, by the same thread; what it
//! needs in between waits in `FORKING`.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::fork::Fork;
use crate::heap::{Heap, page_size};
use crate::static_data::StaticData;

/// `off` switches the shared heap off.
const SWITCH: &CStr = c"RWMPI_SHARED_HEAP";
/// The job's file, by its descriptor and more, and this process's place in it, as the launcher says them
/// (`rwmpi_transport::JOB_FD`, `PLACE`).
const JOB: &CStr = c"RWMPI_JOB_FD";
const PLACE: &CStr = c"RWMPI_LOCAL_RANK";

/// So long `_Fork` waits for another thread that uses the heap. In the handler of a signal that thread may be waiting
/// for what this one has.
const PATIENCE: Duration = Duration::from_secs(1);

/// Nobody has looked at the environment yet.
const UNKNOWN: u8 = 0;
/// To be opened at the first large block.
const WANTED: u8 = 1;
const OPEN: u8 = 2;
/// There is none and will be none. Blocks of before, if any, are still known.
const OFF: u8 = 3;

/// How far it is. Changed by `begin`, and by whoever holds the lock.
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
/// The job's descriptor and the rank, written by `begin` before `STATE`.
static JOB_FILE: AtomicI32 = AtomicI32::new(-1);
static NUMBER: AtomicUsize = AtomicUsize::new(0);
/// Where the blocks are: the arena, or, in a child, what was copied from it.
static BLOCKS: Addresses = Addresses::none();
/// Where the program's static data are, if they are in the arena.
static STATIC_DATA: Addresses = Addresses::none();

/// A range of addresses: none as long as the length is 0. The start is written once in a process, before the length,
/// which then only grows, but for a child's; whoever has an address in it has synchronized with who wrote them, since
/// the address came from there.
struct Addresses {
    start: AtomicUsize,
    len: AtomicUsize,
}

impl Addresses {
    const fn none() -> Addresses {
        Addresses { start: AtomicUsize::new(0), len: AtomicUsize::new(0) }
    }

    fn set(&self, addresses: &Range<usize>) {
        self.start.store(addresses.start, Ordering::Relaxed);
        self.len.store(addresses.len(), Ordering::Release);
    }

    #[inline]
    fn contain(&self, address: usize) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        address.wrapping_sub(self.start.load(Ordering::Relaxed)) < len
    }

    fn overlap(&self, addresses: &Range<usize>) -> bool {
        let (start, len) = (self.start.load(Ordering::Relaxed), self.len.load(Ordering::Relaxed));
        len != 0 && addresses.start < start + len && start < addresses.end
    }
}

static HEAP: Mutex<Option<Heap>> = Mutex::new(None);
/// The thread that holds the lock, 0 for none. Written by that thread only.
static HOLDER: AtomicUsize = AtomicUsize::new(0);
static FORKING: Forking = Forking(UnsafeCell::new(None));

/// What the forking thread keeps between the handlers: the lock, and what is for the child, if this is the process that
/// has the arena.
type Kept = (MutexGuard<'static, Option<Heap>>, Option<Fork>);

struct Forking(UnsafeCell<Option<Kept>>);

// SAFETY: only the thread in `HOLDER` looks into it, which is the one that filled it, or, in the child, its image, the
// only thread there.
unsafe impl Sync for Forking {}

/// Looks at the environment: whether this process is a rank that shall have a shared heap. To be called before the
/// process has threads, or at the latest before its first large block; the first call counts.
pub fn begin() {
    let wanted = job_of_environment();
    if let Some((file, rank)) = wanted {
        JOB_FILE.store(file, Ordering::Relaxed);
        NUMBER.store(rank, Ordering::Relaxed);
    }
    let state = if wanted.is_some() { WANTED } else { OFF };
    let first = STATE.compare_exchange(UNKNOWN, state, Ordering::Release, Ordering::Relaxed).is_ok();
    if first && wanted.is_some() {
        // Before the program has handlers: those that use large blocks, or its variables, are then called outside of
        // ours. SAFETY: the handlers stay as long as the process.
        let registered =
            unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child)) };
        if registered != 0 {
            STATE.store(OFF, Ordering::Relaxed);
        }
    }
}

/// Has the program's static data in the heap, if they are large. For a library that is loaded before the program runs,
/// after [`begin`], and that is not part of the program: its own data may not move.
pub fn share_static_data() {
    if STATE.load(Ordering::Relaxed) == WANTED
        && let Some(data) = StaticData::of_program(page_size())
    {
        access(|access| {
            if let Access::Free(heap) = access {
                become_open(heap, Some(data));
            }
        });
    }
}

/// No more blocks: for a process whose allocator turns out to be another.
pub fn retreat() {
    STATE.store(OFF, Ordering::Relaxed);
}

fn job_of_environment() -> Option<(i32, usize)> {
    let switch = variable(SWITCH).unwrap_or_default();
    if switch == "off" {
        return None;
    }
    Some((variable(JOB)?.split(':').next()?.parse().ok()?, variable(PLACE)?.parse().ok()?))
}

/// A variable of the environment, without the allocations and the lock of the standard library.
fn variable(name: &CStr) -> Option<&'static str> {
    // SAFETY: the name is a C string.
    let value = NonNull::new(unsafe { libc::getenv(name.as_ptr()) })?;
    // SAFETY: what `getenv` gives is a C string; the callers read it before anybody changes the environment.
    unsafe { CStr::from_ptr(value.as_ptr()) }.to_str().ok()
}

fn this_thread() -> usize {
    // SAFETY: the call has no conditions.
    unsafe { libc::pthread_self() as usize }
}

/// What a thread gets that asks for the heap.
enum Access<'a> {
    /// The heap.
    Free(&'a mut Option<Heap>),
    /// The heap, in a handler of somebody else around `fork`: nothing new may be begun.
    AroundFork(&'a mut Option<Heap>),
    /// Nothing: the caller is already at work on it.
    Nested,
}

fn access<R>(work: impl FnOnce(Access<'_>) -> R) -> R {
    let me = this_thread();
    if HOLDER.load(Ordering::Relaxed) == me {
        // SAFETY: this thread is the holder. No reference into the cell is alive: the handlers below call nothing that
        // comes here while they have one, except while the copy is made, and that neither asks for large blocks nor
        // frees any.
        return match unsafe { &mut *FORKING.0.get() } {
            Some((guard, _)) => work(Access::AroundFork(guard)),
            None => work(Access::Nested),
        };
    }
    // Nothing panics with the heap in disorder.
    let mut guard = HEAP.lock().unwrap_or_else(PoisonError::into_inner);
    HOLDER.store(me, Ordering::Relaxed);
    let result = work(Access::Free(&mut guard));
    HOLDER.store(0, Ordering::Relaxed);
    result
}

/// Takes the arena, if that can be done, and has these data in it.
fn become_open(heap: &mut Option<Heap>, static_data: Option<StaticData>) {
    *heap = open(static_data);
    STATE.store(if heap.is_some() { OPEN } else { OFF }, Ordering::Release);
}

fn open(static_data: Option<StaticData>) -> Option<Heap> {
    let (file, rank) = (JOB_FILE.load(Ordering::Relaxed), NUMBER.load(Ordering::Relaxed));
    // SAFETY: if it is not open, the call fails; what it may be instead of the job's file is only looked at. Nobody
    // closes it during the call but a program that closes what it does not know, at the wrong moment.
    let heap = unsafe { (libc::fcntl(file, libc::F_GETFD) != -1).then(|| BorrowedFd::borrow_raw(file)) }
        .and_then(|file| Heap::take(file, rank, static_data).ok())?;
    BLOCKS.set(&heap.addresses());
    if let Some(addresses) = heap.static_addresses() {
        STATIC_DATA.set(&addresses);
    }
    Some(heap)
}

/// Blocks may have more addresses now.
fn note_growth(heap: &Heap) {
    let addresses = heap.addresses();
    if heap.is_owner() && !BLOCKS.contain(addresses.end - 1) {
        BLOCKS.set(&addresses);
    }
}

/// A large block, zeroed if so wanted; `align` is a power of two. `None`: the caller has to get it elsewhere.
pub fn allocate(size: usize, align: usize, zeroed: bool) -> Option<NonNull<u8>> {
    if !matches!(STATE.load(Ordering::Acquire), WANTED | OPEN) {
        return None;
    }
    access(|access| {
        let Access::Free(heap) = access else { return None };
        if STATE.load(Ordering::Relaxed) == WANTED {
            become_open(heap, None);
        }
        let heap = heap.as_mut()?;
        let block = heap.allocate(size, align, zeroed);
        note_growth(heap);
        block
    })
}

/// Whether an address lies in the arena, and so can only be a block of this heap.
#[inline]
pub fn is_own(block: *const u8) -> bool {
    BLOCKS.contain(block as usize)
}

fn with_heap<R>(work: impl FnOnce(&mut Heap) -> R) -> Option<R> {
    access(|access| match access {
        Access::Free(heap) | Access::AroundFork(heap) => heap.as_mut().map(work),
        Access::Nested => None,
    })
}

/// Takes back a block for which [`is_own`] holds.
pub fn free(block: NonNull<u8>) {
    if with_heap(|heap| heap.free(block)) != Some(true) {
        misuse();
    }
}

/// How many bytes a block for which [`is_own`] holds has for the program.
pub fn usable_size(block: NonNull<u8>) -> usize {
    with_heap(|heap| heap.usable_size(block)).flatten().unwrap_or_else(|| misuse())
}

/// Makes a block for which [`is_own`] holds longer or shorter without moving it; false if that is not possible.
pub fn resize(block: NonNull<u8>, size: usize) -> bool {
    // Around `fork` a block stays as it was copied.
    access(|access| match access {
        Access::Free(Some(heap)) => {
            let resized = heap.resize(block, size);
            note_growth(heap);
            resized
        }
        _ => false,
    })
}

/// The program maps something over these addresses.
pub fn mapped_over(addresses: Range<usize>) {
    if are_ours(&addresses) {
        with_heap(|heap| heap.mapped_over(&addresses));
    }
}

/// The program gives whole pages at these addresses back: they are zero from then on. False if they are not the heap's,
/// all of them, or the system refuses.
pub fn give_back(addresses: &Range<usize>) -> bool {
    are_ours(addresses) && with_heap(|heap| heap.discard(addresses)) == Some(true)
}

/// The program changes how these addresses are protected.
pub fn protected(addresses: &Range<usize>) {
    if are_ours(addresses) {
        with_heap(|heap| heap.protected(addresses));
    }
}

/// Whether the heap has some of these addresses.
fn are_ours(addresses: &Range<usize>) -> bool {
    BLOCKS.overlap(addresses) || STATIC_DATA.overlap(addresses)
}

/// As other allocators do when the program frees what is not its own.
#[cold]
fn misuse() -> ! {
    let text = b"rwmpi: free or realloc of an address that is no block, or was freed already\n";
    let _ = rustix::io::write(rustix::stdio::stderr(), text);
    std::process::abort()
}

extern "C" fn before_fork() {
    let mut guard = HEAP.lock().unwrap_or_else(PoisonError::into_inner);
    HOLDER.store(this_thread(), Ordering::Relaxed);
    if let Some(heap) = guard.as_mut().filter(|heap| heap.is_owner()) {
        heap.settle();
        heap.forget_dead();
    }
    prepare(guard);
}

/// What `before_fork` does, without memory of an allocator's.
fn prepare(mut guard: MutexGuard<'static, Option<Heap>>) {
    let fork = guard.as_mut().filter(|heap| heap.is_owner()).map(Fork::prepare);
    // SAFETY: this thread is the holder, and has no reference into the cell.
    unsafe { *FORKING.0.get() = Some((guard, fork)) };
}

/// Makes a child by `fork`, which is a function that calls no handlers, with what our handlers do around it. In the
/// handler of a signal that has come while this thread was at work on the heap, the child shares its parent's memory.
pub fn around_fork(fork: impl FnOnce() -> libc::pid_t) -> libc::pid_t {
    if HOLDER.load(Ordering::Relaxed) == this_thread() {
        return fork();
    }
    let begun = Instant::now();
    let guard = loop {
        match HEAP.try_lock() {
            Ok(guard) => break guard,
            Err(_) if begun.elapsed() > PATIENCE => return fork(),
            Err(_) => std::thread::yield_now(),
        }
    };
    HOLDER.store(this_thread(), Ordering::Relaxed);
    prepare(guard);
    let child = fork();
    if child == 0 {
        after_fork_in_child()
    } else {
        after_fork_in_parent()
    }
    child
}

extern "C" fn after_fork_in_parent() {
    // SAFETY: this thread is the holder, and has no reference into the cell.
    if let Some((guard, fork)) = unsafe { (*FORKING.0.get()).take() } {
        fork.into_iter().for_each(Fork::end);
        HOLDER.store(0, Ordering::Relaxed);
        drop(guard);
    }
}

extern "C" fn after_fork_in_child() {
    // SAFETY: this thread is the image of the holder, and has no reference into the cell.
    if let Some((mut guard, fork)) = unsafe { (*FORKING.0.get()).take() } {
        if let Some((heap, fork)) = guard.as_mut().zip(fork) {
            BLOCKS.set(&fork.install(heap));
            heap.become_copy();
        }
        // The arena is the parent's, who may want it yet.
        STATE.store(OFF, Ordering::Relaxed);
        HOLDER.store(0, Ordering::Relaxed);
        drop(guard);
    }
}

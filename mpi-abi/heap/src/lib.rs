//! Large blocks of ordinary memory, shared: what a program gets from `malloc`, or from Rust's allocator, lies where the
//! other ranks of the node can copy to and from it without the kernel.
//!
//! # Who serves what
//!
//! Blocks of at least [`LARGE`] bytes come from the process's *arena*, its part of the job's file
//! ([`rwmpi_transport::Arena`]). Smaller ones, and all when there is no arena or no room in it, come from the allocator
//! that the process has anyway. The address says whose a block is, so it can be freed by anybody at any time, and
//! programs never see a difference other than speed.
//!
//! The static data of a program that has many are moved to the arena before it runs (`static_data`), by the library
//! that is preloaded.
//!
//! There is an arena only in a process that a launcher started as a rank, or that such a process became by `exec`. It
//! is taken for static data, or at the first large block, whether or not the process has joined the job by then, or
//! ever will; a program that never asks for one pays a comparison for each block. `RWMPI_SHARED_HEAP=off` switches all
//! of it off.
//!
//! # What always holds
//!
//! 1. One allocator in a process uses the arena, and one process: the arena's record in the job's file settles who.
//!    Whoever comes second goes without. This state is global because a process has one `malloc`; it is in one file,
//!    `process`.
//! 2. Nothing here asks for a large block while it holds the lock of the heap; small ones come from the other
//!    allocator. Should it happen nevertheless, while the arena is being taken, or in handlers that run around `fork`,
//!    the same thread finds itself as the holder of the lock, and gets its block from elsewhere.
//! 3. A child made by `fork` or `_Fork` does not have the arena. What was in use, it finds at the same addresses as
//!    private memory: the same pages, of which either gets copies as it changes them, or a copy made before `fork`
//!    returns (`fork`). It frees such blocks and gets no new ones. `vfork`, `posix_spawn` and `system` copy nothing. A
//!    child made by the bare system call shares its parent's memory, and leaves the heap alone.
//! 4. Free memory that is not given back is limited ([`rwmpi_transport::Blocks`]), and what was never touched or was
//!    given back costs nothing and reads as zero: `calloc` of a huge sparse array stays sparse.
//! 5. A program that maps something else over part of a block (`MAP_FIXED`) has private memory there; peers are told,
//!    and these addresses are never used again.

mod fork;
mod global;
mod heap;
mod heirs;
mod home;
mod pagemap;
mod private;
mod process;
mod static_data;

pub use global::SharedHeap;
pub use process::{
    allocate, around_fork, begin, free, give_back, is_own, mapped_over, protected, resize, retreat, share_static_data,
    usable_size,
};

/// Blocks of at least this many bytes are shared.
pub const LARGE: usize = 8 << 10;

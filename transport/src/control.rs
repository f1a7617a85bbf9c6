//! The shared words: the job's header and every peer's control block.
//!
//! Every field that several peers touch is atomic; its doc says who writes it and which load its store pairs with.
//! All-zero memory is a valid beginning for each of them.

use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64};

use crossbeam_utils::CachePadded;

/// Bytes of the text in an abort record.
pub(crate) const ABORT_TEXT: usize = 240;
/// Words of an affinity mask: 1024 processors.
pub(crate) const AFFINITY_WORDS: usize = 16;

/// Words in which a peer says more about what it waits for.
pub const DETAIL_WORDS: usize = 48;

/// "RWMPIJOB".
pub(crate) const MAGIC: u64 = u64::from_be_bytes(*b"RWMPIJOB");
/// Changes whenever the layout does.
pub(crate) const VERSION: u32 = 13;
/// Notices that a job has room for.
pub(crate) const NOTICES: usize = 1024;

/// The first bytes of the job's file.
#[repr(C)]
pub(crate) struct JobHeader {
    /// Written last by the creator (Release); loaded (Acquire) by whoever opens the file.
    pub(crate) magic: AtomicU64,
    /// Written by the creator before `magic`, as are the next six.
    pub(crate) version: AtomicU32,
    pub(crate) peers: AtomicU32,
    /// In each of them every peer has a control block of its own.
    pub(crate) lanes: AtomicU32,
    pub(crate) total_size: AtomicU64,
    pub(crate) heap_size: AtomicU64,
    /// How many processors the creator may use: its affinity and its share by cgroup.
    pub(crate) processors: AtomicU32,
    /// The creator's process.
    pub(crate) creator: AtomicU32,
    /// Set by a peer that cannot use `membarrier`, before it counts itself in `attached`; read after all have.
    pub(crate) fences_needed: AtomicU32,
    /// 1 if the job goes on when a peer dies. Written by the creator before `magic`.
    pub(crate) keeps_going: AtomicU32,
    /// Counted up (AcqRel) by each peer whose control block is filled in; a futex; loaded (Acquire) while waiting for
    /// all.
    pub(crate) attached: CachePadded<AtomicU32>,
    /// Counted up (AcqRel) by each peer that has probed its ways to all others; a futex; loaded (Acquire) likewise.
    pub(crate) probed: CachePadded<AtomicU32>,
    /// The first abort.
    pub(crate) abort: CachePadded<AbortRecord>,
    /// How many peers have died. Counted up (Release) by the launcher when it has said so in the peer's `presence`;
    /// loaded (Acquire) by every peer.
    pub(crate) deaths: CachePadded<AtomicU32>,
    /// How many notices there are, or will be once their writers have written them. Counted up (AcqRel) by any peer
    /// that is about to write one; loaded (Acquire) by every peer.
    pub(crate) notices_begun: CachePadded<AtomicU32>,
    /// Each 0 until the peer that has taken its place by `notices_begun` stores it (Release); loaded (Acquire) by every
    /// peer. Its writer may die in between, and then it stays 0.
    pub(crate) notices: [AtomicU64; NOTICES],
}

/// Who ended the job and why.
#[repr(C)]
pub(crate) struct AbortRecord {
    /// 0: none; 1: being written, by whoever changed it from 0 (compare-exchange); 2: written (Release), loaded
    /// (Acquire).
    pub(crate) state: AtomicU32,
    /// Written by that one, before `state` becomes 2; so are the rest. `u32::MAX`: not a peer.
    pub(crate) peer: AtomicU32,
    pub(crate) code: AtomicI32,
    pub(crate) text_len: AtomicU32,
    pub(crate) text: [AtomicU8; ABORT_TEXT],
}

/// The beginning of each peer's control part. "The owner" is that peer.
#[repr(C)]
pub(crate) struct Control {
    /// Seldom changed, read by all.
    pub(crate) identity: CachePadded<Identity>,
    /// A futex: 0 while the owner is awake, or how it sleeps ([`crate::sleep`]). Written by the owner before it sleeps
    /// and after; taken back to 0 (compare-exchange) by the peer that wakes it; read by every peer after a push or a
    /// pop.
    pub(crate) sleeping: CachePadded<AtomicU32>,
    /// Memory-Based Signals: bits are set by any peer (AcqRel), taken by the owner (swap, AcqRel).
    pub(crate) signals: CachePadded<AtomicU32>,
    /// How many senders have registered in the `opened` bitmap of each queue. Counted up (AcqRel) by a sender after it
    /// has set its bit; loaded (Acquire) by the owner.
    pub(crate) openings: CachePadded<[AtomicU32; 2]>,
    /// On which processor the owner ran when it last gave way, plus 1. Written by the owner where peers share
    /// processors; read by those who wait for it (Relaxed: it is a hint).
    pub(crate) processor: CachePadded<AtomicU32>,
    /// What the owner is doing, in the words of the layer above. Written by the owner, read by the launcher; each word
    /// for itself (Relaxed).
    pub(crate) activity: CachePadded<[AtomicU64; 8]>,
    /// What the owner waits for, in more words of the layer above. Written by the owner when it is woken while it
    /// waits, the first word last (Release); read by the launcher, which loads that word first (Acquire).
    pub(crate) details: CachePadded<[AtomicU64; DETAIL_WORDS]>,
    /// How many bytes the owner has copied by each way that reaches other processes: through shared memory, by the
    /// kernel. Written by the owner, read by the launcher (Relaxed).
    pub(crate) copied: CachePadded<[AtomicU64; 2]>,
    /// How many parts of its memory the owner has lent to windows: such as all peers here have mapped, and others; and
    /// for how many windows it serves peers elsewhere. Written by the owner, read by the launcher (Relaxed).
    pub(crate) windows: CachePadded<[AtomicU64; 3]>,
    /// How many connections the owner has turned away that did not come from a peer. Written by the owner, read by the
    /// launcher (Relaxed).
    pub(crate) turned_away: CachePadded<AtomicU64>,
    /// The lock for elements of the owner's memory that no atomic operation reaches; a futex ([`crate::element_lock`]
    /// says which values it has). Changed (compare-exchange, Acquire) by any peer that locks, and (swap, Release) by
    /// the one that has locked.
    pub(crate) elements: CachePadded<AtomicU32>,
    /// How many single elements of the owner's memory are still to be changed under that lock, as somebody has changed
    /// many; 0: none. Stored (Relaxed before a full fence, and Release) by who has the lock; loaded (Acquire) by any
    /// peer that has raised its flag in `changes`.
    pub(crate) announced: CachePadded<AtomicU32>,
    /// 1 while the owner changes an element, of anybody's memory, without a lock. Stored by the owner (Relaxed before
    /// it looks at `announced`, and Release when it has done so); loaded (Acquire) by any peer that has announced that
    /// it will change many.
    pub(crate) changes: CachePadded<AtomicU32>,
    /// Who uses the owner's arena, and how.
    pub(crate) arena: CachePadded<ArenaRecord>,
}

/// Who a peer is. Its blocks in the further lanes only have what the lane needs: `pid`, `attached`, `heap_reserved`,
/// `interrupt_thread`.
#[repr(C)]
pub(crate) struct Identity {
    /// Written by the owner before it counts itself in `attached`, as are all but the last four.
    pub(crate) pid: AtomicU32,
    /// 1 as soon as the rest is written (Release); read by the launcher (Acquire).
    pub(crate) attached: AtomicU32,
    /// Tells address spaces apart: process and process name space.
    pub(crate) address_space: AtomicU64,
    /// Where in the owner's private memory its probe words lie.
    pub(crate) probe_address: AtomicU64,
    /// The processors that the owner may run on.
    pub(crate) affinity: [AtomicU64; AFFINITY_WORDS],
    /// How many bytes of the owner's heap have pages. Stored (Release) by the owner; loaded (Acquire) by peers that
    /// check an address.
    pub(crate) heap_reserved: AtomicU64,
    /// A [`Presence`]. Stored (Release) by the owner, after all that it has pushed, and by the launcher when the owner
    /// has died; loaded (Acquire) by the launcher, and by a peer that waits for the owner.
    pub(crate) presence: AtomicU32,
    /// The thread to interrupt by a signal, 0 for none. Stored (Release) by the owner; loaded (Acquire) by a peer that
    /// signals.
    pub(crate) interrupt_thread: AtomicU32,
}

/// Whether a peer still takes part in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Presence {
    /// It does.
    Here = 0,
    /// It has come to an orderly end.
    Finished = 1,
    /// It is about to: it has pushed all that it will ever push, but for the last words that all exchange.
    Leaving = 2,
    /// It has left without the others.
    Left = 3,
    /// Its process has died, and the job goes on.
    Died = 4,
}

impl From<u32> for Presence {
    fn from(word: u32) -> Presence {
        let known = [Presence::Finished, Presence::Leaving, Presence::Left, Presence::Died];
        known.into_iter().find(|&presence| presence as u32 == word).unwrap_or(Presence::Here)
    }
}

/// The use of an arena. Only the process that uses it writes it, except `user`.
#[repr(C)]
pub(crate) struct ArenaRecord {
    /// Which process that is; 0: none yet. Changed by compare-exchange (AcqRel).
    pub(crate) user: AtomicU64,
    /// Which program of that process: a number that `exec` changes. Whoever has become `user`, and still finds another
    /// program here, takes the arena by compare-exchange (AcqRel): a program may have two allocators.
    pub(crate) program: AtomicU64,
    /// How many bytes from the start its process has mapped: all blocks lie there. Stored (Release) before memory there
    /// is used; loaded (Acquire) by peers that check an address.
    pub(crate) end: AtomicU64,
    /// Most bytes in use at a time, and whether there ever was no room for a block. For the launcher (Relaxed).
    pub(crate) most_used: AtomicU64,
    pub(crate) exhausted: AtomicU32,
    /// 1 while children of the program may have its pages, for whoever takes the arena next in the same process
    /// (Relaxed).
    pub(crate) has_heirs: AtomicU32,
}

/// One word of a dirty bitmap. Bits are set by senders after they pushed, and taken back by the receiver before it
/// looks.
pub(crate) type DirtyWord = CachePadded<AtomicU64>;

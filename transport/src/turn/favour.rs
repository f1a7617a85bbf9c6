//! The favour: that one thread takes the turn without the lock.
//!
//! It says by plain stores of its own word that it is inside. Who has the lock and would take the turn withdraws the
//! favour, has the kernel put a barrier on the favoured thread's core, and waits until that is outside. Every thread
//! that was ever favoured keeps its word: one that was held up between its look at the favour and its store must not
//! disturb the next that has it.

use crate::primitive::{self, AtomicU32, AtomicU64, Ordering};

/// How many threads of a process can be favoured, each in its time; those after them need the lock. Threads' numbers
/// are multiples of it.
const PLACES: usize = if cfg!(loom) { 2 } else { 8 };
const PLACE: u64 = PLACES as u64 - 1;

/// No thread.
const NOBODY: u64 = 0;

/// Who is favoured: the thread's number and, in the lowest bits, its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Favoured(u64);

impl Favoured {
    pub(super) fn is_somebody(self) -> bool {
        self.0 != NOBODY
    }

    pub(super) fn is(self, thread: u64) -> bool {
        self.0 & !PLACE == thread
    }
}

/// Who has it, and whether that thread is inside.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Favour {
    /// Given by who has the lock; withdrawn by who has the lock, or given up by the favoured thread, which is inside
    /// then. Read by all.
    favoured: AtomicU64,
    /// By place: odd while its thread is about to take, or has, the turn without the lock. Counted up by that thread
    /// alone, when it comes and when it leaves; who withdraws the favour waits until it is even, and only then is the
    /// turn's owner.
    inside: [AtomicU32; PLACES],
    /// Whether the kernel puts barriers.
    is_possible: AtomicU32,
    /// The thread at each place. For who has the lock.
    threads: [AtomicU64; PLACES],
}

/// One that nobody has: loom's atomics are not made at compile time.
macro_rules! nobodys {
    ($word:expr, $thread:expr) => {
        Favour { favoured: AtomicU64::new(NOBODY), inside: $word, is_possible: AtomicU32::new(0), threads: $thread }
    };
}

impl Favour {
    #[cfg(not(loom))]
    pub(super) const fn new() -> Self {
        nobodys!([const { AtomicU32::new(0) }; PLACES], [const { AtomicU64::new(NOBODY) }; PLACES])
    }

    #[cfg(loom)]
    pub(super) fn new() -> Self {
        nobodys!(std::array::from_fn(|_| AtomicU32::new(0)), std::array::from_fn(|_| AtomicU64::new(NOBODY)))
    }

    /// From now on it can be given, if the kernel grants barriers.
    pub(super) fn enable(&self) {
        self.is_possible.store(u32::from(primitive::register_for_own_barriers()), Ordering::Relaxed);
    }

    /// Who has it. What the thread did that gave it up is seen.
    #[inline(always)]
    pub(super) fn favoured(&self) -> Favoured {
        Favoured(self.favoured.load(Ordering::Acquire))
    }

    /// The turn, if thread `me` is favoured: the place to leave from.
    #[inline(always)]
    pub(super) fn enter(&self, me: u64) -> Option<u32> {
        let favoured = Favoured(self.favoured.load(Ordering::Relaxed));
        if !favoured.is(me) {
            return None;
        }
        self.count(favoured.0, Ordering::Relaxed);
        // Who comes first has the kernel put a barrier here, after it has withdrawn the favour and before it looks who
        // is inside.
        primitive::where_others_put_barriers();
        // Acquire: a visitor may have given it back.
        if self.favoured() == favoured {
            return Some((favoured.0 & PLACE) as u32);
        }
        self.count(favoured.0, Ordering::Release);
        None
    }

    /// The favoured thread leaves. With `for_good` it gives up the favour, still inside: once it is outside another may
    /// have it.
    #[inline(always)]
    pub(super) fn leave(&self, place: u32, for_good: bool) {
        #[cfg(loom)]
        if primitive::is_broken(primitive::Broken::GivenUpOutside) {
            self.count(place.into(), Ordering::Release);
            return if for_good {
                self.favoured.store(NOBODY, Ordering::Release)
            };
        }
        if for_good {
            // Release: pairs with the load of who takes the turn next.
            self.favoured.store(NOBODY, Ordering::Release);
        }
        self.count(place.into(), Ordering::Release);
    }

    /// The thread at that place comes, or leaves.
    #[inline(always)]
    fn count(&self, place: u64, order: Ordering) {
        let inside = &self.inside[(place & PLACE) as usize];
        inside.store(inside.load(Ordering::Relaxed).wrapping_add(1), order);
    }

    /// Gives it to thread `me`, which has the lock.
    pub(super) fn give(&self, me: u64) {
        let is_mine = |thread: &AtomicU64| [NOBODY, me].contains(&thread.load(Ordering::Relaxed));
        let place = self.threads.iter().position(is_mine);
        if let Some(place) = place
            && self.is_possible.load(Ordering::Relaxed) != 0
            && me & PLACE == 0
        {
            self.threads[place].store(me, Ordering::Relaxed);
            self.give_back(Favoured(me | place as u64));
        }
    }

    /// Gives it back to who had it. For who has the lock.
    pub(super) fn give_back(&self, favoured: Favoured) {
        // Release: pairs with the second load of who enters, which may be before the lock is free.
        self.favoured.store(favoured.0, Ordering::Release);
    }

    /// After this the favoured thread takes the lock, or is seen inside. For who has the lock.
    pub(super) fn withdraw(&self) {
        self.favoured.store(NOBODY, Ordering::SeqCst);
        primitive::barrier_on_own_cores();
    }

    /// Whether that thread is inside; what it did before it left is seen.
    pub(super) fn is_inside(&self, favoured: Favoured) -> bool {
        self.inside[(favoured.0 & PLACE) as usize].load(Ordering::Acquire) % 2 == 1
    }

    /// Changes whenever one comes or leaves by the favour.
    pub(super) fn coming_and_going(&self) -> u32 {
        self.inside.iter().fold(0, |sum, inside| sum.wrapping_add(inside.load(Ordering::Relaxed)))
    }
}

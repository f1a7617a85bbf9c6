//! The bias: that one thread takes the lock without the mutex.
//!
//! It says by plain stores of its own word that it is inside. Who has the mutex and would take the lock revokes the
//! bias, has the kernel put a barrier on the bias owner's core, and waits until that is outside. Every thread
//! that ever owned the bias keeps its word: one that was held up between its look at the bias and its store must not
//! disturb the next that has it.

use crate::primitive::{self, AtomicU32, AtomicU64, Ordering};

/// How many threads of a process can own the bias, each in its time; those after them need the mutex. Threads' numbers
/// are multiples of it.
const PLACES: usize = if cfg!(loom) { 2 } else { 8 };
const PLACE: u64 = PLACES as u64 - 1;

/// No thread.
const NOBODY: u64 = 0;

/// Who owns the bias: the thread's number and, in the lowest bits, its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BiasedTo(u64);

impl BiasedTo {
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
pub(super) struct Bias {
    /// Given by who has the mutex; withdrawn by who has the mutex, or given up by the biased thread, which is inside
    /// then. Read by all.
    biased_to: AtomicU64,
    /// By place: odd while its thread is about to take, or has, the lock without the mutex. Counted up by that thread
    /// alone, when it comes and when it leaves; who revokes the bias waits until it is even, and only then is the
    /// lock's owner.
    inside: [AtomicU32; PLACES],
    /// Whether the kernel puts barriers.
    is_possible: AtomicU32,
    /// The thread at each place. For who has the mutex.
    threads: [AtomicU64; PLACES],
}

/// One that nobody has: loom's atomics are not made at compile time.
macro_rules! nobodys {
    ($word:expr, $thread:expr) => {
        Bias { biased_to: AtomicU64::new(NOBODY), inside: $word, is_possible: AtomicU32::new(0), threads: $thread }
    };
}

impl Bias {
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
    pub(super) fn to(&self) -> BiasedTo {
        BiasedTo(self.biased_to.load(Ordering::Acquire))
    }

    /// The lock, if thread `me` owns the bias: the place to leave from.
    #[inline(always)]
    pub(super) fn enter(&self, me: u64) -> Option<u32> {
        let biased_to = BiasedTo(self.biased_to.load(Ordering::Relaxed));
        if !biased_to.is(me) {
            return None;
        }
        self.count(biased_to.0, Ordering::Relaxed);
        // Who comes first has the kernel put a barrier here, after it has revoked the bias and before it looks who
        // is inside.
        primitive::where_others_put_barriers();
        // Acquire: one that found it idle may have given it back.
        if self.to() == biased_to {
            return Some((biased_to.0 & PLACE) as u32);
        }
        self.count(biased_to.0, Ordering::Release);
        None
    }

    /// The bias owner leaves. With `for_good` it gives up the bias, still inside: once it is outside another may
    /// have it.
    #[inline(always)]
    pub(super) fn leave(&self, place: u32, for_good: bool) {
        #[cfg(loom)]
        if primitive::is_broken(primitive::Broken::GivenUpOutside) {
            self.count(place.into(), Ordering::Release);
            return if for_good {
                self.biased_to.store(NOBODY, Ordering::Release)
            };
        }
        if for_good {
            // Release: pairs with the load of who takes the lock next.
            self.biased_to.store(NOBODY, Ordering::Release);
        }
        self.count(place.into(), Ordering::Release);
    }

    /// The thread at that place comes, or leaves.
    #[inline(always)]
    fn count(&self, place: u64, order: Ordering) {
        let inside = &self.inside[(place & PLACE) as usize];
        inside.store(inside.load(Ordering::Relaxed).wrapping_add(1), order);
    }

    /// Gives it to thread `me`, which has the mutex.
    pub(super) fn give(&self, me: u64) {
        let is_mine = |thread: &AtomicU64| [NOBODY, me].contains(&thread.load(Ordering::Relaxed));
        let place = self.threads.iter().position(is_mine);
        if let Some(place) = place
            && self.is_possible.load(Ordering::Relaxed) != 0
            && me & PLACE == 0
        {
            self.threads[place].store(me, Ordering::Relaxed);
            self.give_back(BiasedTo(me | place as u64));
        }
    }

    /// Gives it back to who had it. For who has the mutex.
    pub(super) fn give_back(&self, biased_to: BiasedTo) {
        // Release: pairs with the second load of who enters, which may be before the mutex is free.
        self.biased_to.store(biased_to.0, Ordering::Release);
    }

    /// After this the bias owner takes the mutex, or is seen inside. For who has the mutex.
    pub(super) fn revoke(&self) {
        self.biased_to.store(NOBODY, Ordering::SeqCst);
        primitive::barrier_on_own_cores();
    }

    /// Whether that thread is inside; what it did before it left is seen.
    pub(super) fn is_inside(&self, biased_to: BiasedTo) -> bool {
        self.inside[(biased_to.0 & PLACE) as usize].load(Ordering::Acquire) % 2 == 1
    }

    /// Changes whenever one comes or leaves by the bias.
    pub(super) fn coming_and_going(&self) -> u32 {
        self.inside.iter().fold(0, |sum, inside| sum.wrapping_add(inside.load(Ordering::Relaxed)))
    }
}

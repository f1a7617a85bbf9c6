//! Several threads that act as one peer, one at a time.
//!
//! A peer's end of the fabric, and all that is built on it, belongs to one thread at a time. A [`Turn`] says to which: a thread takes the
//! turn for a call and gives it back at the end. One that waits in a call lets others in, so that none waits for another's wait:
//!
//! - *The watch*: of the threads that wait, the first turns the loop that makes progress, and may fall asleep in the fabric, turn in hand.
//!   Whoever wants the turn wakes it by a signal ([`Bell`]), and it stands back until one of those who want the turn has had it.
//! - The others that wait are *parked*: they sleep without the turn until somebody who had it may have done what they wait for.
//!
//! A lock costs a message more than all the rest, as its atomic operation waits for the stores of the last message. So the thread
//! that began is *favoured* as long as no other has come: it says by plain stores that it is inside. The first other thread ends that
//! for good; the barrier that this takes on the favoured thread's core is run by the kernel, as for sleepers ([`crate::sleep`]).
//!
//! A thread of the library's own ([`crate::Worker`]) comes on a [`Visit`] only: if nobody is inside or wants to be, and without waiting. The
//! favour is withdrawn for that long, and given back.

use std::sync::OnceLock;
use std::time::Duration;

#[cfg(not(loom))]
use crate::bell::Bell;
use crate::primitive::{self, AtomicU32, AtomicU64, Ordering, this_thread};
#[cfg(loom)]
use loom_model::Bell;

/// Rounds that a thread spends on the processor while it waits for others, then offering it to them, before it sleeps.
const SPINS: u32 = if cfg!(loom) { 0 } else { 100 };
const YIELDS: u32 = if cfg!(loom) { 0 } else { 20 };
/// Longest pause between two looks at a lock that another has: each look takes its cache line away from there.
const LONGEST_PAUSE: u32 = 16;
/// How many turns one may have in a row that others want: with the turn all that the last one touched has to come from its core.
const TURNS_IN_A_ROW: u32 = if cfg!(loom) { 1 } else { 64 };
/// How long it then stays away: so many rounds, then what the system makes of an offer.
const ROUNDS_AWAY: u32 = if cfg!(loom) { 0 } else { 40 };
/// Longest sleep: a safety net, no wake-up depends on it.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and somebody sleeps until it is free.
const AWAITED: u32 = 2;

const NO: u32 = 0;
const YES: u32 = 1;

/// Of the news: somebody sleeps until there is more.
const SLEEPS: u32 = 1;

/// No thread.
const NOBODY: u64 = 0;

/// Whose turn it is. What is only for the thread that has the turn is stored plainly.
///
/// What others look at while they wait begins a cache line of its own, so that looking does not slow down who has the turn.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Turn {
    /// Whether there are several threads to take turns.
    shared: AtomicU32,
    /// The thread that needs no lock. Withdrawn by who has the lock; read by that thread around [`Turn::inside`].
    favoured: AtomicU64,
    /// Odd while that thread is about to take, or has, the turn without the lock: counted up when it comes, and when it leaves. Written by
    /// it alone; who withdraws the favour waits until it is even, and only then is the turn's owner.
    inside: AtomicU32,
    /// The thread that has the turn.
    owner: AtomicU64,
    /// The thread that is on watch.
    watch: AtomicU64,
    /// Whether the owner has the turn by the lock.
    locked: AtomicU32,
    /// How many turns by the lock there have been since somebody had to wait for one. Written by the owner.
    in_a_row: AtomicU32,
    /// How many are parked: for who has the turn.
    parked: AtomicU32,
    note: AtomicU32,
    waiting: Waiting,
    bell: OnceLock<Bell>,
}

/// What those look at who wait for the turn.
#[derive(Debug)]
#[repr(align(64))]
struct Waiting {
    lock: AtomicU32,
    /// How many threads are waiting for the turn.
    wanted: AtomicU32,
    /// How many turns there have been by the lock.
    turns: AtomicU32,
    /// Changes when something may have happened that those who are parked wait for.
    news: AtomicU32,
}

/// The turn, until this is dropped.
#[derive(Debug)]
pub struct Taken<'a>(&'a Turn);

impl Drop for Taken<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.give();
    }
}

/// The turn of one that came for a visit, until this is dropped.
#[derive(Debug)]
pub struct Visit<'a> {
    turn: &'a Turn,
    /// The thread whose favour is withdrawn meanwhile.
    favoured: u64,
}

impl Visit<'_> {
    /// Whether it should end.
    pub fn should_end(&self) -> bool {
        self.turn.waiting.wanted.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.turn.end_visit(self.favoured);
    }
}

/// One round of waiting; true when it is time to sleep.
fn pass_round(round: &mut u32) -> bool {
    *round += 1;
    if *round < SPINS {
        std::hint::spin_loop();
    } else if *round < SPINS + YIELDS {
        primitive::yield_now();
    } else {
        return true;
    }
    false
}

/// A turn that nobody has: loom's atomics are not made at compile time.
macro_rules! vacant {
    () => {
        Turn {
            shared: AtomicU32::new(YES),
            favoured: AtomicU64::new(NOBODY),
            inside: AtomicU32::new(0),
            owner: AtomicU64::new(NOBODY),
            watch: AtomicU64::new(NOBODY),
            locked: AtomicU32::new(NO),
            in_a_row: AtomicU32::new(0),
            parked: AtomicU32::new(0),
            note: AtomicU32::new(0),
            waiting: Waiting {
                lock: AtomicU32::new(FREE),
                wanted: AtomicU32::new(0),
                turns: AtomicU32::new(0),
                news: AtomicU32::new(0),
            },
            bell: OnceLock::new(),
        }
    };
}

impl Turn {
    /// One for which any number of threads may come.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        vacant!()
    }

    /// One for which any number of threads may come.
    #[cfg(loom)]
    pub fn new() -> Self {
        vacant!()
    }

    /// From now on there is one thread at a time, by the program's promise: turns cost nothing.
    pub fn trust(&self) {
        self.shared.store(NO, Ordering::Relaxed);
    }

    /// Favours the present thread, which must have the turn, until another comes. Whoever waits in the fabric is reached by `bell`.
    pub fn share(&self, bell: Bell) {
        // There is one peer for each turn; it has one bell.
        let _ = self.bell.set(bell);
        if primitive::register_for_own_barriers() {
            self.favoured.store(this_thread(), Ordering::Relaxed);
        }
    }

    /// Takes the turn; none if the present thread has it already, or threads need no turns.
    #[inline(always)]
    pub fn take(&self) -> Option<Taken<'_>> {
        if self.shared.load(Ordering::Relaxed) == YES { self.take_shared() } else { None }
    }

    #[inline]
    fn take_shared(&self) -> Option<Taken<'_>> {
        let me = this_thread();
        if self.owner.load(Ordering::Relaxed) == me {
            return None;
        }
        if self.favoured.load(Ordering::Relaxed) == me {
            self.count_inside(Ordering::Relaxed);
            // Who comes first has the kernel put a barrier here, after it has withdrawn the favour and before it looks who is inside.
            primitive::where_others_put_barriers();
            // Acquire: a visitor may have given it back.
            if self.favoured.load(Ordering::Acquire) == me {
                self.owner.store(me, Ordering::Relaxed);
                return Some(Taken(self));
            }
            self.count_inside(Ordering::Release);
        }
        self.acquire(me);
        Some(Taken(self))
    }

    /// The favoured thread comes, or leaves.
    #[inline(always)]
    fn count_inside(&self, order: Ordering) {
        self.inside.store(self.inside.load(Ordering::Relaxed).wrapping_add(1), order);
    }

    fn favoured_is_inside(&self, order: Ordering) -> bool {
        self.inside.load(order) % 2 == 1
    }

    /// Changes whenever a thread takes the turn, but for visits.
    pub fn coming_and_going(&self) -> [u32; 2] {
        [self.inside.load(Ordering::Relaxed), self.waiting.turns.load(Ordering::Relaxed)]
    }

    /// Takes the turn if nobody has it, wants it or waits in a call.
    pub fn visit(&self) -> Option<Visit<'_>> {
        let is_busy = self.owner.load(Ordering::Relaxed) != NOBODY
            || self.favoured_is_inside(Ordering::Relaxed)
            || self.watch.load(Ordering::Relaxed) != NOBODY
            || self.waiting.wanted.load(Ordering::Relaxed) > 0;
        if is_busy || !self.try_lock() {
            return None;
        }
        let favoured = self.favoured.load(Ordering::Relaxed);
        if favoured != NOBODY {
            self.withdraw_favour();
            if self.favoured_is_inside(Ordering::Acquire) {
                self.favoured.store(favoured, Ordering::Release);
                self.unlock();
                return None;
            }
        }
        self.locked.store(YES, Ordering::Relaxed);
        self.owner.store(this_thread(), Ordering::Relaxed);
        Some(Visit { turn: self, favoured })
    }

    fn end_visit(&self, favoured: u64) {
        self.tell();
        self.owner.store(NOBODY, Ordering::Relaxed);
        self.locked.store(NO, Ordering::Relaxed);
        if favoured != NOBODY {
            // From here on that thread may be inside.
            self.favoured.store(favoured, Ordering::Release);
        }
        self.unlock();
    }

    /// Whether no second thread has come yet.
    #[inline]
    pub fn is_favoured(&self) -> bool {
        self.favoured.load(Ordering::Relaxed) != NOBODY
    }

    /// A word of whoever has the turn: it finds there what it left, though others have had the turn meanwhile.
    #[inline]
    pub fn note(&self) -> u32 {
        self.note.load(Ordering::Relaxed)
    }

    /// Sets that word.
    #[inline]
    pub fn set_note(&self, note: u32) {
        self.note.store(note, Ordering::Relaxed);
    }

    /// Calls a function that may take long, or wait for other threads, without the turn.
    pub fn outside<R>(&self, function: impl FnOnce() -> R) -> R {
        let me = this_thread();
        if self.owner.load(Ordering::Relaxed) != me {
            return function();
        }
        let note = self.note();
        self.give();
        let result = function();
        self.acquire_again(me);
        self.set_note(note);
        result
    }

    /// For a thread that waits, between two rounds of its wait: lets in who wants the turn, or waits for one who makes progress for
    /// it. True if others may have had the turn.
    #[inline]
    pub fn let_others_in(&self) -> bool {
        let me = self.owner.load(Ordering::Relaxed);
        let watch = self.watch.load(Ordering::Relaxed);
        if me == NOBODY {
            return false;
        }
        if watch == NOBODY {
            // Either who wants the turn sees the watch, and wakes it, or the watch sees that it is wanted.
            self.watch.store(me, Ordering::SeqCst);
        } else if watch != me {
            self.park(me);
            return true;
        }
        if self.waiting.wanted.load(Ordering::SeqCst) == 0 {
            return false;
        }
        self.stand_back(me);
        true
    }

    /// Something has happened that others may wait for.
    #[inline]
    pub fn tell(&self) {
        if self.parked.load(Ordering::Relaxed) > 0 {
            self.wake_parked();
        }
    }

    #[cold]
    fn wake_parked(&self) {
        let news = self.waiting.news.load(Ordering::Relaxed);
        let before = self.waiting.news.swap((news | SLEEPS).wrapping_add(1), Ordering::Release);
        if before & SLEEPS != 0 {
            primitive::futex_wake(&self.waiting.news);
        }
    }

    /// Waits without the turn for news.
    #[cold]
    fn park(&self, me: u64) {
        let (note, news) = (self.note(), self.waiting.news.load(Ordering::Relaxed) & !SLEEPS);
        self.parked.store(self.parked.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.release();
        let mut round = 0;
        while self.waiting.news.load(Ordering::Acquire) & !SLEEPS == news {
            if pass_round(&mut round) {
                // If it fails there is news, or somebody sleeps already.
                let _ = self.waiting.news.compare_exchange(news, news | SLEEPS, Ordering::Relaxed, Ordering::Relaxed);
                primitive::futex_wait(&self.waiting.news, news | SLEEPS, LONGEST_SLEEP);
                break;
            }
        }
        self.acquire_again(me);
        self.parked.store(self.parked.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        self.set_note(note);
    }

    /// Stays away until one of those who want the turn has had it.
    #[cold]
    fn stand_back(&self, me: u64) {
        let (note, turns) = (self.note(), self.waiting.turns.load(Ordering::Relaxed));
        self.release();
        let mut round = 0;
        while self.waiting.turns.load(Ordering::Relaxed) == turns && self.waiting.wanted.load(Ordering::Relaxed) > 0 {
            if pass_round(&mut round) {
                primitive::yield_now();
            }
        }
        self.acquire(me);
        self.set_note(note);
    }

    /// The end of a call.
    #[inline(always)]
    fn give(&self) {
        if self.watch.load(Ordering::Relaxed) == self.owner.load(Ordering::Relaxed) {
            self.watch.store(NOBODY, Ordering::Relaxed);
        }
        self.tell();
        if self.release() {
            self.be_fair();
        }
    }

    /// Others who want the turn are not to lose it again and again to one who calls in a loop.
    fn be_fair(&self) {
        // Once each time: whoever sleeps takes longer to come than is worth waiting for.
        let had_its_share = self.in_a_row.load(Ordering::Relaxed).wrapping_add(1).is_multiple_of(TURNS_IN_A_ROW);
        if !had_its_share || self.waiting.wanted.load(Ordering::Relaxed) == 0 {
            return;
        }
        let turns = self.waiting.turns.load(Ordering::Relaxed);
        for _ in 0..ROUNDS_AWAY {
            if self.waiting.turns.load(Ordering::Relaxed) != turns {
                return;
            }
            std::hint::spin_loop();
        }
        primitive::yield_now();
    }

    /// Lets go of the turn; whether it was had by the lock.
    #[inline(always)]
    fn release(&self) -> bool {
        let locked = self.locked.load(Ordering::Relaxed) == YES;
        self.owner.store(NOBODY, Ordering::Relaxed);
        if !locked {
            self.count_inside(Ordering::Release);
            return false;
        }
        self.locked.store(NO, Ordering::Relaxed);
        self.unlock();
        true
    }

    fn unlock(&self) {
        if self.waiting.lock.swap(FREE, Ordering::Release) == AWAITED {
            primitive::futex_wake(&self.waiting.lock);
        }
    }

    /// Takes the turn for a call that goes on.
    fn acquire_again(&self, me: u64) {
        // It ends when the call does.
        if let Some(taken) = self.take_shared() {
            std::mem::forget(taken);
        }
        debug_assert_eq!(self.owner.load(Ordering::Relaxed), me);
    }

    /// Takes the turn by the lock.
    #[cold]
    #[inline(never)]
    fn acquire(&self, me: u64) {
        if self.try_lock() {
            self.in_a_row.store(self.in_a_row.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        } else {
            self.wait_for_lock();
            self.in_a_row.store(0, Ordering::Relaxed);
        }
        let favoured = self.favoured.load(Ordering::Relaxed);
        if favoured != NOBODY && favoured != me {
            self.end_favour();
        }
        self.waiting.turns.store(self.waiting.turns.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        self.locked.store(YES, Ordering::Relaxed);
        self.owner.store(me, Ordering::Relaxed);
    }

    fn try_lock(&self) -> bool {
        self.waiting.lock.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn wait_for_lock(&self) {
        self.want();
        let mut round = 0;
        while self.waiting.lock.load(Ordering::Relaxed) != FREE || !self.try_lock() {
            let pause = round.min(LONGEST_PAUSE);
            (0..pause).for_each(|_| std::hint::spin_loop());
            round += if round < SPINS { pause } else { 0 };
            if pass_round(&mut round) {
                if self.waiting.lock.swap(AWAITED, Ordering::Acquire) == FREE {
                    break;
                }
                primitive::futex_wait(&self.waiting.lock, AWAITED, LONGEST_SLEEP);
                round = 0;
            }
        }
        self.waiting.wanted.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends the favour, and waits until the thread that needed no lock is outside. For who has the lock.
    #[cold]
    fn end_favour(&self) {
        self.withdraw_favour();
        self.want();
        let mut round = 0;
        while self.favoured_is_inside(Ordering::Acquire) {
            if pass_round(&mut round) {
                // It happens once. Who leaves does not wake us.
                primitive::pause(Duration::from_micros(50));
            }
        }
        self.waiting.wanted.fetch_sub(1, Ordering::Relaxed);
    }

    /// After this the thread that needed no lock takes one, or is seen inside.
    fn withdraw_favour(&self) {
        self.favoured.store(NOBODY, Ordering::SeqCst);
        primitive::barrier_on_own_cores();
    }

    /// Wants the turn, and wakes who may sleep with it in hand.
    fn want(&self) {
        self.waiting.wanted.fetch_add(1, Ordering::SeqCst);
        if self.watch.load(Ordering::SeqCst) != NOBODY
            && let Some(bell) = self.bell.get()
        {
            bell.ring();
        }
    }
}

impl Default for Turn {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, loom))]
mod loom_model;
#[cfg(all(test, not(loom)))]
mod tests;

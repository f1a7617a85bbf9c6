//! Several threads that act as one peer, one at a time.
//!
//! A peer's end of the fabric, and all that is built on it, belongs to one thread at a time. A [`BigLock`] says to
//! which: a thread takes the lock for a call and gives it back at the end. One that waits in a call lets others in, so
//! that none waits for another's wait:
//!
//! - *The watch*: of the threads that wait, the first turns the loop that makes progress, and may fall asleep in the
//!   fabric, lock in hand. Whoever wants the lock wakes it by a signal ([`Doorbell`]), and it stands back until one of
//!   those who want the lock has had it.
//! - The others that wait are *parked*: they sleep without the lock until somebody who had it may have done what they
//!   wait for.
//!
//! A mutex costs a message more than all the rest, as its atomic operation waits for the stores of the last message. So
//! it is *biased* to the thread that began: that one says by plain stores that it is inside. The first other thread
//! ends that; the barrier that this takes on the bias owner's core is run by the kernel, as for sleepers
//! ([`crate::sleep`]). Then the bias is for whoever has called so often in a row that what it saves is worth such a
//! barrier; it gives the bias up of itself when another has waited long enough.
//!
//! The progress thread ([`crate::ProgressThread`]) takes the lock only if nobody is inside or wants to be, and without
//! waiting ([`BigLock::lock_if_idle`]). The bias is revoked for that long, and given back.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

#[cfg(not(loom))]
use crate::doorbell::Doorbell;
use crate::primitive::{self, AtomicU32, AtomicU64, Ordering, this_thread};
use bias::{Bias, BiasedTo};
#[cfg(loom)]
use loom_model::Doorbell;

/// Rounds that a thread spends on the processor while it waits for others, then offering it to them, before it sleeps.
const SPINS: u32 = if cfg!(loom) { 0 } else { 100 };
const YIELDS: u32 = if cfg!(loom) { 0 } else { 20 };
/// Rounds between two looks at a lock that another has, and at that of one who calls in a row: each look takes its
/// cache lines away.
const ROUNDS_BETWEEN_LOOKS: u32 = 5;
const ROUNDS_BETWEEN_RARE_LOOKS: u32 = 40;
/// How long one does nothing else who wants the lock, then offering the processor to others, before it sleeps through a
/// call that takes so long.
const LONGEST_SPINNING: Duration = Duration::from_micros(4);
const LONGEST_LOOKING: Duration = Duration::from_micros(60);
/// How long one may have the lock again and again while others want it: with the lock all that the last one touched has
/// to come from its core.
const SHARE: Duration = Duration::from_micros(200);
/// After it has taken the mutex so many times, none of them another's, a thread owns the bias: half that many cost as
/// much as the barrier that ends it.
const BIASED_AFTER: u32 = if cfg!(loom) { 0 } else { 200 };
/// How long it then stays away: so many rounds, in which who waits looks twice, then what the system makes of an offer.
const ROUNDS_AWAY: u32 = if cfg!(loom) { 0 } else { 8 * ROUNDS_BETWEEN_LOOKS };
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
/// Not by the bias.
const BY_MUTEX: u32 = u32::MAX;

/// The lock of a peer. What is only for the thread that has the lock is stored plainly.
///
/// What others look at while they wait begins a cache line of its own, so that looking does not slow down who has the
/// lock.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct BigLock {
    /// The thread that has the lock.
    owner: AtomicU64,
    /// The thread that is on watch.
    watch: AtomicU64,
    /// Whether the owner has the lock by the mutex: [`BY_MUTEX`], or its place among bias owners.
    by: AtomicU32,
    /// The last thread that had the lock by the mutex, and how often it had it in a row. Written by the owner.
    latest: AtomicU64,
    in_a_row: AtomicU32,
    /// Whether the present call has found nothing to do. Written by the owner.
    in_vain: AtomicU32,
    /// How many are parked: for who has the lock.
    parked: AtomicU32,
    note: AtomicU32,
    bias: Bias,
    waiting: Waiting,
    doorbell: OnceLock<Doorbell>,
}

/// What those look at who wait for the lock.
#[derive(Debug)]
#[repr(align(64))]
struct Waiting {
    mutex: AtomicU32,
    /// How many threads are waiting for the lock.
    wanted: AtomicU32,
    /// Whether somebody has waited for its share of the time. Written by who waits, withdrawn by who comes.
    due: AtomicU32,
    /// How many times the mutex has been taken.
    times: AtomicU32,
    /// Changes when something may have happened that those who are parked wait for.
    news: AtomicU32,
}

/// The lock, until this is dropped.
#[derive(Debug)]
pub struct BigLockGuard<'a>(&'a BigLock);

impl Drop for BigLockGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.give();
    }
}

/// The lock of one that has found it idle, until this is dropped.
#[derive(Debug)]
pub struct IdleGuard<'a> {
    lock: &'a BigLock,
    /// Whose bias is revoked meanwhile.
    biased_to: BiasedTo,
}

impl IdleGuard<'_> {
    /// Whether it should end.
    pub fn should_end(&self) -> bool {
        self.lock.waiting.wanted.load(Ordering::Relaxed) > 0
    }
}

impl Drop for IdleGuard<'_> {
    fn drop(&mut self) {
        self.lock.unlock_idle(self.biased_to);
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

/// A lock that nobody has: loom's atomics are not made at compile time.
macro_rules! vacant {
    () => {
        BigLock {
            owner: AtomicU64::new(NOBODY),
            watch: AtomicU64::new(NOBODY),
            by: AtomicU32::new(BY_MUTEX),
            latest: AtomicU64::new(NOBODY),
            in_a_row: AtomicU32::new(0),
            in_vain: AtomicU32::new(NO),
            parked: AtomicU32::new(0),
            note: AtomicU32::new(0),
            bias: Bias::new(),
            waiting: Waiting {
                mutex: AtomicU32::new(FREE),
                wanted: AtomicU32::new(0),
                due: AtomicU32::new(NO),
                times: AtomicU32::new(0),
                news: AtomicU32::new(0),
            },
            doorbell: OnceLock::new(),
        }
    };
}

impl BigLock {
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

    /// Biases the lock to the present thread, which must have the lock. Whoever waits in the fabric is reached by
    /// `doorbell`.
    pub fn share(&self, doorbell: Doorbell) {
        // There is one peer for each lock; it has one doorbell.
        let _ = self.doorbell.set(doorbell);
        self.bias.enable();
        self.bias.give(this_thread());
    }

    /// Takes the lock; none if the present thread has it already.
    #[inline]
    pub fn take(&self) -> Option<BigLockGuard<'_>> {
        let me = this_thread();
        if self.owner.load(Ordering::Relaxed) == me {
            return None;
        }
        if let Some(place) = self.bias.enter(me) {
            self.by.store(place, Ordering::Relaxed);
            self.owner.store(me, Ordering::Relaxed);
            return Some(BigLockGuard(self));
        }
        self.acquire(me);
        Some(BigLockGuard(self))
    }

    /// Changes whenever a thread takes the lock, but for those that found it idle.
    pub fn coming_and_going(&self) -> [u32; 2] {
        [self.bias.coming_and_going(), self.waiting.times.load(Ordering::Relaxed)]
    }

    /// Takes the lock if nobody has it, wants it or waits in a call.
    pub fn lock_if_idle(&self) -> Option<IdleGuard<'_>> {
        let is_busy = self.owner.load(Ordering::Relaxed) != NOBODY
            || self.bias.is_inside(self.bias.to())
            || self.watch.load(Ordering::Relaxed) != NOBODY
            || self.waiting.wanted.load(Ordering::Relaxed) > 0;
        if is_busy || !self.try_mutex() {
            return None;
        }
        let biased_to = self.bias.to();
        if biased_to.is_somebody() {
            self.bias.revoke();
            if self.bias.is_inside(biased_to) {
                self.bias.give_back(biased_to);
                self.unlock_mutex();
                return None;
            }
        }
        self.by.store(BY_MUTEX, Ordering::Relaxed);
        self.owner.store(this_thread(), Ordering::Relaxed);
        Some(IdleGuard { lock: self, biased_to })
    }

    fn unlock_idle(&self, biased_to: BiasedTo) {
        self.tell();
        self.owner.store(NOBODY, Ordering::Relaxed);
        if biased_to.is_somebody() {
            // From here on that thread may be inside.
            self.bias.give_back(biased_to);
        }
        self.unlock_mutex();
    }

    /// Whether the lock is biased to one thread, as no other has come for some time.
    #[inline]
    pub fn is_biased(&self) -> bool {
        self.bias.to().is_somebody()
    }

    /// A word of whoever has the lock: it finds there what it left, though others have had the lock meanwhile.
    #[inline]
    pub fn note(&self) -> u32 {
        self.note.load(Ordering::Relaxed)
    }

    /// Sets that word.
    #[inline]
    pub fn set_note(&self, note: u32) {
        self.note.store(note, Ordering::Relaxed);
    }

    /// Calls a function that may take long, or wait for other threads, without the lock.
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

    /// For a thread that waits, between two rounds of its wait: lets in who wants the lock, or waits for one who makes
    /// progress for it. True if others may have had the lock.
    #[inline]
    pub fn let_others_in(&self) -> bool {
        let me = self.owner.load(Ordering::Relaxed);
        let watch = self.watch.load(Ordering::Relaxed);
        if me == NOBODY {
            return false;
        }
        if watch == NOBODY {
            // Either who wants the lock sees the watch, and wakes it, or the watch sees that it is wanted.
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

    /// Waits without the lock for news.
    #[cold]
    fn park(&self, me: u64) {
        let (note, news) = (self.note(), self.waiting.news.load(Ordering::Relaxed) & !SLEEPS);
        self.parked.store(self.parked.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.release(true);
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

    /// Stays away until one of those who want the lock has had it.
    #[cold]
    fn stand_back(&self, me: u64) {
        let (note, times) = (self.note(), self.waiting.times.load(Ordering::Relaxed));
        self.release(true);
        let mut round = 0;
        while self.waiting.times.load(Ordering::Relaxed) == times && self.waiting.wanted.load(Ordering::Relaxed) > 0 {
            if pass_round(&mut round) {
                primitive::yield_now();
            }
        }
        self.acquire(me);
        self.set_note(note);
    }

    /// Whether the present call has just found anything to do: after one that ends in vain others who want the lock
    /// come first.
    #[inline]
    pub fn found(&self, anything: bool) {
        self.in_vain.store(if anything { NO } else { YES }, Ordering::Relaxed);
    }

    /// The end of a call.
    #[inline(always)]
    fn give(&self) {
        if self.watch.load(Ordering::Relaxed) == self.owner.load(Ordering::Relaxed) {
            self.watch.store(NOBODY, Ordering::Relaxed);
        }
        self.tell();
        let in_vain = self.in_vain.load(Ordering::Relaxed) == YES;
        if in_vain {
            self.in_vain.store(NO, Ordering::Relaxed);
        }
        let is_for_others = (in_vain || self.waiting.due.load(Ordering::Relaxed) == YES)
            && self.waiting.wanted.load(Ordering::Relaxed) > 0;
        self.release(is_for_others);
        if is_for_others {
            self.stay_away();
        }
    }

    /// Others who want the lock are not to lose it again and again to one who calls in a loop.
    #[cold]
    fn stay_away(&self) {
        let times = self.waiting.times.load(Ordering::Relaxed);
        // Once each time: whoever sleeps takes longer to come than is worth waiting for.
        for _ in 0..ROUNDS_AWAY {
            if self.waiting.times.load(Ordering::Relaxed) != times {
                return;
            }
            std::hint::spin_loop();
        }
        primitive::yield_now();
    }

    /// Lets go of the lock, and of the bias if others are to have it.
    #[inline(always)]
    fn release(&self, is_for_others: bool) {
        let by = self.by.load(Ordering::Relaxed);
        self.owner.store(NOBODY, Ordering::Relaxed);
        if by == BY_MUTEX {
            self.unlock_mutex();
        } else {
            self.bias.leave(by, is_for_others);
        }
    }

    fn unlock_mutex(&self) {
        if self.waiting.mutex.swap(FREE, Ordering::Release) == AWAITED {
            primitive::futex_wake(&self.waiting.mutex);
        }
    }

    /// Takes the lock for a call that goes on.
    fn acquire_again(&self, me: u64) {
        // It ends when the call does.
        if let Some(taken) = self.take() {
            std::mem::forget(taken);
        }
        debug_assert_eq!(self.owner.load(Ordering::Relaxed), me);
    }

    /// Takes the lock by the mutex.
    #[cold]
    #[inline(never)]
    fn acquire(&self, me: u64) {
        let waited = self.latest.load(Ordering::Relaxed) != me || !self.try_mutex();
        if waited {
            self.wait_for_mutex();
        }
        let biased_to = self.bias.to();
        if biased_to.is_somebody() && !biased_to.is(me) {
            self.revoke_bias(biased_to);
        }
        self.waiting.times.store(self.waiting.times.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        self.by.store(BY_MUTEX, Ordering::Relaxed);
        self.owner.store(me, Ordering::Relaxed);
        self.count_in_a_row(me, waited);
    }

    fn count_in_a_row(&self, me: u64, waited: bool) {
        let goes_on = !waited && self.latest.load(Ordering::Relaxed) == me;
        let in_a_row = if goes_on { self.in_a_row.load(Ordering::Relaxed).wrapping_add(1) } else { 0 };
        self.latest.store(me, Ordering::Relaxed);
        self.in_a_row.store(in_a_row, Ordering::Relaxed);
        if in_a_row == BIASED_AFTER {
            self.bias.give(me);
        }
    }

    fn try_mutex(&self) -> bool {
        self.waiting.mutex.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the mutex that was another's.
    fn wait_for_mutex(&self) {
        self.want();
        let since = Instant::now();
        while !self.look_for_mutex(since) && self.waiting.mutex.swap(AWAITED, Ordering::Acquire) != FREE {
            primitive::futex_wait(&self.waiting.mutex, AWAITED, LONGEST_SLEEP);
        }
        self.waiting.due.store(NO, Ordering::Relaxed);
        self.waiting.wanted.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes the mutex if it is to be had soon, for one who has been waiting `since` then. One who calls in a loop is
    /// left its share of the time: between two of its calls the mutex is free, but not to be had.
    fn look_for_mutex(&self, since: Instant) -> bool {
        // In the model all that matters comes after this.
        if cfg!(loom) {
            return false;
        }
        let (mut activity, mut changed) = (self.coming_and_going(), Instant::now());
        let (mut is_in_a_row, mut is_due) = (false, false);
        loop {
            let rounds = if is_in_a_row && !is_due { ROUNDS_BETWEEN_RARE_LOOKS } else { ROUNDS_BETWEEN_LOOKS };
            (0..rounds).for_each(|_| std::hint::spin_loop());
            let now = Instant::now();
            let before = std::mem::replace(&mut activity, self.coming_and_going());
            if activity != before {
                (changed, is_in_a_row) = (now, true);
            }
            is_due = now - since >= SHARE;
            if is_due && self.waiting.due.load(Ordering::Relaxed) == NO {
                self.waiting.due.store(YES, Ordering::Relaxed);
            }
            // The bias owner gives the lock up of itself when another is due; until then it costs a barrier to
            // take it from there.
            let biased_to = self.bias.to();
            let is_idle = activity == before && !self.bias.is_inside(biased_to);
            let is_free = is_idle || (is_due && !biased_to.is_somebody());
            if is_free && self.waiting.mutex.load(Ordering::Relaxed) == FREE && self.try_mutex() {
                return true;
            }
            if now - changed >= LONGEST_LOOKING {
                return false;
            }
            if now - since >= LONGEST_SPINNING {
                primitive::yield_now();
            }
        }
    }

    /// Revokes the bias, and waits until the thread that needed no mutex is outside. For who has the mutex.
    #[cold]
    fn revoke_bias(&self, biased_to: BiasedTo) {
        self.bias.revoke();
        self.want();
        let mut round = 0;
        while self.bias.is_inside(biased_to) {
            if pass_round(&mut round) {
                // Who leaves does not wake us.
                primitive::pause(Duration::from_micros(50));
            }
        }
        self.waiting.wanted.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wants the lock, and wakes who may sleep with it in hand.
    fn want(&self) {
        self.waiting.wanted.fetch_add(1, Ordering::SeqCst);
        if self.watch.load(Ordering::SeqCst) != NOBODY
            && let Some(doorbell) = self.doorbell.get()
        {
            doorbell.ring();
        }
    }
}

impl Default for BigLock {
    fn default() -> Self {
        Self::new()
    }
}

mod bias;
#[cfg(not(loom))]
pub(crate) mod lanes;
#[cfg(all(test, loom))]
mod loom_model;
#[cfg(all(test, not(loom)))]
mod tests;

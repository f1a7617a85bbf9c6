//! The locks of a peer that is divided into lanes: ends of the fabric, and engines on them, that have nothing in
//! common.
//!
//! A call that is about one lane only takes that lane's lock, so that calls on different lanes run at the same time.
//! All other calls take all locks, and whatever does not belong to a lane is for who has them all. Nobody waits for a
//! lock with another in hand, except who takes all, and those take them in one order.

use std::sync::OnceLock;
use std::time::Duration;

use super::{BigLock, BigLockGuard, NOBODY};
use crate::Backoff;
use crate::layout::MOST_LANES;
use crate::primitive::{self, AtomicU32, AtomicU64, Ordering, this_thread};

/// How a peer's threads take locks: not at all, one lock, or one of each lane.
const TRUSTED: u32 = 0;
const SHARED: u32 = 1;
const DIVIDED: u32 = 2;

/// Rounds of a wait that stands aside with all locks: on the processor, then offering it to others; after these it
/// naps, as nobody knows what it waits for.
const SPINS: u32 = 100;
const YIELDS: u32 = 500;
const NAP: Duration = Duration::from_micros(200);

/// One lock for each lane of a peer.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct BigLocks {
    /// How locks are taken, and how many lanes there are. Written by the thread that makes the peer, before it has
    /// others call (Relaxed).
    how: AtomicU32,
    lanes: AtomicU32,
    /// The thread that has all locks, or, where locks are not taken, the one that is inside. Written by it; what others
    /// read there is never their own number (Relaxed).
    all: AtomicU64,
    /// Who wants to hear of calls, if anybody does. Set once, by the thread that makes the peer.
    observer: OnceLock<Observer>,
    locks: Apart<[BigLock; MOST_LANES]>,
}

/// Who hears of each call, when it has taken all locks, and before it gives them back.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    /// The call begins.
    pub begins: fn(),
    /// It ends.
    pub ends: fn(),
}

/// What is written for each call is not on a line with what each call reads.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

/// What a call has taken, until this is dropped.
#[derive(Debug)]
pub enum Held<'a> {
    /// It needed nothing, or the thread had it already.
    Nothing,
    /// One lane's lock.
    One(BigLockGuard<'a>),
    /// All locks.
    All(&'a BigLocks),
    /// None, as one thread at a time comes; others can see that it is there.
    Trusted(Trusted<'a>),
}

/// Says that a thread is inside, where one at a time comes, until this is dropped.
#[derive(Debug)]
pub struct Trusted<'a>(&'a BigLocks);

impl Drop for Trusted<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.all.store(NOBODY, Ordering::Relaxed);
    }
}

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        match self {
            Held::All(locks) => locks.end_call(),
            Held::Nothing | Held::One(_) | Held::Trusted(_) => {}
        }
    }
}

impl BigLocks {
    /// Those of a peer with one lane, for which any number of threads may come.
    pub const fn new() -> Self {
        BigLocks {
            how: AtomicU32::new(SHARED),
            lanes: AtomicU32::new(1),
            all: AtomicU64::new(NOBODY),
            observer: OnceLock::new(),
            locks: Apart([const { BigLock::new() }; MOST_LANES]),
        }
    }

    /// From now on the peer has so many lanes. The caller has the lock of the first.
    ///
    /// # Panics
    /// If that are too many.
    pub fn divide(&self, lanes: usize) {
        assert!((1..=MOST_LANES).contains(&lanes), "{lanes} lanes");
        self.lanes.store(lanes as u32, Ordering::Relaxed);
        if lanes > 1 {
            self.how.store(DIVIDED, Ordering::Relaxed);
        }
    }

    /// From now on there is one thread at a time, by the program's promise, or as it is the only one of a forked child:
    /// locks cost next to nothing.
    pub fn trust(&self) {
        self.all.store(NOBODY, Ordering::Relaxed);
        self.how.store(TRUSTED, Ordering::Relaxed);
    }

    /// From now on each call of the program takes all locks, and `observer` hears of it. The caller has the lock of the
    /// first lane. That calls ask for all locks is up to whoever takes them.
    pub fn observe(&self, observer: Observer) {
        // There is one peer; it has one observer.
        let _ = self.observer.set(observer);
        self.how.store(DIVIDED, Ordering::Relaxed);
    }

    /// Whether somebody wants to hear of calls.
    pub fn are_observed(&self) -> bool {
        self.observer.get().is_some()
    }

    /// Whether there are several lanes.
    #[inline]
    pub fn are_several(&self) -> bool {
        self.how.load(Ordering::Relaxed) == DIVIDED
    }

    /// How many lanes there are.
    pub fn lanes(&self) -> usize {
        self.lanes.load(Ordering::Relaxed) as usize
    }

    /// The lock of a lane.
    pub fn of(&self, lane: usize) -> &BigLock {
        &self.locks.0[lane]
    }

    fn all(&self) -> &[BigLock] {
        &self.locks.0[..self.lanes()]
    }

    /// Takes the lock, of all lanes if there are several.
    #[inline(always)]
    pub fn take(&self) -> Held<'_> {
        self.take_of(|| None)
    }

    /// Takes the lock of the lane that `lane` names, or of all if it names none. Where there is one lane, it is not
    /// asked.
    #[inline(always)]
    pub fn take_of(&self, lane: impl FnOnce() -> Option<usize>) -> Held<'_> {
        match self.how.load(Ordering::Relaxed) {
            TRUSTED => self.enter_trusted(),
            SHARED => Held::of(self.of(0).take()),
            _ => match lane() {
                Some(lane) => Held::of(self.of(lane).take()),
                None => self.take_all(),
            },
        }
    }

    #[inline(always)]
    fn enter_trusted(&self) -> Held<'_> {
        self.enter_alone().map_or(Held::Nothing, Held::Trusted)
    }

    #[inline(always)]
    fn enter_alone(&self) -> Option<Trusted<'_>> {
        if self.all.load(Ordering::Relaxed) != NOBODY {
            return None;
        }
        self.all.store(this_thread(), Ordering::Relaxed);
        Some(Trusted(self))
    }

    /// For a call that is about the first lane, and that nobody hears of: where one thread at a time comes, and none is
    /// inside, there is nothing to take.
    #[inline(always)]
    pub fn enter_if_trusted(&self) -> Option<Trusted<'_>> {
        if self.how.load(Ordering::Relaxed) == TRUSTED { self.enter_alone() } else { None }
    }

    /// Whether another thread is inside, against the promise that one at a time comes: for a thread that has come, too.
    /// It need not be noticed if both came in the same moment.
    #[inline]
    pub fn others_are_inside(&self) -> bool {
        if self.how.load(Ordering::Relaxed) != TRUSTED {
            return false;
        }
        let inside = self.all.load(Ordering::Relaxed);
        inside != NOBODY && inside != this_thread()
    }

    #[cold]
    fn take_all(&self) -> Held<'_> {
        let me = this_thread();
        if self.all().iter().any(|lock| lock.owner.load(Ordering::Relaxed) == me) {
            return Held::Nothing;
        }
        self.acquire_all(me);
        if let Some(observer) = self.observer.get() {
            (observer.begins)();
        }
        Held::All(self)
    }

    fn end_call(&self) {
        if let Some(observer) = self.observer.get() {
            (observer.ends)();
        }
        self.give_all();
    }

    fn acquire_all(&self, me: u64) {
        self.all().iter().for_each(|lock| lock.acquire_again(me));
        self.all.store(me, Ordering::Relaxed);
    }

    fn give_all(&self) {
        self.all.store(NOBODY, Ordering::Relaxed);
        self.all().iter().rev().for_each(BigLock::give);
    }

    /// Whether the present thread has all locks of several.
    pub fn has_all(&self) -> bool {
        self.are_several() && self.all.load(Ordering::Relaxed) == this_thread()
    }

    /// Calls a function that may take long, or wait for other threads, without any lock.
    pub fn outside<R>(&self, function: impl FnOnce() -> R) -> R {
        let me = this_thread();
        if self.how.load(Ordering::Relaxed) == TRUSTED {
            let inside = self.all.load(Ordering::Relaxed);
            self.all.store(NOBODY, Ordering::Relaxed);
            let result = function();
            self.all.store(inside, Ordering::Relaxed);
            return result;
        }
        if self.all.load(Ordering::Relaxed) == me {
            let notes = self.locks.0.each_ref().map(BigLock::note);
            self.give_all();
            let result = function();
            self.acquire_all(me);
            self.locks.0.iter().zip(notes).for_each(|(lock, note)| lock.set_note(note));
            return result;
        }
        match self.all().iter().find(|lock| lock.owner.load(Ordering::Relaxed) == me) {
            Some(lock) => lock.outside(function),
            None => function(),
        }
    }

    /// Calls a function with all locks, by a thread that may have one of them. Others may have it in between.
    pub fn with_all<R>(&self, function: impl FnOnce() -> R) -> R {
        if !self.are_several() || self.has_all() {
            return function();
        }
        self.outside(|| {
            let _all = self.take_all();
            function()
        })
    }

    /// Has `function` called while no thread is in a call, if that is so now, and locks say so.
    pub fn unless_called<R>(&self, function: impl FnOnce() -> R) -> Option<R> {
        if self.how.load(Ordering::Relaxed) == TRUSTED {
            return None;
        }
        let idle_locks: Option<Vec<_>> = self.all().iter().map(BigLock::lock_if_idle).collect();
        idle_locks.map(|_guards| function())
    }

    /// Whether the program has promised that there is one thread at a time.
    pub fn are_trusted(&self) -> bool {
        self.how.load(Ordering::Relaxed) == TRUSTED
    }

    /// For a thread that waits with all locks, between two rounds of its wait: lets others in, whether or not they want
    /// to.
    pub fn stand_aside(&self, backoff: &mut Backoff) {
        self.outside(|| backoff.stand_by());
    }
}

impl Backoff {
    /// One round of a wait for something of which nobody knows where it comes from, so that nobody could wake who
    /// sleeps.
    pub fn stand_by(&mut self) {
        let round = self.rounds;
        self.rounds = round.saturating_add(1);
        match round {
            _ if round < SPINS => std::hint::spin_loop(),
            _ if round < SPINS + YIELDS => primitive::yield_now(),
            _ => primitive::pause(NAP),
        }
    }
}

impl<'a> Held<'a> {
    #[inline(always)]
    fn of(taken: Option<BigLockGuard<'a>>) -> Self {
        taken.map_or(Held::Nothing, Held::One)
    }
}

impl Default for BigLocks {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;

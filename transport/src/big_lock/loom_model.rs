//! The lock, and taking it if it is idle, under loom: never two at a time, and whoever has the lock sees what was done
//! before. Run as the model of the ring.
#![allow(unsafe_code)]

use std::sync::Arc;

use loom::cell::Cell;
use loom::thread;

use super::*;
use crate::primitive::{BROKEN, Broken};

/// Rings at nobody: nobody sleeps in a fabric here.
#[derive(Debug)]
pub struct Doorbell;

impl Doorbell {
    pub(super) fn ring(&self) {}
}

/// A lock, and what only its owner may touch: loom notices if two do.
struct World {
    lock: BigLock,
    count: Cell<u32>,
}

// SAFETY: `count` is for who has the lock; if two have it, loom notices.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    /// One that is biased to the present thread.
    fn new() -> Arc<World> {
        let world = Arc::new(World { lock: BigLock::new(), count: Cell::new(0) });
        let taken = world.lock.take();
        world.lock.share(Doorbell);
        drop(taken);
        world
    }

    fn call(&self) {
        let _taken = self.lock.take();
        self.count.set(self.count.get() + 1);
    }

    /// Whether it came to that.
    fn lock_if_idle(&self) -> bool {
        let guard = self.lock.lock_if_idle();
        if guard.is_some() {
            self.count.set(self.count.get() + 1);
        }
        guard.is_some()
    }
}

/// The bias owner calls twice, while another takes the lock if it is idle.
fn calls_and_idle_locks() {
    let world = World::new();
    let others = world.clone();
    let idle_locker = thread::spawn(move || u32::from(others.lock_if_idle()));
    world.call();
    world.call();
    let idle_locks = idle_locker.join().unwrap();
    let _taken = world.lock.take();
    assert_eq!(world.count.get(), 2 + idle_locks);
    assert!(world.lock.is_biased());
}

/// A second thread ends the bias.
fn calls_of_two() {
    let world = World::new();
    let others = world.clone();
    let other = thread::spawn(move || others.call());
    world.call();
    other.join().unwrap();
    world.call();
    assert_eq!(world.count.get(), 3);
}

/// The bias goes to one who calls in a row, given up by another who found nothing.
fn calls_in_a_row() {
    let world = World::new();
    let others = world.clone();
    let other = thread::spawn(move || (0..2).for_each(|_| others.call()));
    let taken = world.lock.take();
    world.count.set(world.count.get() + 1);
    world.lock.found(false);
    drop(taken);
    world.call();
    other.join().unwrap();
    let _taken = world.lock.take();
    assert_eq!(world.count.get(), 4);
}

/// Both, and one that takes the idle lock.
fn calls_of_two_and_an_idle_lock() {
    let world = World::new();
    let (calling, idle) = (world.clone(), world.clone());
    let caller = thread::spawn(move || calling.call());
    let idle_locker = thread::spawn(move || u32::from(idle.lock_if_idle()));
    world.call();
    caller.join().unwrap();
    let idle_locks = idle_locker.join().unwrap();
    let _taken = world.lock.take();
    assert_eq!(world.count.get(), 2 + idle_locks);
}

/// One waits asleep for what another does. A wake-up that is lost is a deadlock.
fn news_for_one_who_sleeps() {
    let world = World::new();
    let others = world.clone();
    let other = thread::spawn(move || others.call());
    let taken = world.lock.take();
    while world.count.get() == 0 {
        world.lock.park(this_thread());
    }
    drop(taken);
    other.join().unwrap();
}

fn explore(broken: Broken, preemptions: usize, model: fn()) {
    BROKEN.set(broken);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn idle_locks_exclude_calls() {
    explore(Broken::Nothing, 3, calls_and_idle_locks);
}

#[test]
fn calls_exclude_each_other() {
    explore(Broken::Nothing, 3, calls_of_two);
}

#[test]
fn the_bias_is_one_threads() {
    explore(Broken::Nothing, 2, calls_in_a_row);
}

#[test]
#[should_panic]
fn without_the_barrier_the_next_is_disturbed() {
    explore(Broken::NoBarrier, 2, calls_in_a_row);
}

#[test]
#[should_panic]
fn who_gives_it_up_outside_takes_it_from_the_next() {
    explore(Broken::GivenUpOutside, 2, calls_in_a_row);
}

#[test]
fn three_exclude_each_other() {
    explore(Broken::Nothing, 2, calls_of_two_and_an_idle_lock);
}

#[test]
fn who_sleeps_hears_of_news() {
    explore(Broken::Nothing, 3, news_for_one_who_sleeps);
}

#[test]
#[should_panic]
fn without_the_barrier_two_have_the_turn() {
    explore(Broken::NoBarrier, 3, calls_and_idle_locks);
}

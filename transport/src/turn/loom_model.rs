//! Turns and visits under loom: never two at a time, and whoever has the turn sees what was done before. Run as the
//! model of the ring.
#![allow(unsafe_code)]

use std::sync::Arc;

use loom::cell::Cell;
use loom::thread;

use super::*;
use crate::primitive::{BROKEN, Broken};

/// Rings at nobody: nobody sleeps in a fabric here.
#[derive(Debug)]
pub struct Bell;

impl Bell {
    pub(super) fn ring(&self) {}
}

/// A turn, and what only its owner may touch: loom notices if two do.
struct World {
    turn: Turn,
    count: Cell<u32>,
}

// SAFETY: `count` is for who has the turn; if two have it, loom notices.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    /// One that favours the present thread.
    fn new() -> Arc<World> {
        let world = Arc::new(World { turn: Turn::new(), count: Cell::new(0) });
        let taken = world.turn.take();
        world.turn.share(Bell);
        drop(taken);
        world
    }

    fn call(&self) {
        let _taken = self.turn.take();
        self.count.set(self.count.get() + 1);
    }

    /// Whether it came to that.
    fn visit(&self) -> bool {
        let visit = self.turn.visit();
        if visit.is_some() {
            self.count.set(self.count.get() + 1);
        }
        visit.is_some()
    }
}

/// The favoured thread calls twice, while another visits.
fn calls_and_visits() {
    let world = World::new();
    let others = world.clone();
    let visitor = thread::spawn(move || u32::from(others.visit()));
    world.call();
    world.call();
    let visits = visitor.join().unwrap();
    let _taken = world.turn.take();
    assert_eq!(world.count.get(), 2 + visits);
    assert!(world.turn.is_favoured());
}

/// A second thread ends the favour.
fn calls_of_two() {
    let world = World::new();
    let others = world.clone();
    let other = thread::spawn(move || others.call());
    world.call();
    other.join().unwrap();
    world.call();
    assert_eq!(world.count.get(), 3);
}

/// The favour goes to one who calls in a row, given up by another who found nothing.
fn calls_in_a_row() {
    let world = World::new();
    let others = world.clone();
    let other = thread::spawn(move || (0..2).for_each(|_| others.call()));
    let taken = world.turn.take();
    world.count.set(world.count.get() + 1);
    world.turn.found(false);
    drop(taken);
    world.call();
    other.join().unwrap();
    let _taken = world.turn.take();
    assert_eq!(world.count.get(), 4);
}

/// Both, and a visitor.
fn calls_of_two_and_a_visit() {
    let world = World::new();
    let (calling, visiting) = (world.clone(), world.clone());
    let caller = thread::spawn(move || calling.call());
    let visitor = thread::spawn(move || u32::from(visiting.visit()));
    world.call();
    caller.join().unwrap();
    let visits = visitor.join().unwrap();
    let _taken = world.turn.take();
    assert_eq!(world.count.get(), 2 + visits);
}

/// One waits asleep for what another does. A wake-up that is lost is a deadlock.
fn news_for_one_who_sleeps() {
    let world = World::new();
    let others = world.clone();
    let other = thread::spawn(move || others.call());
    let taken = world.turn.take();
    while world.count.get() == 0 {
        world.turn.park(this_thread());
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
fn visits_exclude_calls() {
    explore(Broken::Nothing, 3, calls_and_visits);
}

#[test]
fn calls_exclude_each_other() {
    explore(Broken::Nothing, 3, calls_of_two);
}

#[test]
fn the_favour_is_one_threads() {
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
    explore(Broken::Nothing, 2, calls_of_two_and_a_visit);
}

#[test]
fn who_sleeps_hears_of_news() {
    explore(Broken::Nothing, 3, news_for_one_who_sleeps);
}

#[test]
#[should_panic]
fn without_the_barrier_two_have_the_turn() {
    explore(Broken::NoBarrier, 3, calls_and_visits);
}

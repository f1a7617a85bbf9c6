//! Turns of several lanes with real threads. None depends on who is faster.

use std::sync::Barrier;
use std::thread;

use super::*;
use crate::NodeFabric;

const LANES: usize = 3;

/// Turns that favour the present thread, and the fabrics that they are for.
fn divided() -> (Turns, Vec<NodeFabric>) {
    let turns = Turns::new();
    let fabrics = NodeFabric::threads_with_lanes(1, LANES).unwrap().pop().unwrap();
    for (lane, fabric) in fabrics.iter().enumerate() {
        let _taken = turns.of(lane).take();
        turns.of(lane).share(fabric.bell());
    }
    turns.divide(LANES);
    (turns, fabrics)
}

fn is_nothing(held: &Held<'_>) -> bool {
    matches!(held, Held::Nothing)
}

#[test]
fn calls_on_different_lanes_run_at_the_same_time() {
    let (turns, _fabrics) = divided();
    let all_inside = Barrier::new(LANES);
    thread::scope(|scope| {
        for lane in 0..LANES {
            let (turns, all_inside) = (&turns, &all_inside);
            scope.spawn(move || {
                let _held = turns.take_of(|| Some(lane));
                // Nobody would come here if another had to leave first.
                all_inside.wait();
            });
        }
    });
}

#[test]
fn one_at_a_time_in_each_lane_and_nobody_beside_who_has_all() {
    const EACH: u64 = 5_000;
    let (turns, _fabrics) = divided();
    // Not counted by one operation: who does it at the same time as another is not counted.
    let sums = [const { AtomicU64::new(0) }; LANES];
    let add = |lane: usize| sums[lane].store(sums[lane].load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    thread::scope(|scope| {
        for thread in 0..2 * LANES {
            let (turns, add) = (&turns, &add);
            scope.spawn(move || {
                for _ in 0..EACH {
                    let _held = turns.take_of(|| Some(thread % LANES));
                    add(thread % LANES);
                }
            });
        }
        for _ in 0..EACH {
            let _held = turns.take();
            assert!(turns.has_all());
            (0..LANES).for_each(add);
        }
    });
    assert_eq!(sums.map(AtomicU64::into_inner), [3 * EACH; LANES]);
}

#[test]
fn who_has_turns_does_not_take_them_again() {
    let (turns, _fabrics) = divided();
    {
        let _all = turns.take();
        assert!(is_nothing(&turns.take()) && is_nothing(&turns.take_of(|| Some(1))));
        assert!(turns.has_all());
        assert!((0..LANES).all(|lane| turns.of(lane).owner.load(Ordering::Relaxed) == this_thread()));
    }
    assert!(!turns.has_all());
    let _one = turns.take_of(|| Some(1));
    assert!(is_nothing(&turns.take()) && is_nothing(&turns.take_of(|| Some(1))));
}

#[test]
fn outside_others_have_all_turns_and_what_was_noted_stays() {
    let (turns, _fabrics) = divided();
    for lane in [None, Some(1)] {
        let _held = turns.take_of(|| lane);
        turns.of(1).set_note(7);
        turns.outside(|| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    let _held = turns.take();
                    turns.of(1).set_note(8);
                });
            });
        });
        assert_eq!(turns.of(1).note(), 7);
        assert_eq!(turns.has_all(), lane.is_none());
        assert!(is_nothing(&turns.take_of(|| Some(1))), "it is this thread's again");
    }
}

#[test]
fn who_has_one_turn_can_have_all_for_a_while() {
    let (turns, _fabrics) = divided();
    let inside = AtomicU32::new(0);
    thread::scope(|scope| {
        for lane in 0..LANES {
            let (turns, inside) = (&turns, &inside);
            scope.spawn(move || {
                for _ in 0..500 {
                    let _held = turns.take_of(|| Some(lane));
                    turns.with_all(|| {
                        assert!(turns.has_all());
                        turns.with_all(|| assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0));
                        inside.fetch_sub(1, Ordering::Relaxed);
                    });
                    assert!(!turns.has_all() && is_nothing(&turns.take_of(|| Some(lane))));
                }
            });
        }
    });
}

#[test]
fn who_waits_with_all_turns_lets_others_in() {
    let (turns, _fabrics) = divided();
    let arrived = AtomicU32::new(0);
    let wait = || {
        let mut backoff = Backoff::default();
        while arrived.load(Ordering::Relaxed) < LANES as u32 {
            turns.stand_aside(&mut backoff);
            assert!(turns.has_all());
        }
    };
    thread::scope(|scope| {
        let all = turns.take();
        for lane in [None, Some(0), Some(2)] {
            let (turns, arrived, wait) = (&turns, &arrived, &wait);
            scope.spawn(move || {
                let _held = turns.take_of(|| lane);
                arrived.fetch_add(1, Ordering::Relaxed);
                if lane.is_none() {
                    wait();
                }
            });
        }
        wait();
        drop(all);
    });
}

#[test]
fn one_lane_has_one_turn() {
    let turns = Turns::new();
    turns.divide(1);
    assert!(!turns.are_several());
    let held = turns.take_of(|| unreachable!("there is no choice"));
    assert!(matches!(held, Held::One(_)) && !turns.has_all());
    turns.with_all(|| assert!(is_nothing(&turns.take())));
}

#[test]
fn threads_that_are_trusted_need_no_turns() {
    let turns = Turns::new();
    turns.trust();
    assert!(matches!(turns.take(), Held::Trusted(_)) && !turns.of(0).let_others_in());
}

#[test]
fn threads_that_come_at_the_same_time_against_their_promise_are_seen() {
    let turns = Turns::new();
    turns.trust();
    let others_see = || thread::scope(|scope| scope.spawn(|| turns.others_are_inside()).join().unwrap());
    assert!(!others_see());
    let held = turns.take();
    assert!(others_see() && !turns.others_are_inside());
    assert!(is_nothing(&turns.take()), "it is inside already");
    assert!(!turns.outside(others_see), "it is outside meanwhile");
    assert!(others_see());
    drop(held);
    assert!(!others_see());
}

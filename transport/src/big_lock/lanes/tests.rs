//! BigLocks of several lanes with real threads. None depends on who is faster.

use std::sync::Barrier;
use std::thread;

use super::*;
use crate::NodeFabric;

const LANES: usize = 3;

/// Locks that are biased to the present thread, and the fabrics that they are for.
fn divided() -> (BigLocks, Vec<NodeFabric>) {
    let locks = BigLocks::new();
    let fabrics = NodeFabric::threads_with_lanes(1, LANES).unwrap().pop().unwrap();
    for (lane, fabric) in fabrics.iter().enumerate() {
        let _taken = locks.of(lane).take();
        locks.of(lane).share(fabric.doorbell());
    }
    locks.divide(LANES);
    (locks, fabrics)
}

fn is_nothing(held: &Held<'_>) -> bool {
    matches!(held, Held::Nothing)
}

#[test]
fn calls_on_different_lanes_run_at_the_same_time() {
    let (locks, _fabrics) = divided();
    let all_inside = Barrier::new(LANES);
    thread::scope(|scope| {
        for lane in 0..LANES {
            let (locks, all_inside) = (&locks, &all_inside);
            scope.spawn(move || {
                let _held = locks.take_of(|| Some(lane));
                // Nobody would come here if another had to leave first.
                all_inside.wait();
            });
        }
    });
}

#[test]
fn one_at_a_time_in_each_lane_and_nobody_beside_who_has_all() {
    const EACH: u64 = 5_000;
    let (locks, _fabrics) = divided();
    // Not counted by one operation: who does it at the same time as another is not counted.
    let sums = [const { AtomicU64::new(0) }; LANES];
    let add = |lane: usize| sums[lane].store(sums[lane].load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    thread::scope(|scope| {
        for thread in 0..2 * LANES {
            let (locks, add) = (&locks, &add);
            scope.spawn(move || {
                for _ in 0..EACH {
                    let _held = locks.take_of(|| Some(thread % LANES));
                    add(thread % LANES);
                }
            });
        }
        for _ in 0..EACH {
            let _held = locks.take();
            assert!(locks.has_all());
            (0..LANES).for_each(add);
        }
    });
    assert_eq!(sums.map(AtomicU64::into_inner), [3 * EACH; LANES]);
}

#[test]
fn who_has_turns_does_not_take_them_again() {
    let (locks, _fabrics) = divided();
    {
        let _all = locks.take();
        assert!(is_nothing(&locks.take()) && is_nothing(&locks.take_of(|| Some(1))));
        assert!(locks.has_all());
        assert!((0..LANES).all(|lane| locks.of(lane).owner.load(Ordering::Relaxed) == this_thread()));
    }
    assert!(!locks.has_all());
    let _one = locks.take_of(|| Some(1));
    assert!(is_nothing(&locks.take()) && is_nothing(&locks.take_of(|| Some(1))));
}

#[test]
fn outside_others_have_all_turns_and_what_was_noted_stays() {
    let (locks, _fabrics) = divided();
    for lane in [None, Some(1)] {
        let _held = locks.take_of(|| lane);
        locks.of(1).set_note(7);
        locks.outside(|| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    let _held = locks.take();
                    locks.of(1).set_note(8);
                });
            });
        });
        assert_eq!(locks.of(1).note(), 7);
        assert_eq!(locks.has_all(), lane.is_none());
        assert!(is_nothing(&locks.take_of(|| Some(1))), "it is this thread's again");
    }
}

#[test]
fn who_has_one_turn_can_have_all_for_a_while() {
    let (locks, _fabrics) = divided();
    let inside = AtomicU32::new(0);
    thread::scope(|scope| {
        for lane in 0..LANES {
            let (locks, inside) = (&locks, &inside);
            scope.spawn(move || {
                for _ in 0..500 {
                    let _held = locks.take_of(|| Some(lane));
                    locks.with_all(|| {
                        assert!(locks.has_all());
                        locks.with_all(|| assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0));
                        inside.fetch_sub(1, Ordering::Relaxed);
                    });
                    assert!(!locks.has_all() && is_nothing(&locks.take_of(|| Some(lane))));
                }
            });
        }
    });
}

#[test]
fn who_waits_with_all_turns_lets_others_in() {
    let (locks, _fabrics) = divided();
    let arrived = AtomicU32::new(0);
    let wait = || {
        let mut backoff = Backoff::default();
        while arrived.load(Ordering::Relaxed) < LANES as u32 {
            locks.stand_aside(&mut backoff);
            assert!(locks.has_all());
        }
    };
    thread::scope(|scope| {
        let all = locks.take();
        for lane in [None, Some(0), Some(2)] {
            let (locks, arrived, wait) = (&locks, &arrived, &wait);
            scope.spawn(move || {
                let _held = locks.take_of(|| lane);
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
    let locks = BigLocks::new();
    locks.divide(1);
    assert!(!locks.are_several());
    let held = locks.take_of(|| unreachable!("there is no choice"));
    assert!(matches!(held, Held::One(_)) && !locks.has_all());
    locks.with_all(|| assert!(is_nothing(&locks.take())));
}

#[test]
fn threads_that_are_trusted_need_no_turns() {
    let locks = BigLocks::new();
    locks.trust();
    assert!(matches!(locks.take(), Held::Trusted(_)) && !locks.of(0).let_others_in());
}

#[test]
fn threads_that_come_at_the_same_time_against_their_promise_are_seen() {
    let locks = BigLocks::new();
    locks.trust();
    let others_see = || thread::scope(|scope| scope.spawn(|| locks.others_are_inside()).join().unwrap());
    assert!(!others_see());
    let held = locks.take();
    assert!(others_see() && !locks.others_are_inside());
    assert!(is_nothing(&locks.take()), "it is inside already");
    assert!(!locks.outside(others_see), "it is outside meanwhile");
    assert!(others_see());
    drop(held);
    assert!(!others_see());
}

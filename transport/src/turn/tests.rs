//! Turns with real threads: never two at a time, and nobody waits for another's wait. None depends on who is faster.

use std::sync::Barrier;
use std::thread;

use super::*;
use crate::{Backoff, Fabric, NodeFabric};

/// A turn that favours the present thread, and the fabric that it is for.
fn shared() -> (Turn, NodeFabric) {
    let turn = Turn::new();
    let fabric = NodeFabric::threads(1).unwrap().pop().unwrap();
    let taken = turn.take();
    turn.share(fabric.bell());
    drop(taken);
    (turn, fabric)
}

#[test]
fn one_at_a_time() {
    const EACH: u64 = 20_000;
    let (turn, _fabric) = shared();
    // Not counted by one operation: who does it at the same time as another is not counted.
    let sum = AtomicU64::new(0);
    let count = || {
        for _ in 0..EACH {
            let _taken = turn.take().expect("it is not this thread's already");
            sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    };
    assert!(turn.is_favoured());
    thread::scope(|scope| {
        (0..3).for_each(|_| _ = scope.spawn(count));
        count();
    });
    assert_eq!(sum.load(Ordering::Relaxed), 4 * EACH);
}

#[test]
fn the_favour_goes_to_who_calls_in_a_row() {
    let (turn, _fabric) = shared();
    let call = |times: u32| (0..times).for_each(|_| drop(turn.take().expect("it is not this thread's already")));
    thread::scope(|scope| {
        scope.spawn(|| call(1)).join().unwrap();
        assert!(!turn.is_favoured(), "another has come");
        call(FAVOURED_AFTER);
        assert!(!turn.is_favoured(), "not often enough");
        call(1);
        assert!(turn.is_favoured());
        // More threads than can ever be favoured: the last ones do without.
        for _ in 0..3 {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| call(FAVOURED_AFTER + 10))).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
        call(FAVOURED_AFTER + 1);
        assert!(turn.is_favoured());
    });
}

#[test]
fn who_calls_in_a_loop_lets_others_in() {
    const EACH: u64 = 20;
    for finds_anything in [true, false] {
        let (turn, _fabric) = shared();
        let (sum, of_others) = (AtomicU64::new(0), AtomicU64::new(0));
        let add = |to: &AtomicU64| to.store(to.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let call = || {
            let _taken = turn.take();
            turn.found(finds_anything);
            add(&sum);
        };
        let call_as_other = || {
            let _taken = turn.take();
            [&sum, &of_others].into_iter().for_each(add);
        };
        let mut own = 0;
        thread::scope(|scope| {
            (0..2).for_each(|_| _ = scope.spawn(|| (0..EACH).for_each(|_| call_as_other())));
            while of_others.load(Ordering::Relaxed) < 2 * EACH {
                call();
                own += 1;
            }
        });
        assert_eq!(sum.load(Ordering::Relaxed), own + 2 * EACH);
    }
}

#[test]
fn who_has_it_does_not_take_it_again() {
    let (turn, _fabric) = shared();
    let taken = turn.take();
    assert!(taken.is_some() && turn.take().is_none());
    drop(taken);
    assert!(turn.take().is_some());
}

#[test]
fn outside_others_have_their_turn_and_what_was_noted_stays() {
    let (turn, _fabric) = shared();
    let _taken = turn.take();
    turn.set_note(7);
    turn.outside(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                let _taken = turn.take();
                turn.set_note(8);
            });
        });
    });
    assert_eq!(turn.note(), 7);
    assert!(turn.take().is_none(), "it is this thread's again");
}

/// Waits in a call until `flag` is raised, asleep in the fabric if this thread has it; the note stays.
fn wait_in_call(turn: &Turn, flag: &AtomicU32, mut fabric: Option<NodeFabric>, note: u32) {
    let _taken = turn.take();
    turn.set_note(note);
    let mut backoff = Backoff::default();
    while flag.load(Ordering::Relaxed) == NO {
        if !turn.let_others_in() {
            match &mut fabric {
                Some(fabric) => fabric.idle(&mut backoff),
                None => std::hint::spin_loop(),
            }
        }
    }
    assert_eq!(turn.note(), note);
}

#[test]
fn who_waits_lets_others_in() {
    for _ in 0..50 {
        let (turn, fabric) = shared();
        let flags = [const { AtomicU32::new(NO) }; 3];
        let all_here = Barrier::new(4);
        let wait = |flag: usize, fabric: Option<NodeFabric>| {
            all_here.wait();
            wait_in_call(&turn, &flags[flag], fabric, flag as u32 + 1);
            // The next may be waiting for it.
            let _taken = turn.take();
            flags[(flag + 1) % 3].store(YES, Ordering::Relaxed);
        };
        let wait = &wait;
        thread::scope(|scope| {
            // Only one of them ever is in the fabric: the watch without one spins.
            scope.spawn(move || wait(0, Some(fabric)));
            scope.spawn(move || wait(1, None));
            scope.spawn(move || wait(2, None));
            all_here.wait();
            let _taken = turn.take();
            flags[1].store(YES, Ordering::Relaxed);
        });
    }
}

#[test]
fn visits_keep_nobody_away_and_the_favour_comes_back() {
    const EACH: u64 = 20_000;
    let (turn, _fabric) = shared();
    let sum = AtomicU64::new(0);
    let add = || sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    let visits = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            // As many as there is time for, and one at least.
            while visits.load(Ordering::Relaxed) == 0 || sum.load(Ordering::Relaxed) < EACH {
                if let Some(_visit) = turn.visit() {
                    add();
                    visits.store(visits.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                }
            }
        });
        for _ in 0..EACH {
            let _taken = turn.take();
            add();
        }
    });
    assert_eq!(sum.load(Ordering::Relaxed), EACH + visits.load(Ordering::Relaxed));
    assert!(turn.is_favoured());
}

#[test]
fn nobody_visits_who_is_busy() {
    let (turn, _fabric) = shared();
    thread::scope(|scope| {
        let taken = turn.take();
        scope.spawn(|| assert!(turn.visit().is_none(), "somebody is inside")).join().unwrap();
        turn.outside(|| scope.spawn(|| assert!(turn.visit().is_some(), "nobody is inside")).join().unwrap());
        assert!(turn.take().is_none(), "it is this thread's again");
        drop(taken);
        scope.spawn(|| assert!(turn.visit().is_some(), "nobody is inside")).join().unwrap();
    });
    assert!(turn.is_favoured());
}

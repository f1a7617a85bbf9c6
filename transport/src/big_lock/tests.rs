//! BigLocks with real threads: never two at a time, and nobody waits for another's wait. None depends on who is faster.

use std::sync::Barrier;
use std::thread;

use super::*;
use crate::{Backoff, NodeFabric, Waiting};

/// A lock that is biased to the present thread, and the fabric that it is for.
fn shared() -> (BigLock, NodeFabric) {
    let lock = BigLock::new();
    let fabric = NodeFabric::threads(1).unwrap().pop().unwrap();
    let taken = lock.take();
    lock.share(fabric.doorbell());
    drop(taken);
    (lock, fabric)
}

#[test]
fn one_at_a_time() {
    const EACH: u64 = 20_000;
    let (lock, _fabric) = shared();
    // Not counted by one operation: who does it at the same time as another is not counted.
    let sum = AtomicU64::new(0);
    let count = || {
        for _ in 0..EACH {
            let _taken = lock.take().expect("it is not this thread's already");
            sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    };
    assert!(lock.is_biased());
    thread::scope(|scope| {
        (0..3).for_each(|_| _ = scope.spawn(count));
        count();
    });
    assert_eq!(sum.load(Ordering::Relaxed), 4 * EACH);
}

#[test]
fn the_bias_goes_to_who_calls_in_a_row() {
    let (lock, _fabric) = shared();
    let call = |times: u32| (0..times).for_each(|_| drop(lock.take().expect("it is not this thread's already")));
    thread::scope(|scope| {
        scope.spawn(|| call(1)).join().unwrap();
        assert!(!lock.is_biased(), "another has come");
        call(BIASED_AFTER);
        assert!(!lock.is_biased(), "not often enough");
        call(1);
        assert!(lock.is_biased());
        // More threads than can ever own the bias: the last ones do without.
        for _ in 0..3 {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| call(BIASED_AFTER + 10))).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
        call(BIASED_AFTER + 1);
        assert!(lock.is_biased());
    });
}

#[test]
fn who_calls_in_a_loop_lets_others_in() {
    const EACH: u64 = 20;
    for finds_anything in [true, false] {
        let (lock, _fabric) = shared();
        let (sum, of_others) = (AtomicU64::new(0), AtomicU64::new(0));
        let add = |to: &AtomicU64| to.store(to.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let call = || {
            let _taken = lock.take();
            lock.found(finds_anything);
            add(&sum);
        };
        let call_as_other = || {
            let _taken = lock.take();
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
    let (lock, _fabric) = shared();
    let taken = lock.take();
    assert!(taken.is_some() && lock.take().is_none());
    drop(taken);
    assert!(lock.take().is_some());
}

#[test]
fn outside_others_have_their_turn_and_what_was_noted_stays() {
    let (lock, _fabric) = shared();
    let _taken = lock.take();
    lock.set_note(7);
    lock.outside(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                let _taken = lock.take();
                lock.set_note(8);
            });
        });
    });
    assert_eq!(lock.note(), 7);
    assert!(lock.take().is_none(), "it is this thread's again");
}

/// Waits in a call until `flag` is raised, asleep in the fabric if this thread has it; the note stays.
fn wait_in_call(lock: &BigLock, flag: &AtomicU32, mut fabric: Option<NodeFabric>, note: u32) {
    let _taken = lock.take();
    lock.set_note(note);
    let mut backoff = Backoff::default();
    while flag.load(Ordering::Relaxed) == NO {
        if !lock.let_others_in() {
            match &mut fabric {
                Some(fabric) => fabric.idle(&mut backoff),
                None => std::hint::spin_loop(),
            }
        }
    }
    assert_eq!(lock.note(), note);
}

#[test]
fn who_waits_lets_others_in() {
    for _ in 0..50 {
        let (lock, fabric) = shared();
        let flags = [const { AtomicU32::new(NO) }; 3];
        let all_here = Barrier::new(4);
        let wait = |flag: usize, fabric: Option<NodeFabric>| {
            all_here.wait();
            wait_in_call(&lock, &flags[flag], fabric, flag as u32 + 1);
            // The next may be waiting for it.
            let _taken = lock.take();
            flags[(flag + 1) % 3].store(YES, Ordering::Relaxed);
        };
        let wait = &wait;
        thread::scope(|scope| {
            // Only one of them ever is in the fabric: the watch without one spins.
            scope.spawn(move || wait(0, Some(fabric)));
            scope.spawn(move || wait(1, None));
            scope.spawn(move || wait(2, None));
            all_here.wait();
            let _taken = lock.take();
            flags[1].store(YES, Ordering::Relaxed);
        });
    }
}

#[test]
fn idle_locks_keep_nobody_away_and_the_bias_comes_back() {
    const EACH: u64 = 20_000;
    let (lock, _fabric) = shared();
    let sum = AtomicU64::new(0);
    let add = || sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    let idle_locks = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            // As many as there is time for, and one at least.
            while idle_locks.load(Ordering::Relaxed) == 0 || sum.load(Ordering::Relaxed) < EACH {
                if let Some(_guard) = lock.lock_if_idle() {
                    add();
                    idle_locks.store(idle_locks.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                }
            }
        });
        for _ in 0..EACH {
            let _taken = lock.take();
            add();
        }
    });
    assert_eq!(sum.load(Ordering::Relaxed), EACH + idle_locks.load(Ordering::Relaxed));
    assert!(lock.is_biased());
}

#[test]
fn a_busy_lock_is_not_taken_as_idle() {
    let (lock, _fabric) = shared();
    thread::scope(|scope| {
        let taken = lock.take();
        scope.spawn(|| assert!(lock.lock_if_idle().is_none(), "somebody is inside")).join().unwrap();
        lock.outside(|| scope.spawn(|| assert!(lock.lock_if_idle().is_some(), "nobody is inside")).join().unwrap());
        assert!(lock.take().is_none(), "it is this thread's again");
        drop(taken);
        scope.spawn(|| assert!(lock.lock_if_idle().is_some(), "nobody is inside")).join().unwrap();
    });
    assert!(lock.is_biased());
}

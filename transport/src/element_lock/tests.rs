//! The lock between threads that act as peers.

use std::thread;

use super::*;
use crate::job::JobShape;
use crate::primitive::AtomicU64;
use crate::{Job, WriteSpan};

fn lock(is_private: bool) -> ElementLock {
    ElementLock::new(Job::create(1, None).unwrap().segment, 0, 0, is_private)
}

/// The locks of so many ends for the first one's memory.
fn locks(ends: usize) -> Vec<ElementLock> {
    locks_in(&Job::create(ends, None).unwrap(), ends)
}

fn locks_in(job: &Job, ends: usize) -> Vec<ElementLock> {
    let segment = job.segment.clone();
    // The threads here have asked for no barriers.
    segment.header().fences_needed.store(1, Ordering::Release);
    (0..ends).map(|me| ElementLock::new(segment.clone(), 0, me, false)).collect()
}

/// So many words among these bytes.
fn words(bytes: &mut [u8], number: usize) -> WriteSpan<'_> {
    let skipped = bytes.as_ptr().align_offset(8);
    (&mut bytes[skipped..][..8 * number]).into()
}

#[test]
fn place_and_length_alone_say_which_elements_are_locked() {
    let (shared, private) = (lock(false), lock(true));
    for (address, len, locked) in
        [(64, 8, false), (68, 8, true), (68, 4, false), (65, 1, false), (65, 2, true), (64, 16, true), (64, 6, true)]
    {
        assert_eq!(shared.is_for(address, len), locked, "{len} bytes at {address}");
        assert!(private.is_for(address, len));
    }
    assert!(private.is_for_all() && !shared.is_for_all());
}

#[test]
fn one_at_a_time_has_it() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 20_000;
    let (lock, counter) = (lock(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let _locked = lock.lock();
                    // Two steps, between which others would come without the lock.
                    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(counter.into_inner(), THREADS * ROUNDS);
}

#[test]
fn no_change_of_one_element_is_lost_beside_changes_of_all() {
    const THREADS: u64 = 3;
    const ROUNDS: u64 = 20_000;
    let mut bytes = [0; 40];
    let (locks, elements) = (locks(THREADS as usize), words(&mut bytes, 4));
    thread::scope(|scope| {
        for (me, lock) in locks.iter().enumerate() {
            scope.spawn(move || {
                let element = |number: usize| elements.part(8 * number, 8);
                for round in 0..ROUNDS {
                    // Rarely enough that announcements are taken back in between.
                    if round % 50 == 10 * me as u64 {
                        let locked = lock.lock();
                        locked.be_alone();
                        (0..4).for_each(|number| element(number).set_number(element(number).as_read().number() + 1));
                    } else {
                        let word = element(round as usize % 4).word().unwrap();
                        lock.change(word, |word| word.fetch_add(1));
                    }
                }
            });
        }
    });
    let long = THREADS * ROUNDS / 50;
    let sum: u64 = (0..4).map(|number| elements.part(8 * number, 8).as_read().number()).sum();
    assert_eq!(sum, THREADS * ROUNDS - long + 4 * long);
}

#[test]
fn an_announcement_stays_until_some_short_operations_have_gone_under_the_lock() {
    let locks = locks(2);
    let is_announced = || locks[0].lock().is_announced();
    assert!(!is_announced());
    locks[1].lock().be_alone();
    assert!(is_announced());
    let mut bytes = [0; 16];
    let word = words(&mut bytes, 1).word().unwrap();
    (0..1000).for_each(|_| _ = locks[1].change(word, |word| word.fetch_add(1)));
    assert!(!is_announced(), "the last of some short ones takes it back");
    assert_eq!(word.load(), 1000);
}

#[test]
fn what_the_dead_have_locked_raised_and_announced_keeps_nobody_waiting() {
    let job = Job::create_shaped(&JobShape { keeps_going: true, ..JobShape::of(4) }, None).unwrap();
    let locks = locks_in(&job, 4);
    let raised = locks[2].raise();
    assert!(raised.is_some());
    std::mem::forget(raised);
    job.announce_death(2);
    let announcing = locks[1].lock();
    announcing.be_alone();
    std::mem::forget(announcing);
    job.announce_death(1);
    let taken_over = locks[3].lock();
    assert!(!taken_over.is_announced(), "it is not known whether all flags were seen");
    taken_over.be_alone();
    drop(taken_over);
    assert!(locks[0].lock().is_announced(), "the lock is free again");
}

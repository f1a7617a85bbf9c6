//! A progress thread with real threads: it comes when it is rung, and not after its end.

use std::sync::Mutex;

use super::*;
use crate::{Enqueue, NodeFabric, Queue, Queues, ReadSpan, Waiting};

/// Two peers; the first has a progress thread that takes what comes, and counts it.
fn with_progress_thread() -> (&'static BigLock, ProgressThread, Arc<AtomicU32>, NodeFabric) {
    let mut fabrics = NodeFabric::threads(2).unwrap();
    let (other, mut fabric) = (fabrics.pop().unwrap(), fabrics.pop().unwrap());
    let lock: &'static BigLock = Box::leak(Box::new(BigLock::new()));
    let taken = lock.take();
    lock.share(fabric.doorbell());
    drop(taken);
    let sleep_state = fabric.employ().unwrap();
    let count = Arc::new(AtomicU32::new(0));
    let (fabric, counted) = (Mutex::new(fabric), count.clone());
    let thread = ProgressThread::start(lock, sleep_state, move |_| {
        let mut fabric = fabric.lock().unwrap();
        loop {
            fabric.take_signals();
            while let Some(peer) = fabric.ready(Queue::Messages) {
                fabric.pop(peer, Queue::Messages);
                counted.fetch_add(1, Ordering::Relaxed);
            }
            if fabric.arm_doorbell(false) {
                return ControlFlow::Continue(true);
            }
        }
    });
    (lock, thread.unwrap(), count, other)
}

fn push(fabric: &mut NodeFabric) {
    while fabric.try_push(0, Queue::Messages, Enqueue::Retry, [0; 4], ReadSpan::EMPTY).is_err() {
        thread::yield_now();
    }
}

#[test]
fn it_comes_when_it_is_rung() {
    let (_, thread, count, mut other) = with_progress_thread();
    for round in 1..=500 {
        push(&mut other);
        while count.load(Ordering::Relaxed) < round {
            thread::yield_now();
        }
    }
    thread.stop();
    push(&mut other);
    assert_eq!(count.load(Ordering::Relaxed), 500);
}

#[test]
fn it_waits_until_nobody_is_inside() {
    let (lock, thread, count, mut other) = with_progress_thread();
    let taken = lock.take();
    push(&mut other);
    thread::sleep(2 * LONGEST_NAP);
    assert_eq!(count.load(Ordering::Relaxed), 0);
    drop(taken);
    while count.load(Ordering::Relaxed) == 0 {
        thread::yield_now();
    }
    thread.stop();
}

#[test]
fn it_ends_though_the_turn_is_taken() {
    let (lock, thread, _, _) = with_progress_thread();
    let _taken = lock.take();
    thread.stop();
}

//! A worker with real threads: it comes when it is rung, and not after its end.

use std::sync::Mutex;

use super::*;
use crate::{Enqueue, Fabric, NodeFabric, Queue, ReadSpan};

/// Two peers; the first has a worker that takes what comes, and counts it.
fn with_worker() -> (&'static Turn, Worker, Arc<AtomicU32>, NodeFabric) {
    let mut fabrics = NodeFabric::threads(2).unwrap();
    let (other, mut fabric) = (fabrics.pop().unwrap(), fabrics.pop().unwrap());
    let turn: &'static Turn = Box::leak(Box::new(Turn::new()));
    let taken = turn.take();
    turn.share(fabric.bell());
    drop(taken);
    let cot = fabric.employ().unwrap();
    let count = Arc::new(AtomicU32::new(0));
    let (fabric, counted) = (Mutex::new(fabric), count.clone());
    let worker = Worker::start(turn, cot, move |_| {
        let mut fabric = fabric.lock().unwrap();
        loop {
            fabric.take_signals();
            while let Some(peer) = fabric.ready(Queue::Messages) {
                fabric.pop(peer, Queue::Messages);
                counted.fetch_add(1, Ordering::Relaxed);
            }
            if fabric.hang_bell(false) {
                return ControlFlow::Continue(true);
            }
        }
    });
    (turn, worker.unwrap(), count, other)
}

fn push(fabric: &mut NodeFabric) {
    while fabric.try_push(0, Queue::Messages, Enqueue::Retry, [0; 4], ReadSpan::EMPTY).is_err() {
        thread::yield_now();
    }
}

#[test]
fn it_comes_when_it_is_rung() {
    let (_, worker, count, mut other) = with_worker();
    for round in 1..=500 {
        push(&mut other);
        while count.load(Ordering::Relaxed) < round {
            thread::yield_now();
        }
    }
    worker.stop();
    push(&mut other);
    assert_eq!(count.load(Ordering::Relaxed), 500);
}

#[test]
fn it_waits_until_nobody_is_inside() {
    let (turn, worker, count, mut other) = with_worker();
    let taken = turn.take();
    push(&mut other);
    thread::sleep(2 * LONGEST_NAP);
    assert_eq!(count.load(Ordering::Relaxed), 0);
    drop(taken);
    while count.load(Ordering::Relaxed) == 0 {
        thread::yield_now();
    }
    worker.stop();
}

#[test]
fn it_ends_though_the_turn_is_taken() {
    let (turn, worker, _, _) = with_worker();
    let _taken = turn.take();
    worker.stop();
}

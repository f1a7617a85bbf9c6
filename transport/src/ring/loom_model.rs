//! The ring and the sleep/wake handshake under loom: every interleaving and every reordering that the memory model
//! allows, with a capacity of two. Run with `RUSTFLAGS="--cfg loom" cargo test -p rwmpi-transport --lib loom`.
#![allow(unsafe_code)]

use loom::thread;

use super::*;
use crate::primitive::{AtomicU32, BROKEN, Broken};
use crate::sleep::{self, ASLEEP, ASLEEP_FOR_ROOM, AWAKE};

const CELLS: usize = 2;

/// One ring, and the sleeping flags of both ends.
struct World {
    cells: Box<[Cell]>,
    consumed: AtomicU64,
    receiver_sleeps: AtomicU32,
    sender_sleeps: AtomicU32,
}

// SAFETY: used through atomics and cells that loom watches.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

type Ends = (Arc<World>, Producer<CELLS>, Consumer<CELLS>);

fn world() -> Ends {
    let world = Arc::new(World {
        cells: (0..CELLS).map(|_| Cell::vacant()).collect(),
        consumed: AtomicU64::new(0),
        receiver_sleeps: AtomicU32::new(AWAKE),
        sender_sleeps: AtomicU32::new(AWAKE),
    });
    let memory = || {
        let cells = NonNull::from(&*world.cells).cast();
        // SAFETY: as many cells as the ends are compiled for, kept by the `Arc`; there is no data area.
        unsafe { RingMemory::new(cells, NonNull::from(&world.consumed), (NonNull::dangling(), 0), None, world.clone()) }
    };
    // SAFETY: one pair of ends for each world.
    let (producer, consumer) = unsafe { (Producer::new(memory()), Consumer::new(memory())) };
    (world, producer, consumer)
}

/// Message `number`.
type Payload = fn(u32) -> Vec<u8>;

fn short(number: u32) -> Vec<u8> {
    vec![number as u8; 8]
}

/// Every second one takes two cells.
fn short_or_wide(number: u32) -> Vec<u8> {
    vec![number as u8; if number % 2 == 1 { WIDE } else { 8 }]
}

fn try_push(producer: &mut Producer<CELLS>, number: u32, payload: Payload) -> bool {
    let payload = payload(number);
    producer.try_push(Enqueue::Retry, [number; 4], ReadSpan::from(&payload[..]), None, |_, _, _| true).is_ok()
}

/// Pops the front, if there is one; it must be message `number`.
fn try_pop(consumer: &mut Consumer<CELLS>, number: u32, expected: Payload) -> bool {
    let Some(front) = consumer.front().expect("a correct producer") else { return false };
    let mut payload = vec![0; front.len];
    consumer.read(front.len, front.place, 0, WriteSpan::from(&mut payload[..]));
    assert_eq!((front.header, payload), ([number; 4], expected(number)));
    consumer.pop();
    true
}

fn wake(flag: &AtomicU32, only: Option<u32>) {
    sleep::before_look(true);
    let how = flag.load(Ordering::Relaxed);
    if how != AWAKE && only.is_none_or(|only| how == only) {
        sleep::wake(flag, how);
    }
}

/// Waits as `NodeFabric::sleep` does, without spinning first.
fn sleep_unless(flag: &AtomicU32, how: u32, news: impl FnOnce() -> bool) {
    sleep::announce(flag, how, true);
    if news() {
        flag.store(AWAKE, Ordering::Relaxed);
    } else {
        sleep::sleep(flag, how);
    }
}

/// More cells than there is room for, both ends polling.
fn three_through_two_cells(payload: Payload) {
    let (_world, mut producer, mut consumer) = world();
    let sender = thread::spawn(move || {
        for number in 0..3 {
            while !try_push(&mut producer, number, payload) {
                thread::yield_now();
            }
        }
    });
    for number in 0..3 {
        while !try_pop(&mut consumer, number, payload) {
            thread::yield_now();
        }
    }
    sender.join().unwrap();
}

/// The receiver sleeps whenever it finds nothing.
fn push_wakes() {
    let (world, mut producer, mut consumer) = world();
    let receiver_flag = world.clone();
    let sender = thread::spawn(move || {
        for number in 0..2 {
            assert!(try_push(&mut producer, number, short));
            wake(&receiver_flag.receiver_sleeps, None);
        }
    });
    for number in 0..2 {
        while !try_pop(&mut consumer, number, short) {
            sleep_unless(&world.receiver_sleeps, ASLEEP, || consumer.is_waiting());
        }
    }
    sender.join().unwrap();
}

/// The sender sleeps when it finds no room.
fn pop_wakes() {
    let (world, mut producer, mut consumer) = world();
    for number in 0..2 {
        assert!(try_push(&mut producer, number, short));
    }
    let sender_flag = world.clone();
    let receiver = thread::spawn(move || {
        for number in 0..2 {
            assert!(try_pop(&mut consumer, number, short));
            wake(&sender_flag.sender_sleeps, Some(ASLEEP_FOR_ROOM));
        }
    });
    while !try_push(&mut producer, 2, short) {
        sleep_unless(&world.sender_sleeps, ASLEEP_FOR_ROOM, || producer.has_news());
    }
    receiver.join().unwrap();
}

/// Explores `model` with a defect built in.
fn explore(broken: Broken, model: fn()) {
    BROKEN.set(broken);
    let mut builder = loom::model::Builder::new();
    // `LOOM_MAX_PREEMPTIONS` says otherwise if it is set.
    builder.preemption_bound.get_or_insert(3);
    builder.check(model);
}

#[test]
fn cells_are_whole_and_in_order() {
    explore(Broken::Nothing, || three_through_two_cells(short));
}

#[test]
fn wide_cells_are_whole_and_in_order() {
    explore(Broken::Nothing, || three_through_two_cells(short_or_wide));
}

#[test]
fn no_wake_up_is_lost_on_push() {
    explore(Broken::Nothing, push_wakes);
}

#[test]
fn no_wake_up_is_lost_on_pop() {
    explore(Broken::Nothing, pop_wakes);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_weaker_publication_is_noticed() {
    explore(Broken::Publish, || three_through_two_cells(short));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_missing_fence_is_noticed() {
    explore(Broken::SleeperFence, push_wakes);
}

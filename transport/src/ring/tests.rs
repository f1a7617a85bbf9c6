//! The ring alone, in ordinary memory, so that Miri can watch it.
#![allow(unsafe_code)]

use super::batons::BATON_SIZE;
use super::*;

const CELLS: usize = 8;
const DATA: usize = 1024;
const BATONS: usize = 64;

/// Ordinary memory for one ring.
struct Memory {
    cells: Box<[Cell]>,
    consumed: AtomicU64,
    data: Box<[Plain<u8>]>,
    batons: Box<[Plain<u8>]>,
}

// SAFETY: used through atomics and raw pointers only, in the order that the ring keeps.
unsafe impl Sync for Memory {}

impl Memory {
    fn new() -> Arc<Memory> {
        Memory::with_data(DATA)
    }

    fn with_data(len: usize) -> Arc<Memory> {
        Arc::new(Memory {
            cells: (0..CELLS).map(|_| Cell::vacant()).collect(),
            consumed: AtomicU64::new(0),
            data: zeroed(len),
            batons: zeroed(BATONS * BATON_SIZE),
        })
    }

    fn describe(self: &Arc<Self>) -> RingMemory {
        let cells = NonNull::from(&*self.cells).cast();
        let data = NonNull::new(self.data.as_ptr().cast_mut().cast::<u8>()).unwrap();
        let batons = NonNull::new(self.batons.as_ptr().cast_mut().cast::<u8>()).map(|start| (start, BATONS));
        let data = (data, self.data.len());
        // SAFETY: as many cells and batons as `CELLS` and `BATONS` say, and all bytes, which the `Arc` keeps.
        unsafe { RingMemory::new(cells, NonNull::from(&self.consumed), data, batons, self.clone()) }
    }

    fn ends(self: &Arc<Self>) -> (Producer<CELLS>, Consumer<CELLS>) {
        // SAFETY: each test makes one pair of ends.
        unsafe { (Producer::new(self.describe()), Consumer::new(self.describe())) }
    }
}

/// In one step: under Miri each step counts.
fn zeroed(len: usize) -> Box<[Plain<u8>]> {
    // SAFETY: zero is a value of a byte.
    unsafe { Box::new_zeroed_slice(len).assume_init() }
}

/// A payload that says which one it is in every byte.
fn payload(number: u32, len: usize) -> Vec<u8> {
    (0..len).map(|index| (number as usize * 31 + index) as u8).collect()
}

fn push(producer: &mut Producer<CELLS>, number: u32, len: usize) -> Result<(), Refused> {
    let bytes = payload(number, len);
    producer.try_push(Enqueue::Retry, [number, 1, 2, 3], ReadSpan::from(&bytes[..]), None, |_, _, _| true)
}

/// Pops the front and checks that it is message `number`; the baton that came with it.
fn expect(consumer: &mut Consumer<CELLS>, number: u32, len: usize) -> Option<usize> {
    let front = consumer.front().unwrap().expect("a cell is waiting");
    assert_eq!((front.header, front.len), ([number, 1, 2, 3], len));
    let mut bytes = vec![0; len];
    // SAFETY: `bytes` outlives the call.
    consumer.read(front.len, front.place, 0, unsafe { WriteSpan::new(bytes.as_mut_ptr(), len) });
    assert_eq!(bytes, payload(number, len), "payload of message {number}");
    consumer.pop()
}

#[test]
fn payloads_go_by_batons_while_there_are_any() {
    let (memory, mut batons) = (Memory::new(), Batons::new(BATONS, true));
    let (mut producer, mut consumer) = memory.ends();
    let mut theirs = Batons::new(BATONS, false);
    for number in 0..2 * BATONS as u32 {
        let len = [WIDE, WIDE + 1, DATA / 2][number as usize % 3];
        let bytes = payload(number, len);
        let pushed = producer.try_push(
            Enqueue::Retry,
            [number, 1, 2, 3],
            ReadSpan::from(&bytes[..]),
            Some(&mut batons),
            |_, _, _| true,
        );
        assert_eq!(pushed, Ok(()));
        let is_left = theirs.passable_from().now > 0;
        let baton = expect(&mut consumer, number, len);
        assert_eq!(baton.is_some(), is_left && len > WIDE, "message {number}");
        baton.into_iter().for_each(|baton| theirs.take(baton));
    }
    // Some came to the consumer, and the rest went by the data area.
    assert_eq!(batons.give(1, |_, _| true), None);
    assert!(theirs.held() > BATONS / 2);
}

#[test]
#[cfg_attr(miri, ignore = "it moves megabytes")]
fn what_goes_to_a_near_core_goes_round_in_more_of_the_area() {
    const AREA: usize = 2 * USED_AT_A_DISTANCE;
    for (distance, used) in [(Distance::default(), USED_AT_A_DISTANCE), (Distance::near(), AREA)] {
        let memory = Memory::with_data(AREA);
        let (mut producer, mut consumer) = memory.ends();
        producer.distance = distance;
        let bytes = payload(0, AREA / 4);
        let mut reserved = 0;
        for _ in 0..40 {
            let reserve = |area, _, end| {
                assert_eq!(area, Area::Data);
                reserved = end;
                true
            };
            producer.try_push(Enqueue::Next, [0, 1, 2, 3], ReadSpan::from(&bytes[..]), None, reserve).unwrap();
            expect(&mut consumer, 0, bytes.len());
            producer.refresh();
        }
        assert_eq!(reserved, used);
    }
}

#[test]
fn a_baton_that_is_none_is_found_out() {
    for (place, len) in [(BATONS, WIDE + 1), (0, BATON_SIZE + 1)] {
        let memory = Memory::new();
        let (mut producer, consumer) = memory.ends();
        let place = batons::place_of(place) as u32;
        producer.publish(1, [0; 4], len, ReadSpan::from(&place.to_ne_bytes()[..]), false);
        assert!(consumer.front().is_err());
    }
}

#[test]
fn keeps_order_and_payload_over_many_laps() {
    let memory = Memory::new();
    let (mut producer, mut consumer) = memory.ends();
    let count = if cfg!(miri) { 20 } else { 200 };
    let mut popped = 0;
    let len_of = |number: u32| [0, 8, 40, 41, 64, WIDE, WIDE + 1, 512][number as usize * 7 % 8];
    for number in 0..count {
        while push(&mut producer, number, len_of(number)).is_err() {
            expect(&mut consumer, popped, len_of(popped));
            popped += 1;
        }
    }
    while popped < count {
        expect(&mut consumer, popped, len_of(popped));
        popped += 1;
    }
    assert!(consumer.front().unwrap().is_none());
    // A wide cell counts twice.
    let cells = |number| if (41..=WIDE).contains(&len_of(number)) { 2 } else { 1 };
    assert_eq!(producer.refresh(), (0..count).map(cells).sum::<u64>());
}

#[test]
fn lines_that_are_taken_back_are_those_of_vacant_cells() {
    let lens = |cells| if cells == 1 { 8 } else { WIDE };
    for (in_flight, len) in
        [1, 2].into_iter().flat_map(|cells| (1..=CELLS as u32 / cells).map(move |all| (all, lens(cells))))
    {
        let memory = Memory::new();
        let (mut producer, mut consumer) = memory.ends();
        let mut batons = Batons::new(BATONS, true);
        for number in 0..100 {
            // Nothing comes back: one follows the other.
            producer.note_answers(0);
            let bytes = payload(number, len);
            let header = [number, 1, 2, 3];
            let reserve = |_, _, _| true;
            producer.try_push(Enqueue::Retry, header, ReadSpan::from(&bytes[..]), Some(&mut batons), reserve).unwrap();
            if number + 1 >= in_flight {
                expect(&mut consumer, number + 1 - in_flight, len);
            }
            // So each number of cells is known to be vacant at each place.
            if number % 7 == 0 {
                producer.refresh();
            }
        }
    }
}

#[test]
fn a_wide_payload_is_read_from_any_place_on() {
    let memory = Memory::new();
    let (mut producer, consumer) = memory.ends();
    push(&mut producer, 7, WIDE).unwrap();
    let (front, all) = (consumer.front().unwrap().unwrap(), payload(7, WIDE));
    for offset in 0..=WIDE {
        for len in 0..=WIDE - offset {
            let mut bytes = vec![0; len];
            consumer.read(front.len, front.place, offset, WriteSpan::from(&mut bytes[..]));
            assert_eq!(bytes, all[offset..][..len]);
        }
    }
}

#[test]
fn full_is_refused_and_has_no_effect() {
    let memory = Memory::new();
    let (mut producer, mut consumer) = memory.ends();
    for number in 0..CELLS as u32 {
        push(&mut producer, number, 8).unwrap();
    }
    assert_eq!(push(&mut producer, 99, 8), Err(Refused::Full));
    assert_eq!(producer.pushed(), CELLS as u64);
    for number in 0..CELLS as u32 {
        expect(&mut consumer, number, 8);
    }
    assert!(consumer.front().unwrap().is_none());
}

#[test]
fn after_a_refusal_only_the_retry_gets_through() {
    let memory = Memory::new();
    let (mut producer, mut consumer) = memory.ends();
    for number in 0..CELLS as u32 {
        push(&mut producer, number, 0).unwrap();
    }
    let next = |producer: &mut Producer<CELLS>, enqueue| {
        producer.try_push(enqueue, [7; 4], ReadSpan::EMPTY, None, |_, _, _| true)
    };
    assert_eq!(next(&mut producer, Enqueue::Next), Err(Refused::Full));
    expect(&mut consumer, 0, 0);
    assert_eq!(next(&mut producer, Enqueue::Next), Err(Refused::Full), "there is room, but order must hold");
    assert_eq!(next(&mut producer, Enqueue::Retry), Ok(()));
    expect(&mut consumer, 1, 0);
    assert_eq!(next(&mut producer, Enqueue::Next), Ok(()));
}

#[test]
fn data_area_wraps_at_every_edge() {
    // Lines: the area has 16; payloads of 1 to 8 lines in all orders that a small walk meets.
    for step in if cfg!(miri) { 3..=3 } else { 1..=8_usize } {
        let memory = Memory::new();
        let (mut producer, mut consumer) = memory.ends();
        let len_of = |number: u32| ((number as usize * step) % 8 + 1) * LINE - (number as usize % 3);
        let mut popped = 0;
        for number in 0..if cfg!(miri) { 20 } else { 64 } {
            while push(&mut producer, number, len_of(number)).is_err() {
                assert!(popped < number, "an empty ring refused {} bytes", len_of(number));
                expect(&mut consumer, popped, len_of(popped));
                popped += 1;
            }
        }
    }
}

#[test]
fn without_pages_a_long_payload_is_refused() {
    let memory = Memory::new();
    let (mut producer, mut consumer) = memory.ends();
    let bytes = payload(0, 200);
    let refused = producer.try_push(Enqueue::Next, [0, 1, 2, 3], ReadSpan::from(&bytes[..]), None, |_, _, _| false);
    assert_eq!(refused, Err(Refused::NoMemory));
    push(&mut producer, 0, 200).unwrap();
    expect(&mut consumer, 0, 200);
}

#[test]
fn corrupt_cells_are_noticed() {
    type Damage = fn(&Cell);
    let damages: [(Damage, &str); 5] = [
        (|cell| cell.stamp.store(77, Ordering::Release), "stamp"),
        (|cell| cell.body.with_mut(|body| scribble(body, u32::MAX, 0)), "length"),
        (|cell| cell.body.with_mut(|body| scribble(body, 200, DATA as u32 - 192)), "place"),
        (|cell| cell.body.with_mut(|body| scribble(body, 200, (DATA as u32 - 192) | TO_WRITE_BACK as u32)), "place"),
        (|cell| cell.body.with_mut(|body| scribble(body, 200, 2)), "place within a line"),
    ];
    for (damage, what) in damages {
        let memory = Memory::new();
        let (mut producer, consumer) = memory.ends();
        push(&mut producer, 0, 200).unwrap();
        damage(&memory.cells[0]);
        assert!(consumer.front().is_err(), "damaged {what} went unnoticed");
        assert!(consumer.is_waiting(), "a damaged cell must be found by polling");
    }
}

/// Plays the broken producer.
fn scribble(body: *mut Body, len: u32, place: u32) {
    // SAFETY: the tests use the body from one thread.
    unsafe {
        (*body).len = len;
        (&raw mut (*body).inline).cast::<u32>().write(place);
    }
}

#[test]
fn impossible_counters_are_no_news() {
    let memory = Memory::new();
    let (mut producer, _consumer) = memory.ends();
    push(&mut producer, 0, 0).unwrap();
    memory.consumed.store(5, Ordering::Release);
    assert_eq!(producer.refresh(), 0);
}

#[test]
fn stamps_survive_the_wrap_of_32_bits() {
    let memory = Memory::new();
    let (mut producer, mut consumer) = memory.ends();
    // As if 2^32 - 2 cells had passed.
    let start = (1_u64 << 32) - 2;
    for cell in 0..CELLS as u64 {
        let position = start + cell - CELLS as u64;
        memory.cells[position as usize % CELLS].stamp.store(stamp_of(position), Ordering::Relaxed);
    }
    (producer.pushed, producer.consumed, consumer.consumed) = (start, start, start);
    for number in 0..8 {
        assert!(consumer.front().unwrap().is_none());
        push(&mut producer, number, 8).unwrap();
        expect(&mut consumer, number, 8);
    }
}

#[test]
fn two_threads() {
    let memory = Memory::new();
    let (mut producer, mut consumer) = memory.ends();
    let count = if cfg!(miri) { 20 } else { 20_000 };
    let len_of = |number: u32| (number as usize * 13) % 300;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..count {
                while push(&mut producer, number, len_of(number)).is_err() {
                    std::thread::yield_now();
                }
            }
        });
        for number in 0..count {
            while consumer.front().unwrap().is_none() {
                std::thread::yield_now();
            }
            expect(&mut consumer, number, len_of(number));
        }
    });
}

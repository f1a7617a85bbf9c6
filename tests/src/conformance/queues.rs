//! Memory-Based FIFO: order, payloads, refusal.

use std::cell::Cell;

use rwmpi_transport::{Enqueue, INLINE_PAYLOAD, PushError, Queue, ReadSpan, WriteSpan};

use super::Subject;
use super::support::{barrier, hear, pattern, pull, pull_any, push, tell, try_pull};

/// Everyone sends numbered cells of mixed lengths to everyone; each stream must arrive whole and in order.
pub(super) fn cells_arrive_in_order_from_everyone<S: Subject>(fabric: &mut S) {
    const EACH: u32 = 3000;
    let (me, peers) = (fabric.me(), fabric.peers());
    let len_of = |source: usize, number: u32| (number as usize * 37 + source * 11) % 150;
    let mut sent = vec![0; peers];
    let mut received = vec![0; peers];
    while sent.iter().chain(&received).any(|&count| count < EACH) {
        for (to, sent) in sent.iter_mut().enumerate().filter(|(_, sent)| **sent < EACH) {
            let payload = pattern(u64::from(*sent), len_of(me, *sent));
            let header = [me as u32, *sent, 3, 4];
            let pushed = fabric.try_push(to, Queue::Messages, Enqueue::Retry, header, ReadSpan::from(&payload[..]));
            *sent += u32::from(pushed.is_ok());
        }
        while let Some(from) = fabric.ready(Queue::Messages) {
            let (header, payload) = try_pull(fabric, from, Queue::Messages).expect("`ready` said so");
            assert_eq!(header, [from as u32, received[from], 3, 4]);
            assert_eq!(payload, pattern(u64::from(header[1]), len_of(from, header[1])));
            received[from] += 1;
        }
    }
    barrier(fabric);
    let more = fabric.ready(Queue::Messages).map(|from| (from, fabric.front(from, Queue::Messages)));
    assert!(more.is_none(), "there is more at peer {me} than was sent: {more:?}");
}

/// Every length up to the longest, on both queues.
pub(super) fn payloads_of_every_size_arrive_whole<S: Subject>(fabric: &mut S) {
    // As long for both ends of the pair.
    let most = fabric.max_payload(usize::from(fabric.me() == 0));
    assert!(most >= INLINE_PAYLOAD);
    let edges = [most / 2, most - 65, most - 64, most - 63, most - 1, most];
    let lens: Vec<usize> = (0..=600.min(most)).chain(edges).collect();
    for (queue, lens) in [(Queue::Messages, &lens[..]), (Queue::Requests, &lens[..=INLINE_PAYLOAD])] {
        for &len in lens {
            let expected = pattern(len as u64, len);
            if fabric.me() == 0 {
                push(fabric, 1, queue, [len as u32; 4], &expected);
            } else {
                assert_eq!(pull(fabric, 0, queue), ([len as u32; 4], expected));
            }
        }
    }
}

/// The bytes of one arrival can be fetched piece by piece, in any order.
pub(super) fn payloads_can_be_read_in_parts<S: Subject>(fabric: &mut S) {
    for len in [40, 41, 1000] {
        let payload = pattern(5, len);
        if fabric.me() == 0 {
            push(fabric, 1, Queue::Messages, [0; 4], &payload);
            hear(fabric, 1, 1);
            continue;
        }
        let arrival = loop {
            if let Some(arrival) = fabric.front(0, Queue::Messages).expect("a correct peer") {
                break arrival;
            }
        };
        for (offset, part) in [(len - 1, 1), (0, 8), (3, 30), (len, 0), (0, len)] {
            let mut bytes = vec![0; part];
            fabric.read(0, Queue::Messages, &arrival, offset, WriteSpan::from(&mut bytes[..]));
            assert_eq!(bytes, payload[offset..][..part]);
        }
        fabric.pop(0, Queue::Messages);
        tell(fabric, 0, 1);
    }
}

/// Fills a queue whose receiver does not look: the refusal, the refusals after it though there is room again, the
/// retry.
pub(super) fn a_full_queue_refuses_until_the_retry<S: Subject>(fabric: &mut S) {
    const FAR_TOO_MANY: u32 = 1 << 20;
    for queue in [Queue::Messages, Queue::Requests] {
        let other = if queue == Queue::Messages { Queue::Requests } else { Queue::Messages };
        if fabric.me() == 0 {
            let count = Cell::new(0);
            let try_next = |fabric: &mut S, enqueue| {
                let pushed = fabric.try_push(1, queue, enqueue, [count.get(); 4], ReadSpan::EMPTY);
                count.set(count.get() + u32::from(pushed.is_ok()));
                pushed
            };
            while try_next(fabric, Enqueue::Next).is_ok() {}
            push(fabric, 1, other, [1; 4], &[]);
            pull(fabric, 1, other);
            // The receiver has popped one.
            assert_eq!(try_next(fabric, Enqueue::Next), Err(PushError::Full), "order could break");
            assert_eq!(try_next(fabric, Enqueue::Retry), Ok(()));
            assert_eq!(try_next(fabric, Enqueue::Retry), Err(PushError::Full), "only one had been popped");
            push(fabric, 1, other, [count.get(); 4], &[]);
            pull(fabric, 1, other);
            // All popped.
            assert_eq!(try_next(fabric, Enqueue::Retry), Ok(()));
            assert_eq!(try_next(fabric, Enqueue::Next), Ok(()));
            assert!(count.get() < FAR_TOO_MANY, "the queue is not bounded");
        } else {
            pull(fabric, 0, other);
            assert_eq!(pull(fabric, 0, queue).0, [0; 4]);
            push(fabric, 0, other, [2; 4], &[]);
            let ([count, ..], _) = pull(fabric, 0, other);
            (1..count).for_each(|number| assert_eq!(pull(fabric, 0, queue).0, [number; 4]));
            assert_eq!(fabric.front(0, queue).map(|cell| cell.is_none()), Ok(true), "a refused cell arrived");
            push(fabric, 0, other, [3; 4], &[]);
            assert_eq!(pull(fabric, 0, queue).0, [count; 4]);
            assert_eq!(pull(fabric, 0, queue).0, [count + 1; 4]);
        }
    }
}

/// A fast sender of long payloads of all lengths against a receiver that drains in gulps: the wrap of whatever holds
/// payloads meets every state.
pub(super) fn full_queues_of_long_payloads_lose_nothing<S: Subject>(fabric: &mut S) {
    const COUNT: u32 = 3000;
    // As long for both ends of the pair.
    let most = fabric.max_payload(usize::from(fabric.me() == 0));
    let len_of = |number: u32| (number as usize * 2311) % (most + 1);
    if fabric.me() == 0 {
        for number in 0..COUNT {
            push(fabric, 1, Queue::Messages, [number; 4], &pattern(u64::from(number), len_of(number)));
        }
        return;
    }
    let mut number = 0;
    while number < COUNT {
        // Let it fill now and then.
        if number % 50 == 0 {
            std::thread::yield_now();
        }
        let expected = pattern(u64::from(number), len_of(number));
        assert_eq!(pull(fabric, 0, Queue::Messages), ([number; 4], expected));
        number += 1;
    }
}

/// A peer's own queue is a queue like any other.
pub(super) fn a_peer_can_push_to_itself<S: Subject>(fabric: &mut S) {
    let me = fabric.me();
    for number in 0..1000 {
        let payload = pattern(number, number as usize % 100);
        push(fabric, me, Queue::Messages, [9; 4], &payload);
        assert_eq!(fabric.ready(Queue::Messages), Some(me));
        assert_eq!(try_pull(fabric, me, Queue::Messages), Some(([9; 4], payload)));
        assert_eq!(fabric.ready(Queue::Messages), None);
    }
}

/// What fills one queue leaves the other usable, and `ready` tells them apart.
pub(super) fn queues_are_independent<S: Subject>(fabric: &mut S) {
    if fabric.me() == 0 {
        let push_message =
            |fabric: &mut S| fabric.try_push(1, Queue::Messages, Enqueue::Next, [1; 4], ReadSpan::EMPTY).is_ok();
        while push_message(fabric) {}
        push(fabric, 1, Queue::Requests, [2; 4], b"note");
        hear(fabric, 1, 3);
    } else {
        assert_eq!(pull(fabric, 0, Queue::Requests), ([2; 4], b"note".to_vec()));
        assert_eq!(fabric.ready(Queue::Requests), None);
        assert_eq!(fabric.ready(Queue::Messages), Some(0));
        tell(fabric, 0, 3);
    }
}

/// `pushed`, `popped` and `accepted` agree with what was done, and `accepted` is never ahead.
pub(super) fn counters_of_accepted_cells_never_lie<S: Subject>(fabric: &mut S) {
    const ROUNDS: u64 = 200;
    if fabric.me() == 0 {
        let mut pushed = 0;
        for round in 1..=ROUNDS {
            // Some payloads take more cells than others.
            push(fabric, 1, Queue::Messages, [round as u32; 4], &pattern(round, round as usize % 150));
            let before = std::mem::replace(&mut pushed, fabric.pushed(1));
            assert!(pushed > before);
            if let Some(accepted) = fabric.accepted(1) {
                assert!(accepted <= before, "the receiver has not been asked to take message {round} yet");
                tell(fabric, 1, 1);
                hear(fabric, 1, 2);
                assert_eq!(fabric.accepted(1), Some(pushed));
            } else {
                tell(fabric, 1, 1);
                hear(fabric, 1, 2);
            }
        }
        // Requests do not count.
        assert_eq!(fabric.pushed(1), pushed);
    } else {
        let mut popped = 0;
        for _ in 1..=ROUNDS {
            hear(fabric, 0, 1);
            assert_eq!(fabric.popped(0), popped);
            pull(fabric, 0, Queue::Messages);
            let before = std::mem::replace(&mut popped, fabric.popped(0));
            assert!(popped > before);
            tell(fabric, 0, 2);
        }
    }
}

/// Many peers send to one at the same time; it hears from all of them, though one never stops until all have been
/// heard.
pub(super) fn nobody_starves_among_many<S: Subject>(fabric: &mut S) {
    const EACH: u32 = 20;
    let (me, peers) = (fabric.me(), fabric.peers());
    if me == 0 {
        let mut heard = vec![0; peers];
        while heard[2..].iter().any(|&count| count < EACH) {
            let (from, header, _) = pull_any(fabric, Queue::Messages);
            assert_eq!(header[0], heard[from]);
            heard[from] += 1;
        }
        // Now the one that talks without end may stop.
        tell(fabric, 1, 1);
        let total = loop {
            let (from, header, payload) = pull_any(fabric, Queue::Messages);
            assert_eq!((from, header[0]), (1, heard[1]));
            heard[1] += 1;
            if !payload.is_empty() {
                break heard[1];
            }
        };
        assert_eq!(fabric.popped(1), u64::from(total));
    } else if me == 1 {
        let mut number = 0;
        while try_pull(fabric, 0, Queue::Requests).is_none() {
            let pushed = fabric.try_push(0, Queue::Messages, Enqueue::Retry, [number; 4], ReadSpan::EMPTY);
            number += u32::from(pushed.is_ok());
            std::thread::yield_now();
        }
        push(fabric, 0, Queue::Messages, [number; 4], b"last");
    } else {
        (0..EACH).for_each(|number| push(fabric, 0, Queue::Messages, [number; 4], &[]));
    }
}

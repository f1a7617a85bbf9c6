//! What only the inside can show: peers that go wrong, memory that was withdrawn.

mod cuts;
mod random;
mod spoilt;
mod strangers;
use crate::Queues;
use crate::RemoteMemory;
use crate::tcp::frame::{Kind, MAX_PAYLOAD};
use crate::tcp::link::State;
use crate::{Enqueue, Network, Notice, PushError, RemoteAddress, RemoteError, Way, Written};

use std::io::{Read, Write};
use std::time::{Duration, Instant};

pub(crate) use self::random::Random;

use super::frame::Frame;
use super::fuzz::{LOOPBACK, WATCHDOG, fabrics, hello_of_peer_1, impostor, knock, pair, push, turn};
use super::handshake::{CHALLENGE, HELLO, NO_CHALLENGE, VERDICT};
use super::*;

/// What peer 1 did wrong.
fn fault_of(fabric: &mut TcpFabric) -> &'static str {
    let mut what = "";
    turn(&mut [fabric], |fabrics| {
        let Some(from) = fabrics[0].ready(Queue::Requests) else { return false };
        what = fabrics[0].front(from, Queue::Requests).unwrap_err().what;
        assert_eq!(from, 1);
        true
    });
    what
}

#[test]
fn simultaneous_openings_leave_one_connection() {
    for round in 0..50 {
        let (mut a, mut b) = pair();
        // In all orders of steps.
        for step in 0..6 {
            if round >> step & 1 == 0 {
                a.poll(Duration::ZERO);
            } else {
                b.poll(Duration::ZERO);
            }
            if step == round % 3 {
                push(&mut a, 1, round);
            }
            if step == round % 2 {
                push(&mut b, 0, round);
            }
        }
        turn(&mut [&mut a, &mut b], |fabrics| {
            fabrics[0].front(1, Queue::Messages).unwrap().is_some()
                && fabrics[1].front(0, Queue::Messages).unwrap().is_some()
        });
        b.pop(0, Queue::Messages);
        push(&mut a, 1, round);
        turn(&mut [&mut a, &mut b], |fabrics| fabrics[1].front(0, Queue::Messages).unwrap().is_some());
        assert_eq!((a.connections(), b.connections()), (1, 1));
        a.begin_to_finish();
        b.begin_to_finish();
        turn(&mut [&mut a, &mut b], |fabrics| fabrics.iter().all(|fabric| fabric.has_finished()));
    }
}

fn random_noise(len: usize) -> Vec<u8> {
    let mut word = u64::from_ne_bytes(handshake::random_bytes().unwrap()) | 1;
    let next = || {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        word as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

#[test]
fn noise_from_a_peer_is_its_fault() {
    for _ in 0..20 {
        let (mut a, _b) = pair();
        let mut peer = impostor(&mut a);
        let mut noise = random_noise(5000);
        noise[0] |= 0x80;
        let _ = peer.write_all(&noise);
        assert!(!fault_of(&mut a).is_empty());
    }
}

#[test]
fn writes_go_only_to_memory_that_is_handed_out() {
    let memory: &'static mut [u8] = Box::leak(vec![0_u8; 300].into_boxed_slice());
    let start = memory.as_ptr() as u64;
    let span = WriteSpan::from(memory);
    let part = span.part(100, 100);
    let write = |space, place, len: usize| {
        let words = Frame::target_words(space, place);
        let header = Frame { kind: Kind::Write, len, popped: [0; 2], words }.encode();
        [&header[..], &vec![1; len]].concat()
    };
    let contents = || {
        let mut copy = vec![0; 300];
        span.as_read().copy_to(WriteSpan::from(&mut copy[..]));
        copy
    };
    for (place, len) in [(99, 100), (101, 100), (200, 1), (99, 1), (99, 0), (0, 300)] {
        let (mut a, _b) = pair();
        let mut peer = impostor(&mut a);
        let address = a.hand_out(1, part);
        peer.write_all(&write(address.space, start + place, len)).unwrap();
        assert!(fault_of(&mut a).contains("memory that it had not been given"));
        assert_eq!(contents(), vec![0; 300], "{len} at {place}");
    }
    // Withdrawn before, withdrawn in the middle, somebody else's, never given.
    for case in 0..4 {
        let secrets = vec![JobSecret::random().unwrap(); 3];
        let mut a = fabrics(&secrets).swap_remove(0);
        let mut peer = impostor(&mut a);
        let address = a.hand_out(if case == 2 { 2 } else { 1 }, part);
        let bytes = write(if case == 3 { 0 } else { address.space }, address.place, 100);
        if case == 1 {
            peer.write_all(&bytes[..frame::HEADER + 30]).unwrap();
            turn(&mut [&mut a], |_| contents()[129] == 1);
        }
        if case < 2 {
            a.withdraw(1, &address);
        }
        peer.write_all(if case == 1 { &bytes[frame::HEADER + 30..] } else { &bytes }).unwrap();
        assert!(fault_of(&mut a).contains("memory that it had not been given"));
        let written = if case == 1 { 100..130 } else { 0..0 };
        assert!(contents().iter().enumerate().all(|(index, &byte)| (byte == 1) == written.contains(&index)));
        ReadSpan::from(&[0; 300][..]).copy_to(span);
    }
}

#[test]
fn a_payload_goes_where_it_is_wanted_while_it_arrives() {
    const LEN: usize = 40_000;
    #[derive(PartialEq, Debug, Clone, Copy)]
    enum Case {
        Diverted,
        Withdrawn,
        Left,
    }
    let cell = |words, payload: &[u8]| {
        let frame = Frame { kind: Kind::Cell(Queue::Messages), len: payload.len(), popped: [0; 2], words };
        [&frame.encode()[..], payload].concat()
    };
    let payload: Vec<u8> = (0..LEN).map(|at| at as u8 | 1).collect();
    let long = cell([7; 4], &payload);
    for case in [Case::Diverted, Case::Withdrawn, Case::Left] {
        let (mut a, _b) = pair();
        let mut peer = impostor(&mut a);
        peer.write_all(&long[..10_000]).unwrap();
        turn(&mut [&mut a], |fabrics| fabrics[0].ready(Queue::Messages) == Some(1));
        assert!(a.front(1, Queue::Messages).unwrap().is_none(), "it is not whole");
        let coming = a.coming(1).unwrap();
        assert_eq!((coming.header, coming.len), ([7; 4], LEN));
        assert!(a.coming(1).is_none(), "shown once");
        let span = WriteSpan::from(&mut *Box::leak(vec![0_u8; LEN].into_boxed_slice()));
        let address = a.hand_out(1, span);
        if case != Case::Left {
            a.place_directly(1, &address, [9; 4]);
            assert_eq!(a.popped(1), 1);
        }
        if case == Case::Withdrawn {
            a.withdraw(1, &address);
        }
        peer.write_all(&[&long[10_000..], &cell([3; 4], &[])].concat()).unwrap();
        turn(&mut [&mut a], |fabrics| fabrics[0].front(1, Queue::Messages).unwrap().is_some());
        let arrival = a.front(1, Queue::Messages).unwrap().unwrap();
        if case == Case::Left {
            assert_eq!((arrival.header, arrival.len), ([7; 4], LEN));
            a.read(1, Queue::Messages, &arrival, 0, span);
        } else {
            assert_eq!((arrival.header, arrival.len), ([9; 4], 0));
        }
        let mut contents = vec![0; LEN];
        span.as_read().copy_to(WriteSpan::from(&mut contents[..]));
        let there = if case == Case::Withdrawn { 10_000 - frame::HEADER } else { LEN };
        assert!(contents[there..].iter().all(|&byte| byte == 0), "{case:?}");
        assert!(case == Case::Withdrawn || contents == payload, "{case:?}");
        a.pop(1, Queue::Messages);
        assert_eq!(a.popped(1), 1, "the note counts for nothing");
        turn(&mut [&mut a], |fabrics| fabrics[0].front(1, Queue::Messages).unwrap().is_some());
        assert_eq!(a.front(1, Queue::Messages).unwrap().unwrap().header, [3; 4]);
    }
}

#[test]
fn credit_comes_back_for_payloads_that_went_elsewhere() {
    let (mut a, _b) = pair();
    let mut peer = impostor(&mut a);
    let span = WriteSpan::from(&mut *Box::leak(vec![0_u8; MAX_PAYLOAD].into_boxed_slice()));
    let address = a.hand_out(1, span);
    let cell = Frame { kind: Kind::Cell(Queue::Messages), len: MAX_PAYLOAD, popped: [0; 2], words: [7; 4] }.encode();
    let half = credit::BYTES / MAX_PAYLOAD / 2;
    for _ in 0..half {
        peer.write_all(&[&cell[..], &[1; 1000]].concat()).unwrap();
        turn(&mut [&mut a], |fabrics| fabrics[0].coming(1).is_some());
        a.place_directly(1, &address, [9; 4]);
        peer.write_all(&[1; MAX_PAYLOAD - 1000]).unwrap();
        turn(&mut [&mut a], |fabrics| fabrics[0].front(1, Queue::Messages).unwrap().is_some());
        a.pop(1, Queue::Messages);
    }
    // Unasked.
    let mut said = [0; frame::HEADER];
    peer.read_exact(&mut said).unwrap();
    assert_eq!(said, Frame { kind: Kind::Control, len: 0, popped: [half as u32, 0], words: [0; 4] }.encode());
}

/// Whoever asks for one queue of one peer only hears of all that comes, and what it has popped is said when debts are
/// paid.
#[test]
fn whoever_asks_hears_of_all_that_comes() {
    for (index, queue) in [Queue::Messages, Queue::Requests].into_iter().enumerate() {
        let (mut a, _b) = pair();
        let mut peer = impostor(&mut a);
        for number in 1..=3 {
            let cell = Frame { kind: Kind::Cell(queue), len: 0, popped: [0; 2], words: [number; 4] };
            peer.write_all(&cell.encode()).unwrap();
            let start = Instant::now();
            while a.front(1, queue).unwrap().is_none() {
                assert!(start.elapsed() < WATCHDOG, "{number} is not heard of");
            }
            a.pop(1, queue);
            a.pay_debts();
            let mut popped = [0; 2];
            popped[index] = number;
            let mut said = [0; frame::HEADER];
            peer.read_exact(&mut said).unwrap();
            assert_eq!(said, Frame { kind: Kind::Control, len: 0, popped, words: [0; 4] }.encode());
            assert!(a.front(1, queue).unwrap().is_none());
        }
    }
}

#[test]
fn a_full_queue_of_one_that_has_said_goodbye_has_no_room_ever() {
    let (mut a, _b) = pair();
    let mut peer = impostor(&mut a);
    (0..credit::CELLS).for_each(|number| push(&mut a, 1, number as u32));
    let try_push = |fabric: &mut TcpFabric| {
        fabric.try_push(1, Queue::Messages, Enqueue::Retry, [0; 4], ReadSpan::EMPTY).unwrap_err()
    };
    assert_eq!(try_push(&mut a), PushError::Full);
    peer.write_all(&Frame { kind: Kind::Goodbye, len: 0, popped: [0; 2], words: [0; 4] }.encode()).unwrap();
    turn(&mut [&mut a], |fabrics| fabrics[0].links[1].is_closed_by_peer());
    assert_eq!(try_push(&mut a), PushError::PeerLost { peer: 1 });
}

#[test]
fn who_goes_on_after_its_goodbye_is_at_fault() {
    let (mut a, _b) = pair();
    let mut peer = impostor(&mut a);
    let frame = |kind| Frame { kind, len: 0, popped: [0; 2], words: [0; 4] }.encode();
    peer.write_all(&[frame(Kind::Goodbye), frame(Kind::Cell(Queue::Messages))].concat()).unwrap();
    assert!(fault_of(&mut a).contains("goodbye"));
}

#[test]
fn who_sends_more_than_its_credit_is_at_fault() {
    let (mut a, _b) = pair();
    let mut peer = impostor(&mut a);
    let cell = Frame { kind: Kind::Cell(Queue::Messages), len: 0, popped: [0; 2], words: [0; 4] }.encode();
    peer.write_all(&cell.repeat(credit::CELLS + 1)).unwrap();
    turn(&mut [&mut a], |fabrics| fabrics[0].links[1].fault().is_some());
    // What came before the fault is still there.
    for _ in 0..credit::CELLS {
        assert!(a.front(1, Queue::Messages).unwrap().is_some());
        a.pop(1, Queue::Messages);
    }
    assert!(a.front(1, Queue::Messages).unwrap_err().what.contains("credit"));
}

/// Its goodbye waits for the connection, and so does what it says of itself: before the goodbye, as nothing follows it.
#[test]
fn who_leaves_while_it_still_connects_is_heard_and_finishes() {
    let (mut a, mut b) = pair();
    a.ring(1);
    assert!(matches!(a.links[1].state, State::Connecting(_)));
    a.depart(Presence::Left);
    a.begin_to_finish();
    turn(&mut [&mut a, &mut b], |fabrics| fabrics[1].links[0].is_closed_by_peer());
    assert_eq!(b.presence(0), Presence::Left);
    b.begin_to_finish();
    turn(&mut [&mut a, &mut b], |fabrics| fabrics.iter().all(|fabric| fabric.has_finished()));
}

#[test]
fn a_peer_that_goes_without_goodbye_is_lost_and_one_that_says_it_is_not() {
    for says_it in [true, false] {
        let (mut a, mut b) = pair();
        push(&mut b, 0, 1);
        turn(&mut [&mut a, &mut b], |fabrics| fabrics[0].front(1, Queue::Messages).unwrap().is_some());
        if says_it {
            b.begin_to_finish();
        }
        drop(b);
        turn(&mut [&mut a], |fabrics| fabrics[0].links[1].is_closed_by_peer());
        assert!(a.front(1, Queue::Messages).unwrap().is_some(), "it was received");
        a.pop(1, Queue::Messages);
        assert_eq!(a.front(1, Queue::Messages).is_ok(), says_it);
        assert_eq!(a.ready(Queue::Messages).is_none(), says_it);
        let pushed = a.try_push(1, Queue::Messages, Enqueue::Next, [0; 4], ReadSpan::EMPTY);
        assert_eq!(pushed, Err(PushError::PeerLost { peer: 1 }));
        let address = RemoteAddress { space: 1 << 32, place: 1, len: 1 };
        assert_eq!(a.remote_write(1, &address, 0, ReadSpan::from(&[0][..]), None), Err(RemoteError::PeerLost));
        a.finish();
    }
}

/// Writes all of `bytes`, taking in meanwhile what arrives.
fn write_all(fabric: &mut TcpFabric, peer: usize, address: &RemoteAddress, bytes: &[u8]) -> Result<(), RemoteError> {
    let mut done = 0;
    while done < bytes.len() {
        let written = fabric.remote_write(peer, address, done as u64, ReadSpan::from(&bytes[done..]), None)?;
        done += written.len;
        fabric.poll(if written.len == 0 { Duration::from_millis(1) } else { Duration::ZERO });
    }
    Ok(())
}

#[test]
fn a_write_to_a_peer_that_dies_meanwhile_ends() {
    let (mut a, mut b) = pair();
    let block: &'static mut [u8] = Box::leak(vec![0_u8; 64 << 20].into_boxed_slice());
    let address = b.hand_out(0, WriteSpan::from(block));
    push(&mut b, 0, 1);
    turn(&mut [&mut a, &mut b], |fabrics| fabrics[0].connections() == 1 && fabrics[1].connections() == 1);
    let other = std::thread::spawn(move || {
        // Reads something, so that it dies in the middle.
        b.poll(Duration::from_millis(100));
        drop(b);
    });
    // Again and again: nobody knows how much it reads.
    let data = vec![1; 64 << 20];
    let lost = std::iter::repeat_with(|| write_all(&mut a, 1, &address, &data)).find_map(Result::err);
    assert_eq!(lost, Some(RemoteError::PeerLost));
    assert!(a.front(1, Queue::Messages).is_ok(), "the first cell");
    other.join().unwrap();
}

#[test]
fn a_writer_is_not_kept_by_a_peer_that_does_not_look() {
    // More than any socket takes.
    const LEN: usize = 64 << 20;
    let (mut a, mut b) = pair();
    let span = WriteSpan::from(&mut *Box::leak(vec![0_u8; 2 * LEN].into_boxed_slice()));
    let address = b.hand_out(0, span);
    push(&mut b, 0, 1);
    turn(&mut [&mut a, &mut b], |fabrics| fabrics[0].connections() == 1 && fabrics[1].connections() == 1);
    let bytes: Vec<u8> = (0..2 * LEN).map(|at| (at / 1000) as u8 | 1).collect();
    let (first, second) = bytes.split_at(LEN);
    let begun = a.remote_write(1, &address, 0, ReadSpan::from(first), None).unwrap().len;
    assert!(begun < LEN, "that should have been too much");
    // What comes from elsewhere finds no room in the middle of it, and what is pushed waits behind.
    let other = a.remote_write(1, &address, LEN as u64, ReadSpan::from(second), None);
    assert_eq!(other.unwrap().len, 0);
    push(&mut a, 1, 2);
    let (mut done, mut other) = (begun, 0);
    turn(&mut [&mut a, &mut b], |fabrics| {
        assert!(done == LEN || fabrics[1].front(0, Queue::Messages).unwrap().is_none(), "it has overtaken");
        let mut go_on = |offset, bytes: &[u8]| {
            fabrics[0].remote_write(1, &address, offset as u64, ReadSpan::from(bytes), None).unwrap().len
        };
        done += go_on(done, &first[done..]);
        other += go_on(LEN + other, &second[other..]);
        done + other == 2 * LEN
    });
    push(&mut a, 1, 3);
    for number in [2, 3] {
        turn(&mut [&mut a, &mut b], |fabrics| fabrics[1].front(0, Queue::Messages).unwrap().is_some());
        assert_eq!(b.front(0, Queue::Messages).unwrap().unwrap().header, [number; 4]);
        b.pop(0, Queue::Messages);
    }
    let mut contents = vec![0; 2 * LEN];
    span.as_read().copy_to(WriteSpan::from(&mut contents[..]));
    assert!(contents == bytes);
}

#[test]
fn a_notice_comes_right_behind_its_write() {
    const LEN: usize = 64 << 20;
    let (mut a, mut b) = pair();
    let span = WriteSpan::from(&mut *Box::leak(vec![0_u8; LEN].into_boxed_slice()));
    let address = b.hand_out(0, span);
    push(&mut b, 0, 1);
    turn(&mut [&mut a, &mut b], |fabrics| fabrics[0].connections() == 1 && fabrics[1].connections() == 1);
    let bytes: Vec<u8> = (0..LEN).map(|at| (at / 1000) as u8 | 1).collect();
    let write = |fabric: &mut TcpFabric, done: usize| {
        let rest = ReadSpan::from(&bytes[done..]);
        let notice = Notice { header: [2; 4], payload: ReadSpan::from(&b"written"[..]) };
        let written = fabric.remote_write(1, &address, done as u64, rest, Some(notice)).unwrap();
        assert_eq!(written.told, done + written.len == LEN);
        done + written.len
    };
    let mut done = write(&mut a, 0);
    assert!(done < LEN, "that should have been too much");
    // Pushed later than the write has begun.
    push(&mut a, 1, 3);
    turn(&mut [&mut a, &mut b], |fabrics| {
        done = if done < LEN { write(fabrics[0], done) } else { LEN };
        fabrics[1].front(0, Queue::Messages).unwrap().is_some()
    });
    let mut contents = vec![0; LEN];
    span.as_read().copy_to(WriteSpan::from(&mut contents[..]));
    assert!(contents == bytes);
    let notice = b.front(0, Queue::Messages).unwrap().unwrap();
    let mut payload = [0; 7];
    b.read(0, Queue::Messages, &notice, 0, WriteSpan::from(&mut payload[..]));
    assert_eq!((notice.header, notice.len, &payload), ([2; 4], 7, b"written"));
    b.pop(0, Queue::Messages);
    turn(&mut [&mut a, &mut b], |fabrics| fabrics[1].front(0, Queue::Messages).unwrap().is_some());
    assert_eq!(b.front(0, Queue::Messages).unwrap().unwrap().header, [3; 4]);
    b.pop(0, Queue::Messages);
}

#[test]
fn a_notice_without_credit_is_left_to_the_caller() {
    let (mut a, mut b) = pair();
    let span = WriteSpan::from(&mut *Box::leak(vec![0_u8; 10].into_boxed_slice()));
    let address = b.hand_out(0, span);
    (0..credit::CELLS).for_each(|number| push(&mut a, 1, number as u32));
    turn(&mut [&mut a, &mut b], |fabrics| !fabrics[0].links[1].has_something_to_send());
    let notice = Notice { header: [9; 4], payload: ReadSpan::EMPTY };
    let written = a.remote_write(1, &address, 0, ReadSpan::from(&[7; 10][..]), Some(notice));
    assert_eq!(written, Ok(Written { way: Way::Network, len: 10, told: false }));
    for number in 0..credit::CELLS {
        turn(&mut [&mut a, &mut b], |fabrics| fabrics[1].front(0, Queue::Messages).unwrap().is_some());
        assert_eq!(b.front(0, Queue::Messages).unwrap().unwrap().header, [number as u32; 4]);
        b.pop(0, Queue::Messages);
    }
    turn(&mut [&mut a, &mut b], |_| {
        let mut contents = [0; 10];
        span.as_read().copy_to(WriteSpan::from(&mut contents[..]));
        contents == [7; 10]
    });
    assert!(b.front(0, Queue::Messages).unwrap().is_none());
}

#[test]
fn a_write_that_is_given_up_ends_the_connection() {
    let (mut a, mut b) = pair();
    let address = a.hand_out(1, WriteSpan::from(&mut *Box::leak(vec![0_u8; 64 << 20].into_boxed_slice())));
    push(&mut a, 1, 1);
    turn(&mut [&mut a, &mut b], |fabrics| fabrics[0].connections() == 1 && fabrics[1].connections() == 1);
    let written = b.remote_write(0, &address, 0, ReadSpan::from(&vec![1; 64 << 20][..]), None).unwrap();
    assert!(written.len < 64 << 20);
    b.finish();
    assert!(fault_of(&mut a).contains("had not finished"));
}

#[test]
fn peers_that_write_to_each_other_do_not_block_each_other() {
    const LEN: usize = 32 << 20;
    let (mut a, mut b) = pair();
    let block = || WriteSpan::from(&mut *Box::leak(vec![0_u8; LEN].into_boxed_slice()));
    let (first, second) = (a.hand_out(1, block()), b.hand_out(0, block()));
    let write = move |fabric: &mut TcpFabric, peer, address: &RemoteAddress| {
        write_all(fabric, peer, address, &vec![1; LEN]).unwrap();
        push(fabric, peer, 9);
        fabric.finish();
        assert!(fabric.front(peer, Queue::Messages).unwrap().is_some());
    };
    let other = std::thread::spawn(move || write(&mut b, 0, &first));
    write(&mut a, 1, &second);
    other.join().unwrap();
}

#[test]
fn an_address_where_nobody_listens_is_a_fault() {
    let (mut a, b) = pair();
    drop(b);
    push(&mut a, 1, 0);
    assert!(fault_of(&mut a).contains("ended"));
}

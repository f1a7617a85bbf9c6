//! What only the inside can show: damaged memory, and shortages.
#![allow(unsafe_code)]
use crate::Queues;
use crate::SharedMemory;
use crate::Waiting;
use crate::layout::PEERS_WITHOUT_HINTS;
use crate::{
    Enqueue, Presence, ReadSpan, Reading, RemoteAddress, RemoteError, RemoteMemory, Signal, Way, WriteSpan, Written,
};

use super::*;
use crate::span::tests::PAST_CACHES;

mod lanes;

fn pair() -> (NodeFabric, NodeFabric) {
    let mut fabrics = NodeFabric::threads(2).unwrap();
    let second = fabrics.pop().unwrap();
    (fabrics.pop().unwrap(), second)
}

fn push(fabric: &mut NodeFabric, to: usize, len: usize) {
    let payload = vec![1; len];
    fabric.try_push(to, Queue::Messages, Enqueue::Next, [0; 4], ReadSpan::from(&payload[..])).unwrap();
}

/// What `fabric` hands out for a block.
fn address(fabric: &NodeFabric, start: std::ptr::NonNull<u8>, len: usize) -> RemoteAddress {
    // SAFETY: the span is gone before anybody looks at the bytes.
    fabric.address_of(unsafe { ReadSpan::new(start.as_ptr(), len) })
}

#[test]
fn a_scribbling_peer_is_a_fault_of_that_peer() {
    let (mut a, mut b) = pair();
    push(&mut a, 1, 200);
    let cells = b.segment.layout().cells(1, Queue::Messages, 0);
    let data_size = b.segment.layout().data_size as u32;
    for (word, value) in [(1, data_size + 1), (6, data_size - 199), (0, 9)] {
        let place = b.segment.at(cells + word * 4).cast::<u32>();
        // SAFETY: a word of the first cell, which nobody else uses in this test.
        let good = unsafe { place.read() };
        assert!(matches!(b.front(0, Queue::Messages), Ok(Some(_))));
        // SAFETY: as above.
        unsafe { place.write(value) };
        assert_eq!(b.ready(Queue::Messages), Some(0), "the damage must be found by polling");
        let fault = b.front(0, Queue::Messages).unwrap_err();
        assert_eq!(fault.peer, 0);
        // SAFETY: as above.
        unsafe { place.write(good) };
    }
}

#[test]
fn a_registration_of_nobody_is_ignored() {
    let (mut a, mut b) = pair();
    b.segment.opened(1, Queue::Messages, 0).store(u64::MAX, Ordering::Relaxed);
    b.control(1).openings[0].fetch_add(1, Ordering::Relaxed);
    assert_eq!(b.ready(Queue::Messages), None);
    push(&mut a, 1, 0);
    assert_eq!(b.ready(Queue::Messages), Some(0));
}

#[test]
fn hints_of_nobody_are_ignored() {
    let peers = PEERS_WITHOUT_HINTS + 1;
    let mut fabrics = NodeFabric::threads(peers).unwrap();
    let (mut first, rest) = (fabrics.remove(0), &mut fabrics);
    first.segment.dirty(0, Queue::Messages, 0).store(u64::MAX, Ordering::Relaxed);
    assert_eq!(first.ready(Queue::Messages), None);
    push(&mut rest[6], 0, 0);
    // Some rounds, as a call looks at a bounded number of places.
    assert!((0..peers).any(|_| first.ready(Queue::Messages) == Some(7)));
}

/// Even if every hint were lost, polling would find the cell.
#[test]
fn a_lost_hint_costs_time_only() {
    let peers = PEERS_WITHOUT_HINTS + 8;
    let mut fabrics = NodeFabric::threads(peers).unwrap();
    let (mut first, rest) = (fabrics.remove(0), &mut fabrics);
    rest.iter_mut().for_each(|peer| push(peer, 0, 0));
    first.segment.dirty(0, Queue::Messages, 0).store(0, Ordering::Relaxed);
    let mut heard = vec![false; peers];
    for _ in 0..peers * peers {
        if let Some(from) = first.ready(Queue::Messages) {
            heard[from] = true;
            first.pop(from, Queue::Messages);
        }
    }
    assert!(heard[1..].iter().all(|&heard| heard));
}

#[test]
fn memory_beyond_what_the_heap_has_pages_for_is_refused() {
    let (mut a, b) = pair();
    let block = b.heap().allocate(std::alloc::Layout::new::<[u8; 4096]>()).unwrap();
    let address = address(&b, block, 4096);
    let reserved = b.control(1).identity.heap_reserved.load(Ordering::Relaxed);
    let beyond = RemoteAddress { place: reserved - 4095, ..address };
    let bytes = [0; 4096];
    assert_eq!(a.remote_write(1, &beyond, 0, ReadSpan::from(&bytes[..]), None), Err(RemoteError::Refused));
    let last = RemoteAddress { place: reserved - 4096, ..address };
    assert_eq!(
        a.remote_write(1, &last, 0, ReadSpan::from(&bytes[..]), None),
        Ok(Written { way: Way::SameProcess, len: bytes.len(), told: false })
    );
}

#[test]
fn what_no_cache_holds_is_read_past_them() {
    let (mut a, b) = pair();
    let block = b.heap().allocate(std::alloc::Layout::new::<[u8; 64]>()).unwrap();
    let private = [1; 64];
    for address in [address(&b, block, 64), b.address_of(ReadSpan::from(&private[..]))] {
        for (working_set, past_caches) in [(128, 0), (u64::MAX, 1)] {
            PAST_CACHES.set(0);
            let read = a.remote_read(1, &address, 0, WriteSpan::from(&mut [0; 64][..]), Reading::alone(working_set));
            assert_eq!((read, PAST_CACHES.get()), (Ok(Way::SameProcess), past_caches), "of {working_set}");
        }
    }
}

#[test]
fn threads_write_nothing_back() {
    let (a, b) = pair();
    assert!(!a.writes_back && !b.writes_back);
    let others_elsewhere = copying::writes_back(a.me, &a.links[..1]);
    assert_eq!(others_elsewhere, crate::handover::owns_what_others_read());
}

#[test]
fn what_others_read_far_away_is_written_past_the_caches() {
    let (mut a, _b) = pair();
    let passes_batons = a.passes_batons;
    let block = a.heap().allocate(std::alloc::Layout::new::<[u8; 1024]>()).unwrap();
    let address = address(&a, block, 1024);
    let shared = a.shared_part(0, &address).unwrap();
    for (len, far, past_caches) in [(1024, false, false), (1024, true, passes_batons), (100, true, false)] {
        PAST_CACHES.set(0);
        let bytes = vec![len as u8 ^ u8::from(far); len];
        a.write_shared(shared.part(0, len).unwrap(), ReadSpan::from(&bytes[..]), far);
        assert_eq!(PAST_CACHES.get(), u32::from(past_caches), "{len} bytes, far: {far}");
        let mut read = vec![0; len];
        a.shared_span(shared.part(0, len).unwrap()).copy_to(WriteSpan::from(&mut read[..]));
        assert_eq!(read, bytes);
    }
}

#[test]
fn a_heap_belongs_to_whoever_hands_it_out() {
    let (a, b) = pair();
    let block = a.heap().allocate(std::alloc::Layout::new::<[u8; 64]>()).unwrap();
    // SAFETY: the block is ours.
    let span = unsafe { ReadSpan::new(block.as_ptr(), 64) };
    // A thread may hand out memory that another thread of its process allocated.
    assert_eq!(a.address_of(span), b.address_of(span));
    assert!(a.heap().contains(span) && !b.heap().contains(span));
    assert!(!b.heap().free(block) && a.heap().free(block) && !a.heap().free(block));
}

#[test]
fn peers_that_outnumber_processors_know_who_is_on_theirs() {
    let processors = std::thread::available_parallelism().unwrap().get();
    let mut fabrics = NodeFabric::threads(processors + 1).unwrap();
    assert!(fabrics.iter().all(Waiting::is_oversubscribed));
    assert!(!fabrics[0].shares_processor(1), "nobody has said where it is");
    let mut here = rustix::thread::CpuSet::new();
    here.set(rustix::thread::sched_getcpu());
    rustix::thread::sched_setaffinity(None, &here).unwrap();
    fabrics[0].give_way();
    assert!(!fabrics[0].shares_processor(1));
    fabrics[1].give_way();
    assert!(fabrics[0].shares_processor(1) && fabrics[1].shares_processor(0));
    // Each processor has a number of its own.
    fabrics[1].control(1).processor.fetch_add(1, Ordering::Relaxed);
    assert!(!fabrics[0].shares_processor(1) && !fabrics[1].shares_processor(0));
}

#[test]
fn peers_with_a_processor_each_are_beside_nobody() {
    let (mut a, mut b) = pair();
    if a.is_oversubscribed() {
        return;
    }
    a.give_way();
    b.give_way();
    assert!(!a.shares_processor(1) && !b.shares_processor(0));
}

/// In order, they call nobody who is leaving too: as many calls as there are pairs of processes.
#[test]
fn who_leaves_without_the_others_calls_those_who_wait_for_all() {
    for (presence, is_called) in [(Presence::Left, true), (Presence::Leaving, false), (Presence::Finished, false)] {
        let (mut a, mut b) = pair();
        b.depart(Presence::Leaving);
        a.depart(presence);
        assert_eq!(b.take_signals().contains(Signal::Wake), is_called, "{presence:?}");
    }
}

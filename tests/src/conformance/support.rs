//! Blocking helpers over the non-blocking fabric, and memory for remote transfers.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use rwmpi_transport::{Backoff, Enqueue, Fabric, Header, PushError, Queue, ReadSpan, RemoteAddress, WriteSpan};

/// Memory that a peer may touch at any time, never freed: so it is copied into and out of, never borrowed.
#[derive(Clone, Copy)]
pub struct Block {
    start: NonNull<u8>,
    len: usize,
}

impl Block {
    /// Ordinary memory of this process, all zero.
    pub fn private(len: usize) -> Block {
        let memory = Box::leak(vec![0_u8; len].into_boxed_slice());
        Block { start: NonNull::from(memory).cast(), len }
    }

    /// `len` bytes of a shared heap that nobody else uses or frees; makes them zero.
    pub(super) fn shared(start: NonNull<u8>, len: usize) -> Block {
        let block = Block { start, len };
        block.fill(&vec![0; len]);
        block
    }

    /// The span of the whole block.
    pub fn span(self) -> WriteSpan<'static> {
        // SAFETY: the block is never freed, and is used through spans only.
        unsafe { WriteSpan::new(self.start.as_ptr(), self.len) }
    }

    /// A copy of what is in it.
    pub fn contents(self) -> Vec<u8> {
        let mut copy = vec![0; self.len];
        self.span().as_read().copy_to(WriteSpan::from(&mut copy[..]));
        copy
    }

    /// Puts `bytes` at its beginning.
    pub fn fill(self, bytes: &[u8]) {
        ReadSpan::from(bytes).copy_to(self.span());
    }
}

/// Bytes that tell messages apart: `len` of them, depending on `seed`.
pub(super) fn pattern(seed: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|index| (seed.wrapping_mul(0x9e37_79b9).wrapping_add(index * 7) >> 3) as u8).collect()
}

/// Pushes, waiting for room if need be.
pub(super) fn push<F: Fabric>(fabric: &mut F, to: usize, queue: Queue, header: Header, payload: &[u8]) {
    let mut backoff = Backoff::default();
    loop {
        match fabric.try_push(to, queue, Enqueue::Retry, header, ReadSpan::from(payload)) {
            Ok(()) => return,
            Err(PushError::Full) => fabric.idle(&mut backoff),
            Err(error) => panic!("push to {to}: {error}"),
        }
    }
}

/// Pops the next cell from `from`, waiting for it.
pub(super) fn pull<F: Fabric>(fabric: &mut F, from: usize, queue: Queue) -> (Header, Vec<u8>) {
    let mut backoff = Backoff::default();
    loop {
        if let Some(cell) = try_pull(fabric, from, queue) {
            return cell;
        }
        fabric.idle(&mut backoff);
    }
}

/// Pops the next cell from `from`, if there is one.
pub(super) fn try_pull<F: Fabric>(fabric: &mut F, from: usize, queue: Queue) -> Option<(Header, Vec<u8>)> {
    let arrival = fabric.front(from, queue).expect("a correct peer")?;
    let mut payload = vec![0xee; arrival.len];
    fabric.read(from, queue, &arrival, 0, WriteSpan::from(&mut payload[..]));
    fabric.pop(from, queue);
    Some((arrival.header, payload))
}

/// Pops the next cell from anyone, waiting for it.
pub(super) fn pull_any<F: Fabric>(fabric: &mut F, queue: Queue) -> (usize, Header, Vec<u8>) {
    let mut backoff = Backoff::default();
    loop {
        if let Some(from) = fabric.ready(queue) {
            let (header, payload) = try_pull(fabric, from, queue).expect("`ready` said so");
            return (from, header, payload);
        }
        fabric.idle(&mut backoff);
    }
}

/// A short note, over the queue for requests.
pub(super) fn tell<F: Fabric>(fabric: &mut F, to: usize, what: u32) {
    push(fabric, to, Queue::Requests, [what, 0, 0, 0], &[]);
}

/// Waits for the note `what` from `from`.
pub(super) fn hear<F: Fabric>(fabric: &mut F, from: usize, what: u32) {
    let (header, _) = pull(fabric, from, Queue::Requests);
    assert_eq!(header[0], what, "note from {from}");
}

/// Tells `to` an address.
pub(super) fn tell_address<F: Fabric>(fabric: &mut F, to: usize, address: RemoteAddress) {
    let words = [address.space, address.place, address.len];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    push(fabric, to, Queue::Requests, [0; 4], &bytes);
}

/// Waits for an address from `from`.
pub(super) fn hear_address<F: Fabric>(fabric: &mut F, from: usize) -> RemoteAddress {
    let (_, bytes) = pull(fabric, from, Queue::Requests);
    let word = |index: usize| u64::from_ne_bytes(bytes[index * 8..][..8].try_into().expect("eight bytes"));
    RemoteAddress { space: word(0), place: word(1), len: word(2) }
}

/// Returns when all peers have called it.
pub(super) fn barrier<F: Fabric>(fabric: &mut F) {
    let (me, peers) = (fabric.me(), fabric.peers());
    if me == 0 {
        (1..peers).for_each(|peer| hear(fabric, peer, 0xba1));
        (1..peers).for_each(|peer| tell(fabric, peer, 0xba2));
    } else {
        tell(fabric, 0, 0xba1);
        hear(fabric, 0, 0xba2);
    }
}

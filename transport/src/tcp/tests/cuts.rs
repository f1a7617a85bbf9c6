//! Two ends that do all that a fabric can do, in any order, over a connection that is cut wherever it can be: what one
//! end has sent is what the other finds.
use crate::Fabric;
use crate::Queues;
use crate::RemoteMemory;
use crate::Waiting;
use crate::tcp::frame::MAX_PAYLOAD;
use crate::{Enqueue, INLINE_PAYLOAD, Network, Notice, PushError, RemoteAddress, Signal};

use std::collections::VecDeque;
use std::os::unix::net::UnixStream;

use super::random::{Random, for_each_seed};
use super::*;
use crate::tcp::link::Watched;
use crate::tcp::stingy;

const RUNS: u64 = 300;
/// Bytes that one end may write into at the other, and that payloads can be placed.
const AREA: usize = 640 << 10;
/// Rounds in a row without anything new after which nothing will ever come.
const PATIENCE: usize = 500;
/// In the second word of a cell's header: an ordinary one, ...
const CELL: u32 = 1;
/// ... one behind a write, ...
const NOTICE: u32 = 2;
/// ... one that stands for a payload that went elsewhere.
const NOTE: u32 = 3;

/// A cell that was pushed and not found yet.
#[derive(Clone, Copy, Debug)]
struct Sent {
    header: Header,
    payload: usize,
    /// How many parts of the other's area were on their way before.
    parts: usize,
    /// The write that is complete when this arrives.
    write: Option<(usize, usize)>,
    /// Where its payload went, as it began to arrive, and whether that was withdrawn.
    landing: Option<(RemoteAddress, usize, bool)>,
}

/// A remote write that its caller goes on with.
#[derive(Clone, Copy)]
struct Writing {
    start: usize,
    len: usize,
    done: usize,
    notifies: bool,
    /// The notice is part of it.
    is_announced: bool,
}

struct End {
    fabric: TcpFabric,
    /// What the peer writes into.
    area: WriteSpan<'static>,
    /// What payloads of the peer's are placed, one behind the other.
    field: WriteSpan<'static>,
    landed: usize,
    /// The peer's area, as it may be named here.
    target: RemoteAddress,
    number: u32,
    /// What this end has pushed and the peer not found, oldest first.
    sent: [VecDeque<Sent>; QUEUES],
    refused: [bool; QUEUES],
    writings: Vec<Writing>,
    /// How much of the target was given to writes, and which parts of it, in this order, are on their way; how many the
    /// peer has looked at.
    given: usize,
    parts: Vec<(usize, usize)>,
    looked_at: usize,
    signals_sent: u32,
    signals_heard: u32,
}

/// What happened in all runs: what never did was not tested.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    cells: usize,
    refusals: usize,
    notices: usize,
    notices_without_credit: usize,
    halted_writes: usize,
    placed: usize,
    withdrawn: usize,
    signals: usize,
}

fn byte_of(number: u32, at: usize) -> u8 {
    (at.wrapping_mul(31) ^ at >> 8 ^ number as usize) as u8 | 1
}

fn bytes_of(number: u32, start: usize, len: usize) -> Vec<u8> {
    (start..start + len).map(|at| byte_of(number, at)).collect()
}

fn contents(span: WriteSpan, start: usize, len: usize) -> Vec<u8> {
    let mut copy = vec![0; len];
    span.as_read().part(start, len).copy_to(WriteSpan::from(&mut copy[..]));
    copy
}

impl End {
    fn new(fabric: TcpFabric, [area, field]: [WriteSpan<'static>; 2], target: RemoteAddress) -> End {
        End {
            fabric,
            area,
            field,
            landed: 0,
            target,
            number: 0,
            sent: Default::default(),
            refused: [false; QUEUES],
            writings: Vec::new(),
            given: 0,
            parts: Vec::new(),
            looked_at: 0,
            signals_sent: 0,
            signals_heard: 0,
        }
    }

    fn peer(&self) -> usize {
        1 - self.fabric.me()
    }

    fn note(&mut self, queue: Queue, header: Header, payload: usize, write: Option<(usize, usize)>) {
        let parts = self.parts.len();
        self.sent[queue as usize].push_back(Sent { header, payload, parts, write, landing: None });
        self.number += 1;
    }

    fn push(&mut self, queue: Queue, len: usize, met: &mut Met) {
        let refused = &mut self.refused[queue as usize];
        let enqueue = if *refused { Enqueue::Retry } else { Enqueue::Next };
        let header = [self.number, CELL, len as u32, !self.number];
        let payload = bytes_of(self.number, 0, len);
        let pushed = self.fabric.try_push(1 - self.fabric.me(), queue, enqueue, header, ReadSpan::from(&payload[..]));
        *refused = pushed == Err(PushError::Full);
        match pushed {
            Ok(()) => {
                met.cells += 1;
                self.note(queue, header, len, None);
            }
            Err(PushError::Full) => met.refusals += 1,
            Err(error) => panic!("{error}"),
        }
    }

    fn begin_to_write(&mut self, len: usize, notifies: bool) {
        if self.given + len <= AREA {
            self.writings.push(Writing { start: self.given, len, done: 0, notifies, is_announced: false });
            self.given += len;
        }
    }

    /// Goes on with one of the writes, with at most so many bytes, unless its end was announced.
    fn write(&mut self, which: usize, most: usize, met: &mut Met) {
        let (peer, mut writing) = (self.peer(), self.writings[which]);
        let pushed = self.fabric.pushed(peer);
        let (start, rest) = (writing.start + writing.done, writing.len - writing.done);
        let len = if writing.is_announced { rest } else { rest.min(most) };
        let bytes = bytes_of(0, start, len);
        let header = [self.number, NOTICE, 0, 0];
        let payload = bytes_of(self.number, 0, 5);
        let notice = Notice { header, payload: ReadSpan::from(&payload[..]) };
        let notice = Some(notice).filter(|_| writing.notifies && len == rest);
        let bytes = ReadSpan::from(&bytes[..]);
        let written = self.fabric.remote_write(peer, &self.target, start as u64, bytes, notice).unwrap();
        if self.fabric.pushed(peer) > pushed {
            assert!(!std::mem::replace(&mut writing.is_announced, true), "announced twice");
            self.note(Queue::Messages, header, 5, Some((writing.start, writing.len)));
        }
        self.parts.push((start, written.len));
        writing.done += written.len;
        met.halted_writes += usize::from((1..len).contains(&written.len));
        self.writings[which] = writing;
        assert_eq!(written.told, writing.is_announced && writing.done == writing.len);
        if writing.done == writing.len {
            met.notices += usize::from(written.told);
            met.notices_without_credit += usize::from(writing.notifies && !written.told);
            self.writings.swap_remove(which);
        }
    }

    fn send_signal(&mut self, signal: Signal, met: &mut Met) {
        self.fabric.signal(self.peer(), signal);
        self.signals_sent |= signal as u32;
        met.signals += 1;
    }

    /// Finds out that all that the other has written by now is there.
    fn look_at_area(&self, other: &mut End, parts: usize) {
        for &(start, len) in &other.parts[other.looked_at..parts.max(other.looked_at)] {
            assert!(contents(self.area, start, len) == bytes_of(0, start, len), "{len} bytes at {start}");
        }
        other.looked_at = other.looked_at.max(parts);
    }

    /// Takes what the oldest cell of a queue is, if one is there.
    fn take(&mut self, other: &mut End, queue: Queue) -> bool {
        let peer = self.peer();
        let Some(arrival) = self.fabric.front(peer, queue).unwrap() else { return false };
        let sent = other.sent[queue as usize].pop_front().expect("something that nobody sent");
        let payload = if sent.landing.is_some() { 0 } else { sent.payload };
        let header = if sent.landing.is_some() { [sent.header[0], NOTE, 0, 0] } else { sent.header };
        assert_eq!((arrival.header, arrival.len), (header, payload));
        let mut copy = vec![0; payload];
        self.fabric.read(peer, queue, &arrival, 0, WriteSpan::from(&mut copy[..]));
        assert!(copy == bytes_of(header[0], 0, payload), "the payload of {sent:?}");
        // What was pushed before into the other queue has arrived before.
        let beside = if queue == Queue::Messages { Queue::Requests } else { Queue::Messages };
        if sent.landing.is_none()
            && let Some(earlier) = other.sent[beside as usize].front()
            && earlier.header[0] < header[0]
        {
            assert!(self.fabric.links[peer].inboxes[beside as usize].front().is_some(), "{earlier:?} was overtaken");
        }
        self.look_at_area(other, sent.parts);
        if let Some((start, len)) = sent.write {
            assert!(contents(self.area, start, len) == bytes_of(0, start, len), "{sent:?} came before its bytes");
        }
        if let Some((address, start, was_withdrawn)) = sent.landing
            && !was_withdrawn
        {
            assert!(contents(self.field, start, sent.payload) == bytes_of(header[0], 0, sent.payload), "{sent:?}");
            self.fabric.withdraw(peer, &address);
        }
        self.fabric.pop(peer, queue);
        assert!(self.fabric.popped(peer) <= other.fabric.pushed(self.fabric.me()));
        assert!(other.fabric.accepted(self.fabric.me()).unwrap() <= self.fabric.popped(peer));
        true
    }

    /// Has the payload of a cell that begins to arrive put elsewhere, if there is one.
    fn place_directly(&mut self, other: &mut End, random: &mut Random, met: &mut Met) {
        let peer = self.peer();
        let Some(coming) = self.fabric.coming(peer) else { return };
        let sent = other.sent[Queue::Messages as usize].front_mut().expect("something that nobody sent");
        assert_eq!((coming.header, coming.len), (sent.header, sent.payload));
        if self.landed + coming.len > AREA || random.chance(30) {
            return;
        }
        let address = self.fabric.hand_out(peer, self.field.part(self.landed, coming.len));
        let withdraws = random.chance(20);
        sent.landing = Some((address, self.landed, withdraws));
        self.landed += coming.len;
        self.fabric.place_directly(peer, &address, [sent.header[0], NOTE, 0, 0]);
        met.placed += 1;
        if withdraws {
            self.fabric.withdraw(peer, &address);
            let before = contents(self.field, 0, AREA);
            self.fabric.poll(Duration::ZERO);
            assert!(before == contents(self.field, 0, AREA), "written after it was withdrawn");
            met.withdrawn += 1;
        }
    }

    /// One step of what a program does.
    fn step(&mut self, other: &mut End, random: &mut Random, met: &mut Met) {
        match random.below(16) {
            0..4 => {
                let len = random.pick(&[0, 1, INLINE_PAYLOAD, INLINE_PAYLOAD + 1, 1000, 5000, 40_000, MAX_PAYLOAD]);
                let len = len.saturating_sub(random.below(3));
                (0..random.pick(&[1, 1, 2, 300 / (1 + len / 100)])).for_each(|_| self.push(Queue::Messages, len, met));
            }
            4 => {
                let len = random.below(INLINE_PAYLOAD + 1);
                (0..random.pick(&[1, 3, 300])).for_each(|_| self.push(Queue::Requests, len, met));
            }
            5 | 6 => self.begin_to_write(random.pick(&[1, 100, 3000, 70_000, 200_000]), random.chance(60)),
            7..9 if !self.writings.is_empty() => {
                let most = random.pick(&[10, 5000, 150_000, AREA]);
                self.write(random.below(self.writings.len()), most, met);
            }
            9 => self.send_signal(random.pick(&[Signal::Wake, Signal::Cancel, Signal::Abort]), met),
            10 => self.fabric.pay_debts(),
            11 => self.fabric.poll(Duration::ZERO),
            12..14 => {
                self.place_directly(other, random, met);
                for _ in 0..random.below(20) {
                    self.take(other, Queue::Messages);
                }
            }
            14 => (0..random.below(200)).for_each(|_| _ = self.take(other, Queue::Requests)),
            _ => self.signals_heard |= self.fabric.take_signals().0,
        }
    }

    /// Does what is left to do; whether anything was.
    fn wind_up(&mut self, other: &mut End, met: &mut Met) -> bool {
        (0..self.writings.len()).rev().for_each(|which| self.write(which, AREA, met));
        self.fabric.pay_debts();
        self.signals_heard |= self.fabric.take_signals().0;
        let mut any = false;
        for queue in [Queue::Messages, Queue::Requests] {
            // Only where the fabric says that something is.
            while self.fabric.ready(queue).is_some() && self.take(other, queue) {
                any = true;
            }
        }
        any || !self.writings.is_empty()
    }

    /// Whether it has found all.
    fn is_through(&self, other: &End) -> bool {
        let link = &self.fabric.links[self.peer()];
        // The kernel is not asked for what nobody needs any more.
        let is_quiet = !link.has_something_to_send() && link.watched != Watched::ForRoom;
        is_quiet
            && self.writings.is_empty()
            && other.sent.iter().all(VecDeque::is_empty)
            && self.signals_heard == other.signals_sent
    }
}

fn run(seed: u64, places: &[[WriteSpan<'static>; 2]; 2], met: &mut Met) {
    let mut random = Random::of_seed(seed);
    let zeros = vec![0; AREA];
    places.iter().flatten().for_each(|&place| ReadSpan::from(&zeros[..]).copy_to(place));
    let (mut a, mut b) = pair();
    let targets = [b.hand_out(0, places[1][0]), a.hand_out(1, places[0][0])];
    let (ours, theirs) = UnixStream::pair().unwrap();
    [&ours, &theirs].iter().for_each(|end| end.set_nonblocking(true).unwrap());
    // What was pushed before they know each other waits for that.
    a.adopt(1, ours.into());
    b.adopt(0, theirs.into());
    let _stinginess = stingy::begin(Random::of_seed(!seed));
    let mut ends = [End::new(a, places[0], targets[0]), End::new(b, places[1], targets[1])];
    for _ in 0..random.pick(&[20, 100, 300]) {
        let [first, second] = &mut ends;
        if random.chance(50) { first.step(second, &mut random, met) } else { second.step(first, &mut random, met) }
    }
    let mut in_vain = 0;
    loop {
        let [first, second] = &mut ends;
        let any = first.wind_up(second, met) | second.wind_up(first, met);
        if first.is_through(second) && second.is_through(first) {
            break;
        }
        in_vain = if any { 0 } else { in_vain + 1 };
        assert!(in_vain < PATIENCE, "it never comes: {:?} {:?}", first.sent, second.sent);
    }
    ends.iter_mut().for_each(|end| end.fabric.begin_to_finish());
    for _ in 0..PATIENCE {
        if !ends.iter().all(|end| end.fabric.has_finished()) {
            ends.iter_mut().for_each(|end| end.fabric.poll(Duration::from_nanos(1)));
        }
    }
    for end in &ends {
        assert!(end.fabric.has_finished() && end.fabric.links[end.peer()].fault().is_none(), "they do not part");
    }
    let [first, second] = &mut ends;
    let counts = [first.parts.len(), second.parts.len()];
    first.look_at_area(second, counts[1]);
    second.look_at_area(first, counts[0]);
}

#[test]
fn whatever_two_ends_do_survives_any_cut() {
    let place = || WriteSpan::from(&mut *Box::leak(vec![0_u8; AREA].into_boxed_slice()));
    let places = [[place(), place()], [place(), place()]];
    let mut met = Met::default();
    let are_enough = for_each_seed(RUNS, |seed| run(seed, &places, &mut met));
    println!("{met:?}");
    let Met { cells, refusals, notices, notices_without_credit, halted_writes, placed, withdrawn, signals } = met;
    let all = [cells, refusals, notices, notices_without_credit, halted_writes, placed, withdrawn, signals];
    assert!(!are_enough || all.iter().all(|&count| count > 10), "{met:?}");
}

//! What a correct peer would send, spoilt: bytes changed, lost, doubled, put in from elsewhere. Whatever comes of it,
//! what came before is there, nothing is written where it may not be, no more is kept than was lent, and a fault says
//! what it is.
use crate::Queues;
use crate::{INLINE_PAYLOAD, RemoteAddress, RemoteMemory, Signal};

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;

use super::random::{Random, for_each_seed};
use super::*;
use crate::tcp::frame::{HEADER, Kind, MAX_PAYLOAD, MAX_WRITE};
use crate::tcp::stingy;

const RUNS: u64 = 4000;
/// Bytes that the peer may write to.
const PART: usize = 10_000;
/// Bytes before and behind, which it may not.
const GUARD: usize = 5_000;
/// Stands for a payload that went elsewhere.
const NOTE: Header = [u32::MAX; 4];
/// Rounds in a row without anything new after which nothing will ever come.
const PATIENCE: usize = 500;
/// What is in all of them before.
const UNTOUCHED: u8 = 0xa5;
/// Cells that the fabric pushes to the peer before, so that it can be told how many were popped.
const PUSHED: u32 = 5;

/// A cell as the peer means it, and where its frame ends in the stream.
struct Meant {
    queue: Queue,
    header: Header,
    payload: Vec<u8>,
    end: usize,
}

/// What a correct peer would send.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    /// Where the frames begin.
    starts: Vec<usize>,
    cells: Vec<Meant>,
}

impl Stream {
    fn add(&mut self, kind: Kind, words: Header, popped: [u32; QUEUES], body: Vec<u8>) {
        self.starts.push(self.bytes.len());
        self.bytes.extend(Frame { kind, len: body.len(), popped, words }.encode());
        self.bytes.extend(&body);
        if let Kind::Cell(queue) = kind {
            self.cells.push(Meant { queue, header: words, payload: body, end: self.bytes.len() });
        }
    }

    fn new(random: &mut Random, given: &RemoteAddress) -> Stream {
        let mut stream = Stream::default();
        let mut popped = [0; QUEUES];
        for number in 0..random.below(30) as u32 {
            popped[0] = PUSHED.min(popped[0] + random.below(2) as u32);
            let body = |len| (0..len).map(|at: usize| (at as u32 ^ number) as u8 & 0x7f).collect::<Vec<u8>>();
            match random.below(8) {
                0..4 => {
                    let len = random.pick(&[0, 1, 40, 41, 1000, 3000, 20_000, MAX_PAYLOAD / 4]);
                    stream.add(Kind::Cell(Queue::Messages), [number; 4], popped, body(len));
                }
                4 => stream.add(Kind::Cell(Queue::Requests), [number; 4], popped, body(random.below(41))),
                5 | 6 => {
                    let len = random.below(PART);
                    let place = given.place + random.below(PART - len) as u64;
                    stream.add(Kind::Write, Frame::target_words(given.space, place), popped, body(len));
                }
                _ => stream.add(Kind::Control, [Signal::Wake as u32, 0, 0, 0], popped, Vec::new()),
            }
        }
        if random.chance(30) {
            stream.add(Kind::Goodbye, [0; 4], popped, Vec::new());
        }
        stream
    }

    /// Spoils it in one place; returns how many bytes from its beginning are as they were.
    fn spoil(&mut self, random: &mut Random) -> usize {
        let bytes = &mut self.bytes;
        if bytes.len() < HEADER {
            return bytes.len();
        }
        let at = random.below(bytes.len());
        let frame = random.pick(&self.starts).min(bytes.len() - HEADER);
        match random.below(8) {
            0 => {
                bytes[at] ^= 1 << random.below(8);
                at
            }
            // A number of a header.
            1 | 2 => {
                let field = frame + 4 * random.below(HEADER / 4);
                let old = u32::from_le_bytes([bytes[field], bytes[field + 1], bytes[field + 2], bytes[field + 3]]);
                let new = random.pick(&[
                    0,
                    1,
                    3,
                    8,
                    old.wrapping_add(1),
                    old.wrapping_sub(1),
                    INLINE_PAYLOAD as u32 + 1,
                    MAX_PAYLOAD as u32,
                    MAX_PAYLOAD as u32 + 1,
                    MAX_WRITE as u32,
                    u32::MAX,
                ]);
                bytes[field..field + 4].copy_from_slice(&new.to_le_bytes());
                field
            }
            3 => {
                bytes.truncate(at);
                at
            }
            4 => {
                let end = at + random.below(200).min(bytes.len() - at);
                bytes.drain(at..end);
                at
            }
            5 => {
                let noise: Vec<u8> = (0..random.below(200)).map(|_| random.next() as u8).collect();
                bytes.splice(at..at, noise);
                at
            }
            // A frame again, once or too often.
            6 => {
                let end =
                    self.starts.iter().copied().find(|&start| start > frame).unwrap_or(bytes.len()).min(bytes.len());
                let again = bytes[frame..end].repeat(random.pick(&[1, 1, 300]).min(1 + (4 << 20) / (end - frame)));
                bytes.splice(end..end, again);
                end
            }
            // A frame in the middle of another.
            _ => {
                let header: Vec<u8> = bytes[frame..frame + HEADER].to_vec();
                bytes.splice(at..at, header);
                at
            }
        }
    }
}

/// What becomes of the stream.
struct Receiver {
    fabric: TcpFabric,
    random: Random,
    found: [Vec<(Header, Vec<u8>)>; QUEUES],
    /// Where payloads are placed, and which one is at present.
    field: WriteSpan<'static>,
    placed: Option<(RemoteAddress, Header)>,
}

impl Receiver {
    /// Takes what is there, or some of it.
    fn take(&mut self, queue: Queue) -> bool {
        let Ok(Some(arrival)) = self.fabric.front(1, queue) else { return false };
        let mut payload = vec![0; arrival.len];
        self.fabric.read(1, queue, &arrival, 0, WriteSpan::from(&mut payload[..]));
        self.fabric.pop(1, queue);
        let (mut header, is_note) = (arrival.header, arrival.header == NOTE);
        if is_note && let Some((address, meant)) = self.placed.take() {
            header = meant;
            payload = contents(self.field)[GUARD..][..address.len as usize].to_vec();
            self.take_field_back(&address);
        }
        self.found[queue as usize].push((header, payload));
        true
    }

    fn place_directly(&mut self) {
        if self.placed.is_none()
            && let Some(coming) = self.fabric.coming(1)
        {
            let address = self.fabric.hand_out(1, self.field.part(GUARD, coming.len));
            self.fabric.place_directly(1, &address, NOTE);
            self.placed = Some((address, coming.header));
        }
    }

    /// Nothing around what was handed out of it was touched.
    fn take_field_back(&mut self, address: &RemoteAddress) {
        self.fabric.withdraw(1, address);
        let field = contents(self.field);
        let (before, behind) = (&field[..GUARD], &field[GUARD + address.len as usize..]);
        assert!([before, behind].concat().iter().all(|&byte| byte == UNTOUCHED));
        ReadSpan::from(&vec![UNTOUCHED; field.len()][..]).copy_to(self.field);
    }
}

fn contents(span: WriteSpan) -> Vec<u8> {
    let mut copy = vec![0; span.len()];
    span.as_read().copy_to(WriteSpan::from(&mut copy[..]));
    copy
}

/// Lets a fabric take in a spoilt stream; what it says of the peer in the end.
fn run(seed: u64, area: WriteSpan<'static>, field: WriteSpan<'static>) -> Option<&'static str> {
    let mut random = Random::of_seed(seed);
    [area, field].iter().for_each(|span| ReadSpan::from(&vec![UNTOUCHED; span.len()][..]).copy_to(*span));
    let (mut fabric, _) = pair();
    let given = fabric.hand_out(1, area.part(GUARD, PART));
    let mut stream = Stream::new(&mut random, &given);
    let mut intact = stream.bytes.len();
    for _ in 0..random.below(3) {
        intact = intact.min(stream.spoil(&mut random));
    }
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    [&ours, &theirs].iter().for_each(|end| end.set_nonblocking(true).unwrap());
    fabric.adopt(1, ours.into());
    (0..PUSHED).for_each(|number| push(&mut fabric, 1, number));
    let _stinginess = random.chance(70).then(|| stingy::begin(Random::of_seed(!seed)));
    let mut receiver = Receiver { fabric, random, found: Default::default(), field, placed: None };
    let (mut rest, mut quiet, mut withdrawn) = (&stream.bytes[..], 0, None);
    while receiver.fabric.links[1].socket().is_some() {
        assert!(quiet < PATIENCE, "the end of the stream is not noticed");
        let piece = receiver.random.pick(&[7, 300, 5000, 1 << 20]).min(rest.len());
        let count = theirs.write(&rest[..piece]).unwrap_or(0);
        rest = &rest[count..];
        // The credit that it gets.
        let _ = theirs.read(&mut [0; 4096]);
        if rest.is_empty() {
            let _ = theirs.shutdown(std::net::Shutdown::Write);
        }
        if receiver.random.chance(10) {
            receiver.fabric.poll(Duration::from_nanos(1))
        } else {
            receiver.fabric.look_at(1)
        }
        let inboxes = &receiver.fabric.links[1].inboxes;
        assert!(inboxes.iter().all(|inbox| inbox.kept() <= credit::MOST_KEPT), "it keeps more than was lent");
        if receiver.random.chance(30) {
            receiver.place_directly();
        }
        let some = receiver.random.below(20);
        let taken =
            [Queue::Messages, Queue::Requests].map(|queue| (0..some).take_while(|_| receiver.take(queue)).count());
        quiet = if count + taken[0] + taken[1] > 0 { 0 } else { quiet + 1 };
        if withdrawn.is_none() && receiver.random.chance(1) {
            receiver.fabric.withdraw(1, &given);
            withdrawn = Some(contents(area));
        }
    }
    [Queue::Messages, Queue::Requests].iter().for_each(|&queue| while receiver.take(queue) {});
    if let Some((address, _)) = receiver.placed {
        receiver.take_field_back(&address);
    }
    let now = contents(area);
    assert!(withdrawn.as_ref().is_none_or(|then| *then == now), "written after it was withdrawn");
    assert!([&now[..GUARD], &now[GUARD + PART..]].concat().iter().all(|&byte| byte == UNTOUCHED), "written beside");
    let link = &receiver.fabric.links[1];
    for queue in [Queue::Messages, Queue::Requests] {
        let meant: Vec<&Meant> = stream.cells.iter().filter(|cell| cell.queue == queue && cell.end <= intact).collect();
        let found = &receiver.found[queue as usize];
        assert!(found.len() >= meant.len() || withdrawn.is_some(), "{} of {}", found.len(), meant.len());
        for ((header, payload), meant) in found.iter().zip(meant) {
            assert!(*header == meant.header && *payload == meant.payload, "{header:?} for {:?}", meant.header);
        }
    }
    link.fault()
}

#[test]
fn a_spoilt_stream_does_no_harm_and_is_found_out() {
    let place = |len| WriteSpan::from(&mut *Box::leak(vec![0_u8; len].into_boxed_slice()));
    let (area, field) = (place(PART + 2 * GUARD), place(MAX_PAYLOAD + 2 * GUARD));
    let mut faults = BTreeMap::new();
    let are_enough = for_each_seed(RUNS, |seed| *faults.entry(run(seed, area, field)).or_insert(0) += 1);
    println!("{faults:?}");
    let all = [
        "a frame of no known kind",
        "a frame of an impossible length",
        "a frame with an impossible signal",
        "popped more cells than it was sent",
        "sent more cells than it has credit for",
        "wrote to memory that it had not been given",
        "went on after its goodbye",
        "its connection was closed, and it had not finished: it has died or was killed",
    ];
    assert!(!are_enough || all.iter().all(|&fault| faults.contains_key(&Some(fault))), "{faults:?}");
    assert!(!are_enough || faults.contains_key(&None), "never a goodbye");
    assert_eq!(faults.keys().flatten().find(|fault| !all.contains(fault)), None);
}

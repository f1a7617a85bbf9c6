//! Frames: what travels on a connection between two peers that have proved who they are. Bytes go in, frames come out;
//! nothing here knows a socket.
//!
//! Every frame starts with a header of [`HEADER`] bytes, all numbers little-endian: kind (1 byte), three zero bytes,
//! length of the body, how many messages and how many requests of the addressee the sender has popped so far (modulo
//! 2^32), four words. The body follows.
//!
//! Invariant: a header is complete and within its kind's limits before anybody hears of it. So the length of a body
//! that is announced is one that the receiver has agreed to.
#![forbid(unsafe_code)]

use crate::control::Presence;
use crate::layout::QUEUES;
use crate::{Header, INLINE_PAYLOAD, Queue, Signal};

/// Bytes of a header.
pub(crate) const HEADER: usize = 32;
/// Longest payload of a message's cell. Long enough that its system calls and its header are small beside its copies.
pub(crate) const MAX_PAYLOAD: usize = 128 << 10;
/// Longest body of a remote write; longer ones take several frames.
pub(crate) const MAX_WRITE: usize = 1 << 30;
/// All signals there are.
pub(crate) const SIGNALS: u32 = Signal::Wake as u32 | Signal::Cancel as u32 | Signal::Abort as u32;
/// Beside the signals in a control frame: its sender is about to end with the others, ...
const LEAVES: u32 = 1 << 8;
/// ... or has left without them.
const HAS_LEFT: u32 = 1 << 9;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A cell for a queue; the words are its header, the body is its payload.
    Cell(Queue),
    /// Bytes for memory that the addressee has handed out.
    Write,
    /// Nothing but the counters, and in the first word signals and [how it stands](word_of) with its sender.
    Control,
    /// The last frame of a peer that ends in good order.
    Goodbye,
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Kind::Cell(Queue::Messages) => 1,
            Kind::Cell(Queue::Requests) => 2,
            Kind::Write => 3,
            Kind::Control => 4,
            Kind::Goodbye => 5,
        }
    }

    fn from_byte(byte: u8) -> Option<Kind> {
        Some(match byte {
            1 => Kind::Cell(Queue::Messages),
            2 => Kind::Cell(Queue::Requests),
            3 => Kind::Write,
            4 => Kind::Control,
            5 => Kind::Goodbye,
            _ => return None,
        })
    }

    fn longest_body(self) -> usize {
        match self {
            Kind::Cell(Queue::Messages) => MAX_PAYLOAD,
            Kind::Cell(Queue::Requests) => INLINE_PAYLOAD,
            Kind::Write => MAX_WRITE,
            Kind::Control | Kind::Goodbye => 0,
        }
    }
}

/// What the first word of a control frame says of a sender with which it stands like that.
pub(crate) fn word_of(presence: Presence) -> u32 {
    match presence {
        Presence::Here => 0,
        Presence::Leaving | Presence::Finished => LEAVES,
        Presence::Left | Presence::Died => HAS_LEFT,
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    /// Bytes of the body, within the limits of the kind.
    pub(crate) len: usize,
    /// How many cells of each queue the sender has popped.
    pub(crate) popped: [u32; QUEUES],
    /// The header of a cell; space and place of a write; what a control frame says.
    pub(crate) words: Header,
}

impl Frame {
    /// The words of a write to `place` in `space`.
    pub(crate) fn target_words(space: u64, place: u64) -> Header {
        [space as u32, (space >> 32) as u32, place as u32, (place >> 32) as u32]
    }

    /// Space and place of a write.
    pub(crate) fn target(&self) -> (u64, u64) {
        let [space_low, space_high, place_low, place_high] = self.words.map(u64::from);
        (space_low | space_high << 32, place_low | place_high << 32)
    }

    /// What a control frame says of how it stands with its sender; `None`: nothing new.
    pub(crate) fn presence(&self) -> Option<Presence> {
        match self.words[0] {
            word if word & HAS_LEFT != 0 => Some(Presence::Left),
            word if word & LEAVES != 0 => Some(Presence::Leaving),
            _ => None,
        }
    }

    /// The bytes of the header.
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        debug_assert!(self.len <= self.kind.longest_body());
        let mut bytes = [0; HEADER];
        bytes[0] = self.kind.byte();
        let [word0, word1, word2, word3] = self.words;
        let numbers = [self.len as u32, self.popped[0], self.popped[1], word0, word1, word2, word3];
        for (place, number) in bytes[4..].chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// What the bytes say, if a correct peer can have written them.
    fn decode(bytes: &[u8; HEADER]) -> Result<Frame, Malformed> {
        let number = |index: usize| {
            let start = 4 + index * 4;
            u32::from_le_bytes([bytes[start], bytes[start + 1], bytes[start + 2], bytes[start + 3]])
        };
        let kind = Kind::from_byte(bytes[0]).ok_or(Malformed("a frame of no known kind"))?;
        let len = number(0) as usize;
        if bytes[1..4] != [0; 3] || len > kind.longest_body() {
            return Err(Malformed("a frame of an impossible length"));
        }
        let words = [number(3), number(4), number(5), number(6)];
        let allowed = match kind {
            Kind::Control => SIGNALS | LEAVES | HAS_LEFT,
            Kind::Goodbye => 0,
            Kind::Cell(_) | Kind::Write => return Ok(Frame { kind, len, popped: [number(1), number(2)], words }),
        };
        if words[0] & !allowed != 0 || words[1..] != [0; 3] {
            return Err(Malformed("a frame with an impossible signal"));
        }
        Ok(Frame { kind, len, popped: [number(1), number(2)], words })
    }
}

/// Bytes that no correct peer sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// What came out of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    /// A header; as many bytes of body as it says follow.
    Frame(Frame),
    /// The next bytes of the present body, not empty.
    Body(&'a [u8]),
}

/// Takes a stream of bytes apart, however it is cut.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    header: [u8; HEADER],
    /// How many bytes of the header have arrived.
    filled: usize,
    /// How many bytes of the present body are still to come.
    body: usize,
}

impl Decoder {
    /// How many bytes of the present body are still to come.
    pub(crate) fn body(&self) -> usize {
        self.body
    }

    /// The next `len` bytes of the body did not pass through here: they went from the socket to where they belong.
    pub(crate) fn skip_body(&mut self, len: usize) {
        debug_assert!(len <= self.body);
        self.body -= len.min(self.body);
    }

    /// The next event in `bytes`, which are shortened by what it took; `None` when they are used up.
    pub(crate) fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<Event<'a>>, Malformed> {
        if bytes.is_empty() {
            return Ok(None);
        }
        if self.body > 0 {
            let (body, rest) = bytes.split_at(self.body.min(bytes.len()));
            self.body -= body.len();
            *bytes = rest;
            return Ok(Some(Event::Body(body)));
        }
        let (header, rest) = bytes.split_at((HEADER - self.filled).min(bytes.len()));
        self.header[self.filled..][..header.len()].copy_from_slice(header);
        self.filled += header.len();
        *bytes = rest;
        if self.filled < HEADER {
            return Ok(None);
        }
        let frame = Frame::decode(&self.header)?;
        self.filled = 0;
        self.body = frame.len;
        Ok(Some(Event::Frame(frame)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn frames() -> impl Strategy<Value = Frame> {
        let word = any::<u32>;
        let words = (word(), word(), word(), word()).prop_map(<[u32; 4]>::from);
        (0..5_u8, 0..3000_usize, [word(), word()], words).prop_map(|(kind, len, popped, words)| {
            let kind = Kind::from_byte(kind + 1).expect("five kinds");
            let words = match kind {
                Kind::Control => [words[0] & SIGNALS, 0, 0, 0],
                Kind::Goodbye => [0; 4],
                Kind::Cell(_) | Kind::Write => words,
            };
            Frame { kind, len: len.min(kind.longest_body()), popped, words }
        })
    }

    fn body_of(index: usize, len: usize) -> Vec<u8> {
        (0..len).map(|byte| (byte * 7 + index) as u8).collect()
    }

    /// Decodes `stream`, cut as `cuts` says, with every third body skipped where that is possible.
    fn decode(stream: &[u8], cuts: &[usize], skips: bool) -> Vec<(Frame, Vec<u8>)> {
        let mut decoder = Decoder::default();
        let mut decoded: Vec<(Frame, Vec<u8>)> = Vec::new();
        let mut rest = stream;
        let mut cuts = cuts.iter().cycle();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at((*cuts.next().expect("a cycle")).min(rest.len()));
            rest = after;
            let mut piece = piece;
            while let Some(event) = decoder.next(&mut piece).expect("a correct stream") {
                match event {
                    Event::Frame(frame) => decoded.push((frame, Vec::new())),
                    Event::Body(bytes) => decoded.last_mut().expect("a frame").1.extend(bytes),
                }
            }
            assert!(piece.is_empty());
            if skips && decoder.body() > 0 && decoded.len().is_multiple_of(3) {
                let (direct, after) = rest.split_at(decoder.body().min(rest.len()));
                decoder.skip_body(direct.len());
                decoded.last_mut().expect("a frame").1.extend(direct);
                rest = after;
            }
        }
        decoded
    }

    proptest! {
        #[test]
        fn frames_survive_any_cut(
            frames in vec(frames(), 1..12), cuts in vec(1..200_usize, 1..20), skips: bool
        ) {
            let mut stream = Vec::new();
            let mut expected = Vec::new();
            for (index, frame) in frames.into_iter().enumerate() {
                let body = body_of(index, frame.len);
                stream.extend(frame.encode());
                stream.extend(&body);
                expected.push((frame, body));
            }
            prop_assert_eq!(decode(&stream, &cuts, skips), expected);
        }

        #[test]
        fn random_bytes_are_harmless(pieces in vec(vec(any::<u8>(), 0..100), 0..40), kind in 1..6_u8) {
            let mut decoder = Decoder::default();
            // Random bytes rarely get past the kind: help the first header on.
            let mut start = vec![kind, 0, 0, 0, 17, 0, 0, 0];
            start.extend(pieces.concat());
            let mut given = 0;
            let mut taken = 0;
            'stream: for piece in start.chunks(33) {
                given += piece.len();
                let mut piece = piece;
                loop {
                    match decoder.next(&mut piece) {
                        Err(Malformed(_)) => break 'stream,
                        Ok(None) => break,
                        Ok(Some(Event::Frame(frame))) => {
                            prop_assert!(frame.len <= frame.kind.longest_body());
                            taken += HEADER;
                        }
                        Ok(Some(Event::Body(bytes))) => {
                            prop_assert!(!bytes.is_empty());
                            taken += bytes.len();
                        }
                    }
                }
                prop_assert!(piece.is_empty() && taken <= given);
            }
        }

        #[test]
        fn what_decodes_was_encoded_so(bytes: [u8; HEADER]) {
            if let Ok(frame) = Frame::decode(&bytes) {
                prop_assert_eq!(frame.encode(), bytes);
            }
        }
    }

    #[test]
    fn lengths_beyond_the_limit_are_refused() {
        for kind in (1..=5).map(|byte| Kind::from_byte(byte).expect("five kinds")) {
            let mut header = Frame { kind, len: kind.longest_body(), popped: [0; 2], words: [0; 4] }.encode();
            assert!(Frame::decode(&header).is_ok());
            header[4..8].copy_from_slice(&(kind.longest_body() as u32 + 1).to_le_bytes());
            assert!(Frame::decode(&header).is_err(), "{kind:?}");
        }
        let control = Frame { kind: Kind::Control, len: 0, popped: [0; 2], words: [8, 0, 0, 0] };
        assert!(Frame::decode(&control.encode()).is_err());
    }

    #[test]
    fn every_bit_that_means_nothing_is_zero() {
        for kind in (1..=5).map(|byte| Kind::from_byte(byte).expect("five kinds")) {
            let header = Frame { kind, len: 0, popped: [3, 4], words: [0; 4] }.encode();
            let meant = match kind {
                Kind::Cell(_) | Kind::Write => 16,
                Kind::Control => 4,
                Kind::Goodbye => 0,
            };
            // Behind the kind, and behind the words that it has.
            for byte in (1..4).chain(HEADER - 16 + meant..HEADER) {
                for bit in 0..8 {
                    let mut header = header;
                    header[byte] ^= 1 << bit;
                    assert!(Frame::decode(&header).is_err(), "{kind:?}, bit {bit} of byte {byte}");
                }
            }
        }
    }

    #[test]
    fn targets_travel_whole() {
        let words = Frame::target_words(0x0123_4567_89ab_cdef, u64::MAX - 3);
        let frame = Frame { kind: Kind::Write, len: 0, popped: [0; 2], words };
        assert_eq!(frame.target(), (0x0123_4567_89ab_cdef, u64::MAX - 3));
    }
}

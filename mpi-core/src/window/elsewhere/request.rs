//! What a rank asks of a target on another node, as bytes of a message, and what it hears.
//!
//! A message has one request or several. A request is a head, the description of a datatype if it is about elements,
//! and packed elements, filled up to whole words. An answer is a word that says how it went, and packed elements.
//! Nothing of either is believed before it has been looked at.

use bytemuck::{Pod, Zeroable};

use crate::datatype::{Basic, Datatype};
use crate::reduction::Predefined;
use crate::window::LockKind;
use crate::{Error, ErrorClass, Result};

/// Elements of the target's memory.
#[derive(Clone, Debug)]
pub(in crate::window) struct There {
    /// Bytes from the beginning of its memory; where memory comes and goes, the address.
    pub(in crate::window) offset: i64,
    pub(in crate::window) count: u64,
    pub(in crate::window) datatype: Datatype,
}

impl There {
    /// The same elements in fewer words, if their bytes lie side by side.
    pub(in crate::window) fn shortened(self) -> There {
        let Some((offset, len)) = self.datatype.run(self.count) else { return self };
        let basic = self.datatype.element().filter(|basic| basic.size() > 0).unwrap_or(Basic::Byte);
        match self.offset.checked_add(offset) {
            Some(offset) if len > 0 && self.datatype.named().is_none() => {
                There { offset, count: len / basic.size(), datatype: Datatype::basic(basic) }
            }
            _ => self,
        }
    }
}

/// What the target is to do. Elements that go there follow the request.
#[derive(Clone, Debug)]
pub(super) enum Request {
    Put(There),
    /// The elements come in a message of their own, the next of [`DATA`](super::DATA).
    PutApart(There),
    /// The answer has the elements.
    Get(There),
    Accumulate(There, Predefined),
    /// The answer has what was there before.
    Fetch(There, Predefined),
    /// The new value follows, and what it is compared with.
    Swap(There),
    /// Everything that came before has been done when it is answered.
    Flush,
    /// Answered when it is this rank's turn.
    Lock(LockKind),
    Unlock,
    /// So often has this rank posted for the addressee.
    Posted(u64),
    /// So often has it completed an access.
    Completed(u64),
    /// What is attached: the answer says how many regions there are, and has as many of them as have room.
    List(u64),
}

const PUT: u32 = 1;
const GET: u32 = 2;
const ACCUMULATE: u32 = 3;
const FETCH: u32 = 4;
const SWAP: u32 = 5;
const FLUSH: u32 = 6;
const LOCK: u32 = 7;
const UNLOCK: u32 = 8;
const POSTED: u32 = 9;
const COMPLETED: u32 = 10;
const LIST: u32 = 11;
const PUT_APART: u32 = 12;

#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct Head {
    kind: u32,
    /// The tag of the answer, or 0.
    answer: u32,
    offset: i64,
    count: u64,
    /// An operation, a kind of lock, or a number.
    detail: u64,
    /// How many words describe the datatype.
    described: u64,
    /// How many bytes follow these.
    body: u64,
}

const HEAD: usize = size_of::<Head>();

/// A request of a message.
pub(super) struct Read<'a> {
    pub(super) request: Request,
    /// The tag of its answer, or 0.
    pub(super) answer: u32,
    /// The elements that follow it.
    pub(super) body: &'a [u8],
}

/// What so many bytes take, so that what follows them begins with a word.
fn filled_up(bytes: usize) -> usize {
    bytes.saturating_add(size_of::<u64>() - 1) & !(size_of::<u64>() - 1)
}

impl Request {
    /// Appends it to a message, with room for `body` bytes that follow it; where these begin.
    ///
    /// # Errors
    /// The datatype can't be described. Nothing has been appended then.
    pub(super) fn append_to(&self, message: &mut Vec<u8>, answer: u32, body: usize) -> Result<usize> {
        let (kind, there, detail) = self.parts();
        let mut words = Vec::new();
        let mut head = Head { kind, answer, detail, body: body as u64, ..Head::default() };
        if let Some(There { offset, count, datatype }) = there {
            datatype.describe(&mut words)?;
            (head.offset, head.count, head.described) = (*offset, *count, words.len() as u64);
        }
        let start = message.len() + HEAD + size_of_val(&words[..]);
        let no_memory = |_| Error::new(ErrorClass::NoMemory, format!("there is no memory for {body} bytes"));
        message.try_reserve(HEAD + size_of_val(&words[..]) + filled_up(body)).map_err(no_memory)?;
        message.extend_from_slice(bytemuck::bytes_of(&head));
        message.extend_from_slice(bytemuck::cast_slice(&words));
        message.resize(start + filled_up(body), 0);
        Ok(start)
    }

    fn parts(&self) -> (u32, Option<&There>, u64) {
        match self {
            Request::Put(there) => (PUT, Some(there), 0),
            Request::PutApart(there) => (PUT_APART, Some(there), 0),
            Request::Get(there) => (GET, Some(there), 0),
            Request::Accumulate(there, operation) => (ACCUMULATE, Some(there), *operation as u64),
            Request::Fetch(there, operation) => (FETCH, Some(there), *operation as u64),
            Request::Swap(there) => (SWAP, Some(there), 0),
            Request::Flush => (FLUSH, None, 0),
            Request::Lock(kind) => (LOCK, None, u64::from(*kind == LockKind::Exclusive)),
            Request::Unlock => (UNLOCK, None, 0),
            Request::Posted(count) => (POSTED, None, *count),
            Request::Completed(count) => (COMPLETED, None, *count),
            Request::List(room) => (LIST, None, *room),
        }
    }

    /// The first request of a message, and what comes behind it; `None` if it is none.
    pub(super) fn of(message: &[u8]) -> Option<(Read<'_>, &[u8])> {
        let (head, rest) = message.split_at_checked(HEAD)?;
        let head: Head = bytemuck::pod_read_unaligned(head);
        let described = usize::try_from(head.described).ok()?.checked_mul(size_of::<i64>())?;
        let (described, rest) = rest.split_at_checked(described)?;
        let bytes = usize::try_from(head.body).ok()?;
        let (body, rest) = (rest.get(..bytes)?, rest.get(filled_up(bytes)..)?);
        let words: Vec<i64> = described.chunks_exact(size_of::<i64>()).map(bytemuck::pod_read_unaligned).collect();
        let there = || {
            let mut words = words.as_slice();
            let datatype = Datatype::described(&mut words)?;
            words.is_empty().then_some(There { offset: head.offset, count: head.count, datatype })
        };
        let operation = || Predefined::ALL.get(usize::try_from(head.detail).ok()?).copied();
        let request = match head.kind {
            PUT => Request::Put(there()?),
            PUT_APART => Request::PutApart(there()?),
            GET => Request::Get(there()?),
            ACCUMULATE => Request::Accumulate(there()?, operation()?),
            FETCH => Request::Fetch(there()?, operation()?),
            SWAP => Request::Swap(there()?),
            FLUSH => Request::Flush,
            LOCK => Request::Lock(if head.detail == 0 { LockKind::Shared } else { LockKind::Exclusive }),
            UNLOCK => Request::Unlock,
            POSTED => Request::Posted(head.detail),
            COMPLETED => Request::Completed(head.detail),
            LIST => Request::List(head.detail),
            _ => return None,
        };
        Some((Read { request, answer: head.answer, body }, rest))
    }

    /// Whether the target answers it.
    pub(super) fn is_answered(&self) -> bool {
        match self {
            Request::Put(_)
            | Request::PutApart(_)
            | Request::Accumulate(..)
            | Request::Posted(_)
            | Request::Completed(_) => false,
            Request::Get(_)
            | Request::Fetch(..)
            | Request::Swap(_)
            | Request::Flush
            | Request::Lock(_)
            | Request::Unlock
            | Request::List(_) => true,
        }
    }
}

/// How a request went, in the first word of its answer: the worst of it and of those before that have no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u64)]
pub(super) enum Outcome {
    #[default]
    Done = 0,
    /// Not within the target's memory.
    OutOfRange = 1,
    NoMemory = 2,
    /// It was no request.
    Refused = 3,
}

impl Outcome {
    /// Bytes in front of what an answer has.
    pub(super) const BYTES: usize = size_of::<u64>();

    /// What an answer begins with; `None` if that is nothing.
    pub(super) fn of(answer: &[u8]) -> Option<Outcome> {
        let word: u64 = bytemuck::pod_read_unaligned(answer.get(..Outcome::BYTES)?);
        [Outcome::Done, Outcome::OutOfRange, Outcome::NoMemory, Outcome::Refused]
            .get(usize::try_from(word).ok()?)
            .copied()
    }

    pub(super) fn bytes(self) -> [u8; Outcome::BYTES] {
        (self as u64).to_ne_bytes()
    }

    /// Which of them an error is.
    pub(super) fn of_error(class: ErrorClass) -> Outcome {
        match class {
            ErrorClass::RmaRange => Outcome::OutOfRange,
            ErrorClass::NoMemory => Outcome::NoMemory,
            _ => Outcome::Refused,
        }
    }

    /// The same for the origin.
    pub(super) fn error(self) -> Option<(ErrorClass, &'static str)> {
        match self {
            Outcome::Done => None,
            Outcome::OutOfRange => {
                Some((ErrorClass::RmaRange, "an operation was not within its memory when it came there"))
            }
            Outcome::NoMemory => Some((ErrorClass::NoMemory, "it has no memory left for an operation")),
            Outcome::Refused => Some((ErrorClass::Other, "it could not do an operation")),
        }
    }
}

/// Reads the requests of a message, and writes and reads again what they ask for. For fuzzers.
#[cfg(any(test, fuzzing))]
pub(crate) fn read_request(message: &[u8]) {
    let mut left = message;
    while let Some((Read { request, answer, body }, rest)) = Request::of(left) {
        if let (_, Some(There { count, datatype, .. }), _) = request.parts() {
            let _ = (datatype.reach(*count), datatype.packed_size(*count));
        }
        let mut again = Vec::new();
        request.append_to(&mut again, answer, 0).expect("what was described can be described");
        let (read, behind) = Request::of(&again).expect("it is a request");
        assert!(read.answer == answer && read.body.is_empty() && behind.is_empty() && body.len() < left.len());
        let mut same = Vec::new();
        read.request.append_to(&mut same, answer, 0).expect("as before");
        assert_eq!(same, again);
        left = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there() -> There {
        let datatype = Datatype::vector(3, 1, 2, &Datatype::basic(Basic::Int)).unwrap();
        There { offset: -8, count: 2, datatype }
    }

    fn all() -> Vec<Request> {
        vec![
            Request::Put(there()),
            Request::PutApart(there()),
            Request::Get(there()),
            Request::Accumulate(there(), Predefined::Sum),
            Request::Fetch(there(), Predefined::NoOperation),
            Request::Swap(there()),
            Request::Flush,
            Request::Lock(LockKind::Shared),
            Request::Lock(LockKind::Exclusive),
            Request::Unlock,
            Request::Posted(7),
            Request::Completed(8),
            Request::List(64),
        ]
    }

    fn message_of(request: &Request, answer: u32, body: &[u8]) -> Vec<u8> {
        let mut message = Vec::new();
        let start = request.append_to(&mut message, answer, body.len()).unwrap();
        message[start..start + body.len()].copy_from_slice(body);
        message
    }

    #[test]
    fn requests_are_read_as_they_were_written() {
        for request in all() {
            let message = message_of(&request, 5, b"abc");
            let (Read { request: read, answer, body }, rest) = Request::of(&message).unwrap();
            assert_eq!((answer, body, rest), (5, &b"abc"[..], &b""[..]));
            assert_eq!(message_of(&read, 5, b"abc"), message, "{request:?} and {read:?}");
        }
    }

    #[test]
    fn several_requests_of_a_message_follow_each_other() {
        let mut message = Vec::new();
        for (number, request) in all().iter().enumerate() {
            let start = request.append_to(&mut message, number as u32, number).unwrap();
            message[start..start + number].fill(number as u8);
        }
        let mut rest = message.as_slice();
        for (number, request) in all().iter().enumerate() {
            let (read, behind) = Request::of(rest).unwrap();
            assert_eq!((read.answer, read.body), (number as u32, vec![number as u8; number].as_slice()));
            assert_eq!(message_of(&read.request, 0, b""), message_of(request, 0, b""));
            rest = behind;
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn what_is_cut_short_or_changed_is_no_request_and_harms_nobody() {
        for request in all() {
            let message = message_of(&request, 1, b"");
            for len in 0..message.len() {
                assert!(Request::of(&message[..len]).is_none(), "{len} bytes of {request:?}");
            }
            for place in 0..message.len() {
                for byte in [0, 1, 0x7f, 0xff] {
                    let mut wrong = message.clone();
                    wrong[place] = byte;
                    let _ = Request::of(&wrong);
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_a_request_or_none() {
        let mut random = fastrand::Rng::with_seed(7);
        for request in all() {
            let message = message_of(&request, 3, &[0; 8]);
            for _ in 0..300 {
                let mut wrong = message.clone();
                for _ in 0..random.usize(1..4) {
                    let place = random.usize(..wrong.len());
                    wrong[place] = random.u8(..);
                }
                read_request(&wrong);
            }
        }
    }

    #[test]
    fn elements_side_by_side_need_no_description_of_how_they_were_made() {
        let rows = Datatype::contiguous(4, &Datatype::basic(Basic::Double)).unwrap();
        let There { offset, count, datatype } = There { offset: 16, count: 3, datatype: rows }.shortened();
        assert_eq!((offset, count, datatype.named()), (16, 12, Some(Basic::Double)));
        assert!(there().shortened().datatype.named().is_none());
    }

    #[test]
    fn answers_say_how_it_went() {
        for outcome in [Outcome::Done, Outcome::OutOfRange, Outcome::NoMemory, Outcome::Refused] {
            assert_eq!(Outcome::of(&outcome.bytes()), Some(outcome));
            let class = outcome.error().map(|error| error.0);
            assert_eq!(class.map(Outcome::of_error).unwrap_or_default(), outcome);
        }
        assert_eq!(Outcome::of(&4_u64.to_ne_bytes()), None);
        assert_eq!(Outcome::of(&[0; 7]), None);
        assert!(Outcome::Done < Outcome::Refused);
    }
}

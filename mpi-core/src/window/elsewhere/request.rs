//! What a rank asks of a target on another node, as bytes of a message, and what it hears.
//!
//! A request is a head, the description of a datatype if it is about elements, and packed elements. An answer is a word
//! that says how it went, and packed elements. Nothing of either is believed before it has been looked at.

use bytemuck::{Pod, Zeroable};

use crate::datatype::{Basic, Datatype};
use crate::reduction::Predefined;
use crate::window::LockKind;
use crate::{ErrorClass, Result};

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
}

const HEAD: usize = size_of::<Head>();

impl Request {
    /// The message for it, with room for `body` bytes that follow.
    ///
    /// # Errors
    /// The datatype can't be described.
    pub(super) fn message(&self, answer: u32, body: usize) -> Result<Vec<u8>> {
        let (kind, there, detail) = self.parts();
        let mut words = Vec::new();
        let mut head = Head { kind, answer, detail, ..Head::default() };
        if let Some(There { offset, count, datatype }) = there {
            datatype.describe(&mut words)?;
            (head.offset, head.count, head.described) = (*offset, *count, words.len() as u64);
        }
        let mut message = Vec::with_capacity(HEAD + size_of_val(&words[..]) + body);
        message.extend_from_slice(bytemuck::bytes_of(&head));
        message.extend_from_slice(bytemuck::cast_slice(&words));
        message.resize(message.len() + body, 0);
        Ok(message)
    }

    fn parts(&self) -> (u32, Option<&There>, u64) {
        match self {
            Request::Put(there) => (PUT, Some(there), 0),
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

    /// The request of a message, the tag of its answer, and what follows; `None` if it is none.
    pub(super) fn of(message: &[u8]) -> Option<(Request, u32, &[u8])> {
        let (head, rest) = message.split_at_checked(HEAD)?;
        let head: Head = bytemuck::pod_read_unaligned(head);
        let described = usize::try_from(head.described).ok()?.checked_mul(size_of::<i64>())?;
        let (described, body) = rest.split_at_checked(described)?;
        let words: Vec<i64> = described.chunks_exact(size_of::<i64>()).map(bytemuck::pod_read_unaligned).collect();
        let there = || {
            let mut words = words.as_slice();
            let datatype = Datatype::described(&mut words)?;
            words.is_empty().then_some(There { offset: head.offset, count: head.count, datatype })
        };
        let operation = || Predefined::ALL.get(usize::try_from(head.detail).ok()?).copied();
        let request = match head.kind {
            PUT => Request::Put(there()?),
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
        Some((request, head.answer, body))
    }

    /// Whether the target answers it.
    pub(super) fn is_answered(&self) -> bool {
        match self {
            Request::Put(_) | Request::Accumulate(..) | Request::Posted(_) | Request::Completed(_) => false,
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

/// Reads a message, and writes and reads again what it asks for. For fuzzers.
#[cfg(any(test, fuzzing))]
pub(crate) fn read_request(message: &[u8]) {
    let Some((request, answer, body)) = Request::of(message) else { return };
    if let (_, Some(There { count, datatype, .. }), _) = request.parts() {
        let _ = (datatype.reach(*count), datatype.packed_size(*count));
    }
    let again = request.message(answer, 0).expect("what was described can be described");
    let (read, same, rest) = Request::of(&again).expect("it is a request");
    assert!(same == answer && rest.is_empty() && body.len() <= message.len());
    assert_eq!(read.message(answer, 0).expect("as before"), again);
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

    #[test]
    fn requests_are_read_as_they_were_written() {
        for request in all() {
            let mut message = request.message(5, 3).unwrap();
            let len = message.len();
            message[len - 3..].copy_from_slice(b"abc");
            let (read, answer, body) = Request::of(&message).unwrap();
            assert_eq!((answer, body), (5, &b"abc"[..]));
            assert_eq!(read.message(5, 3).unwrap()[..len - 3], message[..len - 3], "{request:?} and {read:?}");
        }
    }

    #[test]
    fn what_is_cut_short_or_changed_is_no_request_and_harms_nobody() {
        for request in all() {
            let message = request.message(1, 0).unwrap();
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
            let message = request.message(3, 8).unwrap();
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

//! How a partitioned receive learns from its send how the partitions come.
//!
//! An opening goes in the context in which some members of a communicator make others, with the program's tag and the
//! uppermost bit, which no tag of the program has; so openings match in the order in which the requests were made, and
//! nothing else matches them. The partitions come in a context that their sender has given out for messages to this
//! rank alone, each with a tag of its own: each request takes as many tags as it has partitions. Messages of one tag
//! stay in order, so a request that is started again uses the same tags again.

use std::cell::RefCell;
use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};

use crate::Communicator;
use crate::communicator::{SOME_MEMBERS, usable};
use crate::engine::Failure;
use crate::process::Process;

/// The program's tags don't have this bit.
const OPENING: u32 = 1 << 31;
/// The tags of a context that partitions have.
const TAGS: u32 = 1 << 31;

/// In which context and with which tags partitions go, the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Stream {
    pub(super) context: u32,
    pub(super) first_tag: u32,
}

/// What the send's side says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Opening {
    pub(super) stream: Stream,
    pub(super) partitions: u64,
    /// Of each partition, packed.
    pub(super) bytes: u64,
}

impl Opening {
    /// The context and tag of openings between requests with that tag.
    pub(super) fn envelope(communicator: &Communicator, tag: i32) -> (u32, u32) {
        (communicator.context() + SOME_MEMBERS, tag as u32 | OPENING)
    }

    /// What a peer has sent, if it makes sense.
    pub(super) fn read(message: &[u8]) -> Option<Self> {
        let opening: Opening = bytemuck::try_pod_read_unaligned(message).ok()?;
        let last_tag = u64::from(opening.stream.first_tag).checked_add(opening.partitions)?;
        opening.partitions.checked_mul(opening.bytes)?;
        (last_tag <= u64::from(TAGS)).then_some(opening)
    }
}

/// What is left of the contexts that this rank has given out for its partitioned sends, by the rank that they go to.
#[derive(Default)]
pub(crate) struct Streams(RefCell<HashMap<u32, Stream>>);

impl Streams {
    /// Tags for so many partitions that go to that peer.
    ///
    /// # Errors
    /// There is no context left.
    pub(super) fn take(&self, process: &Process, peer: u32, partitions: u32) -> Result<Stream, Failure> {
        let mut streams = self.0.borrow_mut();
        let rest = streams.get(&peer).copied().filter(|stream| partitions <= TAGS - stream.first_tag);
        let taken = match rest {
            Some(stream) => stream,
            None => Stream { context: usable(process.give_context())?, first_tag: 0 },
        };
        streams.insert(peer, Stream { first_tag: taken.first_tag + partitions, ..taken });
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_that_makes_no_sense_is_none() {
        let opening = Opening { stream: Stream { context: 12, first_tag: 5 }, partitions: 8, bytes: 1 << 20 };
        assert_eq!(Opening::read(bytemuck::bytes_of(&opening)), Some(opening));
        assert_eq!(Opening::read(&bytemuck::bytes_of(&opening)[1..]), None);
        for wrong in [
            Opening { partitions: u64::from(TAGS), ..opening },
            Opening { partitions: u64::MAX, ..opening },
            Opening { bytes: u64::MAX / 2, ..opening },
        ] {
            assert_eq!(Opening::read(bytemuck::bytes_of(&wrong)), None, "{wrong:?}");
        }
    }
}

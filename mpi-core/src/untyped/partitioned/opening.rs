//! How a partitioned receive learns from its send how the partitions come.
//!
//! An opening goes in the context in which some members of a communicator make others, with the program's tag and the
//! uppermost bit, which no tag of the program has; so openings match in the order in which the requests were made, and
//! nothing else matches them. The partitions come in a context that their sender has given out for messages to this
//! rank alone, each with a tag of its own: each request takes as many tags as it has partitions. Messages of one tag
//! stay in order, so a request that is started again uses the same tags again.

use bytemuck::{Pod, Zeroable};
use rwmpi_rank::{Stream, TAGS};

use crate::Communicator;
use crate::communicator::SOME_MEMBERS;

/// The program's tags don't have this bit.
const OPENING: u32 = 1 << 31;
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

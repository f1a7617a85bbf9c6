//! Whom to send to, whom to receive from, and which tag: the arguments of point-to-point calls.

use crate::activity::Target;

/// Largest tag (MPI_TAG_UB, MPI-5.0 section 3.2.3).
#[doc(alias = "MPI_TAG_UB")]
pub const TAG_MAX: i32 = i32::MAX;

/// Where a message goes.
#[doc = example!(2
    "use rwmpi::{Destination, PROC_NULL};"
    "// The last one has nobody to its right."
    "let right = if rank + 1 < size { Destination::Rank(rank + 1) } else { PROC_NULL };"
    "world.buffered_send(&[rank], right, 0)?;"
    "if rank > 0 {"
    "    world.recv(&mut [0_usize], rank - 1, 0)?;"
    "}"
    "assert_eq!((Destination::Rank(1).rank(), PROC_NULL.rank()), (Some(1), None));"
    "// A rank that may not be there is one as well, on either side."
    "let (left, right) = (rank.checked_sub(1), Some(rank + 1).filter(|right| *right < size));"
    "let mut from_left = [size];"
    "world.sendrecv(&[rank], right, 1, &mut from_left, left, 1)?;"
    "assert_eq!(from_left[0], left.unwrap_or(size));"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The process of that rank in the communicator.
    Rank(usize),
    /// Nobody: the send completes at once (MPI_PROC_NULL).
    Null,
}

/// Where a message may come from.
#[doc = example!(1
    "use rwmpi::{ANY_SOURCE, Source};"
    "world.buffered_send(&[7], 0, 0)?;"
    "let status = world.recv(&mut [0], ANY_SOURCE, 0)?;"
    "assert_eq!(Source::Rank(0).rank(), status.source());"
    "assert_eq!((ANY_SOURCE.rank(), Source::from(0)), (None, Source::Rank(0)));"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The process of that rank in the communicator.
    Rank(usize),
    /// Anybody in the communicator (MPI_ANY_SOURCE).
    Any,
    /// Nobody: the receive completes at once with no data (MPI_PROC_NULL).
    Null,
}

/// Which tag a receive accepts.
#[doc = example!(1
    "use rwmpi::{ANY_TAG, TAG_MAX, TagSelector};"
    "world.buffered_send(&[7], 0, TAG_MAX)?;"
    "assert_eq!(world.recv(&mut [0], 0, ANY_TAG)?.tag(), Some(TAG_MAX));"
    "assert_eq!(TagSelector::from(3), TagSelector::Tag(3));"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagSelector {
    /// That tag only.
    Tag(i32),
    /// Any tag (MPI_ANY_TAG).
    Any,
}

/// Receive from whoever sends first.
pub const ANY_SOURCE: Source = Source::Any;
/// Receive whatever the tag.
pub const ANY_TAG: TagSelector = TagSelector::Any;
/// The partner that is not there: sends and receives complete at once.
pub const PROC_NULL: Destination = Destination::Null;

impl Destination {
    /// The rank, if it is one.
    pub fn rank(self) -> Option<usize> {
        match self {
            Destination::Rank(rank) => Some(rank),
            Destination::Null => None,
        }
    }
}

impl Source {
    /// The rank, if it is a certain one.
    pub fn rank(self) -> Option<usize> {
        match self {
            Source::Rank(rank) => Some(rank),
            Source::Any | Source::Null => None,
        }
    }
}

impl From<usize> for Destination {
    fn from(rank: usize) -> Self {
        Destination::Rank(rank)
    }
}

impl From<usize> for Source {
    fn from(rank: usize) -> Self {
        Source::Rank(rank)
    }
}

/// A neighbour in a grid, or nobody beyond its edge.
impl From<Option<usize>> for Destination {
    fn from(neighbour: Option<usize>) -> Self {
        neighbour.map_or(Destination::Null, Destination::Rank)
    }
}

/// A neighbour in a grid, or nobody beyond its edge. From anybody is [`ANY_SOURCE`].
impl From<Option<usize>> for Source {
    fn from(neighbour: Option<usize>) -> Self {
        neighbour.map_or(Source::Null, Source::Rank)
    }
}

impl From<Destination> for Source {
    fn from(partner: Destination) -> Self {
        match partner {
            Destination::Rank(rank) => Source::Rank(rank),
            Destination::Null => Source::Null,
        }
    }
}

impl From<i32> for TagSelector {
    fn from(tag: i32) -> Self {
        TagSelector::Tag(tag)
    }
}

/// What is told of a message to that rank.
#[inline]
pub(crate) fn send_target(destination: Destination, tag: i32) -> Target {
    let rank = match destination {
        Destination::Rank(rank) => Some(rank),
        Destination::Null => None,
    };
    Target::send(rank, tag)
}

/// What is told of a message from there.
#[inline]
pub(crate) fn receive_target(source: Source, tag: TagSelector) -> Target {
    let source = match source {
        Source::Rank(rank) => Some(Some(rank)),
        Source::Any => Some(None),
        Source::Null => None,
    };
    let tag = match tag {
        TagSelector::Tag(tag) => Some(tag),
        TagSelector::Any => None,
    };
    Target::receive(source, tag)
}

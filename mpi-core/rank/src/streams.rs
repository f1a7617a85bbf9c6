//! Contexts and tags for partitioned sends, which have some of their own.

use std::cell::RefCell;
use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};

use crate::context::usable;
use crate::engine::Failure;

/// The tags of a context that partitions have.
pub const TAGS: u32 = 1 << 31;

/// In which context and with which tags partitions go, the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Stream {
    pub context: u32,
    pub first_tag: u32,
}

/// What is left of the contexts that this rank has given out for its partitioned sends, by the rank that they go to.
#[derive(Default)]
pub struct Streams(RefCell<HashMap<u32, Stream>>);

impl Streams {
    /// Tags for so many partitions that go to that peer; `give_context` gives out a context if there are none left.
    ///
    /// # Errors
    /// There is no context left.
    pub fn take(&self, peer: u32, partitions: u32, give_context: impl FnOnce() -> u32) -> Result<Stream, Failure> {
        let mut streams = self.0.borrow_mut();
        let rest = streams.get(&peer).copied().filter(|stream| partitions <= TAGS - stream.first_tag);
        let taken = match rest {
            Some(stream) => stream,
            None => Stream { context: usable(give_context())?, first_tag: 0 },
        };
        streams.insert(peer, Stream { first_tag: taken.first_tag + partitions, ..taken });
        Ok(taken)
    }
}

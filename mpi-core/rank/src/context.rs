//! Contexts: the numbers in message headers that keep communicators apart (MPI-5.0 section 7.1.2).
//!
//! Every communicator has a block of three contexts, the first of which is a multiple of three. Blocks are numbered: 0
//! is the world, 1 each rank alone, 2 all ranks as they leave; the others carry the number of the rank that gave them
//! out, so no two ranks ever give out the same and no agreement is needed: one member of the new communicator gives out
//! a block and tells the others. So any number of communicators may be made at the same time, by whichever overlapping
//! groups. A block is never used again; at 256 ranks each of them can give out five million.

pub use rwmpi_engine::context::{AGREEMENT, BLOCK, is_collective};

use crate::engine::Failure;

/// For collectives, the creation of communicators by all members among them.
pub const COLLECTIVE: u32 = 1;
/// Of an intracommunicator: for the creation of communicators by some of its members; tags are the program's.
/// Those of partitioned operations that look for each other have another bit besides.
pub const SOME_MEMBERS: u32 = 2;

/// First context of the world.
pub const WORLD: u32 = 0;
/// First context of each rank alone. Ranks do not exchange messages in these, so the library takes one for creations
/// without a parent.
pub const THIS_RANK: u32 = BLOCK;
/// Of all ranks as they leave the job. No communicator has it, so that none of their other collectives is taken for it,
/// nor it for one of them.
pub const LEAVING: u32 = 2 * BLOCK;
/// For the creation of communicators from groups; tags come from the program's text.
pub const FROM_GROUPS: u32 = THIS_RANK + SOME_MEMBERS;

/// Blocks that nobody gives out.
const PREDEFINED: u32 = 3;
/// The first context that the rank with number 0 gives out.
pub const FIRST_GIVEN: u32 = PREDEFINED * BLOCK;
/// Said instead of a context by a rank that has no more of them.
pub(crate) const NONE_LEFT: u32 = u32::MAX;
/// The context of a communicator whose members are still agreeing on it.
pub const UNKNOWN: u32 = u32::MAX;

/// The first context of the block that the rank `me` gives out after `given` others, if there is one.
pub(crate) fn nth_given(given: u32, me: u32, peers: u32) -> Option<u32> {
    let block = given.checked_mul(peers)?.checked_add(me + PREDEFINED)?;
    block.checked_mul(BLOCK).filter(|&context| context <= NONE_LEFT - BLOCK)
}

/// To which of so many lanes the communicator with that context belongs, in a job of so many ranks: what one rank gives
/// out goes round.
pub fn lane_of(context: u32, peers: u32, lanes: usize) -> usize {
    let given = (context / BLOCK).checked_sub(PREDEFINED).map(|block| block / peers);
    given.map_or(0, |given| (given as usize + 1) % lanes)
}

/// A context as it was announced, if there was one left.
pub fn usable(context: u32) -> Result<u32, Failure> {
    if context == NONE_LEFT { Err(Failure::NoContext) } else { Ok(context) }
}

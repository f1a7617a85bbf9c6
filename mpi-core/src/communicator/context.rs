//! Contexts: the numbers in message headers that keep communicators apart (MPI-5.0 section 7.1.2).
//!
//! Every communicator has a block of three contexts, the first of which is a multiple of three. Blocks are numbered: 0
//! is the world, 1 each rank alone, 2 all ranks as they leave; the others carry the number of the rank that gave them
//! out, so no two ranks ever give out the same and no agreement is needed: one member of the new communicator gives out
//! a block and tells the others. So any number of communicators may be made at the same time, by whichever overlapping
//! groups. A block is never used again; at 256 ranks each of them can give out five million.

use super::Communicator;
use crate::activity::{Call, Target};
use crate::collective::{Team, broadcast};
use crate::engine::Failure;
use crate::group::Group;
use crate::process::Process;
pub(crate) use rwmpi_engine::context::{BLOCK, is_collective};

/// For collectives, the creation of communicators by all members among them.
pub(crate) const COLLECTIVE: u32 = 1;
/// Of an intracommunicator: for the creation of communicators by some of its members; tags are the program's.
/// Those of partitioned operations that look for each other have another bit besides.
pub(crate) const SOME_MEMBERS: u32 = 2;

/// First context of the world.
pub(crate) const WORLD: u32 = 0;
/// First context of each rank alone. Ranks do not exchange messages in these, so the library takes one for creations
/// without a parent.
pub(crate) const THIS_RANK: u32 = BLOCK;
/// Of all ranks as they leave the job. No communicator has it, so that none of their other collectives is taken for it,
/// nor it for one of them.
pub(crate) const LEAVING: u32 = 2 * BLOCK;
/// For the creation of communicators from groups; tags come from the program's text.
pub(super) const FROM_GROUPS: u32 = THIS_RANK + SOME_MEMBERS;

/// Blocks that nobody gives out.
const PREDEFINED: u32 = 3;
/// The first context that the rank with number 0 gives out.
pub(super) const FIRST_GIVEN: u32 = PREDEFINED * BLOCK;
/// Said instead of a context by a rank that has no more of them.
const NONE_LEFT: u32 = u32::MAX;
/// The context of a communicator whose members are still agreeing on it.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// A context that has been agreed on.
pub(super) fn known(context: u32) -> Option<u32> {
    (context != UNKNOWN).then_some(context)
}

impl Process {
    /// The first context of a block that nobody else has, or [`NONE_LEFT`].
    fn new_context(&self, me: u32, peers: u32) -> u32 {
        let context = |given: u32| {
            let block = given.checked_mul(peers)?.checked_add(me + PREDEFINED)?;
            block.checked_mul(BLOCK).filter(|&context| context <= NONE_LEFT - BLOCK)
        };
        self.lanes().give_block(context).unwrap_or(NONE_LEFT)
    }

    /// A new block, given out by this rank.
    pub(crate) fn give_context(&self) -> u32 {
        let (me, peers) = self.me_and_peers();
        self.new_context(me, peers)
    }

    /// A new block, if the caller is the first of these peers; the others will hear of it.
    pub(super) fn given_by_first(&self, peers: &[u32]) -> u32 {
        let (me, job) = self.me_and_peers();
        if peers.first() == Some(&me) { self.new_context(me, job) } else { 0 }
    }
}

/// To which of so many lanes the communicator with that context belongs, in a job of so many ranks: what one rank gives
/// out goes round.
pub(crate) fn lane_of(context: u32, peers: u32, lanes: usize) -> usize {
    let given = (context / BLOCK).checked_sub(PREDEFINED).map(|block| block / peers);
    given.map_or(0, |given| (given as usize + 1) % lanes)
}

/// A context as it was announced, if there was one left.
pub(crate) fn usable(context: u32) -> Result<u32, Failure> {
    if context == NONE_LEFT { Err(Failure::NoContext) } else { Ok(context) }
}

/// Those who make a communicator together: a list that all of them have alike. The first of them gives out the context.
pub(super) struct Creators {
    peers: Vec<u32>,
    context: u32,
    tag: u32,
}

impl Creators {
    pub(super) fn new(peers: Vec<u32>, context: u32, tag: u32) -> Self {
        Creators { peers, context, tag }
    }

    pub(super) fn peers(&self) -> &[u32] {
        &self.peers
    }

    /// As those who exchange messages.
    pub(super) fn team<'a>(&'a self, process: &'a Process, waits: bool) -> Team<'a> {
        let me = process.me_and_peers().0;
        let rank = self.peers.iter().position(|&peer| peer == me).expect("who creates a communicator is a creator");
        Team::new(process, (&self.peers, rank), [self.context, self.tag], waits, (None, None))
    }

    /// A new context that all creators get to know, and with it `words` of the first one.
    pub(super) async fn agree(&self, process: &Process, waits: bool, words: &mut [u32]) -> Result<u32, Failure> {
        let mut message = vec![process.given_by_first(&self.peers)];
        message.extend_from_slice(words);
        broadcast(self.team(process, waits), bytemuck::cast_slice_mut::<u32, u8>(&mut message).into(), 0).await?;
        words.copy_from_slice(&message[1..]);
        usable(message[0])
    }
}

/// All members of both groups, the same list on either side: the group whose first member has the lower number comes
/// first.
pub(super) fn all_members(one: &Group, other: &Group) -> Vec<u32> {
    let (first, second) = if one.peer(0) < other.peer(0) { (one, other) } else { (other, one) };
    first.peers().iter().chain(second.peers().iter()).copied().collect()
}

impl Communicator {
    pub(super) fn begin_creation(&self) {
        drop(self.process().enter(Call::CreateCommunicator, Target::NONE, self.context(), 0));
    }

    /// All members of this communicator, of both groups, in the same order at each of them.
    pub(crate) fn all_peers(&self) -> Vec<u32> {
        match self.remote_group() {
            None => self.group().peers().to_vec(),
            Some(remote) if self.group().size() == 0 || remote.size() == 0 => {
                self.group().peers().iter().chain(remote.peers().iter()).copied().collect()
            }
            Some(remote) => all_members(self.group(), remote),
        }
    }

    /// All its members, about to make another.
    pub(super) fn creators(&self) -> Creators {
        Creators::new(self.all_peers(), self.context() + COLLECTIVE, self.next_collective())
    }

    /// A new context that these creators get to know, and with it `words` of the first one.
    pub(super) fn agree_on_context(&self, creators: &Creators, words: &mut [u32]) -> crate::Result<u32> {
        let process = self.process();
        process.block_on(|| creators.agree(process, true, words)).map_err(self.failed(Call::CreateCommunicator))
    }
}

//! Contexts: the numbers in message headers that keep communicators apart (MPI-5.0 section 7.1.2).
//!
//! Every communicator has a block of four contexts, the first of which is a multiple of four. Blocks are numbered: 0 is the
//! world, 1 each rank alone; the others carry the number of the rank that gave them out, so no two ranks ever give out the same and no
//! agreement is needed: one member of the new communicator gives out a block and tells the others. So any number of
//! communicators may be made at the same time, by whichever overlapping groups. A block is never used again; at 256 ranks each of
//! them can give out four million.

use rwmpi_protocol::Pattern;

use super::Communicator;
use crate::Result;
use crate::activity::{Call, Target};
use crate::engine::Failure;
use crate::error::{Error, ErrorClass};
use crate::group::Group;
use crate::process::Process;

/// Contexts of one communicator. The first is for point-to-point messages.
pub(super) const BLOCK: u32 = 4;
/// For collectives.
pub(super) const COLLECTIVE: u32 = 1;
/// Of an intracommunicator: for the creation of communicators by some of its members; tags are the program's.
pub(super) const SOME_MEMBERS: u32 = 2;
/// Of an intracommunicator: for the creation of communicators by all its members.
const ALL_MEMBERS: u32 = 3;
/// Of an intercommunicator: where the contexts of its local group start. They need not differ between the two groups, which have no
/// members in common. The first also serves the creation of communicators by all members of both.
pub(super) const LOCAL: u32 = 2;

/// First context of the world.
pub(crate) const WORLD: u32 = 0;
/// First context of each rank alone. Ranks do not exchange messages in these, so the library takes one for creations without a parent.
pub(crate) const THIS_RANK: u32 = BLOCK;
/// For the creation of communicators from groups; tags come from the program's text.
pub(super) const FROM_GROUPS: u32 = THIS_RANK + SOME_MEMBERS;

type Outcome = std::result::Result<(), Failure>;

/// Said instead of a context by a rank that has no more of them.
const NONE_LEFT: u32 = u32::MAX;

impl Process {
    /// The first context of a block that nobody else has, or [`NONE_LEFT`].
    fn new_context(&self, me: u32, peers: u32) -> u32 {
        let given = self.contexts().get();
        let block = given.checked_mul(peers).and_then(|block| block.checked_add(me + 2));
        match block.and_then(|block| block.checked_mul(BLOCK)).filter(|&context| context <= NONE_LEFT - BLOCK) {
            Some(context) => {
                self.contexts().set(given + 1);
                context
            }
            None => NONE_LEFT,
        }
    }

    /// A new block, given out by this rank.
    pub(super) fn give_context(&self) -> u32 {
        let (me, peers) = self.me_and_peers();
        self.new_context(me, peers)
    }

    /// Sends a copy of `words` to a peer; does not wait.
    pub(super) fn tell(&self, peer: u32, context: u32, tag: u32, words: &[u32]) -> Outcome {
        let bytes = bytemuck::cast_slice::<u32, u8>(words);
        let id = self.engine().start_buffered_send(peer, context, tag, bytes.into())?;
        if let Some(id) = id {
            self.detach(id);
        }
        Ok(())
    }

    /// Waits for words from a peer.
    pub(super) fn hear(&self, peer: u32, context: u32, tag: u32, words: &mut [u32]) -> Outcome {
        let pattern = Pattern { context, source: Some(peer), tag: Some(tag) };
        self.receive_bytes(pattern, bytemuck::cast_slice_mut(words)).map(drop)
    }

    /// Tells everybody in `peers`, a list that all of them have alike, what the first of them says: down a binomial tree.
    pub(super) fn announce(&self, peers: &[u32], context: u32, tag: u32, words: &mut [u32]) -> Outcome {
        let me = self.me_and_peers().0;
        let place = peers.iter().position(|&peer| peer == me).unwrap_or(0);
        if place > 0 {
            let parent = place & (place - 1);
            self.hear(peers[parent], context, tag, words)?;
        }
        // The children of a place set one of the bits below its lowest one.
        let below = if place == 0 { peers.len().next_power_of_two() } else { place & place.wrapping_neg() };
        let mut bit = below >> 1;
        while bit > 0 {
            if let Some(&child) = peers.get(place | bit) {
                self.tell(child, context, tag, words)?;
            }
            bit >>= 1;
        }
        Ok(())
    }
}

/// All members of both groups, the same list on either side: the group whose first member has the lower number comes first.
pub(super) fn all_members(one: &Group, other: &Group) -> Vec<u32> {
    let (first, second) = if one.peer(0) < other.peer(0) { (one, other) } else { (other, one) };
    first.peers().iter().chain(second.peers().iter()).copied().collect()
}

impl Communicator {
    pub(super) fn begin_creation(&self) {
        drop(self.process().enter(Call::CreateCommunicator, Target::NONE, self.context(), 0));
    }

    /// Everybody who makes a communicator together with all members of this one, in an order that all agree on, and the context
    /// in which they do.
    pub(super) fn creators(&self) -> (Vec<u32>, u32) {
        match self.remote_group() {
            None => (self.group().peers().to_vec(), self.context() + ALL_MEMBERS),
            Some(remote) => (all_members(self.group(), remote), self.context() + LOCAL),
        }
    }

    /// A new context that all members of this communicator (of both groups) get to know, and with it `words` of the first creator.
    pub(super) fn agree_on_context(&self, words: &mut [u32]) -> Result<u32> {
        let (creators, context) = self.creators();
        let mut message: Vec<u32> =
            std::iter::once(self.process().given_by_first(&creators)).chain(words.iter().copied()).collect();
        let announced = self.process().announce(&creators, context, 0, &mut message);
        announced.map_err(self.failed(Call::CreateCommunicator))?;
        words.copy_from_slice(&message[1..]);
        self.usable(message[0])
    }

    /// A context as it was announced, if there was one left.
    pub(super) fn usable(&self, context: u32) -> Result<u32> {
        if context == NONE_LEFT {
            let what = "no communicator contexts are left: this job has made too many communicators".to_string();
            return Err(Error::argument(ErrorClass::NoMemory, self, Call::CreateCommunicator, what));
        }
        Ok(context)
    }
}

impl Process {
    /// A new block, if the caller is the first of these peers; the others will hear of it.
    pub(super) fn given_by_first(&self, peers: &[u32]) -> u32 {
        if peers.first() == Some(&self.me_and_peers().0) { self.give_context() } else { 0 }
    }
}

//! Who agrees on the context of a new communicator: whoever makes it together.

use rwmpi_collective::{Team, broadcast};

use super::Communicator;
use crate::activity::{Call, Target};
use crate::engine::Failure;
use crate::group::Group;
use crate::process::Process;
pub(crate) use rwmpi_rank::context::*;

/// A context that has been agreed on.
pub(super) fn known(context: u32) -> Option<u32> {
    (context != UNKNOWN).then_some(context)
}

/// Those who make a communicator together: a list that all of them have alike. The first of them gives out the context.
pub(crate) struct Creators {
    peers: Vec<u32>,
    context: u32,
    tag: u32,
}

impl Creators {
    pub(crate) fn new(peers: Vec<u32>, context: u32, tag: u32) -> Self {
        Creators { peers, context, tag }
    }

    pub(crate) fn peers(&self) -> &[u32] {
        &self.peers
    }

    /// As those who exchange messages.
    pub(crate) fn team<'a>(&'a self, process: &'a Process, waits: bool) -> Team<'a> {
        let me = process.me_and_peers().0;
        let rank = self.peers.iter().position(|&peer| peer == me).expect("who creates a communicator is a creator");
        Team::new(process, (&self.peers, rank), [self.context, self.tag], waits, (None, None))
    }

    /// A new context that all creators get to know, and with it `words` of the first one.
    pub(crate) async fn agree(&self, process: &Process, waits: bool, words: &mut [u32]) -> Result<u32, Failure> {
        let team = self.team(process, waits);
        team.check_can_begin()?;
        let mut message = vec![process.given_by_first(&self.peers)];
        message.extend_from_slice(words);
        broadcast(team, bytemuck::cast_slice_mut::<u32, u8>(&mut message).into(), 0).await?;
        words.copy_from_slice(&message[1..]);
        usable(message[0])
    }
}

/// All members of both groups, the same list on either side: the group whose first member has the lower number comes
/// first.
pub(crate) fn all_members(one: &Group, other: &Group) -> Vec<u32> {
    let (first, second) = if one.peer(0) < other.peer(0) { (one, other) } else { (other, one) };
    first.peers().iter().chain(second.peers().iter()).copied().collect()
}

impl Communicator {
    pub(crate) fn begin_creation(&self) {
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
    pub(crate) fn creators(&self) -> Creators {
        Creators::new(self.all_peers(), self.context() + COLLECTIVE, self.next_collective())
    }

    /// A new context that these creators get to know, and with it `words` of the first one.
    pub(crate) fn agree_on_context(&self, creators: &Creators, words: &mut [u32]) -> crate::Result<u32> {
        let process = self.process();
        process.block_on(|| creators.agree(process, true, words)).map_err(self.failed(Call::CreateCommunicator))
    }
}

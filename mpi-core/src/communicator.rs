//! Communicators: who takes part, in which order, separate from all others.

use std::cell::Cell;
use std::rc::Rc;

use crate::activity::Call;
use crate::engine::Failure;
use crate::error::{Error, ErrorClass};
use crate::group::Group;
use crate::process::Process;
use crate::{Result, op};

/// A group of ranks with a context of its own (MPI-5.0 chapter 7). Cheap to clone: clones are the same communicator.
///
/// Each has two contexts: an even one for point-to-point messages and the odd one after it for collectives, so that neither can
/// take the other's messages.
#[derive(Clone)]
pub struct Communicator {
    shared: Rc<Shared>,
}

struct Shared {
    process: Rc<Process>,
    group: Group,
    context: u32,
    /// How many collectives have begun, modulo [`COLLECTIVES`].
    collectives: Cell<u32>,
}

/// So many collectives in a row are told apart by their tags; far more than can be in flight.
const COLLECTIVES: u32 = 1 << 31;

impl Drop for Shared {
    fn drop(&mut self) {
        let mut engine = self.process.engine();
        engine.forget_group(self.context);
        engine.forget_group(self.context + 1);
    }
}

impl Communicator {
    pub(crate) fn new(process: Rc<Process>, group: Group, context: u32) -> Self {
        let peers = group.peers().clone();
        process.engine().register_group(context, peers.clone());
        process.engine().register_group(context + 1, peers);
        Communicator { shared: Rc::new(Shared { process, group, context, collectives: Cell::new(0) }) }
    }

    pub(crate) fn process(&self) -> &Rc<Process> {
        &self.shared.process
    }

    pub(crate) fn group(&self) -> &Group {
        &self.shared.group
    }

    pub(crate) fn context(&self) -> u32 {
        self.shared.context
    }

    /// The number of the collective that begins now: the same on all ranks, since all begin them in the same order.
    #[inline]
    pub(crate) fn next_collective(&self) -> u32 {
        let number = self.shared.collectives.get();
        self.shared.collectives.set((number + 1) % COLLECTIVES);
        number
    }

    /// The rank here of a peer of the job.
    pub(crate) fn rank_of(&self, peer: u32) -> usize {
        self.shared.group.rank_of(peer)
    }

    /// What errors call it.
    pub(crate) fn name(&self) -> String {
        match self.shared.context {
            0 => "the world communicator".into(),
            2 => "the communicator of this rank alone".into(),
            context => format!("communicator {}", context / 2),
        }
    }

    pub(crate) fn failed(&self, call: Call) -> impl Fn(Failure) -> Error + '_ {
        move |failure| Error::failure(self, call, failure)
    }

    /// The caller's rank in it.
    #[inline]
    pub fn rank(&self) -> usize {
        self.shared.group.rank()
    }

    /// How many ranks it has.
    #[inline]
    pub fn size(&self) -> usize {
        self.shared.group.size()
    }

    /// The same ranks in a new context (MPI_Comm_dup). Collective.
    pub fn dup(&self) -> Result<Communicator> {
        let context = self.agree_on_context()?;
        Ok(Communicator::new(self.process().clone(), self.group().clone(), context))
    }

    /// A communicator for each colour, its ranks ordered by `key`, then by their rank here; `None` for those who give no
    /// colour (MPI_Comm_split). Collective.
    pub fn split(&self, colour: Option<u32>, key: i32) -> Result<Option<Communicator>> {
        let context = self.agree_on_context()?;
        let mine = [colour.map_or(-1, i64::from), i64::from(key)];
        let mut all = vec![[0i64; 2]; self.size()];
        self.allgather(&[mine], &mut all)?;
        let Some(colour) = colour else { return Ok(None) };
        let mut members: Vec<usize> = (0..self.size()).filter(|&rank| all[rank][0] == i64::from(colour)).collect();
        members.sort_by_key(|&rank| all[rank][1]);
        self.with_members(&members, context).map(Some)
    }

    /// A communicator of the ranks in `members`, in that order, for which all of this communicator call; `None` for the others
    /// (MPI_Comm_create). Collective.
    pub fn subset(&self, members: &[usize]) -> Result<Option<Communicator>> {
        let mut seen = vec![false; self.size()];
        for &rank in members {
            if rank >= self.size() || std::mem::replace(&mut seen[rank], true) {
                let what = format!("member {rank} is out of range or named twice; there are {} ranks", self.size());
                return Err(Error::argument(ErrorClass::Rank, self, Call::CreateCommunicator, what));
            }
        }
        let context = self.agree_on_context()?;
        if seen[self.rank()] { self.with_members(members, context).map(Some) } else { Ok(None) }
    }

    fn with_members(&self, members: &[usize], context: u32) -> Result<Communicator> {
        let peers: Vec<u32> = members.iter().map(|&rank| self.group().peers()[rank]).collect();
        let me = self.group().peers()[self.rank()];
        Ok(Communicator::new(self.process().clone(), Group::new(peers, me), context))
    }

    /// For each rank here, its rank in `other`, if it belongs to it (MPI_Group_translate_ranks).
    pub fn ranks_in(&self, other: &Communicator) -> Vec<Option<usize>> {
        let rank = |&peer: &u32| other.group().peers().iter().position(|&candidate| candidate == peer);
        self.group().peers().iter().map(rank).collect()
    }

    /// A pair of contexts that no rank of this communicator uses yet.
    fn agree_on_context(&self) -> Result<u32> {
        let context = self.allreduce_value(self.process().next_context(), op::max)?;
        if context > u32::MAX - 2 {
            let what = "no communicator contexts are left".to_string();
            return Err(Error::argument(ErrorClass::Other, self, Call::CreateCommunicator, what));
        }
        self.process().set_next_context(context + 2);
        Ok(context)
    }
}

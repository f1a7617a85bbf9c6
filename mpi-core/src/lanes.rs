//! Lanes: several ends of the fabric that one rank has, each with an engine of its own, so that threads that use
//! different communicators have nothing in common.
//!
//! Every communicator belongs to one lane, which follows from its context, so that all its members agree without a
//! word. The world and what this rank has alone are in the first lane, nonblocking duplicates in the lane of what they
//! were made from. What a lane's engine and communicators hold is shared with no other lane, not even a count of
//! references: whoever has a lane's turn may use all of it. To make communicators takes the turns of all lanes.

use std::cell::{Cell, OnceCell};
use std::rc::{Rc, Weak};

use rwmpi_transport::{JobFabric, NodeFabric};

use crate::Protocol;
use crate::communicator::context::lane_of;
use crate::process::Process;

/// What the lanes of a rank have in common.
#[derive(Default)]
pub(crate) struct Lanes {
    /// How many blocks of contexts this rank has given out. A creation gives one as it begins, also where nobody waits
    /// for its end.
    contexts: Cell<u32>,
    /// One for each lane, if there are several.
    processes: OnceCell<Box<[Weak<Process>]>>,
}

impl Lanes {
    /// Gives the rank that has had one lane these besides, and returns them.
    pub(crate) fn add(first: &Rc<Process>, fabrics: Vec<NodeFabric>, protocol: Protocol) -> Vec<Rc<Process>> {
        let process = |(lane, fabric)| {
            let place = (first.lanes().clone(), lane);
            let recorder = first.recorder().cloned();
            Rc::new(Process::new(JobFabric::Node(fabric), protocol, first.tuning(), place, recorder))
        };
        let others: Vec<_> = (1..).zip(fabrics).map(process).collect();
        first.lanes().processes.get_or_init(|| std::iter::once(first).chain(&others).map(Rc::downgrade).collect());
        others
    }

    /// Whether there are several.
    pub(crate) fn are_several(&self) -> bool {
        self.processes.get().is_some()
    }

    /// A new block of contexts: what `block` makes of how many have been given out; it counts if that is something.
    pub(crate) fn give_block<R>(&self, block: impl Fn(u32) -> Option<R>) -> Option<R> {
        let given = self.contexts.get();
        block(given).inspect(|_| self.contexts.set(given + 1))
    }

    #[cfg(test)]
    pub(crate) fn set_given(&self, given: u32) {
        self.contexts.set(given);
    }

    /// All of them. For a thread that has all lanes.
    pub(crate) fn all(&self) -> impl Iterator<Item = Rc<Process>> {
        self.processes.get().into_iter().flatten().filter_map(Weak::upgrade)
    }

    /// The lane of the communicator with that context, in a job of so many ranks.
    pub(crate) fn of(&self, context: u32, peers: u32) -> Option<Rc<Process>> {
        let processes = self.processes.get()?;
        processes[lane_of(context, peers, processes.len())].upgrade()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communicator::WORLD;
    use crate::tuning::Tuning;
    use crate::{Communicator, Info, Result, ThreadLevel, Universe};

    #[test]
    fn what_a_rank_gives_out_goes_round() {
        // Blocks of contexts are three long; the first three are nobody's, then ranks take turns.
        let lanes_of = |rank: u32| [0, 1, 2, 3].map(|given| lane_of(3 * (3 + given * 4 + rank) + 1, 4, 3));
        assert_eq!([lanes_of(0), lanes_of(3)], [[1, 2, 0, 1]; 2]);
        assert_eq!([lane_of(WORLD, 4, 3), lane_of(WORLD + 5, 4, 3)], [0; 2]);
    }

    /// Makes communicators and has them used; the lanes that they are in.
    fn in_lanes(universe: &Universe) -> Result<Vec<usize>> {
        let world = universe.world();
        let other = 1 - world.rank();
        let first = world.dup()?;
        let half = first.split(Some(0), other as i32)?.expect("everybody has a colour");
        let mut nonblocking = None;
        crate::scope(|s| half.idup(s, &mut nonblocking, &Info::new())?.wait())?;
        let nonblocking = nonblocking.expect("it has been made");
        let alone = world.split(Some(world.rank() as u32), 0)?.expect("everybody has a colour");
        let both = alone.create_intercommunicator(0, Some((&first, other)), 5)?;
        let merged = both.merge(world.rank() == 1)?;
        let all = [world, &first, &half, &nonblocking, &alone, &both, &merged];
        for communicator in all {
            let lane = communicator.lane() as u32;
            assert_eq!(
                communicator.allreduce_value(lane, crate::op::max).ok(),
                (!communicator.is_inter()).then_some(lane)
            );
            let receiver = if communicator.is_inter() { 0 } else { communicator.size() - 1 - communicator.rank() };
            let mut heard = [usize::MAX];
            communicator.sendrecv(&[world.rank()], receiver, 0, &mut heard, receiver, 0)?;
            assert_eq!(
                heard[0],
                if communicator.size() == 1 && !communicator.is_inter() { world.rank() } else { other }
            );
        }
        Ok(all.map(Communicator::lane).to_vec())
    }

    #[test]
    fn all_members_find_a_communicator_in_the_same_lane() {
        let fabrics = NodeFabric::threads_with_lanes(2, 3).unwrap();
        let lanes: Vec<Vec<usize>> = std::thread::scope(|scope| {
            let run = |mut fabrics: Vec<NodeFabric>| {
                scope.spawn(move || {
                    let first = JobFabric::Node(fabrics.remove(0));
                    let mut universe = Universe::new(first, Protocol::Auto, &Tuning::DEFAULT, ThreadLevel::Filtered);
                    universe.add_lanes(fabrics);
                    assert_eq!(universe.lanes(), 3);
                    let lanes = in_lanes(&universe).unwrap();
                    universe.finalize().unwrap();
                    lanes
                })
            };
            let threads: Vec<_> = fabrics.into_iter().map(run).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(
            lanes[0][..4],
            [0, 1, 2, 2],
            "the world, two one after the other, and one made from the last without waiting"
        );
        assert_eq!(lanes[0], lanes[1]);
    }
}

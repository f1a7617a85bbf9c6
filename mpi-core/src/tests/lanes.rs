//! In which lane communicators are, as tests.

use rwmpi_transport::{JobFabric, NodeFabric};

use crate::communicator::WORLD;
use crate::communicator::context::lane_of;
use crate::tuning::Tuning;
use crate::{Communicator, Info, Protocol, Result, ThreadLevel, Universe};

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
        assert_eq!(communicator.allreduce_value(lane, crate::op::max).ok(), (!communicator.is_inter()).then_some(lane));
        let receiver = if communicator.is_inter() { 0 } else { communicator.size() - 1 - communicator.rank() };
        let mut heard = [usize::MAX];
        communicator.sendrecv(&[world.rank()], receiver, 0, &mut heard, receiver, 0)?;
        assert_eq!(heard[0], if communicator.size() == 1 && !communicator.is_inter() { world.rank() } else { other });
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

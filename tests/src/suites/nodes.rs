//! What crosses from one node to another in collectives, where a communicator has several nodes and more ranks than
//! those.

use std::collections::BTreeSet;

use rwmpi::{Communicator, Info, Result, SplitType, Universe, op, owning};
use rwmpi_core::reduction::{Operation, Predefined};
use rwmpi_core::untyped::collective::Collective;

use super::Check;
use super::untyped_collectives::shapes;

/// The checks of this suite.
pub const CHECKS: &[Check] = &[("only_leaders_send_to_other_nodes", only_leaders_send_to_other_nodes)];

/// Who leads its node in place of the first rank there.
#[derive(Clone, Copy)]
enum Leader {
    First,
    Last,
    LastOfAll,
}

struct Case {
    name: &'static str,
    leader: Leader,
    /// Whether it is done so only if the ranks of each node follow each other.
    in_order: bool,
    /// How many messages cross at most, of so many nodes.
    most: fn(u64) -> u64,
    call: fn(&Communicator, usize) -> Result<()>,
}

/// One to each other node, or from each.
fn tree(nodes: u64) -> u64 {
    nodes - 1
}

/// To all from all.
fn full(nodes: u64) -> u64 {
    nodes * (nodes - 1)
}

/// Twice what doubling takes: each in each round, and once more each where the nodes are no power of two.
fn rounds(nodes: u64) -> u64 {
    nodes * (u64::from(nodes.next_power_of_two().ilog2()) + 1)
}

const fn case(
    name: &'static str,
    leader: Leader,
    in_order: bool,
    most: fn(u64) -> u64,
    call: fn(&Communicator, usize) -> Result<()>,
) -> Case {
    Case { name, leader, in_order, most, call }
}

const CASES: &[Case] = &[
    case("barrier", Leader::First, false, |_| 0, |world, _| world.barrier()),
    case("bcast", Leader::First, false, tree, |world, len| world.bcast(&mut vec![1_u8; len], 0)),
    case("bcast from the last", Leader::LastOfAll, false, tree, |world, len| {
        world.bcast(&mut vec![1_u8; len], world.size() - 1)
    }),
    case("ibcast", Leader::First, false, tree, |world, len| {
        owning(vec![1_u8; len], |s, data| world.ibcast(s, data, 0))?.wait().map(drop)
    }),
    case("reduce", Leader::First, true, tree, |world, len| {
        world.reduce(&vec![1_u8; len], &mut vec![0; len], op::max, 0)
    }),
    case("allreduce", Leader::First, true, rounds, |world, len| {
        world.allreduce(&vec![1_u8; len], &mut vec![0; len], op::max)
    }),
    case("allreduce of an operation that commutes", Leader::First, false, rounds, |world, len| {
        let [dense, _] = shapes();
        let mut data = vec![1; len.div_ceil(16) * 2];
        let result = dense.all(&mut data);
        let operation = Operation::Predefined(Predefined::Max);
        world.collective(Collective::Allreduce { data: None, result, operation })
    }),
    case("allgather", Leader::First, false, full, |world, len| {
        world.allgather(&vec![1_u8; len], &mut vec![0; len * world.size()])
    }),
    case("alltoall", Leader::First, false, full, |world, len| {
        let len = len * world.size();
        world.alltoall(&vec![1_u8; len], &mut vec![0; len])
    }),
    case("gather", Leader::First, false, tree, |world, len| {
        world.gather(&vec![1_u8; len], &mut vec![0; len * world.size()], 0)
    }),
    case("scatter", Leader::First, false, tree, |world, len| {
        world.scatter(&vec![1_u8; len * world.size()], &mut vec![0; len], 0)
    }),
    case("reduce_scatter_block", Leader::First, true, full, |world, len| {
        world.reduce_scatter_block(&vec![1_u8; len * world.size()], &mut vec![0; len], op::max)
    }),
    case("scan", Leader::Last, true, rounds, |world, len| world.scan_in_place(&mut vec![1_u8; len], op::max)),
];

fn only_leaders_send_to_other_nodes(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let here = world.split_type(Some(SplitType::Shared), 0, &Info::new())?.expect("everybody is on a node");
    let here: Vec<usize> = here.ranks_in(world).into_iter().flatten().collect();
    let nodes = world.allgather_values(&here[0])?.into_iter().collect::<BTreeSet<_>>().len();
    let in_order = world.allreduce_value(here[here.len() - 1] - here[0] == here.len() - 1, |a, b| *a && *b)?;
    if nodes == 1 || nodes == size {
        return Ok(());
    }
    let sent_away = || {
        let to_others = |&(peer, _): &(usize, &(u64, u64))| !here.contains(&peer);
        universe.traffic_by_peer().iter().enumerate().filter(to_others).map(|(_, sent)| sent.0).sum::<u64>()
    };
    for Case { name, leader, most, call, .. } in CASES.iter().filter(|case| in_order || !case.in_order) {
        let leads = match leader {
            Leader::First => rank == here[0],
            Leader::Last => Some(&rank) == here.last(),
            Leader::LastOfAll if here.contains(&(size - 1)) => rank == size - 1,
            Leader::LastOfAll => rank == here[0],
        };
        for len in [8, 1_000, 100_000] {
            let before = sent_away();
            call(world, len)?;
            let sent = sent_away() - before;
            // Long parts of an all-to-all go directly.
            let is_direct = *name == "alltoall" && len == 100_000;
            assert!(
                leads || sent == 0 || is_direct,
                "{name}, {len} bytes: rank {rank} sent {sent} messages to other nodes"
            );
            let all = world.allreduce_value(sent, op::sum)?;
            let most = most(nodes as u64);
            assert!(
                all <= most || len == 100_000,
                "{name}, {len} bytes: {all} messages between {nodes} nodes, not {most}"
            );
        }
    }
    Ok(())
}

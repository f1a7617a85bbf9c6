//! Collectives of long data, in memory that peers can read, in memory that they can't, and in some of both.

use rwmpi::{Buffer, Result, Universe};

use super::Check;
use super::collectives::{contribution, matrices, multiply, product};

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("long_reductions_keep_rank_order_wherever_the_data_lie", long_reductions_keep_rank_order_wherever_the_data_lie),
    ("long_data_reach_all_wherever_they_lie", long_data_reach_all_wherever_they_lie),
    ("long_data_may_change_as_soon_as_a_collective_returns", long_data_may_change_as_soon_as_a_collective_returns),
];

/// Bytes that are no multiple of a portion, and of few or many of them.
const LENGTHS: [usize; 3] = [1_031, 5_003, 20_011];

/// Memory of this rank for a test.
enum Memory<T> {
    Shared(Buffer<T>),
    Ordinary(Vec<T>),
}

impl<T> AsMut<[T]> for Memory<T> {
    fn as_mut(&mut self) -> &mut [T] {
        match self {
            Memory::Shared(buffer) => buffer,
            Memory::Ordinary(vector) => vector,
        }
    }
}

/// Whose memory is shared: everybody's, or only that of every other rank.
const PLACEMENTS: [fn(usize) -> bool; 2] = [|_| true, |rank| rank % 2 == 0];

macro_rules! memory {
    ($universe:expr, $is_shared:expr, $values:expr) => {{
        let values = $values;
        if $is_shared {
            let mut buffer = $universe.alloc(values.len());
            buffer.copy_from_slice(&values);
            Memory::Shared(buffer)
        } else {
            Memory::Ordinary(values)
        }
    }};
}

fn long_reductions_keep_rank_order_wherever_the_data_lie(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for (len, is_shared) in LENGTHS.into_iter().flat_map(|len| PLACEMENTS.map(|is_shared| (len, is_shared))) {
        let (mine, expected) = (matrices(rank, len), product(0..size, len));
        let mut data = memory!(universe, is_shared(rank), mine.clone());
        let mut result = memory!(universe, is_shared(rank + 1), vec![[0; 4]; len]);
        world.allreduce(data.as_mut(), result.as_mut(), multiply)?;
        assert_eq!((result.as_mut(), data.as_mut()), (&mut expected.clone()[..], &mut mine.clone()[..]));

        for root in [0, size - 1] {
            result.as_mut().fill([0; 4]);
            world.reduce(data.as_mut(), result.as_mut(), multiply, root)?;
            let there = if rank == root { expected.clone() } else { vec![[0; 4]; len] };
            assert_eq!((result.as_mut(), data.as_mut()), (&mut there.clone()[..], &mut mine.clone()[..]));
            result.as_mut().copy_from_slice(&mine);
            world.reduce_in_place(result.as_mut(), multiply, root)?;
            assert_eq!(result.as_mut(), if rank == root { &expected } else { &mine });
        }
        world.allreduce_in_place(data.as_mut(), multiply)?;
        assert_eq!(data.as_mut(), expected);
    }
    Ok(())
}

fn long_data_reach_all_wherever_they_lie(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for (len, is_shared) in LENGTHS.into_iter().flat_map(|len| PLACEMENTS.map(|is_shared| (len, is_shared))) {
        for root in [0, size - 1] {
            let values = if rank == root { contribution(root, len) } else { vec![0; len] };
            let mut data = memory!(universe, is_shared(rank), values);
            world.bcast(data.as_mut(), root)?;
            assert_eq!(data.as_mut(), contribution(root, len));
        }
        let all: Vec<i64> = (0..size).flat_map(|rank| contribution(rank, len)).collect();
        let mut gathered = memory!(universe, is_shared(rank), vec![0; len * size]);
        world.allgather(&contribution(rank, len), gathered.as_mut())?;
        assert_eq!(gathered.as_mut(), all);

        // What goes from one rank to another says both.
        let part = |from: usize, to: usize| contribution(from * size + to, len);
        let sent: Vec<i64> = (0..size).flat_map(|to| part(rank, to)).collect();
        let mut sent = memory!(universe, is_shared(rank), sent);
        world.alltoall(sent.as_mut(), gathered.as_mut())?;
        assert_eq!(gathered.as_mut(), (0..size).flat_map(|from| part(from, rank)).collect::<Vec<_>>());
    }
    Ok(())
}

fn long_data_may_change_as_soon_as_a_collective_returns(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    let (mut data, mut sum) = (universe.alloc::<u64>(9_001), universe.alloc::<u64>(9_001));
    for round in 0..20 {
        data.fill(round * rank);
        world.allreduce(&data, &mut sum, |a, b| a + b)?;
        data.fill(u64::MAX);
        assert!(sum.iter().all(|&sum| sum == round * size * (size - 1) / 2));
        sum.fill(rank + round);
        world.bcast(&mut sum, round as usize % size as usize)?;
        assert!(sum.iter().all(|&value| value == round % size + round));
        sum.fill(u64::MAX);
    }
    Ok(())
}

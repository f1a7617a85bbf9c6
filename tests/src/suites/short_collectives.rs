//! Collectives of short data in quick succession: where each has the memory of the one before the last, nobody may be
//! too early there.

use rwmpi::{Communicator, Result, Universe};

use super::Check;

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("short_collectives_in_a_row_do_not_mix", short_collectives_in_a_row_do_not_mix),
    ("short_collectives_of_all_lengths_are_right", short_collectives_of_all_lengths_are_right),
    ("who_only_gives_is_ahead_and_not_too_far", who_only_gives_is_ahead_and_not_too_far),
    ("communicators_come_and_go", communicators_come_and_go),
];

/// What a rank has in a round.
fn value(rank: usize, round: usize) -> u64 {
    (rank * 1_000_003 + round * 7 + 1) as u64
}

/// Ranks that only give are ahead of those that only take, by a different rank in each round, with data of lengths that
/// lie in different places.
fn short_collectives_in_a_row_do_not_mix(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let lens = [1, 6, 1, 100, 300, 1, 1_900, 2_500];
    for round in 0..2_000 {
        // Longer ones come in a row, too.
        let len = lens[if round % 5 == 0 { round / 5 % 4 } else { round / 40 } % lens.len()];
        let root = round / 3 % size;
        match round % 5 {
            0 => {
                let mut data = vec![if rank == root { value(root, round) } else { 0 }; len];
                world.bcast(&mut data, root)?;
                assert!(data.iter().all(|&word| word == value(root, round)), "broadcast of round {round}");
            }
            1 => {
                let mut sum = vec![0; len];
                world.reduce(&vec![value(rank, round); len], &mut sum, |a, b| a + b, root)?;
                let expected = if rank == root { (0..size).map(|rank| value(rank, round)).sum() } else { 0 };
                assert!(sum.iter().all(|&word| word == expected), "sum of round {round}");
            }
            2 => {
                let mut all = vec![0; if rank == root { len * size } else { 0 }];
                world.gather(&vec![value(rank, round); len], &mut all, root)?;
                let is_right = |place: usize| all[place] == value(place / len, round);
                assert!((0..all.len()).all(is_right), "what the root has gathered in round {round}");
            }
            3 => {
                let mut sum = vec![value(rank, round); len];
                world.scan_in_place(&mut sum, |a, b| a + b)?;
                let expected = (0..rank + 1).map(|rank| value(rank, round)).sum();
                assert!(sum.iter().all(|&word| word == expected), "prefix sum of round {round}");
            }
            _ => {
                let mut all = vec![0; len * size];
                world.allgather(&vec![value(rank, round); len], &mut all)?;
                let is_right = |place: usize| all[place] == value(place / len, round);
                assert!((0..len * size).all(is_right), "all of round {round}");
            }
        }
    }
    Ok(())
}

/// More collectives of one kind in a row than a shelf has slots, so that all of them are used again, with the same
/// giver, or the same taker.
fn who_only_gives_is_ahead_and_not_too_far(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for len in [1, 40, 1_000] {
        for round in 0..150 {
            let mut data = vec![if rank == 0 { value(0, round) } else { 0 }; len];
            world.bcast(&mut data, 0)?;
            assert!(data.iter().all(|&word| word == value(0, round)), "broadcast {round} of {len}");
        }
        for round in 0..150 {
            let mut all = vec![0; if rank == 0 { len * size } else { 0 }];
            world.gather(&vec![value(rank, round); len], &mut all, 0)?;
            let is_right = |place: usize| all[place] == value(place / len, round);
            assert!((0..all.len()).all(is_right), "gather {round} of {len}");
        }
    }
    Ok(())
}

/// On both sides of every border between ways to do them.
fn short_collectives_of_all_lengths_are_right(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let word = |rank: usize, index: usize| value(rank, index) as u32;
    let short = [0, 1, 11, 12, 13, 500, 2_047, 2_048, 4_095, 4_096, 4_097, 6_143, 6_144, 7_000, 8_192, 8_193];
    for len in short.into_iter().chain([10_000, 16_384, 16_385]) {
        let mine: Vec<u32> = (0..len).map(|index| word(rank, index)).collect();
        let mut highest = vec![0; len];
        world.allreduce(&mine, &mut highest, |&a, &b| a.max(b))?;
        let expected = |index| (0..size).map(|rank| word(rank, index)).max();
        assert!((0..len).all(|index| Some(highest[index]) == expected(index)), "allreduce of {len}");

        let mut all = vec![0; len * size];
        // Twice, since places take turns.
        for _ in 0..2 {
            all.fill(0);
            world.allgather(&mine, &mut all)?;
            let is_right = |place: usize| all[place] == word(place / len, place % len);
            assert!((0..len * size).all(is_right), "allgather of {len}");
        }

        let mut gathered = vec![0; if rank + 1 == size { len * size } else { 0 }];
        world.gather(&mine, &mut gathered, size - 1)?;
        assert!(rank + 1 != size || gathered == all, "gather of {len}");

        let ends = |a: u32, b: u32| a >> 16 << 16 | b & 0xffff;
        let mut of_all = vec![0; if rank + 1 == size { len } else { 0 }];
        world.reduce(&mine, &mut of_all, |&a, &b| ends(a, b), size - 1)?;
        let expected = |index| (0..size).map(|rank| word(rank, index)).reduce(ends);
        assert!((0..of_all.len()).all(|index| Some(of_all[index]) == expected(index)), "reduce of {len}");

        let mut before = vec![0; len];
        world.exscan(&mine, &mut before, |&a, &b| ends(a, b))?;
        let expected = |index| (0..rank).map(|rank| word(rank, index)).reduce(ends);
        assert!((0..len).all(|index| before[index] == expected(index).unwrap_or(0)), "exscan of {len}");

        let sent: Vec<u32> = (0..len * size).map(|place| word(rank, place)).collect();
        world.alltoall(&sent, &mut all)?;
        let is_right = |place: usize| all[place] == word(place / len, rank * len + place % len);
        assert!((0..len * size).all(is_right), "alltoall of {len}");
    }
    Ok(())
}

/// Memory that a communicator had is used again only when nobody looks at it any more.
fn communicators_come_and_go(universe: &Universe) -> Result<()> {
    let world = universe.world();
    for round in 0..200 {
        let dup: Communicator = world.dup()?;
        let mut data = [if dup.rank() == 0 { value(0, round) } else { 0 }; 20];
        dup.bcast(&mut data, 0)?;
        assert_eq!(data, [value(0, round); 20]);
    }
    Ok(())
}

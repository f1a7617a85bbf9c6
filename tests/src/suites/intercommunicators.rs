//! Intercommunicators: two groups that talk across.

use rwmpi::{ANY_SOURCE, Communicator, Comparison, Info, Result, Universe};

use super::Check;
use super::communicators::members;

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("messages_cross_to_the_other_group", messages_cross_to_the_other_group),
    ("intercommunicators_merge_in_the_order_asked_for", intercommunicators_merge_in_the_order_asked_for),
    ("intercommunicators_duplicate_and_compare", intercommunicators_duplicate_and_compare),
    ("both_groups_split", both_groups_split),
    ("both_groups_are_narrowed", both_groups_are_narrowed),
    ("groups_meet_without_a_bridge", groups_meet_without_a_bridge),
    ("wrong_intercommunicators_are_refused", wrong_intercommunicators_are_refused),
];

/// A communicator, and the ranks in the world of the caller's half and of the other one.
type Halves = (Communicator, Vec<usize>, Vec<usize>);

/// Even and odd ranks, the odd ones in descending order.
fn halves(universe: &Universe) -> Result<Halves> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let key = if rank % 2 == 0 { rank as i32 } else { -(rank as i32) };
    let half = world.split(Some(rank as u32 % 2), key)?.expect("everybody has a colour");
    let even: Vec<usize> = (0..size).step_by(2).collect();
    let odd: Vec<usize> = (1..size).step_by(2).rev().collect();
    Ok(if rank % 2 == 0 { (half, even, odd) } else { (half, odd, even) })
}

/// An intercommunicator of the two halves, led by the last rank of each; `None` if there is only one rank.
fn across(universe: &Universe) -> Result<Option<Halves>> {
    let (half, local, remote) = halves(universe)?;
    let Some(&leader) = remote.last() else { return Ok(None) };
    let bridge = (half.rank() == half.size() - 1).then_some((universe.world(), leader));
    let inter = half.create_intercommunicator(half.size() - 1, bridge, 9)?;
    Ok(Some((inter, local, remote)))
}

/// Every rank sends its rank in the world to every remote one, and finds in each message whom it came from.
fn exchange(inter: &Communicator, universe: &Universe, remote: &[usize]) -> Result<()> {
    let me = universe.world().rank();
    for rank in 0..remote.len() {
        inter.send_value(&me, rank, 4)?;
    }
    for (rank, &expected) in remote.iter().enumerate().skip(1) {
        assert_eq!(inter.recv_value::<usize>(rank, 4)?.0, expected);
    }
    let (value, status) = inter.recv_value::<usize>(ANY_SOURCE, 4)?;
    assert_eq!((value, status.source()), (remote[0], Some(0)));
    Ok(())
}

fn messages_cross_to_the_other_group(universe: &Universe) -> Result<()> {
    let Some((inter, local, remote)) = across(universe)? else { return Ok(()) };
    let me = universe.world().rank();
    assert!(inter.is_inter() && !universe.world().is_inter());
    assert_eq!((inter.size(), inter.remote_size()), (local.len(), Some(remote.len())));
    assert_eq!(local[inter.rank()], me);
    assert_eq!(universe.world().remote_size(), None);
    let world = universe.world().group();
    let remote_group = inter.remote_group().expect("an intercommunicator has one");
    let translated = remote_group.translate_ranks(&(0..remote.len()).collect::<Vec<_>>(), world)?;
    assert_eq!(translated, remote.iter().copied().map(Some).collect::<Vec<_>>());
    exchange(&inter, universe, &remote)?;
    // A long message, which its receiver advertises.
    let mut long = vec![0u64; 50_000];
    let partner = inter.rank().min(remote.len() - 1);
    if local.len() == remote.len() {
        let sent = vec![me as u64; long.len()];
        inter.sendrecv(&sent, partner, 5, &mut long, ANY_SOURCE, 5)?;
        assert!(long.iter().all(|&value| value == remote[partner] as u64));
    }
    assert!(inter.send_value(&0u8, remote.len(), 0).is_err());
    Ok(())
}

fn intercommunicators_merge_in_the_order_asked_for(universe: &Universe) -> Result<()> {
    let Some((inter, local, remote)) = across(universe)? else { return Ok(()) };
    let even = universe.world().rank().is_multiple_of(2);
    for even_high in [false, true] {
        let merged = inter.merge(even == even_high)?;
        let expected = match even == even_high {
            true => [&remote[..], &local].concat(),
            false => [&local[..], &remote].concat(),
        };
        assert_eq!(members(&merged, universe)?, expected);
        assert!(!merged.is_inter());
    }
    // Without an order, all ranks see the same one.
    let merged = inter.merge(true)?;
    assert_eq!(merged.size(), universe.world().size());
    let order = members(&merged, universe)?;
    assert!(order == [&remote[..], &local].concat() || order == [&local[..], &remote].concat());
    Ok(())
}

fn intercommunicators_duplicate_and_compare(universe: &Universe) -> Result<()> {
    let Some((inter, _, remote)) = across(universe)? else { return Ok(()) };
    let copy = inter.dup()?;
    assert!(copy.is_inter());
    assert_eq!(inter.compare(&copy), Comparison::Congruent);
    assert_eq!(inter.compare(universe.world()), Comparison::Unequal);
    exchange(&copy, universe, &remote)?;
    exchange(&inter, universe, &remote)?;
    let mut another = None;
    rwmpi::scope(|scope| inter.idup(scope, &mut another, &Info::new())?.wait())?;
    exchange(&another.expect("the request has completed"), universe, &remote)?;
    copy.free()
}

fn both_groups_split(universe: &Universe) -> Result<()> {
    let Some((inter, local, remote)) = across(universe)? else { return Ok(()) };
    let me = universe.world().rank();
    // Two by two: colours 0, 0, 1, 1, 0, …, the order turned round.
    let colour = |rank: usize| (rank / 2 % 2) as u32;
    let part = |group: &[usize]| -> Vec<usize> {
        let mut part: Vec<usize> = group.iter().copied().filter(|&rank| colour(rank) == colour(me)).collect();
        part.sort_unstable();
        part.reverse();
        part
    };
    let (local, remote) = (part(&local), part(&remote));
    let split = inter.split(Some(colour(me)), -(me as i32))?;
    assert_eq!(split.is_some(), !remote.is_empty());
    if let Some(split) = split {
        assert_eq!((split.size(), split.remote_size()), (local.len(), Some(remote.len())));
        assert_eq!(local[split.rank()], me);
        exchange(&split, universe, &remote)?;
    }
    assert!(inter.split(None, 0)?.is_none());
    Ok(())
}

fn both_groups_are_narrowed(universe: &Universe) -> Result<()> {
    let Some((inter, local, remote)) = across(universe)? else { return Ok(()) };
    let me = universe.world().rank();
    // The last member of each group.
    let last = inter.create(&inter.group().incl(&[local.len() - 1])?)?;
    assert_eq!(last.is_some(), local.last() == Some(&me));
    if let Some(last) = last {
        assert_eq!((last.size(), last.remote_size()), (1, Some(1)));
        exchange(&last, universe, &remote[remote.len() - 1..])?;
    }
    Ok(())
}

fn groups_meet_without_a_bridge(universe: &Universe) -> Result<()> {
    let Some((inter, _, remote)) = across(universe)? else { return Ok(()) };
    let remote_group = inter.remote_group().expect("an intercommunicator has one");
    let world = universe.world();
    let met = world.create_intercommunicator_from_groups(inter.group(), remote_group, "org.example.coupler")?;
    assert_eq!(met.compare(&inter), Comparison::Congruent);
    exchange(&met, universe, &remote)
}

fn wrong_intercommunicators_are_refused(universe: &Universe) -> Result<()> {
    let world = universe.world();
    assert!(world.create_intercommunicator(world.size(), None, 0).is_err());
    assert!(world.merge(false).is_err());
    // All ranks learn that their leader gave no bridge.
    assert!(world.create_intercommunicator(0, None, 0).is_err());
    // Groups with common members.
    let alone = universe.this_rank().group();
    let overlapping = world.create_intercommunicator_from_groups(alone, world.group(), "overlap");
    assert_eq!(overlapping.err().map(|error| error.class()), Some(rwmpi::ErrorClass::Communicator));
    if let Some((inter, ..)) = across(universe)? {
        let error = inter.create_intercommunicator(0, None, 1).err().expect("it has two groups already");
        assert_eq!(error.class(), rwmpi::ErrorClass::Communicator);
    }
    world.barrier()
}

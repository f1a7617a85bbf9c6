//! Communicators made of communicators and groups: who belongs to them, in which order, and that none gets another's
//! messages.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rwmpi::{AttributeKind, AttributeValue, Communicator, Comparison, Group, Info, Keyval, RankRange, Result};
use rwmpi::{SplitType, Universe};

use super::Check;

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("groups_tell_who_belongs", groups_tell_who_belongs),
    ("communicators_compare_by_group_and_context", communicators_compare_by_group_and_context),
    ("groups_become_communicators", groups_become_communicators),
    ("only_members_call_create_group", only_members_call_create_group),
    ("overlapping_groups_create_at_the_same_time", overlapping_groups_create_at_the_same_time),
    ("groups_need_no_parent_communicator", groups_need_no_parent_communicator),
    ("ranks_of_one_node_find_each_other", ranks_of_one_node_find_each_other),
    ("attributes_follow_duplicates_until_freed", attributes_follow_duplicates_until_freed),
    ("duplications_overlap_with_each_other_and_with_messages", duplications_overlap_with_each_other_and_with_messages),
    ("names_and_hints_are_kept", names_and_hints_are_kept),
    ("a_dropped_communicator_stays_for_its_requests", a_dropped_communicator_stays_for_its_requests),
];

/// Everybody's rank in the world, gathered over `communicator`.
pub(super) fn members(communicator: &Communicator, universe: &Universe) -> Result<Vec<usize>> {
    let mut all = vec![0; communicator.size()];
    communicator.allgather(&[universe.world().rank()], &mut all)?;
    Ok(all)
}

fn groups_tell_who_belongs(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let group = world.group();
    assert_eq!((group.rank(), group.size()), (Some(rank), size));
    let down = group.range_incl(&[RankRange { first: size as i64 - 1, last: 0, stride: -1 }])?;
    assert_eq!(down.rank(), Some(size - 1 - rank));
    assert_eq!(group.compare(&down), if size == 1 { Comparison::Identical } else { Comparison::Similar });
    let others = group.excl(&[rank])?;
    assert_eq!((others.rank(), others.size()), (None, size - 1));
    assert_eq!(
        universe.this_rank().group().union(&others).compare(group),
        match rank {
            0 => Comparison::Identical,
            _ => Comparison::Similar,
        }
    );
    assert_eq!(group.translate(rank, universe.this_rank().group())?, Some(0));
    Ok(())
}

fn communicators_compare_by_group_and_context(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let size = world.size();
    let copy = world.dup()?;
    assert_eq!(world.compare(&world.clone()), Comparison::Identical);
    assert_eq!(world.compare(&copy), Comparison::Congruent);
    let reversed = world.split(Some(0), -(world.rank() as i32))?.expect("everybody has a colour");
    assert_eq!(world.compare(&reversed), if size == 1 { Comparison::Congruent } else { Comparison::Similar });
    let alone = universe.this_rank();
    assert_eq!(world.compare(alone), if size == 1 { Comparison::Congruent } else { Comparison::Unequal });
    Ok(())
}

fn groups_become_communicators(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    // Even and odd ranks give different groups in one call; each in descending order.
    let mine: Vec<usize> = (0..size).rev().filter(|other| other % 2 == rank % 2).collect();
    let half = world.create(&world.group().incl(&mine)?)?.expect("everybody belongs to a half");
    assert_eq!(members(&half, universe)?, mine);
    assert!(world.create(&Group::empty())?.is_none());
    let last = world.create(&world.group().incl(&[size - 1])?)?;
    assert_eq!(last.is_some(), rank == size - 1);
    if size > 1 {
        let error = half.create(world.group()).err().expect("the world is larger than its half");
        assert_eq!(error.class(), rwmpi::ErrorClass::Group);
    }
    Ok(())
}

fn only_members_call_create_group(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let first: Vec<usize> = (0..size.div_ceil(2)).rev().collect();
    if rank < size.div_ceil(2) {
        let part = world.create_group(&world.group().incl(&first)?, 5)?.expect("the caller belongs to it");
        assert_eq!(members(&part, universe)?, first);
        let of_part = part.create_group(part.group(), 5)?.expect("the caller belongs to it");
        assert_eq!(part.compare(&of_part), Comparison::Congruent);
    }
    assert!(world.create_group(&Group::empty(), 0)?.is_none());
    assert_eq!(world.create_group(world.group(), -1).err().map(|error| error.class()), Some(rwmpi::ErrorClass::Tag));
    world.barrier()
}

/// Every rank makes a communicator with the next and one with the previous rank, in an order that leads round a ring;
/// all are in use at the same time.
fn overlapping_groups_create_at_the_same_time(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    if size < 2 {
        return Ok(());
    }
    let pair = |low: usize| world.create_group(&world.group().incl(&[low, (low + 1) % size])?, low as i32);
    let (up, down) = if rank == 0 {
        let up = pair(rank)?;
        (up, pair((rank + size - 1) % size)?)
    } else {
        let down = pair((rank + size - 1) % size)?;
        (pair(rank)?, down)
    };
    let (up, down) = (up.expect("a member"), down.expect("a member"));
    for tag in 0..3 {
        up.send_value(&(rank * 10 + tag as usize), 1, tag)?;
    }
    for tag in (0..3).rev() {
        let left = (rank + size - 1) % size;
        assert_eq!(down.recv_value::<usize>(0, tag)?.0, left * 10 + tag as usize);
    }
    world.barrier()
}

fn groups_need_no_parent_communicator(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let ranks: Vec<usize> = (0..world.size()).rev().collect();
    let made = world.create_from_group(&world.group().incl(&ranks)?, "org.example.solver")?;
    assert_eq!(members(&made, universe)?, ranks);
    assert!(world.create_from_group(&Group::empty(), "nobody").is_err());
    Ok(())
}

/// The ranks that share memory with this one, as the launcher has arranged it; the last first.
fn on_my_node(world: &Communicator) -> Vec<usize> {
    let only_tcp = std::env::var("RWMPI_TRANSPORT").is_ok_and(|transport| transport == "tcp");
    let nodes = std::env::var("RWMPI_NODES").unwrap_or_else(|_| vec!["0"; world.size()].join(","));
    let nodes: Vec<&str> = nodes.split(',').collect();
    let me = world.rank();
    (0..world.size()).rev().filter(|&rank| rank == me || (!only_tcp && nodes[rank] == nodes[me])).collect()
}

fn ranks_of_one_node_find_each_other(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let none = Info::new();
    let node = world.split_type(Some(SplitType::Shared), -(world.rank() as i32), &none)?.expect("a node");
    let here = on_my_node(world);
    assert_eq!(members(&node, universe)?, here);
    let mut guide = Info::new();
    guide.set("mpi_hw_resource_type", "mpi_shared_memory")?;
    assert!(world.split_type(Some(SplitType::Guided), 0, &guide)?.is_some());
    assert!(world.split_type(Some(SplitType::Guided), 0, &none)?.is_none());
    assert_eq!(world.split_type(Some(SplitType::Unguided), 0, &none)?.is_some(), here.len() < world.size());
    assert!(world.split_type(None, 0, &none)?.is_none());
    Ok(())
}

fn attributes_follow_duplicates_until_freed(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let deleted = Rc::new(RefCell::new(Vec::new()));
    let key = {
        let deleted = deleted.clone();
        Keyval::new(
            Some(Box::new(|_: &Communicator, old: &AttributeValue| {
                Ok((old.word() < 3).then(|| AttributeValue::new(old.word() + 1, old.kind())))
            })),
            Some(Box::new(move |_: &Communicator, value: &AttributeValue| {
                deleted.borrow_mut().push(value.word());
                Ok(())
            })),
        )
    };
    let word = |communicator: &Communicator| communicator.attributes().get(&key).map(|value| value.word());
    let first = world.dup()?;
    first.attributes().set(&first, &key, AttributeValue::new(2, AttributeKind::Pointer))?;
    let second = first.dup()?;
    let third = second.dup()?;
    assert_eq!((word(&first), word(&second), word(&third)), (Some(2), Some(3), None));
    third.free()?;
    second.free()?;
    assert_eq!(*deleted.borrow(), [3]);
    // A copy function that fails on one rank fails there only, and the others are not kept waiting.
    let fails = Rc::new(Cell::new(world.rank() == 0));
    let stubborn = {
        let fails = fails.clone();
        Keyval::new(
            Some(Box::new(move |_: &Communicator, _| match fails.get() {
                true => Err(rwmpi::Error::new(rwmpi::ErrorClass::Other, "no copy today")),
                false => Ok(None),
            })),
            None,
        )
    };
    first.attributes().set(&first, &stubborn, AttributeValue::new(0, AttributeKind::Pointer))?;
    assert_eq!(first.dup().is_err(), world.rank() == 0);
    fails.set(false);
    first.dup()?.disconnect()?;
    first.free()
}

fn duplications_overlap_with_each_other_and_with_messages(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let reversed = world.split(Some(0), -(rank as i32))?.expect("everybody has a colour");
    let key = Keyval::new(Keyval::copy_as_is(), None);
    world.attributes().set(world, &key, AttributeValue::new(8, AttributeKind::Pointer))?;
    let (mut first, mut second, mut third) = (None, None, None);
    rwmpi::scope(|scope| {
        let none = Info::new();
        // Waited for in another order than started; a blocking collective and a message in between.
        let a = world.idup(scope, &mut first, &none)?;
        let b = reversed.idup(scope, &mut second, &none)?;
        let c = world.idup(scope, &mut third, &none)?;
        let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
        world.send_value(&rank, right, 1)?;
        world.barrier()?;
        assert_eq!(world.recv_value::<usize>(left, 1)?.0, left);
        for request in [c, b, a] {
            request.wait()?;
        }
        Ok(())
    })?;
    world.attributes().delete(world, &key)?;
    let [first, second, third] = [first, second, third].map(|made| made.expect("the request has completed"));
    assert_eq!(second.compare(&reversed), Comparison::Congruent);
    assert_eq!(third.attributes().get(&key).map(|value| value.word()), Some(8));
    // The same message in all of them: none gets another's.
    let place = second.rank();
    first.send_value(&1u8, (rank + 1) % size, 0)?;
    second.send_value(&2u8, (place + 1) % size, 0)?;
    third.send_value(&3u8, (rank + 1) % size, 0)?;
    assert_eq!(third.recv_value::<u8>((rank + size - 1) % size, 0)?.0, 3);
    assert_eq!(second.recv_value::<u8>((place + size - 1) % size, 0)?.0, 2);
    assert_eq!(first.recv_value::<u8>((rank + size - 1) % size, 0)?.0, 1);
    Ok(())
}

fn names_and_hints_are_kept(universe: &Universe) -> Result<()> {
    let world = universe.world();
    assert_eq!((world.name().as_str(), universe.this_rank().name().as_str()), ("MPI_COMM_WORLD", "MPI_COMM_SELF"));
    let mut hints = Info::new();
    for (key, value) in
        [("mpi_assert_no_any_tag", "true"), ("unknown_key", "true"), ("mpi_assert_exact_length", "perhaps")]
    {
        hints.set(key, value)?;
    }
    let copy = world.dup_with_info(&hints)?;
    assert_eq!(copy.name(), "");
    copy.set_name("halo");
    assert_eq!(copy.name(), "halo");
    let error = copy.send_value(&0u8, copy.size(), 0).unwrap_err();
    assert!(error.to_string().contains("halo"), "{error}");
    let kept = copy.info();
    assert_eq!(kept.get("mpi_assert_no_any_tag")?, Some("true"));
    assert_eq!(kept.get("mpi_assert_exact_length")?, Some("false"));
    assert_eq!(kept.get("unknown_key")?, None);
    assert_eq!(copy.dup()?.info().get("mpi_assert_no_any_tag")?, Some("false"));
    Ok(())
}

fn a_dropped_communicator_stays_for_its_requests(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let copy = world.dup()?;
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut received = [0usize];
    rwmpi::scope(|scope| {
        let request = copy.irecv(scope, &mut received, left, 3)?;
        // One more, so that the peer's message finds a communicator that its own rank has let go of.
        let sent = copy.clone();
        copy.free()?;
        sent.send_value(&rank, right, 3)?;
        drop(sent);
        request.wait().map(drop)
    })?;
    assert_eq!(received, [left]);
    Ok(())
}

//! Windows of Rust programs: what ranks do to each other's memory, and what becomes of mistakes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rwmpi::one_sided::{Attached, DynamicWindow, Fence, TargetMemory};
use rwmpi::{
    AccumulateOperation, Communicator, Datatype, Error, ErrorClass, Info, LockKind, PROC_NULL, Result, SplitType,
    Universe, Window, op,
};

use super::Check;

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("puts_and_gets_reach_every_place", puts_and_gets_reach_every_place),
    ("windows_of_structures_have_whole_elements", windows_of_structures_have_whole_elements),
    ("fences_order_what_all_ranks_do", fences_order_what_all_ranks_do),
    ("neighbours_expose_their_memory_to_each_other", neighbours_expose_their_memory_to_each_other),
    ("atomic_operations_lose_nothing", atomic_operations_lose_nothing),
    ("who_has_the_lock_is_alone", who_has_the_lock_is_alone),
    ("borrowed_memory_comes_back", borrowed_memory_comes_back),
    ("who_leaves_a_window_in_an_error_stops_it_for_all", who_leaves_a_window_in_an_error_stops_it_for_all),
    ("who_panics_between_fences_lets_nobody_wait", who_panics_between_fences_lets_nobody_wait),
    ("ranks_at_different_steps_hear_of_it", ranks_at_different_steps_hear_of_it),
    ("forgotten_guards_are_errors_later", forgotten_guards_are_errors_later),
    ("accesses_beyond_memory_are_errors", accesses_beyond_memory_are_errors),
    ("dropped_windows_harm_nobody", dropped_windows_harm_nobody),
    ("ranks_see_each_others_shared_memory", ranks_see_each_others_shared_memory),
    ("memory_comes_and_goes", memory_comes_and_goes),
    ("who_detaches_too_early_harms_nobody", who_detaches_too_early_harms_nobody),
];

/// What a call that must fail says.
fn failed<T>(result: Result<T>, class: ErrorClass) -> String {
    let error = result.map(drop).expect_err("this is wrong");
    assert_eq!(error.class(), class, "{error}");
    error.to_string()
}

fn puts_and_gets_reach_every_place(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    // Of any length, and long enough for every way of copying.
    for len in [1, 3, 40_000] {
        let window = Window::allocate(world, len * size, u32::MAX)?;
        let epoch = window.lock_all()?;
        for target in 0..size {
            epoch.target(target)?.put(rank * len, &vec![(rank * size + target) as u32; len])?;
        }
        epoch.flush()?;
        world.barrier()?;
        let expected: Vec<u32> = (0..size).flat_map(|origin| vec![(origin * size + rank) as u32; len]).collect();
        assert_eq!(epoch.local().to_vec(), expected);
        for target in 0..size {
            let mut values = vec![0; len];
            epoch.target(target)?.get(rank * len, &mut values)?;
            assert_eq!(values, vec![(rank * size + target) as u32; len]);
            assert_eq!(epoch.request_get(target, rank * len, len)?.wait()?, values);
        }
        epoch.target(PROC_NULL)?.put(usize::MAX, &[1])?;
        assert_eq!(epoch.request_get(PROC_NULL, 7, usize::MAX)?.wait()?, []);
        failed(epoch.target(PROC_NULL)?.get_value(0), ErrorClass::Rank);
        epoch.unlock()?;
        window.free()?;
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
#[repr(C)]
struct Entry {
    key: u64,
    values: [f32; 4],
}

fn windows_of_structures_have_whole_elements(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let entry = |number: usize| Entry { key: number as u64, values: [number as f32; 4] };
    let mut window = Window::allocate(world, size + rank, entry(0))?;
    let lens: Vec<Option<usize>> = (0..=size).map(|rank| window.len_of(rank)).collect();
    assert!(lens.iter().enumerate().all(|(rank, len)| *len == (rank < size).then_some(size + rank)));
    for target in 0..size {
        let memory = window.lock(target, LockKind::Exclusive)?;
        assert_eq!(memory.len(), size + target);
        memory.put_value(rank, entry(rank + 10 * target))?;
        assert_eq!(memory.get_value(rank)?, entry(rank + 10 * target));
    }
    world.barrier()?;
    let own = window.lock_local()?;
    let expected: Vec<Entry> = (0..size).map(|origin| entry(origin + 10 * rank)).chain(vec![entry(0); rank]).collect();
    assert_eq!(*own, expected);
    drop(own);
    window.free()
}

fn fences_order_what_all_ranks_do(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut window = Window::allocate(world, 2, 0)?;
    for _ in 0..3 {
        let sum = window.fence(|epoch| {
            for round in 0..20 {
                epoch.target(right)?.put_value(0, rank * 100 + round)?;
                epoch.fence()?;
                assert_eq!(epoch.local().get(0)?, left * 100 + round);
                let before = epoch.locally(|own| {
                    let seen = own[0];
                    std::mem::replace(&mut own[1], seen)
                })?;
                assert!(round == 0 || before == left * 100 + round - 1);
                assert_eq!(epoch.target(right)?.get_value(1)?, rank * 100 + round);
            }
            world.allreduce_value(rank, op::sum)
        })?;
        assert_eq!(sum, size * (size - 1) / 2);
    }
    window.free()
}

fn neighbours_expose_their_memory_to_each_other(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut neighbours = vec![left, right];
    neighbours.dedup();
    let mut window = Window::allocate(world, 2, 0)?;
    for round in 0..30 {
        let mut exposure = window.post(&neighbours)?;
        let access = window.start(&neighbours)?;
        access.target(right)?.put_value(0, rank + round)?;
        access.target(left)?.put_value(1, rank + round)?;
        if let Some(stranger) = (0..size).find(|other| !neighbours.contains(other)) {
            failed(access.target(stranger)?.put_value(0, 0), ErrorClass::RmaSync);
        }
        drop(access);
        if round % 2 == 0 {
            exposure.wait()?;
        } else {
            while !exposure.test()? {}
            assert!(exposure.test()?);
            drop(exposure);
        }
        assert_eq!(*window.lock_local()?, [left + round, right + round]);
    }
    window.free()
}

/// Each rank adds in its own way, to one element at each rank.
fn atomic_operations_lose_nothing(universe: &Universe) -> Result<()> {
    const TIMES: usize = 200;
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    // Memory that all have mapped, and a vector that perhaps only this rank has.
    let check = |window: &mut Window<'_, i16>| {
        let epoch = window.lock_all()?;
        for turn in 0..TIMES {
            let memory = epoch.target((rank + turn) % size)?;
            match (rank + turn) % 3 {
                0 => drop(memory.fetch_add(1, 1)?),
                1 => memory.accumulate(1, &[1], AccumulateOperation::Sum)?,
                _ => add_by_comparing(&memory)?,
            }
        }
        drop(epoch);
        world.barrier()?;
        let sum = world.allreduce_value(i64::from(window.lock_local()?[1]), op::sum)?;
        assert_eq!(sum, (TIMES * size) as i64);
        Ok(())
    };
    let mut window = Window::allocate(world, 3, 0)?;
    check(&mut window)?;
    window.free()?;
    Window::create(world, &mut [0; 3], check)
}

fn add_by_comparing(memory: &TargetMemory<'_, i16>) -> Result<()> {
    let mut seen = memory.load(1)?;
    while let Err(found) = memory.compare_exchange(1, seen, seen + 1)? {
        seen = found;
    }
    Ok(())
}

/// What is read under the lock does not change, and slices neither.
fn who_has_the_lock_is_alone(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let mut window = Window::allocate(world, 2, 0_u64)?;
    for turn in 0..50 {
        let target = (rank + turn) % size;
        if target == rank {
            let mut own = window.lock_local()?;
            assert_eq!(own[0], own[1]);
            own[0] += 1;
            own[1] = own[0];
            continue;
        }
        let memory = window.lock(target, LockKind::Exclusive)?;
        let (first, second) = (memory.get_value(0)?, memory.get_value(1)?);
        assert_eq!(first, second);
        memory.put_value(0, first + 1)?;
        memory.put_value(1, first + 1)?;
        failed(memory.local(), ErrorClass::RmaSync);
    }
    world.barrier()?;
    let sum = world.allreduce_value(window.lock(rank, LockKind::Shared)?.local()?.get(1)?, op::sum)?;
    assert_eq!(sum, 50 * size as u64);
    window.free()
}

fn borrowed_memory_comes_back(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for len in [1, 70_000] {
        let (mut first, mut second) = (vec![0; len], vec![0; len]);
        let lent = Window::create(world, &mut first, |one| {
            Window::create(world, &mut second, |other| {
                one.lock((rank + 1) % size, LockKind::Shared)?.put_value(len - 1, rank + 1)?;
                other.fence(|epoch| epoch.target((rank + 1) % size)?.put(0, &vec![rank + 2; len]))
            })
        });
        lent?;
        let left = (rank + size - 1) % size;
        assert_eq!((first[len - 1], second), (left + 1, vec![left + 2; len]));
    }
    Ok(())
}

fn who_leaves_a_window_in_an_error_stops_it_for_all(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let rank = world.rank();
    let mut memory = [0; 2];
    let result: Result<()> = Window::create(world, &mut memory, |window| {
        window.fence(|epoch: &mut Fence<'_, i32>| {
            if rank == 0 {
                return Err(Error::new(ErrorClass::Other, "no more"));
            }
            epoch.fence()?;
            epoch.target(0)?.put_value(0, 1)
        })
    });
    let class = if rank == 0 { ErrorClass::Other } else { ErrorClass::RmaSync };
    failed(result, class);
    // It is the program's again.
    memory[0] += 1;
    world.barrier()?;
    assert_eq!(memory, [1, 0]);
    Ok(())
}

fn who_panics_between_fences_lets_nobody_wait(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let mut window = Window::allocate(world, 1, 0)?;
    let result = catch_unwind(AssertUnwindSafe(|| {
        window.fence(|epoch| {
            epoch.locally(|own| {
                own[0] = 1;
                // Not by a panic, so that no message is printed.
                if rank == size - 1 {
                    std::panic::resume_unwind(Box::new("as expected"));
                }
            })
        })
    }));
    match result {
        Ok(result) => assert!(failed(result, ErrorClass::RmaSync).contains("not at the same step")),
        Err(_) => assert_eq!(rank, size - 1),
    }
    // Where there is nobody else, nobody has been elsewhere.
    if size > 1 {
        failed(window.lock_local(), ErrorClass::Window);
        failed(window.lock_all(), ErrorClass::Window);
        failed(window.fence(|_| Ok(())), ErrorClass::Window);
        failed(window.free(), ErrorClass::Window);
    }
    Ok(())
}

fn ranks_at_different_steps_hear_of_it(universe: &Universe) -> Result<()> {
    let world = universe.world();
    if world.size() == 1 {
        return Ok(());
    }
    let is_first = world.rank() == 0;
    let mut window = Window::allocate(world, 1, 0)?;
    let result = if is_first { window.free() } else { window.fence(|_| Ok(())) };
    let text = failed(result, ErrorClass::RmaSync);
    assert!(text.contains("frees it") && text.contains("begins epochs of fences"), "{text}");
    // Elements of different sizes.
    let result = if is_first {
        Window::allocate(world, 1, 0_u16).map(drop)
    } else {
        Window::allocate(world, 1, [0_u8; 3]).map(drop)
    };
    let text = failed(result, ErrorClass::RmaSync);
    assert!(text.contains("2 bytes") && text.contains("3 bytes"), "{text}");
    // Memory that one of them has not.
    let result = Window::allocate(world, if is_first { usize::MAX / 16 } else { 1 }, 0_u64);
    failed(result, ErrorClass::NoMemory);
    world.barrier()
}

fn forgotten_guards_are_errors_later(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let rank = world.rank();
    let mut window = Window::allocate(world, 1, 0)?;
    std::mem::forget(window.lock(rank, LockKind::Shared)?);
    failed(window.lock_local(), ErrorClass::RmaSync);
    // All ranks hear of it, whoever has forgotten one.
    failed(window.fence(|_| Ok(())), ErrorClass::RmaSync);
    failed(window.free(), ErrorClass::Window);
    let mut window = Window::allocate(world, 1, 0)?;
    if rank == 0 {
        std::mem::forget(window.post(&[])?);
        failed(window.lock_local(), ErrorClass::RmaSync);
    }
    failed(window.free(), ErrorClass::RmaSync);
    Ok(())
}

fn accesses_beyond_memory_are_errors(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let window = Window::allocate(world, 4, 0_u32)?;
    window.set_name("numbers");
    let epoch = window.lock_all()?;
    let memory = epoch.target((rank + 1) % size)?;
    let text = failed(memory.put(3, &[1, 2]), ErrorClass::RmaRange);
    assert!(text.contains("window \"numbers\"") && text.contains("bytes 12 to 20"), "{text}");
    failed(memory.get(usize::MAX, &mut [0]), ErrorClass::RmaRange);
    failed(memory.get(usize::MAX / 4, &mut [0]), ErrorClass::RmaRange);
    failed(memory.fetch_add(4, 1), ErrorClass::RmaRange);
    failed(epoch.request_get(rank, 1, usize::MAX), ErrorClass::RmaRange);
    failed(epoch.local().get(4), ErrorClass::RmaRange);
    failed(epoch.local().write(usize::MAX, &[1]), ErrorClass::RmaRange);
    failed(epoch.target(size), ErrorClass::Rank);
    failed(memory.accumulate(0, &[1], AccumulateOperation::MaxLocation), ErrorClass::Operation);
    failed(memory.get_accumulate(0, &[1], &mut [0, 0], AccumulateOperation::Sum), ErrorClass::Truncate);
    failed(window.lock(rank, LockKind::Shared), ErrorClass::RmaSync);
    failed(window.start(&[size]), ErrorClass::Rank);
    world.barrier()?;
    assert_eq!(epoch.local().to_vec(), [0; 4]);
    epoch.unlock()?;
    window.free()
}

fn dropped_windows_harm_nobody(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let window = Window::allocate(world, 2, 0)?;
    if rank == 0 {
        drop(window);
        world.barrier()?;
        return world.barrier();
    }
    world.barrier()?;
    // Rank 0's memory is still there.
    let epoch = window.lock(0, LockKind::Shared)?;
    epoch.fetch_add(1, 1)?;
    drop(epoch);
    window.lock(rank % size, LockKind::Exclusive)?.put_value(0, rank)?;
    world.barrier()
}

/// The ranks of this one's node.
fn node_of(universe: &Universe) -> Result<Communicator> {
    let world = universe.world();
    Ok(world.split_type(Some(SplitType::Shared), world.rank() as i32, &Info::new())?.expect("all are on a node"))
}

fn ranks_see_each_others_shared_memory(universe: &Universe) -> Result<()> {
    let node = node_of(universe)?;
    let (rank, size) = (node.rank(), node.size());
    let right = (rank + 1) % size;
    let mut window = Window::allocate_shared(&node, rank + 1, 0_u16)?;
    let epoch = window.lock_all()?;
    let other = epoch.seen(right)?;
    assert_eq!(other.len(), right + 1);
    other.set(right, right as u16 + 1000)?;
    failed(other.set(right + 1, 1), ErrorClass::RmaRange);
    failed(epoch.seen(size), ErrorClass::Rank);
    epoch.sync();
    node.barrier()?;
    assert_eq!(epoch.local().get(rank)?, rank as u16 + 1000);
    drop(epoch);
    node.barrier()?;
    window.fence(|epoch| {
        for round in 1..4 {
            epoch.locally(|own| own.fill(round * 100 + rank as u16))?;
            let sums = epoch.read_all(|parts| {
                assert!((0..size).all(|rank| parts[rank].len() == rank + 1));
                parts.iter().map(|part| part.iter().map(|&value| usize::from(value)).sum()).collect::<Vec<usize>>()
            })?;
            let expected: Vec<usize> = (0..size).map(|rank| (rank + 1) * (usize::from(round) * 100 + rank)).collect();
            assert_eq!(sums, expected);
        }
        Ok(())
    })?;
    window.free()?;
    // Who is at another step is heard of.
    let mut window = Window::allocate_shared(&node, 1, 0)?;
    if size > 1 {
        let at_odds = window.fence(|epoch| match rank {
            0 => epoch.read_all(|parts| parts.len()).map(drop),
            _ => epoch.fence(),
        });
        assert!(failed(at_odds, ErrorClass::RmaSync).contains("begins to read the memory of all"));
    }
    Ok(())
}

/// What all ranks have told of what they have attached.
fn told<T>(universe: &Universe, own: Attached<T>) -> Result<Vec<Attached<T>>> {
    let world = universe.world();
    let mut words = vec![[0_u64; 3]; world.size()];
    world.allgather(&[own.to_words()], &mut words)?;
    Ok(words.into_iter().map(Attached::from_words).collect())
}

fn memory_comes_and_goes(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let right = (rank + 1) % size;
    let mut window = DynamicWindow::create(world)?;
    for round in 0..3_u64 {
        let own = window.attach(size + rank, round)?;
        let all = told(universe, own)?;
        let epoch = window.lock_all()?;
        for other in &all {
            assert_eq!(other.len(), size + other.rank());
            let memory = epoch.attached(*other)?;
            assert_eq!((memory.rank(), memory.len()), (Some(other.rank()), other.len()));
            memory.put_value(rank, 100 + rank as u64)?;
            memory.fetch_add(rank, 1000)?;
            failed(memory.put_value(other.len(), 1), ErrorClass::RmaRange);
            failed(memory.get(usize::MAX, &mut [0]), ErrorClass::RmaRange);
        }
        epoch.unlock()?;
        world.barrier()?;
        let memory = window.lock(rank, LockKind::Shared)?;
        let mut values = vec![0; size + rank];
        memory.attached(own)?.get(0, &mut values)?;
        let expected: Vec<u64> = (0..size).map(|origin| 1100 + origin as u64).chain(vec![round; rank]).collect();
        assert_eq!(values, expected);
        assert_eq!(memory.attached(own)?.swap(0, 5)?, 1100);
        drop(memory);
        window.fence(|epoch| epoch.attached(all[right])?.put_value(0, rank as u64))?;
        if round == 1 {
            failed(
                if size > 1 { window.detach(all[right]) } else { window.detach(Attached::from_words([0; 3])) },
                ErrorClass::RmaAttach,
            );
            window.detach(own)?;
            failed(window.detach(own), ErrorClass::RmaAttach);
        }
    }
    window.free()
}

fn who_detaches_too_early_harms_nobody(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let right = (world.rank() + 1) % world.size();
    let window = DynamicWindow::create(world)?;
    let own = window.attach(100, 1.5)?;
    let other = told(universe, own)?[right];
    window.detach(own)?;
    world.barrier()?;
    let epoch = window.lock_all()?;
    let late = epoch.attached(other)?.put(3, &[2.5]).and_then(|()| epoch.flush());
    failed(late, ErrorClass::RmaRange);
    drop(epoch);
    // What was never attached is no memory either.
    let epoch = window.lock_all()?;
    let nothing = Attached::from_words([right as u64, 4096, 7]);
    failed(epoch.attached(nothing)?.get_value(0), ErrorClass::RmaRange);
    drop(epoch);
    // Dropped instead of freed, it leaves its memory to those who are late.
    drop(window);
    world.barrier()
}

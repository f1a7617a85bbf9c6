//! The examples: each runs at several numbers of ranks, and its result is checked.
#![allow(dead_code)] // what only their `main` uses

use rwmpi::{Communicator, Result, Universe};

#[path = "../../examples/files.rs"]
mod files;
#[path = "../../examples/heat.rs"]
mod heat;
#[path = "../../examples/hello.rs"]
mod hello;
#[path = "../../examples/monte_carlo.rs"]
mod monte_carlo;
#[path = "../../examples/mpi4py.rs"]
mod mpi4py;
#[path = "../../examples/nbody.rs"]
mod nbody;
#[path = "../../examples/one_sided.rs"]
mod one_sided;
#[path = "../../examples/rsmpi.rs"]
mod rsmpi;
#[path = "../../examples/sort.rs"]
mod sort;
#[path = "../../examples/task_farm.rs"]
mod task_farm;
#[path = "../../examples/topology.rs"]
mod topology;

/// What needs somebody else.
const FOR_SEVERAL: &[Shown] = &[mpi4py::objects, mpi4py::objects_without_waiting, mpi4py::arrays];

const FOR_ANY: &[Shown] = &[
    mpi4py::broadcast_a_dictionary,
    mpi4py::scatter_objects,
    mpi4py::gather_objects,
    mpi4py::broadcast_an_array,
    mpi4py::scatter_an_array,
    mpi4py::gather_an_array,
    rsmpi::point_to_point,
    rsmpi::derived_types,
    rsmpi::without_waiting,
    rsmpi::collectives,
    rsmpi::operations,
    rsmpi::parts_of_any_length,
    rsmpi::communicators,
    rsmpi::grids,
];

/// What is shown on a communicator.
type Shown = fn(&Communicator) -> Result<()>;

/// They assert what they show.
#[rwmpi::test(ranks = 4)]
fn what_other_tutorials_show_can_be_shown(universe: &Universe) -> Result<()> {
    for world in [universe.world(), universe.this_rank()] {
        let for_several = if world.size() > 1 { FOR_SEVERAL } else { &[] };
        for_several.iter().chain(FOR_ANY).try_for_each(|show| show(world))?;
        let row = vec![2.0; world.size()];
        let product = mpi4py::matrix_times_vector(world, &row, &[world.rank() as f64])?;
        assert_eq!(product, [(0..world.size()).sum::<usize>() as f64 * 2.0]);
        mpi4py::compute_pi(world, 1000)?;
    }
    Ok(())
}

#[rwmpi::test(ranks = 3)]
fn hello_greets_everybody(universe: &Universe) -> Result<()> {
    let greetings = hello::run(universe.world())?;
    if universe.world().rank() == 0 {
        assert_eq!(greetings[2], "rank 2 of 3 says hello");
    }
    Ok(())
}

/// It prints what the book says.
#[rwmpi::test(ranks = 4)]
fn neighbours_of_a_grid_are_those_of_the_book(universe: &Universe) -> Result<()> {
    let chapter = include_str!("../../docs/book/src/topologies.md");
    let shown = chapter.split_once("```text\n").and_then(|(_, rest)| rest.split_once("```")).unwrap_or_default().0;
    let lines = topology::run(universe.world())?;
    if universe.world().rank() == 0 {
        assert_eq!(lines, shown.lines().collect::<Vec<_>>());
    }
    Ok(())
}

#[rwmpi::test(ranks = 4)]
fn monte_carlo_finds_pi(universe: &Universe) -> Result<()> {
    let estimate = monte_carlo::run(universe.world(), 50_000)?;
    assert!((estimate.mean - std::f64::consts::PI).abs() < 4.0 * estimate.error, "{} is not pi", estimate.mean);
    Ok(())
}

#[rwmpi::test(ranks = 4)]
fn heat_spreads_alike_at_any_number_of_ranks(universe: &Universe) -> Result<()> {
    let parts = universe.world().allgather_values(&heat::run(universe.world(), 101, 300)?)?;
    assert_eq!(parts.concat(), heat::run(universe.this_rank(), 101, 300)?);
    let sum: f64 = parts.concat().iter().sum();
    assert!((sum - 1.0).abs() < 1e-3 && parts[2][0] > parts[1][0], "{parts:?}");
    Ok(())
}

#[rwmpi::test(ranks = 4)]
fn sort_sorts_numbers_and_texts(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let number = |place: usize| (place * 7919 + 13) % 1009;
    let mine: Vec<usize> = (0..1000).skip(world.rank()).step_by(world.size()).map(number).collect();
    let mut expected: Vec<usize> = (0..1000).map(number).collect();
    expected.sort_unstable();
    assert_eq!(world.allgather_values(&sort::run(world, mine.clone())?)?.concat(), expected);
    let texts = mine.iter().map(|number| format!("{number:04}")).collect();
    let expected: Vec<String> = expected.iter().map(|number| format!("{number:04}")).collect();
    assert_eq!(world.allgather_values(&sort::run(world, texts)?)?.concat(), expected);
    // More ranks than there is to sort.
    let few = if world.rank() == 3 { vec!['b', 'a'] } else { Vec::new() };
    assert_eq!(world.allgather_values(&sort::run(world, few)?)?.concat(), ['a', 'b']);
    Ok(())
}

#[rwmpi::test(ranks = 4)]
fn the_task_farm_does_every_task(universe: &Universe) -> Result<()> {
    for world in [universe.world(), universe.this_rank()] {
        let found = task_farm::run(world, (2..60).collect())?;
        if world.rank() == 0 {
            assert_eq!(found.len(), 58);
            assert!(found.iter().all(|(number, factors)| factors.iter().product::<u64>() == *number));
        }
    }
    Ok(())
}

#[rwmpi::test(ranks = 4)]
fn bodies_move_alike_at_any_number_of_ranks(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let catalogue = if world.rank() == 0 { nbody::catalogue() } else { Vec::new() };
    let moved = nbody::run(world, catalogue, 0.01, 100)?;
    let moved = world.allgather_values(&moved)?.concat();
    assert_eq!(moved, nbody::run(universe.this_rank(), nbody::catalogue(), 0.01, 100)?);
    let [x, y, _] = moved[0].1.position;
    assert!((x.hypot(y) - 0.5).abs() < 0.02, "they circle: {x} {y}");
    Ok(())
}

#[rwmpi::test(ranks = 4)]
fn heat_spreads_alike_by_messages_and_by_put(universe: &Universe) -> Result<()> {
    let parts = universe.world().allgather_values(&one_sided::heat(universe.world(), 101, 300)?)?;
    assert_eq!(parts.concat(), heat::run(universe.this_rank(), 101, 300)?);
    assert_eq!(one_sided::heat(universe.this_rank(), 101, 300)?, parts.concat());
    Ok(())
}

/// A name that is the same at all ranks.
fn file_name(name: &str) -> String {
    let path = std::env::temp_dir().join(format!("rwmpi-example-{}-{name}", std::process::id()));
    path.to_str().expect("it has no odd letters").to_owned()
}

#[rwmpi::test(ranks = 4)]
fn heat_goes_on_from_a_file_at_any_number_of_ranks(universe: &Universe) -> Result<()> {
    let (world, alone, path) = (universe.world(), universe.this_rank(), file_name("rod"));
    let rod = files::run(world, &files::Rod::new(world, 101), 200)?;
    files::save(world, &path, &rod)?;
    // All four go on together, and each by itself.
    let parts = world.allgather_values(&files::run(world, &files::restore(world, &path)?, 100)?.own)?;
    let whole = files::run(alone, &files::restore(alone, &path)?, 100)?;
    assert_eq!(parts.concat(), whole.own);
    assert_eq!(whole.own, heat::run(alone, 101, 300)?);
    world.barrier()?;
    if world.rank() == 0 {
        rwmpi::delete_file(&path)?;
    }
    Ok(())
}

#[rwmpi::test(ranks = 4)]
fn each_line_of_a_file_is_read_by_one_rank(universe: &Universe) -> Result<()> {
    let (world, path) = (universe.world(), file_name("lines"));
    let long = "a line that is longer than all others together, so that some ranks have none ".repeat(70);
    for (number, text) in ["", "a\n", "one\ntwo\n\nfour\nno end", &format!("a\n{long}\nb\nc\n")].iter().enumerate() {
        let path = format!("{path}-{number}");
        if world.rank() == 0 {
            std::fs::write(&path, text).expect("it can be written");
        }
        world.barrier()?;
        let lines = world.allgather_values(&files::lines(world, &path)?)?.concat();
        assert_eq!(lines, text.lines().map(str::trim_end).collect::<Vec<_>>());
        if world.rank() == 0 {
            rwmpi::delete_file(&path)?;
        }
    }
    Ok(())
}

#[rwmpi::test(ranks = 4)]
fn every_number_is_given_to_one_rank(universe: &Universe) -> Result<()> {
    let mut numbers = universe.world().allgather_values(&one_sided::numbered(universe.world(), 500)?)?.concat();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..500));
    Ok(())
}

#[rwmpi::test(ranks = 4)]
fn words_are_counted_in_one_table(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let found = one_sided::count_words(world, &["a", "put", "a", ["b", "c"][world.rank() % 2]])?;
    let mut found = world.allgather_values(&found)?.concat();
    found.sort();
    let expected = [("a", 8), ("b", 2), ("c", 2), ("put", 4)].map(|(word, count)| (word.to_owned(), count));
    assert_eq!(found, expected);
    Ok(())
}

#[rwmpi::test(ranks = 4)]
fn every_task_is_done_once_whoever_steals_it(universe: &Universe) -> Result<()> {
    for world in [universe.world(), universe.this_rank()] {
        for tasks in [0, 1, 7, 2000] {
            let mut done = world.allgather_values(&one_sided::steal(world, tasks)?)?.concat();
            done.sort_unstable();
            assert!(done.into_iter().eq((0..tasks).map(|task| (task, u64::from(task).pow(2)))), "{tasks} tasks");
        }
    }
    Ok(())
}

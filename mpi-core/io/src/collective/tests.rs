//! Accesses of one to five ranks, together and each by itself at the same time, against a map of bytes: random blocks
//! of a file belong to random ranks, or to none. And what all ranks come out with when one of them fails.

use std::path::{Path, PathBuf};

use fastrand::Rng;
use rwmpi_core::datatype::{Basic, Datatype};
use rwmpi_core::{Communicator, FileWays, Info, Protocol, run_threads};

use super::messages::Aggregators;
use super::team::{Fault, Part, Team};
use super::{Halves, Means, Staging, read, write};
use crate::Representation;
use crate::tests::{Buffer, Faulty, Shape};
use crate::{Direction, File, Mode, Place, View};

const DOMAIN: usize = 4096;

/// A name for a file, which is gone with it.
struct Name(PathBuf);

impl Name {
    fn new(seed: u64) -> Self {
        let name = format!("rwmpi-collective-{}-{seed}", std::process::id());
        Name(std::env::temp_dir().join(name))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        // Perhaps it was never made.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What each rank sees of a tile that lies in the file again and again: blocks that belong to one rank each, or, if
/// there are `holes`, to none.
fn tile(rng: &mut Rng, ranks: usize, holes: bool) -> Vec<Shape> {
    let number = rng.usize(1..3 * ranks + 2);
    let (mut blocks, mut end) = (vec![Vec::new(); ranks], 0_u64);
    for _ in 0..number {
        let length = [rng.u64(1..9), rng.u64(1..300)][rng.usize(..2)];
        let owner = rng.usize(..ranks + usize::from(holes));
        if let Some(blocks) = blocks.get_mut(owner) {
            blocks.push((length as i64, end as i64));
        }
        end += length;
    }
    let shape = |blocks: Vec<(i64, i64)>| {
        let (lengths, starts): (Vec<i64>, Vec<i64>) = blocks.iter().copied().unzip();
        let all = Datatype::hindexed(&lengths, &starts, &Datatype::basic(Basic::Byte)).expect("it is small");
        let datatype = Datatype::resized(&all, 0, end as i64).expect("it is small");
        let places = blocks.iter().flat_map(|&(length, start)| start as u64..(start + length) as u64).collect();
        Shape { datatype, places }
    };
    blocks.into_iter().map(shape).collect()
}

/// One access of all ranks: of each the view, the first position and the buffer, the same whoever asks.
struct Access {
    displacement: u64,
    ranks: Vec<(Shape, u64, Buffer)>,
    is_collective: bool,
}

impl Access {
    fn new(rng: &mut Rng, ranks: usize) -> Self {
        let (displacement, begin) = (rng.u64(..9000), rng.u64(..20));
        let holes = rng.u8(..4) == 0;
        let part = |(shape, mut buffer): (Shape, Buffer)| {
            if shape.places.is_empty() {
                buffer.count = 0;
            }
            // About the same part of the file for all.
            (begin * shape.places.len() as u64, shape, buffer)
        };
        let tiles = tile(rng, ranks, holes).into_iter();
        let parts: Vec<_> = tiles.map(|shape| (shape, Buffer::new(rng))).map(part).collect();
        let ranks = parts.into_iter().map(|(begin, shape, buffer)| (shape, begin, buffer)).collect();
        Access { displacement, ranks, is_collective: rng.bool() }
    }

    /// What the file has after it.
    fn write(&mut self, model: &mut Vec<u8>) {
        for (shape, begin, buffer) in &mut self.ranks {
            for index in 0..buffer.bytes() {
                let at = (self.displacement + shape.place(*begin + index)) as usize;
                if model.len() <= at {
                    model.resize(at + 1, 0);
                }
                model[at] = *buffer.byte(index);
            }
        }
    }

    /// How many bytes a rank reads, and what it has after it.
    fn read(&mut self, rank: usize, model: &[u8]) -> (u64, Vec<u8>) {
        let (shape, begin, buffer) = &mut self.ranks[rank];
        let before = buffer.memory.clone();
        let mut there = 0;
        while there < buffer.bytes() {
            let at = self.displacement + shape.place(*begin + there);
            let Some(&byte) = model.get(at as usize) else { break };
            *buffer.byte(there) = byte;
            there += 1;
        }
        (there, std::mem::replace(&mut buffer.memory, before))
    }

    /// Does it by this rank.
    fn run(&mut self, file: &File, rank: usize, direction: Direction) -> crate::Result<u64> {
        let (shape, begin, buffer) = &mut self.ranks[rank];
        let byte = Datatype::basic(Basic::Byte);
        file.set_view(Some(self.displacement as i64), &byte, &shape.datatype, &Representation::Native, &Info::new())?;
        let place = Place::At(*begin as i64);
        match self.is_collective {
            true => file.access_all(direction, place, &Ok(buffer.elements())),
            false => file.access(direction, place, &buffer.elements()),
        }
    }
}

fn open(world: &Communicator, path: &Path, ways: FileWays) -> crate::Result<File> {
    let mode = Mode { read_write: true, create: true, ..Mode::default() };
    let file = File::open(world, path.to_str().expect("it has no odd letters"), mode, &Info::new())?;
    file.shared.scratch.borrow_mut().ways = ways;
    Ok(file)
}

/// Some accesses of all ranks. Returns whether they have worked together.
fn try_all(world: &Communicator, path: &Path, seed: u64) -> crate::Result<bool> {
    let (mut rng, rank) = (Rng::with_seed(seed), world.rank());
    let ways = FileWays::of_domains(DOMAIN + rng.usize(..3) * 1000, rng.usize(1..4));
    let ways = ways.with_windows(DOMAIN * rng.usize(1..5));
    let (file, mut model) = (open(world, path, ways)?, Vec::new());
    let goes_by_messages = rng.bool();
    if goes_by_messages {
        // As if pairs of ranks were nodes.
        let near = |rank| rank / 2 == world.rank() / 2;
        let aggregators = Aggregators::new(world, rng.usize(1..4), near).expect("all come here");
        assert!(file.shared.means.set(Means::Messages(aggregators)).is_ok());
    }
    for step in 0..12 {
        let mut access = Access::new(&mut rng, world.size());
        if rng.bool() {
            let bytes = access.run(&file, rank, Direction::Write)?;
            assert_eq!(bytes, access.ranks[rank].2.bytes(), "seed {seed}, step {step}, rank {rank}");
            access.write(&mut model);
            world.barrier().expect("all come here");
            assert!(std::fs::read(path).is_ok_and(|bytes| bytes == model), "seed {seed}, step {step}, rank {rank}");
        } else {
            let expected = access.read(rank, &model);
            let bytes = access.run(&file, rank, Direction::Read)?;
            let got = (bytes, std::mem::take(&mut access.ranks[rank].2.memory));
            assert!(got == expected, "seed {seed}, step {step}, rank {rank}: {} of {}", got.0, expected.0);
        }
        world.barrier().expect("all come here");
    }
    let together = !goes_by_messages && file.shared.means.get().is_some();
    file.close()?;
    Ok(together)
}

#[test]
fn accesses_of_all_ranks_do_what_the_map_of_bytes_says() {
    let mut together = 0;
    for seed in 0..30 {
        let (name, ranks) = (Name::new(seed), seed as usize % 5 + 1);
        let outcomes = run_threads(ranks, Protocol::Auto, |universe| try_all(universe.world(), name.path(), seed));
        let all = outcomes.expect("ranks can be had").into_iter().map(|outcome| outcome.expect("nothing fails"));
        together += u64::from(all.collect::<Vec<_>>().contains(&true));
    }
    assert!(together > 5, "{together} of 24 files were worked on together");
}

/// Interleaved blocks of all ranks on disks of their own; each has what came of it.
fn on_faulty_disks(
    ranks: usize,
    direction: Direction,
    by_messages: bool,
    disk: impl Fn(usize) -> Faulty + Sync,
) -> Vec<Result<u64, Fault>> {
    const BLOCK: u64 = 100;
    let run = |world: &Communicator| {
        let (rank, total) = (world.rank() as u64, 40 * BLOCK);
        let (byte, stride) = (Datatype::basic(Basic::Byte), world.size() as i64 * BLOCK as i64);
        let filetype = Datatype::contiguous(BLOCK as i64, &byte)
            .and_then(|block| Datatype::resized(&block, 0, stride))
            .expect("it is small");
        let view = View::new(rank * BLOCK, &byte, &filetype, Representation::Native, true).expect("it is a view");
        let mut buffer = Buffer {
            shape: Shape { datatype: byte, places: vec![0] },
            count: total,
            memory: vec![rank as u8 + 1; total as usize],
        };
        let elements = buffer.elements();
        let halves = Halves { usual: DOMAIN, long: 2 * DOMAIN, writers: 1 };
        let Ok(staging) = Staging::new(world, halves).expect("all come here") else { panic!("there is memory") };
        let team = Team { communicator: world, staging: &staging, ways: FileWays::of_domains(DOMAIN, 1) };
        let mine = Part { view: &view, positions: 0..total, elements: &elements };
        let (disk, part) = (disk(world.rank()), 0..total * world.size() as u64);
        let outcome = match direction {
            _ if by_messages => Aggregators::new(world, 1, |_| false)
                .and_then(|aggregators| aggregators.access(direction, world, &disk, &part, &mine)),
            Direction::Read => read::read(&team, &disk, &part, &mine),
            Direction::Write => write::write(&team, &disk, &part, &mine),
        };
        staging.free().expect("all come here");
        outcome.expect("nobody is lost")
    };
    run_threads(ranks, Protocol::Auto, |universe| run(universe.world())).expect("ranks can be had")
}

#[test]
fn a_full_disk_of_the_writer_is_everybodys_error() {
    for capacity in [0, 5000, 11_999] {
        let disk = |rank| Faulty { capacity, ..Faulty::new(rank as u64) };
        let fault = Fault { rank: 0, at: capacity, code: libc::ENOSPC };
        for by_messages in [false, true] {
            assert_eq!(on_faulty_disks(3, Direction::Write, by_messages, disk), [Err(fault); 3]);
        }
    }
    let disk = |rank| Faulty { capacity: 12_000, ..Faulty::new(rank as u64) };
    for by_messages in [false, true] {
        assert_eq!(on_faulty_disks(3, Direction::Write, by_messages, disk), [Ok(4000); 3]);
    }
}

#[test]
fn a_fault_that_one_rank_reads_is_everybodys_error() {
    let bytes = || vec![7; 12_000].into();
    let disk = |rank| Faulty { bytes: bytes(), broken: (rank == 1).then_some(5000), ..Faulty::new(rank as u64) };
    let fault = Fault { rank: 1, at: 5000, code: libc::EIO };
    assert_eq!(on_faulty_disks(3, Direction::Read, false, disk), [Err(fault); 3]);
    let disk = |rank| Faulty { bytes: bytes(), broken: (rank == 0).then_some(5000), ..Faulty::new(rank as u64) };
    assert_eq!(on_faulty_disks(3, Direction::Read, true, disk), [Err(Fault { rank: 0, ..fault }); 3]);
    let disk = |rank| Faulty { bytes: bytes(), ..Faulty::new(rank as u64) };
    for by_messages in [false, true] {
        assert_eq!(on_faulty_disks(3, Direction::Read, by_messages, disk), [Ok(4000); 3]);
    }
}

#[test]
fn wrong_arguments_of_one_rank_keep_nobody_waiting() {
    let name = Name::new(1000);
    let run = |world: &Communicator| {
        let file = open(world, name.path(), FileWays::of_domains(DOMAIN, 1))?;
        let mut bytes = Buffer {
            shape: Shape { datatype: Datatype::basic(Basic::Byte), places: vec![0] },
            count: 10,
            memory: vec![1; 10],
        };
        let offset = if world.rank() == 1 { -1 } else { 10 * world.rank() as i64 };
        let outcome = file.access_all(Direction::Write, Place::At(offset), &Ok(bytes.elements()));
        file.close()?;
        Ok::<_, crate::Error>(outcome.map_err(|error| error.class()))
    };
    let outcomes = run_threads(3, Protocol::Auto, |universe| run(universe.world())).expect("ranks can be had");
    let outcomes: Vec<_> = outcomes.into_iter().map(|outcome| outcome.expect("it opens and closes")).collect();
    assert_eq!(outcomes, [Ok(10), Err(rwmpi_core::ErrorClass::Argument), Ok(10)]);
}

//! Files that all ranks have open: heat in a rod that is saved and restored, by any numbers of ranks, and a text of
//! which each rank reads some lines.

use rwmpi::prelude::*;

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    let path = std::env::temp_dir().join("rwmpi-rod");
    let path = path.to_str().expect("the folder's name is text");
    // Half of the steps, and the other half as if another job had taken over.
    let rod = run(world, &Rod::new(world, 1000), 500)?;
    save(world, path, &rod)?;
    let rod = run(world, &restore(world, path)?, 500)?;
    let hottest = world.allreduce_value(rod.own.iter().copied().fold(0.0, f64::max), op::max)?;
    if world.rank() == 0 {
        rwmpi::delete_file(path)?;
        println!("after {} steps the hottest cell has {hottest:.4}", rod.steps);
    }
    universe.finalize()
}

// ANCHOR: checkpoint
/// A rank's part of a rod of `cells` cells after some steps.
pub struct Rod {
    cells: usize,
    steps: u64,
    /// This rank's cells.
    pub own: Vec<f64>,
}

/// The first cell of a rank.
fn first(world: &Communicator, cells: usize, rank: usize) -> usize {
    cells * rank / world.size()
}

/// The file has two numbers more, before the cells: how many these are, and after how many steps.
const HEADER: u64 = 2;

/// Saves a rod. All ranks call it.
pub fn save(world: &Communicator, path: &str, rod: &Rod) -> rwmpi::Result<()> {
    let options = OpenOptions::new().write(true).create(true);
    let file = File::<f64>::open(world, path, &options)?;
    file.set_size(8 * (HEADER + rod.cells as u64))?;
    // All make the call, though only one has something to write.
    let header = [rod.cells as f64, rod.steps as f64];
    file.write_at_all(0, if world.rank() == 0 { &header } else { &[] })?;
    file.write_at_all(HEADER + first(world, rod.cells, world.rank()) as u64, &rod.own)?;
    // What is not on the disk yet could be lost with the machine.
    file.sync()?;
    Ok(file.close()?)
}

/// Restores it, to as many ranks as there are now.
pub fn restore(world: &Communicator, path: &str) -> rwmpi::Result<Rod> {
    let file = File::<f64>::open(world, path, &OpenOptions::new().read(true))?;
    let mut header = [0.0; HEADER as usize];
    file.read_at_all(0, &mut header)?;
    let [cells, steps] = [header[0] as usize, header[1] as usize];
    let begin = first(world, cells, world.rank());
    let mut own = vec![0.0; first(world, cells, world.rank() + 1) - begin];
    let read = file.read_at_all(HEADER + begin as u64, &mut own)?;
    file.close()?;
    assert_eq!(read, own.len(), "the file ends too early");
    Ok(Rod { cells, steps: steps as u64, own })
}
// ANCHOR_END: checkpoint

impl Rod {
    /// One cell in the middle is hot.
    pub fn new(world: &Communicator, cells: usize) -> Rod {
        let own = first(world, cells, world.rank())..first(world, cells, world.rank() + 1);
        Rod { cells, steps: 0, own: own.map(|cell| if cell == cells / 2 { 1.0 } else { 0.0 }).collect() }
    }
}

/// The rod after some steps more.
pub fn run(world: &Communicator, rod: &Rod, steps: usize) -> rwmpi::Result<Rod> {
    let (rank, size, mut own) = (world.rank(), world.size(), rod.own.clone());
    for _ in 0..steps {
        // Each tells all others its ends: the chapter on neighbours does better.
        let ends = world.allgather_values(&[own.first().copied(), own.last().copied()])?;
        let left = ends[..rank].iter().rev().find_map(|ends| ends[1]).unwrap_or(0.0);
        let right = ends[(rank + 1).min(size)..].iter().find_map(|ends| ends[0]).unwrap_or(0.0);
        let all = [&[left], &own[..], &[right]].concat();
        own = all.windows(3).map(|cells| cells[1] + 0.25 * (cells[0] - 2.0 * cells[1] + cells[2])).collect();
    }
    Ok(Rod { own, steps: rod.steps + steps as u64, ..*rod })
}

// ANCHOR: lines
/// The lines of a text that begin in this rank's part of it, so that each line is one rank's.
pub fn lines(world: &Communicator, path: &str) -> rwmpi::Result<Vec<String>> {
    /// So many bytes more are read where a line goes on.
    const MORE: usize = 4096;
    let file = File::<u8>::open(world, path, &OpenOptions::new().read(true))?;
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    let [begin, end] = [rank, rank + 1].map(|rank| file.size().map(|bytes| bytes * rank / size));
    let (begin, end) = (begin?, end?);
    // The byte before says whether a line begins at the first one.
    let from = begin.saturating_sub(1);
    let mut text = vec![0; (end - from) as usize];
    file.read_at_all(from, &mut text)?;
    // The last line goes on in the parts of the next ranks.
    while end > begin && !text.ends_with(b"\n") {
        let mut more = vec![0; MORE];
        let len = file.read_at(from + text.len() as u64, &mut more)?;
        let line = more[..len].iter().position(|&byte| byte == b'\n').map_or(len, |end| end + 1);
        text.extend(&more[..line]);
        if len < MORE {
            break;
        }
    }
    file.close()?;
    let mut text = &text[..];
    if begin > 0 {
        // The first line is another rank's, or it ends with the byte before.
        let line = text.iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| end + 1);
        text = if from + line as u64 <= end { &text[line..] } else { &[] };
    }
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    Ok(lines.map(|line| String::from_utf8_lossy(line).trim_end().to_owned()).collect())
}
// ANCHOR_END: lines

//! Heat in a rod: each rank has a part of it, and in every step the neighbours exchange the cells at their common
//! border (the *halo*) while the inner cells, which need none, are computed already.

use rwmpi::prelude::*;

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let rod = run(universe.world(), 1000, 5000)?;
    let hottest = universe.world().allreduce_value(rod.iter().copied().fold(0.0, f64::max), op::max)?;
    if universe.world().rank() == 0 {
        println!("after 5000 steps the hottest cell has {hottest:.4}");
    }
    universe.finalize()
}

/// What flows between neighbouring cells in a step.
const CONDUCTIVITY: f64 = 0.25;

/// The calling rank's part of a rod of `cells` cells after `steps` steps. One cell in the middle is hot at first; the
/// ends stay cold.
pub fn run(world: &Communicator, cells: usize, steps: usize) -> rwmpi::Result<Vec<f64>> {
    let (rank, size) = (world.rank(), world.size());
    let (first, last) = (cells * rank / size, cells * (rank + 1) / size);
    let len = last - first;
    // The own cells are 1..=len; beside them lie the neighbours' outermost.
    let mut rod = vec![0.0; len + 2];
    if (first..last).contains(&(cells / 2)) {
        rod[cells / 2 - first + 1] = 1.0;
    }
    // Beyond the ends there is nobody: messages to and from nobody are nothing.
    let left: Option<usize> = rank.checked_sub(1);
    let right = Some(rank + 1).filter(|&right| right < size);
    let mut next = rod.clone();
    for _ in 0..steps {
        let (mut from_left, mut from_right) = ([0.0], [0.0]);
        scope(|s| {
            let mut requests = Vec::new();
            if let Some(left) = left {
                requests.push(world.irecv(s, &mut from_left, left, 0)?);
                requests.push(world.isend(s, &rod[1..2], left, 1)?);
            }
            if let Some(right) = right {
                requests.push(world.irecv(s, &mut from_right, right, 1)?);
                requests.push(world.isend(s, &rod[len..=len], right, 0)?);
            }
            (2..len).for_each(|cell| next[cell] = flow(&rod[cell - 1..=cell + 1]));
            wait_all(requests)
        })?;
        (rod[0], rod[len + 1]) = (from_left[0], from_right[0]);
        for cell in [1, len] {
            next[cell] = flow(&rod[cell - 1..=cell + 1]);
        }
        std::mem::swap(&mut rod, &mut next);
    }
    Ok(rod[1..=len].to_vec())
}

/// What becomes of the middle one of three cells.
fn flow(cells: &[f64]) -> f64 {
    cells[1] + CONDUCTIVITY * (cells[0] - 2.0 * cells[1] + cells[2])
}

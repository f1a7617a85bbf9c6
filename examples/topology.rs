//! A grid of ranks: who is next to whom, and a row that does something by itself.
//!
//! `mpiexec -n 4 target/debug/examples/topology` has a grid of two rows and two columns.

use rwmpi::prelude::*;

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    for line in run(universe.world())? {
        println!("{line}");
    }
    universe.finalize()
}

/// What every rank knows of its neighbours and its row, at rank 0; elsewhere nothing.
pub fn run(world: &Communicator) -> rwmpi::Result<Vec<String>> {
    // As many rows and columns as it takes for all ranks. Rows end; columns go round.
    let Some(grid) = world.grid([0, 0], [false, true])? else { return Ok(Vec::new()) };
    let [row, column] = grid.place();
    let mut line = format!("rank {} in row {row}, column {column}:", grid.rank());
    // Each neighbour sends its number.
    for (direction, neighbour) in grid.exchange(|_| grid.rank())? {
        line += &format!(" {direction:?} is rank {neighbour},");
    }
    let all_of_row = grid.subgrid(&[false, true])?;
    let sum = all_of_row.allreduce_value(grid.rank(), op::sum)?;
    line += &format!(" the row's sum is {sum}");
    Ok(grid.gather_values(&line, 0)?.unwrap_or_default())
}

//! The examples of mpi4py's tutorial, in its order: <https://mpi4py.readthedocs.io/en/stable/tutorial.html>.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use rwmpi::prelude::*;

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    if world.size() > 1 {
        objects(world)?;
        objects_without_waiting(world)?;
        arrays(world)?;
    }
    broadcast_a_dictionary(world)?;
    scatter_objects(world)?;
    gather_objects(world)?;
    broadcast_an_array(world)?;
    scatter_an_array(world)?;
    gather_an_array(world)?;
    let product = matrix_times_vector(world, &vec![1.0; world.size()], &[world.rank() as f64])?;
    let pi = compute_pi(world, 100)?;
    println!("rank {}: {product:?}, pi is about {pi:.4}", world.rank());
    universe.finalize()
}

// ANCHOR: objects
/// Point to point: an object, whatever it is.
pub fn objects(world: &Communicator) -> rwmpi::Result<()> {
    if world.rank() == 0 {
        world.send_value(&BTreeMap::from([("a".to_string(), 7.0), ("b".to_string(), 3.25)]), 1, 11)?;
    } else if world.rank() == 1 {
        let (data, _) = world.recv_value::<BTreeMap<String, f64>>(0, 11)?;
        assert_eq!(data["a"], 7.0);
    }
    Ok(())
}

/// The same without waiting.
pub fn objects_without_waiting(world: &Communicator) -> rwmpi::Result<()> {
    if world.rank() == 0 {
        let data = BTreeMap::from([("a".to_string(), 7.0), ("b".to_string(), 3.25)]);
        world.isend_value(&data, 1, 11)?.wait()?;
    } else if world.rank() == 1 {
        let (data, _) = world.irecv_value::<BTreeMap<String, f64>>(0, 11)?.wait()?;
        assert_eq!(data["b"], 3.25);
    }
    Ok(())
}

/// Arrays: into memory that is there already.
pub fn arrays(world: &Communicator) -> rwmpi::Result<()> {
    let mut data = vec![0.0; 100];
    if world.rank() == 0 {
        data = (0..100).map(f64::from).collect();
        world.send(&data, 1, 13)?;
    } else if world.rank() == 1 {
        world.recv(&mut data, 0, 13)?;
        assert_eq!(data[99], 99.0);
    }
    Ok(())
}
// ANCHOR_END: objects

// ANCHOR: collectives
/// Broadcasting a dictionary.
pub fn broadcast_a_dictionary(world: &Communicator) -> rwmpi::Result<()> {
    let data = (world.rank() == 0).then(|| BTreeMap::from([("key1".to_string(), [7.0, 2.72])]));
    let data = world.bcast_value(data, 0)?.expect("rank 0 has it");
    assert_eq!(data["key1"], [7.0, 2.72]);
    Ok(())
}

/// Scattering objects.
pub fn scatter_objects(world: &Communicator) -> rwmpi::Result<()> {
    let data: Vec<usize> = (0..world.size()).map(|rank| (rank + 1).pow(2)).collect();
    assert_eq!(world.scatter_values(&data, 0)?, (world.rank() + 1).pow(2));
    Ok(())
}

/// Gathering objects.
pub fn gather_objects(world: &Communicator) -> rwmpi::Result<()> {
    if let Some(data) = world.gather_values(&(world.rank() + 1).pow(2), 0)? {
        assert!(data.iter().enumerate().all(|(rank, square)| *square == (rank + 1).pow(2)));
    }
    Ok(())
}

/// Broadcasting an array.
pub fn broadcast_an_array(world: &Communicator) -> rwmpi::Result<()> {
    let mut data: Vec<i32> = if world.rank() == 0 { (0..100).collect() } else { vec![0; 100] };
    world.bcast(&mut data, 0)?;
    assert!((0..100).eq(data));
    Ok(())
}

/// Scattering an array, a row to each rank.
pub fn scatter_an_array(world: &Communicator) -> rwmpi::Result<()> {
    let rows: Vec<i32> = (0..world.size() as i32).flat_map(|rank| [rank; 100]).collect();
    let mut row = [0; 100];
    world.scatter(&rows, &mut row, 0)?;
    assert_eq!(row, [world.rank() as i32; 100]);
    Ok(())
}

/// Gathering an array, a row of each rank.
pub fn gather_an_array(world: &Communicator) -> rwmpi::Result<()> {
    let mut rows = vec![0; if world.rank() == 0 { 100 * world.size() } else { 0 }];
    world.gather(&[world.rank(); 100], &mut rows, 0)?;
    assert!(rows.chunks(100).enumerate().all(|(rank, row)| row == [rank; 100]));
    Ok(())
}

/// A matrix times a vector: each rank has some rows and its part of the vector.
pub fn matrix_times_vector(world: &Communicator, rows: &[f64], part: &[f64]) -> rwmpi::Result<Vec<f64>> {
    let mut vector = vec![0.0; part.len() * world.size()];
    world.allgather(part, &mut vector)?;
    Ok(rows.chunks(vector.len()).map(|row| row.iter().zip(&vector).map(|(a, b)| a * b).sum()).collect())
}
// ANCHOR_END: collectives

// ANCHOR: pi
/// Pi by the integral of 4 / (1 + x²), in `steps` steps; at rank 0 of the tutorial, here everywhere.
pub fn compute_pi(world: &Communicator, steps: usize) -> rwmpi::Result<f64> {
    let width = 1.0 / steps as f64;
    let heights =
        (world.rank()..steps).step_by(world.size()).map(|step| 4.0 / (1.0 + (width * (step as f64 + 0.5)).powi(2)));
    let pi = world.allreduce_value(width * heights.sum::<f64>(), op::sum)?;
    assert!((pi - PI).abs() < width);
    Ok(pi)
}
// ANCHOR_END: pi

//! Bodies that attract each other: each rank moves its own, and learns in every step where all others are. What travels
//! often is plain data; the catalogue they come from, with names, travels once, as a value.

use rwmpi::prelude::*;

/// A body in space: plain data.
#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
#[repr(C)]
pub struct Body {
    /// In units of its own.
    pub mass: f64,
    /// Where it is.
    pub position: [f64; 3],
    /// Where it goes.
    pub velocity: [f64; 3],
}

/// What is known about a body before it moves.
#[derive(Clone, Debug, Message)]
pub struct Entry {
    /// What it is called.
    pub name: String,
    /// Where it is at first.
    pub body: Body,
    /// What its moons are called.
    pub moons: Vec<String>,
}

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    let catalogue = if world.rank() == 0 { catalogue() } else { Vec::new() };
    for (name, body) in run(world, catalogue, 0.001, 1000)? {
        println!("{name} is at {:.3?}", body.position);
    }
    universe.finalize()
}

/// Two bodies that circle around each other, and one far away.
pub fn catalogue() -> Vec<Entry> {
    let entry = |name: &str, moons: &[&str], mass, x, speed| Entry {
        name: name.into(),
        body: Body { mass, position: [x, 0.0, 0.0], velocity: [0.0, speed, 0.0] },
        moons: moons.iter().map(|moon| moon.to_string()).collect(),
    };
    let half = 0.5_f64.sqrt();
    vec![
        entry("one", &[], 1.0, -0.5, -half),
        entry("two", &["a", "b"], 1.0, 0.5, half),
        entry("far", &[], 1e-6, 50.0, 0.0),
    ]
}

/// Moves rank 0's catalogue; returns the calling rank's bodies.
pub fn run(world: &Communicator, catalogue: Vec<Entry>, step: f64, steps: usize) -> rwmpi::Result<Vec<(String, Body)>> {
    let (rank, size) = (world.rank(), world.size());
    let catalogue = world.bcast_value(catalogue, 0)?;
    let start = |rank: usize| catalogue.len() * rank / size;
    let starts: Vec<usize> = (0..size).map(start).collect();
    let counts: Vec<usize> = (0..size).map(|rank| start(rank + 1) - start(rank)).collect();
    let own = start(rank)..start(rank + 1);

    let mut all: Vec<Body> = catalogue.iter().map(|entry| entry.body).collect();
    for _ in 0..steps {
        let mut mine = all[own.clone()].to_vec();
        for body in &mut mine {
            let pull = acceleration(body, &all);
            for (axis, pull) in pull.into_iter().enumerate() {
                body.velocity[axis] += step * pull;
                body.position[axis] += step * body.velocity[axis];
            }
        }
        world.allgatherv(&mine, &mut all, Parts { counts: &counts, starts: &starts })?;
    }
    let names = catalogue[own.clone()].iter().map(|entry| entry.name.clone());
    Ok(names.zip(all[own].iter().copied()).collect())
}

fn acceleration(body: &Body, all: &[Body]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for other in all.iter().filter(|other| other.position != body.position) {
        let distance: [f64; 3] = std::array::from_fn(|axis| other.position[axis] - body.position[axis]);
        let square: f64 = distance.iter().map(|part| part * part).sum();
        for (sum, distance) in sum.iter_mut().zip(distance) {
            *sum += other.mass * distance / (square * square.sqrt());
        }
    }
    sum
}

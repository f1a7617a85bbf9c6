//! FT: a diffusion equation on a periodic box, solved by Fourier transforms.
//!
//! The random initial state is transformed to waves once. Every iteration lets the waves decay for one time step more,
//! transforms them back to space and adds up some of the points. Each transform exchanges the whole array between the
//! processes: few messages, and as large as they can be.

mod evolution;
mod fft;
mod lines;
mod problem;
mod process_grid;
mod space;
mod transform;

use crate::definition::Definition;
use crate::outcome::Outcome;
use crate::timer::Stopwatch;
use crate::verify::Verification;
use crate::{Class, Options};
use evolution::Evolution;
use num_complex::Complex64;
use problem::Problem;
use process_grid::{AsArray, Groups, ProcessGrid};
use rwmpi::{Communicator, Result, Universe, op};
use transform::{Layout, Transform};

/// What the frame must know of it.
pub const DEFINITION: Definition = Definition {
    process_counts: "a power of two",
    allows: |class, processes| ProcessGrid::allows(Problem::new(class).extent, processes),
    memory_per_rank,
    has_any_source: false,
    has_one_sided: false,
    operation_type: "floating point",
    run,
};

const TOLERANCE: f64 = 1e-12;

fn memory_per_rank(class: Class, processes: usize) -> u64 {
    // The waves, the array in space, and what it is exchanged with.
    let arrays = if processes == 1 { 2 } else { 3 };
    (arrays * size_of::<Complex64>() * Problem::new(class).points() / processes) as u64
}

fn run(world: &Communicator, universe: &Universe, class: Class, options: &Options) -> Result<Outcome> {
    let problem = Problem::new(class);
    let grid = ProcessGrid::new(problem.extent, world.size(), world.rank());
    let layout = Layout::new(problem.extent, grid);
    let spare = if world.size() > 1 { layout.numbers() } else { 0 };
    let (array, spare) = (universe.alloc(layout.numbers()), universe.alloc(spare));
    let mut transform = Transform::new(layout, Groups::new(world, &grid)?, array, spare);
    let mut waves = vec![Complex64::ZERO; layout.numbers()];
    set_up(&mut transform, &mut waves, false)?;

    world.barrier()?;
    let stopwatch = Stopwatch::start(universe);
    let corrupt = options.corrupt && world.rank() + 1 == world.size();
    set_up(&mut transform, &mut waves, corrupt)?;
    let mut checksums = Vec::with_capacity(problem.iterations());
    for time in 1..=problem.iterations() {
        let own = iterate(&mut transform, &waves, time)?;
        let mut sum = [Complex64::ZERO];
        world.reduce(&[own], &mut sum, op::sum, 0)?;
        checksums.push(sum[0]);
    }
    let measurement = stopwatch.stop(universe);

    let [nx, ny, nz] = problem.extent;
    Ok(Outcome {
        size: format!("{nx}x{ny}x{nz}"),
        iterations: problem.iterations() as u32,
        operations: problem.operations(),
        measurement,
        verification: verify(&problem, &checksums),
    })
}

/// Computes the initial waves. With `corrupt`, one number of the initial state is false. Collective.
fn set_up<B: AsArray>(transform: &mut Transform<B>, waves: &mut [Complex64], corrupt: bool) -> Result<()> {
    let layout = *transform.layout();
    space::fill_randomly(&layout, transform.space());
    if corrupt {
        transform.space()[0] += 1.0;
    }
    transform.forward(waves)
}

/// Computes the state after `time` steps; returns this process's part of its checksum. Collective.
fn iterate<B: AsArray>(transform: &mut Transform<B>, waves: &[Complex64], time: usize) -> Result<Complex64> {
    let layout = *transform.layout();
    transform.inverse(waves, &Evolution::new(&layout, time))?;
    Ok(space::checksum(&layout, transform.space()))
}

/// Compares the checksums with the reference values: distances in the complex plane.
fn verify(problem: &Problem, checksums: &[Complex64]) -> Verification {
    let mut verification = Verification::new();
    for (index, (computed, [re, im])) in checksums.iter().zip(problem.checksums).enumerate() {
        let reference = Complex64::new(*re, *im);
        let error = ((computed - reference) / reference).norm();
        verification.with_error(format!("checksum {}", index + 1), computed.norm(), reference.norm(), error, TOLERANCE);
    }
    verification
}

#[cfg(test)]
mod tests {
    use super::{Complex64, Groups, Layout, Problem, ProcessGrid, Transform, iterate, set_up, verify};
    use crate::Class;
    use crate::verify::Verification;

    fn run_alone(class: Class, corrupt: bool) -> Verification {
        let problem = Problem::new(class);
        let layout = Layout::new(problem.extent, ProcessGrid::new(problem.extent, 1, 0));
        let array = vec![Complex64::ZERO; layout.numbers()];
        let mut transform = Transform::new(layout, Groups::alone(), array, Vec::new());
        let mut waves = vec![Complex64::ZERO; layout.numbers()];
        set_up(&mut transform, &mut waves, corrupt).unwrap();
        let checksums: Vec<_> =
            (1..=problem.iterations()).map(|time| iterate(&mut transform, &waves, time).unwrap()).collect();
        verify(&problem, &checksums)
    }

    #[test]
    fn classes_s_and_w_give_the_reference_values_on_one_process() {
        for class in [Class::S, Class::W] {
            let verification = run_alone(class, false);
            assert_eq!(verification.checks().len(), 6);
            assert!(verification.passed(), "{verification:?}");
        }
    }

    #[test]
    fn one_false_value_fails_the_verification() {
        assert!(!run_alone(Class::S, true).passed());
    }
}

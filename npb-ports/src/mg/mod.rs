//! MG, multigrid: a few V-cycles towards the solution of ∇²u = v on a periodic cube, where v is zero but for ten
//! positive and ten negative charges.
//!
//! The cube is divided into boxes, one for each rank. After every operation on a grid, ghost layers are exchanged with
//! the neighbours: on the finest level large messages, on the coarsest ones tiny ones.

mod boundary;
mod charges;
mod coarse;
mod cycle;
mod decomposition;
mod exchange;
mod layers;
mod one_sided;
mod shape;
mod stencil;
mod wave;

use crate::definition::Definition;
use crate::outcome::Outcome;
use crate::timer::Stopwatch;
use crate::verify::Verification;
use crate::{Class, Options};
use boundary::{Boundary, Periodic};
use charges::Extremes;
use coarse::Collected;
use cycle::Hierarchy;
use decomposition::{Decomposition, Part};
use exchange::Exchange;
use one_sided::OneSided;
use rwmpi::{Communicator, Result, Universe, op};
use shape::Shape;
use std::ops::DerefMut;
use stencil::{Smoother, squares_and_maximum};

/// What the frame must know of it.
pub const DEFINITION: Definition = Definition {
    process_counts: "a power of two",
    allows: |class, processes| {
        let points = Problem::of(class).points();
        processes.is_power_of_two()
            && Decomposition::new(processes).processes.into_iter().all(|count| 2 * count <= points)
    },
    memory_per_rank: |class, processes| {
        let finest = Decomposition::new(processes).part(0, Problem::of(class).points()).shape.points();
        // v, and u and r with all coarser levels, which are an eighth, a 64th, …: another seventh.
        (8 * (finest + 2 * finest * 8 / 7)) as u64
    },
    has_any_source: true,
    has_one_sided: true,
    operation_type: "floating point",
    run,
};

/// A class's problem.
#[derive(Clone, Copy, Debug)]
struct Problem {
    /// Points along each axis, as a power of two.
    log2_points: u32,
    iterations: u32,
    smoother: Smoother,
    /// The norm of the residual at the end.
    reference: f64,
}

impl Problem {
    fn of(class: Class) -> Self {
        let (log2_points, iterations, reference) = match class {
            Class::S => (5, 4, 0.5307707005734e-04),
            Class::W => (7, 4, 0.6467329375339e-05),
            Class::A => (8, 4, 0.2433365309069e-05),
            Class::B => (8, 20, 0.1800564401355e-05),
            Class::C => (9, 20, 0.5706732285740e-06),
        };
        let smoother = match class {
            Class::S | Class::W | Class::A => Smoother { centre: -3.0 / 8.0, face: 1.0 / 32.0, edge: -1.0 / 64.0 },
            Class::B | Class::C => Smoother { centre: -3.0 / 17.0, face: 1.0 / 33.0, edge: -1.0 / 61.0 },
        };
        Problem { log2_points, iterations, smoother, reference }
    }

    fn points(&self) -> usize {
        1 << self.log2_points
    }
}

/// The whole of a rank's state.
struct Multigrid<'a, M, B> {
    v: M,
    hierarchy: Hierarchy<M, B>,
    /// Where the coarsest level of the hierarchy is not the coarsest of all.
    collected: Option<Collected<'a>>,
}

impl<M: DerefMut<Target = [f64]>, B: Boundary> Multigrid<'_, M, B> {
    /// Sets the solution to zero.
    fn reset(&mut self) {
        self.hierarchy.finest().u.fill(0.0);
    }

    /// r = v − A u.
    fn evaluate(&mut self) -> Result<()> {
        self.hierarchy.evaluate(&self.v)
    }

    /// One V-cycle. The residual is up to date before and after it.
    fn cycle(&mut self) -> Result<()> {
        self.hierarchy.restrict()?;
        match &mut self.collected {
            None => self.hierarchy.smooth_coarsest()?,
            Some(collected) => {
                let coarsest = &mut self.hierarchy.levels[0];
                collected.correct(coarsest.shape, &coarsest.r, &mut coarsest.u)?;
                self.hierarchy.relax(0)?;
            }
        }
        self.hierarchy.correct()?;
        self.hierarchy.finish(&self.v)
    }

    /// Sum of the squares of this rank's residuals, and the largest of their absolute values.
    fn norms(&mut self) -> (f64, f64) {
        let finest = self.hierarchy.finest();
        squares_and_maximum(finest.shape, &finest.r)
    }
}

/// The levels of the problem that `decomposition` can divide, coarsest first, as this rank's shapes.
fn divided_levels(problem: &Problem, decomposition: &Decomposition) -> Vec<Shape> {
    let most = decomposition.processes.into_iter().max().unwrap_or(1);
    let coarsest = most.ilog2().max(1);
    (coarsest..=problem.log2_points).map(|log| decomposition.part(0, 1 << log).shape).collect()
}

fn run(world: &Communicator, universe: &Universe, class: Class, options: &Options) -> Result<Outcome> {
    let problem = Problem::of(class);
    let decomposition = Decomposition::new(world.size());
    let part = decomposition.part(world.rank(), problem.points());
    let shapes = divided_levels(&problem, &decomposition);
    let smoother = problem.smoother;
    let job = Job { world, universe, options, problem, part };
    if world.size() == 1 {
        let allocate = |points| vec![0.0; points];
        let hierarchy = Hierarchy::new(&shapes, Periodic, smoother, allocate);
        return job.run(Multigrid { v: allocate(part.shape.points()), hierarchy, collected: None });
    }
    match options.one_sided {
        true => job.run_divided(&shapes, OneSided::new(world, universe, &decomposition, part.shape)?, decomposition),
        false => {
            let boundary = Exchange::new(world, universe, &decomposition, part.shape, options.any_source);
            job.run_divided(&shapes, boundary, decomposition)
        }
    }
}

/// What is given, on one rank.
struct Job<'a> {
    world: &'a Communicator,
    universe: &'a Universe,
    options: &'a Options,
    problem: Problem,
    part: Part,
}

impl Job<'_> {
    /// On several ranks, whose ghosts are from `boundary`.
    fn run_divided(&self, shapes: &[Shape], boundary: impl Boundary, decomposition: Decomposition) -> Result<Outcome> {
        let Job { world, universe, problem, part, .. } = self;
        let allocate = |points| universe.alloc(points);
        let hierarchy = Hierarchy::new(shapes, boundary, problem.smoother, allocate);
        let coarsest = problem.log2_points - (shapes.len() as u32 - 1);
        let collected = (coarsest > 1).then(|| Collected::new(world, decomposition, coarsest, problem.smoother));
        self.run(Multigrid { v: allocate(part.shape.points()), hierarchy, collected })
    }

    fn run<M: DerefMut<Target = [f64]>, B: Boundary>(&self, mut multigrid: Multigrid<'_, M, B>) -> Result<Outcome> {
        let Job { world, problem, part, .. } = self;
        let extremes = self.merge(Extremes::of(part, problem.points()))?;
        charges::place(&extremes, part, problem.points(), &mut multigrid.v);
        if self.options.corrupt && world.rank() == world.size() - 1 {
            multigrid.v[part.shape.interior_row(1, 1)][0] += 1.0;
        }
        multigrid.hierarchy.refresh(part.shape, &mut multigrid.v)?;
        // Once untimed, to touch all memory.
        multigrid.evaluate()?;
        multigrid.cycle()?;
        multigrid.reset();

        world.barrier()?;
        let stopwatch = Stopwatch::start(self.universe);
        multigrid.evaluate()?;
        self.norm(&mut multigrid)?;
        for _ in 0..problem.iterations {
            multigrid.cycle()?;
        }
        let norm = self.norm(&mut multigrid)?;
        let measurement = stopwatch.stop(self.universe);
        multigrid.hierarchy.close()?;

        let mut verification = Verification::new();
        verification.relative("norm of the residual", norm, problem.reference, 1e-8);
        let points = problem.points();
        let operations = 58.0 * f64::from(problem.iterations) * (points as f64).powi(3);
        let size = format!("{points}x{points}x{points}");
        Ok(Outcome { size, iterations: problem.iterations, operations, measurement, verification })
    }

    /// The norm of the whole residual; its largest value is found as the definition has it, but nobody asks for it.
    fn norm<M: DerefMut<Target = [f64]>, B: Boundary>(&self, multigrid: &mut Multigrid<'_, M, B>) -> Result<f64> {
        let (squares, maximum) = multigrid.norms();
        let squares = self.world.allreduce_value(squares, op::sum)?;
        self.world.allreduce_value(maximum, op::max)?;
        Ok((squares / (self.problem.points() as f64).powi(3)).sqrt())
    }

    /// The extremes of the whole grid, from those of all ranks' parts.
    fn merge(&self, own: Extremes) -> Result<Extremes> {
        let own = own.to_numbers();
        let mut all = vec![[0.0; 2]; own.len() * self.world.size()];
        self.world.allgather(&own, &mut all)?;
        let mut merged = Extremes::default();
        all.chunks_exact(own.len()).for_each(|numbers| merged.merge(numbers));
        Ok(merged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The norm after all cycles on one rank, relative to the reference.
    fn relative_norm(class: Class) -> f64 {
        let problem = Problem::of(class);
        let decomposition = Decomposition::new(1);
        let part = decomposition.part(0, problem.points());
        let hierarchy =
            Hierarchy::new(&divided_levels(&problem, &decomposition), Periodic, problem.smoother, |points| {
                vec![0.0; points]
            });
        let mut multigrid = Multigrid { v: vec![0.0; part.shape.points()], hierarchy, collected: None };
        charges::place(&Extremes::of(&part, problem.points()), &part, problem.points(), &mut multigrid.v);
        multigrid.hierarchy.refresh(part.shape, &mut multigrid.v).unwrap();
        multigrid.evaluate().unwrap();
        for _ in 0..problem.iterations {
            multigrid.cycle().unwrap();
        }
        (multigrid.norms().0 / (problem.points() as f64).powi(3)).sqrt() / problem.reference
    }

    #[test]
    fn one_rank_gets_the_reference_norm() {
        let norm = relative_norm(Class::S);
        assert!((norm - 1.0).abs() <= 1e-8, "{norm}");
    }

    #[test]
    fn only_levels_with_points_for_all_are_divided() {
        let shapes = |ranks| divided_levels(&Problem::of(Class::S), &Decomposition::new(ranks));
        assert_eq!(shapes(8)[0].interior, [1, 1, 1]);
        assert_eq!((shapes(8).len(), shapes(64).len()), (5, 4));
        assert_eq!(shapes(16)[0].interior, [2, 2, 1]);
    }
}

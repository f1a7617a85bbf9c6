//! Solving all lines along one axis, slab after slab.
//!
//! Elimination runs through the slabs in ascending order, substitution back. At every border a message tells the next
//! rank how the lines stand. A rank works on its cell of one slab while the other ranks work on theirs, so nobody waits
//! for long.

use super::bundle::{Bundle, Face, gather, scatter, scatter_add};
use super::decomposition::{Multipartition, Side};
use super::messages::Passage;
use crate::cfd::{Block, Field};
use crate::lanes::{Lanes, Unknowns};
use rwmpi::{Communicator, Result, Universe};

/// One number for each line of a bundle, several times: how lines stand at a border.
pub trait Carry: Default + AsRef<[Lanes]> + AsMut<[Lanes]> {}
impl<T: Default + AsRef<[Lanes]> + AsMut<[Lanes]>> Carry for T {}

/// A direct solver for systems of equations that couple each point of a line with its neighbours.
///
/// The carries of a line that begins or ends at the mesh's boundary are zero there.
pub trait LineSolver {
    /// What elimination leaves at a point for substitution.
    type Kept: Clone + Default;
    /// What elimination hands on.
    type Forward: Carry;
    /// What substitution hands on.
    type Backward: Carry;

    /// How many lines a message across a border of a cell has room for; `face` are the cell's.
    fn lines_per_message(partition: &Multipartition, face: &Face) -> usize;

    /// Turns the right-hand side into that of the lines' own equations.
    fn prepare(&self, axis: usize, lines: &mut Lines<Self::Kept>);

    /// Eliminates the unknowns of the points before each point. Point 0 of the lines has index `start` in the mesh.
    fn eliminate(&self, axis: usize, start: usize, lines: &mut Lines<Self::Kept>, carry: &mut Self::Forward);

    /// Substitutes the solution, last point first.
    fn substitute(&self, lines: &mut Lines<Self::Kept>, carry: &mut Self::Backward);

    /// Turns the solution into the right-hand side of the next axis, or into the change of the unknowns.
    fn finish(&self, axis: usize, lines: &mut Lines<Self::Kept>);
}

/// A bundle of lines being solved.
#[derive(Clone, Debug, Default)]
pub struct Lines<K> {
    /// The unknowns: those of the point before the line, of its points, of the point after it.
    pub u: Vec<Unknowns>,
    /// The right-hand side, which becomes the solution.
    pub r: Vec<Unknowns>,
    /// What is kept between elimination and substitution.
    pub kept: Vec<K>,
}

impl<K: Clone + Default> Lines<K> {
    fn load(&mut self, points: usize, bundle: &Bundle, u: &Field, r: &Field) {
        self.u.resize(points + 2, Unknowns::default());
        self.r.resize(points, Unknowns::default());
        self.kept.resize(points, K::default());
        gather(u, bundle, 1, &mut self.u);
        gather(r, bundle, 0, &mut self.r);
    }

    /// Along the last axis the solution is the change of the unknowns.
    fn store(&self, bundle: &Bundle, u: &mut Field, r: &mut Field) {
        match bundle.axis {
            2 => scatter_add(u, bundle, &self.r),
            _ => scatter(r, bundle, &self.r),
        }
    }
}

/// Solves lines with solver `S`.
pub struct Sweep<S: LineSolver> {
    solver: S,
    /// Bundles at work: one if no message is waited for in between, else all of every cell.
    lines: Vec<Vec<Lines<S::Kept>>>,
    /// For each axis, the messages of elimination and those of substitution; none for a rank that is alone.
    passages: Vec<[Passage; 2]>,
}

impl<S: LineSolver> Sweep<S> {
    /// For the cells of `partition`, which is that of the ranks of `world`. Collective.
    pub fn new(partition: &Multipartition, solver: S, universe: &Universe, world: &Communicator) -> Result<Self> {
        let communicator = world.dup()?;
        let axes = if partition.slabs() == 1 { 0..0 } else { 0..3 };
        let passages = axes.map(|axis| {
            let [low, high] = [Side::Low, Side::High].map(|side| partition.neighbour(axis, side));
            let (forward, mut backward): (Vec<_>, Vec<_>) =
                stages::<S>(partition, axis).map(|stage| (stage.forward, stage.backward)).unzip();
            backward.reverse();
            Ok([
                Passage::new(universe, &communicator, [low, high], forward)?,
                Passage::new(universe, &communicator, [high, low], backward)?,
            ])
        });
        let passages = passages.collect::<Result<_>>()?;
        Ok(Sweep { solver, lines: vec![vec![Lines::default()]; partition.slabs()], passages })
    }

    /// Solves the lines along `axis` of all cells: `r` becomes the solution, which along the last axis is added to `u`.
    pub fn run(&mut self, partition: &Multipartition, axis: usize, u: &mut [Field], r: &mut [Field]) -> Result<()> {
        self.eliminate(partition, axis, u, r)?;
        self.substitute(partition, axis, u, r)
    }

    /// Of a rank that is alone, solves the lines along x and then those along y in plane `plane` across z.
    pub fn run_in_plane(&mut self, block: &Block, plane: usize, u: &Field, r: &mut Field) {
        for axis in [0, 1] {
            let face = Face::new(block, axis);
            for bundle in face.bundles_of_row(plane) {
                self.solve_whole(&face, &bundle, u, r);
                scatter(r, &bundle, &self.lines[0][0].r);
            }
        }
    }

    /// Of a rank that is alone, solves the lines along z and adds the solution to `u`.
    pub fn run_across_planes(&mut self, block: &Block, u: &mut Field, r: &Field) {
        let face = Face::new(block, 2);
        for bundle in face.bundles() {
            self.solve_whole(&face, &bundle, u, r);
            scatter_add(u, &bundle, &self.lines[0][0].r);
        }
    }

    /// Solves lines that lie in one cell from end to end.
    fn solve_whole(&mut self, face: &Face, bundle: &Bundle, u: &Field, r: &Field) {
        let (solver, lines) = (&self.solver, &mut self.lines[0][0]);
        lines.load(face.points, bundle, u, r);
        solver.prepare(face.axis, lines);
        solver.eliminate(face.axis, face.start, lines, &mut S::Forward::default());
        solver.substitute(lines, &mut S::Backward::default());
        solver.finish(face.axis, lines);
    }

    /// In ascending order of the slabs. The lines of a cell are loaded while the message about them is awaited.
    fn eliminate(&mut self, partition: &Multipartition, axis: usize, u: &[Field], r: &[Field]) -> Result<()> {
        let Sweep { solver, lines, passages } = self;
        let stages: Vec<_> = stages::<S>(partition, axis).collect();
        let load = |lines: &mut Vec<Vec<Lines<S::Kept>>>, stage: &Stage| {
            let bundles = &mut lines[stage.cell];
            bundles.resize_with(stage.face.bundles().len().max(bundles.len()), Lines::default);
            for (bundle, lines) in stage.face.bundles().zip(bundles) {
                lines.load(stage.face.points, &bundle, &u[stage.cell], &r[stage.cell]);
                solver.prepare(axis, lines);
            }
        };
        load(lines, &stages[0]);
        let work = |lines: &mut Vec<Vec<Lines<_>>>, stage: usize, arrived: &[f64], outgoing: &mut [f64]| {
            let Stage { cell, face, .. } = &stages[stage];
            for (bundle, lines) in face.bundles().zip(&mut lines[*cell]) {
                let mut carry = unpack(arrived, &bundle);
                solver.eliminate(axis, face.start, lines, &mut carry);
                pack(&carry, outgoing, &bundle);
            }
        };
        passages[axis][0].run(lines, work, |lines, stage| {
            stages.get(stage + 1).into_iter().for_each(|next| load(lines, next));
        })
    }

    /// In descending order of the slabs. The lines of a cell are stored when the message about them is on its way.
    fn substitute(&mut self, partition: &Multipartition, axis: usize, u: &mut [Field], r: &mut [Field]) -> Result<()> {
        let Sweep { solver, lines, passages } = self;
        let mut stages: Vec<_> = stages::<S>(partition, axis).collect();
        stages.reverse();
        let work = |lines: &mut Vec<Vec<Lines<_>>>, stage: usize, arrived: &[f64], outgoing: &mut [f64]| {
            let Stage { cell, face, .. } = &stages[stage];
            for (bundle, lines) in face.bundles().zip(&mut lines[*cell]) {
                let mut carry = unpack(arrived, &bundle);
                solver.substitute(lines, &mut carry);
                pack(&carry, outgoing, &bundle);
            }
        };
        passages[axis][1].run(lines, work, |lines, stage| {
            let Stage { cell, face, .. } = &stages[stage];
            for (bundle, lines) in face.bundles().zip(&mut lines[*cell]) {
                solver.finish(axis, lines);
                lines.store(&bundle, &mut u[*cell], &mut r[*cell]);
            }
        })
    }
}

/// The cell that a rank works on while its lines pass through one slab.
struct Stage {
    /// Which of the rank's cells.
    cell: usize,
    /// Its lines.
    face: Face,
    /// Doubles in a message of elimination across its borders.
    forward: usize,
    /// Doubles in a message of substitution across its borders.
    backward: usize,
}

/// The stages of the lines along `axis`, slab by slab.
fn stages<S: LineSolver>(partition: &Multipartition, axis: usize) -> impl Iterator<Item = Stage> {
    (0..partition.slabs()).map(move |slab| {
        let cell = partition.cell_in_slab(axis, slab);
        let face = Face::new(&partition.cells()[cell].block, axis);
        let lines = S::lines_per_message(partition, &face);
        let (forward, backward) = (S::Forward::default(), S::Backward::default());
        Stage { cell, face, forward: lines * forward.as_ref().len(), backward: lines * backward.as_ref().len() }
    })
}

/// Puts what a bundle carries into a message: bundle by bundle, number by number, line by line.
fn pack<C: Carry>(carry: &C, message: &mut [f64], bundle: &Bundle) {
    if message.is_empty() {
        return;
    }
    let numbers = carry.as_ref();
    let message = &mut message[numbers.len() * bundle.number..][..numbers.len() * bundle.lines];
    for (lines, lanes) in message.chunks_exact_mut(bundle.lines).zip(numbers) {
        lines.copy_from_slice(&lanes.0[..bundle.lines]);
    }
}

/// The reverse of [`pack`]; zero from an empty message.
fn unpack<C: Carry>(message: &[f64], bundle: &Bundle) -> C {
    let mut carry = C::default();
    if message.is_empty() {
        return carry;
    }
    let numbers = carry.as_mut();
    let message = &message[numbers.len() * bundle.number..][..numbers.len() * bundle.lines];
    for (lines, lanes) in message.chunks_exact(bundle.lines).zip(numbers) {
        lanes.0[..bundle.lines].copy_from_slice(lines);
    }
    carry
}

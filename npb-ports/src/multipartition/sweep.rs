//! Solving all lines along one axis, slab after slab.
//!
//! Elimination runs through the slabs in ascending order, substitution back. At every border a message tells the next
//! rank how the lines stand. A rank works on its cell of one slab while the other ranks work on theirs, so nobody waits
//! for long.

use super::bundle::{Bundle, Face, gather, scatter, scatter_add};
use super::decomposition::{Multipartition, Side};
use super::messages::{Incoming, Mail, Outgoing};
use crate::cfd::Field;
use crate::lanes::{Lanes, Unknowns};
use rwmpi::{Buffer, Result};
use std::marker::PhantomData;

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
pub struct Sweep<'u, S: LineSolver> {
    solver: S,
    mail: Mail<'u>,
    /// Bundles at work: one if no message is waited for in between, else all of every cell.
    lines: Vec<Vec<Lines<S::Kept>>>,
    outgoing: Buffer<f64>,
    incoming: Buffer<f64>,
}

impl<'u, S: LineSolver> Sweep<'u, S> {
    /// For the cells of `partition`.
    pub fn new(partition: &Multipartition, solver: S, mail: Mail<'u>) -> Self {
        let slabs = partition.slabs();
        let stages = (0..3).flat_map(|axis| (0..slabs).map(move |slab| Stage::<S>::new(partition, axis, slab)));
        let longest = stages.map(|stage| if slabs == 1 { 0 } else { stage.forward.max(stage.backward) }).max();
        let longest = longest.expect("there is at least one slab");
        let lines = vec![vec![Lines::default()]; slabs];
        let (outgoing, incoming) = (mail.buffer(longest), mail.buffer(longest));
        Sweep { solver, mail, lines, outgoing, incoming }
    }

    /// Solves the lines along `axis` of all cells: `r` becomes the solution, which along the last axis is added to `u`.
    pub fn run(&mut self, partition: &Multipartition, axis: usize, u: &mut [Field], r: &mut [Field]) -> Result<()> {
        if partition.slabs() == 1 {
            self.solve_whole(&Face::new(&partition.cells()[0].block, axis), &mut u[0], &mut r[0]);
            return Ok(());
        }
        self.eliminate(partition, axis, u, r)?;
        self.substitute(partition, axis, u, r)
    }

    /// Lines that lie in one cell: each bundle is finished before the next, while it is in the cache.
    fn solve_whole(&mut self, face: &Face, u: &mut Field, r: &mut Field) {
        let (solver, lines) = (&self.solver, &mut self.lines[0][0]);
        for bundle in face.bundles() {
            lines.load(face.points, &bundle, u, r);
            solver.prepare(face.axis, lines);
            solver.eliminate(face.axis, face.start, lines, &mut S::Forward::default());
            solver.substitute(lines, &mut S::Backward::default());
            solver.finish(face.axis, lines);
            lines.store(&bundle, u, r);
        }
    }

    fn eliminate(&mut self, partition: &Multipartition, axis: usize, u: &[Field], r: &[Field]) -> Result<()> {
        let Sweep { solver, mail, lines, outgoing, incoming } = self;
        let [from, to] = [Side::Low, Side::High].map(|side| partition.neighbour(axis, side));
        let mut sent = 0;
        for slab in 0..partition.slabs() {
            let cell = Stage::<S>::new(partition, axis, slab);
            let (face, bundles) = (cell.face, &mut lines[cell.index]);
            let received = if slab == 0 { 0 } else { cell.forward };
            pass(mail, (from, &mut incoming[..received]), (to, &outgoing[..sent]), || {
                bundles.resize_with(face.bundles().count().max(bundles.len()), Lines::default);
                for (bundle, lines) in face.bundles().zip(bundles.iter_mut()) {
                    lines.load(face.points, &bundle, &u[cell.index], &r[cell.index]);
                    solver.prepare(axis, lines);
                }
            })?;
            sent = if slab + 1 == partition.slabs() { 0 } else { cell.forward };
            for (bundle, lines) in face.bundles().zip(bundles) {
                let mut carry = unpack(&incoming[..received], &face, &bundle);
                solver.eliminate(axis, face.start, lines, &mut carry);
                pack(&carry, &mut outgoing[..sent], &face, &bundle);
            }
        }
        Ok(())
    }

    fn substitute(&mut self, partition: &Multipartition, axis: usize, u: &mut [Field], r: &mut [Field]) -> Result<()> {
        let Sweep { solver, mail, lines, outgoing, incoming } = self;
        let [to, from] = [Side::Low, Side::High].map(|side| partition.neighbour(axis, side));
        let mut finish = |cell: &Stage<S>, bundles: &mut [Lines<S::Kept>]| {
            for (bundle, lines) in cell.face.bundles().zip(bundles) {
                solver.finish(axis, lines);
                lines.store(&bundle, &mut u[cell.index], &mut r[cell.index]);
            }
        };
        let mut sent = 0;
        let mut solved: Option<Stage<S>> = None;
        for slab in (0..partition.slabs()).rev() {
            let cell = Stage::<S>::new(partition, axis, slab);
            let received = if solved.is_none() { 0 } else { cell.backward };
            pass(mail, (from, &mut incoming[..received]), (to, &outgoing[..sent]), || {
                if let Some(cell) = &solved {
                    finish(cell, &mut lines[cell.index]);
                }
            })?;
            sent = if slab == 0 { 0 } else { cell.backward };
            for (bundle, lines) in cell.face.bundles().zip(&mut lines[cell.index]) {
                let mut carry = unpack(&incoming[..received], &cell.face, &bundle);
                solver.substitute(lines, &mut carry);
                pack(&carry, &mut outgoing[..sent], &cell.face, &bundle);
            }
            solved = Some(cell);
        }
        let last = solved.expect("there is at least one slab");
        finish(&last, &mut lines[last.index]);
        Ok(())
    }
}

/// The cell that a rank works on while its lines pass through one slab.
struct Stage<S> {
    /// Which of the rank's cells.
    index: usize,
    /// Its lines.
    face: Face,
    /// Doubles in a message of elimination across its borders.
    forward: usize,
    /// Doubles in a message of substitution across its borders.
    backward: usize,
    solver: PhantomData<S>,
}

impl<S: LineSolver> Stage<S> {
    fn new(partition: &Multipartition, axis: usize, slab: usize) -> Self {
        let index = partition.cell_in_slab(axis, slab);
        let face = Face::new(&partition.cells()[index].block, axis);
        let lines = S::lines_per_message(partition, &face);
        let (forward, backward) = (S::Forward::default(), S::Backward::default());
        let (forward, backward) = (lines * forward.as_ref().len(), lines * backward.as_ref().len());
        Stage { index, face, forward, backward, solver: PhantomData }
    }
}

/// Receives from one neighbour and sends to the other, each only if there is something, and calls `meanwhile`.
fn pass(
    mail: &Mail<'_>,
    (source, buffer): (usize, &mut [f64]),
    (destination, data): (usize, &[f64]),
    meanwhile: impl FnOnce(),
) -> Result<()> {
    const TAG: i32 = 0;
    let incoming = (!buffer.is_empty()).then_some(Incoming { source, tag: TAG, buffer });
    let outgoing = (!data.is_empty()).then_some(Outgoing { destination, tag: TAG, data });
    mail.exchange(incoming, outgoing, meanwhile)
}

/// Puts what a bundle carries into a message: row by row of the face, number by number, line by line.
fn pack<C: Carry>(carry: &C, message: &mut [f64], face: &Face, bundle: &Bundle) {
    if message.is_empty() {
        return;
    }
    let [row, line] = bundle.face;
    let numbers = carry.as_ref();
    for (m, lanes) in numbers.iter().enumerate() {
        let first = (row * numbers.len() + m) * face.width + line;
        message[first..first + bundle.lines].copy_from_slice(&lanes.0[..bundle.lines]);
    }
}

/// The reverse of [`pack`]; zero from an empty message.
fn unpack<C: Carry>(message: &[f64], face: &Face, bundle: &Bundle) -> C {
    let mut carry = C::default();
    if message.is_empty() {
        return carry;
    }
    let [row, line] = bundle.face;
    let numbers = carry.as_mut();
    let count = numbers.len();
    for (m, lanes) in numbers.iter_mut().enumerate() {
        let first = (row * count + m) * face.width + line;
        lanes.0[..bundle.lines].copy_from_slice(&message[first..first + bundle.lines]);
    }
    carry
}

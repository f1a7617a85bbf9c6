//! Bundles of neighbouring lines of a cell: taken out of fields into the layout of the solvers, and put back.
//!
//! A solver sees a line as a sequence of points, whatever its axis, and always several lines at once: point by point five
//! unknowns, each for [`LANES`] lines. Along y and z the lines of a bundle are neighbours in x, so their numbers are
//! neighbours in memory; along x they are neighbours in y, and taking them out transposes.

use crate::cfd::{Block, Field, GHOST};
use crate::lanes::{LANES, Lanes, Unknowns};
use multiversion::multiversion;

/// Some lines of a cell, of the points off the mesh's boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The axis of the lines.
    pub axis: usize,
    /// Which row of the cell's face they belong to, and place in it of the first line.
    pub face: [usize; 2],
    /// How many of the lanes are lines; the others repeat lines or hold numbers without meaning.
    pub lines: usize,
    /// First point of the first line, counted from the first ghost.
    first: [usize; 3],
}

/// The lines along one axis of a block's points off the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Face {
    /// The axis of the lines.
    pub axis: usize,
    /// Points of a line.
    pub points: usize,
    /// Index in the mesh of a line's first point.
    pub start: usize,
    /// Lines in a row.
    pub width: usize,
    /// Rows.
    pub rows: usize,
    /// First point of the first line, counted from the first ghost.
    first: [usize; 3],
}

impl Face {
    /// The lines of `block` along `axis`.
    pub fn new(block: &Block, axis: usize) -> Self {
        let (across, over) = across(axis);
        let interior = [0, 1, 2].map(|axis| block.interior(axis));
        Face {
            axis,
            points: interior[axis].len(),
            start: block.start[axis] + interior[axis].start,
            width: interior[across].len(),
            rows: interior[over].len(),
            first: interior.map(|range| range.start + GHOST),
        }
    }

    /// How many lines there are.
    pub fn lines(&self) -> usize {
        self.width * self.rows
    }

    /// All lines, in bundles: row by row.
    pub fn bundles(self) -> impl Iterator<Item = Bundle> {
        (0..self.rows).flat_map(move |row| self.bundles_of_row(row))
    }

    /// The lines of one row. Along x and y these are the lines in a plane across z.
    pub fn bundles_of_row(self, row: usize) -> impl Iterator<Item = Bundle> {
        let (across, over) = across(self.axis);
        (0..self.width).step_by(LANES).map(move |line| {
            let mut first = self.first;
            first[over] += row;
            first[across] += line;
            Bundle { axis: self.axis, face: [row, line], lines: LANES.min(self.width - line), first }
        })
    }
}

/// The axis that lines along `axis` are neighbours along in a bundle, and the third axis.
fn across(axis: usize) -> (usize, usize) {
    match axis {
        0 => (1, 2),
        1 => (0, 2),
        _ => (0, 1),
    }
}

/// Takes as many points of the bundle's lines as `line` is long out of `field`, beginning `before` points before the first.
pub fn gather(field: &Field, bundle: &Bundle, before: usize, line: &mut [Unknowns]) {
    let mut first = bundle.first;
    first[bundle.axis] -= before;
    let place = Place::new(field, first, bundle);
    match bundle.axis {
        0 => gather_transposing(field.data(), place, bundle.lines, line),
        _ => gather_rows(field.data(), place, line),
    }
}

/// Puts the points of the bundle's lines into `field`.
pub fn scatter(field: &mut Field, bundle: &Bundle, line: &[Unknowns]) {
    let place = Place::new(field, bundle.first, bundle);
    match bundle.axis {
        0 => scatter_transposing(field.data_mut(), place, bundle.lines, line),
        _ => scatter_rows(field.data_mut(), place, bundle.lines, line),
    }
}

/// Adds the points of the bundle's lines, which run along y or z, to those in `field`.
pub fn scatter_add(field: &mut Field, bundle: &Bundle, line: &[Unknowns]) {
    debug_assert_ne!(bundle.axis, 0);
    let place = Place::new(field, bundle.first, bundle);
    add_rows(field.data_mut(), place, bundle.lines, line);
}

/// Where a bundle's numbers are in a field's data.
#[derive(Clone, Copy)]
struct Place {
    /// Those of the first line's first point: first component.
    first: usize,
    /// From a component to the next.
    component: usize,
    /// From a point of a line to the next.
    point: usize,
    /// From a line to the next.
    line: usize,
}

impl Place {
    fn new(field: &Field, first: [usize; 3], bundle: &Bundle) -> Self {
        let step = |axis: usize| {
            let mut next = first;
            next[axis] += 1;
            field.index(next) - field.index(first)
        };
        Place {
            first: field.index(first),
            component: field.component_stride(),
            point: step(bundle.axis),
            line: step(across(bundle.axis).0),
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn gather_rows(data: &[f64], place: Place, line: &mut [Unknowns]) {
    for (t, unknowns) in line.iter_mut().enumerate() {
        let point = &data[place.first + t * place.point..];
        for (m, lanes) in unknowns.iter_mut().enumerate() {
            lanes.0.copy_from_slice(&point[m * place.component..][..LANES]);
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn gather_transposing(data: &[f64], place: Place, lines: usize, line: &mut [Unknowns]) {
    for m in 0..5 {
        // Lanes beyond the last line repeat it.
        let rows: [&[f64]; LANES] = std::array::from_fn(|lane| {
            let first = place.first + lane.min(lines - 1) * place.line + m * place.component;
            &data[first..first + line.len()]
        });
        for (t, unknowns) in line.iter_mut().enumerate() {
            unknowns[m] = Lanes(rows.map(|row| row[t]));
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn scatter_rows(data: &mut [f64], place: Place, lines: usize, line: &[Unknowns]) {
    for (t, unknowns) in line.iter().enumerate() {
        let point = &mut data[place.first + t * place.point..];
        for (m, lanes) in unknowns.iter().enumerate() {
            if lines == LANES {
                point[m * place.component..][..LANES].copy_from_slice(&lanes.0);
            } else {
                point[m * place.component..][..lines].copy_from_slice(&lanes.0[..lines]);
            }
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn add_rows(data: &mut [f64], place: Place, lines: usize, line: &[Unknowns]) {
    for (t, unknowns) in line.iter().enumerate() {
        let point = &mut data[place.first + t * place.point..];
        for (m, lanes) in unknowns.iter().enumerate() {
            let numbers = &mut point[m * place.component..][..lines];
            for (number, change) in numbers.iter_mut().zip(lanes.0) {
                *number += change;
            }
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn scatter_transposing(data: &mut [f64], place: Place, lines: usize, line: &[Unknowns]) {
    for m in 0..5 {
        for lane in 0..lines {
            let first = place.first + lane * place.line + m * place.component;
            for (number, unknowns) in data[first..first + line.len()].iter_mut().zip(line) {
                *number = unknowns[m].0[lane];
            }
        }
    }
}

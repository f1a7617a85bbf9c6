//! Bundles of neighbouring lines of a cell: taken out of fields into the layout of the solvers, and put back.
//!
//! A solver sees a line as a sequence of points, whatever its axis, and always several lines at once: point by point
//! five unknowns, each for [`LANES`] lines. Along y and z the lines of a bundle are neighbours in x, so their numbers
//! are neighbours in memory; along x they are neighbours in y, and taking them out transposes. A bundle may begin in
//! one row of lines and go on in the next: were it to end with the row, the lanes of a row's last bundle would be idle
//! work, which in cells of a few points makes a third of all.

use crate::cfd::{Block, Field, GHOST};
use crate::lanes::{LANES, Lanes, Unknowns};
use multiversion::multiversion;
use std::ops::Range;

/// Some lines of a cell, of the points off the mesh's boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The axis of the lines.
    pub axis: usize,
    /// Number of the first line, counted over all rows of the cell's face.
    pub number: usize,
    /// How many of the lanes are lines; the others repeat lines or hold numbers without meaning.
    pub lines: usize,
    /// Whether all lines are of one row.
    in_one_row: bool,
    /// Each line's first point, counted from the first ghost; beyond the last line that of the last.
    firsts: [[usize; 3]; LANES],
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
    width: usize,
    /// Rows.
    rows: usize,
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

    /// All lines, in bundles, of which only the last may be short: a bundle may go on in the next row.
    pub fn bundles(self) -> impl ExactSizeIterator<Item = Bundle> {
        self.bundles_of(0..self.lines())
    }

    /// The lines of one row. Along x and y these are the lines in a plane across z.
    pub fn bundles_of_row(self, row: usize) -> impl ExactSizeIterator<Item = Bundle> {
        self.bundles_of(row * self.width..(row + 1) * self.width)
    }

    fn bundles_of(self, lines: Range<usize>) -> impl ExactSizeIterator<Item = Bundle> {
        let end = lines.end;
        lines.step_by(LANES).map(move |number| self.bundle(number, LANES.min(end - number)))
    }

    fn bundle(&self, number: usize, lines: usize) -> Bundle {
        let (across, over) = across(self.axis);
        let [mut row, mut place] = [number / self.width, number % self.width];
        let in_one_row = place + lines <= self.width;
        let mut firsts = [self.first; LANES];
        for lane in 0..LANES {
            firsts[lane][over] += row;
            firsts[lane][across] += place;
            if lane + 1 < lines {
                place += 1;
                if place == self.width {
                    (row, place) = (row + 1, 0);
                }
            }
        }
        Bundle { axis: self.axis, number, lines, in_one_row, firsts }
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

/// Takes as many points of the bundle's lines as `line` is long out of `field`, beginning `before` points before the
/// first.
pub fn gather(field: &Field, bundle: &Bundle, before: usize, line: &mut [Unknowns]) {
    let place = Place::new(field, bundle, before);
    match bundle.axis {
        0 => gather_transposing(field.data(), place, line),
        _ if bundle.in_one_row => gather_rows(field.data(), place, line),
        _ => gather_each(field.data(), place, line),
    }
}

/// Puts the points of the bundle's lines into `field`.
pub fn scatter(field: &mut Field, bundle: &Bundle, line: &[Unknowns]) {
    let place = Place::new(field, bundle, 0);
    match bundle.axis {
        0 => scatter_transposing(field.data_mut(), place, bundle.lines, line),
        _ if bundle.in_one_row => scatter_rows(field.data_mut(), place, bundle.lines, line),
        _ => scatter_each(field.data_mut(), place, bundle.lines, line),
    }
}

/// Adds the points of the bundle's lines, which run along y or z, to those in `field`.
pub fn scatter_add(field: &mut Field, bundle: &Bundle, line: &[Unknowns]) {
    debug_assert_ne!(bundle.axis, 0);
    let place = Place::new(field, bundle, 0);
    if bundle.in_one_row {
        add_rows(field.data_mut(), place, bundle.lines, line);
    } else {
        add_each(field.data_mut(), place, bundle.lines, line);
    }
}

/// Where a bundle's numbers are in a field's data.
#[derive(Clone, Copy)]
struct Place {
    /// Those of each line's first point: first component.
    firsts: [usize; LANES],
    /// From a component to the next.
    component: usize,
    /// From a point of a line to the next.
    point: usize,
}

impl Place {
    /// From `before` points before the lines' first ones on.
    fn new(field: &Field, bundle: &Bundle, before: usize) -> Self {
        let first = bundle.firsts[0];
        let mut next = first;
        next[bundle.axis] += 1;
        let point = field.index(next) - field.index(first);
        let firsts = bundle.firsts.map(|first| field.index(first) - before * point);
        Place { firsts, component: field.component_stride(), point }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn gather_rows(data: &[f64], place: Place, line: &mut [Unknowns]) {
    for (t, unknowns) in line.iter_mut().enumerate() {
        let point = &data[place.firsts[0] + t * place.point..];
        for (m, lanes) in unknowns.iter_mut().enumerate() {
            lanes.0.copy_from_slice(&point[m * place.component..][..LANES]);
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn gather_each(data: &[f64], place: Place, line: &mut [Unknowns]) {
    for (t, unknowns) in line.iter_mut().enumerate() {
        for (m, lanes) in unknowns.iter_mut().enumerate() {
            let offset = t * place.point + m * place.component;
            *lanes = Lanes(place.firsts.map(|first| data[first + offset]));
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn gather_transposing(data: &[f64], place: Place, line: &mut [Unknowns]) {
    for m in 0..5 {
        let rows = place.firsts.map(|first| &data[first + m * place.component..][..line.len()]);
        for (t, unknowns) in line.iter_mut().enumerate() {
            unknowns[m] = Lanes(rows.map(|row| row[t]));
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn scatter_rows(data: &mut [f64], place: Place, lines: usize, line: &[Unknowns]) {
    for (t, unknowns) in line.iter().enumerate() {
        let point = &mut data[place.firsts[0] + t * place.point..];
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
fn scatter_each(data: &mut [f64], place: Place, lines: usize, line: &[Unknowns]) {
    for (t, unknowns) in line.iter().enumerate() {
        for (m, lanes) in unknowns.iter().enumerate() {
            let offset = t * place.point + m * place.component;
            for (first, number) in place.firsts.iter().zip(lanes.0).take(lines) {
                data[first + offset] = number;
            }
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn add_rows(data: &mut [f64], place: Place, lines: usize, line: &[Unknowns]) {
    for (t, unknowns) in line.iter().enumerate() {
        let point = &mut data[place.firsts[0] + t * place.point..];
        for (m, lanes) in unknowns.iter().enumerate() {
            let numbers = &mut point[m * place.component..][..lines];
            for (number, change) in numbers.iter_mut().zip(lanes.0) {
                *number += change;
            }
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn add_each(data: &mut [f64], place: Place, lines: usize, line: &[Unknowns]) {
    for (t, unknowns) in line.iter().enumerate() {
        for (m, lanes) in unknowns.iter().enumerate() {
            let offset = t * place.point + m * place.component;
            for (first, change) in place.firsts.iter().zip(lanes.0).take(lines) {
                data[first + offset] += change;
            }
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn scatter_transposing(data: &mut [f64], place: Place, lines: usize, line: &[Unknowns]) {
    for m in 0..5 {
        for lane in 0..lines {
            let first = place.firsts[lane] + m * place.component;
            for (number, unknowns) in data[first..first + line.len()].iter_mut().zip(line) {
                *number = unknowns[m].0[lane];
            }
        }
    }
}

//! The right-hand side: +1 at the ten points with the largest random values, −1 at the ten with the smallest.

use super::decomposition::Part;
use crate::random::{Generator, MULTIPLIER, power};
use std::iter::repeat;

const SEED: u64 = 314_159_265;

/// Charges of each sign.
pub const CHARGES: usize = 10;

/// A point that may get a charge: its random value, and its number in the whole grid, x fastest.
pub type Candidate = [f64; 2];

/// The extreme points of some part of the grid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extremes {
    /// Up to ten points with the largest values, largest first.
    pub largest: Vec<Candidate>,
    /// Up to ten points with the smallest values, smallest first.
    pub smallest: Vec<Candidate>,
}

impl Extremes {
    /// The extremes among the points of `part` of a grid with `points` points along each axis.
    pub fn of(part: &Part, points: usize) -> Self {
        let mut extremes = Extremes::default();
        let mut values = vec![0.0; part.shape.interior[0]];
        let next_row = power(MULTIPLIER, points as u64);
        for z in part.axis(2) {
            let mut generator = Generator::new(SEED);
            generator.jump((part.start[0] + points * (part.start[1] + points * z)) as u64);
            for y in part.axis(1) {
                generator.clone().fill(&mut values);
                generator.multiply(next_row);
                let first = part.start[0] + points * (y + points * z);
                for (&value, point) in values.iter().zip(first..) {
                    extremes.offer_largest([value, point as f64]);
                    extremes.offer_smallest([value, point as f64]);
                }
            }
        }
        extremes
    }

    #[inline(always)]
    fn offer_largest(&mut self, candidate: Candidate) {
        if self.largest.len() < CHARGES || candidate[0] > self.largest[CHARGES - 1][0] {
            insert(&mut self.largest, candidate, |a, b| a > b);
        }
    }

    #[inline(always)]
    fn offer_smallest(&mut self, candidate: Candidate) {
        if self.smallest.len() < CHARGES || candidate[0] < self.smallest[CHARGES - 1][0] {
            insert(&mut self.smallest, candidate, |a, b| a < b);
        }
    }

    /// In a form that can be sent: the largest, then the smallest, missing ones replaced by values that no point has.
    pub fn to_numbers(&self) -> [Candidate; 2 * CHARGES] {
        let largest = self.largest.iter().copied().chain(repeat([-1.0, 0.0])).take(CHARGES);
        let smallest = self.smallest.iter().copied().chain(repeat([2.0, 0.0])).take(CHARGES);
        let mut numbers = [[0.0; 2]; 2 * CHARGES];
        numbers.iter_mut().zip(largest.chain(smallest)).for_each(|(place, candidate)| *place = candidate);
        numbers
    }

    /// Takes in the extremes of another part, as [`Extremes::to_numbers`] gives them.
    pub fn merge(&mut self, numbers: &[Candidate]) {
        let (largest, smallest) = numbers.split_at(CHARGES);
        largest.iter().for_each(|&candidate| self.offer_largest(candidate));
        smallest.iter().for_each(|&candidate| self.offer_smallest(candidate));
    }
}

/// Inserts `candidate` after those that come before it, and drops what is too many.
#[cold]
fn insert(list: &mut Vec<Candidate>, candidate: Candidate, before: impl Fn(f64, f64) -> bool) {
    let place = list.partition_point(|listed| before(listed[0], candidate[0]));
    list.insert(place, candidate);
    list.truncate(CHARGES);
}

/// Writes the charges that lie in `part` to `grid`, zero to its other interior points.
pub fn place(extremes: &Extremes, part: &Part, points: usize, grid: &mut [f64]) {
    grid.fill(0.0);
    for (charge, candidates) in [(1.0, &extremes.largest), (-1.0, &extremes.smallest)] {
        for &[_, point] in candidates {
            let point = point as usize;
            let position = [point % points, point / points % points, point / (points * points)];
            if let Some([x, y, z]) = part.local(position) {
                grid[part.shape.row(y, z)][x] = charge;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mg::decomposition::Decomposition;

    #[test]
    fn the_extremes_of_the_parts_contain_those_of_the_whole() {
        let points = 32;
        let whole = Extremes::of(&Decomposition::new(1).part(0, points), points);
        let mut merged = Extremes::default();
        for rank in 0..8 {
            let part = Extremes::of(&Decomposition::new(8).part(rank, points), points);
            merged.merge(&part.to_numbers());
        }
        assert_eq!(merged, whole);
    }

    #[test]
    fn every_charge_is_placed_in_one_part() {
        let points = 32;
        let extremes = Extremes::of(&Decomposition::new(1).part(0, points), points);
        let (mut positive, mut negative) = (0, 0);
        for rank in 0..4 {
            let part = Decomposition::new(4).part(rank, points);
            let mut grid = vec![f64::NAN; part.shape.points()];
            place(&extremes, &part, points, &mut grid);
            positive += grid.iter().filter(|&&charge| charge == 1.0).count();
            negative += grid.iter().filter(|&&charge| charge == -1.0).count();
        }
        assert_eq!((positive, negative), (10, 10));
    }
}

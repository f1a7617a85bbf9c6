//! Grids: row-major numbering, shifts, subgrids, and balanced dimensions (MPI-5.0 sections 8.5.1 to 8.5.7).

use super::Neighbours;
use crate::error::{Error, ErrorClass};
use crate::{Destination, Result, Source};

/// A grid: rank by coordinates, the last coordinate running fastest.
#[doc = example!(1
    "let grid = rwmpi::Cartesian::new(&[3, 4], &[false, true])?;"
    "assert_eq!((grid.dimensions(), grid.periodic(), grid.size()), (&[3, 4][..], &[false, true][..], 12));"
    "assert_eq!((grid.coordinates(5)?, grid.rank_at(&[1, -3])?), (vec![1, 1], 5));"
    "let (from, to) = grid.shift(2, 0, 1)?;"
    "assert_eq!((from.rank(), to.rank()), (None, Some(6)));"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cartesian {
    dimensions: Vec<usize>,
    periodic: Vec<bool>,
}

impl Cartesian {
    /// A grid of these extents; `periodic` tells which dimensions close to a ring. No dimensions make a grid of one
    /// rank.
    ///
    /// # Errors
    /// If an extent is 0, there are too many ranks to count, or the lists differ in length.
    pub fn new(dimensions: &[usize], periodic: &[bool]) -> Result<Self> {
        let refuse = |what: String| Err(Error::new(ErrorClass::Dimensions, what));
        if dimensions.len() != periodic.len() {
            let (extents, flags) = (dimensions.len(), periodic.len());
            return refuse(format!("a grid of {extents} dimensions can't have {flags} flags for rings"));
        }
        if let Some(place) = dimensions.iter().position(|&extent| extent == 0) {
            return refuse(format!("dimension {place} of the grid has extent 0; at least 1 is needed"));
        }
        let ranks = dimensions.iter().try_fold(1usize, |ranks, &extent| ranks.checked_mul(extent));
        if ranks.is_none_or(|ranks| u32::try_from(ranks).is_err()) {
            return refuse(format!("a grid of {dimensions:?} has more ranks than any job"));
        }
        Ok(Cartesian { dimensions: dimensions.to_vec(), periodic: periodic.to_vec() })
    }

    /// The extent of each dimension.
    pub fn dimensions(&self) -> &[usize] {
        &self.dimensions
    }

    /// Which dimensions close to a ring.
    pub fn periodic(&self) -> &[bool] {
        &self.periodic
    }

    /// How many ranks the grid has.
    pub fn size(&self) -> usize {
        self.dimensions.iter().product()
    }

    /// Where a rank is (MPI_Cart_coords).
    ///
    /// # Errors
    /// If the grid has no such rank.
    #[doc(alias = "MPI_Cart_coords")]
    pub fn coordinates(&self, rank: usize) -> Result<Vec<usize>> {
        self.check_rank(rank)?;
        Ok(self.place(rank))
    }

    fn check_rank(&self, rank: usize) -> Result<()> {
        if rank < self.size() {
            return Ok(());
        }
        let what = format!("rank {rank} is out of range; the grid has {} ranks, counted from 0", self.size());
        Err(Error::new(ErrorClass::Rank, what))
    }

    /// The coordinates of a rank of the grid.
    fn place(&self, rank: usize) -> Vec<usize> {
        let mut left = rank;
        let mut coordinates = vec![0; self.dimensions.len()];
        for (coordinate, extent) in coordinates.iter_mut().zip(&self.dimensions).rev() {
            *coordinate = left % extent;
            left /= extent;
        }
        coordinates
    }

    /// The rank at these coordinates, which are taken round the ring in periodic dimensions (MPI_Cart_rank).
    ///
    /// # Errors
    /// If a coordinate lies outside a dimension that is no ring, or there are not as many as dimensions.
    #[doc(alias = "MPI_Cart_rank")]
    pub fn rank_at(&self, coordinates: &[i64]) -> Result<usize> {
        if coordinates.len() != self.dimensions.len() {
            let (given, needed) = (coordinates.len(), self.dimensions.len());
            let what = format!("{given} coordinates were given for a grid of {needed} dimensions");
            return Err(Error::new(ErrorClass::Argument, what));
        }
        let mut rank = 0;
        for (dimension, &coordinate) in coordinates.iter().enumerate() {
            let extent = self.dimensions[dimension];
            let inside = self.inside(dimension, coordinate).ok_or_else(|| {
                let what = format!("coordinate {coordinate} in dimension {dimension} is outside 0 to {}", extent - 1);
                Error::new(ErrorClass::Argument, what)
            })?;
            rank = rank * extent + inside;
        }
        Ok(rank)
    }

    /// A coordinate, taken round the ring if there is one; `None` if it is outside.
    fn inside(&self, dimension: usize, coordinate: i64) -> Option<usize> {
        let extent = self.dimensions[dimension] as i64;
        let wrapped = if self.periodic[dimension] { coordinate.rem_euclid(extent) } else { coordinate };
        (0..extent).contains(&wrapped).then_some(wrapped as usize)
    }

    /// The rank that is `displacement` steps from `rank` along `dimension`; `None` beyond the edge.
    fn step(&self, rank: usize, dimension: usize, displacement: i64) -> Option<usize> {
        let stride: usize = self.dimensions[dimension + 1..].iter().product();
        let coordinate = rank / stride % self.dimensions[dimension];
        // Beyond all grids the sum's exact value does not matter, but on a ring it does.
        let extent = self.dimensions[dimension] as i64;
        let displacement = if self.periodic[dimension] { displacement % extent } else { displacement };
        let there = self.inside(dimension, (coordinate as i64).saturating_add(displacement))?;
        Some(rank - coordinate * stride + there * stride)
    }

    /// Whom `rank` receives from and sends to when all pass data `displacement` steps up along `dimension`
    /// (MPI_Cart_shift).
    ///
    /// # Errors
    /// If there is no such rank or dimension.
    #[doc(alias = "MPI_Cart_shift")]
    pub fn shift(&self, rank: usize, dimension: usize, displacement: i64) -> Result<(Source, Destination)> {
        self.check_rank(rank)?;
        if dimension >= self.dimensions.len() {
            let what = format!("there is no dimension {dimension}: the grid has {}", self.dimensions.len());
            return Err(Error::new(ErrorClass::Argument, what));
        }
        let source = self.step(rank, dimension, displacement.checked_neg().unwrap_or(i64::MAX));
        let destination = self.step(rank, dimension, displacement);
        Ok((source.map_or(Source::Null, Source::Rank), destination.map_or(Destination::Null, Destination::Rank)))
    }

    /// For each dimension the neighbour below and the one above.
    pub(crate) fn neighbours(&self, rank: usize) -> Neighbours {
        let steps = (0..self.dimensions.len()).flat_map(|dimension| [(dimension, -1), (dimension, 1)]);
        let destinations: Vec<Destination> = steps
            .map(|(dimension, step)| self.step(rank, dimension, step).map_or(Destination::Null, Destination::Rank))
            .collect();
        Neighbours { sources: destinations.iter().map(|&partner| partner.into()).collect(), destinations }
    }

    /// The subgrid of the dimensions `kept` in which `rank` lies: its number among such subgrids, the rank's number in
    /// it, and the subgrid itself.
    ///
    /// # Errors
    /// If there are not as many flags as dimensions.
    pub(crate) fn subgrid(&self, rank: usize, kept: &[bool]) -> Result<(usize, usize, Cartesian)> {
        if kept.len() != self.dimensions.len() {
            let (flags, needed) = (kept.len(), self.dimensions.len());
            let what = format!("{flags} flags for kept dimensions were given for a grid of {needed} dimensions");
            return Err(Error::new(ErrorClass::Argument, what));
        }
        let (mut which, mut number) = (0, 0);
        let (mut dimensions, mut periodic) = (Vec::new(), Vec::new());
        for (dimension, coordinate) in self.place(rank).into_iter().enumerate() {
            let extent = self.dimensions[dimension];
            if kept[dimension] {
                number = number * extent + coordinate;
                dimensions.push(extent);
                periodic.push(self.periodic[dimension]);
            } else {
                which = which * extent + coordinate;
            }
        }
        Ok((which, number, Cartesian { dimensions, periodic }))
    }
}

/// Fills the zeros in `dimensions` so that the product is `ranks` (MPI_Dims_create). The new extents do not increase,
/// and they are as close to each other as the factors of what is left allow: the largest and the smallest differ as
/// little as can be; where that leaves a choice, the largest is as small as can be, then the next, and so on.
///
/// # Errors
/// If the extents that are given do not divide `ranks`.
#[doc = example!(1
    "let mut dimensions = [0, 0, 2];"
    "rwmpi::balanced_dimensions(24, &mut dimensions)?;"
    "assert_eq!(dimensions, [4, 3, 2]);"
)]
#[doc(alias = "MPI_Dims_create")]
pub fn balanced_dimensions(ranks: usize, dimensions: &mut [usize]) -> Result<()> {
    let given = dimensions
        .iter()
        .filter(|&&extent| extent != 0)
        .try_fold(1usize, |product, &extent| product.checked_mul(extent));
    let free = dimensions.iter().filter(|&&extent| extent == 0).count();
    let fits = given.is_some_and(|given| ranks > 0 && ranks.is_multiple_of(given) && (free > 0 || given == ranks));
    let (true, Some(given)) = (fits, given) else {
        let what = format!("no grid of {ranks} ranks has the extents {dimensions:?} (0: to be chosen)");
        return Err(Error::new(ErrorClass::Dimensions, what));
    };
    let mut chosen = closest_factors(ranks / given, free).into_iter();
    for extent in dimensions.iter_mut().filter(|extent| **extent == 0) {
        *extent = chosen.next().unwrap_or(1);
    }
    Ok(())
}

fn divisors(number: usize) -> Vec<usize> {
    let mut small: Vec<usize> = (1..).take_while(|d| d * d <= number).filter(|&d| number.is_multiple_of(d)).collect();
    let large: Vec<usize> = small.iter().rev().map(|d| number / d).filter(|d| d * d != number).collect();
    small.extend(large);
    small
}

/// `number` as a product of `count` factors that do not increase: those whose first and last differ least, and of these
/// the ones of which the first is smallest, then the second, and so on.
fn closest_factors(number: usize, count: usize) -> Vec<usize> {
    let divisors = divisors(number);
    let (mut best, mut difference) = (Vec::new(), usize::MAX);
    for &largest in divisors.iter().filter(|_| count > 0) {
        // Whatever is found is better than what was found before, so this ends.
        while difference > 0 {
            let mut chosen = vec![largest];
            let smallest = (largest + 1).saturating_sub(difference).max(1);
            if !factors(number / largest, count - 1, [smallest, largest], &divisors, &mut chosen) {
                break;
            }
            difference = largest - chosen[count - 1];
            best = chosen;
        }
    }
    best
}

/// Whether `factor` to the power of `count` is at least `number`.
fn reaches(factor: usize, count: usize, number: usize) -> bool {
    (0..count).try_fold(1usize, |power, _| power.checked_mul(factor)).is_none_or(|power| power >= number)
}

/// Adds `count` factors between these bounds to `chosen` that do not increase and whose product is `number`: the first
/// as small as possible, then the next. False, and nothing added, if there are none.
fn factors(number: usize, count: usize, bounds: [usize; 2], divisors: &[usize], chosen: &mut Vec<usize>) -> bool {
    let [smallest, largest] = bounds;
    if count == 0 {
        return number == 1;
    }
    let within = &divisors[divisors.partition_point(|&divisor| divisor < smallest)..];
    for &factor in within.iter().take_while(|&&factor| factor <= largest) {
        // The others are at least `smallest` each.
        if reaches(smallest, count - 1, number / factor + 1) {
            return false;
        }
        if number.is_multiple_of(factor) && reaches(factor, count, number) {
            chosen.push(factor);
            if factors(number / factor, count - 1, [smallest, factor], divisors, chosen) {
                return true;
            }
            chosen.pop();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balanced(ranks: usize, given: &[usize]) -> Vec<usize> {
        let mut dimensions = given.to_vec();
        balanced_dimensions(ranks, &mut dimensions).unwrap();
        dimensions
    }

    #[test]
    fn dimensions_are_balanced() {
        let cases: &[(usize, &[usize], &[usize])] = &[
            (6, &[0, 0], &[3, 2]),
            (7, &[0, 0], &[7, 1]),
            (6, &[0, 3, 0], &[2, 3, 1]),
            (12, &[0, 0], &[4, 3]),
            (16, &[0, 0, 0], &[4, 2, 2]),
            (36, &[0, 0, 0], &[4, 3, 3]),
            (60, &[0, 0, 0], &[5, 4, 3]),
            (72, &[0, 0, 0], &[6, 4, 3]),
            (96, &[0, 0, 0], &[6, 4, 4]),
            (5040, &[0, 0, 0], &[20, 18, 14]),
            (7488, &[0, 0, 0], &[26, 18, 16]),
            (19_008, &[0, 0, 0], &[33, 24, 24]),
            (34_425, &[0, 0, 0], &[51, 27, 25]),
            (2 * 34_425, &[0, 2, 0, 0], &[51, 2, 27, 25]),
            (1, &[0, 0], &[1, 1]),
            (12, &[3, 4], &[3, 4]),
            (1, &[], &[]),
            (1 << 20, &[0; 20], &[2; 20]),
            (2_147_483_647, &[0, 0], &[2_147_483_647, 1]),
        ];
        for (ranks, given, expected) in cases {
            let found = balanced(*ranks, given);
            assert_eq!(found, *expected, "{ranks}");
        }
    }

    #[test]
    fn numbers_with_many_divisors_are_no_trouble() {
        let found = balanced(735_134_400, &[0; 7]);
        assert_eq!(found.iter().product::<usize>(), 735_134_400);
        assert!(found.is_sorted_by(|a, b| a >= b), "{found:?}");
    }

    /// All lists of `count` numbers up to `largest` that do not increase and whose product is `number`.
    fn every_list(number: usize, count: usize, largest: usize) -> Vec<Vec<usize>> {
        if count == 0 {
            return if number == 1 { vec![Vec::new()] } else { Vec::new() };
        }
        let factors = (1..=largest.min(number)).filter(|&factor| number.is_multiple_of(factor));
        let longer = |factor| {
            let rest = every_list(number / factor, count - 1, factor);
            rest.into_iter().map(move |list| [vec![factor], list].concat())
        };
        factors.flat_map(longer).collect()
    }

    #[test]
    fn no_better_balance_exists() {
        for (count, ranks) in [(1, 1..50), (2, 1..400), (3, 1..400), (4, 1..400), (5, 1..200), (3, 7480..7490)] {
            for ranks in ranks {
                let best = every_list(ranks, count, ranks)
                    .into_iter()
                    .min_by_key(|list| (list[0] - list[count - 1], list.clone()));
                assert_eq!(balanced(ranks, &vec![0; count]), best.unwrap());
            }
        }
    }

    #[test]
    fn extents_that_do_not_divide_are_refused() {
        for (ranks, given) in [(7, vec![0, 2]), (6, vec![2, 2]), (0, vec![0]), (4, vec![2]), (2, vec![])] {
            let mut dimensions = given.clone();
            let error = balanced_dimensions(ranks, &mut dimensions).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Dimensions);
            assert_eq!(dimensions, given);
        }
    }

    #[test]
    fn ranks_and_coordinates_are_inverse() {
        let grid = Cartesian::new(&[3, 4, 2], &[true, false, true]).unwrap();
        assert_eq!(grid.size(), 24);
        for rank in 0..24 {
            let coordinates = grid.coordinates(rank).unwrap();
            assert_eq!(coordinates, [rank / 8, rank / 2 % 4, rank % 2]);
            let signed: Vec<i64> = coordinates.iter().map(|&c| c as i64).collect();
            assert_eq!(grid.rank_at(&signed).unwrap(), rank);
        }
        assert_eq!(grid.rank_at(&[-1, 0, 3]).unwrap(), 17);
        assert_eq!(grid.rank_at(&[0, 4, 0]).unwrap_err().class(), ErrorClass::Argument);
        assert_eq!(grid.rank_at(&[0, 0]).unwrap_err().class(), ErrorClass::Argument);
        assert_eq!(grid.coordinates(24).unwrap_err().class(), ErrorClass::Rank);
    }

    #[test]
    fn shifts_end_at_edges_and_go_round_rings() {
        let grid = Cartesian::new(&[3, 4], &[true, false]).unwrap();
        let shift = |rank, dimension, steps| grid.shift(rank, dimension, steps).unwrap();
        assert_eq!(shift(0, 0, 1), (Source::Rank(8), Destination::Rank(4)));
        assert_eq!(shift(0, 0, -5), (Source::Rank(8), Destination::Rank(4)));
        assert_eq!(shift(5, 0, 0), (Source::Rank(5), Destination::Rank(5)));
        assert_eq!(shift(0, 1, 1), (Source::Null, Destination::Rank(1)));
        assert_eq!(shift(3, 1, 2), (Source::Rank(1), Destination::Null));
        assert_eq!(shift(3, 1, i64::MIN), (Source::Null, Destination::Null));
        assert_eq!(grid.shift(0, 2, 1).unwrap_err().class(), ErrorClass::Argument);
        assert_eq!(grid.shift(12, 0, 1).unwrap_err().class(), ErrorClass::Rank);
    }

    #[test]
    fn neighbours_are_listed_below_then_above() {
        let grid = Cartesian::new(&[2, 3], &[true, false]).unwrap();
        let Neighbours { sources, destinations } = grid.neighbours(3);
        use Destination::{Null, Rank};
        assert_eq!(destinations, [Rank(0), Rank(0), Null, Rank(4)]);
        assert_eq!(sources, [Source::Rank(0), Source::Rank(0), Source::Null, Source::Rank(4)]);
    }

    #[test]
    fn subgrids_partition_the_grid() {
        let grid = Cartesian::new(&[2, 3, 2], &[true, false, false]).unwrap();
        let (which, number, subgrid) = grid.subgrid(7, &[false, true, true]).unwrap();
        assert_eq!((which, number, subgrid.dimensions()), (1, 1, &[3, 2][..]));
        let (which, number, subgrid) = grid.subgrid(7, &[false; 3]).unwrap();
        assert_eq!((which, number, subgrid.size()), (7, 0, 1));
        assert_eq!(grid.subgrid(0, &[true]).unwrap_err().class(), ErrorClass::Argument);
    }

    #[test]
    fn grids_that_can_not_be_are_refused() {
        for (dimensions, periodic) in [(&[2, 0][..], &[true, true][..]), (&[2], &[]), (&[1 << 20, 1 << 20], &[true; 2])]
        {
            assert_eq!(Cartesian::new(dimensions, periodic).unwrap_err().class(), ErrorClass::Dimensions);
        }
    }
}

//! The ranks as a mesh that the matrix is divided over, in blocks.
//!
//! Vectors are divided over the columns of the mesh, and every row of it has all of them. A product with the matrix
//! comes out the other way round: every rank has a contribution to the elements of its mesh row. These are added up
//! along the row, in steps with partners ever farther away, and then travel to the rank that needs them, the mirror
//! image across the mesh's diagonal. Where the mesh is twice as wide as high, two neighbours in a row share a block of
//! elements, and each keeps half of it.

use super::solver::Combine;
use rwmpi::{Buffer, Communicator, Result, Universe};
use std::array;
use std::ops::Range;

/// Where a rank stands in the mesh, and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// This rank.
    rank: usize,
    /// The matrix's rows and columns that its block has.
    pub rows: Range<usize>,
    pub columns: Range<usize>,
    /// Of its rows, counted from the first of them, those that it adds up and hands on, and those that it leaves to its
    /// neighbour; none if the mesh is square.
    kept: Range<usize>,
    left: Range<usize>,
    /// Partners in its mesh row: half the row away, a quarter, …, next to it.
    partners: Vec<usize>,
    /// Its mirror image.
    mirror: usize,
}

impl Place {
    /// The place of `rank` of `ranks`, a power of two, for a matrix of order `order`.
    pub fn new(order: usize, rank: usize, ranks: usize) -> Self {
        let log = ranks.ilog2();
        let (height, width) = (1 << (log / 2), 1 << log.div_ceil(2));
        let (row, column) = (rank / width, rank % width);
        let rows = share(0..order, row, height);
        let wide = width > height;
        // A column of a wide mesh has half of what a row of it has.
        let halves = |whole: Range<usize>, half: usize| share(whole, half, 2);
        let columns = match wide {
            true => halves(share(0..order, column / 2, height), column % 2),
            false => share(0..order, column, width),
        };
        let from_start = 0..rows.len();
        let (kept, left) = match wide {
            true => (halves(from_start.clone(), column % 2), halves(from_start, 1 - column % 2)),
            false => (from_start, 0..0),
        };
        let partners = (0..width.ilog2()).rev().map(|bit| row * width + (column ^ (1 << bit))).collect();
        let mirror = match wide {
            true => (column / 2) * width + 2 * row + column % 2,
            false => column * width + row,
        };
        Place { rank, rows, columns, kept, left, partners, mirror }
    }
}

/// The part `index` of `whole` divided into `count` parts, the first of which are longer by one if need be.
fn share(whole: Range<usize>, index: usize, count: usize) -> Range<usize> {
    let (length, longer) = (whole.len() / count, whole.len() % count);
    let start = |index: usize| whole.start + index * length + index.min(longer);
    start(index)..start(index + 1)
}

const TRANSPOSE_TAG: i32 = 1;

/// A rank that shares the matrix with others.
pub struct Mesh<'a> {
    world: &'a Communicator,
    place: Place,
    /// Contributions to the elements of this mesh row: the sum so far.
    sum: Buffer<f64>,
    /// What comes from each partner.
    incoming: Vec<Buffer<f64>>,
}

impl<'a> Mesh<'a> {
    /// The calling rank at `place`.
    pub fn new(world: &'a Communicator, universe: &Universe, place: Place) -> Self {
        let incoming = place.partners.iter().map(|_| universe.alloc(place.kept.len())).collect();
        Mesh { world, sum: universe.alloc(place.rows.len()), incoming, place }
    }
}

impl Combine for Mesh<'_> {
    fn sum<const N: usize>(&mut self, values: impl FnOnce() -> [f64; N]) -> Result<[f64; N]> {
        sum_values(self.world, &self.place.partners, values)
    }

    fn product(&mut self, multiply: impl FnOnce(&mut [f64]), product: &mut [f64]) -> Result<()> {
        let Mesh { world, place, sum, incoming } = self;
        rwmpi::scope(|scope| {
            let transposed = world.irecv(scope, product, place.mirror, TRANSPOSE_TAG)?;
            sum_row(world, place, 0, incoming, sum, multiply)?;
            world.send(&sum[place.kept.clone()], place.mirror, TRANSPOSE_TAG)?;
            transposed.wait().map(drop)
        })
    }
}

/// Adds up the results of `multiply` along the mesh row, as far as this rank keeps them, in the steps from the last one
/// to `step`. The receives of all steps are posted before the work that the results come from.
fn sum_row(
    world: &Communicator,
    place: &Place,
    step: usize,
    incoming: &mut [Buffer<f64>],
    sum: &mut [f64],
    multiply: impl FnOnce(&mut [f64]),
) -> Result<()> {
    let Some((part, later)) = incoming.split_first_mut() else {
        multiply(sum);
        return Ok(());
    };
    let Place { kept, left, partners, .. } = place;
    // The nearest partner takes the other half, if there are halves; all others keep the same half.
    let sent = if later.is_empty() && !left.is_empty() { left } else { kept };
    let (partner, tag) = (partners[step], step as i32 + 1);
    rwmpi::scope(|scope| {
        let request = world.irecv(scope, part, partner, tag)?;
        sum_row(world, place, step + 1, later, sum, multiply)?;
        world.send(&sum[sent.clone()], partner, tag)?;
        request.wait().map(drop)
    })?;
    sum[kept.clone()].iter_mut().zip(part.iter()).for_each(|(sum, part)| *sum += *part);
    Ok(())
}

/// Adds up `values` over a mesh row with these partners. The receives are posted before the values are computed.
fn sum_values<const N: usize>(
    world: &Communicator,
    partners: &[usize],
    values: impl FnOnce() -> [f64; N],
) -> Result<[f64; N]> {
    let Some((&partner, nearer)) = partners.split_last() else { return Ok(values()) };
    let (mut part, tag) = ([0.0; N], partners.len() as i32);
    let sums = rwmpi::scope(|scope| {
        let request = world.irecv(scope, &mut part, partner, tag)?;
        let sums = sum_values(world, nearer, values)?;
        world.send(&sums, partner, tag)?;
        request.wait()?;
        Ok(sums)
    })?;
    Ok(array::from_fn(|place| sums[place] + part[place]))
}

#[cfg(test)]
mod tests {
    use super::Place;

    const ORDER: usize = 1403;

    fn places(ranks: usize) -> Vec<Place> {
        (0..ranks).map(|rank| Place::new(ORDER, rank, ranks)).collect()
    }

    #[test]
    fn the_blocks_tile_the_matrix() {
        for ranks in [1, 2, 4, 8, 16, 32] {
            let elements: usize = places(ranks).iter().map(|place| place.rows.len() * place.columns.len()).sum();
            assert_eq!(elements, ORDER * ORDER);
            for (a, b) in places(ranks).iter().zip(places(ranks).iter().skip(1)) {
                assert!(a.rows == b.rows && a.columns.end == b.columns.start || a.rows.end == b.rows.start);
            }
        }
    }

    #[test]
    fn the_mirror_image_keeps_what_a_rank_needs() {
        for ranks in [1, 2, 4, 8, 16, 32] {
            let places = places(ranks);
            for place in &places {
                let mirror = &places[place.mirror];
                assert_eq!(mirror.mirror, place.rank);
                let kept = mirror.rows.start + mirror.kept.start..mirror.rows.start + mirror.kept.end;
                assert_eq!(kept, place.columns, "{ranks} ranks");
            }
        }
    }

    #[test]
    fn partners_are_mutual_and_the_nearest_shares_a_wide_mesh_s_block() {
        for ranks in [2, 4, 8, 16, 32] {
            let places = places(ranks);
            for place in &places {
                for (step, &partner) in place.partners.iter().enumerate() {
                    assert_eq!(places[partner].partners[step], place.rank);
                    assert_eq!(places[partner].rows, place.rows);
                    let nearest = step + 1 == place.partners.len();
                    let expected = if nearest && !place.left.is_empty() { &place.left } else { &place.kept };
                    assert_eq!(&places[partner].kept, expected);
                }
            }
        }
    }
}

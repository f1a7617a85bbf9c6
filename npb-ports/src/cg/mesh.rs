//! The ranks as a mesh that the matrix is divided over, in blocks.
//!
//! Vectors are divided over the columns of the mesh, and every row of it has all of them. A product with the matrix comes
//! out the other way round: every rank has a contribution to the elements of its mesh row. These are added up along the
//! row, in steps with partners ever farther away, and then travel to the rank that needs them, the mirror image across the
//! mesh's diagonal. Where the mesh is twice as wide as high, two neighbours in a row share a block of elements, and each
//! keeps half of it.

use super::solver::Combine;
use rwmpi::{Buffer, Communicator, Pod, Result, Universe};
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
    /// Contributions to the elements of this mesh row: the sum so far, and what has come from a partner.
    sum: Buffer<f64>,
    incoming: Buffer<f64>,
}

impl<'a> Mesh<'a> {
    /// The calling rank at `place`.
    pub fn new(world: &'a Communicator, universe: &Universe, place: Place) -> Self {
        let (sum, incoming) = (universe.alloc(place.rows.len()), universe.alloc(place.rows.len()));
        Mesh { world, place, sum, incoming }
    }

    /// Adds up the contributions along the mesh row, as far as this rank keeps them.
    fn sum_row(&mut self) -> Result<()> {
        let Place { kept, left, partners, .. } = &self.place;
        for (index, &partner) in partners.iter().enumerate().rev() {
            let step = index + 1;
            // The nearest partner takes the other half, if there are halves; all others keep the same half.
            let nearest = step == partners.len();
            let sent = if nearest && !left.is_empty() { left } else { kept };
            let incoming = &mut self.incoming[..kept.len()];
            exchange(self.world, &self.sum[sent.clone()], incoming, partner, step as i32)?;
            self.sum[kept.clone()].iter_mut().zip(incoming.iter()).for_each(|(sum, part)| *sum += *part);
        }
        Ok(())
    }
}

impl Combine for Mesh<'_> {
    fn sum<const N: usize>(&mut self, values: [f64; N]) -> Result<[f64; N]> {
        let mut sums = values;
        for (step, &partner) in (1..).zip(&self.place.partners) {
            let mut incoming = [0.0; N];
            exchange(self.world, &sums, &mut incoming, partner, step)?;
            sums.iter_mut().zip(incoming).for_each(|(sum, part)| *sum += part);
        }
        Ok(sums)
    }

    fn product(&mut self, multiply: impl FnOnce(&mut [f64]), product: &mut [f64]) -> Result<()> {
        multiply(&mut self.sum);
        self.sum_row()?;
        exchange(self.world, &self.sum[self.place.kept.clone()], product, self.place.mirror, TRANSPOSE_TAG)
    }
}

/// Sends to `partner`, which may be this rank itself, and receives from it; the receive is posted first.
fn exchange<T: Pod>(world: &Communicator, outgoing: &[T], incoming: &mut [T], partner: usize, tag: i32) -> Result<()> {
    rwmpi::scope(|scope| {
        let request = world.irecv(scope, incoming, partner, tag)?;
        world.send(outgoing, partner, tag)?;
        request.wait()?;
        Ok(())
    })
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

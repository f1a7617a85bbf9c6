//! The sparse matrix: how it is made, and how it is multiplied.
//!
//! A is the sum of the outer products of `order` random sparse vectors with themselves, the later ones weighing ever
//! less, and a multiple of the identity. Every rank makes all vectors, which are small, and of A only its own block.

use super::problem::Problem;
use crate::random::Generator;
use std::ops::Range;

const SEED: u64 = 314_159_265;

/// The condition number of the matrix is about the inverse of this, were it not for the shift.
const RECIPROCAL_CONDITION: f64 = 0.1;

/// A random sparse vector.
struct SparseVector {
    /// What its outer product with itself is weighed with.
    weight: f64,
    entries: Vec<(usize, f64)>,
}

/// The random vectors, in order.
fn vectors(problem: &Problem) -> Vec<SparseVector> {
    let order = problem.order;
    let mut generator = Generator::new(SEED);
    generator.next_number();
    let (ratio, range) = (RECIPROCAL_CONDITION.powf(1.0 / order as f64), order.next_power_of_two() as f64);
    let mut weight = 1.0;
    let vector = |diagonal: usize| {
        let mut entries: Vec<(usize, f64)> = Vec::with_capacity(problem.nonzeros + 1);
        while entries.len() < problem.nonzeros {
            let (value, position) = (generator.next_number(), (range * generator.next_number()) as usize);
            if position < order && entries.iter().all(|&(taken, _)| taken != position) {
                entries.push((position, value));
            }
        }
        match entries.iter_mut().find(|(position, _)| *position == diagonal) {
            Some((_, value)) => *value = 0.5,
            None => entries.push((diagonal, 0.5)),
        }
        let vector = SparseVector { weight, entries };
        weight *= ratio;
        vector
    };
    (0..order).map(vector).collect()
}

/// How many nonzeros are stored and multiplied at a time. Rows are filled up with zeros.
const GROUP: usize = 8;

/// A block of a sparse matrix, row by row.
#[derive(Clone, Debug)]
pub struct SparseMatrix {
    /// Row `r` has the groups `starts[r]..starts[r + 1]`.
    starts: Vec<usize>,
    columns: Vec<[u32; GROUP]>,
    values: Vec<[f64; GROUP]>,
    /// How many columns there are.
    width: usize,
}

impl SparseMatrix {
    /// The block of `problem`'s matrix in `rows` and `columns`.
    pub fn generate(problem: &Problem, rows: Range<usize>, columns: Range<usize>) -> Self {
        let vectors = vectors(problem);
        // For each row, which vectors have an entry there, in order.
        let mut contributions: Vec<Vec<(usize, f64)>> = vec![Vec::new(); rows.len()];
        for (index, vector) in vectors.iter().enumerate() {
            for &(position, value) in vector.entries.iter().filter(|(position, _)| rows.contains(position)) {
                contributions[position - rows.start].push((index, value));
            }
        }
        let mut matrix =
            SparseMatrix { starts: vec![0], columns: Vec::new(), values: Vec::new(), width: columns.len() };
        let mut row = RowAccumulator::new(columns);
        for (position, contributions) in rows.zip(contributions) {
            for (index, value) in contributions {
                let SparseVector { weight, entries } = &vectors[index];
                entries.iter().for_each(|&(column, other)| row.add(column, value * (weight * other)));
            }
            row.add(position, RECIPROCAL_CONDITION - problem.shift);
            row.finish(&mut matrix);
        }
        matrix
    }

    /// How many elements are not zero.
    #[cfg(test)]
    pub fn nonzeros(&self) -> usize {
        self.values.as_flattened().iter().filter(|&&value| value != 0.0).count()
    }

    /// Bytes that a block with `rows` rows and a `share` of the columns takes, at most.
    pub fn bytes(problem: &Problem, rows: usize, share: f64) -> u64 {
        let products = (problem.nonzeros + 1).pow(2) as f64 * share;
        let vectors = problem.order * (problem.nonzeros + 4) * 16;
        (rows as f64 * (products + GROUP as f64) * 12.0) as u64 + 2 * vectors as u64
    }

    /// The length that a vector to multiply with must have: a power of two, so that no index below it has to be
    /// checked.
    pub fn padded_width(&self) -> usize {
        self.width.next_power_of_two()
    }

    /// Adds `amount` to some element.
    pub fn falsify(&mut self, amount: f64) {
        self.values[0][0] += amount;
    }

    /// `product` = matrix · `vector`, of which what is beyond the matrix's width does not matter.
    pub fn multiply(&self, vector: &[f64], product: &mut [f64]) {
        multiply(self, vector, product);
    }
}

/// Not compiled for several instruction sets: the newer ones would gather the elements of the vector by one
/// instruction, and where processors have been cured of leaking what they gather, that is slower than loading them one
/// by one.
fn multiply(matrix: &SparseMatrix, vector: &[f64], product: &mut [f64]) {
    assert_eq!(vector.len(), matrix.padded_width());
    // A column is below the vector's length as it stands; said in this way, that need not be checked each time.
    let mask = (vector.len() - 1) as u32;
    let vector = &vector[..mask as usize + 1];
    for (product, row) in product.iter_mut().zip(matrix.starts.windows(2)) {
        let row = row[0]..row[1];
        let mut lanes = [0.0; GROUP];
        for (columns, values) in matrix.columns[row.clone()].iter().zip(&matrix.values[row]) {
            for lane in 0..GROUP {
                lanes[lane] += values[lane] * vector[(columns[lane] & mask) as usize];
            }
        }
        *product = lanes.iter().sum();
    }
}

/// Adds up the elements of one row.
struct RowAccumulator {
    columns: Range<usize>,
    /// For each column, and whether it is among those touched.
    sums: Vec<(f64, bool)>,
    touched: Vec<usize>,
}

impl RowAccumulator {
    fn new(columns: Range<usize>) -> Self {
        RowAccumulator { sums: vec![(0.0, false); columns.len()], columns, touched: Vec::new() }
    }

    /// Adds `value` to the element in `column`, unless that is none of those kept.
    fn add(&mut self, column: usize, value: f64) {
        if self.columns.contains(&column) {
            let (sum, touched) = &mut self.sums[column - self.columns.start];
            *sum += value;
            if !std::mem::replace(touched, true) {
                self.touched.push(column - self.columns.start);
            }
        }
    }

    /// Appends the row to `matrix` and begins the next.
    fn finish(&mut self, matrix: &mut SparseMatrix) {
        self.touched.sort_unstable();
        for group in self.touched.chunks(GROUP) {
            let (mut columns, mut values) = ([0; GROUP], [0.0; GROUP]);
            for (lane, &column) in group.iter().enumerate() {
                (columns[lane], values[lane]) = (column as u32, self.sums[column].0);
                self.sums[column] = (0.0, false);
            }
            matrix.columns.push(columns);
            matrix.values.push(values);
        }
        self.touched.clear();
        matrix.starts.push(matrix.values.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    fn dense(matrix: &SparseMatrix) -> Vec<Vec<f64>> {
        let column = |column: usize| {
            let mut unit = vec![0.0; matrix.padded_width()];
            unit[column] = 1.0;
            let mut product = vec![0.0; matrix.starts.len() - 1];
            matrix.multiply(&unit, &mut product);
            product
        };
        (0..matrix.width).map(column).collect()
    }

    #[test]
    fn the_matrix_has_as_many_nonzeros_as_the_definition_says() {
        for (class, nonzeros) in [(Class::S, 78_148), (Class::W, 508_402)] {
            let problem = Problem::of(class);
            let matrix = SparseMatrix::generate(&problem, 0..problem.order, 0..problem.order);
            assert_eq!(matrix.nonzeros(), nonzeros);
        }
    }

    #[test]
    fn the_matrix_is_the_sum_of_the_outer_products() {
        let problem = Problem { order: 20, nonzeros: 3, iterations: 1, shift: 10.0, reference: 0.0 };
        let mut expected = vec![vec![0.0; 20]; 20];
        for SparseVector { weight, entries } in vectors(&problem) {
            for &(row, left) in &entries {
                entries.iter().for_each(|&(column, right)| expected[column][row] += left * (weight * right));
            }
        }
        (0..20).for_each(|index| expected[index][index] += 0.1 - 10.0);
        assert_eq!(dense(&SparseMatrix::generate(&problem, 0..20, 0..20)), expected);
    }

    #[test]
    fn a_block_is_part_of_the_whole() {
        let problem = Problem { order: 20, nonzeros: 3, iterations: 1, shift: 10.0, reference: 0.0 };
        let whole = dense(&SparseMatrix::generate(&problem, 0..20, 0..20));
        let block = dense(&SparseMatrix::generate(&problem, 5..12, 9..20));
        for (column, elements) in block.iter().enumerate() {
            assert_eq!(elements[..], whole[column + 9][5..12]);
        }
    }
}

//! Sizes and reference values of the classes.

use crate::Class;

/// A class's problem.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// Rows and columns of the matrix.
    pub order: usize,
    /// Nonzeros of each of the random vectors that the matrix is made of, not counting the one on the diagonal.
    pub nonzeros: usize,
    /// How many outer iterations are timed.
    pub iterations: u32,
    /// What the diagonal is lowered by.
    pub shift: f64,
    /// The eigenvalue estimate that must come out.
    pub reference: f64,
}

impl Problem {
    /// The problem of `class`.
    pub fn of(class: Class) -> Self {
        let (order, nonzeros, iterations, shift, reference) = match class {
            Class::S => (1_400, 7, 15, 10.0, 8.5971775078648),
            Class::W => (7_000, 8, 15, 12.0, 10.362595087124),
            Class::A => (14_000, 11, 15, 20.0, 17.130235054029),
            Class::B => (75_000, 13, 75, 60.0, 22.712745482631),
            Class::C => (150_000, 15, 75, 110.0, 28.973605592845),
        };
        Problem { order, nonzeros, iterations, shift, reference }
    }
}

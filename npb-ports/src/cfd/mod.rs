//! The flow model that LU, SP and BT share: the compressible Navier-Stokes equations on a cube, driven by a forcing
//! that makes a known polynomial the steady solution.
//!
//! The unknowns of a point are density, three momenta and energy, always in that order. Indices count from 0 along x, y
//! and z (axes 0, 1, 2); points 0 and n-1 of a line lie on the boundary, hold the exact solution and never change.
//!
//! Formulas of one point ([`exact_solution`], [`Primitive`]) know nothing of how fields are stored, so each benchmark
//! may choose the layout that its solver wants. [`Field`] stores rows of one component each, because then a loop along
//! a row does the same to neighbouring doubles; [`spatial_operator`] works on whatever way its rows run.

mod exact;
mod field;
#[cfg(test)]
pub(crate) mod jacobian;
mod mesh;
mod norms;
mod operator;
mod primitive;

pub use exact::{exact_solution, initial_value};
pub use field::{Field, GHOST, Row, whole_vectors};
pub use mesh::{AxisCoefficients, Block, C1, C2, C3, C4, C5, DISSIPATION, KAPPA, Mesh, NU, State};
pub use norms::{error_squares, root_mean, squares};
pub use operator::{Operator, Weights, dissipation_weights, row_primitives, spatial_operator};
pub use primitive::Primitive;

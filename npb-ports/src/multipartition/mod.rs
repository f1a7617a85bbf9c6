//! What SP and BT have in common: the multi-partition of the mesh, the exchange of faces, the right-hand side, and the
//! pipelined solution of lines along one axis after the other.
//!
//! The benchmarks add the equations of a line ([`LineSolver`]) and the numbers of their classes ([`Problem`]).

mod bundle;
mod decomposition;
mod faces;
mod flow;
mod messages;
mod problem;
mod residual;
mod sweep;

pub use bundle::Face;
pub use decomposition::Multipartition;
pub use problem::{Problem, Reference};
pub use sweep::{LineSolver, Lines};

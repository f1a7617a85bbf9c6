//! MPI semantics over remote memory, and the typed Rust API.

mod buffer;
mod collective;
mod communicator;
mod engine;
mod error;
mod point_to_point;
mod rank;
mod request;
mod status;
mod universe;

pub use bytemuck::Pod;
pub use communicator::Communicator;
pub use error::{Error, ErrorClass, Result};
pub use rank::{ANY_SOURCE, ANY_TAG, Destination, PROC_NULL, Source, TAG_MAX, TagSelector};
pub use request::{Request, Scope, scope, wait_all};
pub use status::Status;
pub use universe::{Buffer, Protocol, TrafficCounters, Universe, init, wtime};

/// Reduction operations for the collectives: `op::sum`, `op::max`, … or any closure of the same shape.
pub mod op {
    /// Sum, element by element.
    pub fn sum<T: Copy + std::ops::Add<Output = T>>(a: &T, b: &T) -> T {
        *a + *b
    }
    /// Product, element by element.
    pub fn product<T: Copy + std::ops::Mul<Output = T>>(a: &T, b: &T) -> T {
        *a * *b
    }
    /// The larger, element by element (of numbers one of which is NaN, the other).
    pub fn max<T: Copy + PartialOrd>(a: &T, b: &T) -> T {
        if *b > *a { *b } else { *a }
    }
    /// The smaller, element by element.
    pub fn min<T: Copy + PartialOrd>(a: &T, b: &T) -> T {
        if *b < *a { *b } else { *a }
    }
}

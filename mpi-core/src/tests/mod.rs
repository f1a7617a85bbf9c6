//! Tests of what packages below do, which need ranks that speak MPI.

mod departure;
mod extremes;
mod lanes;
mod marks;

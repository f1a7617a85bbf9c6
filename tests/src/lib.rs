//! What the tests that cross crates have in common.

pub mod conformance;

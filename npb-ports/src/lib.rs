//! The eight NAS Parallel Benchmarks, written from their definition (NASA RNR-94-007, NAS-95-020) on the typed API of
//! rwmpi: they are both its largest users and the yardstick that its protocols are measured by.
//!
//! A benchmark is one folder that can be read beside its definition; all that they share is in the files of this level.
//! Class and number of processes are chosen at run time. Every benchmark is a function
//! `run(world, universe, class, options)` that every rank calls and that returns an [`outcome::Outcome`];
//! [`Benchmark::run`] turns the outcomes of the ranks into one [`BenchmarkResult`].
//!
//! Loops that take the time carry `#[multiversion]`: they are compiled for several instruction sets and the best one
//! that the processor has is taken when the program runs, so that one binary is fast everywhere. What they call must be
//! `#[inline(always)]` to be compiled along.
#![forbid(unsafe_code)]
// Formulas and reference values stand here as in the definition: with indices, and with all their digits.
#![allow(clippy::needless_range_loop, clippy::excessive_precision)]

pub mod all_to_all;
mod benchmark;
mod class;
pub mod command_line;
mod definition;
pub mod memory;
mod options;
pub mod outcome;
mod process_count;
pub mod random;
mod result;
pub mod timer;
mod traffic;
pub mod verify;

pub mod cfd;
pub mod lanes;
pub mod multipartition;
pub mod study;

pub mod bt;
pub mod cg;
pub mod ep;
pub mod ft;
pub mod is;
pub mod lu;
pub mod mg;
pub mod sp;

#[cfg(test)]
mod tests;

pub use benchmark::Benchmark;
pub use class::Class;
pub use options::Options;
pub use process_count::ProcessCountError;
pub use result::BenchmarkResult;
pub use traffic::{PairTraffic, Traffic};

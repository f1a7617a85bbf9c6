//! Jobs whose ranks are threads of this process: for tests, and for trying things out.
//!
//! A rank that panics ends the job: the others' calls fail instead of waiting for it, and its panic, not theirs, is what the caller gets.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::thread::Builder;

use rwmpi_transport::{JobFabric, NodeFabric};

use crate::Result;
use crate::error::{Error, ErrorClass};
use crate::universe::{Protocol, Universe};

/// Runs `rank_main` in `ranks` threads of this process, each a rank of a job of its own; returns their results in rank order.
///
/// # Errors
/// If the memory for the job can't be had.
///
/// # Panics
/// If a rank panics: with the first one's message, which names it.
pub fn run_threads<R: Send>(
    ranks: usize,
    protocol: Protocol,
    rank_main: impl Fn(&Universe) -> R + Sync,
) -> Result<Vec<R>> {
    let refused =
        |error: &dyn Display| Error::new(ErrorClass::Other, format!("can't make a job of {ranks} threads: {error}"));
    let fabrics = NodeFabric::threads(ranks).map_err(|error| refused(&error))?;
    let first_panic = OnceLock::new();
    let run = |rank: usize, fabric: NodeFabric| {
        let universe = Universe::new(JobFabric::Node(fabric), protocol);
        match catch_unwind(AssertUnwindSafe(|| rank_main(&universe))) {
            Ok(result) => result,
            Err(panic) => {
                let _ = first_panic.set(format!("rank {rank} of {ranks}: {}", message(&*panic)));
                universe.end_with_panic();
                resume_unwind(panic)
            }
        }
    };
    let run = &run;
    let results = std::thread::scope(|scope| {
        let start =
            |(rank, fabric)| Builder::new().name(format!("rank {rank}")).spawn_scoped(scope, move || run(rank, fabric));
        let started = fabrics.into_iter().enumerate().map(start).collect::<std::io::Result<Vec<_>>>();
        let threads = started.map_err(|error| refused(&error))?;
        Ok(threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>())
    })?;
    match first_panic.into_inner() {
        Some(text) => resume_unwind(Box::new(text)),
        None => Ok(results.into_iter().map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()),
    }
}

/// What a panic says.
fn message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "it panicked without a message",
    }
}

/// What a test of several ranks may return.
#[doc(hidden)]
pub trait TestOutcome {
    fn check(self);
}

impl TestOutcome for () {
    fn check(self) {}
}

impl<E: Display> TestOutcome for std::result::Result<(), E> {
    #[track_caller]
    fn check(self) {
        self.unwrap_or_else(|error| panic!("{error}"));
    }
}

/// What `#[rwmpi::test]` makes of its function.
#[doc(hidden)]
pub fn run_test<O: TestOutcome>(ranks: usize, test: impl Fn(&Universe) -> O + Sync) {
    run_threads(ranks, Protocol::Auto, |universe| test(universe).check()).unwrap_or_else(|error| panic!("{error}"));
}

//! Ranks that are threads: of a job within this process, or of one whose processes hold several ranks each.
//!
//! A rank that panics ends the job: the others' calls fail instead of waiting for it, and its panic, not theirs, is
//! what the caller gets.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, Builder};
use std::time::Duration;

use rwmpi_transport::{Job, JobFabric, NodeFabric, SharedPlace};

use crate::Result;
use crate::error::{Error, ErrorClass};
use crate::joining::{init, tuning_of_job};
use crate::tuning::Tuning;
use crate::universe::{Protocol, ThreadLevel, Universe, refused};

/// Bytes of stack of a rank: as many as the main thread of a process usually has.
const STACK: usize = 8 << 20;

/// Runs `rank_main` as each rank that this process is: one, or, under `mpiexec --threads T`, up to T, a thread each.
/// Returns their results in rank order, after all ranks of the job have come to their end as in [`Universe::finalize`].
///
/// A rank is a value that belongs to its thread. Ranks of a process see each other's memory: what long messages carry
/// between them is copied once, from buffer to buffer.
///
/// ```no_run
/// # use rwmpi_core as rwmpi;
/// let sums = rwmpi::run(|universe| {
///     let world = universe.world();
///     world.allreduce_value(world.rank(), rwmpi::op::sum)
/// })?;
/// # rwmpi::Result::Ok(())
/// ```
///
/// # Errors
/// If the job can't be joined, or not left in good order; and the first error that a rank of this process returns,
/// which ends the job.
///
/// # Panics
/// If a rank panics: with the first one's message, which names it.
pub fn run<R: Send, E: From<Error> + Display + Send>(
    rank_main: impl Fn(&Universe) -> std::result::Result<R, E> + Sync,
) -> std::result::Result<Vec<R>, E> {
    let Some(places) = SharedPlace::from_environment().map_err(refused)? else {
        let universe = init()?;
        let result = rank_main(&universe)?;
        universe.finalize()?;
        return Ok(vec![result]);
    };
    let (protocol, tuning, ranks) = (Protocol::of_job()?, tuning_of_job()?, places.peers());
    let (first_panic, first_to_fail) = (OnceLock::new(), OnceLock::new());
    let main = |rank: usize| {
        let membership = places.attach(rank).map_err(refused)?;
        let universe = Universe::of_member(membership, (protocol, &tuning), ThreadLevel::Filtered, false)?;
        let result = guarded(&universe, (rank, ranks), &first_panic, &rank_main).inspect_err(|error| {
            // The others' errors will be consequences.
            let _ = first_to_fail.set(rank);
            universe.end_with(&error.to_string());
        })?;
        universe.finalize()?;
        Ok(result)
    };
    let main = &main;
    let ended = on_threads(places.members().map(|rank| (rank, move || main(rank))));
    let mut results = results(ended.map_err(|error| cannot_start(ranks, &error))?, first_panic);
    if let Some(first) = first_to_fail.get() {
        results.swap(0, first - places.members().start);
    }
    results.into_iter().collect()
}

/// Runs `rank_main` in `ranks` threads of this process, each a rank of a job of its own; returns their results in rank
/// order.
///
/// # Errors
/// If the memory for the job can't be had, or the file that `RWMPI_TUNING` names has mistakes.
///
/// # Panics
/// If a rank panics: with the first one's message, which names it.
#[doc = example!(1
    "use rwmpi::{Protocol, run_threads};"
    "let sums = run_threads(4, Protocol::Auto, |universe| universe.world().allreduce_value(universe.world().rank(), op::sum))?;"
    "assert!(sums.into_iter().all(|sum| sum.is_ok_and(|sum| sum == 6)));"
)]
pub fn run_threads<R: Send>(
    ranks: usize,
    protocol: Protocol,
    rank_main: impl Fn(&Universe) -> R + Sync,
) -> Result<Vec<R>> {
    run_tuned_threads(ranks, (protocol, &tuning_of_job()?), rank_main)
}

/// As [`run_threads`], with these values of the table.
pub(crate) fn run_tuned_threads<R: Send>(
    ranks: usize,
    (protocol, tuning): (Protocol, &Tuning),
    rank_main: impl Fn(&Universe) -> R + Sync,
) -> Result<Vec<R>> {
    let job = Job::create(ranks, None).map_err(|error| cannot_start(ranks, &error))?;
    run_in(&job, (protocol, tuning), rank_main)
}

/// Runs the ranks of that job.
fn run_in<R: Send>(
    job: &Job,
    (protocol, tuning): (Protocol, &Tuning),
    rank_main: impl Fn(&Universe) -> R + Sync,
) -> Result<Vec<R>> {
    let ranks = job.peers();
    let fabrics = NodeFabric::threads_of(job).map_err(|error| cannot_start(ranks, &error))?.into_iter().flatten();
    let first_panic = OnceLock::new();
    let main = |rank: usize, fabric: NodeFabric| {
        let universe = Universe::new(JobFabric::Node(fabric), protocol, tuning, ThreadLevel::Filtered);
        guarded(&universe, (rank, ranks), &first_panic, &rank_main)
    };
    let main = &main;
    let mains = fabrics.enumerate().map(|(rank, fabric)| (rank, move || main(rank, fabric)));
    let ended = on_threads(mains).map_err(|error| cannot_start(ranks, &error))?;
    Ok(results(ended, first_panic))
}

fn cannot_start(ranks: usize, error: &dyn Display) -> Error {
    Error::new(ErrorClass::Other, format!("can't make a job of {ranks} threads: {error}"))
}

/// Runs each of `mains` in a thread that is named after its rank, and waits for all.
fn on_threads<R: Send, M: FnOnce() -> R + Send>(
    mains: impl Iterator<Item = (usize, M)>,
) -> std::io::Result<Vec<thread::Result<R>>> {
    thread::scope(|scope| {
        let start =
            |(rank, main)| Builder::new().name(format!("rank {rank}")).stack_size(STACK).spawn_scoped(scope, main);
        let threads = mains.map(start).collect::<std::io::Result<Vec<_>>>()?;
        Ok(threads.into_iter().map(|thread| thread.join()).collect())
    })
}

/// The results of ranks, or the first panic.
fn results<R>(ended: Vec<thread::Result<R>>, first_panic: OnceLock<String>) -> Vec<R> {
    if let Some(text) = first_panic.into_inner() {
        resume_unwind(Box::new(text));
    }
    ended.into_iter().map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
}

/// Runs a rank; if it panics, that ends the job.
fn guarded<R>(
    universe: &Universe,
    (rank, ranks): (usize, usize),
    first_panic: &OnceLock<String>,
    rank_main: impl Fn(&Universe) -> R,
) -> R {
    catch_unwind(AssertUnwindSafe(|| rank_main(universe))).unwrap_or_else(|panic| {
        let _ = first_panic.set(format!("rank {rank} of {ranks}: {}", message(&*panic)));
        universe.end_with("a rank panicked");
        resume_unwind(panic)
    })
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

/// What looks at the job of a test, from a thread beside the ranks, until what it receives by says that they have
/// ended. It may end the job before, and then says why.
type Watcher = fn(&Job, &Receiver<()>, Duration) -> Option<String>;

/// What `#[rwmpi::test]` makes of its function: a job of so many ranks that has so many seconds.
#[doc(hidden)]
pub fn run_test<O: TestOutcome>(ranks: usize, seconds: usize, watch: Watcher, test: impl Fn(&Universe) -> O + Sync) {
    let failed = |error: &dyn Display| -> ! { panic!("{error}") };
    let tuning = Tuning::of_job().unwrap_or_else(|error| failed(&error));
    let job = &Job::create(ranks, None).unwrap_or_else(|error| failed(&cannot_start(ranks, &error)));
    let (running, ended) = channel();
    let (hung, run) = thread::scope(|scope| {
        let watching = scope.spawn(move || watch(job, &ended, Duration::from_secs(seconds as u64)));
        let main = |universe: &Universe| test(universe).check();
        let run = catch_unwind(AssertUnwindSafe(|| run_in(job, (Protocol::Auto, &tuning), main)));
        drop(running);
        (watching.join().ok().flatten(), run)
    });
    match (hung, run) {
        (Some(text), _) => panic!("{text}"),
        (None, Ok(Ok(_))) => {}
        (None, Ok(Err(error))) => failed(&error),
        (None, Err(panic)) => resume_unwind(panic),
    }
}

//! For programs that start themselves as a job.

use crate::command_line::finish;
use crate::job_spec::{JobSpec, Section};
use std::env;
use std::process;

/// Runs `main` in each of `ranks` ranks: within a job, calls it; outside, starts this program again with the same
/// arguments as a job of that many ranks, and exits with the job's exit code.
///
/// To be called first in `main`, so that what comes before is not done once more than there are ranks.
///
/// ```no_run
/// rwmpi_launcher::launch(4, || println!("one of four"));
/// ```
pub fn launch<T>(ranks: usize, main: impl FnOnce() -> T) -> T {
    if in_job() { main() } else { start_self(ranks, |job| job) }
}

/// Whether this process was started as a rank of a job.
///
/// ```
/// assert!(!rwmpi_launcher::in_job());
/// ```
pub fn in_job() -> bool {
    env::var_os(rwmpi_transport::RANK).is_some()
}

/// Starts this program again with the same arguments as a job of `ranks` ranks, to which `settings` may add, and exits
/// with the job's exit code.
///
/// ```no_run
/// if !rwmpi_launcher::in_job() {
///     rwmpi_launcher::start_self(4, |job| job.timeout(std::time::Duration::from_secs(60)));
/// }
/// ```
pub fn start_self(ranks: usize, settings: impl FnOnce(JobSpec) -> JobSpec) -> ! {
    let program = env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    let section = Section::new(program).arguments(env::args_os().skip(1)).ranks(ranks);
    let spec = JobSpec::new(section)
        .forward_signals(true)
        .describe_activity(rwmpi_core::describe_activity)
        .describe_wait(rwmpi_core::describe_wait);
    process::exit(finish(settings(spec).run()).into())
}

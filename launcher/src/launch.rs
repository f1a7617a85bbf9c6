//! For programs that start themselves as a job.

use crate::command_line::finish;
use crate::job_spec::{JobSpec, Section};
use rwmpi_core::Protocol;
use std::env;
use std::process;

/// Runs `main` in each of `ranks` ranks: within a job, calls it; outside, starts this program again with the same arguments as a job
/// of that many ranks, and exits with the job's exit code.
///
/// To be called first in `main`, so that what comes before is not done once more than there are ranks.
///
/// ```no_run
/// rwmpi_launcher::launch(4, || println!("one of four"));
/// ```
pub fn launch<T>(ranks: usize, main: impl FnOnce() -> T) -> T {
    if in_job() { main() } else { start_self(ranks, None) }
}

/// Whether this process was started as a rank of a job.
pub fn in_job() -> bool {
    env::var_os(rwmpi_transport::RANK).is_some()
}

/// Starts this program again with the same arguments as a job of `ranks` ranks whose messages travel as `protocol` says (`None`: as
/// [`JobSpec::protocol`] does without being called), and exits with the job's exit code.
pub fn start_self(ranks: usize, protocol: Option<Protocol>) -> ! {
    let program = env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    let section = Section::new(program).arguments(env::args_os().skip(1)).ranks(ranks);
    let mut spec = JobSpec::new(section)
        .forward_signals(true)
        .describe_activity(rwmpi_core::describe_activity)
        .describe_wait(rwmpi_core::describe_wait);
    if let Some(protocol) = protocol {
        spec = spec.protocol(protocol);
    }
    process::exit(finish(spec.run()).into())
}

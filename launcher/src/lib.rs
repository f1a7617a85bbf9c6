//! `mpiexec` as a library: places, starts, watches and ends the ranks of a job.
//!
//! A job is described by a [`JobSpec`], resolved to a plan on each of its hosts before anything runs, and run by
//! [`JobSpec::run`], which returns when no process of the job is left. The launcher knows peers and processes, not MPI:
//! what a rank is doing it reads from the rank's page in the job's shared memory and turns into words with a function
//! that the caller supplies.
//!
//! Invariants:
//! 1. Nothing outlives the job: every rank has a process group; all groups are killed before [`JobSpec::run`] returns,
//!    and the kernel kills them if the launcher itself, or the daemon on their host, is killed (see `spawn`).
//! 2. Whatever can be checked is checked on all hosts before the first rank starts.
//! 3. One report per job, about what happened first. Ranks that die because the launcher ended the job are not
//!    reported.
//! 4. The launcher never blocks on one thing while another could happen, above all not on a reader of its output.

mod arguments;
mod claims;
mod command_line;
mod console;
mod daemon;
mod dispositions;
mod doctor;
mod ending;
mod environment;
mod error;
mod explain;
mod faults;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod group;
mod hang;
mod hang_report;
mod held_output;
mod host;
mod hosts;
mod information;
mod job_spec;
mod lanes;
mod launch;
mod live;
mod local_variables;
mod other_mpi;
mod output;
mod phrases;
mod placement;
mod plan;
mod pmi;
mod poll;
mod profile;
mod pulse;
mod rank_state;
mod rank_test;
mod redirect;
mod remote;
mod repeats;
mod report;
mod run;
mod samples;
mod shared_heap;
mod signals;
mod site;
mod sources;
mod spawn;
mod spawn_request;
mod stand_in;
mod standard_input;
mod streams;
mod symbols;
mod this_machine;
mod tuning;
mod waits;
mod watch;
mod wire;

pub use command_line::command_line;
pub use error::{LaunchError, exit_code};
pub use job_spec::{JobSpec, Outcome, Output, Section, Transport};
pub use launch::{in_job, launch, start_self};
pub use placement::Binding;
#[doc(hidden)]
pub use rank_test::watch_test;

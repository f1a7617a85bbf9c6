//! Runs what a [`JobSpec`] describes.

use crate::dispositions;
use crate::error::LaunchError;
use crate::job_spec::{JobSpec, Outcome};
use crate::tuning;
use crate::watch::Watch;
use rwmpi_core::tuning::Tuning;

impl JobSpec {
    /// Runs the job to its end. Can be called from any thread, and from several at a time; blocks its own. If this
    /// process ignores SIGCHLD it does not any more: the kernel would not say how ranks end.
    pub fn run(&self) -> Result<Outcome, LaunchError> {
        dispositions::learn_of_ends();
        let chosen = tuning::choose(self)?;
        let spec = self.clone().environment(Tuning::TABLE_VARIABLE, chosen.tuning.changes());
        let notes = if self.explain { tuning::explain(&chosen) } else { Vec::new() };
        Watch::start(spec.into(), &notes)?.run_to_end()
    }
}

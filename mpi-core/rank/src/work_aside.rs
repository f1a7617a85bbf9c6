//! Progress by the rank's progress thread.

use rwmpi_transport::Visit;

use crate::engine::Failure;
use crate::process::Process;

/// How often a visit tries to leave before it does so without being rung: it comes again after a nap.
const TRIES: u32 = 4;

impl Process {
    /// What the progress thread does on a visit; whether anything came of it.
    pub fn work_aside(&self, visit: &Visit<'_>, with_tasks: bool) -> Result<bool, Failure> {
        let mut any = false;
        for _ in 0..TRIES {
            self.take_signals()?;
            while !visit.should_end() && self.progress_aside(with_tasks)? {
                any = true;
            }
            if visit.should_end() {
                break;
            }
            if self.engine().hang_bell() {
                // What has come before the bell hung.
                if !self.progress_aside(with_tasks)? {
                    break;
                }
                any = true;
                self.engine().take_bell_down();
            }
        }
        Ok(any)
    }

    fn progress_aside(&self, with_tasks: bool) -> Result<bool, Failure> {
        let moved = self.engine().progress()?;
        let moved = self.serve()? || moved;
        Ok(with_tasks && self.poll_tasks() || moved)
    }
}

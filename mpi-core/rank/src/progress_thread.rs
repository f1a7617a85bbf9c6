//! Progress by the rank's progress thread.

use rwmpi_transport::IdleGuard;

use crate::engine::Failure;
use crate::process::Process;

/// How often the progress thread tries to leave before it does so without being rung: it comes again after a nap.
const TRIES: u32 = 4;

impl Process {
    /// What the progress thread does with the lock; whether anything came of it.
    pub fn work_by_progress_thread(&self, guard: &IdleGuard<'_>, with_tasks: bool) -> Result<bool, Failure> {
        let mut any = false;
        for _ in 0..TRIES {
            self.take_signals()?;
            while !guard.should_end() && self.progress_once(with_tasks)? {
                any = true;
            }
            if guard.should_end() {
                break;
            }
            if self.engine().arm_doorbell() {
                // What has come before the doorbell was armed.
                if !self.progress_once(with_tasks)? {
                    break;
                }
                any = true;
                self.engine().disarm_doorbell();
            }
        }
        Ok(any)
    }

    fn progress_once(&self, with_tasks: bool) -> Result<bool, Failure> {
        let moved = self.engine().progress()?;
        let moved = self.serve()? || moved;
        Ok(with_tasks && self.poll_tasks() || moved)
    }
}

//! What is said of calls that do not go together, where the job is checked (`mpiexec --check`): each thing once.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Whether a rank's calls are checked, and what has been said of them. All lanes of the rank have it in common, each
/// in a thread of its own.
#[derive(Debug, Default)]
pub struct Checks {
    is_on: bool,
    said: Mutex<BTreeSet<String>>,
}

impl Checks {
    pub fn new(is_on: bool) -> Checks {
        Checks { is_on, said: Mutex::default() }
    }

    pub fn are_on(&self) -> bool {
        self.is_on
    }

    /// Says it, unless it has been said.
    pub fn say(&self, what: &str) {
        if self.is_new(what) {
            // There is nowhere to complain if that fails.
            let _ = writeln!(std::io::stderr(), "rwmpi: check: {what}");
        }
    }

    fn is_new(&self, what: &str) -> bool {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(what.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_is_said_once() {
        let checks = Checks::new(true);
        assert_eq!(["one", "other", "one"].map(|what| checks.is_new(what)), [true, true, false]);
    }
}

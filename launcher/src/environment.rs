//! The environment of ranks: what is set for them, and what they have of the launcher's own.

use std::env;
use std::ffi::OsString;

/// The environment of a section's ranks.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// What is set beyond the launcher's own; later ones win.
    pub(crate) set: Vec<(OsString, OsString)>,
    /// Whether the launcher's own is kept from them.
    pub(crate) clean: bool,
    /// What of the launcher's own is kept from them in any case.
    pub(crate) removed: Vec<OsString>,
}

impl Environment {
    /// The value that a rank will see.
    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        value_in(&self.set, name).or_else(|| env::var_os(name).filter(|_| self.inherits(name)))
    }

    /// Whether a rank sees the launcher's own value.
    fn inherits(&self, name: &str) -> bool {
        !self.clean && !self.removed.iter().any(|removed| removed == name)
    }
}

/// The last of the values that are set for `name`.
pub(crate) fn value_in(set: &[(OsString, OsString)], name: &str) -> Option<OsString> {
    set.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone())
}

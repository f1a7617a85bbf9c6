//! What the ranks have noted, once the job is over.

use super::Watch;
use crate::profile::{self, RankNotes};
use crate::report;

/// What each rank has noted, with its host.
pub(super) type Notes = Vec<(String, RankNotes)>;

impl Watch {
    /// Writes the profile and the trace, if they are wanted, and says so.
    pub(super) fn tell_profile(&mut self) {
        let is_wanted = self.spec.profile.is_some() || self.spec.trace.is_some();
        if !is_wanted || !self.running {
            return;
        }
        let sections = self.spec.sections.iter();
        let titles = sections.map(|section| report::command_line(&section.program, &section.arguments));
        let title = titles.collect::<Vec<_>>().join(" : ");
        let notes = std::mem::take(&mut self.notes);
        let said = profile::write(&self.spec, &title, self.section_of.len(), notes);
        self.outputs.note(&said);
        self.outputs.write().for_each(drop);
    }
}

//! The ranks of a host that faults of their own have killed: where that was, in words.

use super::Host;
use crate::error::LaunchError;
use crate::faults::{self, Backtrace, FaultPipe};
use crate::symbols::Question;
use crate::wire::Event;
use rwmpi_transport::settings::BACKTRACE;
use std::time::Instant;

/// Backtraces that differ at most: the first ones tell more than many would.
const TOLD_MAX: usize = 3;

impl Host {
    /// Where the ranks are to report, unless the user does not want it.
    pub(super) fn fault_pipe(&self) -> Result<Option<FaultPipe>, LaunchError> {
        if self.spec.setting(BACKTRACE).is_some_and(|value| value == "off") {
            return Ok(None);
        }
        FaultPipe::new().map(Some)
    }

    /// All ranks have ended: asks for the names of the places where some were.
    pub(super) fn ask_for_names(&mut self) {
        let reported = self.faults.as_mut().map(FaultPipe::take).unwrap_or_default();
        let known = reported.into_iter().filter(|fault| fault.place < self.plan.ranks.len()).collect();
        let groups = faults::grouped(known);
        if groups.is_empty() {
            return;
        }
        let rank = |place: &usize| self.plan.ranks[*place];
        let (ranks, frames) = groups
            .into_iter()
            .take(TOLD_MAX)
            .map(|(places, frames)| (places.iter().map(rank).collect::<Vec<usize>>(), frames))
            .unzip();
        self.naming = Some((Question::ask(frames), ranks));
    }

    /// Tells it once the names are known.
    pub(super) fn tell_names(&mut self, now: Instant) {
        let Some((question, _)) = &mut self.naming else { return };
        let Some(answer) = question.answer(now) else { return };
        let ranks = self.naming.take().map(|(_, ranks)| ranks).unwrap_or_default();
        let told = ranks.into_iter().zip(answer).map(|(mut ranks, lines)| {
            ranks.sort_unstable();
            Backtrace { ranks, lines }
        });
        self.news.push(Event::Backtraces(told.collect()));
    }
}

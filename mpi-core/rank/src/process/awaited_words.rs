//! What a rank waits for, in words for those who watch it from outside.

use rwmpi_protocol::Pattern;
use rwmpi_transport::monotonic_nanoseconds;

use super::Process;
use super::departure::{EachAwaited, Several};
use crate::answer::Told;
use crate::waiting::{self, Awaited, Kind};

impl Process {
    /// Tells the watchers what the present wait waits for; the first time, also since when.
    #[cold]
    pub(super) fn publish_wait(&self, first: bool) {
        self.activity.publish(3, self.awaited_words());
        if first {
            self.activity.publish(2, [monotonic_nanoseconds()]);
        }
    }

    /// Answers the watchers, who have asked, that this rank waits for what `each` tells; in which period. Nothing has
    /// happened since the wait has answered in period `quiet_in`, if that is not 0.
    #[cold]
    pub fn answer(&self, quiet_in: u32, several: Several, each: &EachAwaited<'_>) -> u32 {
        let mut awaited = Vec::new();
        let mut all_known = true;
        each(&mut |one| match self.words_of(one) {
            words if waiting::is_known(words) => awaited.push(words),
            _ => all_known = false,
        });
        // Of several that are all needed, one that can't come is enough.
        let is_closed = !awaited.is_empty() && (several == Several::All || all_known) && !self.engine().acts_later();
        let messages = self.engine().unmatched();
        let name = self.answers.name().unwrap_or_default();
        let carried = self.engine().carried();
        let told = Told {
            is_closed,
            is_shared: self.is_shared(),
            any: several == Several::Any,
            name: &name,
            awaited: &awaited,
            messages: &messages,
            carried,
        };
        let (words, period) = self.answers.give(quiet_in, self.engine().completions(), &told);
        self.activity.publish_details(&words);
        period
    }

    /// What the present wait waits for, in the words of [`waiting`].
    fn awaited_words(&self) -> [u64; 2] {
        self.words_of(self.awaited.get())
    }

    /// The same of what a wait could wait for.
    pub fn words_of(&self, awaited: Awaited) -> [u64; 2] {
        match awaited {
            Awaited::Task(id) => match self.tasks.awaited(id) {
                Awaited::Task(_) => waiting::UNKNOWN,
                awaited => self.words_of(awaited),
            },
            Awaited::Unknown => waiting::UNKNOWN,
            Awaited::Operation(id) => self.engine().awaited(id),
            Awaited::Message(Pattern { source, tag, context }) => {
                waiting::words(Kind::Probe, Some(source), tag, context, 0)
            }
            Awaited::Step(peer) => waiting::words(Kind::Step, Some(Some(peer)), None, 0, 0),
            Awaited::Epoch(peer) => waiting::words(Kind::Epoch, Some(Some(peer)), None, 0, 0),
            Awaited::Lock(holder) => waiting::words(Kind::Lock, holder.map(Some), None, 0, 0),
        }
    }
}

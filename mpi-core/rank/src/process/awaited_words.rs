//! What a rank waits for, in words for those who watch it from outside.

use rwmpi_protocol::Pattern;
use rwmpi_transport::{DETAIL_WORDS, monotonic_nanoseconds};

use super::Process;
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

    /// Tells the watchers what they have asked for.
    pub fn publish_answer(&self, words: &[u64; DETAIL_WORDS]) {
        self.activity.publish_details(words);
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

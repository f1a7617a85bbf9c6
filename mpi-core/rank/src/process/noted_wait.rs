//! Waits, as a rank notes them that takes notes: from a look that has found nothing to one that has found something.

use super::Process;
use super::departure::EachAwaited;
use crate::profile::{Awaiting, Call};
use crate::waiting;

/// A wait in which nothing happens, if notes are taken: whom it is for, and the call that it is in.
#[derive(Default)]
pub(super) struct NotedWait(Option<(Awaiting, Option<Call>)>);

impl NotedWait {
    /// Nothing has happened; `each` tells what is awaited.
    #[inline]
    pub(super) fn begin(&mut self, process: &Process, each: &EachAwaited<'_>) {
        if process.recorder.is_some() && self.0.is_none() {
            self.note(process, each);
        }
    }

    #[cold]
    fn note(&mut self, process: &Process, each: &EachAwaited<'_>) {
        let Some(recorder) = &process.recorder else { return };
        // Of several, the first that has not come is waited for.
        let mut first = waiting::UNKNOWN;
        each(&mut |awaited| {
            if !waiting::is_known(first) {
                first = process.words_of(awaited);
            }
        });
        self.0 = Some((recorder.begin_wait(first), recorder.present()));
    }

    /// Something has happened.
    #[inline]
    pub(super) fn end(&mut self, process: &Process) {
        if let Some((awaiting, present)) = self.0.take()
            && let Some(recorder) = &process.recorder
        {
            // Other threads may have called meanwhile.
            recorder.set_present(present);
            recorder.end_wait(awaiting);
        }
    }
}

impl Process {
    /// A wait that has idled is over, of which the watchers may have been told.
    #[cold]
    pub(super) fn end_published(&self, is_told: bool, mut noted: NotedWait) {
        noted.end(self);
        if is_told {
            self.activity.publish(2, [0]);
        }
    }
}

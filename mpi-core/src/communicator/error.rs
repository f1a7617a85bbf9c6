//! What errors and statuses say of a communicator: its name, and its ranks in place of peers.

use super::{Communicator, context};
use crate::activity::Call;
use crate::engine::{Completion, Failure};
use crate::error::{Error, ErrorClass, describe};
use crate::status::Status;

impl Error {
    /// An argument of `call` that can't be used.
    #[cold]
    pub(crate) fn argument(class: ErrorClass, communicator: &Communicator, call: Call, what: String) -> Self {
        let text = format!("rank {}: {} in {}: {what}", communicator.rank(), call.name(), communicator.description());
        Error::new(class, text)
    }

    /// What the engine reports, in ranks of the communicator.
    #[cold]
    fn failure(communicator: &Communicator, call: Call, failure: Failure) -> Self {
        let (class, what) = describe(&failure, |peer| communicator.rank_of(peer));
        let error = Error::argument(class, communicator, call, what);
        match failure.received() {
            Some(completion) if call == Call::Receive => error.of_message(communicator.status_of(completion)),
            _ => error,
        }
    }
}

impl Communicator {
    /// Makes an error of what the engine reports of a call.
    pub(crate) fn failed(&self, call: Call) -> impl Fn(Failure) -> Error + '_ {
        move |failure| {
            if failure.is_lost_peer() {
                self.process().leave_report_to_launcher();
            }
            Error::failure(self, call, failure)
        }
    }

    /// What a completed operation tells, in ranks of the communicator.
    pub(crate) fn status_of(&self, completion: Completion) -> Status {
        if completion.is_of_nobody() {
            return if completion.is_cancelled() { Status::CANCELLED } else { Status::EMPTY };
        }
        let Completion { source, tag, bytes, .. } = completion;
        Status::of_message(self.rank_of(source), tag as i32, bytes)
    }

    /// What errors call it.
    pub(crate) fn description(&self) -> String {
        match (&*self.shared.name.borrow(), self.context()) {
            (Some(name), _) if !name.is_empty() => format!("communicator {name:?}"),
            (_, context::WORLD) => "the world communicator".into(),
            (_, context::THIS_RANK) => "the communicator of this rank alone".into(),
            (_, context) => format!("communicator {}", context / context::BLOCK),
        }
    }
}

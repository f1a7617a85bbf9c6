//! What the typed API needs of a window beyond what front ends for other languages do: it meets the ranks in its own
//! way, and knows when nobody else can use this rank's memory.

use rwmpi_protocol::window::Epochs;
use rwmpi_transport::WriteSpan;

use super::{Window, words_of_epoch};
use crate::error::{Error, ErrorClass};
use crate::{Communicator, Result};

/// Exit code of a job that ends because memory can't be taken back.
const EXIT_CODE: i32 = 1;

impl Window {
    /// The ranks of the window, for its own messages only.
    pub(crate) fn communicator(&self) -> &Communicator {
        &self.shared.communicator
    }

    /// How many bytes a rank's memory has; `None`: there is no such rank.
    pub(crate) fn size_of(&self, rank: usize) -> Option<u64> {
        self.shared.targets.get(rank).map(|target| target.size)
    }

    /// This rank's memory, if all have it mapped.
    pub(crate) fn own_memory(&self) -> Option<WriteSpan<'static>> {
        self.shared.targets[self.rank()].memory.as_ref()?.direct()
    }

    /// What of a rank's memory this process has mapped: all of it, or nothing.
    pub(crate) fn mapped_memory(&self, rank: usize) -> Option<WriteSpan<'static>> {
        self.shared.targets.get(rank).map(|target| target.direct())
    }

    /// Whether this rank uses nobody's memory, and has let nobody use its own but by locks.
    ///
    /// # Errors
    /// An epoch is open.
    pub(crate) fn check_no_epoch(&self) -> Result<()> {
        self.shared.epochs.borrow().check_free().map_err(|misuse| {
            let what =
                format!("no epoch of this rank's may be open for that, but {} open", words_of_epoch(misuse.open));
            self.error(ErrorClass::RmaSync, what)
        })
    }

    /// All ranks have met, as at a fence; does an epoch begin?
    pub(crate) fn set_fenced(&self, is_followed: bool) {
        self.shared.epochs.borrow_mut().fenced(is_followed);
    }

    /// No epoch is open any more, whatever was: operations are errors from now on.
    pub(crate) fn forget_epochs(&self) {
        *self.shared.epochs.borrow_mut() = Epochs::new(self.size());
    }

    /// Why a call does nothing after a failure.
    #[cold]
    pub(crate) fn failed_before(&self) -> Error {
        let what = "it can't be used any more, since a call for it has failed before that all ranks make together";
        self.error(ErrorClass::Window, what.to_owned())
    }

    /// Ends the job.
    #[cold]
    pub(crate) fn end_job(&self, what: &str) -> ! {
        self.process().end_job(EXIT_CODE, what);
        std::process::exit(EXIT_CODE)
    }
}

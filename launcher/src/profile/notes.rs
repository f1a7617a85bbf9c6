//! A host's file of notes: made before the ranks start, read when they have ended.

use super::clock::Clock;
use crate::job_spec::JobSpec;
use rwmpi_core::profile::recorded::{self, Totals};
use rwmpi_transport::{Moment, RecordsFile};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Most events that are kept of a rank, and of all ranks together.
const EVENTS_MAX: usize = 1 << 17;
const EVENTS_OF_ALL: usize = 1 << 23;
/// Fewest.
const EVENTS_MIN: usize = 1 << 12;

/// The notes of one rank, as it wrote them.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RankNotes {
    pub(crate) rank: usize,
    pub(super) words: Vec<u64>,
    pub(super) clock: Clock,
}

/// A file for the notes of the ranks of a host.
pub(crate) struct Notes {
    file: RecordsFile,
    began: Moment,
}

impl Notes {
    /// One, if the job asks for notes.
    pub(crate) fn of_job(spec: &JobSpec, ranks: usize) -> io::Result<Option<Notes>> {
        if spec.profile.is_none() && spec.trace.is_none() && !spec.live {
            return Ok(None);
        }
        let events = match &spec.trace {
            Some(_) => (EVENTS_OF_ALL / ranks.max(1)).clamp(EVENTS_MIN, EVENTS_MAX),
            None => 0,
        };
        let file = RecordsFile::create(ranks, recorded::words(ranks, events), events as u64)?;
        Ok(Some(Notes { began: file.moment(), file }))
    }

    /// What a rank has noted so far, all in all.
    pub(crate) fn totals_of(&self, rank: usize) -> Option<Totals> {
        let words = self.file.read_first(rank, recorded::TOTALS).ok()?;
        recorded::totals(&words, self.file.moment().ticks)
    }

    /// What these ranks have noted. What can't be read is as if it had not been written.
    pub(crate) fn of_ranks(&self, ranks: &[usize]) -> Vec<RankNotes> {
        let clock = Clock::between(self.began, self.file.moment());
        let read = |&rank: &usize| {
            let mut words = self.file.read(rank).unwrap_or_default();
            let used = words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
            words.truncate(used);
            RankNotes { rank, words, clock }
        };
        ranks.iter().map(read).collect()
    }
}

impl AsFd for Notes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

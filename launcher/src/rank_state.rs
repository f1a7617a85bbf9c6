//! What is known of a rank: what its host sees of it, what it is doing (in words), and how it ended.

use rwmpi_core::Wait;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What its host knows about a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RankSeen {
    pub(crate) rank: usize,
    pub(crate) pid: i32,
    /// Whether it has joined the job, as a program of this library or of another.
    pub(crate) joined: bool,
    /// Whether it has left in good order.
    pub(crate) finished: bool,
    /// What its page says, if it is a program of this library.
    pub(crate) activity: Option<[u64; 8]>,
    /// The host's monotonic clock, nanoseconds.
    pub(crate) now: u64,
}

/// What one rank was doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankState {
    pub(crate) rank: usize,
    pub(crate) pid: i32,
    pub(crate) doing: String,
    /// What it waits for, and for how long it has.
    pub(crate) wait: Option<(Wait, Duration)>,
    /// Whether it may still do something for others: it has not left the job.
    pub(crate) takes_part: bool,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ending {
    Exited {
        code: u8,
    },
    Killed {
        signal: i32,
        core_dumped: bool,
    },
    /// What the launcher started goes on, but is no rank any more: it runs another program, or only it had started the
    /// rank.
    Vanished {
        replaced: bool,
    },
}

/// How a rank ended, and how far it had come.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RankEnd {
    pub(crate) seen: RankSeen,
    pub(crate) ending: Ending,
}

//! What joins the ranks of a job within a node: threads of one process, processes with shared memory, or TCP.

use anyhow::Result;
use rwmpi::Communicator;
use rwmpi_launcher::Transport;
use serde::{Deserialize, Serialize};

/// The three ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// Ranks are threads of one process.
    Threads,
    /// Ranks are processes that share memory.
    Processes,
    /// Ranks are processes with a TCP connection.
    Tcp,
}

impl Way {
    /// All, the closest first.
    pub const ALL: [Way; 3] = [Way::Threads, Way::Processes, Way::Tcp];

    /// The way of this job. Collective.
    pub fn of_job(world: &Communicator) -> Result<Self> {
        let mut processes = vec![0; world.size()];
        world.allgather(&[std::process::id()], &mut processes)?;
        let one = processes.iter().all(|process| *process == processes[0]);
        Ok(match Transport::of_job() {
            Transport::Tcp => Way::Tcp,
            Transport::Auto if one => Way::Threads,
            Transport::Auto => Way::Processes,
        })
    }

    /// How a job's ranks go on after their number.
    pub fn describe(self) -> &'static str {
        match self {
            Way::Threads => "as threads",
            Way::Processes => "as processes",
            Way::Tcp => "over TCP",
        }
    }
}

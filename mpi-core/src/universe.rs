//! Joining and leaving a job.

use crate::{Communicator, Result};

/// How messages travel (MPI/MBCF thesis, chapter 3 and section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Receivers send requests, senders answer them by remote write, as the thesis has it.
    Sr,
    /// No requests: every message goes through the FIFO.
    Nsr,
    /// Whichever way pays, message by message.
    Auto,
}

/// What this rank has sent so far, and by which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficCounters {
    /// Messages sent, collectives' messages included.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Messages of these that were remote-written into the receiver's buffer.
    pub remote_write_messages: u64,
    /// Bytes in them.
    pub remote_write_bytes: u64,
    /// Messages of at least 4 KiB.
    pub large_messages: u64,
    /// Bytes in them.
    pub large_bytes: u64,
    /// Bytes of them that moved by a single copy (remote-written by the sender or pulled by the receiver).
    pub large_single_copy_bytes: u64,
    /// Requests for send posted by this rank as a receiver.
    pub requests_posted: u64,
    /// Requests posted again (SR).
    pub requests_reposted: u64,
    /// Requests that this rank as a sender answered by remote write.
    pub requests_used: u64,
    /// Requests found stale.
    pub requests_stale: u64,
    /// Requests ignored because an earlier one was missing.
    pub requests_skipped: u64,
    /// Requests that did not match and were discarded (SR), or did not fit into the queue.
    pub requests_dropped: u64,
}

/// This process's membership of the job; leaving (MPI_Finalize) is its drop or [`Universe::finalize`].
pub struct Universe {}

impl Universe {
    /// All ranks of the job.
    pub fn world(&self) -> &Communicator {
        todo!()
    }
    /// This rank alone.
    pub fn this_rank(&self) -> &Communicator {
        todo!()
    }
    /// The protocol of the job.
    pub fn protocol(&self) -> Protocol {
        todo!()
    }
    /// What was sent so far.
    pub fn traffic(&self) -> TrafficCounters {
        todo!()
    }
    /// Per world rank: messages and bytes that this rank sent to it.
    pub fn traffic_by_peer(&self) -> Vec<(u64, u64)> {
        todo!()
    }
    /// Memory that every rank of the node can write into directly: `len` zeroed elements. Falls back to ordinary memory if the
    /// shared heap is exhausted. Messages received into or sent from it need no system call.
    pub fn alloc<T: crate::Pod>(&self, len: usize) -> Buffer<T> {
        let _ = len;
        todo!()
    }
    /// Waits for all ranks to arrive here and leaves the job.
    pub fn finalize(self) -> Result<()> {
        todo!()
    }
    /// Ends the whole job now with exit code `code` (MPI_Abort).
    pub fn abort(&self, code: i32, reason: &str) -> ! {
        let _ = (code, reason);
        todo!()
    }
}

/// Elements in the shared heap; a slice in every other respect.
pub struct Buffer<T> {
    _elements: Vec<T>,
}

impl<T> std::ops::Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self._elements
    }
}

impl<T> std::ops::DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self._elements
    }
}

/// Joins the job that the launcher started this process in; started by hand, the process is a job of one rank.
pub fn init() -> Result<Universe> {
    todo!()
}

/// Seconds since some fixed moment, from a clock that never goes back (MPI_Wtime).
pub fn wtime() -> f64 {
    todo!()
}

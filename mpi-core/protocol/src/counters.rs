//! What the protocol did, for the study and for whoever wonders.

/// Counts since the start. Requests are counted where they are seen: posted and reposted by receivers, the rest by
/// senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests for send posted.
    pub posted: u64,
    /// Of these, posted again after an earlier post had become useless or had been held back.
    pub reposted: u64,
    /// Requests answered by remote write.
    pub used: u64,
    /// Requests that a message in the FIFO had overtaken, or that were taken by somebody else.
    pub stale: u64,
    /// Requests ignored because an earlier one was missing (SR: not the next request number).
    pub skipped: u64,
    /// Requests that matched nothing and were discarded (SR), were declined, or found the queue full.
    pub dropped: u64,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.posted += other.posted;
        self.reposted += other.reposted;
        self.used += other.used;
        self.stale += other.stale;
        self.skipped += other.skipped;
        self.dropped += other.dropped;
    }
}

//! What a rank learns about its peers while the job runs (mode AUTO), and what it therefore declines of what
//! [`select`](crate::select) chooses.
//!
//! A score keeps a receiver from advertising to a sender that is always faster. Who of the two copies a long message is
//! settled by who is faster, and who was late is not waited for.

/// Misses in a row after which a receiver stops advertising to a sender.
const PATIENCE: i8 = 8;
/// Then it tries again once in so many receives.
const RETRY_EVERY: u32 = 16;

#[derive(Clone, Copy, Debug, Default)]
struct Score {
    /// Rises with each request that was answered, falls with each that was not.
    value: i8,
    skipped: u32,
}

/// So many messages are copied for a receiver that was late, before one waits for it again.
const COPIED_IN_A_ROW: u8 = 31;

/// So many messages are left to a receiver that was much faster in copying one of about their length, before its sender
/// tries again.
const LEFT_IN_A_ROW: u8 = 31;
/// Lengths with the same number of bits are about the same; those with fewer than this, or many more, are taken
/// together.
const LEAST_BITS: u32 = 14;
const LENGTHS: usize = 8;

/// What was learnt about each peer.
#[derive(Debug)]
pub(super) struct Policy {
    scores: Vec<Score>,
    /// How many more messages are left to a receiver, by length.
    left: Vec<[u8; LENGTHS]>,
    /// How many more are copied for it.
    copied: Vec<u8>,
}

fn place_of(len: u64) -> usize {
    ((u64::BITS - len.leading_zeros()).saturating_sub(LEAST_BITS) as usize).min(LENGTHS - 1)
}

impl Policy {
    pub(super) fn new(peers: usize) -> Self {
        Policy { scores: vec![Score::default(); peers], left: vec![[0; LENGTHS]; peers], copied: vec![0; peers] }
    }

    /// The receiver of a message of `len` bytes was much faster in copying it than its sender.
    pub(super) fn outpaced(&mut self, receiver: u32, len: u64) {
        self.left[receiver as usize][place_of(len)] = LEFT_IN_A_ROW;
    }

    /// Whether copying a message of `len` bytes is for its receiver alone.
    pub(super) fn leaves(&mut self, receiver: u32, len: u64) -> bool {
        let left = &mut self.left[receiver as usize][place_of(len)];
        *left > 0 && {
            *left -= 1;
            true
        }
    }

    /// A message waited long until `receiver` fetched it.
    pub(super) fn was_late(&mut self, receiver: u32) {
        self.copied[receiver as usize] = COPIED_IN_A_ROW;
    }

    /// Whether what is announced to `receiver` had better be a copy, with which its sender is done.
    pub(super) fn is_late(&self, receiver: u32) -> bool {
        self.copied[receiver as usize] > 0
    }

    /// A copy was announced to `receiver`.
    pub(super) fn copied(&mut self, receiver: u32) {
        let left = &mut self.copied[receiver as usize];
        *left = left.saturating_sub(1);
    }

    /// Whether a receive from `source` that is worth a request should be advertised after what became of those before
    /// it.
    pub(super) fn answers(&mut self, source: u32) -> bool {
        let score = &mut self.scores[source as usize];
        if score.value > -PATIENCE {
            return true;
        }
        score.skipped += 1;
        score.skipped.is_multiple_of(RETRY_EVERY)
    }

    /// A request to `source` was answered.
    pub(super) fn hit(&mut self, source: u32) {
        let score = &mut self.scores[source as usize];
        score.value = (score.value.max(0) + 1).min(PATIENCE);
    }

    /// A request to `source` came too late.
    pub(super) fn miss(&mut self, source: u32) {
        let score = &mut self.scores[source as usize];
        score.value = (score.value - 1).max(-PATIENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_never_answers_is_asked_now_and_then() {
        let mut policy = Policy::new(2);
        for _ in 0..PATIENCE {
            assert!(policy.answers(1));
            policy.miss(1);
        }
        let asked = (0..2 * RETRY_EVERY).filter(|_| policy.answers(1)).count();
        assert_eq!((asked, policy.answers(0)), (2, true));
        policy.hit(1);
        assert!(policy.answers(1));
    }

    #[test]
    fn who_was_late_is_waited_for_now_and_then() {
        let mut policy = Policy::new(2);
        policy.was_late(1);
        for _ in 0..COPIED_IN_A_ROW {
            assert_eq!([0, 1].map(|receiver| policy.is_late(receiver)), [false, true]);
            policy.copied(1);
        }
        assert!(!policy.is_late(1));
    }
}

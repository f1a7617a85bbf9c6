//! When a request for send pays, and when a large message had better wait for its receive (mode AUTO).
//!
//! The sizes are measured (docs/decisions/); the score keeps a receiver from advertising to a sender that is always faster. Who of the two
//! copies a long message is settled by who is faster.

use rwmpi_transport::{Passable, Way};

/// Messages of at least this many bytes are copied once, by the way that there is: receivers advertise, and senders that find no
/// request leave the message where it is and announce it. The kernel's copy costs a system call and page look-ups, so up to
/// there the pipeline through the FIFO, in which both cores copy, is faster.
pub(super) fn single_copy_min(way: Way) -> u64 {
    match way {
        Way::SameProcess | Way::SharedHeap => WRITE_MIN,
        Way::Kernel => 192 << 10,
        // A request is a packet of its own, and whole messages find their receives without one.
        Way::Network => PULL_MIN,
    }
}

/// Messages of up to so many bytes are pushed wherever they lie, as long as they go by lines that their sender has read last. Lines of the program that the
/// receiver has read would take their time when the program writes them again (docs/decisions/0036).
const PASSED_ANYWHERE: u64 = 16 << 10;

/// Whether a message of `len` bytes that may be copied once by `way` had better be pushed by a sender that could pass so much: most of it goes by lines
/// that this has read last, and next time the receiver has them (docs/decisions/0028).
pub(super) fn is_passed(len: u64, way: Option<Way>, sender: Passable) -> bool {
    let most = if way == Some(Way::Kernel) { sender.most as u64 } else { PASSED_ANYWHERE };
    len <= most && len <= 2 * sender.now as u64
}

/// The smallest of all [`single_copy_min`]: below it senders do not look for requests. Shorter ones go through the FIFO faster, above all both ways at
/// once (docs/decisions/0033).
pub(super) const WRITE_MIN: u64 = 8 << 10;

/// Messages of at least this many bytes that find no request wait at their sender until they are asked for, where they can't be
/// fetched: from there on the way to and fro costs less than the copies that it saves.
pub(super) const PULL_MIN: u64 = (128 << 10) + 1;

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

/// So many messages are left to a receiver that was much faster in copying one of about their length, before its sender tries again.
const LEFT_IN_A_ROW: u8 = 31;
/// Lengths with the same number of bits are about the same; those with fewer than this, or many more, are taken together.
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

    /// Whether a receive of `capacity` bytes from `source` should be advertised, if `source` can write by `way`, or pass as much as `theirs`.
    pub(super) fn worth(&mut self, source: u32, capacity: u64, way: Option<Way>, theirs: Passable) -> bool {
        if is_passed(capacity, way, theirs) || way.is_none_or(|way| capacity < single_copy_min(way)) {
            return false;
        }
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
    fn what_its_sender_can_pass_is_pushed_and_not_asked_for() {
        let heap = Some(Way::SharedHeap);
        let most = 1 << 20;
        let sender = |now| Passable { now, most };
        for (len, way, now, is_pushed) in [
            (PASSED_ANYWHERE, heap, most / 2, true),
            (PASSED_ANYWHERE, heap, PASSED_ANYWHERE as usize / 2 - 1, false),
            (PASSED_ANYWHERE + 1, heap, most / 2, false),
            (PASSED_ANYWHERE, heap, 0, false),
            (most as u64 / 2, Some(Way::Kernel), most / 4, true),
            (most as u64 / 2, Some(Way::Kernel), 0, false),
        ] {
            assert_eq!(is_passed(len, way, sender(now)), is_pushed, "{len} bytes by {way:?}, {now} at hand");
            assert_eq!(
                Policy::new(1).worth(0, len, way, sender(now)),
                !is_pushed,
                "{len} bytes by {way:?}, {now} at hand"
            );
        }
        assert!(!is_passed(WRITE_MIN, heap, Passable::default()), "where nothing is passed");
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

//! The way of a message: what its sender does with it, and what its receiver does to have it come another way.
//!
//! What it costs time to find out (where memory lies, what can be passed) is asked for by a function, when it matters.

use rwmpi_protocol::Rule;
use rwmpi_transport::{Passable, Way as Reach};

use crate::tuning::{ALWAYS_PUSHED, Tuning};

/// How a message gets to its receive.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageWay {
    /// Through the FIFO, in one cell or with one payload.
    Eager,
    /// Through the FIFO, in several.
    Pipeline,
    /// Its sender announces it, and its receiver reads it from there.
    RendezvousRead,
    /// Its sender announces it, and writes it when its receiver asks for it.
    RendezvousWrite,
    /// Its receiver has asked for it: its sender writes it.
    Write,
    /// One has asked the other: both copy.
    Both,
    /// Its receiver has asked for it, and had better read it; its sender writes it if that is long in coming.
    Left,
}

impl MessageWay {
    /// All of them, by the names that they have in documents; the number of one is its place.
    #[doc(hidden)]
    pub const NAMED: [(MessageWay, &'static str); 7] = [
        (MessageWay::Eager, "Eager"),
        (MessageWay::Pipeline, "Pipeline"),
        (MessageWay::RendezvousRead, "RendezvousRead"),
        (MessageWay::RendezvousWrite, "RendezvousWrite"),
        (MessageWay::Write, "Write"),
        (MessageWay::Both, "Both"),
        (MessageWay::Left, "Left"),
    ];

    /// Its place among [`MessageWay::NAMED`].
    #[doc(hidden)]
    pub fn number(self) -> usize {
        self as usize
    }
}

/// What is known of a message that finds no request.
#[derive(Clone, Copy, Debug)]
pub struct Unrequested {
    pub len: u64,
    /// Whether it may wait at its sender: in mode AUTO, and with data that lie side by side.
    pub may_wait: bool,
    /// Whether its send ends only when it is matched.
    pub is_synchronous: bool,
    /// How much the first cell carries.
    pub cell: u64,
}

/// What a sender does with a message that finds no request. `reach` says how its receiver can copy from where it lies.
pub fn unrequested(
    tuning: &Tuning,
    message: Unrequested,
    reach: impl FnOnce() -> Option<Reach>,
    sender: impl FnOnce() -> Passable,
) -> MessageWay {
    let Unrequested { len, may_wait, is_synchronous, cell } = message;
    if may_wait && len >= tuning.single_copy_min as u64 {
        let reach = reach();
        let is_passed = is_passed(tuning, len, reach, sender());
        if !is_passed && reach.is_some_and(|reach| reach.reads() && len >= single_copy_min(tuning, reach)) {
            return MessageWay::RendezvousRead;
        }
        if reach == Some(Reach::Network) && len >= tuning.network_pull_min as u64 {
            return MessageWay::RendezvousWrite;
        }
    }
    if !is_synchronous && len <= cell { MessageWay::Eager } else { MessageWay::Pipeline }
}

/// What is known of a message that its receiver has asked for.
#[derive(Clone, Copy, Debug)]
pub struct Requested {
    pub len: u64,
    /// Whether its data lie side by side, and both sides have claim words.
    pub can_share: bool,
    /// Whether ranks share processors.
    pub oversubscribed: bool,
}

/// What a sender does with a message that its receiver has asked for.
pub fn requested(tuning: &Tuning, message: Requested, reach: impl FnOnce() -> Option<Reach>) -> MessageWay {
    let Requested { len, can_share, oversubscribed } = message;
    if !can_share || len < tuning.single_copy_min as u64 && len < tuning.both_copy_min as u64 {
        return MessageWay::Write;
    }
    if len >= tuning.both_copy_min as u64 {
        return MessageWay::Both;
    }
    // Worth another passage only where the receiver reads the data as it reads its own.
    if !oversubscribed && reach().is_some_and(|reach| reach != Reach::Kernel) {
        MessageWay::Left
    } else {
        MessageWay::Write
    }
}

/// What a receiver does with a message that was announced to it: [`MessageWay::RendezvousRead`] or
/// [`MessageWay::Both`]. Who `waits_for_answers` has announced messages of its own, and so has others read from it, who
/// have no time to help.
pub fn announced(tuning: &Tuning, len: u64, can_share: bool, waits_for_answers: bool) -> MessageWay {
    let both_from = if waits_for_answers { tuning.both_copy_min_both_ways } else { tuning.both_copy_min };
    if can_share && len >= both_from as u64 { MessageWay::Both } else { MessageWay::RendezvousRead }
}

/// Messages of fewer bytes than this, if cells carry so many, are [`MessageWay::Eager`] at once, and no request is
/// looked for.
pub fn small_end(tuning: &Tuning, cell: usize) -> usize {
    (cell + 1).min(tuning.single_copy_min)
}

/// Whether a sender looks for a request before it sends a message of `len` bytes; those beyond a network have none of
/// its claim words.
pub fn looks_for_request(
    tuning: &Tuning,
    rule: Rule,
    len: u64,
    with_claims: bool,
    sender: impl FnOnce() -> Passable,
) -> bool {
    let least = if with_claims { tuning.single_copy_min } else { tuning.network_pull_min };
    len >= least as u64 && (rule == Rule::Sr || !is_passed(tuning, len, None, sender()))
}

/// Whether a receive of `capacity` bytes may be advertised, so that it pays to post it before its message is sent.
#[inline(always)]
pub fn may_advertise(tuning: &Tuning, rule: Rule, capacity: u64) -> bool {
    match rule {
        Rule::Nsr => false,
        Rule::Sr => true,
        Rule::Auto { .. } => is_worth_a_request(tuning, capacity),
    }
}

/// Whether messages of `len` bytes are asked for at all (mode AUTO).
#[inline(always)]
pub fn is_worth_a_request(tuning: &Tuning, len: u64) -> bool {
    len >= ALWAYS_PUSHED as u64 && len >= tuning.single_copy_min as u64
}

/// Whether it is worth it to advertise a receive of `capacity` bytes to a sender that can write there by `reach`, or
/// pass as much as it says.
pub fn advertises(tuning: &Tuning, capacity: u64, reach: Option<Reach>, sender: Passable) -> bool {
    !is_passed(tuning, capacity, reach, sender) && reach.is_some_and(|reach| capacity >= single_copy_min(tuning, reach))
}

/// Whether a receive from any source is advertised to so many ranks.
pub fn advertises_to_all(tuning: &Tuning, ranks: usize) -> bool {
    ranks <= tuning.any_source_ranks_max
}

/// Whether what a receive of `capacity` bytes can take comes through the FIFO.
#[inline(always)]
pub fn comes_by_fifo(tuning: &Tuning, rule: Rule, capacity: u64, sender: impl FnOnce() -> Passable) -> bool {
    !is_worth_a_request(tuning, capacity) || rule == Rule::Nsr || is_passed(tuning, capacity, None, sender())
}

/// Whether data of `len` bytes that do not lie side by side go in pieces.
#[inline(always)]
pub fn goes_in_pieces(tuning: &Tuning, len: usize) -> bool {
    len >= tuning.pieces_min
}

/// Messages of at least so many bytes are copied once, by the way that there is. The kernel's copy costs a system call
/// and page look-ups, so up to there the pipeline through the FIFO, in which both sides copy, is faster.
fn single_copy_min(tuning: &Tuning, reach: Reach) -> u64 {
    let least = match reach {
        Reach::SameProcess | Reach::SharedHeap => tuning.single_copy_min,
        Reach::Kernel => tuning.kernel_copy_min,
        // A request is a packet of its own, and whole messages find their receives without one.
        Reach::Network => tuning.network_pull_min,
    };
    least as u64
}

/// Whether a message of `len` bytes that may be copied once by `reach` had better be pushed by a sender that can pass
/// so much: most of it goes by lines that this has read last, and next time the receiver has them
/// (docs/decisions/0028). Lines of the program that the receiver has read would take their time when the program writes
/// them again (docs/decisions/0036).
fn is_passed(tuning: &Tuning, len: u64, reach: Option<Reach>, sender: Passable) -> bool {
    let most = if reach == Some(Reach::Kernel) { sender.most } else { tuning.passed_max };
    len <= most as u64 && len <= 2 * sender.now as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const TUNING: Tuning = Tuning::DEFAULT;
    const NOTHING: Passable = Passable { now: 0, most: 0 };
    const KIB: u64 = 1 << 10;

    fn passable(now: u64, most: u64) -> Passable {
        Passable { now: now as usize, most: most as usize }
    }

    #[test]
    fn the_way_of_a_message_that_finds_no_request() {
        let way = |len, reach, passable| {
            let message = Unrequested { len, may_wait: true, is_synchronous: false, cell: 8 * KIB };
            unrequested(&TUNING, message, || reach, || passable)
        };
        let (heap, kernel, network) = (Some(Reach::SharedHeap), Some(Reach::Kernel), Some(Reach::Network));
        for (len, reach, passable, expected) in [
            (0, heap, NOTHING, MessageWay::Eager),
            (8 * KIB - 1, heap, NOTHING, MessageWay::Eager),
            (8 * KIB, heap, NOTHING, MessageWay::RendezvousRead),
            (8 * KIB, Some(Reach::SameProcess), NOTHING, MessageWay::RendezvousRead),
            (16 * KIB, heap, passable(8 * KIB, 64 * KIB), MessageWay::Pipeline),
            (16 * KIB, heap, passable(8 * KIB - 1, 64 * KIB), MessageWay::RendezvousRead),
            (16 * KIB + 1, heap, passable(64 * KIB, 64 * KIB), MessageWay::RendezvousRead),
            (192 * KIB - 1, kernel, NOTHING, MessageWay::Pipeline),
            (192 * KIB, kernel, NOTHING, MessageWay::RendezvousRead),
            (192 * KIB, kernel, passable(96 * KIB, 192 * KIB), MessageWay::Pipeline),
            (128 * KIB, network, NOTHING, MessageWay::Pipeline),
            (128 * KIB + 1, network, NOTHING, MessageWay::RendezvousWrite),
            (1 << 30, None, NOTHING, MessageWay::Pipeline),
        ] {
            assert_eq!(way(len, reach, passable), expected, "{len} bytes by {reach:?}, {passable:?}");
        }
    }

    #[test]
    fn a_message_that_may_not_wait_is_pushed() {
        for (is_synchronous, len, expected) in
            [(false, 8, MessageWay::Eager), (false, 1 << 20, MessageWay::Pipeline), (true, 8, MessageWay::Pipeline)]
        {
            let message = Unrequested { len, may_wait: false, is_synchronous, cell: 8 * KIB };
            let nobody_asks = || unreachable!("nothing else is looked at");
            assert_eq!(unrequested(&TUNING, message, nobody_asks, || NOTHING), expected);
        }
    }

    #[test]
    fn the_way_of_a_message_that_was_asked_for() {
        for (len, can_share, oversubscribed, reach, expected) in [
            (8 * KIB, true, false, Reach::SharedHeap, MessageWay::Left),
            (8 * KIB, true, true, Reach::SharedHeap, MessageWay::Write),
            (8 * KIB, true, false, Reach::Kernel, MessageWay::Write),
            (8 * KIB - 1, true, false, Reach::SharedHeap, MessageWay::Write),
            (24 * KIB - 1, true, false, Reach::SharedHeap, MessageWay::Left),
            (24 * KIB, true, true, Reach::Kernel, MessageWay::Both),
            (1 << 30, false, false, Reach::SharedHeap, MessageWay::Write),
        ] {
            let message = Requested { len, can_share, oversubscribed };
            assert_eq!(requested(&TUNING, message, || Some(reach)), expected, "{message:?} by {reach:?}");
        }
    }

    #[test]
    fn the_way_of_a_message_that_was_announced() {
        for (len, can_share, waits, expected) in [
            (24 * KIB - 1, true, false, MessageWay::RendezvousRead),
            (24 * KIB, true, false, MessageWay::Both),
            (256 * KIB - 1, true, true, MessageWay::RendezvousRead),
            (256 * KIB, true, true, MessageWay::Both),
            (1 << 30, false, false, MessageWay::RendezvousRead),
        ] {
            assert_eq!(announced(&TUNING, len, can_share, waits), expected, "{len} bytes");
        }
    }

    #[test]
    fn what_its_sender_can_pass_is_not_asked_for() {
        let (heap, most) = (Some(Reach::SharedHeap), 1 << 20);
        let max = TUNING.passed_max as u64;
        for (len, reach, now, is_asked_for) in [
            (max, heap, most / 2, false),
            (max, heap, max / 2 - 1, true),
            (max + 1, heap, most / 2, true),
            (max, heap, 0, true),
            (8 * KIB, heap, 0, true),
            (8 * KIB - 1, heap, 0, false),
            (most / 2, Some(Reach::Kernel), most / 4, false),
            (most / 2, Some(Reach::Kernel), 0, true),
            (most, None, 0, false),
        ] {
            let sender = passable(now, most);
            assert_eq!(
                advertises(&TUNING, len, reach, sender),
                is_asked_for,
                "{len} bytes by {reach:?}, {now} at hand"
            );
        }
    }

    #[test]
    fn requests_are_looked_for_where_there_may_be_one() {
        let auto = Rule::Auto { claims: true };
        for (rule, len, with_claims, passable, expected) in [
            (auto, 8 * KIB, true, NOTHING, true),
            (auto, 8 * KIB - 1, true, NOTHING, false),
            (auto, 16 * KIB, true, passable(8 * KIB, 64 * KIB), false),
            (Rule::Sr, 16 * KIB, true, passable(8 * KIB, 64 * KIB), true),
            (auto, 128 * KIB, false, NOTHING, false),
            (auto, 128 * KIB + 1, false, NOTHING, true),
        ] {
            assert_eq!(looks_for_request(&TUNING, rule, len, with_claims, || passable), expected, "{rule:?}, {len}");
        }
        for (rule, capacity, may, by_fifo) in [
            (auto, 8 * KIB - 1, false, true),
            (auto, 8 * KIB, true, false),
            (Rule::Nsr, 1 << 30, false, true),
            (Rule::Sr, 0, true, true),
        ] {
            assert_eq!(may_advertise(&TUNING, rule, capacity), may, "{rule:?}, {capacity}");
            assert_eq!(comes_by_fifo(&TUNING, rule, capacity, || NOTHING), by_fifo, "{rule:?}, {capacity}");
        }
        assert_eq!([8 * KIB as usize - 1, 1 << 20].map(|cell| small_end(&TUNING, cell)), [8 << 10; 2]);
        assert_eq!([16, 17].map(|ranks| advertises_to_all(&TUNING, ranks)), [true, false]);
    }
}

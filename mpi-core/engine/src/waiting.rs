//! What a rank waits for, for whoever wonders why the job hangs.
//!
//! A call that waits notes what for, which costs a store; only once it has waited for a while in vain is that
//! published, with the time, in the rank's activity record: words 2 (since when; 0: it does not wait), 3 (for what,
//! partner, tag) and 4 (context and length). Partners are numbers in the job, so that the launcher can tell who waits
//! for whom.

use rwmpi_protocol::Pattern;

use crate::context::{BLOCK, is_collective};
use crate::{OperationId, TaskId};

/// How often a wait idles before it is published, and between looks at whether it waits for something else by now: so
/// often that a message on its way has come, but before the transport lets the rank sleep.
pub const PUBLISHED_AFTER: u32 = 50;
/// The same where the transport may let a rank sleep after very few looks, as over a network.
pub const PUBLISHED_SOON: u32 = 2;

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// Several things, or something without a partner.
    Unknown,
    /// A send or receive of the engine.
    Operation(OperationId),
    /// A message that a probe would find.
    Message(Pattern),
    /// A step of a barrier by that peer.
    Step(u32),
    /// That peer's part of an epoch of a window.
    Epoch(u32),
    /// The lock of a window, which that peer has, if it is known.
    Lock(Option<u32>),
    /// Whatever a nonblocking collective waits for.
    Task(TaskId),
}

/// The kinds of what is awaited, as in word 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Unknown,
    Send,
    Receive,
    Probe,
    Step,
    Epoch,
    Lock,
}

const NAMES: [&str; 7] = ["", "send", "receive", "probe", "barrier", "epoch of a window", "lock of a window"];
const NO_PARTNER: u32 = 0xff_ffff;
const ANY_PARTNER: u32 = 0xff_fffe;

/// Words 3 and 4 where what is awaited is not known.
pub const UNKNOWN: [u64; 2] = [(NO_PARTNER as u64) << 8, 0];

/// Words 3 and 4. `partner`: outer `None`: none, inner: any.
pub fn words(kind: Kind, partner: Option<Option<u32>>, tag: Option<u32>, context: u32, bytes: u64) -> [u64; 2] {
    let partner = partner.map_or(NO_PARTNER, |partner| partner.map_or(ANY_PARTNER, |peer| peer & 0xff_ffff));
    let tag = tag.map_or(0, |tag| tag.saturating_add(1));
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    [u64::from(tag) << 32 | u64::from(partner) << 8 | kind as u64, u64::from(context) << 32 | u64::from(bytes)]
}

/// Whether these words say what is awaited.
pub fn is_known(words: [u64; 2]) -> bool {
    words[0] & 0xff != Kind::Unknown as u64
}

/// A rank's wait, as its activity record tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Since when, in nanoseconds of the node's monotonic clock.
    pub since: u64,
    /// For whom.
    pub partner: Partner,
    /// For what, as "receive, tag 7".
    pub what: String,
}

/// Whom a rank waits for, in ranks of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    /// Not known, or nobody in particular.
    Unknown,
    /// Whoever sends.
    Any,
    /// That one.
    Rank(usize),
}

/// Whom word 3 names.
pub fn partner(word: u64) -> Partner {
    match (word >> 8) as u32 & 0xff_ffff {
        NO_PARTNER => Partner::Unknown,
        ANY_PARTNER => Partner::Any,
        peer => Partner::Rank(peer as usize),
    }
}

/// Which context word 4 names.
pub fn context(word: u64) -> u32 {
    (word >> 32) as u32
}

/// What a rank waits for according to its activity record; `None`: it does not wait, or not for long yet.
pub fn describe_wait(words: &[u64; 8]) -> Option<Wait> {
    let [_, _, since, first, second, ..] = *words;
    if since == 0 {
        return None;
    }
    let (partner, what) = describe_awaited([first, second])?;
    Some(Wait { since, partner, what })
}

/// For whom words 3 and 4 say that a rank waits, and for what.
pub fn describe_awaited([first, second]: [u64; 2]) -> Option<(Partner, String)> {
    let kind = (first & 0xff) as usize;
    let (context, bytes) = ((second >> 32) as u32, second as u32);
    let mut what = (*NAMES.get(kind)?).to_owned();
    if is_collective(context) {
        // Tags are the library's own.
        return Some((partner(first), "its part of a collective".to_owned()));
    }
    if let Some(tag) = ((first >> 32) as u32).checked_sub(1) {
        what += &format!(", tag {tag}");
    }
    if kind == Kind::Send as usize {
        what += &format!(", {bytes} bytes");
    }
    what += &in_communicator(context);
    Some((partner(first), what))
}

/// Which communicator that is, unless it is the world.
pub fn in_communicator(context: u32) -> String {
    match context / BLOCK {
        0 => String::new(),
        number => format!(", in communicator {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_told_as_they_were_written() {
        let read = |since, [first, bytes]: [u64; 2]| describe_wait(&[9, 9, since, first, bytes, 0, 0, 0]);
        assert_eq!(read(0, words(Kind::Receive, Some(Some(1)), Some(7), 0, 0)), None);
        let wait = read(5, words(Kind::Receive, Some(Some(1)), Some(7), 0, 0)).unwrap();
        assert_eq!(wait, Wait { since: 5, partner: Partner::Rank(1), what: "receive, tag 7".into() });
        let wait = read(5, words(Kind::Send, Some(Some(0)), Some(0), 12, 100)).unwrap();
        assert_eq!(
            wait,
            Wait { since: 5, partner: Partner::Rank(0), what: "send, tag 0, 100 bytes, in communicator 4".into() }
        );
        let wait = read(5, words(Kind::Probe, Some(None), None, 0, 0)).unwrap();
        assert_eq!(wait, Wait { since: 5, partner: Partner::Any, what: "probe".into() });
        assert_eq!(read(5, UNKNOWN).unwrap().partner, Partner::Unknown);
    }
}

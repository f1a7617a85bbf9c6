//! What a rank is doing, in two words that the launcher can read without the rank's help.
//!
//! Word 0: operation, partner and tag of the present (or last) call; word 1: context and length. Written with plain
//! stores at every call; [`describe_activity`] turns them into the user's words for reports about hangs and deaths.

use crate::context;

/// The calls that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Call {
    Init = 1,
    Finalize,
    Send,
    SynchronousSend,
    BufferedSend,
    Receive,
    Probe,
    Barrier,
    Broadcast,
    Reduce,
    Allreduce,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
    Scan,
    ReduceScatter,
    CreateCommunicator,
    FreeCommunicator,
    Topology,
    Neighbours,
    CreateWindow,
    StartEpoch,
    EndEpoch,
    LockWindow,
    UseWindow,
    Spawn,
    Meet,
    Fence,
    FreeWindow,
    Revoke,
    Agree,
    Shrink,
}

const NAMES: [&str; 33] = [
    "init",
    "finalize",
    "send",
    "synchronous send",
    "buffered send",
    "receive",
    "probe",
    "barrier",
    "broadcast",
    "reduce",
    "allreduce",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "scan",
    "reduce-scatter",
    "communicator creation",
    "communicator release",
    "topology",
    "neighbourhood exchange",
    "window creation",
    "start on a window",
    "wait on a window",
    "lock of a window",
    "operation on a window",
    "spawning of ranks",
    "meeting with another job",
    "fence of a window",
    "window release",
    "revocation of a communicator",
    "agreement",
    "shrinking of a communicator",
];

impl Call {
    pub fn name(self) -> &'static str {
        NAMES[self as usize - 1]
    }
}

/// "No partner", "any partner", "no tag", "any tag".
const NO_PARTNER: u32 = 0xff_ffff;
const ANY_PARTNER: u32 = 0xff_fffe;
const NO_TAG: u32 = u32::MAX;
const ANY_TAG: u32 = u32::MAX - 1;

/// Partner and tag of a call as words.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub partner: u32,
    pub tag: u32,
}

impl Target {
    pub const NONE: Target = Target { partner: NO_PARTNER, tag: NO_TAG };

    /// Of a message to that rank, if any.
    #[inline]
    pub fn send(destination: Option<usize>, tag: i32) -> Self {
        Target { partner: destination.map_or(NO_PARTNER, |rank| rank as u32), tag: tag as u32 }
    }

    /// Of a message from that rank, from any (inner `None`), or from nobody, with that tag or any.
    #[inline]
    pub fn receive(source: Option<Option<usize>>, tag: Option<i32>) -> Self {
        let partner = source.map_or(NO_PARTNER, |source| source.map_or(ANY_PARTNER, |rank| rank as u32));
        Target { partner, tag: tag.map_or(ANY_TAG, |tag| tag as u32) }
    }
}

#[inline]
pub fn words(call: Call, target: Target, context: u32, bytes: usize) -> [u64; 2] {
    let first = u64::from(target.tag) << 32 | u64::from(target.partner & 0xff_ffff) << 8 | call as u64;
    [first, u64::from(context) << 32 | u64::from(u32::try_from(bytes).unwrap_or(u32::MAX))]
}

/// A call that has been told, in the first word.
const CALL: u64 = 0x7f;
/// It is over: set where somebody wants to know whether the next call tells anything.
const OVER: u64 = 0x80;

/// The name of the call in an activity record, and the number of its communicator.
pub fn call_and_communicator(words: &[u64; 8]) -> Option<(&'static str, u32)> {
    Some((name_of(&[words[0]])?, (words[1] >> 32) as u32 / context::BLOCK))
}

/// The name of the call in the first word of a record.
pub fn name_of([first]: &[u64; 1]) -> Option<&'static str> {
    NAMES.get(((first & CALL) as usize).checked_sub(1)?).copied()
}

/// The first word of a record, once its call is over.
pub fn over(first: u64) -> u64 {
    first | OVER
}

/// If these words tell of a collective that is not over: the number of its communicator, and its length.
pub fn collective([first, second]: [u64; 2]) -> Option<(u32, u64)> {
    let is_one = (Call::Barrier as u64..=Call::ReduceScatter as u64).contains(&(first & (CALL | OVER)));
    is_one.then_some(((second >> 32) as u32 / context::BLOCK, u64::from(second as u32)))
}

/// The sentence fragment that an activity record stands for, as "receive from rank 3, tag 7, 800 bytes, in the world
/// communicator"; `None` if the rank made no call yet. Ranks are ranks in the communicator named.
pub fn describe_activity(words: &[u64; 8]) -> Option<String> {
    let [first, second, ..] = *words;
    let call = (first & CALL) as usize;
    let name = NAMES.get(call.checked_sub(1)?)?;
    let (partner, tag) = ((first >> 8) as u32 & 0xff_ffff, (first >> 32) as u32);
    let (context, bytes) = ((second >> 32) as u32, second as u32);
    let mut text = name.to_string();
    let direction = if name.contains("send") { "to" } else { "from" };
    match partner {
        NO_PARTNER => {}
        ANY_PARTNER => text += &format!(" {direction} any rank"),
        rank => text += &format!(" {direction} rank {rank}"),
    }
    match tag {
        NO_TAG => {}
        ANY_TAG => text += ", any tag",
        tag => text += &format!(", tag {tag}"),
    }
    if partner != NO_PARTNER {
        text += &format!(", {bytes} bytes");
    }
    if call > 2 {
        text += &match context / context::BLOCK {
            0 => ", in the world communicator".to_string(),
            1 => ", in the communicator of this rank alone".to_string(),
            number => format!(", in communicator {number}"),
        };
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_described_in_words() {
        let mut record = [0; 8];
        assert_eq!(describe_activity(&record), None);
        record[..2].copy_from_slice(&words(Call::Receive, Target::receive(Some(Some(3)), Some(7)), 0, 800));
        let text = describe_activity(&record).unwrap();
        assert_eq!(text, "receive from rank 3, tag 7, 800 bytes, in the world communicator");
        record[..2].copy_from_slice(&words(Call::Receive, Target::receive(Some(None), None), 12, 1));
        assert_eq!(describe_activity(&record).unwrap(), "receive from any rank, any tag, 1 bytes, in communicator 4");
        record[..2].copy_from_slice(&words(Call::Barrier, Target::NONE, 1, 0));
        assert_eq!(describe_activity(&record).unwrap(), "barrier, in the world communicator");
        record[..2].copy_from_slice(&words(Call::ReduceScatter, Target::NONE, 1, 0));
        assert_eq!(describe_activity(&record).unwrap(), "reduce-scatter, in the world communicator");
        record[0] = over(record[0]);
        assert_eq!(describe_activity(&record).unwrap(), "reduce-scatter, in the world communicator");
    }

    #[test]
    fn a_collective_is_one_until_it_is_over() {
        let reduce = words(Call::Reduce, Target::NONE, 7, 80);
        assert_eq!(collective(reduce), Some((2, 80)));
        assert_eq!(collective([over(reduce[0]), reduce[1]]), None);
        assert_eq!(collective(words(Call::Send, Target::NONE, 7, 80)), None);
        assert_eq!(collective(words(Call::CreateCommunicator, Target::NONE, 7, 80)), None);
    }
}

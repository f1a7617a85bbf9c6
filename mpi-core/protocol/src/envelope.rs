//! Envelopes of messages and the patterns that receives match them with.

use crate::bins::Key;

/// What identifies a message to the receiver (MPI-5.0 section 3.2.3). `source` is the peer's number in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The communicator's context.
    pub context: u32,
    /// Who sent it.
    pub source: u32,
    /// Its tag.
    pub tag: u32,
}

/// What a receive accepts: `None` stands for any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The communicator's context.
    pub context: u32,
    /// From whom.
    pub source: Option<u32>,
    /// With which tag.
    pub tag: Option<u32>,
}

/// A pattern as what is quickly compared, hashed and kept: context and source, and the tag; zero stands for any. There
/// are fewer peers and tags than numbers. It is two numbers, so it is handed on in registers: the parts of a pattern
/// are often written one by one just before they are copied, and a processor waits for all that it has written before
/// if it reads what several of its writes have made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatternKey(u64, u32);

impl From<Pattern> for PatternKey {
    #[inline]
    fn from(pattern: Pattern) -> Self {
        let number = |part: Option<u32>| part.map_or(0, |part| part.wrapping_add(1));
        PatternKey(u64::from(pattern.context) | u64::from(number(pattern.source)) << 32, number(pattern.tag))
    }
}

/// The key of the patterns that name all of it.
impl From<&Envelope> for PatternKey {
    #[inline]
    fn from(envelope: &Envelope) -> Self {
        let Envelope { context, source, tag } = *envelope;
        Pattern { context, source: Some(source), tag: Some(tag) }.into()
    }
}

impl From<PatternKey> for Pattern {
    fn from(PatternKey(place, tag): PatternKey) -> Self {
        Pattern { context: place as u32, source: PatternKey(place, tag).source(), tag: tag.checked_sub(1) }
    }
}

impl PatternKey {
    /// Whether a message may complete such a receive; its key names all of it.
    #[inline]
    pub(crate) fn accepts(self, message: PatternKey) -> bool {
        let of_any_source = u64::from(message.0 as u32);
        (self.0 == message.0 || self.0 == of_any_source) && (self.1 == message.1 || self.1 == 0)
    }

    #[inline]
    pub(crate) fn source(self) -> Option<u32> {
        ((self.0 >> 32) as u32).checked_sub(1)
    }
}

impl Key for PatternKey {
    #[inline]
    fn hash(&self) -> u64 {
        // Any odd number with bits all over spreads what differs in few of them; fits the golden ratio.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        (self.0.wrapping_mul(SPREAD).rotate_left(32) ^ u64::from(self.1)).wrapping_mul(SPREAD)
    }
}

impl Pattern {
    /// Whether a message with that envelope may complete such a receive.
    #[inline]
    pub fn matches(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.source.is_none_or(|source| source == envelope.source)
            && self.tag.is_none_or(|tag| tag == envelope.tag)
    }

    /// Whether some message could complete either of two such receives.
    pub fn overlaps(&self, other: &Pattern) -> bool {
        let agree = |a: Option<u32>, b: Option<u32>| a.is_none() || b.is_none() || a == b;
        self.context == other.context && agree(self.source, other.source) && agree(self.tag, other.tag)
    }
}

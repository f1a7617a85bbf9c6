//! Who takes notes of what an engine does, for profiles and traces.

use crate::Completion;

/// What an engine tells whoever takes notes. Nothing of it is called while nobody does.
///
/// Work that no call of the program's has announced is a *part* of a call: parts don't lie in each other.
pub trait Notes {
    /// A part begins; false if a call is under way that it belongs to, whose end somebody else notes.
    fn begin_part(&self) -> bool;

    /// The part that has begun ends, and counts as so many calls; `None`: it was not worth a note.
    fn end_part(&self, calls: Option<u64>);

    /// A message leaves.
    fn sent(&self, peer: u32, context: u32, tag: u32, bytes: u64);

    /// A message has been received, in that context.
    fn received(&self, context: u32, completion: &Completion);
}

/// Does `work`, which is a part if nobody has announced a call, and says as how many calls it counts.
pub(super) fn part<R>(notes: &dyn Notes, work: impl FnOnce() -> (R, Option<u64>)) -> R {
    let begun = notes.begin_part();
    let (result, calls) = work();
    if begun {
        notes.end_part(calls);
    }
    result
}

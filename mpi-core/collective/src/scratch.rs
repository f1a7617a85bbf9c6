//! Memory of an algorithm's own, and reducing one span into another.
#![allow(unsafe_code)]

use rwmpi_rank::Buffer;
use rwmpi_transport::{LentSpan, ReadSpan, WriteSpan};

use crate::process::Process;
use crate::reduction::Reduction;
use crate::team::Team;

/// Up to this many words the memory is within the algorithm's own state.
const INLINE: usize = 8;

/// Bytes of any value, aligned for every element type. Many of them lie in the shared heap, where peers write directly
/// and whose pages are there since they were first used.
pub struct Scratch {
    inline: [u128; INLINE],
    heap: Option<Buffer<u128>>,
    len: usize,
}

impl Scratch {
    pub fn new(team: Team<'_>, len: usize) -> Self {
        Scratch::of(team.process, len)
    }

    /// That of a rank.
    pub fn of(process: &Process, len: usize) -> Self {
        let words = len.div_ceil(size_of::<u128>());
        let heap = (words > INLINE).then(|| Buffer::recycled(process.engine().heap(), words));
        Scratch { inline: [0; INLINE], heap, len }
    }

    pub fn span(&mut self) -> WriteSpan<'_> {
        let words = self.heap.as_deref_mut().unwrap_or(&mut self.inline);
        WriteSpan::from(&mut bytemuck::cast_slice_mut(words)[..self.len])
    }
}

/// `kept = kept ∘ later`.
pub(crate) fn append(team: &Team<'_>, op: &(impl Reduction + ?Sized), kept: WriteSpan<'_>, later: ReadSpan<'_>) {
    combine(team, op, kept.as_read().into(), later.into(), kept);
}

/// `kept = earlier ∘ kept`.
pub(crate) fn prepend(team: &Team<'_>, op: &dyn Reduction, earlier: ReadSpan<'_>, kept: WriteSpan<'_>) {
    combine(team, op, earlier.into(), kept.as_read().into(), kept);
}

/// `kept = earlier ∘ later`, of which either may be the same memory as `kept`, and others may write only where the
/// operation [can be done](Reduction::where_it_lies).
///
/// What is no contribution is not combined, and a rank whose operation fails has none.
pub(crate) fn combine(
    team: &Team<'_>,
    op: &(impl Reduction + ?Sized),
    earlier: LentSpan<'_>,
    later: LentSpan<'_>,
    kept: WriteSpan<'_>,
) {
    if team.is_in_trouble() {
        return;
    }
    if let Some(arithmetic) = op.where_it_lies() {
        return arithmetic.combine(earlier, later, kept);
    }
    let (earlier, later) = (earlier.as_read(), later.as_read());
    if later.start() == kept.start() {
        with_slices(kept, earlier, |kept, earlier| op.prepend(earlier, kept));
    } else {
        if earlier.start() != kept.start() {
            earlier.copy_to(kept);
        }
        with_slices(kept, later, |kept, later| op.append(kept, later));
    }
    if let Some(failure) = op.failure() {
        team.note(failure);
    }
}

fn with_slices(changed: WriteSpan<'_>, read: ReadSpan<'_>, f: impl FnOnce(&mut [u8], &[u8])) {
    if changed.is_empty() {
        return;
    }
    let apart = (changed.start() as usize).abs_diff(read.start() as usize);
    assert!(changed.len() == read.len() && apart >= read.len(), "runs of a reduction differ in length or overlap");
    // SAFETY: both are valid by their spans and do not overlap; algorithms reduce only memory that holds data and that
    // no message in flight uses, so nobody else touches it meanwhile.
    let (changed, read) = unsafe {
        (
            std::slice::from_raw_parts_mut(changed.start(), changed.len()),
            std::slice::from_raw_parts(read.start(), read.len()),
        )
    };
    f(changed, read);
}

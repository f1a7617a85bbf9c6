//! Memory of an algorithm's own, and reducing one span into another.
#![allow(unsafe_code)]

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::reduction::Reduction;

/// Up to this many words the memory is within the algorithm's own state.
const INLINE: usize = 8;

/// Zeroed bytes, aligned for every element type.
pub(crate) struct Scratch {
    inline: [u128; INLINE],
    heap: Vec<u128>,
    len: usize,
}

impl Scratch {
    pub(crate) fn new(len: usize) -> Self {
        let words = len.div_ceil(size_of::<u128>());
        Scratch { inline: [0; INLINE], heap: if words > INLINE { vec![0; words] } else { Vec::new() }, len }
    }

    pub(crate) fn span(&mut self) -> WriteSpan<'_> {
        let words = if self.heap.is_empty() { &mut self.inline[..] } else { &mut self.heap[..] };
        WriteSpan::from(&mut bytemuck::cast_slice_mut(words)[..self.len])
    }
}

/// `kept = kept ∘ later`.
pub(crate) fn append(op: &dyn Reduction, kept: WriteSpan<'_>, later: ReadSpan<'_>) {
    with_slices(kept, later, |kept, later| op.append(kept, later));
}

/// `kept = earlier ∘ kept`.
pub(crate) fn prepend(op: &dyn Reduction, earlier: ReadSpan<'_>, kept: WriteSpan<'_>) {
    with_slices(kept, earlier, |kept, earlier| op.prepend(earlier, kept));
}

fn with_slices(changed: WriteSpan<'_>, read: ReadSpan<'_>, f: impl FnOnce(&mut [u8], &[u8])) {
    if changed.is_empty() {
        return;
    }
    let apart = (changed.start() as usize).abs_diff(read.start() as usize);
    assert!(changed.len() == read.len() && apart >= read.len(), "runs of a reduction differ in length or overlap");
    // SAFETY: both are valid by their spans and do not overlap; algorithms reduce only memory that holds data and that no message
    // in flight uses, so nobody else touches it meanwhile.
    let (changed, read) = unsafe {
        (
            std::slice::from_raw_parts_mut(changed.start(), changed.len()),
            std::slice::from_raw_parts(read.start(), read.len()),
        )
    };
    f(changed, read);
}

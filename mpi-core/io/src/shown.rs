//! Copying between elements and a part of the file that lies in memory.
//!
//! Were all of the file in memory, what a view shows would be elements of its filetype there, one behind the other. So
//! the loops that pack and unpack elements copy all blocks of a part, and no list of blocks is made.
#![allow(unsafe_code)]

use std::ops::Range;

use rwmpi_core::untyped::Elements;

use crate::Direction;
use crate::span::Span;
use crate::view::View;

/// A part of the file in memory: from the byte `from` on.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) memory: Span<'a>,
    pub(crate) from: u64,
}

impl Shown<'_> {
    /// Copies what a view shows at these positions between the part and elements, where it begins at the packed byte
    /// `at`. No other byte of either is touched. Reading is from the file.
    ///
    /// # Panics
    /// If not all of it lies in the part, or the view is not plain.
    pub(crate) fn copy(
        self,
        direction: Direction,
        (view, positions): (&View, Range<u64>),
        (elements, at): (&Elements, u64),
    ) {
        let Some(last) = positions.end.checked_sub(1).filter(|&last| last >= positions.start) else { return };
        let ends = view.place(positions.start).zip(view.place(last));
        let is_within = ends.is_some_and(|(first, last)| {
            first.0 >= self.from && last.0 < self.from + self.memory.len() as u64 && first.0 <= last.0
        });
        assert!(view.is_plain() && is_within, "what is copied lies within the part");
        let start = self.memory.start().wrapping_sub(self.from as usize).wrapping_add(view.displacement() as usize);
        let count = positions.end.div_ceil(view.filetype().size());
        // SAFETY: only the bytes at these positions are used. They lie between the first and the last, which was found
        // to be in the part, since those of a plain view come in order; and a span is valid for reads and writes.
        let shown = unsafe { Elements::new(start, count, view.filetype().clone()) };
        let len = positions.end - positions.start;
        match direction {
            Direction::Read => shown.copy_part(positions.start, elements, at, len),
            Direction::Write => elements.copy_part(at, &shown, positions.start, len),
        }
    }
}

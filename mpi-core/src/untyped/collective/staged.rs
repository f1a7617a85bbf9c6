//! The program's memory as collectives see it: blocks of elements, and the runs of bytes that messages carry.
//!
//! Elements that are one run of bytes travel from and to where they are. Others are packed into memory of the library
//! on the way out and unpacked on the way in.
#![allow(unsafe_code)]

use rwmpi_transport::WriteSpan;

use crate::untyped::{Elements, Runs};

/// Elements by rank.
#[derive(Clone, Debug)]
pub enum Blocks {
    /// As many for every rank, one block behind the other, beginning with these of rank 0.
    Even(Elements),
    /// For each rank.
    Listed(Vec<Elements>),
}

impl Blocks {
    /// The elements as they were given: of even blocks, those of rank 0.
    pub(super) fn named(&self) -> &[Elements] {
        match self {
            Blocks::Even(first) => std::slice::from_ref(first),
            Blocks::Listed(blocks) => blocks,
        }
    }

    fn at(&self, place: usize) -> Elements {
        match self {
            Blocks::Listed(blocks) => blocks[place].clone(),
            Blocks::Even(first) => first.after(place),
        }
    }
}

/// Runs of bytes that stand for blocks of elements while messages carry them.
pub(super) struct Staged {
    places: Places,
    /// What elements that are no runs are packed into. On the heap, so that it stays where it is.
    _packed: Vec<u8>,
}

enum Places {
    Even(Runs),
    Listed(Vec<Place>),
}

struct Place {
    start: *mut u8,
    len: usize,
    /// What is packed there.
    packed: Option<Elements>,
}

impl Staged {
    /// Of one block.
    pub(super) fn one(elements: &Elements) -> Self {
        Staged::even(elements).unwrap_or_else(|| Staged::listed(std::iter::once(elements.clone()), false))
    }

    /// Of `number` blocks.
    pub(super) fn new(blocks: &Blocks, number: usize) -> Self {
        let even = match blocks {
            Blocks::Even(first) => Staged::even(first),
            Blocks::Listed(_) => None,
        };
        even.unwrap_or_else(|| Staged::listed((0..number).map(|place| blocks.at(place)), false))
    }

    /// Of `number` blocks, all packed, so that the program's memory can be overwritten.
    pub(super) fn copies(blocks: &Blocks, number: usize) -> Self {
        let copies = Staged::listed((0..number).map(|place| blocks.at(place)), true);
        copies.pack();
        copies
    }

    fn even(first: &Elements) -> Option<Self> {
        Some(Staged { places: Places::Even(first.runs()?), _packed: Vec::new() })
    }

    fn listed(blocks: impl Iterator<Item = Elements>, copied: bool) -> Self {
        let place = |elements: Elements| match elements.write_span().filter(|_| !copied) {
            Some(run) => Place { start: run.start(), len: run.len(), packed: None },
            None => Place { start: std::ptr::null_mut(), len: elements.bytes(), packed: Some(elements) },
        };
        let mut places: Vec<Place> = blocks.map(place).collect();
        let room = |place: &Place| if place.packed.is_some() { place.len.div_ceil(size_of::<u128>()) } else { 0 };
        // With a word on either side, so that nothing packed borders on memory of the program's.
        let words = places.iter().map(room).sum::<usize>() + 3;
        let mut packed = vec![0; words * size_of::<u128>()];
        let mut start = packed.as_mut_ptr();
        start = start.wrapping_add(start.align_offset(size_of::<u128>()) + size_of::<u128>());
        for place in places.iter_mut().filter(|place| place.packed.is_some()) {
            place.start = start;
            start = start.wrapping_add(room(place) * size_of::<u128>());
        }
        Staged { places: Places::Listed(places), _packed: packed }
    }

    /// The bytes that stand for block `place`.
    pub(super) fn span(&self, place: usize) -> WriteSpan<'_> {
        let (start, len) = match &self.places {
            Places::Even(runs) => return runs.block(place),
            Places::Listed(places) => (places[place].start, places[place].len),
        };
        // SAFETY: either the program's memory, valid by the contract of `Elements`, or a part of `packed`, which lives
        // as long as `self`.
        unsafe { WriteSpan::new(start, len) }
    }

    fn packed(&self, place: usize) -> Option<&Elements> {
        match &self.places {
            Places::Even(_) => None,
            Places::Listed(places) => places[place].packed.as_ref(),
        }
    }

    /// Makes the bytes of a block say what its elements say.
    pub(super) fn pack_at(&self, place: usize) {
        if let Some(elements) = self.packed(place) {
            elements.pack_span(self.span(place));
        }
    }

    /// As [`Staged::pack_at`], of all blocks.
    pub(super) fn pack(&self) {
        self.all().for_each(|place| self.pack_at(place));
    }

    /// Makes the elements of a block say what its bytes say.
    pub(super) fn unpack_at(&self, place: usize) {
        if let Some(elements) = self.packed(place) {
            elements.unpack_span(self.span(place).as_read());
        }
    }

    /// As [`Staged::unpack_at`], of all blocks.
    pub(super) fn unpack(&self) {
        self.all().for_each(|place| self.unpack_at(place));
    }

    fn all(&self) -> std::ops::Range<usize> {
        match &self.places {
            Places::Even(_) => 0..0,
            Places::Listed(places) => 0..places.len(),
        }
    }
}

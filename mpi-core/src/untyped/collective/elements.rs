//! The program's memory as collectives see it: elements of datatypes, and the runs of bytes that messages carry.
//!
//! Elements that are one run of bytes travel from and to where they are. Others are packed into memory of the library on the
//! way out and unpacked on the way in.
#![allow(unsafe_code)]

use rwmpi_transport::{ReadSpan, WriteSpan};
use smallvec::SmallVec;

use crate::Result;
use crate::datatype::{Datatype, pack_into, unpack_from};

/// Elements of a datatype in the program's memory.
#[derive(Clone, Debug)]
pub struct Elements {
    start: *mut u8,
    count: u64,
    datatype: Datatype,
    /// Packed; fits a `usize`.
    bytes: usize,
}

impl Elements {
    /// `count` elements of `datatype` at `start`.
    ///
    /// # Safety
    /// The bytes that the elements describe must be valid for reads, and for writes if the collective puts data there, until every
    /// collective that they are given to has ended; and nobody else may change them until then.
    ///
    /// # Errors
    /// If their size exceeds 63 bits.
    pub unsafe fn new(start: *mut u8, count: u64, datatype: &Datatype) -> Result<Self> {
        let bytes = datatype.packed_size(count)? as usize;
        Ok(Elements { start, count, datatype: datatype.clone(), bytes })
    }

    /// Their datatype.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where they are, if they are one run of bytes.
    fn run(&self) -> Option<*mut u8> {
        self.datatype.run(self.count).map(|(offset, _)| self.start.wrapping_offset(offset as isize))
    }

    /// Copies them, packed, to the beginning of `into`, which must have room.
    pub(super) fn pack_to(&self, into: WriteSpan<'_>) {
        assert!(self.bytes <= into.len(), "packing into too little room");
        match self.run() {
            // SAFETY: the bytes are valid by the contract of `new`.
            Some(start) => unsafe { ReadSpan::new(start, self.bytes) }.copy_to(into),
            // SAFETY: as above, and `into` is valid by its own contract; memory of the library does not overlap the program's.
            None => unsafe {
                pack_into(self.start, self.count, &self.datatype, 0, into.start(), self.bytes);
            },
        }
    }

    fn unpack_from(&self, from: ReadSpan<'_>) {
        // SAFETY: as in `pack_to`.
        unsafe { unpack_from(self.start, self.count, &self.datatype, 0, from.start(), from.len()) };
    }
}

/// Elements by rank.
#[derive(Clone, Debug)]
pub enum Blocks {
    /// As many for every rank, one block behind the other, beginning with these of rank 0.
    Even(Elements),
    /// For each rank.
    Listed(Vec<Elements>),
}

impl Blocks {
    fn at(&self, place: usize) -> Elements {
        match self {
            Blocks::Listed(blocks) => blocks[place].clone(),
            Blocks::Even(first) => {
                let stride = (first.count as i64).wrapping_mul(first.datatype.extent()) as isize;
                let start = first.start.wrapping_offset(stride.wrapping_mul(place as isize));
                Elements { start, ..first.clone() }
            }
        }
    }
}

/// Runs of bytes that stand for blocks of elements while messages carry them.
pub(super) struct Staged {
    places: Places,
    /// What elements that are no runs are packed into. On the heap, so that it stays where it is.
    _packed: Vec<u128>,
}

enum Places {
    Even { start: *mut u8, stride: isize, len: usize },
    Listed(SmallVec<[Place; 4]>),
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
        Staged::even(elements, 0).unwrap_or_else(|| Staged::listed(std::iter::once(elements.clone()), false))
    }

    /// Of `number` blocks.
    pub(super) fn new(blocks: &Blocks, number: usize) -> Self {
        let even = match blocks {
            Blocks::Even(first) => {
                Staged::even(first, (first.count as i64).wrapping_mul(first.datatype.extent()) as isize)
            }
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

    fn even(first: &Elements, stride: isize) -> Option<Self> {
        let places = Places::Even { start: first.run()?, stride, len: first.bytes };
        Some(Staged { places, _packed: Vec::new() })
    }

    fn listed(blocks: impl Iterator<Item = Elements>, copied: bool) -> Self {
        let place = |elements: Elements| match elements.run().filter(|_| !copied) {
            Some(start) => Place { start, len: elements.bytes, packed: None },
            None => Place { start: std::ptr::null_mut(), len: elements.bytes, packed: Some(elements) },
        };
        let mut places: SmallVec<[Place; 4]> = blocks.map(place).collect();
        let mut to_pack = || places.iter_mut().filter(|place| place.packed.is_some());
        let words = |len: usize| len.div_ceil(size_of::<u128>());
        let mut packed = vec![0u128; to_pack().map(|place| words(place.len)).sum()];
        let mut start = packed.as_mut_ptr();
        for place in to_pack() {
            place.start = start.cast();
            start = start.wrapping_add(words(place.len));
        }
        Staged { places: Places::Listed(places), _packed: packed }
    }

    /// The bytes that stand for block `place`.
    pub(super) fn span(&self, place: usize) -> WriteSpan<'_> {
        let (start, len) = match &self.places {
            Places::Even { start, stride, len } => (start.wrapping_offset(stride.wrapping_mul(place as isize)), *len),
            Places::Listed(places) => (places[place].start, places[place].len),
        };
        // SAFETY: either the program's memory, valid by the contract of `Elements::new`, or a part of `packed`, which lives as
        // long as `self`.
        unsafe { WriteSpan::new(start, len) }
    }

    fn packed(&self, place: usize) -> Option<&Elements> {
        match &self.places {
            Places::Even { .. } => None,
            Places::Listed(places) => places[place].packed.as_ref(),
        }
    }

    /// Makes the bytes of a block say what its elements say.
    pub(super) fn pack_at(&self, place: usize) {
        if let Some(elements) = self.packed(place) {
            elements.pack_to(self.span(place));
        }
    }

    /// As [`Staged::pack_at`], of all blocks.
    pub(super) fn pack(&self) {
        self.all().for_each(|place| self.pack_at(place));
    }

    /// Makes the elements of a block say what its bytes say.
    pub(super) fn unpack_at(&self, place: usize) {
        if let Some(elements) = self.packed(place) {
            elements.unpack_from(self.span(place).as_read());
        }
    }

    /// As [`Staged::unpack_at`], of all blocks.
    pub(super) fn unpack(&self) {
        self.all().for_each(|place| self.unpack_at(place));
    }

    fn all(&self) -> std::ops::Range<usize> {
        match &self.places {
            Places::Even { .. } => 0..0,
            Places::Listed(places) => 0..places.len(),
        }
    }
}

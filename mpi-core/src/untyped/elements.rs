//! Elements of a datatype in memory that nobody here owns.
#![allow(unsafe_code)]

use rwmpi_transport::{ReadSpan, WriteSpan};

use crate::Result;
use crate::datatype::{Datatype, pack, pack_external, pack_into, unpack, unpack_external, unpack_from};
use crate::engine::{Scattered, Sink};
use crate::error::{Error, ErrorClass};
use crate::select::message::goes_in_pieces;
use crate::tuning::Tuning;

/// `count` elements of a datatype, somewhere in memory.
#[derive(Clone, Debug)]
pub struct Elements {
    start: *mut u8,
    count: u64,
    datatype: Datatype,
}

/// Where the bytes of a block of elements lie, if they lie side by side, and from there those of the next.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// From where the elements are said to be.
    offset: isize,
    len: usize,
    stride: isize,
}

impl Run {
    /// Of `count` elements; `None` if their bytes do not lie side by side.
    #[inline]
    pub fn of(count: u64, datatype: &Datatype) -> Option<Self> {
        let (offset, len) = datatype.run(count)?;
        let stride = (count as i64).wrapping_mul(datatype.extent()) as isize;
        Some(Run { offset: offset as isize, len: len as usize, stride })
    }

    /// Of elements that are so many bytes together, without gaps.
    #[inline(always)]
    pub fn packed(bytes: usize) -> Self {
        Run { offset: 0, len: bytes, stride: bytes.cast_signed() }
    }
}

/// Such blocks somewhere in memory, one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    first: *mut u8,
    len: usize,
    stride: isize,
}

impl Runs {
    /// Blocks of nothing.
    pub const NONE: Runs = Runs { first: std::ptr::dangling_mut(), len: 0, stride: 0 };

    /// The elements of the first are at `start`.
    ///
    /// # Safety
    /// As of [`Elements::new`], for every block that is [asked for](Runs::block).
    #[inline]
    pub unsafe fn new(start: *mut u8, Run { offset, len, stride }: Run) -> Self {
        Runs { first: start.wrapping_offset(offset), len, stride }
    }

    /// Bytes of a block.
    #[inline]
    pub fn block_len(self) -> usize {
        self.len
    }

    /// Whether a message of so many bytes fills a block.
    #[inline]
    pub fn are_filled_by(self, bytes: u64) -> bool {
        self.len as u64 == bytes
    }

    /// The bytes of that block.
    #[inline]
    pub fn block(self, number: usize) -> WriteSpan<'static> {
        let start = self.first.wrapping_offset(self.stride.wrapping_mul(number as isize));
        // SAFETY: by the contract of `new` the bytes are valid until the operation has completed.
        unsafe { WriteSpan::new(start, self.len) }
    }

    /// The bytes of the first, to be read.
    #[inline]
    pub fn read(self) -> ReadSpan<'static> {
        self.block(0).as_read()
    }

    /// `count` blocks as one, of which the first has that number; `None` if blocks do not lie side by side.
    #[inline]
    pub fn as_one(self, number: i64, count: usize) -> Option<Self> {
        let len = self.len.checked_mul(count).filter(|_| self.stride == self.len as isize)?;
        let first = self.first.wrapping_offset(self.stride.wrapping_mul(number as isize));
        Some(Runs { first, len, stride: len as isize })
    }
}

impl Elements {
    /// The elements at `start`, which is null if the datatype has absolute displacements.
    ///
    /// # Safety
    /// The bytes that the elements consist of must be valid for reads, and for writes if they are received into, until
    /// every operation that they are given to has completed; meanwhile the program touches them only as MPI allows
    /// (MPI-5.0 section 3.7.2).
    #[inline]
    pub unsafe fn new(start: *mut u8, count: u64, datatype: Datatype) -> Self {
        Elements { start, count, datatype }
    }

    /// The elements `offset` bytes into a span, whose contract is theirs; `None` if not all of their bytes lie in it.
    #[inline]
    pub(crate) fn within(span: WriteSpan<'static>, offset: i64, count: u64, datatype: &Datatype) -> Option<Self> {
        let (low, end) = datatype.reach(count)?;
        let (low, end) = (offset.checked_add(low)?, offset.checked_add(end)?);
        let is_within = low >= 0 && low <= end && end.cast_unsigned() <= span.len() as u64;
        let start = span.start().wrapping_offset(offset as isize);
        is_within.then(|| Elements { start, count, datatype: datatype.clone() })
    }

    /// Copies what these are to as many bytes of other elements. The two don't overlap.
    pub(crate) fn copy_to(&self, other: &Elements) -> Result<()> {
        match (self.read_span(), other.write_span()) {
            (Some(from), Some(into)) => from.copy_long_to(into),
            (Some(from), None) => other.unpack_span(from),
            (None, Some(into)) => self.pack_span(into),
            (None, None) => other.unpack_span(self.packed()?.as_slice().into()),
        }
        Ok(())
    }

    /// The same for another thread: they have no part of anything in common with these but their memory.
    #[must_use]
    pub fn detached(&self) -> Elements {
        Elements { datatype: self.datatype.detached(), ..*self }
    }

    /// How many they are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their datatype.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Where they begin, by their datatype's count: for functions of the program, which know what may be done there.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// The address of their first byte of data, if they have any.
    pub fn first_byte(&self) -> Option<usize> {
        let has_data = self.count > 0 && self.datatype.size() > 0;
        has_data.then(|| self.start.addr().wrapping_add_signed(self.datatype.true_lower_bound() as isize))
    }

    /// Where their bytes lie, if these lie side by side: address and length. It is for calls of the kernel; the
    /// contract of [`Elements::new`] says what may be done there.
    pub fn memory(&self) -> Option<(*mut u8, usize)> {
        self.write_span().map(|span| (span.start(), span.len()))
    }

    /// The first of them.
    #[must_use]
    pub fn first(&self, count: u64) -> Elements {
        Elements { count: count.min(self.count), ..self.clone() }
    }

    /// Packs some of their bytes, from number `at` on. Returns how many: as many as there are, or as have room.
    pub fn pack_at(&self, at: u64, into: &mut [u8]) -> usize {
        // SAFETY: by the contract of `new` the elements are readable; the slice is not of their memory.
        unsafe { pack(self.start, self.count, &self.datatype, at, into) }
    }

    /// Unpacks bytes to where those belong that are packed from number `at` on. Returns how many had a place.
    pub fn unpack_at(&self, at: u64, bytes: &[u8]) -> usize {
        // SAFETY: by the contract of `new` the elements are writable; the slice is not of their memory.
        unsafe { unpack(self.start, self.count, &self.datatype, at, bytes) }
    }

    /// Copies some of their packed bytes, from number `at` on, to where those of other elements belong from number
    /// `other_at` on: `len` of them, or as many as both have. No other bytes of either are touched. The two don't
    /// overlap.
    pub fn copy_part(&self, at: u64, other: &Elements, other_at: u64, len: u64) {
        /// Where neither's bytes lie side by side, so many go at a time.
        const PIECE: usize = 32 << 10;
        if let Some((span, from)) = other.write_span().zip(usize::try_from(other_at).ok()) {
            let room = span.len().saturating_sub(from).min(usize::try_from(len).unwrap_or(usize::MAX));
            let into = span.start().wrapping_add(from);
            // SAFETY: by the contract of `new` for both, which don't overlap.
            unsafe { pack_into(self.start, self.count, &self.datatype, at, into, room) };
        } else if let Some((span, from)) = self.read_span().zip(usize::try_from(at).ok()) {
            let there = span.len().saturating_sub(from).min(usize::try_from(len).unwrap_or(usize::MAX));
            let bytes = span.start().wrapping_add(from);
            // SAFETY: as above.
            unsafe { unpack_from(other.start, other.count, &other.datatype, other_at, bytes, there) };
        } else {
            let (mut piece, mut done) = (vec![0; PIECE], 0);
            while done < len {
                let wanted = piece.len().min(usize::try_from(len - done).unwrap_or(usize::MAX));
                let packed = self.pack_at(at + done, &mut piece[..wanted]);
                let taken = other.unpack_at(other_at + done, &piece[..packed]);
                if taken == 0 {
                    break;
                }
                done += taken as u64;
            }
        }
    }

    /// Packs them as external32. Returns how many bytes.
    ///
    /// # Errors
    /// There is too little room; a value has no representation.
    pub fn pack_external(&self, into: &mut [u8]) -> Result<usize> {
        // SAFETY: by the contract of `new` the elements are readable.
        unsafe { pack_external(self.start, self.count, &self.datatype, into) }
    }

    /// Unpacks external32 into them. Returns how many bytes of it.
    ///
    /// # Errors
    /// There are too few bytes.
    pub fn unpack_external(&self, bytes: &[u8]) -> Result<usize> {
        // SAFETY: by the contract of `new` the elements are writable.
        unsafe { unpack_external(self.start, self.count, &self.datatype, bytes) }
    }

    /// Blocks of so many elements, of which these are the first.
    pub(super) fn runs(&self) -> Option<Runs> {
        let run = Run::of(self.count, &self.datatype)?;
        // SAFETY: by the contract of `new` for these, and whoever uses others vouches for those.
        Some(unsafe { Runs::new(self.start, run) })
    }

    /// Their bytes, if these lie side by side.
    #[inline]
    pub(crate) fn read_span(&self) -> Option<ReadSpan<'static>> {
        let (offset, len) = self.datatype.run(self.count)?;
        // SAFETY: by the contract of `new` the bytes are readable until the operation has completed.
        Some(unsafe { ReadSpan::new(self.start.wrapping_offset(offset as isize), len as usize) })
    }

    /// Their bytes, if these lie side by side, to be written.
    #[inline]
    pub(crate) fn write_span(&self) -> Option<WriteSpan<'static>> {
        let (offset, len) = self.datatype.run(self.count)?;
        // SAFETY: by the contract of `new` the bytes are writable until the operation has completed.
        Some(unsafe { WriteSpan::new(self.start.wrapping_offset(offset as isize), len as usize) })
    }

    /// Where a message for them goes.
    #[inline]
    pub(crate) fn sink(&self) -> Result<Sink> {
        match self.write_span() {
            Some(span) => Ok(span.into()),
            None => self.packed_size().map(|_| Sink::scattered(Box::new(self.clone()))),
        }
    }

    /// Whether they are packed and unpacked in pieces, if they do not lie side by side.
    pub(super) fn go_in_pieces(&self, tuning: &Tuning) -> Result<bool> {
        Ok(goes_in_pieces(tuning, self.packed_size()?))
    }

    /// Bytes of them, packed.
    pub(crate) fn packed_size(&self) -> Result<usize> {
        let size = self.datatype.packed_size(self.count)?;
        usize::try_from(size).map_err(|_| no_memory(size))
    }

    /// Room for them, packed.
    pub(crate) fn room(&self) -> Result<Vec<u8>> {
        let size = self.packed_size()?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_| no_memory(size as u64))?;
        bytes.resize(size, 0);
        Ok(bytes)
    }

    /// A packed copy.
    pub(crate) fn packed(&self) -> Result<Vec<u8>> {
        let mut bytes = self.room()?;
        // SAFETY: by the contract of `new` the elements are readable; the vector is ours alone.
        unsafe { pack(self.start, self.count, &self.datatype, 0, &mut bytes) };
        Ok(bytes)
    }

    /// Bytes from these elements to as many behind them.
    pub(super) fn stride(&self) -> isize {
        (self.count as i64).wrapping_mul(self.datatype.extent()) as isize
    }

    /// As many elements as these, `blocks` blocks behind them. Whoever uses these vouches for those too.
    pub(super) fn after(&self, blocks: usize) -> Elements {
        let start = self.start.wrapping_offset(self.stride().wrapping_mul(blocks as isize));
        Elements { start, ..self.clone() }
    }

    /// Bytes of them, packed, which must have been found to fit into memory.
    pub(crate) fn bytes(&self) -> usize {
        (self.count * self.datatype.size()) as usize
    }

    /// Copies them, packed, to the beginning of a span.
    ///
    /// # Panics
    /// If it is too short.
    pub(crate) fn pack_span(&self, into: WriteSpan<'_>) {
        if let Some(run) = self.read_span() {
            return run.copy_to(into);
        }
        assert!(self.bytes() <= into.len(), "packing into a shorter span");
        // SAFETY: by the contract of `new` the elements are readable, and the span is writable by its own; memory that
        // is packed into is the library's.
        unsafe { pack_into(self.start, self.count, &self.datatype, 0, into.start(), into.len()) };
    }

    /// Takes the packed bytes of a span apart into them.
    pub(crate) fn unpack_span(&self, from: ReadSpan<'_>) {
        // SAFETY: as in `pack_span`, the other way round.
        unsafe { unpack_from(self.start, self.count, &self.datatype, 0, from.start(), from.len()) };
    }
}

impl Scattered for Elements {
    fn len(&self) -> usize {
        self.bytes()
    }

    fn pack(&self, at: usize, into: &mut [u8]) {
        // SAFETY: by the contract of `new` the elements are readable; the slice is not of their memory.
        unsafe { pack(self.start, self.count, &self.datatype, at as u64, into) };
    }

    fn unpack(&self, at: usize, bytes: &[u8]) {
        // SAFETY: by the contract of `new` the elements are writable; the slice is not of their memory.
        unsafe { unpack(self.start, self.count, &self.datatype, at as u64, bytes) };
    }
}

#[cold]
fn no_memory(size: u64) -> Error {
    Error::new(ErrorClass::NoMemory, format!("there is no memory to pack {size} bytes"))
}

/// Memory that a window is made of, or that is attached to one.
///
/// # Safety
/// As of [`Elements::new`], for all of it, until the window is freed or the memory detached.
pub(crate) unsafe fn window_memory(base: *mut u8, size: u64) -> WriteSpan<'static> {
    // SAFETY: the caller's.
    unsafe { WriteSpan::new(base, size as usize) }
}

/// Room that the engine writes to; as [`read_span_of`].
pub(crate) fn write_span_of(room: &mut [u8]) -> WriteSpan<'static> {
    // SAFETY: the callers keep the vector as long as the operation, and look at it only afterwards.
    unsafe { WriteSpan::new(room.as_mut_ptr(), room.len()) }
}

/// A packed copy that the engine reads from.
///
/// Moving a vector leaves its bytes where they are: whoever keeps the vector until the operation has completed keeps
/// the span valid.
pub(crate) fn read_span_of(packed: &[u8]) -> ReadSpan<'static> {
    lasting(packed.into())
}

/// A copy that the engine reads from, which its owner keeps until the operation has completed.
pub(crate) fn lasting(copy: ReadSpan<'_>) -> ReadSpan<'static> {
    // SAFETY: the callers keep it as long as the operation.
    unsafe { ReadSpan::new(copy.start(), copy.len()) }
}

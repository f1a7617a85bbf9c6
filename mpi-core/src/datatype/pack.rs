//! Packing: from elements in memory to a stream of bytes and back, from any byte of the stream to any other.
//!
//! A walk along the layout visits what the wanted bytes touch: parts of an element at the edges, whole ones between,
//! and those in loops over blocks of a length that the compiler knows, for the lengths that programs have. Nothing is
//! remembered from one call to the next: finding the first byte costs a division or a search for each level of the
//! layout.
#![allow(unsafe_code)]

use std::ptr;

use super::layout::{Form, Layout, Run};
use super::{Datatype, external};
use crate::Result;

/// Which way bytes go.
trait Way {
    /// From where to where, of what is said about the elements in memory and about the stream of packed bytes.
    fn order<T>(memory: T, stream: T) -> (T, T);
}

/// From memory to the stream.
struct Pack;

/// From the stream to memory.
struct Unpack;

impl Way for Pack {
    #[inline(always)]
    fn order<T>(memory: T, stream: T) -> (T, T) {
        (memory, stream)
    }
}

impl Way for Unpack {
    #[inline(always)]
    fn order<T>(memory: T, stream: T) -> (T, T) {
        (stream, memory)
    }
}

/// Bytes of the stream for which memory is asked in advance. The processor itself foresees a walk only to the end of a
/// page, of which a layout with holes has many.
const AHEAD: u64 = 1024;

/// The same where each run has a place of its own, in runs.
const RUNS_AHEAD: usize = 16;

/// So many short blocks at irregular places are taken in one round of a loop.
const GROUP: usize = 8;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Blocks of more bytes than this are left to the processor's foresight.
const LONG: u64 = 2048;

/// Asks for the cache line at an address, which need not be valid.
#[inline(always)]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is a hint; it has no effect that a program sees, wherever it points.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// As [`prefetch`], for all lines of a block.
#[inline(always)]
fn prefetch_block(address: *const u8, length: u64) {
    (0..length as usize).step_by(LINE).for_each(|line| prefetch(address.wrapping_add(line)));
}

/// Copies `length` bytes, few of them without a call.
///
/// # Safety
/// Both must be valid for that, one for reads and the other for writes, and must not overlap.
#[inline(always)]
unsafe fn copy<W: Way>(memory: *mut u8, stream: *mut u8, length: usize) {
    let (from, to) = W::order(memory, stream);
    // SAFETY: the caller's; each pair of moves covers `length` bytes, overlapping in the middle, and leaves nothing
    // out.
    unsafe {
        match length {
            0 => {}
            1 => *to = *from,
            2..=3 => ends::<2>(from, to, length),
            4..=7 => ends::<4>(from, to, length),
            8..=16 => ends::<8>(from, to, length),
            17..=32 => ends::<16>(from, to, length),
            33..=64 => ends::<32>(from, to, length),
            _ => ptr::copy_nonoverlapping(from, to, length),
        }
    }
}

/// Copies the first and the last `PART` of `length` bytes, `PART` ≤ `length` ≤ 2 × `PART`.
///
/// # Safety
/// As of [`copy`].
#[inline(always)]
unsafe fn ends<const PART: usize>(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller's, and both parts lie within `length`.
    unsafe {
        let rest = length - PART;
        let last = from.add(rest).cast::<[u8; PART]>().read();
        to.cast::<[u8; PART]>().write(from.cast::<[u8; PART]>().read());
        to.add(rest).cast::<[u8; PART]>().write(last);
    }
}

/// `count` blocks of `LENGTH` bytes, each side's with its first one and the distance to the next. Not part of its
/// callers: these have so many loops that registers would not suffice.
///
/// # Safety
/// As of [`copy`], for each block.
#[inline(never)]
unsafe fn strided<const LENGTH: usize>(count: usize, from: (*mut u8, isize), to: (*mut u8, isize)) {
    let ((mut from, from_step), (mut to, to_step)) = (from, to);
    let next = |from: &mut *mut u8, to: &mut *mut u8| {
        // SAFETY: the caller's.
        unsafe { to.cast::<[u8; LENGTH]>().write(from.cast::<[u8; LENGTH]>().read()) };
        (*from, *to) = (from.wrapping_offset(from_step), to.wrapping_offset(to_step));
    };
    let (together, ahead) = (LINE.div_ceil(LENGTH), (AHEAD as usize / LENGTH) as isize);
    for _ in 0..count / together {
        prefetch(from.wrapping_offset(from_step.wrapping_mul(ahead)));
        prefetch(to.wrapping_offset(to_step.wrapping_mul(ahead)));
        (0..together).for_each(|_| next(&mut from, &mut to));
    }
    (0..count % together).for_each(|_| next(&mut from, &mut to));
}

/// As [`strided`], but in memory the blocks are at the offsets, and in the stream side by side. Nothing is asked for in
/// advance: the addresses are known beforehand, so the processor works on more blocks at a time than it could be told
/// of.
///
/// # Safety
/// As of [`copy`], for each block.
#[inline(never)]
unsafe fn scattered<W: Way, const LENGTH: usize>(offsets: &[i64], memory: *mut u8, stream: *mut u8) {
    let put = |offset: i64, stream: *mut u8| {
        let (from, to) = W::order(at(memory, offset), stream);
        // SAFETY: the caller's.
        unsafe { to.cast::<[u8; LENGTH]>().write(from.cast::<[u8; LENGTH]>().read()) };
    };
    let mut stream = stream;
    let (groups, rest) = offsets.as_chunks::<GROUP>();
    for group in groups {
        (0..GROUP).for_each(|index| put(group[index], stream.wrapping_add(index * LENGTH)));
        stream = stream.wrapping_add(GROUP * LENGTH);
    }
    rest.iter().enumerate().for_each(|(index, &offset)| put(offset, stream.wrapping_add(index * LENGTH)));
}

/// Calls `$known`, which takes `LENGTH`, for a length that programs often have, `$other` for others.
macro_rules! for_length {
    ($length:expr, $LENGTH:ident => $known:expr, $other:expr) => {
        for_length!($length, $LENGTH => $known, $other, 1 2 4 8 12 16 24 32 48 64)
    };
    ($length:expr, $LENGTH:ident => $known:expr, $other:expr, $($literal:literal)*) => {
        match $length {
            $($literal => {
                const $LENGTH: usize = $literal;
                $known
            })*
            _ => $other,
        }
    };
}

/// `count` blocks of `length` bytes, `stride` bytes apart in memory and `apart` in the stream.
///
/// # Safety
/// As of [`copy`], for each block.
unsafe fn blocks<W: Way>(count: u64, length: u64, memory: *mut u8, stride: i64, stream: *mut u8, apart: u64) {
    let (from, to) = W::order((memory, stride as isize), (stream, apart as isize));
    // SAFETY: the caller's.
    unsafe {
        for_length!(length, LENGTH => strided::<LENGTH>(count as usize, from, to), {
            let ahead = if length <= LONG { AHEAD.div_ceil(length) } else { 0 };
            for index in 0..count {
                if ahead > 0 && index + ahead < count {
                    prefetch_block(nth(memory, index + ahead, stride), length);
                    prefetch_block(stream.wrapping_add(((index + ahead) * apart) as usize), length);
                }
                copy::<W>(nth(memory, index, stride), stream.add((index * apart) as usize), length as usize);
            }
        });
    }
}

/// The place `displacement` bytes from `memory`. Addresses may come from displacements alone (`MPI_BOTTOM`), so this
/// wraps.
#[inline(always)]
fn at(memory: *mut u8, displacement: i64) -> *mut u8 {
    memory.wrapping_offset(displacement as isize)
}

#[inline(always)]
fn nth(memory: *mut u8, index: u64, stride: i64) -> *mut u8 {
    at(memory, (index as i64).wrapping_mul(stride))
}

/// All bytes of a layout. `memory` is the address that the layout's offset counts from.
///
/// # Safety
/// As of [`copy`], for all runs of the layout; the stream holds `layout.size` bytes.
unsafe fn whole<W: Way>(layout: &Layout, memory: *mut u8, stream: *mut u8) {
    let memory = at(memory, layout.offset);
    // SAFETY: the caller's, for the parts of the layout.
    unsafe {
        match &layout.form {
            Form::Run => copy::<W>(memory, stream, layout.size as usize),
            Form::Loop { count, stride, body } => whole_loop::<W>(body, *count, *stride, memory, stream),
            Form::Scatter { offsets, body } => whole_scatter::<W>(body, offsets, memory, stream),
            Form::Runs { runs, .. } => {
                let mut stream = stream;
                for (index, Run { offset, length }) in runs.iter().enumerate() {
                    if let Some(later) = runs.get(index + RUNS_AHEAD) {
                        prefetch(at(memory, later.offset.into()));
                        prefetch(stream.wrapping_add(AHEAD as usize));
                    }
                    copy::<W>(at(memory, i64::from(*offset)), stream, *length as usize);
                    stream = stream.add(*length as usize);
                }
            }
            Form::Parts { parts, starts } => {
                for (part, start) in parts.iter().zip(starts.iter()) {
                    whole::<W>(part, memory, stream.add(*start as usize));
                }
            }
        }
    }
}

/// `count` times a layout, `stride` apart.
///
/// # Safety
/// As of [`whole`], for each of them.
unsafe fn whole_loop<W: Way>(body: &Layout, count: u64, stride: i64, memory: *mut u8, stream: *mut u8) {
    let memory = at(memory, body.offset);
    // SAFETY: the caller's, for each round.
    unsafe {
        match &body.form {
            Form::Run => blocks::<W>(count, body.size, memory, stride, stream, body.size),
            Form::Loop { count: inner, stride: step, body: block } if block.form == Form::Run && *inner <= FEW => {
                let runs = (0..*inner).map(|index| (step.wrapping_mul(index as i64), block.size));
                tiles::<W>(runs, body.size, count, stride, memory, stream);
            }
            Form::Scatter { offsets, body: block } if block.form == Form::Run && offsets.len() as u64 <= FEW => {
                let runs = offsets.iter().map(|&offset| (offset, block.size));
                tiles::<W>(runs, body.size, count, stride, memory, stream);
            }
            Form::Runs { runs, .. } if runs.len() as u64 <= FEW => {
                let runs = runs.iter().map(|run| (run.offset.into(), run.length.into()));
                tiles::<W>(runs, body.size, count, stride, memory, stream);
            }
            _ => {
                let memory = at(memory, body.offset.wrapping_neg());
                for index in 0..count {
                    whole::<W>(body, nth(memory, index, stride), stream.add((index * body.size) as usize));
                }
            }
        }
    }
}

/// With at most so many runs, the rounds of a loop are taken run by run instead of one after the other.
const FEW: u64 = 16;

/// So many rounds at a time: what they touch stays in the nearest cache.
const TILE: u64 = 128;

/// `count` rounds of the same few runs (offset, length), together `size` bytes. Within a tile of rounds, each run makes
/// one loop over blocks of one length.
///
/// # Safety
/// As of [`whole`], for each round.
unsafe fn tiles<W: Way>(
    runs: impl Iterator<Item = (i64, u64)> + Clone,
    size: u64,
    count: u64,
    stride: i64,
    memory: *mut u8,
    stream: *mut u8,
) {
    let mut done = 0;
    while done < count {
        let rounds = TILE.min(count - done);
        let mut stream = stream.wrapping_add((done * size) as usize);
        for (offset, length) in runs.clone() {
            let begin = at(nth(memory, done, stride), offset);
            // SAFETY: the caller's.
            unsafe { blocks::<W>(rounds, length, begin, stride, stream, size) };
            stream = stream.wrapping_add(length as usize);
        }
        done += rounds;
    }
}

/// A layout at each of the offsets.
///
/// # Safety
/// As of [`whole`], for each of them.
unsafe fn whole_scatter<W: Way>(body: &Layout, offsets: &[i64], memory: *mut u8, stream: *mut u8) {
    // SAFETY: the caller's, for each place.
    unsafe {
        let each = || {
            for (index, offset) in offsets.iter().enumerate() {
                whole::<W>(body, at(memory, *offset), stream.add(index * body.size as usize));
            }
        };
        match body.form {
            Form::Run => for_length!(body.size, LENGTH => scattered::<W, LENGTH>(offsets, memory, stream), each()),
            _ => each(),
        }
    }
}

/// The packed bytes `low..high` of a layout, to or from `stream`.
///
/// # Safety
/// As of [`whole`], for those bytes.
unsafe fn part<W: Way>(layout: &Layout, memory: *mut u8, low: u64, high: u64, stream: *mut u8) {
    let origin = memory;
    let memory = at(memory, layout.offset);
    // SAFETY: the caller's; the pieces of the stream are disjoint and end at `high - low`.
    unsafe {
        match &layout.form {
            _ if low == 0 && high == layout.size => whole::<W>(layout, origin, stream),
            Form::Run => copy::<W>(memory.wrapping_add(low as usize), stream, (high - low) as usize),
            Form::Loop { count: _, stride, body } => part_of_loop::<W>(body, *stride, memory, low, high, stream),
            Form::Scatter { offsets, body } => part_of_scatter::<W>(body, offsets, memory, low, high, stream),
            Form::Runs { runs, starts } => {
                let first = starts.partition_point(|&start| start <= low) - 1;
                for (run, &start) in runs[first..].iter().zip(&starts[first..]) {
                    if start >= high {
                        break;
                    }
                    let (begin, end) = (low.max(start), high.min(start + u64::from(run.length)));
                    let place = at(memory, run.offset.into()).wrapping_add((begin - start) as usize);
                    copy::<W>(place, stream.add((begin - low) as usize), (end - begin) as usize);
                }
            }
            Form::Parts { parts, starts } => {
                let first = starts.partition_point(|&start| start <= low) - 1;
                for (piece, &start) in parts[first..].iter().zip(&starts[first..]) {
                    if start >= high {
                        break;
                    }
                    let (begin, end) = (low.max(start), high.min(start + piece.size));
                    let to = stream.add((begin - low) as usize);
                    part::<W>(piece, memory, begin - start, end - start, to);
                }
            }
        }
    }
}

/// The packed bytes `low..high` of rounds of a layout, `stride` apart.
///
/// # Safety
/// As of [`whole`], for those bytes.
unsafe fn part_of_loop<W: Way>(body: &Layout, stride: i64, memory: *mut u8, low: u64, high: u64, stream: *mut u8) {
    let size = body.size;
    let (mut first, begin) = (low / size, low % size);
    let (last, end) = (high / size, high % size);
    let mut stream = stream;
    // SAFETY: the caller's; `stream` moves on by what has been copied.
    unsafe {
        if first == last {
            return part::<W>(body, nth(memory, first, stride), begin, end, stream);
        }
        if begin > 0 {
            part::<W>(body, nth(memory, first, stride), begin, size, stream);
            stream = stream.add((size - begin) as usize);
            first += 1;
        }
        whole_loop::<W>(body, last - first, stride, nth(memory, first, stride), stream);
        if end > 0 {
            stream = stream.add(((last - first) * size) as usize);
            part::<W>(body, nth(memory, last, stride), 0, end, stream);
        }
    }
}

/// The packed bytes `low..high` of a layout at each of the offsets.
///
/// # Safety
/// As of [`whole`], for those bytes.
unsafe fn part_of_scatter<W: Way>(
    body: &Layout,
    offsets: &[i64],
    memory: *mut u8,
    low: u64,
    high: u64,
    stream: *mut u8,
) {
    let size = body.size;
    let (mut first, begin) = ((low / size) as usize, low % size);
    let (last, end) = ((high / size) as usize, high % size);
    let mut stream = stream;
    // SAFETY: the caller's; `stream` moves on by what has been copied.
    unsafe {
        if first == last {
            return part::<W>(body, at(memory, offsets[first]), begin, end, stream);
        }
        if begin > 0 {
            part::<W>(body, at(memory, offsets[first]), begin, size, stream);
            stream = stream.add((size - begin) as usize);
            first += 1;
        }
        whole_scatter::<W>(body, &offsets[first..last], memory, stream);
        if end > 0 {
            stream = stream.add((last - first) * size as usize);
            part::<W>(body, at(memory, offsets[last]), 0, end, stream);
        }
    }
}

/// The packed bytes `from..` of `count` elements, at most `capacity`. Returns how many there are.
///
/// # Safety
/// As of [`whole`], for those bytes.
unsafe fn elements<W: Way>(
    memory: *mut u8,
    count: u64,
    datatype: &Datatype,
    from: u64,
    stream: *mut u8,
    capacity: usize,
) -> usize {
    let layout = datatype.layout();
    let total = layout.size.saturating_mul(count);
    let high = total.min(from.saturating_add(capacity as u64));
    if high <= from {
        return 0;
    }
    let (extent, begin) = (datatype.extent(), at(memory, layout.offset));
    // SAFETY: the caller's.
    unsafe {
        match &layout.form {
            Form::Run if count == 1 || u64::try_from(extent) == Ok(layout.size) => {
                copy::<W>(begin.wrapping_add(from as usize), stream, (high - from) as usize);
            }
            // Where the elements continue each other's loop, theirs is the only one.
            Form::Loop { count: inner, stride, body }
                if count == 1 || stride.checked_mul(*inner as i64) == Some(extent) =>
            {
                part_of_loop::<W>(body, *stride, begin, from, high, stream);
            }
            _ => part_of_loop::<W>(layout, extent, memory, from, high, stream),
        }
    }
    (high - from) as usize
}

/// Packs `count` elements at `memory`, from byte `from` of the packed bytes on, until the end or until `capacity` bytes
/// are at `to`. Returns how many.
///
/// # Safety
/// `memory` must be valid for reads of the bytes that the elements describe, `to` for writes of `capacity` bytes, and
/// the two must not overlap. Of a datatype with absolute displacements `memory` may be null.
pub unsafe fn pack_into(
    memory: *const u8,
    count: u64,
    datatype: &Datatype,
    from: u64,
    to: *mut u8,
    capacity: usize,
) -> usize {
    // SAFETY: the caller's; `Pack` only reads from memory.
    unsafe { elements::<Pack>(memory.cast_mut(), count, datatype, from, to, capacity) }
}

/// Packs `count` elements at `memory`, from byte `from` of the packed bytes on, until the end or until `into` is full.
/// Returns how many bytes.
///
/// # Safety
/// As of [`pack_into`].
pub unsafe fn pack(memory: *const u8, count: u64, datatype: &Datatype, from: u64, into: &mut [u8]) -> usize {
    // SAFETY: the caller's.
    unsafe { pack_into(memory, count, datatype, from, into.as_mut_ptr(), into.len()) }
}

/// Unpacks `length` bytes, the packed bytes from `at` on, into `count` elements at `memory`. Returns how many had a
/// place there.
///
/// # Safety
/// `memory` must be valid for writes of the bytes that the elements describe, `bytes` for reads of `length` bytes, and
/// the two must not overlap. Of a datatype with absolute displacements `memory` may be null.
pub unsafe fn unpack_from(
    memory: *mut u8,
    count: u64,
    datatype: &Datatype,
    at: u64,
    bytes: *const u8,
    length: usize,
) -> usize {
    // SAFETY: the caller's; `Unpack` only reads from the stream.
    unsafe { elements::<Unpack>(memory, count, datatype, at, bytes.cast_mut(), length) }
}

/// Unpacks `bytes`, the packed bytes from `at` on, into `count` elements at `memory`. Returns how many had a place
/// there.
///
/// # Safety
/// As of [`unpack_from`].
pub unsafe fn unpack(memory: *mut u8, count: u64, datatype: &Datatype, at: u64, bytes: &[u8]) -> usize {
    // SAFETY: the caller's.
    unsafe { unpack_from(memory, count, datatype, at, bytes.as_ptr(), bytes.len()) }
}

/// Packs `count` elements at `memory` as external32 (MPI-5.0 section 5.3) and returns how many bytes.
///
/// # Safety
/// `memory` must be valid for reads of the bytes that the elements describe.
///
/// # Errors
/// `into` is too small; a value has no representation.
pub unsafe fn pack_external(memory: *const u8, count: u64, datatype: &Datatype, into: &mut [u8]) -> Result<usize> {
    external::encode(datatype, count, into, |from, bytes| {
        // SAFETY: the caller's.
        unsafe { pack(memory, count, datatype, from, bytes) };
    })
}

/// Unpacks external32 into `count` elements at `memory` (MPI-5.0 section 5.3) and returns how many bytes of it these
/// are.
///
/// # Safety
/// `memory` must be valid for writes of the bytes that the elements describe.
///
/// # Errors
/// `bytes` are too few.
pub unsafe fn unpack_external(memory: *mut u8, count: u64, datatype: &Datatype, bytes: &[u8]) -> Result<usize> {
    external::decode(datatype, count, bytes, |from, native| {
        // SAFETY: the caller's.
        unsafe { unpack(memory, count, datatype, from, native) };
    })
}

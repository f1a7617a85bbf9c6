//! Bytes between the ranges of a view and elements in memory.
//!
//! Elements whose bytes lie side by side go to the file, or come from it, without a copy: what is contiguous on both
//! sides is one call of the kernel. Others are packed and unpacked in pieces of bounded length.
//!
//! Short blocks close together are read and written by [`windows`] of the file. Of other views, ranges that lie near
//! each other are fetched together and copied from there: a call of the kernel costs as much as copying the gap.
//! Writing, each range is a call of its own: what lies between is not the caller's.

mod windows;

use std::io;
use std::ops::Range as Positions;

use rwmpi_core::FileWays;
use rwmpi_core::untyped::Elements;

use crate::disk::{Disk, Failure, Moved, read_all, write_all};
use crate::span::Span;
use crate::view::{Range, Ranges, View};
use crate::{Direction, Representation};

/// So many bytes are packed and unpacked at a time.
const PIECE: usize = 1 << 20;

/// What accesses of one file need: memory for what does not go to its place at once, and what chooses their way.
pub(crate) struct Scratch {
    pub(crate) ways: FileWays,
    memory: Vec<u8>,
}

impl Scratch {
    pub(crate) fn new(ways: FileWays) -> Self {
        Scratch { ways, memory: Vec::new() }
    }

    /// So many bytes.
    pub(crate) fn memory(&mut self, len: usize) -> &mut [u8] {
        if self.memory.len() < len {
            self.memory.resize(len, 0);
        }
        &mut self.memory[..len]
    }
}

/// Bytes of elements in the file.
///
/// # Errors
/// They exceed 64 bits; the program does not say how many.
pub(crate) fn bytes_in_file(view: &View, elements: &Elements) -> rwmpi_core::Result<u64> {
    let datatype = elements.datatype();
    match view.representation() {
        Representation::Native | Representation::Internal => datatype.packed_size(elements.count()),
        Representation::External32 => datatype.external_size(elements.count()),
        other => other.in_file(datatype)?.packed_size(elements.count()),
    }
}

/// How many bytes elements are packed.
pub(crate) fn bytes_of(elements: &Elements) -> u64 {
    elements.count().saturating_mul(elements.datatype().size())
}

/// Reads elements from a position on, until the file ends.
pub(crate) fn read(disk: &impl Disk, view: &View, position: u64, elements: &Elements, scratch: &mut Scratch) -> Moved {
    let bytes = bytes_of(elements);
    let positions = position..position.saturating_add(bytes);
    match windows::pay((Direction::Read, false), view, position, bytes, &scratch.ways) {
        true => windows::read(disk, view, positions, elements, scratch),
        false => read_part(disk, view, positions, (elements, 0), scratch),
    }
}

/// Writes elements, from their packed byte `at` on, to these positions.
pub(crate) fn write(
    disk: &impl Disk,
    view: &View,
    positions: Positions<u64>,
    (elements, at): (&Elements, u64),
    ways: &FileWays,
) -> Moved {
    let bytes = positions.end - positions.start;
    match windows::pay((Direction::Write, disk.is_sieved()), view, positions.start, bytes, ways) {
        true => windows::write(disk, view, positions, (elements, at), ways),
        false => write_part(disk, view, positions, (elements, at)),
    }
}

/// Reads what is shown at these positions range by range, to elements from their packed byte `at` on.
pub(crate) fn read_part(
    disk: &impl Disk,
    view: &View,
    positions: Positions<u64>,
    (elements, at): (&Elements, u64),
    scratch: &mut Scratch,
) -> Moved {
    let (position, len) = (positions.start, positions.end - positions.start);
    if let Some(span) = Span::of_elements(elements) {
        return read_to_span(disk, view, position, span.part(at as usize, len as usize), scratch);
    }
    in_pieces(len, |done, piece| {
        let moved = read_to_span(disk, view, position + done, Span::of_bytes(piece), scratch);
        elements.unpack_at(at + done, &piece[..moved.bytes as usize]);
        moved
    })
}

/// Writes elements, from their packed byte `at` on, to these positions range by range.
pub(crate) fn write_part(
    disk: &impl Disk,
    view: &View,
    positions: Positions<u64>,
    (elements, at): (&Elements, u64),
) -> Moved {
    let (position, len) = (positions.start, positions.end - positions.start);
    if let Some(span) = Span::of_elements(elements) {
        return write_from_span(disk, view, position, span.part(at as usize, len as usize));
    }
    in_pieces(len, |done, piece| {
        elements.pack_at(at + done, piece);
        write_from_span(disk, view, position + done, Span::of_bytes(piece))
    })
}

/// Calls `each` with pieces for so many packed bytes, and how many came before, until one is not transferred as a
/// whole.
fn in_pieces(total: u64, mut each: impl FnMut(u64, &mut [u8]) -> Moved) -> Moved {
    let mut memory = vec![0; PIECE.min(usize::try_from(total).unwrap_or(PIECE))];
    let mut done = 0;
    while done < total {
        let len = (total - done).min(memory.len() as u64);
        let moved = each(done, &mut memory[..len as usize]);
        done += moved.bytes;
        if moved.failure.is_some() || moved.bytes < len {
            return Moved { bytes: done, ..moved };
        }
    }
    Moved { bytes: done, failure: None }
}

/// Fills a span with what the view shows from a position on.
pub(crate) fn read_to_span(
    disk: &impl Disk,
    view: &View,
    position: u64,
    span: Span<'_>,
    scratch: &mut Scratch,
) -> Moved {
    let mut ranges = view.ranges(position, span.len() as u64);
    let mut done = 0;
    loop {
        let here = ranges.clone();
        let Some(first) = ranges.next() else { break };
        let (end, number) = group(first, &mut ranges, &scratch.ways);
        let (wanted, moved) = if number == 1 {
            (first.len, read_all(disk, first.at, span.part(done as usize, first.len as usize)))
        } else {
            sieve(disk, (first.at, end), here.take(number), span.part(done as usize, span.len()), scratch)
        };
        done += moved.bytes;
        if moved.failure.is_some() || moved.bytes < wanted {
            return Moved { bytes: done, ..moved };
        }
    }
    Moved { bytes: done, failure: None }
}

/// How many ranges, the first included, are fetched together, and where the last of them ends. They are passed.
fn group(first: Range, ranges: &mut Ranges<'_>, ways: &FileWays) -> (u64, usize) {
    let (mut end, mut number) = (first.end(), 1);
    loop {
        let before = ranges.clone();
        match ranges.next() {
            Some(next) if next.at >= end && ways.reads_along(next.at - end, next.end() - first.at) => {
                (end, number) = (next.end(), number + 1);
            }
            Some(_) => {
                *ranges = before;
                return (end, number);
            }
            None => return (end, number),
        }
    }
}

/// Reads all between two places of the file, and copies the ranges there to the span one behind the other. Also says
/// how many bytes were wanted.
fn sieve(
    disk: &impl Disk,
    (start, end): (u64, u64),
    ranges: impl Iterator<Item = Range>,
    span: Span<'_>,
    scratch: &mut Scratch,
) -> (u64, Moved) {
    let fetched = scratch.memory((end - start) as usize);
    let moved = read_all(disk, start, Span::of_bytes(fetched));
    let (mut wanted, mut done) = (0, 0);
    for range in ranges {
        let from = range.at - start;
        let there = moved.bytes.saturating_sub(from).min(range.len);
        if done == wanted {
            let bytes = &fetched[from as usize..][..there as usize];
            span.part(done as usize, bytes.len()).fill(bytes);
            done += there;
        }
        wanted += range.len;
    }
    // What failed beyond the last byte that was wanted has not failed.
    let failure = moved.failure.filter(|_| done < wanted);
    (wanted, Moved { bytes: done, failure })
}

/// Writes a span to what the view shows from a position on.
pub(crate) fn write_from_span(disk: &impl Disk, view: &View, position: u64, span: Span<'_>) -> Moved {
    let mut done = 0;
    for range in view.ranges(position, span.len() as u64) {
        let moved = write_all(disk, range.at, span.part(done as usize, range.len as usize));
        done += moved.bytes;
        if moved.failure.is_some() {
            return Moved { bytes: done, ..moved };
        }
    }
    let failure = (done < span.len() as u64).then(|| Failure {
        at: view.displacement(),
        error: io::Error::other(
            "the view shows no more bytes: its filetype is empty, or they would lie beyond 64 bits",
        ),
    });
    Moved { bytes: done, failure }
}

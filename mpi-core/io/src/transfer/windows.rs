//! Accesses of one rank to short blocks that lie close together: a window of the file at a time.
//!
//! Reading, all of a window is fetched by one call of the kernel, and the blocks are copied from there. Writing, they
//! are stored to the file's [pages](crate::pages), and nothing beside them is touched; or all of a window is read,
//! changed and written back, where that is [allowed](crate::sieved). A window in which neither would pay, or can be
//! had, is read or written range by range. Where the kernel keeps a window in one piece, longer blocks and gaps are
//! stored, too.

use std::ops::Range;

use rwmpi_core::FileWays;
use rwmpi_core::untyped::Elements;

use super::{Scratch, read_part, write_part};
use crate::Direction;
use crate::disk::{Disk, Failure, Kept, Moved, read_all, write_all};
use crate::pages::PAGE;
use crate::shown::Shown;
use crate::span::Span;
use crate::view::View;

/// Where the blocks of a window lie.
struct Window {
    positions: Range<u64>,
    /// The first byte of the file, and the end of the last one.
    file: Range<u64>,
    blocks: u64,
    /// The longest gap between two of them.
    gap: u64,
}

impl Window {
    /// What lies from the first of these positions on up to the next multiple of `size`; `None` if nothing is shown
    /// there.
    fn new(view: &View, positions: Range<u64>, size: u64) -> Option<Window> {
        let (first, _) = view.place(positions.start)?;
        let limit = (first / size + 1).saturating_mul(size);
        let next = view.position_of(limit, positions.start, positions.end);
        let (mut blocks, mut end, mut gap) = (1, first, 0);
        view.for_each_run(positions.start, next, |begin, until| {
            blocks += u64::from(begin > end);
            gap = gap.max(begin.saturating_sub(end));
            end = until;
        });
        Some(Window { positions: positions.start..next, file: first..end, blocks, gap })
    }

    fn positions(&self) -> u64 {
        self.positions.end - self.positions.start
    }

    fn len(&self) -> usize {
        (self.file.end - self.file.start) as usize
    }
}

/// Whether an access to that many bytes is one to short blocks close together, by what its first blocks look like.
/// `is_sieved`: whether gaps may be written back.
pub(crate) fn pay(
    (direction, is_sieved): (Direction, bool),
    view: &View,
    position: u64,
    bytes: u64,
    ways: &FileWays,
) -> bool {
    let Some(blocks) = view.is_plain().then(|| view.blocks(position, bytes)).filter(|&blocks| blocks > 1) else {
        return false;
    };
    let last = position.checked_add(bytes - 1).and_then(|last| view.place(last));
    view.place(position).zip(last).is_some_and(|(first, last)| {
        let extent = last.0.saturating_sub(first.0) + 1;
        match direction {
            Direction::Read => ways.reads_windows(extent.saturating_sub(bytes), blocks),
            Direction::Write if is_sieved => ways.sieves(extent, blocks),
            Direction::Write => ways.stores(extent, blocks) || ways.stores_to_piece(extent, bytes, blocks),
        }
    })
}

/// Reads elements from these positions, until the file ends.
pub(crate) fn read(
    disk: &impl Disk,
    view: &View,
    positions: Range<u64>,
    elements: &Elements,
    scratch: &mut Scratch,
) -> Moved {
    let size = scratch.ways.read_window();
    in_windows(view, positions, size, |window, at| match scratch.ways.reads_along(window.gap, window.len() as u64) {
        true => fetch(disk, view, window, (elements, at), scratch),
        false => read_part(disk, view, window.positions.clone(), (elements, at), scratch),
    })
}

/// Writes elements, from their packed byte `at` on, to these positions.
pub(crate) fn write(
    disk: &impl Disk,
    view: &View,
    positions: Range<u64>,
    (elements, at): (&Elements, u64),
    ways: &FileWays,
) -> Moved {
    if disk.is_sieved() {
        return sieve(disk, view, positions, (elements, at), ways);
    }
    let may_store = ways.stores_anywhere() || disk.is_private();
    let moved = in_windows(view, positions.clone(), ways.store_window(), |window, done| {
        let (extent, bytes, blocks) = (window.len() as u64, window.positions(), window.blocks);
        let in_piece = ways.stores_to_piece(extent, bytes, blocks).then_some(Kept::InOnePiece);
        // Pages in which there is nothing to write stay as they are, or are none.
        let anyhow = (window.gap < PAGE && ways.stores(extent, blocks)).then_some(Kept::Anyhow);
        if may_store && store(disk, view, window, (elements, at + done), [in_piece, anyhow]) {
            return Moved { bytes: window.positions(), failure: None };
        }
        write_part(disk, view, window.positions.clone(), (elements, at + done))
    });
    rest(moved, disk, view, positions, (elements, at))
}

/// As [`write`], where gaps may be read and written back.
fn sieve(
    disk: &impl Disk,
    view: &View,
    positions: Range<u64>,
    (elements, at): (&Elements, u64),
    ways: &FileWays,
) -> Moved {
    let mut memory = Vec::new();
    let moved = in_windows(view, positions.clone(), ways.store_window(), |window, done| {
        if !ways.sieves(window.len() as u64, window.blocks) || window.gap > PAGE {
            return write_part(disk, view, window.positions.clone(), (elements, at + done));
        }
        memory.resize(window.len(), 0);
        let (Range { start, end }, from) = (window.positions.clone(), window.file.start);
        let moved = disk.change(from, Span::of_bytes(&mut memory), &mut |memory| {
            Shown { memory, from }.copy(Direction::Write, (view, start..end), (elements, at + done));
        });
        let reached = view.position_of(from + moved.bytes, start, end);
        // For the caller it has failed at the first byte of its own that is not there.
        let own = view.place(reached).map(|(place, _)| place);
        let failure = moved.failure.map(|Failure { at, error }| Failure { at: own.unwrap_or(at), error });
        Moved { bytes: reached - start, failure }
    });
    rest(moved, disk, view, positions, (elements, at))
}

/// What has become of an access to these positions after windows of it were written.
fn rest(moved: Moved, disk: &impl Disk, view: &View, positions: Range<u64>, (elements, at): (&Elements, u64)) -> Moved {
    if moved.failure.is_some() || moved.bytes == positions.end - positions.start {
        return moved;
    }
    // The view shows no more, and this says so.
    let rest = write_part(disk, view, positions.start + moved.bytes..positions.end, (elements, at + moved.bytes));
    Moved { bytes: moved.bytes + rest.bytes, ..rest }
}

/// Calls `each` with one window after the other, and how many bytes came before, until one is not transferred as a
/// whole.
fn in_windows(view: &View, positions: Range<u64>, size: u64, mut each: impl FnMut(&Window, u64) -> Moved) -> Moved {
    let mut done = 0;
    while let Some(window) = Window::new(view, positions.start + done..positions.end, size) {
        let moved = each(&window, done);
        done += moved.bytes;
        let is_last = window.positions.end >= positions.end;
        if moved.failure.is_some() || moved.bytes < window.positions() || is_last {
            return Moved { bytes: done, ..moved };
        }
    }
    Moved { bytes: done, failure: None }
}

/// Reads a window, and copies its blocks to the elements.
fn fetch(
    disk: &impl Disk,
    view: &View,
    window: &Window,
    (elements, at): (&Elements, u64),
    scratch: &mut Scratch,
) -> Moved {
    let (Range { start, end }, from) = (window.positions.clone(), window.file.start);
    let memory = Span::of_bytes(scratch.memory(window.len()));
    let moved = read_all(disk, from, memory);
    let reached = view.position_of(from + moved.bytes, start, end);
    Shown { memory, from }.copy(Direction::Read, (view, start..reached), (elements, at));
    // What failed beyond the last byte that was wanted has not failed.
    Moved { bytes: reached - start, failure: moved.failure.filter(|_| reached < end) }
}

/// Stores the blocks of a window to the file's pages, the first of the ways that is possible. Returns whether all is
/// done.
fn store(
    disk: &impl Disk,
    view: &View,
    window: &Window,
    (elements, at): (&Elements, u64),
    ways: [Option<Kept>; 2],
) -> bool {
    if ways == [None; 2] {
        return false;
    }
    // So the file reaches to there, as it will have to.
    let mut last = [0];
    elements.pack_at(at + window.positions() - 1, &mut last);
    if write_all(disk, window.file.end - 1, Span::of_bytes(&mut last)).failure.is_some() {
        return false;
    }
    let mut copy = |memory: Span<'_>| {
        let shown = Shown { memory, from: window.file.start };
        shown.copy(Direction::Write, (view, window.positions.clone()), (elements, at));
    };
    ways.into_iter().flatten().any(|kept| disk.store(window.file.start, window.len(), kept, &mut copy))
}

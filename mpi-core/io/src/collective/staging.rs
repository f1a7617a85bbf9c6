//! Memory of each rank that all ranks of a node see, through which bytes of a file pass from one to the other.
//!
//! Each rank has two halves, which take turns from round to round: in a round one half of each rank is written and read
//! as the round says, and between two rounds all ranks meet. So whoever comes to a half again knows that nobody uses it
//! as in the round before the last.
//!
//! Invariant: no reference is ever made to this memory; bytes are copied from and to it by address.
#![allow(unsafe_code)]

use std::ops::Range;

use rwmpi_core::untyped::Elements;
use rwmpi_core::window::Window;
use rwmpi_core::{Communicator, Destination, Info, Result, op};

use crate::Direction;
use crate::shown::Shown;
use crate::span::Span;
use crate::view::View;

const HALVES: usize = 2;

/// The memory of all ranks.
pub(crate) struct Staging {
    window: Window,
    /// By rank.
    starts: Box<[*mut u8]>,
    halves: Halves,
}

/// How many bytes a half has.
#[derive(Clone, Copy)]
pub(super) struct Halves {
    pub(super) usual: usize,
    /// That of the first ranks, so many, which write for all.
    pub(super) long: usize,
    pub(super) writers: usize,
}

impl Halves {
    fn of(self, rank: usize) -> usize {
        if rank < self.writers { self.long } else { self.usual }
    }
}

/// The window, where not all ranks see all of it.
pub(super) struct Near(Option<Window>);

impl Near {
    /// Nothing is known.
    pub(super) const NONE: Near = Near(None);

    /// Whether this rank sees the memory of that one.
    pub(super) fn is(&self, rank: usize) -> bool {
        let window = self.0.as_ref();
        window.is_some_and(|window| matches!(window.shared_query(Destination::Rank(rank)), Ok((1.., ..))))
    }
}

/// One half of a rank's memory, in which bytes of the file lie side by side from the byte `from` on.
#[derive(Clone, Copy)]
pub(super) struct Staged {
    pub(super) rank: usize,
    pub(super) half: usize,
    pub(super) from: u64,
}

/// Where the ranks' memory lies in this process; `None`: not all of it does.
fn starts(window: &Window, halves: Halves) -> Option<Box<[*mut u8]>> {
    let start = |rank| match window.shared_query(Destination::Rank(rank)) {
        Ok((address, there, _)) if address != 0 && there == (HALVES * halves.of(rank)) as u64 => {
            Some(std::ptr::with_exposed_provenance_mut(address))
        }
        _ => None,
    };
    (0..window.size()).map(start).collect()
}

impl Staging {
    /// With these halves. Collective; if one of the ranks has no such memory or can't see that of another,
    /// all have what tells them of which ranks they see it.
    ///
    /// # Errors
    /// The ranks could not tell each other.
    pub(super) fn new(communicator: &Communicator, halves: Halves) -> Result<std::result::Result<Staging, Near>> {
        let bytes = (HALVES * halves.of(communicator.rank())) as u64;
        let mut info = Info::new();
        // Pages of the file are copied to pages.
        info.set("mpi_minimum_memory_alignment", "4096")?;
        let window = communicator.allocate_window(bytes, 1, &info);
        let starts = window.as_ref().ok().and_then(|window| starts(window, halves));
        let is_well = communicator.allreduce_value(u8::from(starts.is_some()), op::min)? == 1;
        match (window, starts) {
            (Ok(window), Some(starts)) if is_well => Ok(Ok(Staging { window, starts, halves })),
            (window, _) => Ok(Err(Near(window.ok()))),
        }
    }

    /// Lets go of it. Collective.
    ///
    /// # Errors
    /// The ranks could not meet.
    pub(crate) fn free(&self) -> Result<()> {
        self.window.free()
    }

    /// Bytes of a half that any rank has.
    pub(super) fn half(&self) -> usize {
        self.halves.usual
    }

    /// Some of a half: none of what lies beyond its end.
    pub(super) fn span(&self, staged: Staged, file: Range<u64>) -> Span<'_> {
        let Staged { rank, half, from } = staged;
        let bytes = self.halves.of(rank);
        let start = self.starts[rank].wrapping_add(half % HALVES * bytes);
        // SAFETY: the window has two halves for each rank, and is there as long as this is; nobody refers to it.
        let whole = unsafe { Span::new(start, bytes) };
        whole.part(file.start.saturating_sub(from) as usize, file.end.saturating_sub(file.start) as usize)
    }

    /// Copies what a view shows at these positions between a half and elements, where it begins at the packed byte
    /// `at`.
    ///
    /// # Panics
    /// If not all of it lies in the half.
    pub(super) fn copy(
        &self,
        direction: Direction,
        staged: Staged,
        (view, positions): (&View, Range<u64>),
        (elements, at): (&Elements, u64),
    ) {
        let memory = self.span(staged, staged.from..u64::MAX);
        Shown { memory, from: staged.from }.copy(direction, (view, positions), (elements, at));
    }
}

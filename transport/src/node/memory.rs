//! What an address means: which bytes of the job's file, or how to reach a peer's private memory.

use std::sync::atomic::Ordering;

use super::{NodeFabric, PRIVATE_SPACE};
use crate::ElementLock;
use crate::layout::Part;
use crate::remote_memory::Reach;
use crate::{RemoteAddress, RemoteError, Way};

/// Where bytes lie in the job's file, and whether this process has them mapped.
#[derive(Clone, Copy, Debug)]
pub(super) enum InFile {
    Mapped(usize),
    Unmapped(usize),
}

impl NodeFabric {
    /// The bytes at `address` in the job's file, if they lie in a heap: where, or a refusal.
    #[inline]
    pub(super) fn shared(
        &self,
        address: &RemoteAddress,
        offset: u64,
        len: usize,
    ) -> Option<Result<InFile, RemoteError>> {
        let owner = address.space.checked_sub(PRIVATE_SPACE + 1)? as usize;
        let layout = self.segment.layout();
        if owner >= layout.ends {
            return Some(Err(RemoteError::Refused));
        }
        // Of that end, which may be one of another lane.
        let (part, start) = layout.part_at(usize::try_from(address.place).unwrap_or(usize::MAX));
        let end = (start as u64).checked_add(address.len).filter(|&end| end <= self.in_use(part, owner));
        let Some(end) = end.filter(|_| is_part(address, offset, len)) else {
            return Some(Err(RemoteError::Refused));
        };
        let place = layout.heap(owner) + (address.place + offset) as usize;
        let is_mapped = self.segment.has(part, owner, end as usize);
        Some(Ok(if is_mapped { InFile::Mapped(place) } else { InFile::Unmapped(place) }))
    }

    /// How many bytes of a heap or arena its owner has said that it uses.
    #[inline]
    fn in_use(&self, part: Part, owner: usize) -> u64 {
        let control = self.segment.control(owner);
        let said = match part {
            Part::Heap => &control.identity.heap_reserved,
            Part::Arena => &control.arena.end,
        };
        said.load(Ordering::Acquire).min(self.segment.layout().heap_size as u64)
    }

    /// Whether peers see these bytes, so far from the start of a heap, as this process does, which then does not change
    /// that: they are told where they lie. What lies in it where nothing is mapped yet may be something else.
    #[inline]
    pub(super) fn is_shared(&self, owner: usize, place: usize, len: usize) -> bool {
        let (part, start) = self.segment.layout().part_at(place);
        let Some(end) = start.checked_add(len).filter(|&end| end as u64 <= self.in_use(part, owner)) else {
            return false;
        };
        let is_lent = || self.segment.page_marks(owner).is_some_and(|marks| marks.lend(start..end));
        self.segment.has(part, owner, end) && (part == Part::Heap || is_lent())
    }

    /// Counts bytes that were copied by a way.
    #[inline]
    pub(super) fn count(&self, way: Way, bytes: usize) -> Way {
        let word = &self.control(self.me).copied[usize::from(way == Way::Kernel)];
        word.store(word.load(Ordering::Relaxed) + bytes as u64, Ordering::Relaxed);
        way
    }

    /// Counts memory that this peer lends to a window, for reports.
    pub fn count_window(&self, is_mapped_by_all: bool) {
        self.count_window_as(usize::from(!is_mapped_by_all));
    }

    /// The same of a window for which it serves peers elsewhere.
    pub fn count_served_window(&self) {
        self.count_window_as(2);
    }

    fn count_window_as(&self, kind: usize) {
        let word = &self.control(self.me).windows[kind];
        word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Checks a transfer to or from private memory and says how to do it.
    #[inline]
    pub(super) fn private(
        &self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        len: usize,
    ) -> Result<(Reach, u64), RemoteError> {
        if !is_part(address, offset, len) || address.place.checked_add(address.len).is_none() {
            return Err(RemoteError::Refused);
        }
        match self.links[peer].reach {
            Reach::None => Err(RemoteError::NoWay),
            reach => Ok((reach, address.place + offset)),
        }
    }

    /// What makes operations on elements of a peer's memory atomic where no atomic operation of the processor does. The
    /// lock lies with the owner of the memory, which need not be who hands it out; of private memory that is the peer,
    /// whose block in the first lane has it for all lanes.
    pub fn element_lock(&self, peer: usize, address: &RemoteAddress) -> ElementLock {
        let heap = address.space.checked_sub(PRIVATE_SPACE + 1).map(|owner| owner as usize);
        let owner = heap.filter(|&owner| owner < self.segment.layout().ends);
        ElementLock::new(self.segment.clone(), owner.unwrap_or(peer), self.end(self.me), heap.is_none())
    }

    pub(super) fn way_of_copy(&self, peer: usize) -> Way {
        if self.links[peer].reach == Reach::SameProcess { Way::SameProcess } else { Way::SharedHeap }
    }
}

/// Whether `len` bytes from `offset` lie within what was handed out.
fn is_part(address: &RemoteAddress, offset: u64, len: usize) -> bool {
    offset <= address.len && len as u64 <= address.len - offset
}

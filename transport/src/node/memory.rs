//! What an address means: which bytes of the job's file, or how to reach a peer's private memory.

use std::sync::atomic::Ordering;

use super::{NodeFabric, PRIVATE_SPACE};
use crate::remote_memory::Reach;
use crate::{RemoteAddress, RemoteError, Way};

impl NodeFabric {
    /// The bytes at `address` in the job's file, if they lie in a heap: an offset, or a refusal.
    #[inline]
    pub(super) fn shared(
        &self,
        address: &RemoteAddress,
        offset: u64,
        len: usize,
    ) -> Option<Result<usize, RemoteError>> {
        let owner = address.space.checked_sub(PRIVATE_SPACE + 1)? as usize;
        let layout = self.segment.layout();
        if owner >= layout.ends {
            return Some(Err(RemoteError::Refused));
        }
        // Of that end, which may be one of another lane.
        let control = self.segment.control(owner);
        let heap_size = layout.heap_size as u64;
        let has_pages = if address.place < heap_size {
            control.identity.heap_reserved.load(Ordering::Acquire).min(heap_size)
        } else {
            heap_size + control.arena.end.load(Ordering::Acquire).min(heap_size)
        };
        let in_bounds = address.place.checked_add(address.len).is_some_and(|end| end <= has_pages);
        if !in_bounds || !is_part(address, offset, len) {
            return Some(Err(RemoteError::Refused));
        }
        Some(Ok(layout.heap(owner) + (address.place + offset) as usize))
    }

    /// Whether peers see these bytes of a heap or arena as this process does, which then does not change that: they are told where they lie.
    #[inline]
    pub(super) fn is_shared(&self, owner: usize, place: usize, len: usize) -> bool {
        let heap_size = self.segment.layout().heap_size;
        match place.checked_sub(heap_size) {
            None => len <= heap_size - place,
            Some(place) => len <= heap_size - place && self.segment.page_marks(owner).lend(place..place + len),
        }
    }

    /// Counts bytes that were copied by a way.
    #[inline]
    pub(super) fn count(&self, way: Way, bytes: usize) -> Way {
        let word = &self.control(self.me).copied[usize::from(way == Way::Kernel)];
        word.store(word.load(Ordering::Relaxed) + bytes as u64, Ordering::Relaxed);
        way
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

    pub(super) fn way_of_copy(&self, peer: usize) -> Way {
        if self.links[peer].reach == Reach::SameProcess { Way::SameProcess } else { Way::SharedHeap }
    }
}

/// Whether `len` bytes from `offset` lie within what was handed out.
fn is_part(address: &RemoteAddress, offset: u64, len: usize) -> bool {
    offset <= address.len && len as u64 <= address.len - offset
}

//! Copying between this peer's memory and another's.
//!
//! Invariant: an address is looked up ([`super::memory`]) before a span is made of it.
#![allow(unsafe_code)]

use super::NodeFabric;
use super::link::Link;
use super::memory::InFile;
use crate::handover::owns_what_others_read;
use crate::remote_memory::{self, Reach};
use crate::{LentSpan, ReadSpan, Reading, RemoteAddress, RemoteError, Way, WriteSpan, Written, caches};

/// Where lines can't be handed over, remote writes of at least so many bytes do not take them away from the peer, but
/// go past the caches.
const WRITTEN_PAST_CACHES: usize = 4096;

/// Whether what other peers lend is written back: where that pays, and all of them are other processes.
pub(super) fn writes_back(me: usize, links: &[Link]) -> bool {
    let is_other = |(peer, link): (usize, &Link)| peer == me || link.reach != Reach::SameProcess;
    owns_what_others_read() && links.iter().enumerate().all(is_other)
}

impl NodeFabric {
    /// A remote write.
    pub(super) fn write(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        from: ReadSpan,
    ) -> Result<Written, RemoteError> {
        let whole = |way| Written { way, len: from.len(), told: false };
        if let Some(place) = self.shared(address, offset, from.len()) {
            match place? {
                InFile::Mapped(place) => {
                    // SAFETY: checked to lie in the part of a heap that has pages; the owner handed it out to be
                    // written.
                    self.copy_to_peer(from, unsafe { WriteSpan::new(self.segment.at(place).as_ptr(), from.len()) });
                }
                InFile::Unmapped(place) => remote_memory::file_write(self.segment.file(), place, from)?,
            }
            return Ok(whole(self.count(self.way_of_copy(peer), from.len())));
        }
        match self.private(peer, address, offset, from.len())? {
            (Reach::SameProcess, place) => {
                // SAFETY: the owner, in this address space, handed these bytes out to be written.
                self.copy_to_peer(from, unsafe { WriteSpan::new(place as *mut u8, from.len()) });
                Ok(whole(Way::SameProcess))
            }
            (_, place) => remote_memory::kernel_write(self.links[peer].pid, place, from)
                .map(|()| whole(self.count(Way::Kernel, from.len()))),
        }
    }

    /// Copies to memory that a peer has used last.
    fn copy_to_peer(&self, from: ReadSpan<'_>, into: WriteSpan<'_>) {
        if self.passes_batons && from.len() >= WRITTEN_PAST_CACHES {
            from.copy_past_caches_to(into);
        } else {
            from.copy_long_to(into);
        }
    }

    /// A remote read.
    pub(super) fn read_from(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        into: WriteSpan,
        reading: Reading,
    ) -> Result<Way, RemoteError> {
        let copy = |from: LentSpan<'_>| {
            if caches::hold(reading.working_set) {
                from.copy_to(into)
            } else {
                from.as_read().copy_past_caches_to(into)
            }
        };
        if let Some(place) = self.shared(address, offset, into.len()) {
            let pays = self.writes_back && !reading.with_others;
            match place? {
                InFile::Mapped(place) => {
                    // SAFETY: checked to lie in the part of a heap that has pages; the owner, which keeps the bytes as
                    // they are, handed it out to be read.
                    copy(unsafe { LentSpan::new(ReadSpan::new(self.segment.at(place).as_ptr(), into.len()), pays) })
                }
                InFile::Unmapped(place) => remote_memory::file_read(self.segment.file(), place, into)?,
            }
            return Ok(self.count(self.way_of_copy(peer), into.len()));
        }
        match self.private(peer, address, offset, into.len())? {
            (Reach::SameProcess, place) => {
                // SAFETY: the owner, in this address space, handed these bytes out to be read.
                copy(unsafe { ReadSpan::new(place as *const u8, into.len()) }.into());
                Ok(Way::SameProcess)
            }
            (_, place) => remote_memory::kernel_read(self.links[peer].pid, place, into)
                .map(|()| self.count(Way::Kernel, into.len())),
        }
    }

    /// Where a peer's memory lies in this process, if it does.
    pub(super) fn mapped_here(&self, peer: usize, address: &RemoteAddress) -> Option<WriteSpan<'static>> {
        let len = usize::try_from(address.len).ok()?;
        let start = match self.shared(address, 0, len) {
            Some(Ok(InFile::Mapped(place))) => self.segment.at(place).as_ptr(),
            Some(_) => return None,
            None => match self.private(peer, address, 0, len).ok()? {
                (Reach::SameProcess, place) => place as *mut u8,
                _ => return None,
            },
        };
        // SAFETY: either checked to lie in the part of a heap that has pages, and mapped here as long as the segment
        // is, or of this address space; the owner lends it to be written, as the fabric's contract has it.
        Some(unsafe { WriteSpan::new(start, len) })
    }
}

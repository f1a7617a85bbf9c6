//! Blocks that forked children have, too: how they become private, and the file's pages behind them the heap's again.
//!
//! Where a block is private the file's pages are what it held when it was first forked; whoever has it has changed
//! pages of its own. When it is freed it is shared again, but put *aside*: its pages are not used as long as children
//! may look at them. When no child can, also those pages of the file are given back in whose place a block that is in
//! use has others by now.
#![allow(unsafe_code)]

use std::io;
use std::ops::Range;

use rustix::mm::{Advice, MapFlags, ProtFlags};
use rwmpi_transport::{Mark, PageMarks};

use crate::heap::Heap;
use crate::heirs::Inheritance;
use crate::pagemap;

/// What is shorter is copied at `fork`: that is done as soon as a mapping is made,
const SHORTEST: usize = 64 << 10;
/// and what is beyond so many pieces: a process may have some ten thousand mappings, most of which are the program's.
const MOST: usize = 8 << 10;

/// A block that has been freed, to which children may still look.
#[derive(Debug)]
pub(crate) struct Aside {
    pub(crate) start: usize,
    /// The forks since it was made.
    forks: Range<u64>,
}

impl Heap {
    /// The marks of the arena's pages.
    pub(crate) fn marks(&self) -> PageMarks<'_> {
        self.arena.marks()
    }

    /// Before `fork`: makes private what no peer can be using, if it is worth it. Gives what the child is to inherit.
    pub(crate) fn make_private(&mut self) -> Option<Inheritance> {
        self.heirs.begin();
        if !self.blocks.used().any(|block| block.len() * self.page >= SHORTEST) {
            return None;
        }
        let inheritance = self.heirs.expect();
        for part in &self.protected {
            self.arena.marks().lend(part.clone());
        }
        let (marks, mut pieces) = (self.arena.marks(), 0);
        let has_file = self.arena.has_file();
        self.each_block(|part| {
            for (run, mark) in marks.runs(part) {
                let wanted = has_file && mark == Mark::Shared && run.len() >= SHORTEST && pieces < MOST;
                pieces += usize::from(mark == Mark::Private);
                if wanted {
                    marks.make_private(run.clone());
                    for (run, _) in marks.runs(run).filter(|(_, mark)| *mark == Mark::Private) {
                        pieces += 1;
                        // Peers that have been told meanwhile that it is private reach it nevertheless.
                        self.map(run.clone(), MapFlags::PRIVATE | MapFlags::NORESERVE)
                            .unwrap_or_else(|_| marks.keep_shared(run));
                    }
                }
            }
        });
        self.arena.publish_heirs(true);
        inheritance
    }

    /// Maps these bytes of the arena's file where the program has them. Shared, they are one mapping with what is
    /// around them.
    fn map(&self, bytes: Range<usize>, sharing: MapFlags) -> io::Result<()> {
        let flags = sharing | MapFlags::FIXED;
        for (part, place) in self.places(bytes) {
            let (file, offset) = self.arena.place_in_file(part.start);
            let (place, len, protection) = (place.as_ptr().cast(), part.len(), ProtFlags::READ | ProtFlags::WRITE);
            // SAFETY: either the same pages are mapped there, or it is part of a block that nobody has any more.
            // Whoever writes there at the same time writes before or after.
            unsafe { rustix::mm::mmap(place, len, protection, flags, file, offset) }?;
        }
        Ok(())
    }

    /// Tells `visit` of all blocks, as far as they are not mapped to something else.
    fn each_block(&self, mut visit: impl FnMut(Range<usize>)) {
        for block in self.blocks.used() {
            self.without_foreign(block.start * self.page..block.end * self.page, &mut visit);
        }
    }

    /// Tells `visit` of all bytes of the blocks in `span` that are shared, by those marks, and may hold something other
    /// than zero, in order.
    pub(crate) fn shared_contents(
        &self,
        marks: &PageMarks<'_>,
        span: Range<usize>,
        mut visit: impl FnMut(Range<usize>),
    ) {
        self.each_block(|part| {
            let part = part.start..part.end.min(span.end);
            for (run, _) in marks.runs(part).filter(|(_, mark)| *mark != Mark::Private) {
                self.arena.with_memory(run, &mut visit);
            }
        });
    }

    /// Whether a part of these bytes of a block is private, so that they can't become another block's.
    pub(crate) fn is_private(&self, bytes: &Range<usize>) -> bool {
        self.heirs.forks() > 0 && self.arena.marks().has_private(bytes.clone())
    }

    /// A block that starts there is new.
    pub(crate) fn note_new(&mut self, start: usize) {
        if self.heirs.forks() > 0 {
            self.made.insert(start, self.heirs.forks());
        }
    }

    /// The forks since a block was made.
    fn forks_since(&self, start: usize) -> Range<u64> {
        self.made.get(&start).copied().unwrap_or(0) + 1..self.heirs.forks() + 1
    }

    /// Takes back a block that is private.
    pub(crate) fn put_aside(&mut self, start: usize, pages: usize) {
        let bytes = start * self.page..(start + pages) * self.page;
        if !self.arena.has_file() || self.map(bytes.clone(), MapFlags::SHARED).is_err() {
            // SAFETY: whole pages of a block that nobody has any more.
            let _ = unsafe {
                rustix::mm::madvise(self.at(bytes.start).as_ptr().cast(), bytes.len(), Advice::LinuxDontNeed)
            };
            self.made.remove(&start);
            self.blocks.retire(start);
            return;
        }
        self.arena.hide_from_dumps(bytes);
        let forks = self.forks_since(start);
        self.aside.push(Aside { start, forks });
        self.forget_dead();
    }

    /// Gives back what was kept for children that are gone.
    pub(crate) fn forget_dead(&mut self) {
        if self.heirs.forget_dead() {
            self.give_back_originals();
            self.arena.publish_heirs(!self.heirs.are_none());
        }
        while let Some(index) = self.aside.iter().position(|aside| !self.heirs.have(&aside.forks)) {
            let start = self.aside.swap_remove(index).start;
            let pages = self.blocks.len_of(start).unwrap_or(0);
            let bytes = start * self.page..(start + pages) * self.page;
            self.make_zero_without_memory(bytes.clone());
            self.arena.marks().clear(bytes);
            self.free_now(start);
        }
    }

    /// Gives back those pages of the file in whose place this process has others, and no child has them.
    fn give_back_originals(&self) {
        for block in self.blocks.used().filter(|block| !self.heirs.have(&self.forks_since(block.start))) {
            self.without_foreign(block.start * self.page..block.end * self.page, |part| {
                for (run, _) in self.arena.marks().runs(part).filter(|(_, mark)| *mark == Mark::Private) {
                    for (part, place) in self.places(run) {
                        let place = place.as_ptr() as usize;
                        let give_back = |pages: Range<usize>| {
                            let bytes = part.start + pages.start - place..part.start + pages.end - place;
                            // Refused, it costs memory.
                            let _ = self.arena.give_back_behind(bytes);
                        };
                        let _ = pagemap::own(place..place + part.len(), self.page, give_back);
                    }
                }
            });
        }
    }

    /// The program gives these addresses back, whole pages of blocks: they are zero from then on. False if some are not
    /// the heap's, or the system refuses.
    pub(crate) fn discard(&self, addresses: &Range<usize>) -> bool {
        let parts = self.parts_at(addresses);
        if parts.clone().map(|part| part.len()).sum::<usize>() < addresses.len() {
            return false;
        }
        let mut is_done = true;
        for part in parts {
            let mut rest = part.len();
            self.without_foreign(part, |part| {
                rest -= part.len();
                if self.is_owner() {
                    for (run, mark) in self.arena.marks().runs(part) {
                        is_done &=
                            if mark == Mark::Private { self.map_zeros(run) } else { self.arena.give_back(run).is_ok() };
                    }
                } else {
                    is_done &= self.map_zeros(part);
                }
            });
            is_done &= rest == 0;
        }
        is_done
    }

    /// Maps private memory without contents in place of these bytes, which the process has for itself; false if the
    /// system refuses.
    fn map_zeros(&self, bytes: Range<usize>) -> bool {
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        self.places(bytes).all(|(part, place)| {
            // SAFETY: the program has given up what is there.
            unsafe { rustix::mm::mmap_anonymous(place.as_ptr().cast(), part.len(), protection, flags) }.is_ok()
        })
    }

    /// The program has other protection for these addresses than a new mapping would: what is not private by now stays
    /// shared.
    pub(crate) fn protected(&mut self, addresses: &Range<usize>) {
        if self.is_owner() {
            self.protected.extend(self.parts_at(addresses));
        }
    }
}

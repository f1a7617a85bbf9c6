//! The blocks of this process's arena and the memory behind them.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use rustix::mm::Advice;
use rwmpi_transport::{Arena, ArenaRefused, Blocks};

use crate::heirs::Heirs;
use crate::home::Home;
use crate::private::Aside;
use crate::static_data::StaticData;

/// Free memory that is kept in any case, bytes.
const MOST_WARM: usize = 32 << 20;
/// A part of a zeroed block that may hold anything is given back, instead of written to, if it has at least this many
/// bytes: the program may never touch it.
const TOO_LARGE_TO_WRITE: usize = 32 << 20;

/// How many blocks, and of how many bytes at most, wait for the next one who wants a block of just that size.
const MOST_IDLE: usize = 8;
const LARGEST_IDLE: usize = (1 << 20) + (64 << 10);

/// The heap. All addresses that it gives lie in the arena; offsets are bytes from its start.
pub(crate) struct Heap {
    pub(crate) arena: Arena,
    pub(crate) blocks: Blocks,
    /// Blocks that the program has freed, the oldest first, in pages: to `blocks` they are in use. A loop that gets and
    /// frees the same sizes finds them here.
    idle: Vec<Range<usize>>,
    /// Bytes in a page, a power of two.
    pub(crate) page: usize,
    /// Children that may have pages of the arena.
    pub(crate) heirs: Heirs,
    /// Of blocks that were made since this process has forked, by their first page: how often it had by then.
    pub(crate) made: BTreeMap<usize, u64>,
    /// Blocks that the program has freed and children may have: to `blocks` they are in use.
    pub(crate) aside: Vec<Aside>,
    /// The process that took the arena.
    home: Home,
    /// This is a forked child, which has copies of the blocks and nothing else.
    is_copy: bool,
    /// What the program has mapped to something else.
    foreign: Vec<Range<usize>>,
    /// What of blocks the program has given another protection: it stays shared, as a new mapping would not have that.
    pub(crate) protected: Vec<Range<usize>>,
    /// The program's static data, if they are here: the first bytes of the arena are mapped over them.
    static_data: Option<StaticData>,
}

impl Heap {
    /// Takes the arena of rank `rank` of the job with that file, and has these data in it.
    pub(crate) fn take(
        job: BorrowedFd<'_>,
        rank: usize,
        static_data: Option<StaticData>,
    ) -> Result<Heap, ArenaRefused> {
        let arena = Arena::take(job, rank)?;
        let page = page_size();
        let mut heap = Heap {
            blocks: Blocks::new(arena.len() / page, MOST_WARM / page),
            arena,
            idle: Vec::with_capacity(MOST_IDLE + 1),
            page,
            heirs: Heirs::new(),
            made: BTreeMap::new(),
            aside: Vec::new(),
            home: Home::here(),
            is_copy: false,
            foreign: Vec::new(),
            protected: Vec::new(),
            static_data: None,
        };
        if let Some(data) = static_data {
            heap.move_here(data);
        }
        Ok(heap)
    }

    /// Has these data in the arena, if they can be. It has no blocks yet.
    fn move_here(&mut self, data: StaticData) {
        let pages = data.len() / self.page;
        let Some(start) = self.blocks.allocate(pages, 1, |_| {}) else { return };
        debug_assert_eq!(start, 0, "the first block");
        let is_mapped = self.arena.publish(data.len(), data.len());
        match is_mapped.then(|| data.move_to(&self.arena, 0)) {
            Some(Ok(())) => self.static_data = Some(data),
            _ => {
                self.make_zero_without_memory(0..data.len());
                self.free_now(start);
            }
        }
    }

    /// The addresses that blocks have up to now.
    pub(crate) fn addresses(&self) -> Range<usize> {
        let start = self.arena.start().as_ptr() as usize;
        start..start + self.arena.mapped()
    }

    /// Where the program's static data are, if they are here.
    pub(crate) fn static_addresses(&self) -> Option<Range<usize>> {
        Some(self.static_data.as_ref()?.addresses())
    }

    /// Pages for a block of so many bytes. One more than needed, which is never touched: blocks of a power of two that
    /// follow each other would have all their elements in the same few sets of the caches.
    fn pages(&self, size: usize) -> usize {
        size.div_ceil(self.page).max(1) + 1
    }

    /// A block, its contents zero if `zeroed`, otherwise arbitrary; `None` if there is no room.
    pub(crate) fn allocate(&mut self, size: usize, align: usize, zeroed: bool) -> Option<NonNull<u8>> {
        if !self.is_owner() || size > self.arena.len() || align > self.arena.len() {
            return None;
        }
        let (page, base) = (self.page, self.arena.start());
        // The arena starts on a page: for what is stricter than that, its start counts.
        let origin = base.as_ptr() as usize;
        let align = align.div_ceil(page).max(1);
        if align > 1 && !origin.is_multiple_of(align * page) {
            return self.allocate_anywhere_aligned(size, align * page, zeroed);
        }
        let pages = self.pages(size);
        if align == 1
            && let Some(index) = self.idle.iter().rposition(|idle| idle.len() == pages)
        {
            let block = self.idle.remove(index);
            if zeroed {
                self.write_zeros(block.start * page..block.end * page);
            }
            return Some(self.at(block.start * page));
        }
        let mut warm = Vec::new();
        let mut found = self.blocks.allocate(pages, align, |range| warm.push(range));
        if found.is_none() {
            self.settle();
            self.forget_dead();
            found = self.blocks.allocate(pages, align, |range| warm.push(range));
        }
        let Some(start) = found else {
            self.arena.publish_exhausted();
            return None;
        };
        if !self.arena.publish((start + pages) * page, self.blocks.used_units() * page) {
            self.free_now(start);
            self.arena.publish_exhausted();
            return None;
        }
        self.arena.show_in_dumps(start * page..(start + pages) * page);
        self.note_new(start);
        if zeroed {
            warm.iter().for_each(|range| self.zero(range.start * page..range.end * page));
        }
        Some(self.at(start * page))
    }

    /// As [`Heap::allocate`], for an alignment that the arena itself has not.
    fn allocate_anywhere_aligned(&mut self, size: usize, align: usize, zeroed: bool) -> Option<NonNull<u8>> {
        let block = self.allocate(size.checked_add(align)?, 1, zeroed)?;
        let padding = block.as_ptr().align_offset(align);
        let start = self.page_of(block)?;
        let moved = self.blocks.cut_front(start, padding / self.page);
        debug_assert!(moved);
        self.made.remove(&start);
        self.note_new(start + padding / self.page);
        Some(self.at(start * self.page + padding))
    }

    /// How many bytes the block has for the program; `None` if it is none.
    pub(crate) fn usable_size(&self, block: NonNull<u8>) -> Option<usize> {
        let (_, pages) = self.find(block)?;
        Some((pages - 1) * self.page)
    }

    /// Makes the block longer or shorter without moving it, if that is possible.
    pub(crate) fn resize(&mut self, block: NonNull<u8>, size: usize) -> bool {
        let Some((start, len)) = self.find(block) else { return false };
        if size > self.arena.len() {
            return false;
        }
        let pages = self.pages(size);
        let bytes = start * self.page..(start + len.max(pages)) * self.page;
        if pages == len {
            return true;
        }
        if !self.is_owner() || self.is_foreign(&bytes) || self.is_private(&bytes) {
            return pages < len;
        }
        let resized = self.blocks.resize(start, pages) || {
            self.settle();
            self.blocks.resize(start, pages)
        };
        if !resized {
            return false;
        }
        self.arena.marks().clear((start + pages) * self.page..(start + len.max(pages)) * self.page);
        let end = (start + pages) * self.page;
        let is_mapped = self.arena.publish(end, self.blocks.used_units() * self.page);
        if is_mapped {
            self.arena.show_in_dumps(start * self.page..end);
        } else {
            self.blocks.resize(start, len);
        }
        self.give_back_excess();
        is_mapped
    }

    /// Takes a block back; false if it is none.
    pub(crate) fn free(&mut self, block: NonNull<u8>) -> bool {
        let Some((start, len)) = self.find(block) else { return false };
        let bytes = start * self.page..(start + len) * self.page;
        if self.is_foreign(&bytes) {
            return self.blocks.retire(start).is_some();
        }
        if self.is_copy {
            // SAFETY: whole pages of private memory, which nobody uses any more.
            let _ = unsafe {
                rustix::mm::madvise(self.at(bytes.start).as_ptr().cast(), bytes.len(), Advice::LinuxDontNeed)
            };
            return self.blocks.retire(start).is_some();
        }
        if !self.home.is_here() {
            return self.blocks.retire(start).is_some();
        }
        self.protected.retain(|part| part.end <= bytes.start || bytes.end <= part.start);
        if self.is_private(&bytes) {
            self.put_aside(start, len);
            return true;
        }
        self.arena.marks().clear(bytes.clone());
        if bytes.len() <= LARGEST_IDLE {
            self.idle.push(start..start + len);
            if self.idle.len() > MOST_IDLE {
                let oldest = self.idle.remove(0);
                self.free_now(oldest.start);
            }
        } else {
            self.free_now(start);
        }
        true
    }

    pub(crate) fn free_now(&mut self, start: usize) {
        self.made.remove(&start);
        self.blocks.free(start);
        self.give_back_excess();
    }

    /// Really frees what the program has freed.
    pub(crate) fn settle(&mut self) {
        while let Some(block) = self.idle.pop() {
            // A child that was made in the handler of a signal may have it.
            if self.is_private(&(block.start * self.page..block.end * self.page)) {
                self.put_aside(block.start, block.len());
            } else {
                self.free_now(block.start);
            }
        }
    }

    fn give_back_excess(&mut self) {
        while let Some(range) = self.blocks.excess() {
            self.make_zero_without_memory(range.start * self.page..range.end * self.page);
        }
    }

    pub(crate) fn make_zero_without_memory(&self, bytes: Range<usize>) {
        // What was never mapped has no memory.
        let bytes = bytes.start..bytes.end.min(self.arena.mapped());
        if bytes.is_empty() {
            return;
        }
        if self.arena.give_back(bytes.clone()).is_err() {
            // It is locked (`mlockall`).
            self.write_zeros(bytes);
        }
    }

    fn zero(&self, bytes: Range<usize>) {
        if bytes.len() >= TOO_LARGE_TO_WRITE {
            self.make_zero_without_memory(bytes);
        } else {
            self.write_zeros(bytes);
        }
    }

    fn write_zeros(&self, bytes: Range<usize>) {
        // SAFETY: these bytes lie in the arena, and are part of a block that nobody has yet, or of none.
        unsafe { self.at(bytes.start).as_ptr().write_bytes(0, bytes.len()) };
    }

    /// Notes that the program has mapped these addresses to something else, as far as they are the arena's or the
    /// static data's.
    pub(crate) fn mapped_over(&mut self, addresses: &Range<usize>) {
        for bytes in self.parts_at(addresses) {
            if self.is_owner() {
                self.settle();
                self.arena.marks().make_foreign(bytes.clone());
            }
            self.foreign.push(bytes);
        }
    }

    /// Which bytes of the arena the program has at these addresses, in whole pages.
    pub(crate) fn parts_at(&self, addresses: &Range<usize>) -> impl Iterator<Item = Range<usize>> + Clone + use<> {
        let arena = self.addresses();
        let (start, end) = (addresses.start.max(arena.start), addresses.end.min(arena.end));
        let of_arena = (start < end).then(|| start - arena.start..(end - arena.start).next_multiple_of(self.page));
        let of_static_data = self.static_data.as_ref().and_then(|data| data.part_at(addresses));
        of_arena.into_iter().chain(of_static_data)
    }

    fn is_foreign(&self, bytes: &Range<usize>) -> bool {
        self.foreign.iter().any(|foreign| foreign.start < bytes.end && bytes.start < foreign.end)
    }

    /// The first page of a block of the program's, and how many it has.
    fn find(&self, block: NonNull<u8>) -> Option<(usize, usize)> {
        let start = self.page_of(block)?;
        let is_free =
            self.idle.iter().any(|idle| idle.start == start) || self.aside.iter().any(|aside| aside.start == start);
        let pages = self.blocks.len_of(start).filter(|_| !is_free)?;
        Some((start, pages))
    }

    /// The page where a block starts that has this address.
    fn page_of(&self, block: NonNull<u8>) -> Option<usize> {
        let offset = (block.as_ptr() as usize).checked_sub(self.arena.start().as_ptr() as usize)?;
        offset.is_multiple_of(self.page).then_some(offset / self.page)
    }

    /// The address of a byte of the arena.
    pub(crate) fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset <= self.arena.len());
        // SAFETY: the arena is mapped as a whole, and all callers pass offsets within it.
        unsafe { self.arena.start().add(offset) }
    }

    /// Where the program has these bytes of blocks, in one or two pieces.
    pub(crate) fn places(&self, bytes: Range<usize>) -> impl Iterator<Item = (Range<usize>, NonNull<u8>)> + '_ {
        let static_data = self.static_data.as_ref();
        let border = self.static_span().map_or(0, |span| span.end).clamp(bytes.start, bytes.end);
        [bytes.start..border, border..bytes.end].into_iter().filter(|part| !part.is_empty()).map(move |part| {
            let place = match static_data {
                // SAFETY: the part lies within the data.
                Some(data) if part.end <= border => unsafe { data.start().add(part.start) },
                _ => self.at(part.start),
            };
            (part, place)
        })
    }

    /// From the first block to the end of the last; `None` if there is none.
    pub(crate) fn span(&self) -> Option<Range<usize>> {
        let mut used = self.blocks.used();
        let first = used.next()?;
        let last = used.next_back().unwrap_or_else(|| first.clone());
        Some(first.start * self.page..last.end * self.page)
    }

    /// Where the static data are, which come first.
    pub(crate) fn static_span(&self) -> Option<Range<usize>> {
        Some(0..self.static_data.as_ref()?.len())
    }

    /// Tells `visit` of the parts of these bytes that are not mapped to something else.
    pub(crate) fn without_foreign(&self, bytes: Range<usize>, mut visit: impl FnMut(Range<usize>)) {
        let mut at = bytes.start;
        while at < bytes.end {
            let covered = self.foreign.iter().filter(|foreign| foreign.contains(&at)).map(|foreign| foreign.end).max();
            if let Some(end) = covered {
                at = end;
                continue;
            }
            let next = self.foreign.iter().map(|foreign| foreign.start).filter(|&start| start > at).min();
            let end = next.map_or(bytes.end, |next| next.min(bytes.end));
            visit(at..end);
            at = end;
        }
    }

    /// Whether this is the process that took the arena, and no child, be it one that was made without our handlers, so
    /// that it shares the parent's blocks.
    pub(crate) fn is_owner(&self) -> bool {
        !self.is_copy && self.home.is_here()
    }

    /// This process is a child with blocks of its own.
    pub(crate) fn become_copy(&mut self) {
        self.is_copy = true;
        self.heirs.leave();
    }
}

pub(crate) fn page_size() -> usize {
    // SAFETY: the call has no conditions.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

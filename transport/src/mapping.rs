//! The job's file in the address space of this process: room for all of it, of which only what is in use is mapped.
//!
//! The file is sparse and longer than the memory of the machine. Who locks a process's memory, searches it for
//! addresses or limits its address space is not to meet more of the file than is in use. So what all peers look at is
//! mapped at once, and each heap and each arena, a *region*, from its start as far as it has been needed. All lies
//! where it would if the file were mapped in one piece, so the offset of a byte says its address.
//!
//! The rest is not reserved, since that would count as address space. Other files of this process keep clear of it (see
//! `room`), and what the system gives away lies elsewhere first. If it ever gives away a part of a region, that region
//! can't grow any more here: its owner then has no more memory to share, and a peer goes by the file's descriptor.
//!
//! A region grows by its mapping alone, once it has one: a program may close descriptors that it does not know, and get
//! their numbers again for something else.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nix::libc;
use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags};

use crate::descriptor::Kept;
use crate::layout::{Layout, Part};
use crate::mappings;
use crate::room::Room;

/// Regions grow by a multiple of this, and by a quarter of what they have.
const STEP: usize = 4 << 20;
/// How often room is looked for, if another thread is quicker to map something there.
const TRIES: usize = 8;

/// What of the file is mapped, and where.
pub(crate) struct Mapping {
    base: NonNull<u8>,
    /// How many bytes are mapped at once: all in front of the regions.
    front: usize,
    region_size: usize,
    /// How many bytes of each region are mapped. Stored (Release) by whoever maps more, holding `growing`; loaded
    /// (Acquire) by `has`.
    mapped: Box<[AtomicUsize]>,
    /// How many bytes of an arena are for blocks. The marks of its pages follow, and are mapped apart.
    arena_len: usize,
    /// Whether those of a peer's end are. Stored (Release) by whoever maps them, holding `growing`; loaded (Acquire) by
    /// `has_marks`.
    marks: Box<[AtomicBool]>,
    growing: Mutex<()>,
    /// What was mapped here is unmapped when this is dropped.
    room: Option<Room>,
}

impl Mapping {
    /// Maps the front of a file of that layout.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn new(file: &File, layout: &Layout) -> io::Result<Mapping> {
        let mut tries = 1;
        loop {
            let room = Room::find(layout.total())?;
            match map(file.as_fd(), room.start().as_ptr(), 0, layout.heap(0)) {
                Ok(()) => {
                    let mut mapping = Mapping::found(room.start(), layout);
                    mapping.room = Some(room);
                    return Ok(mapping);
                }
                Err(error) if tries == TRIES => return Err(error),
                Err(_) => tries += 1,
            }
        }
    }

    /// One that the process has already.
    pub(crate) fn found(base: NonNull<u8>, layout: &Layout) -> Mapping {
        let mapped = (0..2 * layout.ends).map(|_| AtomicUsize::new(0)).collect();
        let marks = (0..layout.ends).map(|_| AtomicBool::new(false)).collect();
        let (front, region_size, arena_len) = (layout.heap(0), layout.heap_size, layout.arena_len());
        Mapping { base, front, region_size, mapped, arena_len, marks, growing: Mutex::new(()), room: None }
    }

    /// Where the file's first byte is.
    #[inline(always)]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Stays mapped when it is dropped.
    pub(crate) fn keep(&mut self) {
        std::mem::forget(self.room.take());
    }

    /// How many bytes of a region are known to be mapped.
    #[inline]
    pub(crate) fn known(&self, region: usize) -> usize {
        self.mapped[region].load(Ordering::Acquire)
    }

    /// Whether the marks of an arena's pages are mapped; has them mapped if it can be done.
    #[inline]
    pub(crate) fn has_marks(&self, file: &Kept, owner: usize) -> bool {
        self.marks[owner].load(Ordering::Acquire) || self.map_marks(file, owner)
    }

    #[cold]
    fn map_marks(&self, file: &Kept, owner: usize) -> bool {
        let _growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        let (offset, len) = self.place_of_marks(owner);
        let start = self.base.as_ptr().wrapping_add(offset);
        let is_new = file.current().is_some_and(|descriptor| map(descriptor, start, offset, len).is_ok());
        // Another allocator of this process may have mapped them.
        let are_there = is_new || mappings::is_shared_at(file.identity(), start as usize, offset, len);
        self.marks[owner].store(are_there, Ordering::Release);
        are_there
    }

    /// Where the marks of an arena's pages lie, and how long they are.
    fn place_of_marks(&self, owner: usize) -> (usize, usize) {
        let arena = self.front + (2 * owner + 1) * self.region_size;
        (arena + self.arena_len, self.region_size - self.arena_len)
    }

    /// Has a region mapped up to its byte `end`, which it must have, and more for the next ones. False if that can't
    /// be.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow(&self, file: &Kept, region: usize, end: usize) -> bool {
        let _growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        let (origin, known) = (self.front + region * self.region_size, &self.mapped[region]);
        loop {
            let from = self.known(region);
            if end <= from {
                return true;
            }
            let start = self.base.as_ptr().wrapping_add(origin + from);
            let most = if region % 2 == Part::Arena as usize { self.arena_len } else { self.region_size };
            let maps = |to: usize| {
                let to = to.next_multiple_of(STEP).min(most);
                let len = to - from;
                let maps_new = |file| map(file, start, origin + from, len).is_ok();
                let is_mapped = from > 0 && lengthen(start, len).is_ok() || file.current().is_some_and(maps_new);
                is_mapped.then_some(to)
            };
            if let Some(to) = maps(end.max(from + from / 4)).or_else(|| maps(end)) {
                known.store(to, Ordering::Release);
                return true;
            }
            // Another allocator of this process may have mapped the next part, and made some of it private.
            let there = mappings::len_at(file.identity(), start as usize, origin + from, most - from);
            if there == 0 {
                return false;
            }
            known.store(most.min(from + there), Ordering::Release);
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.room.is_none() {
            return;
        }
        let regions = self.mapped.iter().enumerate();
        let regions = regions.map(|(region, mapped)| (self.front + region * self.region_size, mapped));
        let parts = regions.map(|(offset, mapped)| (offset, mapped.load(Ordering::Relaxed)));
        let marks = self.marks.iter().enumerate().filter(|(_, are_mapped)| are_mapped.load(Ordering::Relaxed));
        let marks = marks.map(|(owner, _)| self.place_of_marks(owner));
        for (offset, len) in std::iter::once((0, self.front)).chain(parts).chain(marks).filter(|&(_, len)| len > 0) {
            // SAFETY: this part was mapped here, and who used it is gone.
            let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().wrapping_add(offset).cast(), len) };
        }
    }
}

/// Maps a part of the file where there is nothing yet.
fn map(file: BorrowedFd<'_>, start: *mut u8, offset: usize, len: usize) -> io::Result<()> {
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::FIXED_NOREPLACE);
    // SAFETY: a new mapping, in place of none.
    let mapped = unsafe { rustix::mm::mmap(start.cast(), len, protection, flags, file, offset as u64) }?;
    if mapped != start.cast() {
        // A system that does not know the flag (before Linux 4.17), and has found something there.
        // SAFETY: it was made here, and nobody knows of it.
        unsafe { rustix::mm::munmap(mapped, len) }?;
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    leave_out_of_dumps(start, len);
    Ok(())
}

/// Has the mapping that ends there end so many bytes later.
fn lengthen(end: *mut u8, len: usize) -> io::Result<()> {
    // SAFETY: the call has no conditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let last = end.wrapping_sub(page).cast();
    // SAFETY: the last page stays what it is and where it is, and there is nothing behind it, or the system refuses.
    unsafe { rustix::mm::mremap(last, page, page + len, MremapFlags::empty()) }?;
    leave_out_of_dumps(end, len);
    Ok(())
}

/// A core dump would put a page behind every byte. Where this is refused, so be it.
fn leave_out_of_dumps(start: *mut u8, len: usize) {
    // SAFETY: changes nothing but what a dump has.
    let _ = unsafe { rustix::mm::madvise(start.cast(), len, Advice::LinuxDontDump) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::create_file;

    fn mapping() -> (Kept, Layout, Mapping) {
        mapping_of(64 << 20)
    }

    fn mapping_of(heap_size: usize) -> (Kept, Layout, Mapping) {
        let layout = Layout::new(2, heap_size);
        let file = create_file(None).unwrap();
        file.set_len(layout.total() as u64).unwrap();
        let mapping = Mapping::new(&file, &layout).unwrap();
        (Kept::new(file.into()).unwrap(), layout, mapping)
    }

    fn write(mapping: &Mapping, offset: usize, value: u8) {
        // SAFETY: the callers have it mapped.
        unsafe { mapping.base().add(offset).write(value) };
    }

    fn read(mapping: &Mapping, offset: usize) -> u8 {
        // SAFETY: the callers have it mapped.
        unsafe { mapping.base().add(offset).read() }
    }

    #[test]
    fn regions_grow_where_they_belong() {
        let (file, layout, one) = mapping();
        let other = Mapping::new(&file.as_fd().try_clone_to_owned().unwrap().into(), &layout).unwrap();
        for (region, start) in [(0, layout.heap(0)), (1, layout.arena(0)), (2, layout.heap(1)), (3, layout.arena(1))] {
            assert_eq!(one.known(region), 0);
            assert!(one.grow(&file, region, 1) && one.known(region) == STEP);
            let all = if region % 2 == 1 { layout.arena_len() } else { 64 << 20 };
            assert!(other.grow(&file, region, all) && other.known(region) == all);
            write(&one, start + STEP - 1, region as u8 + 1);
            assert_eq!(read(&other, start + STEP - 1), region as u8 + 1);
            assert!(one.grow(&file, region, STEP + 1));
            write(&other, start + STEP, 9);
            assert_eq!(read(&one, start + STEP), 9);
        }
    }

    #[test]
    fn files_keep_clear_of_each_other() {
        let mappings: Vec<_> = [64 << 30, 1 << 30, 32 << 30, 64 << 30].map(mapping_of).into();
        for (file, layout, mapping) in &mappings {
            for region in 0..4 {
                let all = if region % 2 == 1 { layout.arena_len() } else { layout.heap_size };
                assert!(mapping.grow(file, region, all), "region {region} of a file of {} bytes", layout.total());
            }
        }
    }

    #[test]
    fn what_is_in_the_way_ends_a_region() {
        let (file, layout, mapping) = mapping();
        assert!(mapping.grow(&file, 1, 1));
        let place = mapping.base().as_ptr().wrapping_add(layout.arena(0) + 2 * STEP);
        let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE;
        // SAFETY: a new mapping, in place of none.
        let other = unsafe { rustix::mm::mmap_anonymous(place.cast(), 4096, ProtFlags::READ, flags) }.unwrap();
        assert!(mapping.grow(&file, 1, 2 * STEP), "up to there");
        assert!(!mapping.grow(&file, 1, 2 * STEP + 1));
        assert_eq!(mapping.known(1), 2 * STEP);
        // SAFETY: made above.
        unsafe { rustix::mm::munmap(other, 4096) }.unwrap();
        assert!(mapping.grow(&file, 1, 2 * STEP + 1));
    }

    #[test]
    fn a_region_grows_without_the_descriptor() {
        let (mut kept, layout, mapping) = mapping();
        let file = File::from(kept.as_fd().try_clone_to_owned().unwrap());
        assert!(mapping.grow(&kept, 0, 1));
        kept.lose(create_file(None).unwrap().into());
        assert!(!mapping.grow(&kept, 1, 1), "a file of somebody else's");
        assert!(mapping.grow(&kept, 0, STEP + 1));
        write(&mapping, layout.heap(0) + 2 * STEP - 1, 5);
        let mut byte = [0];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut byte, (layout.heap(0) + 2 * STEP - 1) as u64).unwrap();
        assert_eq!(byte, [5]);
    }

    #[test]
    fn what_another_has_mapped_is_known_again() {
        let (file, layout, mapping) = mapping();
        assert!(mapping.grow(&file, 3, 10 << 20));
        let again = Mapping::found(mapping.base(), &layout);
        assert!(again.grow(&file, 3, 1) && again.known(3) == 3 * STEP);
        assert!(again.grow(&file, 3, 3 * STEP + 1), "and more is mapped");
        assert_eq!((mapping.known(3), again.known(3)), (3 * STEP, 4 * STEP));
        assert!(mapping.grow(&file, 3, 4 * STEP), "which the first one finds");
        assert_eq!(mapping.known(3), 4 * STEP);
    }

    #[test]
    fn only_what_is_in_use_counts_as_address_space() {
        let layout = Layout::new(2, 64 << 30);
        let file = create_file(None).unwrap();
        file.set_len(layout.total() as u64).unwrap();
        let mapping = Mapping::new(&file, &layout).unwrap();
        assert!(mapping.grow(&Kept::new(file.into()).unwrap(), 3, 1));
        let list = std::fs::read_to_string("/proc/self/maps").unwrap();
        let base = mapping.base().as_ptr() as usize;
        let starts = list.lines().filter_map(|line| usize::from_str_radix(line.split('-').next()?, 16).ok());
        let mut starts: Vec<_> = starts.filter(|start| (base..base + layout.total()).contains(start)).collect();
        starts.sort_unstable();
        assert_eq!(starts, [base, base + layout.arena(1)]);
    }
}

//! The program's static data, its static arrays among them, in the arena: for programs that do without `malloc`, as
//! those with common blocks do.
//!
//! Before the program runs, what they hold is copied to the arena, which is then mapped over them: the same addresses,
//! the same bytes, and peers that reach them. Only the program's own: libraries' data stay where they are, and so does
//! what the loader has made read-only.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::ops::Range;
use std::ptr::NonNull;

use libc::{PF_W, PF_X, PT_GNU_RELRO, PT_LOAD, dl_phdr_info};
use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags};
use rwmpi_transport::Arena;

use crate::pagemap;

/// What begins as zero, as static arrays do, is left alone if it has fewer bytes, and all else with it: a program
/// without large arrays would have nothing of it but a `fork` that takes longer.
const SMALLEST: usize = 512 << 10;

/// Static data of this program, in whole pages.
#[derive(Debug, Default)]
pub(crate) struct StaticData {
    start: usize,
    /// Up to here the program's file has them. All behind is zero until it is written to.
    file_end: usize,
    end: usize,
    /// Bytes in a page.
    page: usize,
}

impl StaticData {
    /// This program's, if they are worth sharing, and nobody can be writing to them: to be called before the program
    /// runs, by a library.
    pub(crate) fn of_program(page: usize) -> Option<StaticData> {
        // On other processors programs may have variables of the loader's among them, without which the C library can't
        // fork.
        if !cfg!(target_arch = "x86_64") || !is_single_threaded() || !has_children_that_share_memory() {
            return None;
        }
        let mut found = StaticData::default();
        // SAFETY: the function gets what it expects, and is done when the call returns.
        unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut found).cast()) };
        let start = found.start - found.start % page;
        let [file_end, end] = [found.file_end, found.end].map(|end| end.next_multiple_of(page));
        (end - file_end >= SMALLEST).then_some(StaticData { start, file_end, end, page })
    }

    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        // SAFETY: no program is loaded at zero.
        unsafe { NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(self.start)) }
    }

    pub(crate) fn addresses(&self) -> Range<usize> {
        self.start..self.end
    }

    /// What part of them lies at these addresses, in bytes from their start.
    pub(crate) fn part_at(&self, addresses: &Range<usize>) -> Option<Range<usize>> {
        let (start, end) = (addresses.start.max(self.start), addresses.end.min(self.end));
        (start < end).then(|| start - self.start..(end - self.start).next_multiple_of(self.page))
    }

    /// Has them in the arena from `offset` on, where nobody has anything, and all is zero.
    ///
    /// # Errors
    /// What the system says; they are where they were, then.
    pub(crate) fn move_to(&self, arena: &Arena, offset: usize) -> io::Result<()> {
        let copy = |bytes: Range<usize>| {
            // SAFETY: both have these bytes: the program's are mapped, the arena's nobody else uses. Nobody writes to
            // either, as there is one thread.
            unsafe {
                let to = arena.start().add(offset + bytes.start).as_ptr();
                self.start().add(bytes.start).as_ptr().copy_to_nonoverlapping(to, bytes.len());
            }
        };
        copy(0..self.file_end - self.start);
        // Pages behind what comes from the file that have no memory are not to get any by being read.
        pagemap::touched(self.file_end..self.end, self.page, |pages| {
            copy(pages.start - self.start..pages.end - self.start);
        })?;
        let (file, place) = arena.place_in_file(offset);
        let (len, protection) = (self.len(), ProtFlags::READ | ProtFlags::WRITE);
        // Elsewhere first, so that what the system refuses does no harm.
        // SAFETY: a new mapping, wherever there is room for it.
        let new = unsafe { rustix::mm::mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, file, place) }?;
        // They would put a page behind every byte.
        if len > arena.left_for_dumps() {
            // SAFETY: changes nothing but what a dump has.
            let _ = unsafe { rustix::mm::madvise(new, len, Advice::LinuxDontDump) };
        }
        // SAFETY: the mapping is ours. What it replaces is there again, byte for byte, and nobody has looked in
        // between.
        let moved =
            unsafe { rustix::mm::mremap_fixed(new, len, len, MremapFlags::MAYMOVE, self.start().as_ptr().cast()) };
        if moved.is_err() {
            // SAFETY: it is ours, and nobody else knows of it.
            let _ = unsafe { rustix::mm::munmap(new, len) };
        }
        moved.map(drop).map_err(io::Error::from)
    }
}

/// Whether `system` makes children that see their parent's memory until they are another program. Before version 2.29
/// the C library made them without telling anybody, and they looked at the program's variables.
fn has_children_that_share_memory() -> bool {
    // SAFETY: the call has no conditions, and gives a C string that stays.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    let mut numbers = version.to_bytes().split(|&byte| byte == b'.').map(|digits| {
        digits
            .iter()
            .take_while(|digit| digit.is_ascii_digit())
            .fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
    });
    (numbers.next(), numbers.next()) >= (Some(2), Some(29))
}

/// The kernel counts a process's threads as links of this folder.
fn is_single_threaded() -> bool {
    rustix::fs::stat(c"/proc/self/task").is_ok_and(|folder| folder.st_nlink == 3)
}

/// For the loader to call with each object, of which the program is the first: looks for its largest part that is
/// writable, and stays so.
unsafe extern "C" fn look_at(object: *mut dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: by the loader, which passes what `of_program` gave it, besides.
    let (object, found) = unsafe { (&*object, &mut *found.cast::<StaticData>()) };
    // SAFETY: the loader keeps them as long as the program.
    let parts = unsafe { std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
    let place = |address: u64| (object.dlpi_addr + address) as usize;
    let writable = parts.iter().filter(|part| part.p_type == PT_LOAD && part.p_flags & PF_W != 0);
    let largest = writable.max_by_key(|part| part.p_memsz).filter(|part| part.p_flags & PF_X == 0);
    // Without a part that becomes read-only the loader has what it resolves names by among the data, and children may
    // need that early.
    let read_only = parts.iter().find(|part| part.p_type == PT_GNU_RELRO);
    if let Some((part, read_only)) = largest.zip(read_only) {
        let [start, read_only_end] = [part.p_vaddr, read_only.p_vaddr + read_only.p_memsz].map(place);
        found.end = place(part.p_vaddr + part.p_memsz);
        found.start = if read_only_end <= found.end { start.max(read_only_end) } else { start };
        found.file_end = place(part.p_vaddr + part.p_filesz).max(found.start);
    }
    // No more objects.
    1
}

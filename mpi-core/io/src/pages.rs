//! Storing to the pages in which the kernel keeps a file.
//!
//! A call of the kernel for each short block costs many times what copying it does. Mapped, the pages take all blocks
//! by stores, and no byte beside them is read and written back: so nobody has to be kept out meanwhile, be it another
//! rank, another open of the file or another program.
//!
//! A store to a page that can't be had ends the process. So all pages are brought in before, writable, by a call that
//! says if it can't: if the disk is full, or the file has become shorter. What remains is that another program makes
//! the file shorter within these microseconds.
//!
//! The kernel may keep much of a file in one piece, as it does what was written by long calls. Such a piece is mapped
//! as a whole when one of its pages is brought in, whichever of them are stored to.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::ptr;

use rustix::fs::{SeekFrom, fstatfs, seek};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use crate::span::Span;

pub(crate) const PAGE: u64 = 4096;

/// A processor with pages of this length maps so many bytes by one entry, if they and their place are aligned.
const PIECE: u64 = 2 << 20;

/// File systems of one machine, of which all programs share the pages: ext2 to ext4, XFS, F2FS, tmpfs, ramfs and what
/// overlayfs makes of these. Network file systems write back whole pages, also what another machine has changed; btrfs
/// may find no room for a page that it has had already.
const OF_ONE_MACHINE: [i64; 6] = [0xef53, 0x5846_5342, 0xf2f5_2010, 0x0102_1994, 0x8584_58f6, 0x794c_7630];

/// Whether no other machine writes to the file.
pub(crate) fn are_of_one_machine(file: &File) -> bool {
    fstatfs(file).is_ok_and(|system| OF_ONE_MACHINE.contains(&system.f_type))
}

/// Pages of a file in memory, until it is dropped.
struct Mapped {
    start: *mut u8,
    len: usize,
}

impl Mapped {
    /// Maps so many bytes from the byte `at` on, which begins a page.
    fn new(file: &File, at: u64, len: usize) -> io::Result<Mapped> {
        match Mapped::of(file, at, len) {
            // Pages that are written are read, too: a descriptor that only writes does not do.
            Err(Errno::ACCESS) => {
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                Ok(Mapped::of(OpenOptions::new().read(true).write(true).open(path)?, at, len)?)
            }
            mapped => Ok(mapped?),
        }
    }

    fn of(file: impl AsFd, at: u64, len: usize) -> rustix::io::Result<Mapped> {
        // SAFETY: the kernel chooses a place where nothing is.
        let start =
            unsafe { mmap(ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, at)? };
        Ok(Mapped { start: start.cast(), len })
    }

    /// Brings in the pages of this part, writable. It begins with one.
    fn bring_in(&self, from: usize, len: usize) -> rustix::io::Result<()> {
        debug_assert!(from + len <= self.len, "only what is mapped is brought in");
        // SAFETY: all of it is mapped, and nothing is discarded by this.
        unsafe { madvise(self.start.wrapping_add(from).cast(), len, Advice::LinuxPopulateWrite) }
    }

    /// Whether all pages are in.
    fn is_in(&self) -> io::Result<bool> {
        let mut entries = vec![0; self.len.div_ceil(PAGE as usize) * ENTRY];
        File::open("/proc/self/pagemap")?.read_exact_at(&mut entries, self.start as u64 / PAGE * ENTRY as u64)?;
        Ok(entries.chunks_exact(ENTRY).all(|entry| entry[ENTRY - 1] & IS_IN != 0))
    }
}

/// The length of an entry of `/proc/self/pagemap`, one for a page,
const ENTRY: usize = 8;
/// and the bit of its last byte that says that the page is in.
const IS_IN: u8 = 0x80;

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: it was mapped by `new`, and spans of it are lent for a call only. It can't fail then.
        let _ = unsafe { munmap(self.start.cast(), self.len) };
    }
}

/// Whether all pages of this machine have that length: then one entry maps a piece.
fn are_of_usual_length() -> bool {
    // SAFETY: it only asks.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) == PAGE as i64 }
}

/// Has `work` store to these bytes of a file, which are all there.
///
/// # Errors
/// The file can't be mapped, or not all of its pages can be had. Nothing has been stored then.
pub(crate) fn store(file: &File, at: u64, len: usize, work: &mut dyn FnMut(Span<'_>)) -> io::Result<()> {
    let within = (at % PAGE) as usize;
    let mapped = Mapped::new(file, at - within as u64, within + len)?;
    mapped.bring_in(0, within + len)?;
    // SAFETY: the mapping has so many bytes, and is there until `work` has returned; nobody refers to it.
    work(unsafe { Span::new(mapped.start, mapped.len) }.part(within, len));
    Ok(())
}

/// The same, if the kernel keeps them in one piece, that is at hand by one page of it. Returns whether it does.
///
/// # Errors
/// As [`store`], and if the system does not say where pages are.
pub(crate) fn store_to_piece(file: &File, at: u64, len: usize, work: &mut dyn FnMut(Span<'_>)) -> io::Result<bool> {
    let within = (at % PIECE) as usize;
    let start = at - within as u64;
    // What is stored to a piece gives all of it room on the disk. A file that has holes there keeps them. Nobody
    // else uses the place in the file that the system keeps: the calls that transfer give their own.
    let is_whole = || seek(file, SeekFrom::Hole(start)).is_ok_and(|hole| hole >= start + PIECE);
    if within + len > PIECE as usize || !are_of_usual_length() || !is_whole() {
        return Ok(false);
    }
    let mapped = Mapped::new(file, start, PIECE as usize)?;
    mapped.bring_in(within - within % PAGE as usize, PAGE as usize)?;
    if !mapped.is_in()? {
        return Ok(false);
    }
    // SAFETY: as in `store`.
    work(unsafe { Span::new(mapped.start, mapped.len) }.part(within, len));
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: &[u8]) -> (std::path::PathBuf, File) {
        let path = std::env::temp_dir().join(format!("rwmpi-pages-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).expect("there is room for a file");
        let file = OpenOptions::new().write(true).open(&path).expect("it is there");
        (path, file)
    }

    #[test]
    fn only_what_is_stored_changes() {
        let (path, file) = file("stored", &[1; 10_000]);
        store(&file, 5000, 100, &mut |span| span.part(10, 20).fill(&[2; 20])).expect("files here can be mapped");
        let mut expected = vec![1; 10_000];
        expected[5010..5030].fill(2);
        assert!(std::fs::read(&path).is_ok_and(|bytes| bytes == expected));
        std::fs::remove_file(path).expect("it is there");
    }

    #[test]
    fn pages_that_are_not_there_are_an_error() {
        let (path, file) = file("short", &[1; 100]);
        let mut is_called = false;
        let outcome = store(&file, 3 * PAGE, 100, &mut |_| is_called = true);
        assert!(outcome.is_err() && !is_called);
        file.write_at(&[3], 4 * PAGE).expect("there is room");
        assert!(store(&file, 3 * PAGE, 100, &mut |span| span.fill(&[4])).is_ok());
        assert_eq!(std::fs::read(&path).expect("it is there")[3 * PAGE as usize], 4);
        std::fs::remove_file(path).expect("it is there");
    }

    /// Has the kernel read a file anew, in large pieces if it has such, with the holes in them.
    fn keep_in_pieces(file: &File) {
        file.sync_all().expect("it can be written to the disk");
        rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).expect("it is advice");
        let mapped = Mapped::new(file, 0, PIECE as usize).expect("it can be mapped");
        // SAFETY: all of it has just been mapped, and only how it is brought in changes. It may be refused.
        let _ = unsafe { madvise(mapped.start.cast(), mapped.len, Advice::LinuxHugepage) };
        // SAFETY: as above; nobody writes to it.
        unsafe { mapped.start.read_volatile() };
    }

    #[test]
    fn a_piece_is_stored_to_only_as_a_whole() {
        let len = 2 * PIECE as usize;
        let (path, file) = file("piece", &vec![1; len]);
        keep_in_pieces(&file);
        let at = 5000;
        let is_done = store_to_piece(&file, at, 100_000, &mut |span| span.part(90_000, 20).fill(&[2; 20]));
        // Whether it is one piece is the kernel's choice; where it is not, nothing is stored.
        let mut expected = vec![1; len];
        if is_done.is_ok_and(|is_done| is_done) {
            expected[at as usize + 90_000..][..20].fill(2);
        }
        assert!(std::fs::read(&path).is_ok_and(|bytes| bytes == expected));
        let mut is_called = false;
        let across = store_to_piece(&file, PIECE - 10, 20, &mut |_| is_called = true);
        assert!(across.is_ok_and(|is_done| !is_done) && !is_called, "no piece has them all");
        std::fs::remove_file(path).expect("it is there");
    }

    #[test]
    fn holes_stay() {
        let (path, file) = file("hole", &vec![1; PIECE as usize / 2]);
        file.set_len(PIECE).expect("a file may have holes");
        keep_in_pieces(&file);
        let mut is_called = false;
        let outcome = store_to_piece(&file, 0, 4096, &mut |_| is_called = true);
        assert!(outcome.is_ok_and(|is_done| !is_done) && !is_called);
        std::fs::remove_file(path).expect("it is there");
    }
}

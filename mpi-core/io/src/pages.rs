//! Storing to the pages in which the kernel keeps a file.
//!
//! A call of the kernel for each short block costs many times what copying it does. Mapped, the pages take all blocks
//! by stores, and no byte beside them is read and written back: so nobody has to be kept out meanwhile, be it another
//! rank, another open of the file or another program.
//!
//! A store to a page that can't be had ends the process. So all pages are brought in before, writable, by a call that
//! says if it can't: if the disk is full, or the file has become shorter. What remains is that another program makes
//! the file shorter within these microseconds.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use rustix::fs::fstatfs;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use crate::disk::Span;

pub(crate) const PAGE: u64 = 4096;

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
    fn new(file: impl AsFd, at: u64, len: usize) -> rustix::io::Result<Mapped> {
        // SAFETY: the kernel chooses a place where nothing is.
        let start =
            unsafe { mmap(ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, at)? };
        let mapped = Mapped { start: start.cast(), len };
        // SAFETY: all of it has just been mapped, and nothing is discarded by this.
        unsafe { madvise(start, len, Advice::LinuxPopulateWrite)? };
        Ok(mapped)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: it was mapped by `new`, and spans of it are lent for a call only. It can't fail then.
        let _ = unsafe { munmap(self.start.cast(), self.len) };
    }
}

/// Has `work` store to these bytes of a file, which are all there.
///
/// # Errors
/// The file can't be mapped, or not all of its pages can be had. Nothing has been stored then.
pub(crate) fn store(file: &File, at: u64, len: usize, work: &mut dyn FnMut(Span<'_>)) -> io::Result<()> {
    let within = (at % PAGE) as usize;
    let mapped = match Mapped::new(file, at - within as u64, within + len) {
        // Pages that are written are read, too: a descriptor that only writes does not do.
        Err(Errno::ACCESS) => {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            Mapped::new(OpenOptions::new().read(true).write(true).open(path)?, at - within as u64, within + len)?
        }
        mapped => mapped?,
    };
    // SAFETY: the mapping has so many bytes, and is there until `work` has returned; nobody refers to it.
    work(unsafe { Span::new(mapped.start, mapped.len) }.part(within, len));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

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
}

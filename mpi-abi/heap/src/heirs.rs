//! Which children may still have pages of the heap, so that these can't be used for something else yet.
//!
//! Before each `fork` a page of a file of its own is mapped, which the child inherits, and its children from it; the
//! parent takes it away again. The kernel seals a file against writing only when nobody has it mapped for that: so it
//! says when the last of them is gone or has become another program, whatever they do with their descriptors, and
//! whoever made them.
#![allow(unsafe_code)]

use std::io;
use std::ops::Range;
use std::os::fd::{BorrowedFd, IntoRawFd, RawFd};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

/// So many forks have files of their own. Further ones share the last one's, and count as alive together.
const MOST_FILES: usize = 16;
/// Descriptors are at least this, so that they take no small number that a program counts on.
const SMALLEST_DESCRIPTOR: i32 = 200;
const LEN: usize = 1;

/// All children of this process that were made while it had blocks.
#[derive(Debug)]
pub(crate) struct Heirs {
    /// How often it has forked, with or without blocks.
    forks: u64,
    /// Those forks of which children may be there.
    living: Vec<Family>,
}

/// The children of some forks.
#[derive(Debug)]
struct Family {
    /// Which ones, counted from 1.
    forks: Range<u64>,
    /// `None`: they can't be told from dead ones.
    file: Option<File>,
}

/// A file by the number of its descriptor, which is the program's if that has closed ours.
#[derive(Debug)]
struct File {
    descriptor: RawFd,
    /// Device and number.
    key: (u64, u64),
}

/// The page that a child is about to inherit.
pub(crate) struct Inheritance(*mut std::ffi::c_void);

impl Heirs {
    pub(crate) fn new() -> Heirs {
        Heirs { forks: 0, living: Vec::with_capacity(MOST_FILES + 1) }
    }

    /// How often this process has forked: a number for what happens until it does again.
    pub(crate) fn forks(&self) -> u64 {
        self.forks
    }

    /// This process is about to fork.
    pub(crate) fn begin(&mut self) {
        self.forks += 1;
    }

    /// The child of the present fork may have pages of the heap. Gives what it inherits. Takes no memory of the
    /// allocator's.
    pub(crate) fn expect(&mut self) -> Option<Inheritance> {
        let this = self.forks..self.forks + 1;
        let is_full = self.living.len() >= MOST_FILES;
        if let Some(last) = self.living.last_mut().filter(|last| is_full || last.file.is_none()) {
            last.forks.end = this.end;
            let page = last.file.as_ref().and_then(|file| file.map().ok());
            if page.is_none() {
                last.abandon();
            }
            return page;
        }
        let new = File::new().and_then(|file| Ok((file.map()?, file)));
        let (page, file) = new.map_or((None, None), |(page, file)| (Some(page), Some(file)));
        self.living.push(Family { forks: this, file });
        page
    }

    /// Forgets who is gone; whether anybody was.
    pub(crate) fn forget_dead(&mut self) -> bool {
        let before = self.living.len();
        self.living.retain(|family| !family.file.as_ref().is_some_and(File::is_unused));
        self.living.len() < before
    }

    /// Whether nobody is left who may have pages.
    pub(crate) fn are_none(&self) -> bool {
        self.living.is_empty()
    }

    /// Whether somebody may have what was in the heap at one of those forks.
    pub(crate) fn have(&self, forks: &Range<u64>) -> bool {
        self.living.iter().any(|family| family.forks.start < forks.end && forks.start < family.forks.end)
    }

    /// For a child: these are its parent's business.
    pub(crate) fn leave(&mut self) {
        self.living.clear();
    }
}

impl Family {
    /// From now on they count as alive, whatever happens.
    fn abandon(&mut self) {
        self.file = None;
    }
}

impl Inheritance {
    /// In the parent: this process has no part in it.
    pub(crate) fn renounce(self) {
        // SAFETY: the mapping is ours, and nobody looks at it.
        let _ = unsafe { rustix::mm::munmap(self.0, LEN) };
    }
}

impl File {
    fn new() -> io::Result<File> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create(c"rwmpi forked", flags)?;
        rustix::fs::ftruncate(&file, LEN as u64)?;
        let file = rustix::io::fcntl_dupfd_cloexec(&file, SMALLEST_DESCRIPTOR).unwrap_or(file);
        let key = rustix::fs::fstat(&file).map(|data| (data.st_dev, data.st_ino))?;
        Ok(File { descriptor: file.into_raw_fd(), key })
    }

    /// The file, if the descriptor still is that of it.
    fn get(&self) -> io::Result<BorrowedFd<'_>> {
        // SAFETY: if it is not open, the call fails; what else it may be is only looked at.
        let file = unsafe { BorrowedFd::borrow_raw(self.descriptor) };
        let data = rustix::fs::fstat(file)?;
        if (data.st_dev, data.st_ino) == self.key { Ok(file) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn map(&self) -> io::Result<Inheritance> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, wherever there is room for it.
        let page = unsafe { rustix::mm::mmap(std::ptr::null_mut(), LEN, protection, MapFlags::SHARED, self.get()?, 0) };
        Ok(page.map(Inheritance)?)
    }

    /// Whether nobody has it mapped.
    fn is_unused(&self) -> bool {
        self.get().is_ok_and(|file| rustix::fs::fcntl_add_seals(file, SealFlags::WRITE).is_ok())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if self.get().is_ok() {
            // SAFETY: it is ours, and nobody else uses it.
            unsafe { rustix::io::close(self.descriptor) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A child that lives until its pipe is closed.
    fn child(heirs: &mut Heirs) -> impl FnOnce() + use<> {
        heirs.begin();
        let page = heirs.expect();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        // SAFETY: the child makes system calls only.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(writer);
            let _ = rustix::io::read(&reader, &mut [0]);
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(0) };
        }
        page.into_iter().for_each(Inheritance::renounce);
        move || {
            drop(writer);
            // SAFETY: waits for the child just made.
            assert_eq!(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }, child);
        }
    }

    /// One test, as a child that another made meanwhile would inherit what is for this one's.
    #[test]
    fn children_are_known_until_they_end() {
        let mut heirs = Heirs::new();
        assert!(heirs.are_none() && !heirs.forget_dead());
        let first = child(&mut heirs);
        let second = child(&mut heirs);
        assert!(!heirs.forget_dead() && heirs.have(&(1..2)) && heirs.have(&(2..3)) && !heirs.have(&(3..9)));
        // The second one has the first one's writer, and so ends first.
        second();
        assert!(heirs.forget_dead() && heirs.have(&(1..2)) && !heirs.have(&(2..9)));
        first();
        assert!(heirs.forget_dead() && heirs.are_none());
        many_share_a_file_and_what_cannot_be_told_lives();
    }

    fn many_share_a_file_and_what_cannot_be_told_lives() {
        let mut heirs = Heirs::new();
        for _ in 0..MOST_FILES + 3 {
            heirs.begin();
            heirs.expect().unwrap().renounce();
        }
        let end = MOST_FILES as u64 + 4;
        assert!(heirs.living.len() == MOST_FILES && heirs.have(&(end - 1..end)) && !heirs.have(&(end..end + 1)));
        assert!(heirs.forget_dead() && heirs.are_none());
        heirs.begin();
        heirs.expect().unwrap().renounce();
        let number = heirs.living[0].file.as_ref().unwrap().descriptor;
        // SAFETY: it is this test's; what closes it later sees that it is closed.
        unsafe { rustix::io::close(number) };
        assert!(!heirs.forget_dead() && heirs.have(&(end..end + 1)));
    }
}

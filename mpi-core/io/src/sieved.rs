//! Sieving writes: a rank reads a part of the file, changes its blocks there, and writes all of it back, gaps included.
//!
//! What somebody else writes to a gap meanwhile would be undone. So it is done only in a file whose ranks have all said
//! that nobody writes to it but they, by this open (`romio_ds_write` = `enable`). Then each of their writes holds a
//! lock of what it writes: shared with other plain writes, alone with what is written back.
//!
//! The locks are the kernel's, of ranges, and belong to the open file. So they hold between ranks on one machine or
//! several, as processes or threads, and go with a rank that dies. Of one open file only one access is under way: the
//! thread for nonblocking accesses has opened it once more.
#![allow(unsafe_code)]

use std::fs::{File as SystemFile, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;

use rwmpi_core::op;

use crate::disk::{Disk, Failure, Kept, Moved, read_all, write_all};
use crate::span::Span;
use crate::{File, Result};

/// Who else may write to a range while it is locked.
#[derive(Clone, Copy)]
enum Others {
    MayWrite,
    MustWait,
}

/// A locked range of a file, until it is dropped.
struct LockedRange<'a>(&'a SystemFile);

impl<'a> LockedRange<'a> {
    /// Waits until nobody has a lock that contradicts.
    fn new(file: &'a SystemFile, at: u64, len: usize, others: Others) -> io::Result<Self> {
        let kind = match others {
            Others::MayWrite => libc::F_RDLCK,
            Others::MustWait => libc::F_WRLCK,
        };
        loop {
            match set(file, kind, at, len as u64) {
                Ok(()) => return Ok(LockedRange(file)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for LockedRange<'_> {
    fn drop(&mut self) {
        // All of the file: so that no lock has to be divided, for which the kernel might have no memory.
        let _ = set(self.0, libc::F_UNLCK, 0, 0);
    }
}

/// Sets or removes the lock of a range; of length 0: up to the end of all files.
fn set(file: &SystemFile, kind: i32, at: u64, len: u64) -> io::Result<()> {
    let place = |value: u64| i64::try_from(value).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG));
    // SAFETY: it consists of numbers.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    (range.l_type, range.l_whence) = (kind as i16, libc::SEEK_SET as i16);
    (range.l_start, range.l_len) = (place(at)?, place(len)?);
    // SAFETY: the kernel reads the range during the call only.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &raw const range) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// An open file, as accesses see it that may sieve or be beside such.
pub(crate) struct Sieved<'a> {
    pub(crate) file: &'a SystemFile,
    /// Whether its ranks write gaps back.
    pub(crate) is_sieved: bool,
}

impl Disk for Sieved<'_> {
    fn read(&self, at: u64, into: Span<'_>) -> io::Result<usize> {
        self.file.read(at, into)
    }

    fn write(&self, at: u64, from: Span<'_>) -> io::Result<usize> {
        let locked = self.is_sieved.then(|| LockedRange::new(self.file, at, from.len().max(1), Others::MayWrite));
        let _locked = locked.transpose()?;
        self.file.write(at, from)
    }

    fn is_private(&self) -> bool {
        self.file.is_private()
    }

    fn store(&self, at: u64, len: usize, kept: Kept, work: &mut dyn FnMut(Span<'_>)) -> bool {
        // A store would need the lock of its range as a plain write does. What is stored is sieved instead.
        !self.is_sieved && self.file.store(at, len, kept, work)
    }

    fn is_sieved(&self) -> bool {
        self.is_sieved
    }

    fn change(&self, at: u64, memory: Span<'_>, work: &mut dyn FnMut(Span<'_>)) -> Moved {
        match LockedRange::new(self.file, at, memory.len(), Others::MustWait) {
            Ok(_locked) => read_and_write_back(self.file, at, memory, work),
            Err(error) => Moved { bytes: 0, failure: Some(Failure { at, error }) },
        }
    }
}

/// Reads as many bytes as the memory has from the byte `at` on, has `work` change some, and writes all back. What lies
/// beyond the end of the file is zero. Says how many bytes have been written.
pub(crate) fn read_and_write_back(
    disk: &impl Disk,
    at: u64,
    memory: Span<'_>,
    work: &mut dyn FnMut(Span<'_>),
) -> Moved {
    let read = read_all(disk, at, memory);
    if read.failure.is_some() {
        return Moved { bytes: 0, ..read };
    }
    memory.part(read.bytes as usize, memory.len()).clear();
    work(memory);
    write_all(disk, at, memory)
}

impl File {
    /// The open file, for an access.
    pub(crate) fn sieved<'a>(&self, file: &'a SystemFile) -> Sieved<'a> {
        Sieved { file, is_sieved: self.shared.is_sieved.get() }
    }

    /// The same file, opened once more; `None` if it can't be.
    pub(crate) fn opened_again(file: &SystemFile) -> Option<SystemFile> {
        OpenOptions::new().read(true).write(true).open(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
    }

    /// All ranks want gaps to be written back: that is done if all can lock ranges. Collective, once, before any
    /// access: one that is under way would have no lock.
    pub(crate) fn agree_on_sieving(&self, operation: &'static str) -> Result<()> {
        let can = self.shared.is_regular && self.shared.mode.read_write && {
            let disk = self.shared.disk.borrow();
            disk.as_ref().is_some_and(|disk| LockedRange::new(disk, 0, 1, Others::MustWait).is_ok())
        };
        let all = self.shared.communicator.allreduce_value(u64::from(can), op::min).map_err(self.lost(operation))?;
        self.shared.is_sieved.set(all == 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    #[test]
    fn who_writes_gaps_back_undoes_nothing() {
        let path = std::env::temp_dir().join(format!("rwmpi-sieved-{}", std::process::id()));
        fs::write(&path, [0; 6]).expect("there is room for a file");
        let open = || OpenOptions::new().read(true).write(true).open(&path).expect("it is there");
        let (sieving, plain) = (open(), open());
        let (tell, told) = channel();
        thread::scope(|scope| {
            let sieved = Sieved { file: &sieving, is_sieved: true };
            let moved = sieved.change(0, Span::of_bytes(&mut [9; 8]), &mut |span| {
                let (plain, tell) = (&plain, tell.clone());
                scope.spawn(move || {
                    let disk = Sieved { file: plain, is_sieved: true };
                    assert!(write_all(&disk, 2, Span::of_bytes(&mut [2; 2])).failure.is_none());
                    tell.send(()).expect("it is waited for");
                });
                thread::yield_now();
                // Nobody writes there until this has returned.
                assert!(told.try_recv().is_err());
                span.part(0, 2).fill(&[1; 2]);
                span.part(7, 1).fill(&[7]);
            });
            assert!(moved.failure.is_none() && moved.bytes == 8);
            told.recv().expect("the other has written");
        });
        assert_eq!(fs::read(&path).expect("it is there"), [1, 1, 2, 2, 0, 0, 0, 7]);
        fs::remove_file(path).expect("it is there");
    }
}

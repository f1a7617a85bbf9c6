//! The kernel's way between files and memory.
//!
//! What the kernel may do with a call, it does some day: it transfers fewer bytes than asked for, is interrupted by a
//! signal, runs out of space in the middle. [`read_all`] and [`write_all`] are the only places that know. They work on
//! a trait, so that tests can have all of this happen.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, IntoRawFd};

use crate::pages;
use crate::span::Span;

/// How bytes have to be kept if they are to be stored to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// In one piece of memory, that is at hand as a whole.
    InOnePiece,
    /// In any number of pages, each of which has to be had first.
    Anyhow,
}

/// What has bytes by number. Calls may do less than they are asked for.
pub(crate) trait Disk {
    /// Reads from the byte `at` on; 0: there are none.
    fn read(&self, at: u64, into: Span<'_>) -> io::Result<usize>;
    /// Writes from the byte `at` on.
    fn write(&self, at: u64, from: Span<'_>) -> io::Result<usize>;
    /// Whether no other machine writes to it.
    fn is_private(&self) -> bool;
    /// Has `work` store to `len` bytes from the byte `at` on, which are all there, where it keeps them. Returns whether
    /// that could be.
    fn store(&self, at: u64, len: usize, kept: Kept, work: &mut dyn FnMut(Span<'_>)) -> bool;
    /// Whether bytes may be read and written back, since all who write to it wait for each other then.
    fn is_sieved(&self) -> bool {
        false
    }
    /// Has `work` change some of as many bytes as the memory has, from the byte `at` on: they are read and written
    /// back. Says how many were written.
    fn change(&self, at: u64, memory: Span<'_>, work: &mut dyn FnMut(Span<'_>)) -> Moved {
        let _ = (at, memory, work);
        Moved { bytes: 0, failure: Some(Failure { at, error: io::ErrorKind::Unsupported.into() }) }
    }
}

fn result(transferred: isize) -> io::Result<usize> {
    usize::try_from(transferred).map_err(|_| io::Error::last_os_error())
}

/// Pipes and terminals have no numbers for their bytes.
fn has_no_places(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESPIPE)
}

fn place(at: u64) -> io::Result<i64> {
    i64::try_from(at).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))
}

impl Disk for std::fs::File {
    fn read(&self, at: u64, into: Span<'_>) -> io::Result<usize> {
        let (file, at) = (self.as_raw_fd(), place(at)?);
        // SAFETY: the span is valid for writes of its length; a signal may interrupt the call, which is an error then.
        match result(unsafe { libc::pread(file, into.start().cast(), into.len(), at) }) {
            // SAFETY: as above.
            Err(error) if has_no_places(&error) => result(unsafe { libc::read(file, into.start().cast(), into.len()) }),
            result => result,
        }
    }

    fn write(&self, at: u64, from: Span<'_>) -> io::Result<usize> {
        let (file, at) = (self.as_raw_fd(), place(at)?);
        // SAFETY: the span is valid for reads of its length.
        match result(unsafe { libc::pwrite(file, from.start().cast(), from.len(), at) }) {
            Err(error) if has_no_places(&error) => {
                // SAFETY: as above.
                result(unsafe { libc::write(file, from.start().cast(), from.len()) })
            }
            result => result,
        }
    }

    fn is_private(&self) -> bool {
        pages::are_of_one_machine(self)
    }

    fn store(&self, at: u64, len: usize, kept: Kept, work: &mut dyn FnMut(Span<'_>)) -> bool {
        match kept {
            Kept::InOnePiece => pages::store_to_piece(self, at, len, work).unwrap_or(false),
            Kept::Anyhow => pages::store(self, at, len, work).is_ok(),
        }
    }
}

/// Closes a file, and says what the system says: dropping it would not.
pub(crate) fn close(file: std::fs::File) -> io::Result<()> {
    let descriptor = file.into_raw_fd();
    // SAFETY: the descriptor was the file's, which has given it up.
    match result(unsafe { libc::close(descriptor) } as isize) {
        // It is closed all the same.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        result => result.map(drop),
    }
}

/// Why a transfer has ended early: where in the file, and what the system said.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) at: u64,
    pub(crate) error: io::Error,
}

/// What became of a transfer: how many bytes were transferred, and why not more.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    pub(crate) bytes: u64,
    pub(crate) failure: Option<Failure>,
}

/// Calls `step` with what is left until nothing is, it does nothing, or it fails.
fn in_steps(at: u64, span: Span<'_>, mut step: impl FnMut(u64, Span<'_>) -> io::Result<usize>) -> Moved {
    let mut done = 0;
    while done < span.len() {
        match step(at + done as u64, span.part(done, span.len())) {
            Ok(0) => break,
            // No call does more than it is asked for, whoever answers it.
            Ok(bytes) => done += bytes.min(span.len() - done),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Moved { bytes: done as u64, failure: Some(Failure { at: at + done as u64, error }) };
            }
        }
    }
    Moved { bytes: done as u64, failure: None }
}

/// Fills the span from the byte `at` on, as far as there are bytes.
pub(crate) fn read_all(disk: &impl Disk, at: u64, span: Span<'_>) -> Moved {
    in_steps(at, span, |at, span| disk.read(at, span))
}

/// Writes all of the span from the byte `at` on.
pub(crate) fn write_all(disk: &impl Disk, at: u64, span: Span<'_>) -> Moved {
    let mut moved = in_steps(at, span, |at, span| disk.write(at, span));
    if moved.failure.is_none() && moved.bytes < span.len() as u64 {
        let error = io::Error::other("the system takes no more bytes and does not say why");
        moved.failure = Some(Failure { at: at + moved.bytes, error });
    }
    moved
}

//! An atomic file is locked while one access reads or writes it (MPI-5.0 section 14.6.1).
//!
//! The lock is the kernel's (`flock`), of the open file: each rank has opened it for itself, so ranks exclude each
//! other, also as threads of one process, and on file systems that several nodes share. Nobody who has it waits for a
//! peer.

use std::fs::File;
use std::io;

use rustix::fs::{FlockOperation, flock};

/// The locked file, until it is dropped.
pub(crate) struct Locked<'a>(&'a File);

impl<'a> Locked<'a> {
    /// Waits until nobody reads it, or, if it is only read, until nobody writes it.
    pub(crate) fn new(file: &'a File, is_written: bool) -> io::Result<Self> {
        let operation = if is_written { FlockOperation::LockExclusive } else { FlockOperation::LockShared };
        loop {
            match flock(file, operation) {
                Ok(()) => return Ok(Locked(file)),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // The lock goes with the open file at the latest.
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}

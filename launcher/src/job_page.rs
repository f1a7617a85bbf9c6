//! A stand-in for `rwmpi_transport::job` until that exists.
#![allow(dead_code)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

pub(crate) struct Job {
    file: OwnedFd,
}

pub(crate) struct AbortRecord {
    pub(crate) peer: usize,
    pub(crate) code: i32,
    pub(crate) text: String,
}

impl Job {
    pub(crate) fn create(_peers: usize, directory: Option<&Path>) -> io::Result<Job> {
        let file = match directory {
            None => rustix::fs::memfd_create("rwmpi", rustix::fs::MemfdFlags::CLOEXEC)?,
            Some(directory) => rustix::fs::open(
                directory,
                rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC,
                rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            )?,
        };
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 1 << 20)?;
        Ok(Job { file })
    }
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
    pub(crate) fn attached(&self, _peer: usize) -> bool {
        false
    }
    pub(crate) fn finished(&self, _peer: usize) -> bool {
        false
    }
    pub(crate) fn activity(&self, _peer: usize) -> [u64; 8] {
        [0; 8]
    }
    pub(crate) fn abort_record(&self) -> Option<AbortRecord> {
        None
    }
    pub(crate) fn set_aborted(&self) {}
}

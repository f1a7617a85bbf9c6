//! Copies into and out of memory that this process has not mapped: a peer's private memory, and the job's file; and the
//! test transfers that find out whether they work.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::libc;
use rustix::process::Resource;

use crate::{ReadSpan, RemoteError, WriteSpan};

/// The kernel moves at most this many bytes a call.
const MOST_PER_CALL: usize = 0x7fff_f000;

/// Why a copy by the kernel failed, in the caller's terms.
fn refusal(error: &io::Error) -> RemoteError {
    match error.raw_os_error() {
        Some(libc::EFAULT) => RemoteError::Refused,
        Some(libc::ESRCH) => RemoteError::PeerLost,
        _ => RemoteError::NoWay,
    }
}

/// Lets the kernel move `len` bytes in as many calls as it takes; `transfer(done, portion)` makes one.
fn in_portions(len: usize, mut transfer: impl FnMut(usize, usize) -> isize) -> Result<(), RemoteError> {
    let mut done = 0;
    while done < len {
        match transfer(done, (len - done).min(MOST_PER_CALL)) {
            moved if moved > 0 => done += moved as usize,
            0 => return Err(RemoteError::Refused),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(refusal(&error));
                }
            }
        }
    }
    Ok(())
}

fn local(start: *const u8, len: usize) -> libc::iovec {
    libc::iovec { iov_base: start.cast_mut().cast(), iov_len: len }
}

/// Writes `from` to `address` in process `pid`.
pub(crate) fn kernel_write(pid: u32, address: u64, from: ReadSpan) -> Result<(), RemoteError> {
    in_portions(from.len(), |done, portion| {
        let here = local(from.part(done, portion).start(), portion);
        let there = local((address as usize + done) as *const u8, portion);
        // SAFETY: the local bytes are readable by the contract of the span; the kernel checks the remote ones.
        unsafe { libc::process_vm_writev(pid as libc::pid_t, &here, 1, &there, 1, 0) }
    })
}

/// Reads into `into` from `address` in process `pid`.
pub(crate) fn kernel_read(pid: u32, address: u64, into: WriteSpan) -> Result<(), RemoteError> {
    in_portions(into.len(), |done, portion| {
        let here = local(into.part(done, portion).start(), portion);
        let there = local((address as usize + done) as *const u8, portion);
        // SAFETY: the local bytes are writable by the contract of the span; the kernel checks the remote ones.
        unsafe { libc::process_vm_readv(pid as libc::pid_t, &here, 1, &there, 1, 0) }
    })
}

/// Writes `from` to a file that is long enough.
pub(crate) fn file_write(file: Option<BorrowedFd<'_>>, offset: usize, from: ReadSpan) -> Result<(), RemoteError> {
    // Beyond the limit for files the system would end the process.
    let limit = rustix::process::getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    let file = file.filter(|_| (offset + from.len()) as u64 <= limit).ok_or(RemoteError::NoWay)?;
    in_portions(from.len(), |done, portion| {
        let here = from.part(done, portion).start();
        // SAFETY: the bytes are readable by the contract of the span.
        unsafe { libc::pwrite64(file.as_raw_fd(), here.cast(), portion, (offset + done) as i64) }
    })
}

/// Reads into `into` from a file.
pub(crate) fn file_read(file: Option<BorrowedFd<'_>>, offset: usize, into: WriteSpan) -> Result<(), RemoteError> {
    let file = file.ok_or(RemoteError::NoWay)?;
    in_portions(into.len(), |done, portion| {
        let here = into.part(done, portion).start();
        // SAFETY: the bytes are writable by the contract of the span.
        unsafe { libc::pread64(file.as_raw_fd(), here.cast(), portion, (offset + done) as i64) }
    })
}

/// How a peer reaches another's private memory, as it stands in the reach table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reach {
    /// Not at all, or not known.
    None = 0,
    /// The kernel copies.
    Kernel = 1,
    /// It is the same address space.
    SameProcess = 2,
}

impl From<u8> for Reach {
    fn from(byte: u8) -> Reach {
        match byte {
            1 => Reach::Kernel,
            2 => Reach::SameProcess,
            _ => Reach::None,
        }
    }
}

/// Private memory in which peers make their test transfers: one word to be read, then one for each peer to be written.
pub(crate) struct ProbeWords(Box<[AtomicU64]>);

impl ProbeWords {
    pub(crate) fn new(peers: usize, me: usize) -> ProbeWords {
        let words: Box<[AtomicU64]> = (0..=peers).map(|_| AtomicU64::new(0)).collect();
        words[0].store(probe_pattern(me), Ordering::Relaxed);
        ProbeWords(words)
    }

    pub(crate) fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }
}

/// A word that tells `peer`'s probe words from anything else that may lie at the same address of the wrong process.
fn probe_pattern(peer: usize) -> u64 {
    0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(peer as u64 + 1)
}

/// Whether this peer, `me`, can read and write the memory of `target`, which is process `pid` and has its probe words
/// at `address`.
pub(crate) fn probe(me: usize, target: usize, pid: u32, address: u64) -> bool {
    let own_word = address + 8 * (me as u64 + 1);
    let sent = probe_pattern(target) ^ probe_pattern(me);
    // Nothing is written before the pattern was found there: it might be another process altogether.
    read_word(pid, address) == Some(probe_pattern(target))
        && kernel_write(pid, own_word, ReadSpan::from(&sent.to_ne_bytes()[..])).is_ok()
        && read_word(pid, own_word) == Some(sent)
}

fn read_word(pid: u32, address: u64) -> Option<u64> {
    let mut word = 0_u64;
    // SAFETY: `word` outlives the call, and nobody else uses it.
    let span = unsafe { WriteSpan::new((&raw mut word).cast(), size_of::<u64>()) };
    kernel_read(pid, address, span).ok()?;
    Some(word)
}

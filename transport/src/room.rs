//! Room in the address space of this process for the files of its jobs.
//!
//! Of a file only what is in use is mapped (see `mapping`), and the rest is not reserved, since that would count as
//! address space. So the system may give it away. It gives the highest place that is long enough, and finds one first
//! beside the file, where room is left; but a file is longer than that. This process's own files therefore keep clear
//! of each other: a list says where they lie.
#![allow(unsafe_code)]

use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::mm::{MapFlags, ProtFlags};

/// Bytes left on either side; less where there is less.
const BESIDE: usize = 64 << 30;
/// What a file starts on a multiple of: the size of a huge page.
const ALIGNMENT: usize = 2 << 20;

/// The addresses of all files of this process.
static TAKEN: Mutex<Vec<Range<usize>>> = Mutex::new(Vec::new());

/// Room for one file. Other files of this process keep clear of it until it is dropped.
pub(crate) struct Room {
    start: NonNull<u8>,
}

impl Room {
    /// Looks for so many bytes with nothing in them, and more on either side.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn find(len: usize) -> io::Result<Room> {
        let mut taken = lock();
        let mut beside = BESIDE;
        let start = loop {
            match find_clear(len + 2 * beside, &taken) {
                Ok(room) => break room.wrapping_add(beside),
                Err(error) if beside <= ALIGNMENT => return Err(error),
                Err(_) => beside /= 2,
            }
        };
        let start = NonNull::new(start.wrapping_sub(start.addr() % ALIGNMENT)).ok_or(io::ErrorKind::OutOfMemory)?;
        taken.push(start.addr().get()..start.addr().get() + len);
        Ok(Room { start })
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        lock().retain(|range| range.start != self.start.addr().get());
    }
}

fn lock() -> MutexGuard<'static, Vec<Range<usize>>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the system has so many bytes with nothing in them that are not taken: at its own choice, or below what is
/// taken.
fn find_clear(len: usize, taken: &[Range<usize>]) -> io::Result<*mut u8> {
    let below = taken.iter().map(|range| ptr::without_provenance_mut(range.start.saturating_sub(len)));
    for hint in std::iter::once(ptr::null_mut()).chain(below) {
        let start = find_free(hint, len)?;
        if taken.iter().all(|range| start.addr() + len <= range.start || range.end <= start.addr()) {
            return Ok(start);
        }
    }
    Err(io::ErrorKind::OutOfMemory.into())
}

/// Where the system has so many bytes with nothing in them, there if it can be.
fn find_free(hint: *mut u8, len: usize) -> io::Result<*mut u8> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping, wherever there is room for it; nobody knows of it when it goes.
    unsafe {
        let start = rustix::mm::mmap_anonymous(hint.cast(), len, ProtFlags::empty(), flags)?;
        rustix::mm::munmap(start, len)?;
        Ok(start.cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_room_again() {
        // More in all than there are addresses.
        for _ in 0..300 {
            drop(Room::find(1 << 40).unwrap());
        }
    }
}

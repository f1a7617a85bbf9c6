//! The physical limit: two processes, one shared mapping, no library in between.
//!
//! Every other figure is compared with what is measured here, so this file does as little as can be done: a flag
//! that changes hands (one cache line each way), and copies into memory that the other core looked at last. One process
//! *leads* and times; the other *serves*. More processes, if there are any, *rest* until the two have finished.
//!
//! Invariants:
//! 1. The first page holds only atomic words, each in a pair of cache lines of its own. The rest (`source` and
//!    `target`) is only reached through raw pointers, never through references.
//! 2. `source` and `target` change hands with the flags: whoever has just seen the other's flag (Acquire) owns them,
//!    until it raises its own (Release).
#![allow(unsafe_code)]

use anyhow::{Context, Result, bail, ensure};
use memmap2::{MmapOptions, MmapRaw};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::{File, OpenOptions};
use std::hint::{black_box, spin_loop};
use std::os::fd::AsRawFd;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::{Duration, Instant};

/// Bytes that change hands at once.
pub const LINE: usize = 64;
/// Round trips in one batch of the flag's ping-pong (a power of two): long against reading the clock, short against a
/// time slice.
const ROUND_TRIPS: u64 = 128;
/// Fewer batches than this may all have been interrupted.
const BATCHES_LEAST: usize = 20;
/// After this long without an answer the other process is taken for dead.
const PATIENCE: Duration = Duration::from_secs(20);
/// Where `source` starts; `target` follows it.
const AREAS: usize = 4096;

/// What the leader asks for; travels in the low bits of its flag.
#[derive(Clone, Copy, PartialEq)]
#[repr(u64)]
enum Order {
    /// Answer at once.
    Echo = 0,
    /// The whole message is in `target`: answer at once, then read it.
    Copied = 1,
    /// Copy the second half of `source` to `target`, answer once the first half is there too, then read it all.
    CopyHalf = 2,
    /// Answer and return.
    End = 3,
}
const ORDER_BITS: u32 = 2;

/// A word in two cache lines of its own (processors fetch neighbouring lines in pairs).
#[repr(C, align(128))]
struct Flag(AtomicU64);

/// The first page.
#[repr(C)]
struct Control {
    /// Serial number and order; written by the leader, awaited by the follower.
    call: Flag,
    /// The serial number that the follower answers; awaited by the leader.
    answer: Flag,
    /// The serial number of the message whose first half the leader has copied; awaited by the follower.
    half: Flag,
    /// The serial number of the message that the follower has finished reading; awaited by the leader.
    read: Flag,
    /// Length of the message; written by the leader before `call`.
    len: Flag,
    /// How many lines the follower found to differ from what was sent.
    wrong: Flag,
    /// How many measurements have ended; awaited by those who rest.
    ended: Flag,
}
const _: () = assert!(size_of::<Control>() <= AREAS);

/// One process's end of the shared mapping.
pub struct RawLink {
    map: MmapRaw,
    /// Keeps the memory's name in `/proc` alive in the process that made it.
    file: File,
    /// Largest message, bytes.
    capacity: usize,
    /// The last serial number seen or given.
    serial: u64,
    /// Measurements ended so far, as far as this process knows.
    ended: u64,
    /// The leader's private source.
    private: Vec<u8>,
    /// What reading the clock twice costs, µs.
    clock_us: f64,
}

impl RawLink {
    /// Makes the mapping, for messages of up to `capacity` bytes. Others open it by [`RawLink::path`].
    pub fn create(capacity: usize) -> Result<Self> {
        let file = File::from(
            memfd_create("mpi-bench-floor", MFdFlags::MFD_CLOEXEC).context("no shared memory for the floor")?,
        );
        let capacity = capacity.next_multiple_of(4096);
        file.set_len((AREAS + 2 * capacity) as u64).context("no shared memory for the floor")?;
        Self::map(file)
    }

    /// Opens the mapping that another process of the same user made.
    pub fn open(path: &str) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path).with_context(|| {
            format!(
                "can't open the floor's shared memory {path}: the floor needs both ranks on one node, under one user"
            )
        })?;
        Self::map(file)
    }

    fn map(file: File) -> Result<Self> {
        let map = MmapOptions::new().populate().map_raw(&file).context("can't map the shared memory of the floor")?;
        ensure!(map.len() > AREAS, "the shared memory of the floor is too short: {} bytes", map.len());
        let capacity = (map.len() - AREAS) / 2;
        Ok(RawLink { map, file, capacity, serial: 0, ended: 0, private: Vec::new(), clock_us: clock_cost_us() })
    }

    /// The name under which other processes can open it as long as this one lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    fn control(&self) -> &Control {
        // SAFETY: the mapping is longer than `AREAS` (checked in `map`), page-aligned, lives as long as `self`, and its
        // first page is used only as a `Control`, all of whose words are atomics for which any bit pattern is valid.
        unsafe { &*self.map.as_ptr().cast::<Control>() }
    }

    fn source(&self) -> *mut u8 {
        // SAFETY: `AREAS` lies within the mapping, as checked in `map`.
        unsafe { self.map.as_mut_ptr().add(AREAS) }
    }

    fn target(&self) -> *mut u8 {
        // SAFETY: `AREAS + 2 * capacity` is at most the mapping's length, as computed in `map`.
        unsafe { self.map.as_mut_ptr().add(AREAS + self.capacity) }
    }

    /// Gives the next order and returns its serial number.
    fn call(&mut self, order: Order) -> u64 {
        self.serial += 1;
        self.control().call.0.store(self.serial << ORDER_BITS | order as u64, Release);
        self.serial
    }

    /// Leader: what it takes a cache line to get to the other core, in µs: one value per batch of round trips, for
    /// about `time`, or longer where others use the cores too and a few batches take that long already.
    pub fn line(&mut self, time: Duration) -> Result<Vec<f64>> {
        let mut values = Vec::with_capacity(256);
        let serial = self.call(Order::Echo);
        self.control().answer.wait(serial)?;
        let begin = Instant::now();
        while begin.elapsed() < time || values.len() < BATCHES_LEAST && begin.elapsed() < 10 * time {
            // Whole batches poll the same way: see `pausing`.
            self.serial = self.serial.next_multiple_of(ROUND_TRIPS);
            let start = Instant::now();
            for _ in 0..ROUND_TRIPS {
                let serial = self.call(Order::Echo);
                self.control().answer.wait(serial)?;
            }
            values.push(start.elapsed().as_secs_f64() * 1e6 / (2 * ROUND_TRIPS) as f64);
        }
        Ok(values)
    }

    /// Leader: one core copies `len` bytes from its private buffer into the shared buffer that the other core read
    /// last; µs from the first byte until the other core knows. `line_us` is what the answer takes, and is taken off.
    pub fn copy_by_one(&mut self, len: usize, time: Duration, line_us: f64) -> Result<Vec<f64>> {
        self.prepare(len)?;
        if self.private.len() < len {
            self.private = vec![0; self.capacity];
        }
        let mut values = Vec::with_capacity(256);
        let begin = Instant::now();
        while begin.elapsed() < time || values.len() < 3 {
            let stamp = self.serial + 1;
            // SAFETY: `private` has at least `len` bytes and nobody else has a pointer to it.
            unsafe { stamp_lines(self.private.as_mut_ptr(), len, stamp) };
            let start = Instant::now();
            // SAFETY: `prepare` checked `len` against the capacity of `target`, which this process owns since the
            // follower said that it has read it; the private buffer is no part of the mapping.
            unsafe { black_box(self.private.as_ptr()).copy_to_nonoverlapping(self.target(), len) };
            let serial = self.call(Order::Copied);
            self.control().answer.wait(serial)?;
            values.push(start.elapsed().as_secs_f64() * 1e6 - self.clock_us - line_us);
            self.control().read.wait(serial)?;
        }
        self.check(len, values)
    }

    /// Leader: as [`RawLink::copy_by_one`], but the message lies in shared memory and each core copies half of it.
    pub fn copy_by_both(&mut self, len: usize, time: Duration, line_us: f64) -> Result<Vec<f64>> {
        self.prepare(len)?;
        let mut values = Vec::with_capacity(256);
        let begin = Instant::now();
        while begin.elapsed() < time || values.len() < 3 {
            // SAFETY: `prepare` checked `len` against the capacity of `source`, which this process owns until its next
            // call.
            unsafe { stamp_lines(self.source(), len, self.serial + 1) };
            let start = Instant::now();
            let serial = self.call(Order::CopyHalf);
            // SAFETY: both areas have at least `len` bytes and do not overlap; the follower only touches what comes
            // after the first half until `half` tells it that this copy is complete.
            unsafe { self.source().copy_to_nonoverlapping(self.target(), first_half(len)) };
            self.control().half.0.store(serial, Release);
            self.control().answer.wait(serial)?;
            values.push(start.elapsed().as_secs_f64() * 1e6 - self.clock_us - line_us);
            self.control().read.wait(serial)?;
        }
        self.check(len, values)
    }

    fn prepare(&mut self, len: usize) -> Result<()> {
        ensure!(len <= self.capacity, "the floor was set up for messages of {} bytes, not {len}", self.capacity);
        self.control().len.0.store(len as u64, Relaxed);
        Ok(())
    }

    fn check(&self, len: usize, values: Vec<f64>) -> Result<Vec<f64>> {
        let wrong = self.control().wrong.0.load(Relaxed);
        ensure!(wrong == 0, "while copying {len} bytes, {wrong} lines of the raw shared memory arrived changed");
        Ok(values)
    }

    /// Leader: lets the follower, and those who rest, go on.
    pub fn end(&mut self) -> Result<()> {
        let serial = self.call(Order::End);
        self.control().answer.wait(serial)?;
        self.ended += 1;
        self.control().ended.0.store(self.ended, Release);
        Ok(())
    }

    /// Follower: does what the leader asks for until it ends the measurement.
    pub fn serve(&mut self) -> Result<()> {
        loop {
            let call = self.control().call.wait_after(self.serial)?;
            self.serial = call >> ORDER_BITS;
            let (control, serial) = (self.control(), self.serial);
            let order = call & ((1 << ORDER_BITS) - 1);
            if order == Order::Echo as u64 {
                control.answer.0.store(serial, Release);
                continue;
            }
            if order == Order::End as u64 {
                control.answer.0.store(serial, Release);
                self.ended += 1;
                return Ok(());
            }
            let len = control.len.0.load(Relaxed) as usize;
            ensure!(len <= self.capacity, "the floor's leader asked for {len} bytes of {}", self.capacity);
            if order == Order::CopyHalf as u64 {
                let half = first_half(len);
                // SAFETY: `len` was checked just above; the second half of both areas is this process's since the call.
                unsafe { self.source().add(half).copy_to_nonoverlapping(self.target().add(half), len - half) };
                control.half.wait(serial)?;
            }
            control.answer.0.store(serial, Release);
            // SAFETY: `len` was checked just above; the leader does not write to `target` before `read` has its serial.
            let wrong = unsafe { count_wrong_lines(self.target(), len, serial) };
            if wrong != 0 {
                control.wrong.0.fetch_add(wrong, Relaxed);
            }
            control.read.0.store(serial, Release);
        }
    }

    /// Everybody else: stays off the processors until the measurement has ended.
    pub fn rest(&mut self) -> Result<()> {
        let begin = Instant::now();
        while self.control().ended.0.load(Acquire) <= self.ended {
            std::thread::sleep(Duration::from_micros(200));
            ensure!(begin.elapsed() < PATIENCE, "the two processes that measure the floor do not come to an end");
        }
        self.ended += 1;
        Ok(())
    }
}

impl Flag {
    fn wait(&self, value: u64) -> Result<()> {
        self.wait_until(pausing(value), |seen| seen == value).map(drop)
    }

    /// Waits for a call with another serial number than `serial`.
    fn wait_after(&self, serial: u64) -> Result<u64> {
        self.wait_until(pausing(serial + 1), |seen| seen >> ORDER_BITS != serial)
    }

    #[inline(always)]
    fn wait_until(&self, pausing: bool, good: impl Fn(u64) -> bool) -> Result<u64> {
        for _ in 0..1 << 20 {
            let seen = self.0.load(Acquire);
            if good(seen) {
                return Ok(seen);
            }
            if pausing {
                spin_loop();
            }
        }
        self.wait_long(good)
    }

    #[cold]
    fn wait_long(&self, good: impl Fn(u64) -> bool) -> Result<u64> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            for _ in 0..1 << 16 {
                let seen = self.0.load(Acquire);
                if good(seen) {
                    return Ok(seen);
                }
            }
            std::thread::yield_now();
        }
        bail!("the other process of the floor measurement has not answered for {} s", PATIENCE.as_secs())
    }
}

/// Whether the wait for `serial` pauses between two looks. On some processors pausing lets the line come sooner, on
/// others it only delays the next look: half of the batches do it, and the limit is the least of all.
#[inline(always)]
fn pausing(serial: u64) -> bool {
    (serial.wrapping_sub(1)) & ROUND_TRIPS != 0
}

/// How much of a message of `len` bytes the leader copies: half, in whole lines.
fn first_half(len: usize) -> usize {
    (len / 2).next_multiple_of(LINE).min(len)
}

/// Changes the first word of every whole line.
///
/// # Safety
/// `len` bytes from `start` must be valid for writes and nobody else may touch them meanwhile.
unsafe fn stamp_lines(start: *mut u8, len: usize, stamp: u64) {
    for line in 0..len / LINE {
        // SAFETY: a word at the beginning of a whole line lies within the `len` bytes.
        unsafe { start.add(line * LINE).cast::<u64>().write_unaligned(stamp) };
    }
}

/// Looks at the first word of every whole line; how many of them are not `stamp`.
///
/// # Safety
/// `len` bytes from `start` must be valid for reads and nobody may write to them meanwhile.
unsafe fn count_wrong_lines(start: *const u8, len: usize, stamp: u64) -> u64 {
    (0..len / LINE)
        // SAFETY: a word at the beginning of a whole line lies within the `len` bytes.
        .filter(|line| unsafe { start.add(line * LINE).cast::<u64>().read_unaligned() } != stamp)
        .count() as u64
}

/// What two readings of the clock take, µs: the least of many.
pub fn clock_cost_us() -> f64 {
    (0..1000)
        .map(|_| {
            let start = Instant::now();
            start.elapsed().as_secs_f64() * 1e6
        })
        .fold(f64::INFINITY, f64::min)
}

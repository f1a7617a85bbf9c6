//! What the processes of a job note for whoever has started it: a file without a name, in which each process has a
//! region that only it writes. The launcher reads it when the process is no more, however that came about.
//!
//! The file is sparse, so what nobody writes costs nothing. It is there only if somebody wants the notes. What they
//! mean is for who writes and who reads them.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{MemfdFlags, OFlags};

use crate::clock::ticks;
use crate::descriptor::raised;
use crate::environment::{RECORDS_FD, take};
use crate::job_error::JobError;
use crate::monotonic_nanoseconds;

/// The first word of the file.
const MAGIC: u64 = u64::from_le_bytes(*b"rwmpirec");
/// Words of the front page: magic, members, words of a region, whether times are in ticks, and the hint.
const FRONT: usize = 5;
/// Where the regions begin, and what their length is a multiple of, bytes.
const PAGE: usize = 4096;
const WORD: usize = size_of::<u64>();
/// The longest region that is believed, words: what one writes by a wrong number is to be refused, not mapped.
const WORDS_MAX: u64 = 1 << 28;

/// Two clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// What the notes count in.
    pub ticks: u64,
    /// Nanoseconds of the node's monotonic clock.
    pub nanoseconds: u64,
}

/// What a thread has had of the processors, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTime {
    /// For how long one has run it.
    pub ran: u64,
    /// For how long it was ready to run and had none.
    pub queued: u64,
}

impl ProcessorTime {
    /// That of the calling thread; `None` where the kernel does not tell.
    pub fn of_thread() -> Option<ProcessorTime> {
        ProcessorTime::read(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
    }

    fn read(text: &str) -> Option<ProcessorTime> {
        let mut numbers = text.split_whitespace().map(|word| word.parse().ok());
        Some(ProcessorTime { ran: numbers.next()??, queued: numbers.next()?? })
    }
}

/// Whether the processor's counter goes at one pace on all processors, and never stops.
fn ticks_are_even() -> bool {
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = told.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag| flags.split_whitespace().any(|word| word == flag);
    ticks() != 0 && has("constant_tsc") && has("nonstop_tsc")
}

/// The file, for who reads it.
#[derive(Debug)]
pub struct RecordsFile {
    file: File,
    members: usize,
    words: usize,
    in_ticks: bool,
}

impl RecordsFile {
    /// One for so many members, with at least so many words for each, and a number that members find there.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(members: usize, words: usize, hint: u64) -> io::Result<RecordsFile> {
        let file = File::from(raised(rustix::fs::memfd_create("rwmpi records", MemfdFlags::CLOEXEC)?));
        let words = (words * WORD).next_multiple_of(PAGE) / WORD;
        file.set_len((PAGE + members * words * WORD) as u64)?;
        let in_ticks = ticks_are_even();
        let front = [MAGIC, members as u64, words as u64, in_ticks.into(), hint];
        file.write_all_at(&front.map(u64::to_ne_bytes).concat(), 0)?;
        Ok(RecordsFile { file, members, words, in_ticks })
    }

    /// What a member has noted so far.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self, member: usize) -> io::Result<Vec<u64>> {
        self.read_first(member, self.words)
    }

    /// The first words of that.
    ///
    /// # Errors
    /// What the system says.
    pub fn read_first(&self, member: usize, words: usize) -> io::Result<Vec<u64>> {
        assert!(member < self.members, "member {member} of {}", self.members);
        let mut bytes = vec![0; self.words.min(words) * WORD];
        let start = PAGE + member * self.words * WORD;
        self.file.read_exact_at(&mut bytes, start as u64)?;
        Ok(bytes.chunks_exact(WORD).map(|word| u64::from_ne_bytes(word.try_into().expect("a word"))).collect())
    }

    /// This moment, as the notes count, and as the node does.
    pub fn moment(&self) -> Moment {
        let nanoseconds = monotonic_nanoseconds();
        Moment { ticks: if self.in_ticks { ticks() } else { nanoseconds }, nanoseconds }
    }
}

impl AsFd for RecordsFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The region of one member, for that member. It stays mapped as long as this lives.
#[derive(Debug)]
pub struct Records {
    map: MmapRaw,
    words: usize,
    in_ticks: bool,
    hint: u64,
}

impl Records {
    /// That of this member, if whoever has started the job wants notes.
    ///
    /// # Errors
    /// Says what is wrong with what the launcher has handed down.
    pub fn of_job(member: usize) -> Result<Option<Records>, JobError> {
        let Some(file) = take(RECORDS_FD, OFlags::RDWR)? else { return Ok(None) };
        let wrong = |error: io::Error| JobError::Environment { name: RECORDS_FD, what: error.to_string() };
        Records::map(&File::from(file), member).map(Some).map_err(wrong)
    }

    fn map(file: &File, member: usize) -> io::Result<Records> {
        let refused = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        let mut front = [0; FRONT * WORD];
        file.read_exact_at(&mut front, 0)?;
        let word = |index: usize| u64::from_ne_bytes(front[index * WORD..][..WORD].try_into().expect("a word"));
        let (members, words) = (word(1), word(2));
        if word(0) != MAGIC || words > WORDS_MAX {
            return refused("the file is not one for notes");
        }
        if member as u64 >= members {
            return refused("the file has no room for this member");
        }
        let len = words as usize * WORD;
        let start = (PAGE + member * len) as u64;
        if file.metadata()?.len() < start + len as u64 {
            return refused("the file is too short");
        }
        let map = MmapOptions::new().offset(start).len(len).map_raw(file)?;
        Ok(Records { map, words: words as usize, in_ticks: word(3) != 0, hint: word(4) })
    }

    /// The number that whoever has made the file has left for its members.
    pub fn hint(&self) -> u64 {
        self.hint
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.words
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words == 0
    }

    /// The present time, in what the notes count in.
    #[inline]
    pub fn now(&self) -> u64 {
        if self.in_ticks { ticks() } else { monotonic_nanoseconds() }
    }

    /// A word. Written by this member alone (Relaxed). The launcher reads the file when the process has ended, which
    /// orders all that it has written before.
    #[inline]
    fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.words, "word {index} of {}", self.words);
        // SAFETY: within what is mapped as long as `self` lives, aligned as pages are, and used by atomic operations
        // only.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().cast::<u64>().add(index)) }
    }

    /// What a word says.
    #[inline]
    pub fn get(&self, index: usize) -> u64 {
        self.word(index).load(Ordering::Relaxed)
    }

    /// Sets a word.
    #[inline]
    pub fn set(&self, index: usize, value: u64) {
        self.word(index).store(value, Ordering::Relaxed);
    }

    /// Adds to a word, which nobody else writes.
    #[inline]
    pub fn add(&self, index: usize, amount: u64) {
        let word = self.word(index);
        word.store(word.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_writes_its_own_region() {
        let file = RecordsFile::create(3, 10, 9).unwrap();
        let members: Vec<Records> = (0..3).map(|member| Records::map(&file.file, member).unwrap()).collect();
        for (member, records) in members.iter().enumerate() {
            assert_eq!((records.len(), records.hint()), (PAGE / WORD, 9));
            records.set(0, 7 + member as u64);
            records.add(records.len() - 1, 5);
            records.add(records.len() - 1, 1);
        }
        for member in 0..3 {
            let read = file.read(member).unwrap();
            assert_eq!((read[0], read[1], *read.last().unwrap()), (7 + member as u64, 0, 6));
        }
        assert!(Records::map(&file.file, 3).is_err());
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        let other = File::from(rustix::fs::memfd_create("other", MemfdFlags::CLOEXEC).unwrap());
        assert!(Records::map(&other, 0).is_err(), "it is empty");
        other.set_len(2 * PAGE as u64).unwrap();
        assert!(Records::map(&other, 0).unwrap_err().to_string().contains("not one for notes"));
        let front = [MAGIC, 1, 1 << 40, 0, 0];
        other.write_all_at(&front.map(u64::to_ne_bytes).concat(), 0).unwrap();
        assert!(Records::map(&other, 0).is_err(), "its regions are too long");
        let front = [MAGIC, 1, 1024, 0, 0];
        other.write_all_at(&front.map(u64::to_ne_bytes).concat(), 0).unwrap();
        assert!(Records::map(&other, 0).unwrap_err().to_string().contains("too short"));
    }

    #[test]
    fn what_the_kernel_tells_is_understood() {
        assert_eq!(ProcessorTime::read("15 7 2\n"), Some(ProcessorTime { ran: 15, queued: 7 }));
        assert_eq!((ProcessorTime::read(""), ProcessorTime::read("15 x 2")), (None, None));
    }

    #[test]
    fn time_goes_on_as_the_launcher_sees_it() {
        let file = RecordsFile::create(1, 1, 0).unwrap();
        let records = Records::map(&file.file, 0).unwrap();
        let times = [file.moment().ticks, records.now(), file.moment().ticks];
        assert!(times.is_sorted(), "{times:?}");
    }
}

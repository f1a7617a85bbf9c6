//! The arena of a peer: the part of the job's file that serves the `malloc` of the peer's process.
//!
//! The library's own heap serves what is asked of the library. An arena serves a whole process, from before it joins
//! the job until it ends, through an allocator that is not the library's; what they share is this file alone. So the
//! arena's record lies in the file: which process uses the arena (one only: a wrapper script and the program it starts
//! inherit the same place in the job). So do the [marks](PageMarks) of its pages, by which the library knows of which
//! the file's bytes are the process's memory, and the allocator which of them peers may use.
//!
//! Unlike those of the heap, pages here are not reserved: `malloc` promises memory that need not be there until it is
//! touched. A shortage is then met as in private memory, by the kernel's killing of a process. Where it would be met as
//! SIGBUS, in a file of limited size or under strict accounting, there is no arena.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::address_space::address_space;
use crate::control::Control;
use crate::descriptor;
use crate::environment::program_number;
use crate::job::Job;
use crate::job_error::JobError;
use crate::layout::Part;
use crate::page_marks::PageMarks;
use crate::range_set::RangeSet;
use crate::segment::Segment;

/// Core dumps may have blocks of so many bytes in any case. Of blocks that were never touched, a dump makes memory.
const SMALLEST_IN_DUMPS: usize = 1 << 30;
/// So many bytes behind all blocks are mapped and used by none: from there the mapping grows, which it could not if
/// they had become private.
const BEHIND: usize = 64 << 10;
/// What dumps have comes in pieces of so many bytes.
const DUMPED_TOGETHER: usize = 1 << 20;

/// Why a process has no arena.
#[derive(Debug, thiserror::Error)]
pub enum ArenaRefused {
    /// The descriptor is not, or no longer, that of a job with such a peer.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Another process has it.
    #[error("another process with the same number in the job has it")]
    Taken,
    /// A program that this process was before has had children, who see its pages.
    #[error("children of the program that this process was before still have its memory")]
    HasHeirs,
    /// The file has a limit.
    #[error("the shared file lies in a directory, whose file system may run full")]
    LimitedFile,
    /// `vm.overcommit_memory` is 2.
    #[error("the system accounts strictly for memory (vm.overcommit_memory is 2)")]
    StrictAccounting,
    /// The system said no.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// An arena, taken by this process.
pub struct Arena {
    /// By a descriptor of our own: the inherited one belongs to whoever joins the job.
    segment: Arc<Segment>,
    owner: usize,
    /// How many bytes from the start have addresses: all blocks lie there.
    mapped: usize,
    /// What core dumps do not have, in bytes from the start, and how many more they may have.
    not_in_dumps: RangeSet,
    left_for_dumps: usize,
}

impl Arena {
    /// Takes the arena of peer `owner` of the job whose file this process has inherited as `fd`. Maps the file, which
    /// stays mapped. The arena has no memory yet: whatever it had is given back.
    ///
    /// # Errors
    /// Says why not.
    pub fn take(fd: BorrowedFd<'_>, owner: usize) -> Result<Arena, ArenaRefused> {
        refuse_unsafe(fd)?;
        let job = Job::open_for_life(descriptor::high(fd)?)?;
        if owner >= job.peers() {
            return Err(JobError::NoSuchPeer { me: owner, peers: job.peers() }.into());
        }
        let (segment, peers) = (job.segment, job.peers);
        let len = segment.layout().heap_size;
        let mut not_in_dumps = RangeSet::default();
        not_in_dumps.insert(0..len);
        let left_for_dumps = SMALLEST_IN_DUMPS.max(len / (2 * peers));
        let mut arena = Arena { segment, owner, mapped: 0, not_in_dumps, left_for_dumps };
        arena.claim()?;
        if arena.control().arena.has_heirs.load(Ordering::Relaxed) != 0 {
            return Err(ArenaRefused::HasHeirs);
        }
        arena.control().arena.end.store(0, Ordering::Release);
        // With the marks behind it.
        arena.segment.punch(arena.origin(), arena.segment.layout().heap_size)?;
        let is_mapped = arena.segment.page_marks(owner).is_some() && arena.publish(1, 0);
        if is_mapped { Ok(arena) } else { Err(ArenaRefused::System(io::ErrorKind::OutOfMemory.into())) }
    }

    /// Makes this program of this process the arena's user, if it has none who lives.
    fn claim(&self) -> Result<(), ArenaRefused> {
        let record = &self.control().arena;
        let (me, my_program) = (address_space(), program_number());
        let (user, program) = (record.user.load(Ordering::Acquire), record.program.load(Ordering::Acquire));
        if user != me {
            let is_free = user == 0 || has_ended(user, me);
            if !is_free || record.user.compare_exchange(user, me, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                return Err(ArenaRefused::Taken);
            }
        }
        // The same program has it, by another allocator, or it did before this process became another program by
        // `exec`.
        let is_mine = program != my_program
            && record.program.compare_exchange(program, my_program, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if is_mine { Ok(()) } else { Err(ArenaRefused::Taken) }
    }

    /// How many bytes of it have addresses: blocks may lie there.
    pub fn mapped(&self) -> usize {
        self.mapped
    }

    /// Where it starts; page-aligned.
    pub fn start(&self) -> NonNull<u8> {
        self.segment.at(self.origin())
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.segment.layout().arena_len() - BEHIND
    }

    /// It never is.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The marks of its pages.
    pub fn marks(&self) -> PageMarks<'_> {
        self.segment.page_marks(self.owner).expect("they were mapped when the arena was taken")
    }

    /// Whether children of this process may have pages of the arena.
    pub fn publish_heirs(&self, has_heirs: bool) {
        self.control().arena.has_heirs.store(has_heirs.into(), Ordering::Relaxed);
    }

    /// The file, and where in it the byte of the arena at `offset` lies: for who maps a part of the arena a second
    /// time, which the library sees if it was done before it joins the job.
    pub fn place_in_file(&self, offset: usize) -> (BorrowedFd<'_>, u64) {
        let file = self.segment.file().unwrap_or_else(|| self.segment.as_fd());
        (file, (self.origin() + offset) as u64)
    }

    /// Takes the memory from behind these bytes of the arena, which have addresses, so that they read as zero from then
    /// on.
    ///
    /// # Errors
    /// What the system says.
    pub fn give_back(&self, bytes: Range<usize>) -> io::Result<()> {
        self.segment.give_back(self.origin() + bytes.start, bytes.len())
    }

    /// As [`Arena::give_back`], where the process has something else in place of these bytes, which it keeps.
    ///
    /// # Errors
    /// What the system says.
    pub fn give_back_behind(&self, bytes: Range<usize>) -> io::Result<()> {
        self.segment.punch(self.origin() + bytes.start, bytes.len())
    }

    /// Tells `visit` which of these bytes of the arena may have memory behind them: all, if it cannot be told.
    pub fn with_memory(&self, bytes: Range<usize>, mut visit: impl FnMut(Range<usize>)) {
        let Some(file) = self.segment.file() else { return visit(bytes) };
        let origin = self.origin();
        let seek = |from: usize, to: fn(u64) -> rustix::fs::SeekFrom| {
            rustix::fs::seek(file, to((origin + from) as u64)).map(|at| at as usize - origin)
        };
        let mut at = bytes.start;
        while at < bytes.end {
            let data = match seek(at, rustix::fs::SeekFrom::Data) {
                Ok(data) => data,
                Err(rustix::io::Errno::NXIO) => return,
                // It can't be told: then all.
                Err(_) => return visit(at..bytes.end),
            };
            if data >= bytes.end {
                return;
            }
            let hole = seek(data, rustix::fs::SeekFrom::Hole).unwrap_or(bytes.end).min(bytes.end);
            visit(data..hole);
            at = hole;
        }
    }

    /// Whether the job's file can be had by a descriptor: programs close those that they do not know.
    pub fn has_file(&self) -> bool {
        self.segment.file().is_some()
    }

    /// Has the bytes below `end` mapped, tells peers that blocks lie there, and the launcher that there are so many
    /// bytes in them. False if they can't be mapped.
    pub fn publish(&mut self, end: usize, used: usize) -> bool {
        if self.mapped < end {
            if !self.segment.has(Part::Arena, self.owner, end + BEHIND) {
                return false;
            }
            self.mapped = self.segment.known(Part::Arena, self.owner) - BEHIND;
            self.control().arena.end.store(self.mapped as u64, Ordering::Release);
        }
        let record = &self.control().arena;
        if record.most_used.load(Ordering::Relaxed) < used as u64 {
            record.most_used.store(used as u64, Ordering::Relaxed);
        }
        true
    }

    /// Has a block in core dumps, unless there is too much in them.
    pub fn show_in_dumps(&mut self, block: Range<usize>) {
        let bytes = block.start..block.end.next_multiple_of(DUMPED_TOGETHER).min(self.mapped());
        let mut new = Vec::new();
        self.not_in_dumps.remove(bytes, |part| new.push(part));
        let len = new.iter().map(Range::len).sum();
        match self.left_for_dumps.checked_sub(len) {
            Some(left) => {
                self.left_for_dumps = left;
                new.into_iter().for_each(|part| self.segment.show_in_dumps(self.origin() + part.start, part.len()));
            }
            None => new.into_iter().for_each(|part| self.not_in_dumps.insert(part)),
        }
    }

    /// A block goes, and core dumps have it no more.
    pub fn hide_from_dumps(&mut self, block: Range<usize>) {
        self.segment.hide_from_dumps(self.origin() + block.start, block.len());
        let mut were_shown = block.len();
        self.not_in_dumps.remove(block.clone(), |part| were_shown -= part.len());
        self.not_in_dumps.insert(block);
        self.left_for_dumps += were_shown;
    }

    /// How many more bytes core dumps may have.
    pub fn left_for_dumps(&self) -> usize {
        self.left_for_dumps
    }

    /// Tells the launcher that there was no room for a block.
    pub fn publish_exhausted(&self) {
        self.control().arena.exhausted.store(1, Ordering::Relaxed);
    }

    /// Where it lies in the file.
    fn origin(&self) -> usize {
        self.segment.layout().arena(self.owner)
    }

    fn control(&self) -> &Control {
        self.segment.control(self.owner)
    }
}

/// Whether the process that `user` names is gone, as far as `me` can tell.
fn has_ended(user: u64, me: u64) -> bool {
    let is_near = user >> 32 == me >> 32;
    let pid = i32::try_from(user & u64::from(u32::MAX)).ok().and_then(rustix::process::Pid::from_raw);
    is_near && pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// Turns down a file whose pages may be found missing only when they are touched.
fn refuse_unsafe(fd: BorrowedFd<'_>) -> Result<(), ArenaRefused> {
    // Memory files belong to a file system without a size; others of its kind have one.
    let system = rustix::fs::fstatfs(fd).map_err(io::Error::from)?;
    if system.f_blocks != 0 {
        return Err(ArenaRefused::LimitedFile);
    }
    strict_accounting()
}

fn strict_accounting() -> Result<(), ArenaRefused> {
    let strict = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|text| text.trim() == "2");
    if strict { Err(ArenaRefused::StrictAccounting) } else { Ok(()) }
}

impl Job {
    /// Whether processes of the job can have arenas at all.
    ///
    /// # Errors
    /// Says why not.
    pub fn check_arenas(&self) -> Result<(), ArenaRefused> {
        refuse_unsafe(self.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn job() -> Job {
        Job::create(2, None).unwrap()
    }

    #[test]
    fn a_process_takes_its_arena_once_and_again_after_exec() {
        let job = job();
        assert!(matches!(Arena::take(job.as_fd(), 2), Err(ArenaRefused::Job(JobError::NoSuchPeer { .. }))));
        let _arena = Arena::take(job.as_fd(), 1).unwrap();
        assert!(job.arena_use(1).used && !job.arena_use(0).used);
        assert!(matches!(Arena::take(job.as_fd(), 1), Err(ArenaRefused::Taken)), "by another allocator");
        job.segment.control(1).arena.program.fetch_xor(2, Ordering::Relaxed);
        assert!(Arena::take(job.as_fd(), 1).is_ok(), "by another program");
    }

    #[test]
    fn the_arena_of_a_living_process_is_not_given_to_another() {
        let job = job();
        let user = &job.segment.control(0).arena.user;
        let parent = u64::from(std::os::unix::process::parent_id());
        user.store((address_space() >> 32 << 32) | parent, Ordering::Release);
        assert!(matches!(Arena::take(job.as_fd(), 0), Err(ArenaRefused::Taken)));
        // No process has a number as large as this.
        user.store((address_space() >> 32 << 32) | 0x7fff_fff0, Ordering::Release);
        assert!(Arena::take(job.as_fd(), 0).is_ok());
        user.store(1 << 32 | 0x7fff_fff0, Ordering::Release);
        assert!(matches!(Arena::take(job.as_fd(), 0), Err(ArenaRefused::Taken)), "of another name space: unknown");
    }

    #[test]
    fn memory_is_found_and_given_back() {
        let job = job();
        let mut arena = Arena::take(job.as_fd(), 0).unwrap();
        assert!(arena.publish(2 << 20, 0));
        let origin = job.segment.layout().arena(0);
        let memory = |bytes| {
            let mut found = Vec::new();
            arena.with_memory(bytes, |range| found.push(range));
            found
        };
        assert!(memory(0..arena.len()).is_empty());
        let file = std::fs::File::from(job.as_fd().try_clone_to_owned().unwrap());
        let write = |place: usize, len| file.write_all_at(&vec![1; len], place as u64).unwrap();
        write(origin + 8192, 4096);
        write(origin + (1 << 20), 8192);
        write(job.segment.layout().heap(1), 4096);
        let second = (1 << 20)..(1 << 20) + 8192;
        assert_eq!(memory(0..arena.len()), [8192..12288, second.clone()]);
        assert_eq!(memory(0..(1 << 20) + 4096), [8192..12288, 1 << 20..(1 << 20) + 4096]);
        assert_eq!(memory(10000..20000).first(), Some(&(10000..12288)));
        arena.give_back(0..1 << 20).unwrap();
        assert_eq!(memory(0..arena.len()), [second]);
    }

    #[test]
    fn files_in_directories_are_turned_down() {
        let job = Job::create(1, Some(&std::env::temp_dir())).unwrap();
        assert!(matches!(Arena::take(job.as_fd(), 0), Err(ArenaRefused::LimitedFile)));
        assert!(matches!(job.check_arenas(), Err(ArenaRefused::LimitedFile)));
    }

    #[test]
    fn marks_lie_behind_the_arena_and_begin_anew_with_it() {
        let job = job();
        let arena = Arena::take(job.as_fd(), 0).unwrap();
        let last = arena.len() - 1..arena.len();
        assert!(arena.marks().lend(last.clone()) && !arena.marks().lend(last.start..arena.len() + (1 << 30)));
        arena.marks().make_foreign(last.clone());
        assert!(
            !job.segment.page_marks(0).unwrap().lend(last.clone())
                && job.segment.page_marks(1).unwrap().lend(last.clone())
        );
        let other_program = || job.segment.control(0).arena.program.fetch_xor(2, Ordering::Relaxed);
        other_program();
        assert!(Arena::take(job.as_fd(), 0).unwrap().marks().lend(last));
        arena.publish_heirs(true);
        other_program();
        assert!(matches!(Arena::take(job.as_fd(), 0), Err(ArenaRefused::HasHeirs)));
    }

    #[test]
    fn pages_go_from_behind_what_is_mapped_over_them() {
        let job = job();
        let arena = Arena::take(job.as_fd(), 0).unwrap();
        let place = (job.segment.layout().arena(0) + 4096) as u64;
        let file = std::fs::File::from(job.as_fd().try_clone_to_owned().unwrap());
        file.write_all_at(&[1; 8192], place).unwrap();
        arena.give_back_behind(4096..8192).unwrap();
        let mut bytes = [2; 2];
        file.read_exact_at(&mut bytes, place + 4095).unwrap();
        assert_eq!(bytes, [0, 1]);
    }
}

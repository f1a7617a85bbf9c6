//! A job on one node: the file that its peers share, as the launcher creates and watches it and as a peer finds it.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Resource};

use crate::Signal;
use crate::address_space::address_space;
use crate::control::{ABORT_TEXT, AbortRecord, DETAIL_WORDS, MAGIC, Presence, VERSION};
use crate::descriptor;
use crate::job_error::JobError;
use crate::layout::{Layout, MAX_PEERS, MOST_LANES};
use crate::mappings;
use crate::remote_memory::Reach;
use crate::segment::{self, Segment};
use crate::signal;
use crate::threads::Threads;

/// Most bytes of address space that a job's file takes.
const MOST_ADDRESS_SPACE: usize = 16 << 40;
/// What part of a limited address space a job's file may take.
const SHARE_OF_LIMIT: usize = 4;
/// Smallest heap worth having, and what its size is a multiple of, bytes.
const SMALLEST_HEAP: usize = 2 << 20;
/// The peer in an abort record that the launcher wrote.
const NOT_A_PEER: u32 = u32::MAX;
/// The state of an abort record that is there.
const RECORDED: u32 = 2;
/// How often, a millisecond each, a peer waits for the reason of an end that somebody is writing.
const MOST_WAITS_FOR_REASON: u32 = 1000;

/// How a job was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abort {
    /// Which peer ended it; `None`: the launcher.
    pub peer: Option<usize>,
    /// The exit code it asked for.
    pub code: i32,
    /// Why, in a few words.
    pub text: String,
}

/// What has become of a process that was to take part in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It has ended.
    Ended,
    /// It runs another program.
    Replaced,
}

/// How a peer's arena was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaUse {
    /// Whether any process had blocks in it.
    pub used: bool,
    /// Most bytes in use at a time.
    pub most_bytes: u64,
    /// Whether there ever was no room for a block.
    pub exhausted: bool,
}

/// What a job on one node is to be like.
#[derive(Clone, Copy, Debug)]
pub struct JobShape {
    /// How many peers it has.
    pub peers: usize,
    /// How many lanes: fabrics that all peers have in common and that know nothing of each other, so that threads of a
    /// peer need no lock between them if each has a lane to itself. 1 to [`MOST_LANES`].
    pub lanes: usize,
    /// Most bytes of each heap and arena (a few megabytes at least): for programs under a tool that reads all memory
    /// there is.
    pub heap_limit: usize,
    /// Whether it goes on when a peer dies.
    pub keeps_going: bool,
}

impl JobShape {
    /// So many peers with one lane, and heaps as large as can be had.
    pub fn of(peers: usize) -> JobShape {
        JobShape { peers, lanes: 1, heap_limit: usize::MAX, keeps_going: false }
    }

    /// How many ends there are in all lanes.
    fn ends(&self) -> Result<usize, JobError> {
        let JobShape { peers, lanes, .. } = *self;
        if !(1..=MAX_PEERS).contains(&peers) {
            return Err(JobError::Peers(peers));
        }
        if !(1..=MOST_LANES).contains(&lanes) || peers * lanes > MAX_PEERS {
            return Err(JobError::Lanes { lanes, peers });
        }
        Ok(peers * lanes)
    }
}

/// A job's shared file, mapped.
#[derive(Clone)]
pub struct Job {
    pub(crate) segment: Arc<Segment>,
    pub(crate) peers: usize,
}

impl Job {
    /// Creates the file for so many peers: in memory, or in `directory` if one is given. It has no name, and its
    /// descriptor is closed by `exec` unless the launcher changes that in the child.
    ///
    /// # Errors
    /// Says which step failed and why.
    pub fn create(peers: usize, directory: Option<&Path>) -> Result<Job, JobError> {
        Self::create_shaped(&JobShape::of(peers), directory)
    }

    /// The same for a job of that shape.
    ///
    /// # Errors
    /// As for [`Job::create`].
    pub fn create_shaped(shape: &JobShape, directory: Option<&Path>) -> Result<Job, JobError> {
        let ends = shape.ends()?;
        let file = segment::create_file(directory).map_err(|source| JobError::Create { what: "open", source })?;
        let segment = Self::size_and_map(file, ends, shape.heap_limit)?;
        segment.seal();
        // All that anybody looks at unasked; the launcher looks at every peer's, whether or not that peer came far
        // enough to attach.
        segment
            .reserve(0, segment.layout().controls_end())
            .map_err(|source| JobError::Create { what: "reserve memory", source })?;

        let header = segment.header();
        let layout = segment.layout();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        header.version.store(VERSION, Ordering::Relaxed);
        header.peers.store(shape.peers as u32, Ordering::Relaxed);
        header.lanes.store(shape.lanes as u32, Ordering::Relaxed);
        header.total_size.store(layout.total() as u64, Ordering::Relaxed);
        header.heap_size.store(layout.heap_size as u64, Ordering::Relaxed);
        header.processors.store(processors as u32, Ordering::Relaxed);
        header.creator.store(std::process::id(), Ordering::Relaxed);
        header.keeps_going.store(shape.keeps_going.into(), Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok(Job { segment: Arc::new(segment), peers: shape.peers })
    }

    /// The largest heaps that can be had.
    fn size_and_map(file: File, ends: usize, heap_limit: usize) -> Result<Segment, JobError> {
        let mut heap_size = heap_size_wanted(ends).min(heap_limit.max(SMALLEST_HEAP));
        loop {
            let layout = Layout::new(ends, heap_size);
            // The system would not answer: it would end the process.
            let limit = rustix::process::getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
            if layout.total() as u64 > limit {
                return Err(JobError::FileLimit { bytes: layout.total(), limit });
            }
            let sized = rustix::fs::ftruncate(&file, layout.total() as u64).map_err(io::Error::from);
            let handle = descriptor::high(&file).map_err(|source| JobError::Create { what: "descriptor", source })?;
            match sized.and_then(|()| Segment::map(handle.into(), layout)) {
                Ok(segment) => return Ok(segment),
                Err(_) if heap_size > SMALLEST_HEAP => heap_size = (heap_size / 2).max(SMALLEST_HEAP),
                Err(source) => return Err(JobError::Map { bytes: layout.total(), source }),
            }
        }
    }

    /// Joins the job whose file this process has inherited.
    ///
    /// # Errors
    /// If it is not such a file, or cannot be mapped.
    pub fn open(fd: OwnedFd) -> Result<Job, JobError> {
        Self::open_by(Segment::file_of(fd), Segment::map)
    }

    /// As [`Job::open`], by the one mapping that stays for the life of the process.
    pub(crate) fn open_for_life(fd: OwnedFd) -> Result<Job, JobError> {
        Self::open_by(Segment::file_of(fd), Segment::map_for_life)
    }

    fn open_by(file: File, map: impl Fn(File, Layout) -> io::Result<Segment>) -> Result<Job, JobError> {
        let map_error = |source| JobError::Map { bytes: 0, source };
        let probe_layout = Layout::new(1, 0);
        let len = file.metadata().map_err(map_error)?.len();
        if len < probe_layout.total() as u64 {
            return Err(JobError::NotAJob("it is too short"));
        }
        let (shape, heap_size, total_size) = {
            let head = Segment::map(file.try_clone().map_err(map_error)?, probe_layout).map_err(map_error)?;
            let header = head.header();
            if header.magic.load(Ordering::Acquire) != MAGIC {
                return Err(JobError::NotAJob("it begins with something else"));
            }
            if header.version.load(Ordering::Relaxed) != VERSION {
                return Err(JobError::NotAJob("another version made it"));
            }
            let peers = header.peers.load(Ordering::Relaxed) as usize;
            let lanes = header.lanes.load(Ordering::Relaxed) as usize;
            (
                JobShape { lanes, ..JobShape::of(peers) },
                header.heap_size.load(Ordering::Relaxed) as usize,
                header.total_size.load(Ordering::Relaxed) as usize,
            )
        };
        let ends = shape.ends().ok().filter(|_| (SMALLEST_HEAP..=MOST_ADDRESS_SPACE).contains(&heap_size));
        let layout = Layout::new(ends.ok_or(JobError::NotAJob("impossible sizes"))?, heap_size);
        if layout.total() != total_size || (layout.total() as u64) > len {
            return Err(JobError::NotAJob("its parts do not fit together"));
        }
        let segment = map(file, layout).map_err(|source| JobError::Map { bytes: layout.total(), source })?;
        Ok(Job { segment: Arc::new(segment), peers: shape.peers })
    }

    /// The file's descriptor, for the processes that shall inherit it.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.segment.as_fd()
    }

    /// How many peers the job has.
    pub fn peers(&self) -> usize {
        self.peers
    }

    /// How many lanes it has.
    pub fn lanes(&self) -> usize {
        self.segment.layout().ends / self.peers
    }

    /// The number of a peer's end in a lane.
    pub(crate) fn end(&self, lane: usize, peer: usize) -> usize {
        lane * self.peers + peer
    }

    /// Whether `peer` has attached.
    pub fn attached(&self, peer: usize) -> bool {
        self.segment.control(peer).identity.attached.load(Ordering::Acquire) != 0
    }

    /// Whether `peer` has detached in good order.
    pub fn finished(&self, peer: usize) -> bool {
        self.presence(peer) == Presence::Finished
    }

    /// Whether `peer` still takes part.
    pub fn presence(&self, peer: usize) -> Presence {
        self.segment.control(peer).identity.presence.load(Ordering::Acquire).into()
    }

    /// The process that `peer` is, once it has attached.
    pub fn pid(&self, peer: usize) -> Option<u32> {
        self.attached(peer).then(|| self.segment.control(peer).identity.pid.load(Ordering::Relaxed))
    }

    /// Whether the process of a peer that has attached is gone, without a word; what is left may be whoever had started
    /// it. A process may also be one of another name space: then nothing is known.
    pub fn lost(&self, peer: usize) -> Option<Lost> {
        let identity = &self.segment.control(peer).identity;
        let pid = self.pid(peer)?;
        if identity.address_space.load(Ordering::Relaxed) >> 32 != address_space() >> 32 {
            return None;
        }
        let lost = match mappings::is_mapped_by(pid, self.segment.identity()) {
            Ok(Some(false)) => Lost::Replaced,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Lost::Ended,
            _ => return None,
        };
        // After the look: it may have finished just before.
        (self.presence(peer) != Presence::Finished).then_some(lost)
    }

    /// What the threads of the process of `peer` are about; `None` if it is in another name space, or gone.
    pub fn threads(&self, peer: usize) -> Option<Threads> {
        let identity = &self.segment.control(peer).identity;
        let pid = self.pid(peer)?;
        if identity.address_space.load(Ordering::Relaxed) >> 32 != address_space() >> 32 {
            return None;
        }
        Threads::of(pid)
    }

    /// Whether the process of a peer that has attached is no more, as far as can be seen at once: one that its starter
    /// has yet to take note of is still there, and nothing is known of one of another name space.
    pub fn is_gone(&self, peer: usize) -> bool {
        let space = self.segment.control(peer).identity.address_space.load(Ordering::Relaxed);
        let pid = self.pid(peer).and_then(|pid| Pid::from_raw(pid as i32));
        let is_no_more = |pid| rustix::process::test_kill_process(pid) == Err(Errno::SRCH);
        pid.is_some_and(is_no_more) && space >> 32 == address_space() >> 32
    }

    /// What `peer` is doing in each of its lanes, the first one first, in the words of the layer above.
    pub fn activities(&self, peer: usize) -> impl Iterator<Item = [u64; 8]> {
        let records = (0..self.lanes()).map(move |lane| &self.segment.control(self.end(lane, peer)).activity);
        records.map(|record| std::array::from_fn(|word| record[word].load(Ordering::Relaxed)))
    }

    /// What `peer` said it waits for when it was woken last, in the words of the layer above.
    pub fn details(&self, peer: usize) -> [u64; DETAIL_WORDS] {
        let record = &self.segment.control(peer).details;
        let first = record[0].load(Ordering::Acquire);
        std::array::from_fn(|word| if word == 0 { first } else { record[word].load(Ordering::Relaxed) })
    }

    /// Has `peer` look around, if it waits.
    pub fn wake(&self, peer: usize) {
        // One that waits for sockets looks when it is time.
        let _ = signal::send(&self.segment, peer, Signal::Wake);
    }

    /// For how many ordered pairs of different peers the kernel copies between their private memories, as tried by
    /// each; `None` until all have tried.
    pub fn kernel_pairs(&self) -> Option<usize> {
        let peers = self.peers();
        if (self.segment.header().probed.load(Ordering::Acquire) as usize) < peers {
            return None;
        }
        let pairs = (0..peers).flat_map(|peer| (0..peers).map(move |target| (peer, target)));
        let reaches = |&(peer, target): &(usize, usize)| {
            peer != target && Reach::from(self.segment.reach(peer, target).load(Ordering::Relaxed)) == Reach::Kernel
        };
        Some(pairs.filter(reaches).count())
    }

    /// How many bytes the peers have copied to and from each other's memory: through memory that they share, and by the
    /// kernel.
    pub fn copied(&self) -> [u64; 2] {
        let of = |end, way: usize| self.segment.control(end).copied[way].load(Ordering::Relaxed);
        [0, 1].map(|way| (0..self.segment.layout().ends).map(|end| of(end, way)).sum())
    }

    /// How many parts of its memory a peer has lent to windows: such as all peers here have mapped, and others; and for
    /// how many windows it serves peers elsewhere.
    pub fn windows(&self, peer: usize) -> [u64; 3] {
        let of = |end, kind: usize| self.segment.control(end).windows[kind].load(Ordering::Relaxed);
        let ends = || (peer..self.segment.layout().ends).step_by(self.peers());
        [0, 1, 2].map(|kind| ends().map(|end| of(end, kind)).sum())
    }

    /// How many connections a peer has turned away that did not come from a peer of the job, or were given up.
    pub fn turned_away(&self, peer: usize) -> u64 {
        self.segment.control(peer).turned_away.load(Ordering::Relaxed)
    }

    /// How the arena of `peer` was used.
    pub fn arena_use(&self, peer: usize) -> ArenaUse {
        let record = &self.segment.control(peer).arena;
        ArenaUse {
            used: record.user.load(Ordering::Relaxed) != 0,
            most_bytes: record.most_used.load(Ordering::Relaxed),
            exhausted: record.exhausted.load(Ordering::Relaxed) != 0,
        }
    }

    /// How the job was ended, if it was.
    pub fn abort_record(&self) -> Option<Abort> {
        let record = &self.segment.header().abort;
        if record.state.load(Ordering::Acquire) != RECORDED {
            return None;
        }
        let peer = record.peer.load(Ordering::Relaxed);
        let len = (record.text_len.load(Ordering::Relaxed) as usize).min(ABORT_TEXT);
        let text: Vec<u8> = record.text[..len].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        Some(Abort {
            peer: (peer != NOT_A_PEER).then_some(peer as usize),
            code: record.code.load(Ordering::Relaxed),
            text: String::from_utf8_lossy(&text).into_owned(),
        })
    }

    /// Ends the job in the launcher's name: every peer learns of it by [`Signal::Abort`]. The first record stays.
    pub fn set_aborted(&self, code: i32, text: &str) {
        record_abort(&self.segment, None, code, text);
    }
}

/// A peer's way to end the job on its node.
#[derive(Clone)]
pub struct JobEnder {
    segment: Arc<Segment>,
    me: usize,
}

impl JobEnder {
    pub(crate) fn new(segment: &Arc<Segment>, me: usize) -> Self {
        JobEnder { segment: segment.clone(), me }
    }

    /// Ends the job: every peer learns of it by [`Signal::Abort`], and the launcher by the record, unless somebody was
    /// first.
    pub fn end(&self, code: i32, text: &str) {
        record_abort(&self.segment, Some(self.me), code, text);
    }
}

/// Whether the job has been ended.
#[inline]
pub(crate) fn is_aborted(segment: &Segment) -> bool {
    let record = &segment.header().abort;
    match record.state.load(Ordering::Acquire) {
        0 => return false,
        RECORDED => {}
        _ => wait_for_reason(record),
    }
    true
}

/// Waits for the reason that somebody is writing: who ends now must not be seen to end before it is there. Whoever
/// writes it may have been killed.
#[cold]
fn wait_for_reason(record: &AbortRecord) {
    for _ in 0..MOST_WAITS_FOR_REASON {
        if record.state.load(Ordering::Acquire) == RECORDED {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Writes the abort record, unless there is one, and signals every peer in every lane. The record is there afterwards.
pub(crate) fn record_abort(segment: &Segment, peer: Option<usize>, code: i32, text: &str) {
    let record = &segment.header().abort;
    if record.state.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        record.peer.store(peer.map_or(NOT_A_PEER, |peer| peer as u32), Ordering::Relaxed);
        record.code.store(code, Ordering::Relaxed);
        let mut len = text.len().min(ABORT_TEXT);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        for (place, byte) in record.text.iter().zip(text[..len].bytes()) {
            place.store(byte, Ordering::Relaxed);
        }
        record.text_len.store(len as u32, Ordering::Relaxed);
        record.state.store(RECORDED, Ordering::Release);
    } else {
        wait_for_reason(record);
    }
    for end in 0..segment.layout().ends {
        if segment.control(end).identity.attached.load(Ordering::Acquire) != 0 {
            signal::send(segment, end, Signal::Abort);
        }
    }
}

/// How large the heap of each end should be, and its arena: half the physical memory each, unless address space or file
/// size are limited. More would leave programs under valgrind, which has 128 GB of addresses, no room for a second
/// peer.
fn heap_size_wanted(ends: usize) -> usize {
    let system = rustix::system::sysinfo();
    let physical = (system.totalram as usize).saturating_mul(system.mem_unit as usize);
    let limit = |resource| rustix::process::getrlimit(resource).current.map_or(usize::MAX, |bytes| bytes as usize);
    let most = MOST_ADDRESS_SPACE.min(limit(Resource::As) / SHARE_OF_LIMIT).min(limit(Resource::Fsize));
    // The heap, and the arena behind it.
    let share = most.saturating_sub(Layout::new(ends, 0).total()) / (2 * ends);
    // Rounded down: a file even a byte beyond the limit would cost us a signal.
    ((physical / 2).min(share) / SMALLEST_HEAP * SMALLEST_HEAP).max(SMALLEST_HEAP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NodeFabric, SignalSet, Waiting};

    fn reopened(job: &Job) -> Result<Job, JobError> {
        Job::open(job.as_fd().try_clone_to_owned().unwrap())
    }

    #[test]
    fn an_opened_job_is_the_created_one() {
        let job = Job::create_shaped(&JobShape { lanes: 2, ..JobShape::of(3) }, None).unwrap();
        let other = reopened(&job).unwrap();
        assert_eq!(other.segment.layout(), job.segment.layout());
        assert!(!job.attached(1) && job.pid(1).is_none());
        job.segment.control(job.end(1, 1)).activity[5].store(99, Ordering::Relaxed);
        assert_eq!(other.activities(1).collect::<Vec<_>>(), [[0; 8], [0, 0, 0, 0, 0, 99, 0, 0]]);
    }

    #[test]
    fn details_are_read_as_they_were_published() {
        let fabric = NodeFabric::threads(1).unwrap().remove(0);
        let job = fabric.job();
        assert_eq!(job.details(0), [0; DETAIL_WORDS]);
        let words = std::array::from_fn(|word| word as u64 + 1);
        fabric.activity().publish_details(&words);
        assert_eq!(job.details(0), words);
    }

    #[test]
    fn heaps_keep_to_a_limit() {
        let heap = |limit| {
            Job::create_shaped(&JobShape { heap_limit: limit, ..JobShape::of(2) }, None)
                .unwrap()
                .segment
                .layout()
                .heap_size
        };
        assert_eq!([heap(8 << 20), heap(0)], [8 << 20, SMALLEST_HEAP]);
    }

    #[test]
    fn other_files_are_turned_down() {
        let short = segment::create_file(None).unwrap();
        assert!(matches!(Job::open(short.into()), Err(JobError::NotAJob(_))));
        let zeros = segment::create_file(None).unwrap();
        zeros.set_len(1 << 30).unwrap();
        assert!(matches!(Job::open(zeros.into()), Err(JobError::NotAJob(_))));
        type Damage = fn(&crate::control::JobHeader);
        let damages: [Damage; 9] = [
            |header| header.version.store(VERSION + 1, Ordering::Relaxed),
            |header| header.peers.store(0, Ordering::Relaxed),
            |header| header.peers.store(u32::MAX, Ordering::Relaxed),
            |header| header.lanes.store(0, Ordering::Relaxed),
            |header| header.lanes.store(2, Ordering::Relaxed),
            |header| header.lanes.store(MOST_LANES as u32 + 1, Ordering::Relaxed),
            |header| header.lanes.store(u32::MAX, Ordering::Relaxed),
            |header| header.heap_size.store(u64::MAX, Ordering::Relaxed),
            |header| header.total_size.store(4096, Ordering::Relaxed),
        ];
        for damage in damages {
            let job = Job::create(2, None).unwrap();
            damage(job.segment.header());
            assert!(matches!(reopened(&job), Err(JobError::NotAJob(_))));
        }
    }

    #[test]
    fn impossible_numbers_are_turned_down() {
        assert!(matches!(Job::create(0, None), Err(JobError::Peers(0))));
        assert!(matches!(Job::create(MAX_PEERS + 1, None), Err(JobError::Peers(_))));
        for (peers, lanes) in [(1, 0), (1, MOST_LANES + 1), (MAX_PEERS / 2 + 1, 2)] {
            let refused = Job::create_shaped(&JobShape { lanes, ..JobShape::of(peers) }, None);
            assert!(matches!(refused, Err(JobError::Lanes { .. })), "{lanes} lanes for {peers} peers");
        }
        let job = Job::create(1, None).unwrap();
        assert!(matches!(NodeFabric::attach(&job, 1), Err(JobError::NoSuchPeer { me: 1, peers: 1 })));
        let _fabric = NodeFabric::attach(&job, 0).unwrap();
        assert!(matches!(NodeFabric::attach(&job, 0), Err(JobError::Twice(0))));
    }

    #[test]
    fn the_first_abort_is_kept_and_everyone_is_told() {
        let mut fabrics = NodeFabric::threads(2).unwrap();
        let job = fabrics[0].job();
        assert_eq!(job.abort_record(), None);
        // Cut between characters, not within one.
        let text = "ä".repeat(ABORT_TEXT);
        fabrics[1].abort(7, &text);
        fabrics[0].abort(8, "too late");
        job.set_aborted(9, "too late as well");
        let record = job.abort_record().unwrap();
        assert_eq!((record.peer, record.code), (Some(1), 7));
        assert_eq!(record.text, "ä".repeat(ABORT_TEXT / 2));
        for fabric in &mut fabrics {
            assert!(fabric.job_aborted());
            assert_eq!(fabric.take_signals(), SignalSet(Signal::Abort as u32));
        }
    }

    #[test]
    fn nobody_ends_before_the_reason_is_there() {
        let fabrics = NodeFabric::threads(2).unwrap();
        let job = fabrics[0].job();
        let state = &job.segment.header().abort.state;
        for ends in [|job: &Job| job.set_aborted(1, "too late"), |job: &Job| assert!(is_aborted(&job.segment))] {
            // Somebody is writing it.
            state.store(1, Ordering::Relaxed);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(20));
                    state.store(RECORDED, Ordering::Release);
                });
                ends(&job);
                assert_eq!(state.load(Ordering::Acquire), RECORDED);
            });
        }
    }

    #[test]
    fn an_abort_ends_the_wait_for_peers_that_never_come() {
        let job = Job::create(2, None).unwrap();
        job.set_aborted(1, "the other one could not be started");
        assert!(matches!(NodeFabric::attach(&job, 0), Err(JobError::Aborted)));
    }
}

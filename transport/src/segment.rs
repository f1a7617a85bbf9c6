//! The job's file on this node, mapped as far as it is in use ([`mapping`](crate::mapping)).
//!
//! One sparse file with no name: it goes with its last descriptor and mapping, so nothing is left behind whatever
//! happens to the job. Pages are reserved (`fallocate`) before they are touched, so a shortage of memory is an error
//! here and never a SIGBUS later.
//!
//! A process that was started by a launcher maps the file once and for its life, whoever in it comes first: the
//! allocator behind its `malloc`, or the library. Whoever comes second finds the mapping in the kernel's list.
//!
//! Invariant: the file is as long as [`Layout::total`] says, which is checked once, in [`Segment::map`]; every offset
//! that `Layout` computes for an existing peer lies within it, and in front of the heaps all is mapped. Whoever looks
//! into a heap or arena has asked [`Segment::has`] before. No Rust reference to mapped bytes is ever formed, only to
//! atomics.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use rustix::fs::{FallocateFlags, MemfdFlags, Mode, OFlags, SealFlags};

use crate::control::{Control, DETAIL_WORDS, DirtyWord, JobHeader};
use crate::descriptor::{HandedDown, Identity, Kept, raised};
use crate::handover::{fetch, fetch_to_write};
use crate::layout::{CLAIM_WORDS, Layout, Part};
use crate::mapping::Mapping;
use crate::mappings::{self, Again, Mapped};
use crate::page_marks::{self, PageMarks};
use crate::ring::{Cell, RingMemory};
use crate::{Queue, ReadSpan};

/// Where one peer says what it is doing, for whoever watches the job. What the words mean belongs to the layer above.
pub struct ActivityRecord {
    words: NonNull<[AtomicU64; 8]>,
    details: NonNull<[AtomicU64; DETAIL_WORDS]>,
    /// Keeps them mapped.
    _segment: Arc<Segment>,
}

impl ActivityRecord {
    pub(crate) fn of(segment: &Arc<Segment>, peer: usize) -> ActivityRecord {
        let control = segment.control(peer);
        ActivityRecord {
            words: NonNull::from(&*control.activity),
            details: NonNull::from(&*control.details),
            _segment: segment.clone(),
        }
    }

    /// Publishes words, from number `first` on.
    #[inline(always)]
    pub fn publish<const N: usize>(&self, first: usize, words: [u64; N]) {
        // SAFETY: atomics in memory that is mapped as long as `_segment` lives.
        let record = unsafe { self.words.as_ref() };
        for (place, word) in record[first..first + N].iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// What it has published, from word number `first` on.
    pub fn read<const N: usize>(&self, first: usize) -> [u64; N] {
        // SAFETY: atomics in memory that is mapped as long as `_segment` lives.
        let record = unsafe { self.words.as_ref() };
        std::array::from_fn(|word| record[first + word].load(Ordering::Relaxed))
    }

    /// Publishes what the peer waits for in more words; whoever sees the first one sees the rest.
    pub fn publish_details(&self, words: &[u64; DETAIL_WORDS]) {
        // SAFETY: atomics in memory that is mapped as long as `_segment` lives.
        let record = unsafe { self.details.as_ref() };
        for (place, &word) in record.iter().zip(words).skip(1) {
            place.store(word, Ordering::Relaxed);
        }
        record[0].store(words[0], Ordering::Release);
    }
}

/// Where one peer says how many connections of strangers it has turned away.
pub(crate) struct TurnedAwayRecord {
    segment: Arc<Segment>,
    end: usize,
}

impl TurnedAwayRecord {
    pub(crate) fn of(segment: &Arc<Segment>, end: usize) -> TurnedAwayRecord {
        TurnedAwayRecord { segment: segment.clone(), end }
    }

    pub(crate) fn publish(&self, count: u64) {
        self.segment.control(self.end).turned_away.store(count, Ordering::Relaxed);
    }
}

/// Where the control blocks of a lane lie in a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlsPlace(usize);

/// The mapped file.
pub(crate) struct Segment {
    file: Kept,
    mapping: Mapping,
    /// What of an arena the process has at other addresses, too.
    again: Again,
    layout: Layout,
    /// Where all heaps and arenas begin, and how long they are together.
    heaps: (usize, usize),
}

// SAFETY: `mapping` has a pointer to mapped memory, which is both; all access to mapped memory is by atomics, or by raw
// copies that the protocol of rings and remote memory orders.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

/// A new file without a name: in `directory` if one is given, otherwise in memory, or, where that is refused, in
/// `/dev/shm` or the directory for temporary files.
pub(crate) fn create_file(directory: Option<&Path>) -> io::Result<File> {
    if let Some(directory) = directory {
        return create_file_in(directory);
    }
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Before Linux 6.3 nobody could ask for a file that is never to be executed.
    let create = |flags| rustix::fs::memfd_create("rwmpi job", flags);
    match create(flags | MemfdFlags::NOEXEC_SEAL).or_else(|_| create(flags)) {
        Ok(fd) => Ok(raised(fd).into()),
        Err(_) => create_file_in(Path::new("/dev/shm")).or_else(|_| create_file_in(&std::env::temp_dir())),
    }
}

fn create_file_in(directory: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    if let Ok(fd) = rustix::fs::open(directory, flags | OFlags::TMPFILE, mode) {
        return Ok(raised(fd).into());
    }
    // A file system without nameless files: one that loses its name at once.
    let path = directory.join(format!("rwmpi-{}", std::process::id()));
    let fd = rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
    rustix::fs::unlink(&path)?;
    Ok(raised(fd).into())
}

fn heaps_of(layout: &Layout) -> (usize, usize) {
    let start = layout.heap(0);
    (start, layout.total() - start)
}

impl Segment {
    /// Maps a file that is laid out as `layout` says.
    ///
    /// # Errors
    /// What the system says; `InvalidData` if the file is too short.
    pub(crate) fn map(file: File, layout: Layout) -> io::Result<Segment> {
        if file.metadata()?.len() < layout.total() as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is too short"));
        }
        let mapping = Mapping::new(&file, &layout)?;
        let file = Kept::inherited(file.into(), HandedDown::job())?;
        Ok(Segment { file, mapping, again: Again::default(), layout, heaps: heaps_of(&layout) })
    }

    /// The mapping of this file that the process has for its life; made now if there is none yet.
    ///
    /// # Errors
    /// As for [`Segment::map`].
    pub(crate) fn map_for_life(file: File, layout: Layout) -> io::Result<Segment> {
        // To look takes memory, for which an allocator may map the file: whoever has not found it looks again.
        let find = || mappings::find(&file, layout.heap(0));
        let mut segment = match find().or_else(find) {
            // Only this function maps the front of an inherited file, and what it maps stays.
            Some(Mapped { start: base, again }) => {
                let mapping = Mapping::found(base, &layout);
                let file = Kept::inherited(file.into(), HandedDown::job())?;
                return Ok(Segment { file, mapping, again, layout, heaps: heaps_of(&layout) });
            }
            None => Segment::map(file, layout)?,
        };
        segment.mapping.keep();
        Ok(segment)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(crate) fn identity(&self) -> Identity {
        self.file.identity()
    }

    /// Its descriptor, if that can be had: programs close descriptors that they do not know.
    pub(crate) fn file(&self) -> Option<BorrowedFd<'_>> {
        self.file.current()
    }

    /// Has the file stay as long as it is: a process that cut it would end all that look at what it had. A file in a
    /// directory can't be sealed.
    pub(crate) fn seal(&self) {
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        let _ = rustix::fs::fcntl_add_seals(&self.file, seals);
    }

    /// Puts pages behind these bytes of the file: by the descriptor, or, if that is not the file any more, by the
    /// mapping.
    ///
    /// # Errors
    /// If there are none left.
    pub(crate) fn reserve(&self, offset: usize, len: usize) -> io::Result<()> {
        let Some(file) = self.file() else { return self.populate(offset, len) };
        loop {
            match rustix::fs::fallocate(file, FallocateFlags::empty(), offset as u64, len as u64) {
                Err(rustix::io::Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
    }

    fn populate(&self, offset: usize, len: usize) -> io::Result<()> {
        // SAFETY: the call has no conditions.
        let page = unsafe { nix::libc::sysconf(nix::libc::_SC_PAGESIZE) } as usize;
        let start = offset / page * page;
        let end = (offset + len).next_multiple_of(page);
        // SAFETY: puts memory behind bytes that keep their values; nobody has references to mapped bytes.
        Ok(unsafe {
            rustix::mm::madvise(self.at(start).as_ptr().cast(), end - start, rustix::mm::Advice::LinuxPopulateWrite)
        }?)
    }

    /// Takes the pages from behind these bytes, which read as zero from then on. By the mapping, not the descriptor:
    /// the program may have closed that and got its number again for something else.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn give_back(&self, offset: usize, len: usize) -> io::Result<()> {
        // SAFETY: only changes what the bytes are; nobody has references to mapped bytes.
        Ok(unsafe { rustix::mm::madvise(self.at(offset).as_ptr().cast(), len, rustix::mm::Advice::LinuxRemove) }?)
    }

    /// The same by the descriptor, whether or not these bytes are mapped.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn punch(&self, offset: usize, len: usize) -> io::Result<()> {
        let file = self.file().ok_or(rustix::io::Errno::BADF)?;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(rustix::fs::fallocate(file, flags, offset as u64, len as u64)?)
    }

    /// Whether the first `end` bytes of the heap or arena of a peer's end are mapped; has them mapped if it can be
    /// done.
    ///
    /// # Panics
    /// If it has not so many.
    #[inline]
    pub(crate) fn has(&self, part: Part, owner: usize, end: usize) -> bool {
        let region = 2 * owner + part as usize;
        end <= self.mapping.known(region) || {
            assert!(end <= self.layout.heap_size, "beyond the end of a heap");
            self.mapping.grow(&self.file, region, end)
        }
    }

    /// How much of it is known to be mapped.
    pub(crate) fn known(&self, part: Part, owner: usize) -> usize {
        self.mapping.known(2 * owner + part as usize)
    }

    /// Has these bytes, whole pages that are mapped, in core dumps.
    pub(crate) fn show_in_dumps(&self, offset: usize, len: usize) {
        self.advise(offset, len, rustix::mm::Advice::LinuxDoDump);
    }

    /// Has them no more.
    pub(crate) fn hide_from_dumps(&self, offset: usize, len: usize) {
        self.advise(offset, len, rustix::mm::Advice::LinuxDontDump);
    }

    fn advise(&self, offset: usize, len: usize, dumps: rustix::mm::Advice) {
        // Where this is refused, so be it.
        // SAFETY: changes nothing but what a dump has.
        let _ = unsafe { rustix::mm::madvise(self.at(offset).as_ptr().cast(), len, dumps) };
    }

    /// The address of the byte at `offset`, which must lie in the file.
    #[inline(always)]
    pub(crate) fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset <= self.layout.total());
        // SAFETY: all callers in this crate pass offsets of `Layout`, plus what they checked against its sizes.
        unsafe { self.mapping.base().add(offset) }
    }

    /// The offset into the file of an address, if it lies in the mapping.
    #[inline]
    pub(crate) fn offset_of(&self, address: *const u8) -> Option<usize> {
        let offset = (address as usize).wrapping_sub(self.mapping.base().as_ptr() as usize);
        (offset < self.layout.total()).then_some(offset)
    }

    /// The offset into the file of bytes that start in the mapping, or lie in what is mapped again.
    #[inline]
    pub(crate) fn offset_of_span(&self, span: ReadSpan) -> Option<usize> {
        self.offset_of(span.start()).or_else(|| self.again.offset_of(span.start() as usize, span.len()))
    }

    /// The job's header.
    pub(crate) fn header(&self) -> &JobHeader {
        // SAFETY: the mapping begins with it; it consists of atomics, for which any bytes are valid.
        unsafe { self.mapping.base().cast().as_ref() }
    }

    /// A peer's control block.
    #[inline(always)]
    pub(crate) fn control(&self, peer: usize) -> &Control {
        debug_assert!(peer < self.layout.ends);
        // SAFETY: each control part begins with one; it consists of atomics, for which any bytes are valid.
        unsafe { self.at(self.layout.control(peer)).cast().as_ref() }
    }

    /// Where the control blocks of the ends from that one on lie, for [`Segment::control_of`].
    pub(crate) fn controls_from(&self, end: usize) -> ControlsPlace {
        ControlsPlace(self.layout.control(end))
    }

    /// As [`Segment::control`], of the end that comes so many after the first of these. That end must exist.
    #[inline(always)]
    pub(crate) fn control_of(&self, controls: ControlsPlace, after: usize) -> &Control {
        let place = controls.0 + after * self.layout.control_len;
        debug_assert!(place < self.layout.controls_end());
        // SAFETY: as in `control`.
        unsafe { self.at(place).cast().as_ref() }
    }

    /// A word of the bitmap in which senders register with `peer`. Bits are set (AcqRel) by the sender they stand for,
    /// before it counts up `openings`; loaded (Acquire) by `peer` after that.
    pub(crate) fn opened(&self, peer: usize, queue: Queue, word: usize) -> &AtomicU64 {
        debug_assert!(word < self.layout.bitmap_words);
        // SAFETY: lies in the mapping, aligned, and is used as an atomic only.
        unsafe { self.at(self.layout.opened(peer, queue, word)).cast().as_ref() }
    }

    /// A word of `peer`'s dirty bitmap.
    #[inline]
    pub(crate) fn dirty(&self, peer: usize, queue: Queue, word: usize) -> &DirtyWord {
        debug_assert!(word < self.layout.bitmap_words);
        // SAFETY: as for `opened`.
        unsafe { self.at(self.layout.dirty(peer, queue, word)).cast().as_ref() }
    }

    /// How `peer` reaches `target`'s private memory. Written by `peer` before it counts itself in `probed`; loaded by
    /// all after that.
    pub(crate) fn reach(&self, peer: usize, target: usize) -> &AtomicU8 {
        debug_assert!(target < self.layout.ends);
        // SAFETY: as for `opened`.
        unsafe { self.at(self.layout.reach(peer, target)).cast().as_ref() }
    }

    /// A claim word of `peer`. Stored (Release) by its owner, changed (AcqRel) by any peer.
    ///
    /// # Panics
    /// If there is no such word.
    #[inline]
    pub(crate) fn claim(&self, peer: usize, index: usize) -> &AtomicU64 {
        assert!(peer < self.layout.ends && index < CLAIM_WORDS, "no such claim word");
        // SAFETY: as for `opened`.
        unsafe { self.at(self.layout.claim(peer, index)).cast().as_ref() }
    }

    /// The marks of the pages of that peer's arena; has them mapped, if that can be done.
    #[inline]
    pub(crate) fn page_marks(&self, peer: usize) -> Option<PageMarks<'_>> {
        if !self.mapping.has_marks(&self.file, peer) {
            return None;
        }
        let (place, len) = (self.layout.arena_len(), page_marks::bytes_for(self.layout.heap_size));
        let first = self.heap_part(self.layout.arena(peer) + place, len).cast::<AtomicU64>();
        // SAFETY: these bytes are mapped, as was just seen, behind whole pages, and live as long as the segment; for
        // atomics any bytes are valid. All who use them are threads of one process, by the same atomics.
        Some(PageMarks::of(unsafe { std::slice::from_raw_parts(first.as_ptr(), len / size_of::<AtomicU64>()) }))
    }

    /// No peer uses memory of that peer's arena any more. The arena is with the first lane's end.
    pub(crate) fn forget_lent(&self, peer: usize) {
        let end = self.control(peer).arena.end.load(Ordering::Relaxed) as usize;
        if let Some(marks) = self.page_marks(peer) {
            marks.forget_lent(0..end.min(self.layout.arena_len()));
        }
    }

    /// A word of the heaps and arenas.
    ///
    /// # Panics
    /// If it does not lie there, or is not aligned.
    #[inline]
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        let size = size_of::<AtomicU64>();
        assert!(offset.is_multiple_of(size), "a word that is not aligned");
        // SAFETY: within the mapping, as `heap_part` checks; for atomics any bytes are valid. Who lends memory to peers
        // uses atomics for such words alike.
        unsafe { self.heap_part(offset, size).cast().as_ref() }
    }

    /// Has the line of such a word fetched.
    #[inline]
    pub(crate) fn fetch_word(&self, offset: usize, to_write: bool) {
        let line = ptr::from_ref(self.word(offset)).cast();
        if to_write { fetch_to_write(line) } else { fetch(line) }
    }

    /// The address of `len` bytes of the heaps and arenas.
    ///
    /// # Panics
    /// If they do not lie there.
    #[inline]
    pub(crate) fn heap_part(&self, offset: usize, len: usize) -> NonNull<u8> {
        let (start, all) = self.heaps;
        let place = offset.wrapping_sub(start);
        assert!(place <= all && len <= all - place, "not in the heaps");
        self.at(offset)
    }

    /// Puts pages behind the ring from `source` to `owner`: its cells and its counter.
    ///
    /// # Errors
    /// If there are none left.
    pub(crate) fn reserve_ring(&self, owner: usize, queue: Queue, source: usize) -> io::Result<()> {
        self.reserve(self.layout.consumed(owner, queue, source), size_of::<AtomicU64>())?;
        self.reserve(self.layout.cells(owner, queue, source), self.layout.cells_len())
    }

    /// The ring from `source` to `owner`. Only after its pages were reserved.
    pub(crate) fn ring(self: &Arc<Self>, owner: usize, queue: Queue, source: usize) -> RingMemory {
        assert!(owner < self.layout.ends && source < self.layout.ends);
        let cells = self.at(self.layout.cells(owner, queue, source)).cast::<Cell>();
        let consumed = self.at(self.layout.consumed(owner, queue, source)).cast();
        let (data, batons) = match queue {
            Queue::Messages => {
                let batons = self.at(self.layout.batons(owner, source));
                let batons = Some((batons, self.layout.batons_of_two));
                ((self.at(self.layout.data(owner, source)), self.layout.data_size), batons)
            }
            Queue::Requests => ((NonNull::dangling(), 0), None),
        };
        // SAFETY: the layout gives each ring bytes of its own in the mapping, and each two peers batons, which the
        // `Arc` keeps; a new file is zero.
        unsafe { RingMemory::new(cells, consumed, data, batons, self.clone()) }
    }

    /// Takes over a descriptor that this process inherited.
    pub(crate) fn file_of(fd: OwnedFd) -> File {
        fd.into()
    }
}

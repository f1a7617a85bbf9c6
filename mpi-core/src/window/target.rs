//! What a rank knows of another's memory, and whether an access stays within.

use std::cell::Cell;
use std::rc::Rc;

use rwmpi_transport::{AtomicWord, ElementLock, LockedElements, ReadSpan, Reading, RemoteAddress, WriteSpan};

use super::elsewhere::There;
use super::{Flavour, Window};
use crate::activity::Call;
use crate::datatype::Datatype;
use crate::engine::Failure;
use crate::error::ErrorClass;
use crate::process::Process;
use crate::tuning::Tuning;
use crate::untyped::Elements;
use crate::{Error, Result};

/// A rank of a window.
pub(super) struct Target {
    pub(super) peer: u32,
    /// Bytes of its memory.
    pub(super) size: u64,
    /// How many bytes make one of a displacement.
    pub(super) unit: i64,
    /// `None`: it is on another node.
    pub(super) memory: Option<Rc<Memory>>,
    /// What of its memory this process has mapped, for short operations: all of it, or nothing.
    pub(super) mapped: WriteSpan<'static>,
    /// By which the processor changes elements there in short operations, if it does.
    pub(super) word_lock: Option<ElementLock>,
}

impl Target {
    /// All of its memory, if this process has that mapped; else nothing.
    pub(super) fn direct(&self) -> WriteSpan<'static> {
        let direct = self.memory.as_ref().and_then(|memory| memory.direct());
        let size = usize::try_from(self.size).ok();
        direct.zip(size).and_then(|(span, size)| span.part_within(0, size)).unwrap_or(WriteSpan::EMPTY)
    }
}

/// Memory of a peer, and how this rank uses it: which way that is, is decided once.
pub(super) struct Memory {
    peer: u32,
    address: RemoteAddress,
    /// Where it lies in this process, if it does; else the kernel copies.
    direct: Option<WriteSpan<'static>>,
    lock: ElementLock,
    /// How many elements accumulates of several have changed one by one since they last kept the others out.
    one_by_one: Cell<u64>,
}

impl Memory {
    /// `None` if no memory is shared with the peer at all.
    pub(super) fn new(process: &Process, peer: u32, address: RemoteAddress) -> Option<Memory> {
        let mut engine = process.engine();
        let (direct, lock) = (engine.direct(peer, &address), engine.element_lock(peer, &address)?);
        Some(Memory { peer, address, direct, lock, one_by_one: Cell::new(0) })
    }

    /// How many bytes it has.
    pub(super) fn size(&self) -> u64 {
        self.address.len
    }

    #[inline]
    pub(super) fn direct(&self) -> Option<WriteSpan<'static>> {
        self.direct
    }

    #[inline]
    pub(super) fn lock(&self) -> &ElementLock {
        &self.lock
    }
}

/// Where an access goes: so many elements, all of whose bytes lie in some memory.
pub(super) struct Place<'a> {
    window: &'a Window,
    memory: Rc<Memory>,
    /// From the beginning of the memory.
    offset: i64,
    pub(super) count: u64,
    pub(super) datatype: &'a Datatype,
}

impl Window {
    /// Counts this rank's memory for reports: whether all use it by loads, stores and the processor's operations.
    pub(super) fn count_own(&self) {
        let own = &self.shared.targets[self.rank()];
        if let Some(memory) = own.memory.as_ref().filter(|_| own.size > 0) {
            let engine = self.process().engine();
            engine.count_window(!memory.lock.is_for_all());
            if self.shared.elsewhere.is_some() {
                engine.count_served_window();
            }
        }
    }

    /// Where the elements lie that an access names, if the target is of this node.
    ///
    /// # Errors
    /// Not within the target's memory.
    #[inline]
    pub(super) fn place<'a>(
        &'a self,
        rank: usize,
        displacement: i64,
        count: u64,
        datatype: &'a Datatype,
    ) -> Result<Place<'a>> {
        let offset = displacement.checked_mul(self.shared.targets[rank].unit);
        let offset = offset.ok_or_else(|| self.out_of_range(rank, displacement.into(), count, datatype))?;
        self.place_at(rank, offset, count, datatype)
    }

    /// The same, so many bytes from where the target's memory begins; where memory comes and goes, from address 0.
    #[inline]
    pub(super) fn place_at<'a>(
        &'a self,
        rank: usize,
        offset: i64,
        count: u64,
        datatype: &'a Datatype,
    ) -> Result<Place<'a>> {
        if self.shared.flavour == Flavour::Dynamic {
            let (memory, offset) = self.attached_place(rank, offset, datatype.reach(count))?;
            return Ok(Place { window: self, memory, offset, count, datatype });
        }
        let Target { unit, ref memory, .. } = self.shared.targets[rank];
        match memory {
            Some(memory) if self.is_within(rank, offset, count, datatype) => {
                Ok(Place { window: self, memory: memory.clone(), offset, count, datatype })
            }
            _ => Err(self.out_of_range(rank, i128::from(offset) / i128::from(unit.max(1)), count, datatype)),
        }
    }

    /// What an access names at a target of another node.
    ///
    /// # Errors
    /// Not within the target's memory.
    pub(super) fn there(&self, rank: usize, displacement: i64, count: u64, datatype: &Datatype) -> Result<There> {
        let out_of_range = || self.out_of_range(rank, displacement.into(), count, datatype);
        let offset = displacement.checked_mul(self.shared.targets[rank].unit).ok_or_else(out_of_range)?;
        match self.shared.flavour {
            Flavour::Dynamic => self.check_attached_elsewhere(rank, offset, datatype.reach(count))?,
            _ if self.is_within(rank, offset, count, datatype) => {}
            _ => return Err(out_of_range()),
        }
        Ok(There { offset, count, datatype: datatype.clone() })
    }

    /// Whether the bytes of such elements, so many bytes from where a target's memory begins, are within it.
    #[inline]
    fn is_within(&self, rank: usize, offset: i64, count: u64, datatype: &Datatype) -> bool {
        let ends = || {
            let (low, end) = datatype.reach(count)?;
            Some((offset.checked_add(low)?, offset.checked_add(end)?))
        };
        let size = self.shared.targets[rank].size;
        ends().is_some_and(|(low, end)| (low >= 0 && end.cast_unsigned() <= size) || low == end)
    }

    #[cold]
    fn out_of_range(&self, rank: usize, displacement: i128, count: u64, datatype: &Datatype) -> Error {
        let Target { size, unit, .. } = self.shared.targets[rank];
        let bytes = match datatype.reach(count).map(|(low, end)| (i128::from(low), i128::from(end))) {
            Some((low, end)) => {
                let begin = displacement.saturating_mul(unit.into());
                format!("bytes {} to {}", begin + low, begin + end)
            }
            None => "more bytes than memory has".to_owned(),
        };
        let what = format!(
            "{bytes} of target {rank} are not within its memory of {size} bytes (displacement {displacement} in units of {unit} bytes, \
             {count} elements of {} bytes)",
            datatype.size()
        );
        self.error(ErrorClass::RmaRange, what)
    }

    pub(super) fn failed(&self, failure: Failure) -> Error {
        self.shared.communicator.failed(Call::UseWindow)(failure)
    }
}

impl Place<'_> {
    /// The elements where this process has them, if it has.
    #[inline]
    pub(super) fn direct(&self) -> Option<Elements> {
        Elements::within(self.memory.direct?, self.offset, self.count, self.datatype)
    }

    /// The bytes there, if they lie side by side.
    #[inline]
    pub(super) fn direct_run(&self) -> Option<WriteSpan<'static>> {
        let (offset, len) = self.datatype.run(self.count)?;
        let start = usize::try_from(self.offset.checked_add(offset)?).ok()?;
        let span = self.memory.direct?;
        let is_within = start <= span.len() && len <= (span.len() - start) as u64;
        is_within.then(|| span.part(start, len as usize))
    }

    /// `len` bytes, so far from where the elements begin, if this process has them.
    #[inline]
    pub(super) fn direct_part(&self, offset: i64, len: usize) -> Option<WriteSpan<'static>> {
        let (start, span) = (usize::try_from(self.offset + offset).ok()?, self.memory.direct?);
        (start <= span.len() && len <= span.len() - start).then(|| span.part(start, len))
    }

    /// One element of another type, so far from where the elements begin.
    pub(super) fn direct_element(&self, offset: i64, datatype: &Datatype) -> Option<Elements> {
        Elements::within(self.memory.direct?, self.offset + offset, 1, datatype)
    }

    /// Whether an element of so many bytes, so far from where these begin, is changed under the lock.
    #[inline]
    pub(super) fn is_locked(&self, element: WriteSpan<'_>) -> bool {
        self.memory.lock.is_for(element.start().addr(), element.len())
    }

    /// Whether all are.
    #[inline]
    pub(super) fn all_are_locked(&self) -> bool {
        self.memory.lock.is_for_all()
    }

    pub(super) fn one_by_one(&self) -> &Cell<u64> {
        &self.memory.one_by_one
    }

    pub(super) fn lock(&self) -> LockedElements<'_> {
        self.memory.lock.lock()
    }

    pub(super) fn tuning(&self) -> &Tuning {
        self.window.process().tuning()
    }

    /// Changes a word there that is not under the lock by one atomic operation.
    #[inline]
    pub(super) fn change<R>(&self, word: AtomicWord<'_>, change: impl FnOnce(AtomicWord<'_>) -> R) -> R {
        self.memory.lock.change(word, change)
    }

    /// Bytes of the elements, packed.
    ///
    /// # Errors
    /// More than there can be.
    pub(super) fn bytes(&self) -> Result<usize> {
        Ok(self.datatype.packed_size(self.count)? as usize)
    }

    /// Copies packed elements there.
    pub(super) fn write(&self, packed: ReadSpan<'_>) -> Result<()> {
        if let Some(elements) = self.direct() {
            elements.unpack_span(packed);
            return Ok(());
        }
        let Memory { peer, address, .. } = &*self.memory;
        let mut engine = self.window.process().engine();
        let mut at = 0;
        let written = self.datatype.for_each_run(self.count, &mut |offset, len| {
            let from = packed.part(at, len as usize);
            at += len as usize;
            engine.write_published(*peer, address, (self.offset + offset) as usize, from)
        });
        drop(engine);
        written.map_err(|failure| self.window.failed(failure))
    }

    /// Copies the elements from there, packed.
    pub(super) fn read(&self, packed: WriteSpan<'_>) -> Result<()> {
        if let Some(elements) = self.direct() {
            elements.pack_span(packed);
            return Ok(());
        }
        let Memory { peer, address, .. } = &*self.memory;
        let mut engine = self.window.process().engine();
        let mut at = 0;
        let read = self.datatype.for_each_run(self.count, &mut |offset, len| {
            let into = packed.part(at, len as usize);
            at += len as usize;
            engine.read_published(*peer, address, (self.offset + offset) as usize, into, Reading::alone(len))
        });
        drop(engine);
        read.map_err(|failure| self.window.failed(failure))
    }

    /// Nothing but a process that has the memory mapped can do that.
    #[cold]
    pub(super) fn not_mapped(&self) -> Error {
        let what = format!(
            "this process has no room to map the memory of rank {}, so it can't change elements of it as others do",
            self.window.shared.communicator.rank_of(self.memory.peer)
        );
        self.window.error(ErrorClass::NoMemory, what)
    }
}

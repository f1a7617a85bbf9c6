//! What a rank knows of another's memory, and whether an access stays within.

use std::rc::Rc;

use rwmpi_transport::{AtomicWord, ElementLock, LockedElements, ReadSpan, Reading, RemoteAddress, WriteSpan};

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
    pub(super) memory: Rc<Memory>,
}

/// Memory of a peer, and how this rank uses it: which way that is, is decided once.
pub(super) struct Memory {
    peer: u32,
    address: RemoteAddress,
    /// Where it lies in this process, if it does; else the kernel copies.
    direct: Option<WriteSpan<'static>>,
    lock: ElementLock,
}

impl Memory {
    /// `None` if no memory is shared with the peer at all.
    pub(super) fn new(process: &Process, peer: u32, address: RemoteAddress) -> Option<Memory> {
        let mut engine = process.engine();
        let (direct, lock) = (engine.direct(peer, &address), engine.element_lock(peer, &address)?);
        Some(Memory { peer, address, direct, lock })
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
        if own.size > 0 {
            self.process().engine().count_window(!own.memory.lock.is_for_all());
        }
    }

    /// Where the elements lie that an access names.
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
        let Target { size, unit, ref memory, .. } = self.shared.targets[rank];
        let reach = datatype.reach(count);
        if self.shared.flavour == Flavour::Dynamic {
            let (memory, offset) = self.attached_place(rank, displacement, reach)?;
            return Ok(Place { window: self, memory, offset, count, datatype });
        }
        let is_within = |offset: &i64| {
            let (low, end) = reach?;
            let (low, end) = (offset.checked_add(low)?, offset.checked_add(end)?);
            Some((low >= 0 && end.cast_unsigned() <= size) || low == end)
        };
        match displacement.checked_mul(unit).filter(|offset| is_within(offset) == Some(true)) {
            Some(offset) => Ok(Place { window: self, memory: memory.clone(), offset, count, datatype }),
            None => Err(self.out_of_range(rank, displacement, count, datatype)),
        }
    }

    #[cold]
    fn out_of_range(&self, rank: usize, displacement: i64, count: u64, datatype: &Datatype) -> Error {
        let Target { size, unit, .. } = self.shared.targets[rank];
        let bytes = match datatype.reach(count).map(|(low, end)| (i128::from(low), i128::from(end))) {
            Some((low, end)) => {
                let begin = i128::from(displacement) * i128::from(unit);
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

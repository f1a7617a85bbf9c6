//! Where the typed API's borrows become what windows take: memory with a length, whoever may write there meanwhile.
//!
//! No function here makes a reference to memory of a window that others might write at the time, but those that say
//! what must hold for that.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use rwmpi_transport::{ReadSpan, WriteSpan};

use crate::Buffer;
use crate::datatype;
use crate::untyped::Elements;
use crate::window::Window as Untyped;
use crate::{Communicator, Datatype, ErrorClass, Info, Result};

/// This rank's memory of a window. It lasts as long as the window is used: as long as the value that lends it out is
/// borrowed, or until all ranks have freed the window whose own it is.
#[derive(Debug)]
pub(super) struct Span<T> {
    start: NonNull<T>,
    len: usize,
}

impl<T> Clone for Span<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Span<T> {}

impl<T: Datatype> Span<T> {
    /// The program's.
    pub(super) fn of(memory: &mut [T]) -> Self {
        Span { start: NonNull::from(&mut *memory).cast(), len: memory.len() }
    }

    /// The library's, which has allocated so many elements.
    pub(super) fn of_window(untyped: &Untyped, len: usize) -> Result<Self> {
        if len == 0 {
            return Ok(Span { start: NonNull::dangling(), len });
        }
        let span = untyped.own_memory().filter(|span| span.len() / size_of::<T>() >= len);
        // Where ranks disagree about their elements, they may lie anywhere.
        let start = span.and_then(|span| NonNull::new(span.start().cast::<T>()).filter(|start| start.is_aligned()));
        let not_there = || untyped.error(ErrorClass::NoMemory, "this process has no room to map its memory".to_owned());
        Ok(Span { start: start.ok_or_else(not_there)?, len })
    }

    /// A rank's, if this process has it mapped.
    pub(super) fn of_rank(untyped: &Untyped, rank: usize) -> Option<Self> {
        let (span, size) = (untyped.mapped_memory(rank)?, untyped.size_of(rank)?);
        if size == 0 {
            return Some(Span { start: NonNull::dangling(), len: 0 });
        }
        let start = NonNull::new(span.start().cast::<T>()).filter(|start| start.is_aligned())?;
        (span.len() as u64 == size).then_some(Span { start, len: span.len() / size_of::<T>() })
    }

    /// A block of the shared heap, which is aligned for any element.
    pub(super) fn of_block(block: &mut Buffer<u8>) -> Self {
        let len = block.len() / size_of::<T>();
        Span { start: NonNull::from(&mut **block).cast(), len }
    }

    /// Where it lies.
    pub(super) fn address(self) -> usize {
        self.start.as_ptr().addr()
    }

    /// Attaches it to a window that has its memory.
    pub(super) fn attach(self, untyped: &Untyped) -> Result<()> {
        // SAFETY: the window keeps its memory until all ranks have agreed that it is freed, and of its type any bits
        // are a value.
        unsafe { untyped.attach(self.start.as_ptr().cast(), (self.len * size_of::<T>()) as u64) }
    }

    /// How many elements it has.
    pub(super) fn len(self) -> usize {
        self.len
    }

    /// Whether all ranks of a node can reach the program's memory.
    pub(super) fn is_reachable(self, communicator: &Communicator) -> bool {
        // SAFETY: nothing is read; the program lends the memory meanwhile.
        let span = unsafe { ReadSpan::new(self.start.as_ptr().cast(), self.len * size_of::<T>()) };
        communicator.process().engine().is_reachable(communicator.group().peers(), span)
    }

    /// A window of the program's memory.
    pub(super) fn window(self, communicator: &Communicator) -> Result<Untyped> {
        let (start, bytes, unit) = (self.start.as_ptr().cast(), self.len * size_of::<T>(), size_of::<T>() as i64);
        // SAFETY: the memory is lent until all ranks have ended its use, or else the job ends, and of its type any
        // bits are a value.
        unsafe { communicator.create_window(start, bytes as u64, unit, &Info::new()) }
    }

    /// Sets all elements, of a window that is not known to others yet.
    pub(super) fn fill(self, value: T) {
        // SAFETY: nobody else writes there before all ranks have made the window.
        unsafe { self.as_mut() }.fill(value);
    }

    /// The elements, for somebody who may change them.
    ///
    /// # Safety
    /// Nobody else reads or writes them while the result is in use, on any rank.
    pub(super) unsafe fn as_mut<'a>(self) -> &'a mut [T] {
        // SAFETY: the memory is as long and aligned as for such elements, any bits are one, and it is the caller's
        // alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// The elements, to look at.
    ///
    /// # Safety
    /// Nobody writes them while the result is in use, on any rank.
    pub(super) unsafe fn as_ref<'a>(self) -> &'a [T] {
        // SAFETY: as in `as_mut`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Copies elements from there, and whatever others write there meanwhile.
    ///
    /// # Panics
    /// If not all lie there.
    pub(super) fn read(self, at: usize, into: &mut [T]) {
        assert!(at <= self.len && into.len() <= self.len - at, "elements beyond a window's memory");
        let bytes = size_of_val(into);
        // SAFETY: both are as long, and such elements are their bytes.
        unsafe {
            ReadSpan::new(self.start.as_ptr().add(at).cast(), bytes)
                .copy_to(WriteSpan::new(into.as_mut_ptr().cast(), bytes));
        }
    }

    /// Copies elements to there.
    ///
    /// # Panics
    /// As [`Span::read`].
    pub(super) fn write(self, at: usize, from: &[T]) {
        assert!(at <= self.len && from.len() <= self.len - at, "elements beyond a window's memory");
        let bytes = size_of_val(from);
        // SAFETY: as in `read`.
        unsafe {
            ReadSpan::new(from.as_ptr().cast(), bytes)
                .copy_to(WriteSpan::new(self.start.as_ptr().add(at).cast(), bytes));
        }
    }
}

/// Values that an operation reads: it has done so when its call returns.
#[inline]
pub(super) fn origin<T: Datatype>(values: &[T], datatype: &datatype::Datatype) -> Elements {
    // SAFETY: the operations on windows are done with these when they return, and the callers keep the values as long;
    // what is an origin is not written.
    unsafe { Elements::new(values.as_ptr().cast_mut().cast(), values.len() as u64, datatype.clone()) }
}

/// Values that an operation writes, of a type of which any bits are a value.
#[inline]
pub(super) fn result<T: Datatype>(values: &mut [T], datatype: &datatype::Datatype) -> Elements {
    // SAFETY: as in `origin`.
    unsafe { Elements::new(values.as_mut_ptr().cast(), values.len() as u64, datatype.clone()) }
}

/// A value to be written over.
#[inline]
pub(super) fn some_value<T: Datatype>() -> T {
    const { assert!(T::DIRECT, "any bits are a value") };
    // SAFETY: just asserted, by what `Datatype` says of such types.
    unsafe { std::mem::zeroed() }
}

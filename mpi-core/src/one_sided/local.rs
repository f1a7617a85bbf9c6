//! A rank's own memory of a window: values copied to and fro while others may write there, a slice while they can't.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::memory::{Span, some_value};
use super::{LockKind, Window, out_of_range};
use crate::{Datatype, Destination, Result};

/// A rank's memory, as a rule this one's, while others may use it, too: there are no references to its elements. What
/// is read of those that others are writing may be of before or after.
#[doc = example!(1
    "let window = rwmpi::Window::allocate(world, 3, 1)?;"
    "let epoch = window.lock_all()?;"
    "let local = epoch.local();"
    "local.set(1, 5)?;"
    "local.write(2, &[local.get(1)? + 1])?;"
    "let mut two = [0; 2];"
    "local.read(1, &mut two)?;"
    "assert_eq!((two, local.to_vec(), local.len(), local.is_empty()), ([5, 6], vec![1, 5, 6], 3, false));"
    "assert!(local.get(3).is_err());"
    "drop(epoch);"
    "window.free()?;"
)]
#[derive(Debug)]
pub struct Local<'e, T> {
    window: &'e Window<'e, T>,
    memory: Span<T>,
}

impl<'e, T: Datatype> Local<'e, T> {
    /// This rank's.
    pub(super) fn new(window: &'e Window<'e, T>) -> Self {
        Local::of(window, window.own)
    }

    /// Memory of the window's.
    pub(super) fn of(window: &'e Window<'e, T>, memory: Span<T>) -> Self {
        Local { window, memory }
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An element.
    ///
    /// # Errors
    /// There is no such element.
    pub fn get(&self, at: usize) -> Result<T> {
        let mut value = [some_value::<T>()];
        self.read(at, &mut value)?;
        Ok(value[0])
    }

    /// Sets an element.
    ///
    /// # Errors
    /// There is no such element.
    pub fn set(&self, at: usize, value: T) -> Result<()> {
        self.write(at, &[value])
    }

    /// Copies elements, from number `at` on.
    ///
    /// # Errors
    /// Not all are there.
    pub fn read(&self, at: usize, into: &mut [T]) -> Result<()> {
        self.check(at, into.len())?;
        self.memory.read(at, into);
        Ok(())
    }

    /// Sets elements, from number `at` on.
    ///
    /// # Errors
    /// Not all are there.
    pub fn write(&self, at: usize, from: &[T]) -> Result<()> {
        self.check(at, from.len())?;
        self.memory.write(at, from);
        Ok(())
    }

    /// A copy of all elements.
    pub fn to_vec(&self) -> Vec<T> {
        let mut all = vec![some_value::<T>(); self.len()];
        self.memory.read(0, &mut all);
        all
    }

    fn check(&self, at: usize, count: usize) -> Result<()> {
        if at <= self.len() && count <= self.len() - at {
            return Ok(());
        }
        Err(out_of_range(&self.window.untyped, at, count, self.len()))
    }
}

/// This rank's memory while nobody else can use it: its exclusive lock, a slice. Made by [`Window::lock_local`].
#[doc = example!(2
    "let mut window = rwmpi::Window::allocate(world, 4, 1.0)?;"
    "let mut own = window.lock_local()?;"
    "own[rank] = 2.0;"
    "own[2..].fill(3.0);"
    "assert_eq!(own.iter().sum::<f64>(), 9.0);"
    "own.unlock()?;"
    "window.free()?;"
)]
///
/// Meanwhile this rank can't let others in:
///
/// ```compile_fail,E0502
/// # extern crate rwmpi_core as rwmpi;
/// # use rwmpi::Window;
/// # fn misuse(mut window: Window<u64>) -> rwmpi::Result<()> {
/// let mut own = window.lock_local()?;
/// window.post(&[1])?.wait()?;
/// own[0] = 1;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "dropping it unlocks"]
pub struct LocalLock<'w, T: Datatype> {
    window: &'w Window<'w, T>,
    own: Span<T>,
    is_over: bool,
    unique: PhantomData<&'w mut [T]>,
}

impl<T: Datatype> Window<'_, T> {
    /// This rank's memory for itself alone, when nobody else has its lock any more (MPI_Win_lock of oneself).
    ///
    /// # Errors
    /// An epoch is open, since its guard has been forgotten.
    #[doc = example!(2
        "let mut window = rwmpi::Window::allocate(world, 1, 0)?;"
        "window.lock(1 - rank, rwmpi::LockKind::Exclusive)?.fetch_add(0, 5)?;"
        "world.barrier()?;"
        "assert_eq!(window.lock_local()?[0], 5);"
        "window.free()?;"
    )]
    #[doc(alias = "MPI_Win_lock")]
    pub fn lock_local(&mut self) -> Result<LocalLock<'_, T>> {
        self.check_usable()?;
        self.untyped.check_no_epoch()?;
        self.untyped.lock(LockKind::Exclusive, self.own_rank(), false)?;
        Ok(LocalLock { window: self, own: self.own, is_over: false, unique: PhantomData })
    }

    fn own_rank(&self) -> Destination {
        Destination::Rank(self.rank())
    }
}

impl<T: Datatype> LocalLock<'_, T> {
    /// Unlocks, as dropping does (MPI_Win_unlock).
    ///
    /// # Errors
    /// There is none at present.
    #[doc(alias = "MPI_Win_unlock")]
    pub fn unlock(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        self.window.untyped.unlock(self.window.own_rank())
    }
}

impl<T: Datatype> Deref for LocalLock<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: as in `deref_mut`.
        unsafe { self.own.as_ref() }
    }
}

impl<T: Datatype> DerefMut for LocalLock<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: this rank has the exclusive lock of this memory, so no other rank has it in an epoch of locks. No
        // other epoch of this rank is open, and none can be opened while the window is borrowed as mutable; and others
        // use it by fences or a start only if this rank takes part.
        unsafe { self.own.as_mut() }
    }
}

impl<T: Datatype> Drop for LocalLock<'_, T> {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = self.end();
    }
}

impl<T: Datatype> Span<T> {
    /// Calls `body` with this rank's memory, between two meetings of all ranks at which all are for that purpose.
    pub(super) fn while_all_are_local<R>(self, body: impl FnOnce(&mut [T]) -> R) -> R {
        // SAFETY: every rank has come to the first meeting, so none does an operation, and none has a lock, before
        // the second, to which this one comes only when the slice is gone. The epoch, which is borrowed as mutable,
        // gives this rank no other way to the memory.
        body(unsafe { self.as_mut() })
    }
    /// Calls `body` with the memory of all ranks, between two meetings of all ranks at which all are for that purpose.
    pub(super) fn while_all_read<R>(parts: &[Self], body: impl FnOnce(&[&[T]]) -> R) -> R {
        // SAFETY: every rank has come to the first meeting, so none does an operation, has a lock, or sees its own
        // memory in another way, before the second, to which this one comes only when the slices are gone. The epoch,
        // which is borrowed as mutable, gives this rank no other way to the memory.
        let slices: Vec<&[T]> = parts.iter().map(|part| unsafe { part.as_ref() }).collect();
        body(&slices)
    }
}

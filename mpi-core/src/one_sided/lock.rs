//! Epochs of locks: their targets need not do anything (MPI-5.0 section 12.5.3).

use std::ops::Deref;

use super::{Local, LockKind, Requested, TargetMemory, Window};
use crate::{Datatype, Destination, ErrorClass, Result};

/// The lock of a rank's memory, and what may be done with it; dropping this unlocks (MPI_Win_lock).
#[doc = example!(3
    "use rwmpi::{LockKind, Window};"
    "let window = Window::allocate(world, 2, 0)?;"
    "{"
    "    // Nobody else has it meanwhile, so these are one step."
    "    let counter = window.lock(0, LockKind::Exclusive)?;"
    "    let (count, sum) = (counter.get_value(0)?, counter.get_value(1)?);"
    "    counter.put(0, &[count + 1, sum + rank])?;"
    "    counter.flush()?;"
    "    assert_eq!(counter.request_get(0, 1)?.wait()?, [count + 1]);"
    "    counter.unlock()?;"
    "}"
    "world.barrier()?;"
    "let own = window.lock(rank, LockKind::Shared)?;"
    "assert_eq!(own.local()?.to_vec(), if rank == 0 { [3, 3] } else { [0, 0] });"
    "drop(own);"
    "window.free()?;"
)]
///
/// What a lock lets one do ends with it:
///
/// ```compile_fail,E0597
/// # extern crate rwmpi_core as rwmpi;
/// # use rwmpi::{LockKind, Window};
/// # fn misuse(window: &Window<u64>) -> rwmpi::Result<()> {
/// let memory;
/// {
///     let lock = window.lock(0, LockKind::Shared)?;
///     memory = &*lock;
/// }
/// memory.put(0, &[1])
/// # }
/// ```
#[doc(alias = "MPI_Win_lock")]
#[derive(Debug)]
#[must_use = "dropping it unlocks"]
pub struct Lock<'w, T: Datatype> {
    pub(super) target: TargetMemory<'w, T>,
    is_over: bool,
}

/// Everything is done at the target when this returns.
pub(super) fn flush<T>(target: &TargetMemory<'_, T>) -> Result<()> {
    target.window.untyped.flush(target.rank)
}

impl<T: Datatype> Window<'_, T> {
    /// Locks a rank's memory, waiting in line for it: alone, or with others that share it (MPI_Win_lock). Who is this
    /// rank itself waits, too.
    ///
    /// # Errors
    /// The target is locked already, or an epoch of another kind is open; there is no such rank.
    #[doc(alias = "MPI_Win_lock")]
    pub fn lock(&self, target: impl Into<Destination>, kind: LockKind) -> Result<Lock<'_, T>> {
        self.check_usable()?;
        let target = TargetMemory::new(self, target.into())?;
        self.untyped.lock(kind, target.rank, false)?;
        Ok(Lock { target, is_over: false })
    }

    /// Locks the memory of all ranks, which others may share (MPI_Win_lock_all). Not collective.
    ///
    /// # Errors
    /// Another epoch is open.
    #[doc(alias = "MPI_Win_lock_all")]
    pub fn lock_all(&self) -> Result<LockAll<'_, T>> {
        self.check_usable()?;
        self.untyped.lock_all(false)?;
        Ok(LockAll { window: self, is_over: false })
    }
}

impl<'w, T: Datatype> Lock<'w, T> {
    /// Everything that this rank has done to the target has been done there when this returns (MPI_Win_flush).
    ///
    /// # Errors
    /// The target can't be reached.
    #[doc(alias = "MPI_Win_flush")]
    pub fn flush(&self) -> Result<()> {
        flush(&self.target)
    }

    /// Asks for values of the target, to be waited for later (MPI_Rget).
    ///
    /// # Errors
    /// As [`TargetMemory::get`].
    #[doc(alias = "MPI_Rget")]
    pub fn request_get(&self, at: usize, count: usize) -> Result<Requested<'_, T>> {
        self.target.again().request(at, count)
    }

    /// This rank's memory, if that is what is locked.
    ///
    /// # Errors
    /// It is another's.
    pub fn local(&self) -> Result<Local<'_, T>> {
        let window: &Window<'_, T> = self.target.window;
        if self.target.rank() == Some(window.rank()) {
            return Ok(Local::new(window));
        }
        let what = "another rank's memory is locked: lock this rank's own to use it".to_owned();
        Err(window.untyped.error(ErrorClass::RmaSync, what))
    }

    /// Unlocks, as dropping does (MPI_Win_unlock).
    ///
    /// # Errors
    /// The target can't be reached.
    #[doc(alias = "MPI_Win_unlock")]
    pub fn unlock(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        self.target.window.untyped.unlock(self.target.rank)
    }
}

impl<'w, T: Datatype> Deref for Lock<'w, T> {
    type Target = TargetMemory<'w, T>;

    fn deref(&self) -> &TargetMemory<'w, T> {
        &self.target
    }
}

impl<T: Datatype> Drop for Lock<'_, T> {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = self.end();
    }
}

/// The locks of all ranks' memory, shared with others; dropping this unlocks (MPI_Win_lock_all).
#[doc = example!(3
    "let window = rwmpi::Window::allocate(world, 3, 0)?;"
    "{"
    "    let all = window.lock_all()?;"
    "    for other in 0..size {"
    "        all.target(other)?.put_value(rank, rank + 1)?;"
    "    }"
    "    all.flush()?;"
    "    world.barrier()?;"
    "    assert_eq!(all.local().to_vec(), [1, 2, 3]);"
    "    assert_eq!(all.request_get(0, 1, 1)?.wait()?, [2]);"
    "    all.flush_target(1)?;"
    "    all.sync();"
    "    all.unlock()?;"
    "}"
    "window.free()?;"
)]
#[doc(alias = "MPI_Win_lock_all")]
#[derive(Debug)]
#[must_use = "dropping it unlocks"]
pub struct LockAll<'w, T: Datatype> {
    pub(super) window: &'w Window<'w, T>,
    is_over: bool,
}

impl<T: Datatype> LockAll<'_, T> {
    /// A rank's memory.
    ///
    /// # Errors
    /// There is no such rank.
    pub fn target(&self, rank: impl Into<Destination>) -> Result<TargetMemory<'_, T>> {
        TargetMemory::new(self.window, rank.into())
    }

    /// This rank's memory, which others may be changing.
    pub fn local(&self) -> Local<'_, T> {
        Local::new(self.window)
    }

    /// As [`Lock::request_get`].
    ///
    /// # Errors
    /// As there; there is no such rank.
    #[doc(alias = "MPI_Rget")]
    pub fn request_get(&self, rank: impl Into<Destination>, at: usize, count: usize) -> Result<Requested<'_, T>> {
        self.target(rank)?.request(at, count)
    }

    /// Everything that this rank has done to all targets has been done there when this returns (MPI_Win_flush_all).
    ///
    /// # Errors
    /// A target can't be reached.
    #[doc(alias = "MPI_Win_flush_all")]
    pub fn flush(&self) -> Result<()> {
        self.window.untyped.flush_all()
    }

    /// The same of one target (MPI_Win_flush).
    ///
    /// # Errors
    /// It can't be reached; there is no such rank.
    #[doc(alias = "MPI_Win_flush")]
    pub fn flush_target(&self, rank: impl Into<Destination>) -> Result<()> {
        flush(&self.target(rank)?)
    }

    /// Orders what this rank has done to its own memory with what it does next (MPI_Win_sync).
    #[doc(alias = "MPI_Win_sync")]
    pub fn sync(&self) {
        // Whoever waits for somebody who can't be reached is told.
        let _ = self.window.untyped.sync();
    }

    /// Unlocks, as dropping does (MPI_Win_unlock_all).
    ///
    /// # Errors
    /// A target can't be reached.
    #[doc(alias = "MPI_Win_unlock_all")]
    pub fn unlock(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        self.window.untyped.unlock_all()
    }
}

impl<T: Datatype> Drop for LockAll<'_, T> {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = self.end();
    }
}

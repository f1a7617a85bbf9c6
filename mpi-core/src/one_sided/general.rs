//! Epochs of some ranks with some: those who expose their memory, and those who access it (MPI-5.0 section 12.5.2).

use super::{TargetMemory, Window};
use crate::{Datatype, Destination, Result};

/// Access to the memory of some ranks, which expose it; dropping this ends it (MPI_Win_start, MPI_Win_complete).
#[doc = example!(3
    "let window = rwmpi::Window::allocate(world, 1, 0)?;"
    "let (left, right) = ((rank + 2) % 3, (rank + 1) % 3);"
    "let exposure = window.post(&[left])?;"
    "let access = window.start(&[right])?;"
    "access.target(right)?.put(0, &[rank])?;"
    "assert!(access.target(left)?.put(0, &[rank]).is_err());"
    "access.complete()?;"
    "exposure.wait()?;"
    "assert_eq!(window.lock(rank, rwmpi::LockKind::Shared)?.local()?.get(0)?, left);"
    "window.free()?;"
)]
///
/// What belongs to it ends with it:
///
/// ```compile_fail,E0505
/// # extern crate rwmpi_core as rwmpi;
/// # use rwmpi::Window;
/// # fn misuse(window: &Window<u64>) -> rwmpi::Result<()> {
/// let access = window.start(&[1])?;
/// let other = access.target(1)?;
/// access.complete()?;
/// other.put(0, &[1])
/// # }
/// ```
#[doc(alias = "MPI_Win_start")]
#[derive(Debug)]
#[must_use = "dropping it ends the access"]
pub struct Access<'w, T: Datatype> {
    window: &'w Window<'w, T>,
    is_over: bool,
}

/// Some ranks may use this rank's memory; dropping this waits until they have done so (MPI_Win_post, MPI_Win_wait).
#[doc = example!(2
    "let window = rwmpi::Window::allocate(world, 1, rank)?;"
    "if rank == 0 {"
    "    let mut exposure = window.post(&[1])?;"
    "    while !exposure.test()? {"
    "        // Other work."
    "    }"
    "    window.post(&[1])?.wait()?;"
    "} else {"
    "    assert_eq!(window.start(&[0])?.target(0)?.get_value(0)?, 0);"
    "    window.start(&[0])?.complete()?;"
    "}"
    "window.free()?;"
)]
///
/// The memory can't be used as this rank's own until then:
///
/// ```compile_fail,E0502
/// # extern crate rwmpi_core as rwmpi;
/// # use rwmpi::Window;
/// # fn misuse(mut window: Window<u64>) -> rwmpi::Result<()> {
/// let exposure = window.post(&[1])?;
/// window.lock_local()?[0] = 1;
/// exposure.wait()
/// # }
/// ```
#[doc(alias = "MPI_Win_post")]
#[derive(Debug)]
#[must_use = "dropping it waits for the others"]
pub struct Exposure<'w, T: Datatype> {
    window: &'w Window<'w, T>,
    is_over: bool,
}

impl<T: Datatype> Window<'_, T> {
    /// Lets some ranks use this rank's memory. Does not wait (MPI_Win_post).
    ///
    /// # Errors
    /// It is exposed already; there are no such ranks.
    #[doc(alias = "MPI_Win_post")]
    pub fn post(&self, origins: &[usize]) -> Result<Exposure<'_, T>> {
        self.check_usable()?;
        self.untyped.post(&self.untyped.group().incl(origins)?)?;
        Ok(Exposure { window: self, is_over: false })
    }

    /// Begins to use the memory of some ranks, when they have [posted](Window::post) it for this one (MPI_Win_start).
    ///
    /// # Errors
    /// Another access epoch is open; there are no such ranks.
    #[doc(alias = "MPI_Win_start")]
    pub fn start(&self, targets: &[usize]) -> Result<Access<'_, T>> {
        self.check_usable()?;
        self.untyped.start(&self.untyped.group().incl(targets)?, false)?;
        Ok(Access { window: self, is_over: false })
    }
}

impl<T: Datatype> Access<'_, T> {
    /// A rank's memory.
    ///
    /// # Errors
    /// There is no such rank.
    pub fn target(&self, rank: impl Into<Destination>) -> Result<TargetMemory<'_, T>> {
        TargetMemory::new(self.window, rank.into())
    }

    /// Ends it, as dropping does: whoever exposes its memory sees what was done there (MPI_Win_complete).
    ///
    /// # Errors
    /// A target can't be reached.
    #[doc(alias = "MPI_Win_complete")]
    pub fn complete(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        self.window.untyped.complete()
    }
}

impl<T: Datatype> Drop for Access<'_, T> {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = self.end();
    }
}

impl<T: Datatype> Exposure<'_, T> {
    /// Waits until all of them have completed their access (MPI_Win_wait).
    ///
    /// # Errors
    /// One of them can't be reached.
    #[doc(alias = "MPI_Win_wait")]
    pub fn wait(mut self) -> Result<()> {
        self.end()
    }

    /// Whether all of them have. If so, it is over (MPI_Win_test).
    ///
    /// # Errors
    /// One of them can't be reached.
    #[doc(alias = "MPI_Win_test")]
    pub fn test(&mut self) -> Result<bool> {
        self.is_over = self.is_over || self.window.untyped.test()?;
        Ok(self.is_over)
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        self.window.untyped.wait()
    }
}

impl<T: Datatype> Drop for Exposure<'_, T> {
    fn drop(&mut self) {
        // Nobody waits for others while it panics: the epoch stays open, and the memory is not this rank's own again.
        if !std::thread::panicking() {
            let _ = self.end();
        }
    }
}

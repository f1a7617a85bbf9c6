//! Epochs of fences: all ranks begin and end them together (MPI-5.0 section 12.5.1).

use super::step::Step;
use super::{Local, TargetMemory, Window};
use crate::{Datatype, Destination, Result};

/// What may be done between two fences; lent by [`Window::fence`].
#[doc = example!(3
    "let mut window = rwmpi::Window::allocate(world, 2, 0)?;"
    "let (left, right) = ((rank + 2) % 3, (rank + 1) % 3);"
    "window.fence(|epoch| {"
    "    epoch.target(right)?.put(0, &[rank])?;"
    "    epoch.fence()?;"
    "    assert_eq!(epoch.local().get(0)?, left);"
    "    // All ranks are there: nobody else uses this rank's memory."
    "    epoch.locally(|own| own[1] = own[0] + 10)?;"
    "    assert_eq!(epoch.target(right)?.get_value(1)?, rank + 10);"
    "    Ok(())"
    "})?;"
    "window.free()?;"
)]
#[derive(Debug)]
pub struct Fence<'f, T> {
    pub(super) window: &'f Window<'f, T>,
}

impl<T: Datatype> Window<'_, T> {
    /// Epochs of fences: one before `body`, one behind it, and those within it. Collective; whatever the ranks do in
    /// one epoch the others see in the next (MPI_Win_fence). If `body` fails at one rank, all others get an error at
    /// their next fence, and the window can't be used any more; nobody waits in vain.
    ///
    /// # Errors
    /// Those of `body`; another epoch is open; the ranks are not at the same fence.
    #[doc = example!(2
        "let mut window = rwmpi::Window::allocate(world, 1, 0.0)?;"
        "let other = window.fence(|epoch| {"
        "    epoch.target(1 - rank)?.put_value(0, rank as f64)?;"
        "    epoch.fence()?;"
        "    epoch.local().get(0)"
        "})?;"
        "assert_eq!(other, 1.0 - rank as f64);"
        "window.free()?;"
    )]
    ///
    /// Nothing but what the epoch gives can be done meanwhile:
    ///
    /// ```compile_fail,E0502
    /// # extern crate rwmpi_core as rwmpi;
    /// # use rwmpi::{LockKind, Window};
    /// # fn misuse(mut window: Window<u64>) -> rwmpi::Result<()> {
    /// window.fence(|epoch| window.lock(0, LockKind::Exclusive)?.put(0, &[1]))
    /// # }
    /// ```
    #[doc(alias = "MPI_Win_fence")]
    pub fn fence<R>(&mut self, body: impl FnOnce(&mut Fence<'_, T>) -> Result<R>) -> Result<R> {
        self.meet(Step::Opening, self.untyped.check_no_epoch())?;
        self.untyped.set_fenced(true);
        let mut closing = Closing { window: self, is_closed: false };
        let result = body(&mut Fence { window: closing.window });
        let closed = closing.close();
        let value = result?;
        closed.map(|()| value)
    }
}

impl<T: Datatype> Fence<'_, T> {
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

    /// Ends this epoch and begins another. Collective (MPI_Win_fence).
    ///
    /// # Errors
    /// Another rank is elsewhere.
    ///
    /// What was to be used before it is not kept:
    ///
    /// ```compile_fail,E0502
    /// # extern crate rwmpi_core as rwmpi;
    /// # use rwmpi::Window;
    /// # fn misuse(mut window: Window<u64>) -> rwmpi::Result<()> {
    /// window.fence(|epoch| {
    ///     let other = epoch.target(1)?;
    ///     epoch.fence()?;
    ///     other.put(0, &[1])
    /// })
    /// # }
    /// ```
    #[doc(alias = "MPI_Win_fence")]
    pub fn fence(&mut self) -> Result<()> {
        self.window.meet(Step::Fence, Ok(()))
    }

    /// A fence, this rank's memory while nobody else uses it, and another fence. Collective.
    ///
    /// # Errors
    /// As [`Fence::fence`].
    pub fn locally<R>(&mut self, body: impl FnOnce(&mut [T]) -> R) -> Result<R> {
        self.window.meet(Step::Local, Ok(()))?;
        let value = self.window.own.while_all_are_local(body);
        self.window.meet(Step::LocalEnd, Ok(()))?;
        Ok(value)
    }
}

/// The last fence, which this rank comes to whatever happens: others may still use its memory.
struct Closing<'f, 'm, T: Datatype> {
    window: &'f Window<'m, T>,
    is_closed: bool,
}

impl<T: Datatype> Closing<'_, '_, T> {
    fn close(&mut self) -> Result<()> {
        self.is_closed = true;
        // If it can't be used any more, the others are not at the last fence.
        if self.window.check_usable().is_err() {
            return Ok(());
        }
        self.window.meet(Step::Closing, Ok(()))?;
        self.window.untyped.set_fenced(false);
        Ok(())
    }
}

impl<T: Datatype> Drop for Closing<'_, '_, T> {
    fn drop(&mut self) {
        if !self.is_closed {
            // The window says then whether all have come.
            let _ = self.close();
        }
    }
}

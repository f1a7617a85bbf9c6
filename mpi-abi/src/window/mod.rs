//! One-sided communication (MPI-5.0 chapter 12).

pub mod create;
pub mod object;
pub mod operations;
pub mod requests;
pub mod synchronization;

use std::cell::Ref;
use std::rc::Rc;

use rwmpi_core::window::Window;
use rwmpi_core::{Error, ErrorClass, Result};

use crate::entry::WindowEntry;
use crate::interface::Abi;
use crate::rank::Rank;

impl Rank {
    /// The window with that handle. Errors of the call go to its error handler from now on.
    ///
    /// # Errors
    /// MPI_ERR_WIN if there is none.
    #[inline]
    pub(crate) fn window<A: Abi>(&self, handle: A::Handle) -> Result<Rc<WindowEntry>> {
        let code = A::code(handle);
        let found = self.windows.get(code).ok_or_else(|| no_window::<A>(code))?;
        self.blame_code(code);
        Ok(found)
    }

    /// Does something with the window with that handle, as [`Rank::window`] would, but without a copy of the entry:
    /// `operate` must neither make nor free windows.
    pub(crate) fn with_window<A: Abi, R>(
        &self,
        handle: A::Handle,
        operate: impl FnOnce(&Window) -> Result<R>,
    ) -> Result<R> {
        let code = A::code(handle);
        let entry = self.windows.look_at(code).ok_or_else(|| no_window::<A>(code))?;
        self.blame_code(code);
        operate(&entry.core)
    }

    /// The same for a call that has no errors.
    #[inline(always)]
    pub(crate) fn look_at_window<A: Abi>(&self, handle: A::Handle) -> Option<Ref<'_, Rc<WindowEntry>>> {
        self.windows.look_at(A::code(handle))
    }

    /// A handle for a new window.
    fn add_window<A: Abi>(&self, core: Window) -> Result<A::Handle> {
        let code = self.windows.insert(Rc::new(WindowEntry::new::<A>(core.clone())))?;
        core.set_mark(code as usize);
        Ok(A::handle(code))
    }
}

#[cold]
fn no_window<A: Abi>(code: u32) -> Error {
    let what = match code == A::WIN_NULL {
        true => "the window is MPI_WIN_NULL".to_string(),
        false => format!("{code:#x} is no window: it was freed or never was one"),
    };
    Error::new(ErrorClass::Window, what)
}

//! One-sided communication (MPI-5.0 chapter 12).

pub mod create;
pub mod object;
pub mod operations;
pub mod requests;
pub mod synchronization;

use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;

use rwmpi_core::window::{Flavour, Window};
use rwmpi_core::{Error, ErrorClass, Result};

use crate::argument::c_int;
use crate::error::ErrorHandler;
use crate::interface::Abi;
use crate::rank::Rank;

/// A window and what C has to know about it.
pub(crate) struct WindowEntry {
    pub(crate) core: Window,
    /// What happens to errors: the window's own business from the beginning.
    pub(crate) error_handler: RefCell<ErrorHandler>,
    /// Where programs find the values of predefined attributes.
    pub(crate) size: Cell<i64>,
    pub(crate) integers: [Cell<c_int>; 3],
}

impl WindowEntry {
    fn new<A: Abi>(core: Window) -> Self {
        let (size, unit) = core.extent();
        let flavour = match core.flavour() {
            Flavour::Create => A::WIN_FLAVOR_CREATE,
            Flavour::Allocate => A::WIN_FLAVOR_ALLOCATE,
            Flavour::Shared => A::WIN_FLAVOR_SHARED,
            Flavour::Dynamic => A::WIN_FLAVOR_DYNAMIC,
        };
        let integers = [c_int::try_from(unit).unwrap_or(c_int::MAX), flavour, A::WIN_UNIFIED];
        WindowEntry {
            core,
            error_handler: ErrorHandler::Fatal.into(),
            size: Cell::new(i64::try_from(size).unwrap_or(i64::MAX)),
            integers: integers.map(Cell::new),
        }
    }
}

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

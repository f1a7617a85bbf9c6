//! What stands in the rank's tables: an object of the core with what only C has, such as its error handler; and what
//! the rank keeps for datatypes and files besides.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::c_int;
use std::rc::Rc;

use rwmpi_core::datatype::Parameters;
use rwmpi_core::untyped::TakenMessage;
use rwmpi_core::window::{Flavour, Window};
use rwmpi_core::{Attributes, Communicator, Info};
use rwmpi_io::{Conversion, File, Helper};

use crate::error::ErrorHandler;
use crate::interface::Abi;
use crate::keyval::Coded;

/// A communicator and what C has to know about it.
pub struct CommunicatorEntry {
    /// The communicator itself.
    pub core: Communicator,
    /// What happens to errors.
    pub(crate) error_handler: RefCell<ErrorHandler>,
}

/// A message that a matched probe took, with its communicator.
pub(crate) struct MessageEntry {
    pub(crate) communicator: Communicator,
    pub(crate) message: TakenMessage,
}

/// What is known about a session.
pub(crate) struct SessionEntry {
    pub(crate) error_handler: RefCell<ErrorHandler>,
    /// The hints that it was made with.
    pub(crate) info: Info,
}

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
    pub(crate) fn new<A: Abi>(core: Window) -> Self {
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

/// A file and what C has to know about it.
pub(crate) struct FileEntry {
    pub(crate) core: File,
    /// What happens to errors: at first what MPI_FILE_NULL's handler was when it was opened.
    pub(crate) error_handler: RefCell<ErrorHandler>,
}

/// What the files of a rank have in common.
#[derive(Default)]
pub(crate) struct ForFiles {
    /// The thread for long nonblocking accesses, once there was one; none if the system has none to give.
    helper: OnceCell<Option<Helper>>,
    /// Representations that the program has registered, by name.
    pub(crate) representations: RefCell<HashMap<String, Rc<dyn Conversion>>>,
}

impl ForFiles {
    /// The thread for long nonblocking accesses, from the first one on.
    pub(crate) fn helper(&self) -> Option<&Helper> {
        self.helper.get_or_init(|| Helper::start().ok()).as_ref()
    }

    /// All accesses are complete when this returns.
    pub(crate) fn end(&self) {
        if let Some(Some(helper)) = self.helper.get() {
            helper.stop();
        }
    }
}

/// What C knows about datatypes beyond what they are; most have none of it.
#[derive(Default)]
pub(crate) struct DatatypeRecords {
    /// Codes of those that were asked for by precision and range: asking again gives the same handle (MPI-5.0 section
    /// 19.1.9).
    pub(crate) by_parameters: RefCell<HashMap<Parameters, u32>>,
    /// Names and attributes, by code.
    pub(crate) records: RefCell<HashMap<u32, Rc<DatatypeRecord>>>,
    /// Those whose handles the program's operations have for as long as they run, by code.
    pub(crate) lent: RefCell<HashMap<u32, LentDatatype>>,
}

/// A datatype whose handle an operation of the program has.
pub(crate) struct LentDatatype {
    pub(crate) times: u32,
    /// The program has no such datatype any more.
    pub(crate) is_freed: bool,
}

/// What the program has attached to a datatype.
#[derive(Default)]
pub(crate) struct DatatypeRecord {
    pub(crate) name: RefCell<Option<String>>,
    pub(crate) attributes: Attributes<Coded>,
}

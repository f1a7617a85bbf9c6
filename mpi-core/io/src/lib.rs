//! Files (MPI-5.0 chapter 14): views, accesses, pointers, as front ends see them.
//!
//! It stands on what every program may use of MPI: communicators, datatypes, windows. It knows files; `rwmpi-core` does
//! not.
//!
//! - `mode`, `hints`: how a file is opened; `open`: how all ranks open it, or none;
//! - `view`: which bytes of the file a rank sees, as an iterator over ranges of the file. The list of all ranges is
//!   never made;
//! - `disk`: the kernel's calls behind a trait, so that tests can have them fail;
//! - `transfer`: bytes between the ranges of a view and elements in memory; `windows`: short blocks of a view, many at
//!   a time; `shown`: a part of the file in memory; `pages`: that of the kernel;
//! - `representation`: what bytes are in the file; `converted`: accesses where that is something else;
//! - `collective`: the ranks of a node that read and write together;
//! - `access`: reading and writing by explicit offsets, individual and shared pointers; `pointer`: moving these;
//! - `helper`: the thread that performs long nonblocking accesses;
//! - `typed`: all of this for Rust programs;
//! - `sieved`: writing gaps back, where all ranks allow it;
//! - `word`: the shared pointer, a word in memory that all ranks see;
//! - `lock`: what excludes other ranks while the file is atomic.
//!
//! What always holds: writers never undo each other's work. No call writes bytes that its caller does not own, unless
//! all ranks have asked for that by a hint, and each waits for the others then. What a call reports as written, the
//! kernel has taken. If one rank fails in a collective call about the file itself, all fail, and nobody waits; so they
//! do where they read or write together. Where each rank does its own part, it has its own error.

/// An example of the documentation, as some ranks run it.
macro_rules! example {
    ($ranks:literal $($line:literal)*) => {
        concat!(
            "```\n# mod rwmpi { pub use rwmpi_core::*; pub use rwmpi_io::FileError; pub use rwmpi_io::typed::*; }\n# rwmpi::run_threads(",
            $ranks,
            ", rwmpi::Protocol::Auto, |universe| -> rwmpi::Result<()> {\n# #[allow(unused)] let world = universe.world();\n",
            "# #[allow(unused)] let (rank, size) = (world.rank(), world.size());\n",
            $($line, "\n",)*
            "# Ok(()) }).unwrap().into_iter().for_each(Result::unwrap);\n```"
        )
    };
}

mod access;
mod agreement;
mod collective;
mod converted;
mod direction;
mod disk;
mod error;
pub mod helper;
mod hints;
mod lock;
mod mode;
mod open;
mod pages;
mod pointer;
pub mod representation;
mod shown;
mod sieved;
mod size;
mod span;
#[cfg(test)]
mod tests;
mod transfer;
pub mod typed;
mod view;
mod word;

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

pub use access::{Place, Split};
pub use direction::Direction;
pub use error::{Error, Error as FileError, Result};
pub use helper::{Helper, Started};
pub use mode::Mode;
pub use open::delete;
pub use pointer::Whence;
pub use representation::{Conversion, Representation};
pub use view::View;

use rwmpi_core::{Communicator, ErrorClass, Group, Info};
use word::Word;

/// An open file. Cheap to clone: clones are the same file.
#[derive(Clone)]
pub struct File {
    shared: Rc<Shared>,
}

struct Shared {
    /// Its ranks, in contexts of the file's own.
    communicator: Communicator,
    path: String,
    mode: Mode,
    /// None once it is closed.
    disk: RefCell<Option<std::fs::File>>,
    view: RefCell<Rc<View>>,
    /// The individual pointer, in etypes of the view.
    position: Cell<u64>,
    /// The shared pointer, likewise.
    word: Word,
    is_atomic: Cell<bool>,
    /// The split collective access that has begun and not ended.
    split: RefCell<Option<access::Begun>>,
    hints: RefCell<Info>,
    /// What the hints say about working together.
    together: Cell<hints::Together>,
    /// Whether its bytes have numbers, and stay.
    is_regular: bool,
    /// Whether its ranks write gaps back.
    is_sieved: Cell<bool>,
    scratch: RefCell<transfer::Scratch>,
    /// What ranks that work together need, if they have it: from the first time on.
    means: OnceCell<collective::Means>,
}

impl File {
    /// Its ranks (MPI_File_get_group).
    pub fn group(&self) -> &Group {
        self.shared.communicator.group()
    }

    /// How it was opened (MPI_File_get_amode).
    pub fn mode(&self) -> Mode {
        self.shared.mode
    }

    /// Its name.
    pub fn path(&self) -> &str {
        &self.shared.path
    }

    /// The view of this rank (MPI_File_get_view).
    pub fn view(&self) -> Rc<View> {
        self.shared.view.borrow().clone()
    }

    /// Whether accesses are atomic (MPI_File_get_atomicity).
    pub fn is_atomic(&self) -> bool {
        self.shared.is_atomic.get()
    }

    /// Makes accesses atomic, or no longer (MPI_File_set_atomicity). Collective.
    ///
    /// # Errors
    /// The ranks don't all say the same.
    pub fn set_atomicity(&self, is_atomic: bool) -> Result<()> {
        self.check_same("setting the atomicity of", &[i64::from(is_atomic)])?;
        self.shared.is_atomic.set(is_atomic);
        Ok(())
    }

    /// An error of this rank with the file.
    #[cold]
    fn error(&self, class: ErrorClass, operation: &'static str, reason: impl Into<String>) -> Error {
        Error::new(class, self.shared.communicator.rank(), operation, &self.shared.path, reason)
    }

    /// What the operating system says of it.
    #[cold]
    fn failed(&self, operation: &'static str, error: &std::io::Error) -> Error {
        Error::of_system(self.shared.communicator.rank(), operation, &self.shared.path, error)
    }

    /// What `operation` has of communication that failed.
    fn lost(&self, operation: &'static str) -> impl Fn(rwmpi_core::Error) -> Error + '_ {
        move |error| self.error(error.class(), operation, error.to_string())
    }

    /// Does something with the open file.
    fn with_disk<R>(&self, operation: &'static str, work: impl FnOnce(&std::fs::File) -> Result<R>) -> Result<R> {
        match &*self.shared.disk.borrow() {
            Some(disk) => work(disk),
            None => Err(self.error(ErrorClass::File, operation, "it is closed")),
        }
    }
}

//! rwmpi: an MPI whose transport is remote memory.
#![forbid(unsafe_code)]

pub use rwmpi_core::*;
pub use rwmpi_io::FileError;
pub use rwmpi_io::typed::{File, FileView, OpenOptions, delete_file};
pub use rwmpi_launcher::launch;
pub use rwmpi_shared_heap::SharedHeap;

/// What most programs name: `use rwmpi::prelude::*`.
pub mod prelude {
    pub use rwmpi_core::prelude::*;
    pub use rwmpi_io::typed::{File, FileView, OpenOptions};
}

/// The README's program, compiled with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The book's chapters with code of their own, likewise. The programs in the others are the examples, which tests run.
#[cfg(doctest)]
#[doc = include_str!("../docs/book/src/types.md")]
#[doc = include_str!("../docs/book/src/requests.md")]
#[doc = include_str!("../docs/book/src/threads.md")]
struct Book;

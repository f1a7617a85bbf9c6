//! The one table of MPI's C interface: every function with its prototype, every constant with its value in both ABIs.
//!
//! Everything that has to agree on these is made of it: the functions that both libraries export ([`exports`]), their
//! headers ([`header`]), what Fortran has of them ([`fortran_exports`], [`fortran_header`], [`fortran_module`],
//! [`fortran_module_2008`]), the
//! constants that the bodies use ([`rust_constants`]) and the list of what is supported ([`coverage`]). The texts lie
//! in the folder of this crate: one for the functions of each chapter, one for constants, one for callbacks.
//!
//! # Prototypes
//!
//! A line is a C prototype without the prefix `MPI_` on types, after the version of MPI that brought the function
//! (`1.0-2.2`: and the last that had it). Besides C's own, these types occur:
//!
//! - `int/Count`: `int`, and `MPI_Count` in the function's large-count form, whose name ends in `_c`; `int/Aint` and
//!   `Aint/Count` likewise. A function with such a parameter has that form.
//! - `bool`: an `int` that is LOGICAL in Fortran. `index`: an `int` that counts from one in Fortran. `address *`: a
//!   `void *` that points to an address. `number` as result: an `int` that is no error code.
//!
//! # Bodies
//!
//! A function is implemented by the `pub fn name<A: Abi>(…)` of its name, in lower case and without `MPI_`, anywhere in
//! `mpi-abi/src` ([`Bodies::find`]): nothing else has to be registered. It gets its arguments in the form that
//! [`exports`] gives them: see there.
#![forbid(unsafe_code)]

mod bodies;
mod constant;
mod coverage;
mod export;
mod fortran;
mod function;
mod header;
mod place;

pub use bodies::Bodies;
pub use constant::{Constant, Section, rust_constants, sections};
pub use coverage::{coverage, untested};
pub use export::exports;
pub use fortran::{fortran_exports, fortran_header, fortran_module, fortran_module_2008};
pub use function::{Base, Form, Function, Parameter, functions};
pub use header::{header, prototypes};

/// The two interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// The standard ABI of MPI-5.0 chapter 20.
    Standard,
    /// What MPICH and its relatives have had since 2014.
    Mpich,
}

//! Files (MPI-5.0 chapter 14).

pub mod explicit;
pub mod individual;
pub mod nonblocking;
pub mod object;
pub mod open;
pub mod representation;
pub mod shared;
pub mod split;
pub mod view;

use std::rc::Rc;

use rwmpi_core::untyped::{Request, Status};
use rwmpi_core::{Error, ErrorClass, Result};
use rwmpi_io::{Direction, File, Place, Started};

use crate::argument::{Memory, Out, StatusOut};
use crate::entry::FileEntry;
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Rank, rank};
use crate::status::value_of;

impl Rank {
    /// The file with that handle. Errors of the call go to its error handler from now on.
    ///
    /// # Errors
    /// MPI_ERR_FILE if there is none; MPI_FILE_NULL's handler has it.
    pub(crate) fn file<A: Abi>(&self, file: A::File) -> Result<Rc<FileEntry>> {
        let code = A::file_code(file);
        self.blame_files();
        let found = self.files.get(code).ok_or_else(|| no_file::<A>(code))?;
        self.blame_code(code);
        Ok(found)
    }

    /// A handle for a new file.
    fn add_file<A: Abi>(&self, core: File) -> Result<A::File> {
        let error_handler = self.file_error_handler.borrow().clone().into();
        let communicator = core.communicator().clone();
        let code = self.files.insert(Rc::new(FileEntry { core, error_handler }))?;
        // Errors of the file's requests are its own.
        communicator.set_mark(code as usize);
        Ok(A::file(code))
    }
}

#[cold]
fn no_file<A: Abi>(code: u32) -> Error {
    let what = match code == A::FILE_NULL {
        true => "the file is MPI_FILE_NULL".to_string(),
        false => format!("{code:#x} is no file: it was closed or never was one"),
    };
    Error::new(ErrorClass::File, what)
}

/// The program's memory in a call.
type Buffer<A> = (Memory, i64, <A as Abi>::Handle);

/// What a transfer of so many bytes tells.
fn status_of(bytes: u64) -> Status {
    Status { bytes, ..Status::EMPTY }
}

/// Tells how many bytes a call has transferred, also if it has failed.
fn tell<A: Abi>(outcome: rwmpi_io::Result<u64>, status: StatusOut<A>) -> Outcome {
    let bytes = outcome.as_ref().map_or_else(|error| error.transferred(), |bytes| *bytes);
    status.set(&value_of::<A>(&status_of(bytes)));
    Ok(outcome.map(drop)?)
}

/// One access at a place.
fn access<A: Abi>(
    file: A::File,
    direction: Direction,
    place: Place,
    (memory, count, datatype): Buffer<A>,
    status: StatusOut<A>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.file::<A>(file)?;
    tell(entry.core.access(direction, place, &rank.elements::<A>(memory, count, datatype)?), status)
}

/// One access of all ranks. What a rank passes wrong keeps none of the others waiting.
fn access_all<A: Abi>(
    file: A::File,
    direction: Direction,
    place: Place,
    (memory, count, datatype): Buffer<A>,
    status: StatusOut<A>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.file::<A>(file)?;
    tell(entry.core.access_all(direction, place, &rank.elements::<A>(memory, count, datatype)), status)
}

/// As [`access`], with a request.
fn start<A: Abi>(
    file: A::File,
    direction: Direction,
    place: Place,
    (memory, count, datatype): Buffer<A>,
    request: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.file::<A>(file)?;
    request.check_place("the request")?;
    let communicator = entry.core.communicator();
    let helper = || if Request::can_be_outside(communicator) { rank.for_files.helper() } else { None };
    let elements = rank.elements::<A>(memory, count, datatype)?;
    match entry.core.start(direction, place, &elements, helper)? {
        Started::Done(bytes) => rank.give::<A>(rank.request_done(status_of(bytes))?, request),
        Started::Later(pending) => rank.give::<A>(Request::outside(communicator, pending), request),
    }
}

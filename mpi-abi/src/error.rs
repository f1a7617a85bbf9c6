//! Errors in C's form: the codes of their classes, the kinds of error handlers, and what has one. How a call that fails
//! reaches its error handler is in [`crate::call`].

use std::ffi::c_int;
use std::sync::{Arc, Mutex};

use rwmpi_core::{Error, ErrorClass};

use crate::interface::Abi;

/// What a body returns.
pub type Outcome = Result<(), Error>;

/// What an error belongs to: the handler is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Object<A: Abi> {
    /// A communicator or a session.
    Handle(A::Handle),
    /// A file.
    File(A::File),
}

/// What is done with an error.
#[derive(Clone, Debug)]
pub(crate) enum ErrorHandler {
    /// The job ends (MPI_ERRORS_ARE_FATAL).
    Fatal,
    /// The communicator's ranks end; here, as often, the job (MPI_ERRORS_ABORT).
    Abort,
    /// The call returns the code (MPI_ERRORS_RETURN).
    Return,
    /// The program's function decides.
    Function(Arc<HandlerFunction>),
}

/// A function of the program that handles errors.
#[derive(Debug)]
pub(crate) struct HandlerFunction {
    /// Its address.
    pub(crate) address: usize,
    /// The code of its handle, and how often the program has got that without giving it back.
    pub(crate) handle: Mutex<(u32, u32)>,
}

/// The interface's number for a class.
pub(crate) fn code_of<A: Abi>(class: ErrorClass) -> c_int {
    match class {
        ErrorClass::Buffer => A::ERR_BUFFER,
        ErrorClass::Count => A::ERR_COUNT,
        ErrorClass::Datatype => A::ERR_TYPE,
        ErrorClass::Tag => A::ERR_TAG,
        ErrorClass::Communicator => A::ERR_COMM,
        ErrorClass::Rank => A::ERR_RANK,
        ErrorClass::Root => A::ERR_ROOT,
        ErrorClass::Group => A::ERR_GROUP,
        ErrorClass::Operation => A::ERR_OP,
        ErrorClass::Topology => A::ERR_TOPOLOGY,
        ErrorClass::Dimensions => A::ERR_DIMS,
        ErrorClass::Argument => A::ERR_ARG,
        ErrorClass::Request => A::ERR_REQUEST,
        ErrorClass::Truncate => A::ERR_TRUNCATE,
        ErrorClass::InStatus => A::ERR_IN_STATUS,
        ErrorClass::Pending => A::ERR_PENDING,
        ErrorClass::Keyval => A::ERR_KEYVAL,
        ErrorClass::Info => A::ERR_INFO,
        ErrorClass::InfoKey => A::ERR_INFO_KEY,
        ErrorClass::InfoValue => A::ERR_INFO_VALUE,
        ErrorClass::InfoNoKey => A::ERR_INFO_NOKEY,
        ErrorClass::ErrorHandler => A::ERR_ERRHANDLER,
        ErrorClass::Session => A::ERR_SESSION,
        ErrorClass::Window => A::ERR_WIN,
        ErrorClass::Size => A::ERR_SIZE,
        ErrorClass::Displacement => A::ERR_DISP,
        ErrorClass::LockType => A::ERR_LOCKTYPE,
        ErrorClass::Assertion => A::ERR_ASSERT,
        ErrorClass::RmaRange => A::ERR_RMA_RANGE,
        ErrorClass::RmaSync => A::ERR_RMA_SYNC,
        ErrorClass::RmaShared => A::ERR_RMA_SHARED,
        ErrorClass::RmaAttach => A::ERR_RMA_ATTACH,
        ErrorClass::RmaFlavour => A::ERR_RMA_FLAVOR,
        ErrorClass::File => A::ERR_FILE,
        ErrorClass::AccessMode => A::ERR_AMODE,
        ErrorClass::BadFile => A::ERR_BAD_FILE,
        ErrorClass::NoSuchFile => A::ERR_NO_SUCH_FILE,
        ErrorClass::FileExists => A::ERR_FILE_EXISTS,
        ErrorClass::FileInUse => A::ERR_FILE_IN_USE,
        ErrorClass::Access => A::ERR_ACCESS,
        ErrorClass::ReadOnly => A::ERR_READ_ONLY,
        ErrorClass::NoSpace => A::ERR_NO_SPACE,
        ErrorClass::Quota => A::ERR_QUOTA,
        ErrorClass::InputOutput => A::ERR_IO,
        ErrorClass::DuplicateRepresentation => A::ERR_DUP_DATAREP,
        ErrorClass::UnsupportedRepresentation => A::ERR_UNSUPPORTED_DATAREP,
        ErrorClass::Conversion => A::ERR_CONVERSION,
        ErrorClass::Name => A::ERR_NAME,
        ErrorClass::Port => A::ERR_PORT,
        ErrorClass::Service => A::ERR_SERVICE,
        ErrorClass::Spawn => A::ERR_SPAWN,
        ErrorClass::NotSame => A::ERR_NOT_SAME,
        ErrorClass::ValueTooLarge => A::ERR_VALUE_TOO_LARGE,
        ErrorClass::NoMemory => A::ERR_NO_MEM,
        ErrorClass::UnsupportedOperation => A::ERR_UNSUPPORTED_OPERATION,
        ErrorClass::ProcessFailed => A::ERR_PROC_ABORTED,
        ErrorClass::ProcessDied => A::MPIX_ERR_PROC_FAILED,
        ErrorClass::ProcessDiedPending => A::MPIX_ERR_PROC_FAILED_PENDING,
        ErrorClass::Revoked => A::MPIX_ERR_REVOKED,
        ErrorClass::Internal => A::ERR_INTERN,
        ErrorClass::Code(code) => code,
        _ => A::ERR_OTHER,
    }
}

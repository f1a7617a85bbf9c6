//! What happens to a call that fails (MPI-5.0 section 9.3): the error handler of the communicator, session or file that the call is
//! about, or else MPI_COMM_WORLD's, gets it; by default that ends the job, but for files.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex};

use rwmpi_core::{Error, ErrorClass};

use crate::interface::Abi;
use crate::rank;
use crate::turn::{outside, with_all};

/// What a body returns.
pub type Outcome = Result<(), Error>;

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

/// The type of the program's error handlers: the object, the code.
type ErrorFunction = unsafe extern "C" fn(*mut c_void, *mut c_int, ...);

/// What an error belongs to: the handler is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Object<A: Abi> {
    /// A communicator or a session.
    Handle(A::Handle),
    /// A file.
    File(A::File),
}

/// What a call without a body is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject<A: Abi> {
    /// Nothing that can be told here.
    Nothing,
    /// A communicator.
    Communicator(A::Handle),
    /// A window.
    Window(A::Handle),
    /// A file.
    File(A::File),
}

/// The text of the latest error that was given to a program instead of ending it, with its code.
static LATEST: Mutex<Option<(c_int, String)>> = Mutex::new(None);

thread_local! {
    static IS_ENDING: Cell<bool> = const { Cell::new(false) };
}

/// What the latest error was about, if it had that code.
pub(crate) fn latest(code: c_int) -> Option<String> {
    let latest = LATEST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    latest.as_ref().filter(|latest| latest.0 == code).map(|latest| latest.1.clone())
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
        ErrorClass::File => A::ERR_FILE,
        ErrorClass::Name => A::ERR_NAME,
        ErrorClass::Port => A::ERR_PORT,
        ErrorClass::Spawn => A::ERR_SPAWN,
        ErrorClass::NotSame => A::ERR_NOT_SAME,
        ErrorClass::ValueTooLarge => A::ERR_VALUE_TOO_LARGE,
        ErrorClass::NoMemory => A::ERR_NO_MEM,
        ErrorClass::UnsupportedOperation => A::ERR_UNSUPPORTED_OPERATION,
        ErrorClass::ProcessFailed => A::ERR_PROC_ABORTED,
        ErrorClass::Internal => A::ERR_INTERN,
        ErrorClass::Code(code) => code,
        _ => A::ERR_OTHER,
    }
}

/// What the exported function `name` returns after its body has run.
#[inline]
pub fn finish<A: Abi>(name: &str, outcome: Outcome) -> c_int {
    match outcome {
        Ok(()) => A::SUCCESS,
        Err(error) => raise::<A>(name, &error),
    }
}

/// What the exported function `name` without a body does.
#[cold]
pub fn unsupported<A: Abi>(name: &str, subject: Subject<A>) -> c_int {
    let unsupported = || Error::new(ErrorClass::UnsupportedOperation, "this library does not support the function yet");
    finish::<A>(name, examine::<A>(name, subject).and_then(|()| Err(unsupported())))
}

/// Whether what the call `name` is about is there at all.
fn examine<A: Abi>(name: &str, subject: Subject<A>) -> Outcome {
    let rank = rank::rank()?;
    if let Subject::Communicator(handle) = subject {
        rank.communicator::<A>(handle)?;
    }
    if name.starts_with("MPI_File_") {
        rank.blame_files();
    }
    match subject {
        Subject::Window(handle) if A::code(handle) == A::WIN_NULL => {
            Err(Error::new(ErrorClass::Window, "the window is MPI_WIN_NULL"))
        }
        Subject::File(file) if A::file_code(file) == A::FILE_NULL => {
            Err(Error::new(ErrorClass::File, "the file is MPI_FILE_NULL"))
        }
        _ => Ok(()),
    }
}

/// What a function of the tool interface without a body returns: it has no error handlers.
pub fn unsupported_tool<A: Abi>() -> c_int {
    A::T_ERR_NOT_SUPPORTED
}

/// Gives an error of the call `name` to the error handler that it belongs to.
#[cold]
fn raise<A: Abi>(name: &str, error: &Error) -> c_int {
    let code = code_of::<A>(error.class());
    let text = format!("{name}: {error}");
    match rank::peek() {
        Ok(rank) => with_all(|| {
            let (object, handler) = rank.handler_of_present_call::<A>();
            invoke::<A>(object, &handler, code, &text)
        }),
        // Before MPI_Init and after MPI_Finalize nobody can have set another handler.
        Err(_) => end_process(code, &text),
    }
}

/// Does with an error what the handler says.
pub(crate) fn invoke<A: Abi>(mut object: Object<A>, handler: &ErrorHandler, code: c_int, text: &str) -> c_int {
    match handler {
        ErrorHandler::Fatal | ErrorHandler::Abort => end_job(code, text),
        ErrorHandler::Return => {}
        ErrorHandler::Function(function) => {
            remember(code, text);
            let mut code = code;
            let object: *mut c_void = match &mut object {
                Object::Handle(handle) => (&raw mut *handle).cast(),
                Object::File(file) => (&raw mut *file).cast(),
            };
            // SAFETY: the program gave this address as that of an error handler for objects of that kind.
            unsafe {
                let function: ErrorFunction = std::mem::transmute(function.address as *const c_void);
                outside(|| function(object, &raw mut code));
            }
            return code;
        }
    }
    remember(code, text);
    code
}

fn remember(code: c_int, text: &str) {
    *LATEST.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some((code, text.to_string()));
}

/// Ends the job: the launcher says why; without one, the process itself.
pub(crate) fn end_job(code: c_int, text: &str) -> ! {
    let universe = rank::peek().ok().and_then(|rank| rank.universe.try_borrow().ok());
    let Some(universe) = universe.as_ref().and_then(|universe| universe.as_ref()) else { end_process(code, text) };
    if !universe.has_launcher() {
        eprintln!("{text}");
    }
    universe.end_job(code, text);
    exit(code)
}

fn end_process(code: c_int, text: &str) -> ! {
    eprintln!("{text}");
    exit(code)
}

/// Whether the process ends because this thread wants it to: functions that it has called at its exit then find no rank to leave.
pub(crate) fn is_ending() -> bool {
    IS_ENDING.get()
}

/// Ends the process; at once if this thread is about to do that, and has been interrupted, or runs functions of the program.
fn exit(code: c_int) -> ! {
    if IS_ENDING.replace(true) {
        // SAFETY: may be called at any time.
        unsafe { libc::_exit(code) }
    }
    std::process::exit(code)
}

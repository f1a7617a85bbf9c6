//! What happens to a call that fails (MPI-5.0 section 9.3): the error handler of the communicator, session or file that
//! the call is about, or else MPI_COMM_WORLD's, gets it; by default that ends the job, but for files.
//!
//! A handler of the program may leave the call for good, by an exception or `longjmp`. So an exported function has two
//! parts: the body, in its lock, ends by saying what is left to do ([`settle`]), and that is done when the lock has
//! been given back and nothing is left to be dropped ([`conclude`]).
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex};

use rwmpi_core::{Error, ErrorClass};

use crate::big_lock::with_all;
use crate::exception::{self, Exception};
use crate::interface::Abi;
use crate::rank;

/// What a body returns.
pub type Outcome = Result<(), Error>;

/// What the body of a call returns that is to call an error handler for the program.
pub struct HandlerCall<A: Abi> {
    pub(crate) object: Object<A>,
    pub(crate) handler: ErrorHandler,
    pub(crate) code: c_int,
    pub(crate) text: String,
}

/// How a body ends.
pub trait Ending<A: Abi> {
    /// What is left to do for the call `name`.
    fn settle(self, name: &str) -> Result<(), Failed<A>>;
}

impl<A: Abi> Ending<A> for Outcome {
    #[inline(always)]
    fn settle(self, name: &str) -> Result<(), Failed<A>> {
        self.map_err(|error| fail::<A>(name, &error))
    }
}

impl<A: Abi> Ending<A> for Result<HandlerCall<A>, Error> {
    fn settle(self, name: &str) -> Result<(), Failed<A>> {
        let HandlerCall { object, handler, code, text } = self.map_err(|error| fail::<A>(name, &error))?;
        match dispose::<A>(object, &handler, code, &text) {
            Rest::Return(_) => Ok(()),
            // The call itself does not fail.
            Rest::Handler { address, object, code, .. } => {
                Err(Failed(Box::new(Rest::Handler { address, object, code, succeeds: true })))
            }
            rest @ Rest::Exception(_) => Err(Failed(Box::new(rest))),
        }
    }
}

/// What is left to do for a call when nothing of it is left. On the heap, so that a call that succeeds returns a null
/// pointer.
#[must_use]
pub struct Failed<A: Abi>(Box<Rest<A>>);

#[derive(Clone, Copy)]
enum Rest<A: Abi> {
    /// To return this code.
    Return(c_int),
    /// To call the program's error handler at this address.
    Handler { address: usize, object: Object<A>, code: c_int, succeeds: bool },
    /// To let an exception of the program go on.
    Exception(Exception),
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

/// The type of the program's error handlers: the object, the code.
type ErrorFunction = unsafe extern "C-unwind" fn(*mut c_void, *mut c_int, ...);

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
    /// The handler that the present call was given for its own errors, once it has failed, and the null handle of what
    /// it should have made.
    static GIVEN: RefCell<Option<(ErrorHandler, u32)>> = const { RefCell::new(None) };
}

/// Runs the body of a call that was given a handler for its errors; that is told the handle with the code `object`, for
/// what is not made.
pub(crate) fn with_handler(handler: ErrorHandler, object: u32, body: impl FnOnce() -> Outcome) -> Outcome {
    body().inspect_err(|_| GIVEN.set(Some((handler, object))))
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

/// What is left to do for the exported function `name` after its body has run.
#[inline(always)]
pub fn settle<A: Abi>(name: &str, ended: impl Ending<A>) -> Result<(), Failed<A>> {
    ended.settle(name)
}

/// What an exported function returns, whose lock is over.
#[inline(always)]
pub fn conclude<A: Abi>(settled: Result<(), Failed<A>>) -> c_int {
    match settled {
        Ok(()) => A::SUCCESS,
        Err(failed) => conclude_failed::<A>(failed),
    }
}

/// The program's handler may jump out of this frame: nothing in it is to be dropped.
#[cold]
#[inline(never)]
fn conclude_failed<A: Abi>(failed: Failed<A>) -> c_int {
    match rest_of(failed) {
        Rest::Return(code) => code,
        Rest::Exception(exception) => exception.raise(),
        Rest::Handler { address, mut object, mut code, succeeds } => {
            let object: *mut c_void = match &mut object {
                Object::Handle(handle) => (&raw mut *handle).cast(),
                Object::File(file) => (&raw mut *file).cast(),
            };
            // SAFETY: the program gave this address as that of an error handler for objects of that kind.
            unsafe {
                let function: ErrorFunction = std::mem::transmute(address as *const c_void);
                function(object, &raw mut code);
            }
            if succeeds { A::SUCCESS } else { code }
        }
    }
}

/// Its memory is given back here.
#[inline(never)]
fn rest_of<A: Abi>(failed: Failed<A>) -> Rest<A> {
    *failed.0
}

/// What the exported function `name` without a body does.
#[cold]
pub fn unsupported<A: Abi>(name: &str, subject: Subject<A>) -> Result<(), Failed<A>> {
    let unsupported = || Error::new(ErrorClass::UnsupportedOperation, "this library does not support the function yet");
    examine::<A>(name, subject).and_then(|()| Err::<(), _>(unsupported())).settle(name)
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

/// What the error handler says that an error of the call `name` belongs to. An exception that is the reason goes on
/// instead.
#[cold]
fn fail<A: Abi>(name: &str, error: &Error) -> Failed<A> {
    if let Some(exception) = exception::take() {
        return Failed(Box::new(Rest::Exception(exception)));
    }
    let code = code_of::<A>(error.class());
    let text = format!("{name}: {error}");
    if let Some((handler, object)) = GIVEN.take() {
        return Failed(Box::new(dispose::<A>(Object::Handle(A::handle(object)), &handler, code, &text)));
    }
    Failed(Box::new(match rank::peek() {
        Ok(rank) => with_all(|| {
            let (object, handler) = rank.handler_of_present_call::<A>();
            if let (ErrorClass::Revoked, Object::Handle(handle)) = (error.class(), object) {
                rank.hide::<A>(A::code(handle));
            }
            dispose::<A>(object, &handler, code, &text)
        }),
        // Before MPI_Init and after MPI_Finalize nobody can have set another handler.
        Err(_) => end_process(code, &text),
    }))
}

/// What the handler says about an error.
fn dispose<A: Abi>(object: Object<A>, handler: &ErrorHandler, code: c_int, text: &str) -> Rest<A> {
    let rest = match handler {
        ErrorHandler::Fatal | ErrorHandler::Abort => end_job(code, text),
        ErrorHandler::Return => Rest::Return(code),
        ErrorHandler::Function(function) => Rest::Handler { address: function.address, object, code, succeeds: false },
    };
    remember(code, text);
    rest
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

/// Ends the process at once, and so the job, wherever other threads are, or the rank itself.
pub(crate) fn end_at_once(text: &str) -> ! {
    eprintln!("{text}");
    // SAFETY: nothing of the process is used any more.
    unsafe { libc::_exit(1) }
}

fn end_process(code: c_int, text: &str) -> ! {
    eprintln!("{text}");
    exit(code)
}

/// Whether the process ends because this thread wants it to: functions that it has called at its exit then find no rank
/// to leave.
pub(crate) fn is_ending() -> bool {
    IS_ENDING.get()
}

/// Ends the process; at once if this thread is about to do that, and has been interrupted, or runs functions of the
/// program.
fn exit(code: c_int) -> ! {
    if IS_ENDING.replace(true) {
        // SAFETY: may be called at any time.
        unsafe { libc::_exit(code) }
    }
    std::process::exit(code)
}

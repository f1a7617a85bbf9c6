//! What happens to a call that fails (MPI-5.0 section 9.3): the error handler of the communicator, session or file that
//! the call is about, or else MPI_COMM_WORLD's, gets it; by default that ends the job, but for files.
//!
//! A handler of the program may leave the call for good, by an exception or `longjmp`. So an exported function has two
//! parts: the body, in its lock, ends by saying what is left to do ([`settle`]), and that is done when the lock has
//! been given back and nothing is left to be dropped ([`conclude`]).
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::sync::Mutex;

use rwmpi_core::{Error, ErrorClass};

use crate::big_lock::with_all;
use crate::error::{ErrorHandler, Object, Outcome, code_of};
use crate::exception::{self, Exception};
use crate::interface::Abi;
use crate::process::{end_process, exit};
use crate::rank;

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

/// The type of the program's error handlers: the object, the code.
type ErrorFunction = unsafe extern "C-unwind" fn(*mut c_void, *mut c_int, ...);

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
        Rest::Exception(exception) => {
            exception.raise();
            end_job(
                1,
                "an exception has left a function that the program has given to MPI, and nothing in the program catches it",
            )
        }
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

/// Ends the job, and says why.
pub(crate) fn end_job(code: c_int, text: &str) -> ! {
    let universe = rank::peek().ok().and_then(|rank| rank.universe.try_borrow().ok());
    let Some(universe) = universe.as_ref().and_then(|universe| universe.as_ref()) else { end_process(code, text) };
    universe.end_job(code, text);
    exit(code)
}

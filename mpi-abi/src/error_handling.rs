//! Error handlers, classes and codes (MPI-5.0 sections 9.3 to 9.5).
//!
//! A code is its class, but for the codes that programs add. What is known about the latest error beyond its class is
//! the text of its code until the next error.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use rwmpi_core::{Error, ErrorClass, Result};

use crate::argument::{Function, Out, Text, TextOut, c_int};
use crate::call::{HandlerCall, latest};
use crate::error::{ErrorHandler, HandlerFunction, Object, Outcome};
use crate::handle_table::{Kind, Table};
use crate::interface::Abi;
use crate::rank::{blame_nobody, rank};

fn no_handler(what: &str) -> Error {
    Error::new(ErrorClass::ErrorHandler, format!("the error handler {what}"))
}

/// Error handlers that the program made. They are there before MPI_Init and after MPI_Finalize (MPI-5.0 section
/// 11.4.1).
static HANDLERS: LazyLock<Mutex<Table<Arc<HandlerFunction>>>> =
    LazyLock::new(|| Mutex::new(Table::new(Kind::ErrorHandler)));

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the error handler with that handle does.
pub(crate) fn error_handler<A: Abi>(handle: A::Handle) -> Result<ErrorHandler> {
    let code = A::code(handle);
    if code == A::ERRORS_ARE_FATAL {
        Ok(ErrorHandler::Fatal)
    } else if code == A::ERRORS_RETURN {
        Ok(ErrorHandler::Return)
    } else if code == A::ERRORS_ABORT {
        Ok(ErrorHandler::Abort)
    } else if code == A::ERRHANDLER_NULL {
        Err(no_handler("is MPI_ERRHANDLER_NULL"))
    } else {
        let found = locked(&HANDLERS).get(code).map(ErrorHandler::Function);
        found.ok_or_else(|| no_handler("was freed or never was one"))
    }
}

/// A handle of an error handler, which the program has to give back.
pub(crate) fn handle_of_handler<A: Abi>(handler: &ErrorHandler) -> Result<A::Handle> {
    Ok(A::handle(match handler {
        ErrorHandler::Fatal => A::ERRORS_ARE_FATAL,
        ErrorHandler::Return => A::ERRORS_RETURN,
        ErrorHandler::Abort => A::ERRORS_ABORT,
        ErrorHandler::Function(function) => {
            let mut handle = locked(&function.handle);
            if handle.1 == 0 {
                handle.0 = locked(&HANDLERS).insert(function.clone())?;
            }
            handle.1 += 1;
            handle.0
        }
    }))
}

pub(crate) fn create<A: Abi>(function: Function, handle: Out<A::Handle>) -> Outcome {
    blame_nobody();
    if function.is_null() {
        return Err(Error::new(ErrorClass::Argument, "the error handler's function is a null pointer"));
    }
    let function = HandlerFunction { address: function as usize, handle: Mutex::new((0, 0)) };
    handle.set(handle_of_handler::<A>(&ErrorHandler::Function(Arc::new(function)))?)
}

/// Lets the handler of an object be called for the program.
pub(crate) fn call<A: Abi>(
    name: &str,
    object: Object<A>,
    handler: ErrorHandler,
    code: c_int,
) -> Result<HandlerCall<A>> {
    let text = format!("{name}: the program reports {}", text_of::<A>(code));
    Ok(HandlerCall { object, handler, code, text })
}

/// MPI_Comm_create_errhandler (MPI-5.0 section 9.3.1).
pub fn comm_create_errhandler<A: Abi>(function: Function, handle: Out<A::Handle>) -> Outcome {
    create::<A>(function, handle)
}

/// MPI_Comm_set_errhandler (MPI-5.0 section 9.3.1).
pub fn comm_set_errhandler<A: Abi>(communicator: A::Handle, handle: A::Handle) -> Outcome {
    let communicator = rank()?.any_communicator::<A>(communicator)?;
    *communicator.error_handler.borrow_mut() = error_handler::<A>(handle)?;
    Ok(())
}

/// MPI_Comm_get_errhandler (MPI-5.0 section 9.3.1).
pub fn comm_get_errhandler<A: Abi>(communicator: A::Handle, handle: Out<A::Handle>) -> Outcome {
    let communicator = rank()?.any_communicator::<A>(communicator)?;
    let handler = communicator.error_handler.borrow().clone();
    handle.set(handle_of_handler::<A>(&handler)?)
}

/// MPI_Comm_call_errhandler (MPI-5.0 section 9.5).
pub fn comm_call_errhandler<A: Abi>(communicator: A::Handle, code: c_int) -> Result<HandlerCall<A>> {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    let handler = entry.error_handler.borrow().clone();
    call::<A>("MPI_Comm_call_errhandler", Object::Handle(communicator), handler, code)
}

/// MPI_File_create_errhandler (MPI-5.0 section 9.3.3).
pub fn file_create_errhandler<A: Abi>(function: Function, handle: Out<A::Handle>) -> Outcome {
    create::<A>(function, handle)
}

/// Lets `work` see the error handler of a file; MPI_FILE_NULL's is what files have when they are opened.
fn with_file_handler<A: Abi, R>(file: A::File, work: impl FnOnce(&RefCell<ErrorHandler>) -> R) -> Result<R> {
    let rank = rank()?;
    if A::file_code(file) == A::FILE_NULL {
        rank.blame_files();
        return Ok(work(&rank.file_error_handler));
    }
    Ok(work(&rank.file::<A>(file)?.error_handler))
}

/// MPI_File_set_errhandler (MPI-5.0 section 9.3.3).
pub fn file_set_errhandler<A: Abi>(file: A::File, handle: A::Handle) -> Outcome {
    with_file_handler::<A, _>(file, |handler| error_handler::<A>(handle).map(|new| drop(handler.replace(new))))?
}

/// MPI_File_get_errhandler (MPI-5.0 section 9.3.3).
pub fn file_get_errhandler<A: Abi>(file: A::File, handle: Out<A::Handle>) -> Outcome {
    let handler = with_file_handler::<A, _>(file, |handler| handler.borrow().clone())?;
    handle.set(handle_of_handler::<A>(&handler)?)
}

/// MPI_File_call_errhandler (MPI-5.0 section 9.5).
pub fn file_call_errhandler<A: Abi>(file: A::File, code: c_int) -> Result<HandlerCall<A>> {
    let handler = with_file_handler::<A, _>(file, |handler| handler.borrow().clone())?;
    call::<A>("MPI_File_call_errhandler", Object::File(file), handler, code)
}

/// MPI_Win_create_errhandler (MPI-5.0 section 9.3.2).
pub fn win_create_errhandler<A: Abi>(function: Function, handle: Out<A::Handle>) -> Outcome {
    create::<A>(function, handle)
}

/// MPI_Errhandler_free (MPI-5.0 section 9.3.4): the handler goes on working where it is set.
pub fn errhandler_free<A: Abi>(handle: Out<A::Handle>) -> Outcome {
    blame_nobody();
    let code = A::code(handle.get()?);
    if let ErrorHandler::Function(function) = error_handler::<A>(A::handle(code))? {
        let mut held = locked(&function.handle);
        held.1 -= 1;
        if held.1 == 0 {
            locked(&HANDLERS).remove(code);
        }
    }
    handle.set(A::handle(A::ERRHANDLER_NULL))
}

/// MPI_Errhandler_create (MPI-1.0; removed in MPI-3.0).
pub fn errhandler_create<A: Abi>(function: Function, handle: Out<A::Handle>) -> Outcome {
    create::<A>(function, handle)
}

/// MPI_Errhandler_set (MPI-1.0; removed in MPI-3.0).
pub fn errhandler_set<A: Abi>(communicator: A::Handle, handle: A::Handle) -> Outcome {
    comm_set_errhandler::<A>(communicator, handle)
}

/// MPI_Errhandler_get (MPI-1.0; removed in MPI-3.0).
pub fn errhandler_get<A: Abi>(communicator: A::Handle, handle: Out<A::Handle>) -> Outcome {
    comm_get_errhandler::<A>(communicator, handle)
}

/// The codes that the program has added.
static ADDED: Mutex<Codes> = Mutex::new(Codes { places: Vec::new(), free: BTreeSet::new() });

struct Codes {
    /// Each in the place that its number says; the last one is a code.
    places: Vec<Option<Added>>,
    /// The places before that which are none.
    free: BTreeSet<usize>,
}

struct Added {
    /// The class; of a class, itself.
    class: c_int,
    /// How many codes a class has.
    codes: usize,
    text: String,
}

impl Codes {
    /// What was added as that code.
    fn get<A: Abi>(&mut self, code: c_int) -> Option<&mut Added> {
        self.places.get_mut(place::<A>(code)?)?.as_mut()
    }

    /// Adds a code, or a class if there is no other that it belongs to: the lowest that is free.
    fn add<A: Abi>(&mut self, class: Option<c_int>) -> c_int {
        let place = self.free.pop_first().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        let code = A::ERR_LASTCODE + 1 + place as c_int;
        if let Some(class) = class.and_then(|class| self.get::<A>(class)) {
            class.codes += 1;
        }
        self.places[place] = Some(Added { class: class.unwrap_or(code), codes: 0, text: String::new() });
        code
    }

    /// Forgets a code or a class.
    fn remove<A: Abi>(&mut self, code: c_int) {
        let Some(place) = place::<A>(code) else { return };
        let Some(removed) = self.places.get_mut(place).and_then(Option::take) else { return };
        if let Some(class) = self.get::<A>(removed.class) {
            class.codes -= 1;
        }
        self.free.insert(place);
        while self.places.pop_if(|last| last.is_none()).is_some() {
            self.free.remove(&self.places.len());
        }
    }
}

fn added() -> MutexGuard<'static, Codes> {
    locked(&ADDED)
}

/// The place of an added code in the list.
fn place<A: Abi>(code: c_int) -> Option<usize> {
    usize::try_from(i64::from(code) - i64::from(A::ERR_LASTCODE) - 1).ok()
}

/// The highest code there is (MPI_LASTUSEDCODE).
pub(crate) fn last_used_code<A: Abi>() -> c_int {
    A::ERR_LASTCODE + added().places.len() as c_int
}

fn is_known_class<A: Abi>(class: c_int) -> bool {
    A::ERROR_CLASSES.iter().any(|known| known.0 == class)
}

fn class_of<A: Abi>(code: c_int) -> Option<c_int> {
    if is_known_class::<A>(code) {
        return Some(code);
    }
    added().get::<A>(code).map(|one| one.class)
}

fn text_of<A: Abi>(code: c_int) -> String {
    if let Some(one) = added().get::<A>(code) {
        return one.text.clone();
    }
    let name = A::ERROR_CLASSES.iter().find(|known| known.0 == code).map_or("an unknown error code", |known| known.1);
    if code == A::SUCCESS { "MPI_SUCCESS: no error".to_string() } else { name.to_string() }
}

fn no_such_code(what: &str, code: c_int) -> Error {
    Error::new(ErrorClass::Argument, format!("{code} is no error {what}"))
}

/// MPI_Error_class (MPI-5.0 section 9.4).
pub fn error_class<A: Abi>(code: c_int, class: Out<c_int>) -> Outcome {
    blame_nobody();
    class.set(class_of::<A>(code).ok_or_else(|| no_such_code("code", code))?)
}

/// MPI_Error_string (MPI-5.0 section 9.4).
pub fn error_string<A: Abi>(code: c_int, text: TextOut, len: Out<c_int>) -> Outcome {
    blame_nobody();
    class_of::<A>(code).ok_or_else(|| no_such_code("code", code))?;
    let mut what = text_of::<A>(code);
    if let Some(latest) = latest(code).filter(|_| place::<A>(code).is_none() && code != A::SUCCESS) {
        what = format!("{what}: {latest}");
    }
    len.set(text.set(&what, A::MAX_ERROR_STRING as usize)? as c_int)
}

/// MPI_Add_error_class (MPI-5.0 section 9.5).
pub fn add_error_class<A: Abi>(class: Out<c_int>) -> Outcome {
    blame_nobody();
    class.set(added().add::<A>(None))
}

/// MPI_Add_error_code (MPI-5.0 section 9.5).
pub fn add_error_code<A: Abi>(class: c_int, code: Out<c_int>) -> Outcome {
    blame_nobody();
    if class_of::<A>(class) != Some(class) {
        return Err(no_such_code("class", class));
    }
    code.set(added().add::<A>(Some(class)))
}

/// MPI_Add_error_string (MPI-5.0 section 9.5).
pub fn add_error_string<A: Abi>(code: c_int, text: Text) -> Outcome {
    blame_nobody();
    let text = text.get()?;
    let unknown = || no_such_code("code that the program has added", code);
    added().get::<A>(code).ok_or_else(unknown)?.text = text;
    Ok(())
}

fn remove<A: Abi>(code: c_int, is_class: bool) -> Outcome {
    blame_nobody();
    let kind = if is_class { "class" } else { "code" };
    let mut added = added();
    let one = added.get::<A>(code).filter(|one| (one.class == code) == is_class);
    let one = one.ok_or_else(|| no_such_code(&format!("{kind} that the program has added"), code))?;
    if one.codes > 0 {
        let what = format!("the error class {code} still has codes: remove them first");
        return Err(Error::new(ErrorClass::Argument, what));
    }
    if !one.text.is_empty() {
        let what = format!("the error {kind} {code} still has a string: remove it first");
        return Err(Error::new(ErrorClass::Argument, what));
    }
    added.remove::<A>(code);
    Ok(())
}

/// MPI_Remove_error_class (MPI-5.0 section 9.5).
pub fn remove_error_class<A: Abi>(class: c_int) -> Outcome {
    remove::<A>(class, true)
}

/// MPI_Remove_error_code (MPI-5.0 section 9.5).
pub fn remove_error_code<A: Abi>(code: c_int) -> Outcome {
    remove::<A>(code, false)
}

/// MPI_Remove_error_string (MPI-5.0 section 9.5).
pub fn remove_error_string<A: Abi>(code: c_int) -> Outcome {
    blame_nobody();
    let unknown = || no_such_code("code that the program has added", code);
    added().get::<A>(code).ok_or_else(unknown)?.text.clear();
    Ok(())
}

//! Errors that the Fortran library finds: the program hears of them as of all others, from its error handler.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int};
use std::sync::{Mutex, PoisonError};

use rwmpi_interface::Abi;

use crate::buffers::give_code;

/// The integer of what an error is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// A communicator.
    Communicator(c_int),
    /// A window.
    Window(c_int),
    /// A file.
    File(c_int),
    /// Nothing that has an error handler.
    Nothing,
}

// As the standard ABI has them; of handles, the MPICH ABI takes the lower half.
unsafe extern "C-unwind" {
    fn PMPI_Add_error_code(class: c_int, code: *mut c_int) -> c_int;
    fn PMPI_Add_error_string(code: c_int, text: *const c_char) -> c_int;
    fn PMPI_Comm_call_errhandler(communicator: usize, code: c_int) -> c_int;
    fn PMPI_Win_call_errhandler(window: usize, code: c_int) -> c_int;
    fn PMPI_File_fromint(file: c_int) -> *mut std::ffi::c_void;
    fn PMPI_File_call_errhandler(file: *mut std::ffi::c_void, code: c_int) -> c_int;
}

/// The code of each text so far.
static CODES: Mutex<Vec<(String, c_int)>> = Mutex::new(Vec::new());

/// The code of that text, of the class MPI_ERR_BUFFER.
fn code_of<A: Abi>(text: &str) -> c_int {
    let mut codes = CODES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, code)) = codes.iter().find(|(known, _)| known == text) {
        return *code;
    }
    let mut code = A::ERR_BUFFER;
    let in_c = CString::new(text).unwrap_or_default();
    // SAFETY: a place for the code, and a text that ends with a zero byte.
    unsafe {
        if PMPI_Add_error_code(A::ERR_BUFFER, &raw mut code) == A::SUCCESS {
            PMPI_Add_error_string(code, in_c.as_ptr());
        }
    }
    codes.push((text.to_string(), code));
    code
}

/// Calls the error handler with that text, and lets the program have its code.
///
/// # Safety
/// The place is valid or null.
pub(crate) unsafe fn refuse<A: Abi>(subject: Subject, text: &str, ierror: *mut c_int) {
    let code = code_of::<A>(text);
    let integer = |handle: c_int| handle.cast_unsigned() as usize;
    // SAFETY: C checks handles; the place is as said.
    unsafe {
        match subject {
            Subject::Communicator(communicator) => PMPI_Comm_call_errhandler(integer(communicator), code),
            Subject::Window(window) => PMPI_Win_call_errhandler(integer(window), code),
            Subject::File(file) => PMPI_File_call_errhandler(PMPI_File_fromint(file), code),
            Subject::Nothing => PMPI_Comm_call_errhandler(integer(A::COMM_SELF.cast_signed()), code),
        };
        give_code(ierror, code);
    }
}

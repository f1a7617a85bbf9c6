//! Handles as integers (MPI-5.0 section 20.3): an integer is the handle's code.

use crate::argument::c_int;
use crate::interface::Abi;

/// The integer of a communicator.
pub fn comm_toint<A: Abi>(handle: A::Handle) -> c_int {
    A::code(handle) as c_int
}

/// The handle of a communicator with that integer.
pub fn comm_fromint<A: Abi>(number: c_int) -> A::Handle {
    A::handle(number as u32)
}

/// The integer of an error handler.
pub fn errhandler_toint<A: Abi>(handle: A::Handle) -> c_int {
    A::code(handle) as c_int
}

/// The handle of an error handler with that integer.
pub fn errhandler_fromint<A: Abi>(number: c_int) -> A::Handle {
    A::handle(number as u32)
}

/// The integer of a group.
pub fn group_toint<A: Abi>(handle: A::Handle) -> c_int {
    A::code(handle) as c_int
}

/// The handle of a group with that integer.
pub fn group_fromint<A: Abi>(number: c_int) -> A::Handle {
    A::handle(number as u32)
}

/// The integer of an info object.
pub fn info_toint<A: Abi>(handle: A::Handle) -> c_int {
    A::code(handle) as c_int
}

/// The handle of an info object with that integer.
pub fn info_fromint<A: Abi>(number: c_int) -> A::Handle {
    A::handle(number as u32)
}

/// The integer of a message.
pub fn message_toint<A: Abi>(handle: A::Handle) -> c_int {
    A::code(handle) as c_int
}

/// The handle of a message with that integer.
pub fn message_fromint<A: Abi>(number: c_int) -> A::Handle {
    A::handle(number as u32)
}

/// The integer of an operation.
pub fn op_toint<A: Abi>(handle: A::Handle) -> c_int {
    A::code(handle) as c_int
}

/// The handle of an operation with that integer.
pub fn op_fromint<A: Abi>(number: c_int) -> A::Handle {
    A::handle(number as u32)
}

/// The integer of a request.
pub fn request_toint<A: Abi>(handle: A::Handle) -> c_int {
    A::code(handle) as c_int
}

/// The handle of a request with that integer.
pub fn request_fromint<A: Abi>(number: c_int) -> A::Handle {
    A::handle(number as u32)
}

/// The integer of a session.
pub fn session_toint<A: Abi>(handle: A::Handle) -> c_int {
    A::code(handle) as c_int
}

/// The handle of a session with that integer.
pub fn session_fromint<A: Abi>(number: c_int) -> A::Handle {
    A::handle(number as u32)
}

/// The integer of a datatype.
pub fn type_toint<A: Abi>(handle: A::Handle) -> c_int {
    A::code(handle) as c_int
}

/// The handle of a datatype with that integer.
pub fn type_fromint<A: Abi>(number: c_int) -> A::Handle {
    A::handle(number as u32)
}

/// The integer of a window.
pub fn win_toint<A: Abi>(handle: A::Handle) -> c_int {
    A::code(handle) as c_int
}

/// The handle of a window with that integer.
pub fn win_fromint<A: Abi>(number: c_int) -> A::Handle {
    A::handle(number as u32)
}

/// The integer of a file.
pub fn file_toint<A: Abi>(file: A::File) -> c_int {
    A::file_code(file) as c_int
}

/// The handle of a file with that integer.
pub fn file_fromint<A: Abi>(number: c_int) -> A::File {
    A::file(number as u32)
}

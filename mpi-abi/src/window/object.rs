//! What windows are: group, info, name, error handler, attributes.

use crate::argument::{Memory, Out, Text, TextOut, c_int, c_void};
use crate::attribute::{give, value_in_call};
use crate::call::HandlerCall;
use crate::entry::WindowEntry;
use crate::error::{Object, Outcome};
use crate::error_handling::{call, error_handler, handle_of_handler};
use crate::info::{add_info, hints};
use crate::interface::Abi;
use crate::rank::rank;
use rwmpi_core::{Error, ErrorClass, Result};

/// MPI_Win_get_group (MPI-5.0 section 12.2.7).
pub fn win_get_group<A: Abi>(window: A::Handle, group: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    group.set(rank.add_group::<A>(rank.window::<A>(window)?.core.group().clone())?)
}

/// MPI_Win_set_info (MPI-5.0 section 12.2.8).
pub fn win_set_info<A: Abi>(window: A::Handle, info: A::Handle) -> Outcome {
    let entry = rank()?.window::<A>(window)?;
    entry.core.set_info(&hints::<A>(info)?)
}

/// MPI_Win_get_info (MPI-5.0 section 12.2.8).
pub fn win_get_info<A: Abi>(window: A::Handle, info: Out<A::Handle>) -> Outcome {
    info.set(add_info::<A>(rank()?.window::<A>(window)?.core.info()?)?)
}

/// MPI_Win_set_name (MPI-5.0 section 7.8).
pub fn win_set_name<A: Abi>(window: A::Handle, name: Text) -> Outcome {
    let name = name.get()?;
    let mut len = name.len().min(A::MAX_OBJECT_NAME as usize - 1);
    while !name.is_char_boundary(len) {
        len -= 1;
    }
    rank()?.window::<A>(window)?.core.set_name(&name[..len]);
    Ok(())
}

/// MPI_Win_get_name (MPI-5.0 section 7.8): MPI_WIN_NULL has a name, too.
pub fn win_get_name<A: Abi>(window: A::Handle, name: TextOut, len: Out<c_int>) -> Outcome {
    let rank = rank()?;
    if A::code(window) == A::WIN_NULL {
        return len.set(name.set("MPI_WIN_NULL", A::MAX_OBJECT_NAME as usize)? as c_int);
    }
    let entry = rank.window::<A>(window)?;
    len.set(name.set(&entry.core.name(), A::MAX_OBJECT_NAME as usize)? as c_int)
}

/// MPI_Win_set_errhandler (MPI-5.0 section 9.3.2).
pub fn win_set_errhandler<A: Abi>(window: A::Handle, handle: A::Handle) -> Outcome {
    let entry = rank()?.window::<A>(window)?;
    *entry.error_handler.borrow_mut() = error_handler::<A>(handle)?;
    Ok(())
}

/// MPI_Win_get_errhandler (MPI-5.0 section 9.3.2).
pub fn win_get_errhandler<A: Abi>(window: A::Handle, handle: Out<A::Handle>) -> Outcome {
    let entry = rank()?.window::<A>(window)?;
    let handler = entry.error_handler.borrow().clone();
    handle.set(handle_of_handler::<A>(&handler)?)
}

/// MPI_Win_call_errhandler (MPI-5.0 section 9.5).
pub fn win_call_errhandler<A: Abi>(window: A::Handle, code: c_int) -> Result<HandlerCall<A>> {
    let entry = rank()?.window::<A>(window)?;
    let handler = entry.error_handler.borrow().clone();
    call::<A>("MPI_Win_call_errhandler", Object::Handle(window), handler, code)
}

/// Where the value of a predefined attribute lies (MPI-5.0 section 12.2.9).
fn predefined<A: Abi>(entry: &WindowEntry, keyval: c_int) -> Option<*mut c_void> {
    match keyval {
        // The base is the value itself.
        _ if keyval == A::WIN_BASE => Some(entry.core.base() as *mut c_void),
        _ if keyval == A::WIN_SIZE => Some(entry.size.as_ptr().cast()),
        _ if keyval == A::WIN_DISP_UNIT => Some(entry.integers[0].as_ptr().cast()),
        _ if keyval == A::WIN_CREATE_FLAVOR => Some(entry.integers[1].as_ptr().cast()),
        _ if keyval == A::WIN_MODEL => Some(entry.integers[2].as_ptr().cast()),
        _ => None,
    }
}

fn not_predefined<A: Abi>(keyval: c_int) -> Outcome {
    let keyvals = [A::WIN_BASE, A::WIN_SIZE, A::WIN_DISP_UNIT, A::WIN_CREATE_FLAVOR, A::WIN_MODEL];
    match keyvals.contains(&keyval) {
        true => Err(Error::new(ErrorClass::Keyval, "attributes that MPI predefines can't be changed")),
        false => Ok(()),
    }
}

/// MPI_Win_set_attr (MPI-5.0 section 7.7.3).
pub fn win_set_attr<A: Abi>(window: A::Handle, keyval: c_int, value: Memory) -> Outcome {
    let rank = rank()?;
    let entry = rank.window::<A>(window)?;
    not_predefined::<A>(keyval)?;
    let value = value_in_call(keyval, value);
    let outcome = entry.core.attributes().set(&entry.core, &rank.keyval::<A, _>(keyval)?, value);
    rank.blame_code(A::code(window));
    outcome
}

/// MPI_Win_get_attr (MPI-5.0 section 7.7.3).
pub fn win_get_attr<A: Abi>(window: A::Handle, keyval: c_int, value: Out<*mut c_void>, flag: Out<c_int>) -> Outcome {
    let rank = rank()?;
    let entry = rank.window::<A>(window)?;
    if let Some(place) = predefined::<A>(&entry, keyval) {
        value.set(place)?;
        return flag.set(1);
    }
    let found = entry.core.attributes().get(&rank.keyval_of_attributes::<A, _>(keyval)?);
    give(keyval, found, value, flag)
}

/// MPI_Win_delete_attr (MPI-5.0 section 7.7.3).
pub fn win_delete_attr<A: Abi>(window: A::Handle, keyval: c_int) -> Outcome {
    let rank = rank()?;
    let entry = rank.window::<A>(window)?;
    not_predefined::<A>(keyval)?;
    let outcome = entry.core.attributes().delete(&entry.core, &rank.keyval_of_attributes::<A, _>(keyval)?);
    rank.blame_code(A::code(window));
    if !outcome? {
        return Err(Error::new(ErrorClass::Keyval, "the window has no attribute with that keyval"));
    }
    Ok(())
}

//! Attributes (MPI-5.0 section 7.7), and the deprecated calls for them (section 16.1).
//!
//! The program's functions get handles and an extra word, so they are wrapped here: the core's callbacks know neither.
//! A function that fails makes the call fail with the code that it returned.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::rc::Rc;

use rwmpi_core::window::Window;
use rwmpi_core::{
    AttributeKind, AttributeValue, Communicator, CopyFunction, DeleteFunction, Error, ErrorClass, Keyval, Result,
    Universe,
};

use crate::argument::{Function, Memory, Out, c_int, c_void};
use crate::call::call_program;
use crate::error::Outcome;
use crate::error_handling::last_used_code;
use crate::interface::Abi;
use crate::keyval::{Attributed, Coded, Held};
use crate::language::kind_in_call_about;
use crate::rank::{Rank, peek, rank};

type CCopy<A> = unsafe extern "C-unwind" fn(
    <A as Abi>::Handle,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut *mut c_void,
    *mut c_int,
) -> c_int;
type CDelete<A> = unsafe extern "C-unwind" fn(<A as Abi>::Handle, c_int, *mut c_void, *mut c_void) -> c_int;

/// The handle of a keyval, once it has one. It is given up when neither the program nor an attribute has the keyval any
/// more.
struct Number(Cell<c_int>);

impl Drop for Number {
    fn drop(&mut self) {
        if let Ok(rank) = peek() {
            rank.keyvals.remove(self.0.get() as u32);
        }
    }
}

/// What a keyval's functions get besides the attribute, and what attributes are in their language.
#[derive(Clone)]
struct Setting {
    keyval: Rc<Number>,
    extra: Memory,
    kind: AttributeKind,
}

fn failed<A: Abi>(which: &str, code: c_int) -> Result<()> {
    if code == A::SUCCESS {
        return Ok(());
    }
    Err(Error::new(ErrorClass::Code(code), format!("the {which} function of an attribute returned {code}")))
}

/// A value as a language sees it in which attributes are of that kind: the word that was set, or in C a pointer to what
/// Fortran has set (MPI-5.0 section 19.3.7).
fn seen_as(kind: AttributeKind, value: &AttributeValue) -> *mut c_void {
    match (kind, value.kind()) {
        (AttributeKind::Pointer, AttributeKind::Address | AttributeKind::Integer) => value.place().cast(),
        _ => value.word() as *mut c_void,
    }
}

/// What a function that copies has made of `value`, which it saw as `given`.
fn copied(kind: AttributeKind, value: &AttributeValue, given: *mut c_void, made: *mut c_void) -> AttributeValue {
    // Fortran's makes an integer of an integer or an address of an address. C's gives on what it points at, or a
    // pointer of its own.
    if kind != AttributeKind::Pointer {
        AttributeValue::new(made as usize, value.kind())
    } else if made == given {
        value.clone()
    } else {
        AttributeValue::new(made as usize, AttributeKind::Pointer)
    }
}

fn copy_function<A: Abi, O: Attributed>(function: Function, setting: &Setting) -> Option<Box<CopyFunction<O>>> {
    if function.is_null() {
        return None;
    }
    if A::DUP_FUNCTION == Some(function as isize) {
        return Keyval::copy_as_is();
    }
    // SAFETY: the program gave this address as that of a copy function.
    let function: CCopy<A> = unsafe { std::mem::transmute(function) };
    let Setting { keyval, extra, kind } = setting.clone();
    Some(Box::new(move |object, value| {
        let (mut word, mut flag) = (std::ptr::null_mut(), 0);
        let (handle, keyval, given) = (A::handle(object.code::<A>()), keyval.0.get(), seen_as(kind, value));
        // SAFETY: as the standard has it, the function gets its extra word and places for its results.
        let returned = call_program(|| unsafe {
            function(handle, keyval, extra.address().cast(), given, &raw mut word, &raw mut flag)
        })?;
        failed::<A>("copy", returned)?;
        Ok((flag != 0).then(|| copied(kind, value, given, word)))
    }))
}

fn delete_function<A: Abi, O: Attributed>(function: Function, setting: Setting) -> Box<DeleteFunction<O>> {
    // SAFETY: the program gave this address as that of a delete function, or a null pointer.
    let function: Option<CDelete<A>> = unsafe { std::mem::transmute(function) };
    Box::new(move |object, value| {
        // It is there without a function, too: whoever has it has the keyval's number.
        let Setting { keyval, extra, kind } = &setting;
        let Some(function) = function else { return Ok(()) };
        let (handle, keyval, given) = (A::handle(object.code::<A>()), keyval.0.get(), seen_as(*kind, value));
        // SAFETY: as the standard has it, the function gets its extra word.
        let returned = call_program(|| unsafe { function(handle, keyval, given, extra.address().cast()) })?;
        failed::<A>("delete", returned)
    })
}

/// Makes a keyval.
fn create<A: Abi, O: Attributed>(copy: Function, delete: Function, handle: Out<c_int>, extra: Memory) -> Outcome {
    let rank = rank()?;
    let kind = kind_in_call_about(extra.address() as usize);
    let number = Rc::new(Number(Cell::new(A::KEYVAL_INVALID)));
    let setting = Setting { keyval: number.clone(), extra, kind };
    let keyval = Keyval::new(copy_function::<A, O>(copy, &setting), Some(delete_function::<A, O>(delete, setting)));
    number.0.set(rank.keyvals.insert(O::any(Held::InUse(keyval)))? as c_int);
    handle.set(number.0.get())
}

fn no_keyval<A: Abi>(keyval: c_int) -> Error {
    let what = match keyval {
        _ if keyval == A::KEYVAL_INVALID => "the keyval is MPI_KEYVAL_INVALID".to_string(),
        _ if is_predefined::<A>(keyval) => "attributes that MPI predefines can't be changed".to_string(),
        _ => format!("{keyval:#x} is no keyval for this kind of object: it was freed or never was one"),
    };
    Error::new(ErrorClass::Keyval, what)
}

impl Rank {
    /// A keyval to set attributes with.
    pub(crate) fn keyval<A: Abi, O: Attributed>(&self, keyval: c_int) -> Result<Keyval<O>> {
        match self.keyvals.get(keyval as u32).and_then(O::held) {
            Some(Held::InUse(found)) => Ok(found),
            _ => Err(no_keyval::<A>(keyval)),
        }
    }

    /// A keyval to find attributes by: one that was freed will do while attributes are left.
    pub(crate) fn keyval_of_attributes<A: Abi, O: Attributed>(&self, keyval: c_int) -> Result<Keyval<O>> {
        let found = match self.keyvals.get(keyval as u32).and_then(O::held) {
            Some(Held::InUse(found)) => Some(found),
            Some(Held::Freed(found)) => found.upgrade(),
            None => None,
        };
        found.ok_or_else(|| no_keyval::<A>(keyval))
    }
}

/// Lets go of a keyval, which lives on in attributes.
fn free<A: Abi, O: Attributed>(handle: Out<c_int>) -> Outcome {
    let (rank, number) = (rank()?, handle.get()?);
    let keyval = rank.keyval::<A, O>(number)?;
    drop(rank.keyvals.replace(number as u32, O::any(Held::Freed(keyval.downgrade()))));
    handle.set(A::KEYVAL_INVALID)
}

/// A value as the present call sets it.
pub(crate) fn value_in_call(keyval: c_int, value: Memory) -> AttributeValue {
    AttributeValue::new(value.address() as usize, kind_in_call_about(keyval as usize))
}

/// A value as the present call gets it.
pub(crate) fn give(
    keyval: c_int,
    value: Option<Rc<AttributeValue>>,
    place: Out<*mut c_void>,
    flag: Out<c_int>,
) -> Outcome {
    if let Some(value) = &value {
        place.set(seen_as(kind_in_call_about(keyval as usize), value))?;
    }
    flag.set(value.is_some().into())
}

/// The attributes that MPI itself has on every communicator (MPI-5.0 section 9.1.2).
fn predefined_keyvals<A: Abi>() -> [c_int; 7] {
    [A::TAG_UB, A::HOST, A::IO, A::WTIME_IS_GLOBAL, A::UNIVERSE_SIZE, A::LASTUSEDCODE, A::APPNUM]
}

fn is_predefined<A: Abi>(keyval: c_int) -> bool {
    predefined_keyvals::<A>().contains(&keyval)
}

impl Rank {
    /// The value of a predefined attribute, at an address that stays; MPI_APPNUM has none without a launcher.
    fn predefined_attribute<A: Abi>(&self, keyval: c_int) -> Option<&Cell<c_int>> {
        let room = || self.universe.borrow().as_ref().map_or(1, Universe::universe_size);
        let value = match keyval {
            _ if keyval == A::TAG_UB => rwmpi_core::TAG_MAX,
            _ if keyval == A::HOST => A::PROC_NULL,
            // Every rank can read and write files.
            _ if keyval == A::IO => A::ANY_SOURCE,
            // Clocks of ranks start when the ranks do.
            _ if keyval == A::WTIME_IS_GLOBAL => 0,
            _ if keyval == A::UNIVERSE_SIZE => c_int::try_from(room()).unwrap_or(c_int::MAX),
            _ if keyval == A::LASTUSEDCODE => last_used_code::<A>(),
            _ if keyval == A::APPNUM => self.universe.borrow().as_ref()?.program_number()?,
            _ => return None,
        };
        let place = predefined_keyvals::<A>().iter().position(|&known| known == keyval)?;
        let cell = &self.predefined_attributes[place];
        cell.set(value);
        Some(cell)
    }
}

/// MPI_Comm_create_keyval (MPI-5.0 section 7.7.2).
pub fn comm_create_keyval<A: Abi>(copy: Function, delete: Function, keyval: Out<c_int>, extra: Memory) -> Outcome {
    create::<A, Communicator>(copy, delete, keyval, extra)
}

/// MPI_Comm_free_keyval (MPI-5.0 section 7.7.2).
pub fn comm_free_keyval<A: Abi>(keyval: Out<c_int>) -> Outcome {
    free::<A, Communicator>(keyval)
}

/// MPI_Comm_set_attr (MPI-5.0 section 7.7.2).
pub fn comm_set_attr<A: Abi>(communicator: A::Handle, keyval: c_int, value: Memory) -> Outcome {
    let rank = rank()?;
    let entry = rank.any_communicator::<A>(communicator)?;
    let value = value_in_call(keyval, value);
    let outcome = entry.core.attributes().set(&entry.core, &rank.keyval::<A, _>(keyval)?, value);
    rank.blame(&entry.core);
    outcome
}

/// MPI_Comm_get_attr (MPI-5.0 section 7.7.2).
pub fn comm_get_attr<A: Abi>(
    communicator: A::Handle,
    keyval: c_int,
    value: Out<*mut c_void>,
    flag: Out<c_int>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.any_communicator::<A>(communicator)?;
    if is_predefined::<A>(keyval) {
        let found = rank.predefined_attribute::<A>(keyval);
        if let Some(cell) = found {
            value.set(cell.as_ptr().cast())?;
        }
        return flag.set(found.is_some().into());
    }
    let found = entry.core.attributes().get(&rank.keyval_of_attributes::<A, _>(keyval)?);
    give(keyval, found, value, flag)
}

/// MPI_Comm_delete_attr (MPI-5.0 section 7.7.2).
pub fn comm_delete_attr<A: Abi>(communicator: A::Handle, keyval: c_int) -> Outcome {
    let rank = rank()?;
    let entry = rank.any_communicator::<A>(communicator)?;
    let keyval = rank.keyval_of_attributes::<A, _>(keyval)?;
    let outcome = entry.core.attributes().delete(&entry.core, &keyval);
    rank.blame(&entry.core);
    if !outcome? {
        return Err(Error::new(ErrorClass::Keyval, "the communicator has no attribute with that keyval"));
    }
    Ok(())
}

/// MPI_Type_create_keyval (MPI-5.0 section 7.7.4).
pub fn type_create_keyval<A: Abi>(copy: Function, delete: Function, keyval: Out<c_int>, extra: Memory) -> Outcome {
    create::<A, Coded>(copy, delete, keyval, extra)
}

/// MPI_Type_free_keyval (MPI-5.0 section 7.7.4).
pub fn type_free_keyval<A: Abi>(keyval: Out<c_int>) -> Outcome {
    free::<A, Coded>(keyval)
}

/// MPI_Win_create_keyval (MPI-5.0 section 7.7.3).
pub fn win_create_keyval<A: Abi>(copy: Function, delete: Function, keyval: Out<c_int>, extra: Memory) -> Outcome {
    create::<A, Window>(copy, delete, keyval, extra)
}

/// MPI_Win_free_keyval (MPI-5.0 section 7.7.3).
pub fn win_free_keyval<A: Abi>(keyval: Out<c_int>) -> Outcome {
    free::<A, Window>(keyval)
}

/// MPI_Keyval_create (MPI-1.0; deprecated in MPI-2.0).
pub fn keyval_create<A: Abi>(copy: Function, delete: Function, keyval: Out<c_int>, extra: Memory) -> Outcome {
    comm_create_keyval::<A>(copy, delete, keyval, extra)
}

/// MPI_Keyval_free (MPI-1.0; deprecated in MPI-2.0).
pub fn keyval_free<A: Abi>(keyval: Out<c_int>) -> Outcome {
    comm_free_keyval::<A>(keyval)
}

/// MPI_Attr_put (MPI-1.0; deprecated in MPI-2.0).
pub fn attr_put<A: Abi>(communicator: A::Handle, keyval: c_int, value: Memory) -> Outcome {
    comm_set_attr::<A>(communicator, keyval, value)
}

/// MPI_Attr_get (MPI-1.0; deprecated in MPI-2.0).
pub fn attr_get<A: Abi>(communicator: A::Handle, keyval: c_int, value: Out<*mut c_void>, flag: Out<c_int>) -> Outcome {
    comm_get_attr::<A>(communicator, keyval, value, flag)
}

/// MPI_Attr_delete (MPI-1.0; deprecated in MPI-2.0).
pub fn attr_delete<A: Abi>(communicator: A::Handle, keyval: c_int) -> Outcome {
    comm_delete_attr::<A>(communicator, keyval)
}

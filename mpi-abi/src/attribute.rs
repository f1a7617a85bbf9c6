//! Attributes (MPI-5.0 section 7.7), and the deprecated calls for them (section 16.1).
//!
//! The program's functions get handles and an extra word, so they are wrapped here: the core's callbacks know neither. A function that
//! fails makes the call fail with the code that it returned.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::rc::Rc;

use rwmpi_core::{
    AttributeKind, AttributeValue, Communicator, CopyFunction, DeleteFunction, Error, ErrorClass, Keyval, Result,
};

use crate::argument::{Function, Memory, Out, c_int, c_void};
use crate::error::Outcome;
use crate::error_handling::last_used_code;
use crate::interface::Abi;
use crate::rank::{Rank, rank};
use crate::turn::call_program;

/// A datatype or a window, as its attributes' functions know it: the code of its handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coded(pub(crate) u32);

/// A keyval of any kind.
#[derive(Clone)]
pub(crate) enum AnyKeyval {
    /// For communicators.
    Communicator(Keyval<Communicator>),
    /// For datatypes.
    Datatype(Keyval<Coded>),
    /// For windows, none of which there are yet.
    Window,
}

type CCopy<A> = unsafe extern "C-unwind" fn(
    <A as Abi>::Handle,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut *mut c_void,
    *mut c_int,
) -> c_int;
type CDelete<A> = unsafe extern "C-unwind" fn(<A as Abi>::Handle, c_int, *mut c_void, *mut c_void) -> c_int;

/// What a keyval's functions get besides the attribute.
#[derive(Clone)]
struct Setting {
    /// The keyval's handle, once it has one.
    keyval: Rc<Cell<c_int>>,
    extra: Memory,
}

fn failed<A: Abi>(which: &str, code: c_int) -> Result<()> {
    if code == A::SUCCESS {
        return Ok(());
    }
    Err(Error::new(ErrorClass::Code(code), format!("the {which} function of an attribute returned {code}")))
}

fn copy_function<A: Abi, O: 'static>(
    function: Function,
    setting: &Setting,
    code: fn(&O) -> u32,
) -> Option<Box<CopyFunction<O>>> {
    if function.is_null() {
        return None;
    }
    if A::DUP_FUNCTION == Some(function as isize) {
        return Keyval::copy_as_is();
    }
    // SAFETY: the program gave this address as that of a copy function.
    let function: CCopy<A> = unsafe { std::mem::transmute(function) };
    let Setting { keyval, extra } = setting.clone();
    Some(Box::new(move |object, value| {
        let (mut word, mut flag) = (std::ptr::null_mut(), 0);
        let (handle, keyval, value_in) = (A::handle(code(object)), keyval.get(), value.word as *mut c_void);
        // SAFETY: as the standard has it, the function gets its extra word and places for its results.
        let returned = call_program(|| unsafe {
            function(handle, keyval, extra.address().cast(), value_in, &raw mut word, &raw mut flag)
        })?;
        failed::<A>("copy", returned)?;
        Ok((flag != 0).then_some(AttributeValue { word: word as usize, kind: value.kind }))
    }))
}

fn delete_function<A: Abi, O: 'static>(
    function: Function,
    setting: &Setting,
    code: fn(&O) -> u32,
) -> Option<Box<DeleteFunction<O>>> {
    if function.is_null() {
        return None;
    }
    // SAFETY: the program gave this address as that of a delete function.
    let function: CDelete<A> = unsafe { std::mem::transmute(function) };
    let Setting { keyval, extra } = setting.clone();
    Some(Box::new(move |object, value| {
        let (handle, keyval, word) = (A::handle(code(object)), keyval.get(), value.word as *mut c_void);
        // SAFETY: as the standard has it, the function gets its extra word.
        let returned = call_program(|| unsafe { function(handle, keyval, word, extra.address().cast()) })?;
        failed::<A>("delete", returned)
    }))
}

/// Makes a keyval, whose objects `code` turns into handles.
fn create<A: Abi, O: 'static>(
    functions: (Function, Function),
    handle: Out<c_int>,
    extra: Memory,
    code: fn(&O) -> u32,
    of_kind: fn(Keyval<O>) -> AnyKeyval,
) -> Outcome {
    let rank = rank()?;
    let setting = Setting { keyval: Rc::new(Cell::new(A::KEYVAL_INVALID)), extra };
    let copy = copy_function::<A, O>(functions.0, &setting, code);
    let delete = delete_function::<A, O>(functions.1, &setting, code);
    let number = rank.keyvals.insert(of_kind(Keyval::new(copy, delete))) as c_int;
    setting.keyval.set(number);
    handle.set(number)
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
    /// A keyval for communicators.
    fn communicator_keyval<A: Abi>(&self, keyval: c_int) -> Result<Keyval<Communicator>> {
        match self.keyvals.get(keyval as u32) {
            Some(AnyKeyval::Communicator(found)) => Ok(found),
            _ => Err(no_keyval::<A>(keyval)),
        }
    }

    /// A keyval for datatypes.
    pub(crate) fn datatype_keyval<A: Abi>(&self, keyval: c_int) -> Result<Keyval<Coded>> {
        match self.keyvals.get(keyval as u32) {
            Some(AnyKeyval::Datatype(found)) => Ok(found),
            _ => Err(no_keyval::<A>(keyval)),
        }
    }
}

/// Lets go of a keyval, which lives on in attributes.
fn free<A: Abi>(handle: Out<c_int>, is_of_kind: fn(&AnyKeyval) -> bool) -> Outcome {
    let (rank, keyval) = (rank()?, handle.get()?);
    if !rank.keyvals.get(keyval as u32).is_some_and(|found| is_of_kind(&found)) {
        return Err(no_keyval::<A>(keyval));
    }
    rank.keyvals.remove(keyval as u32);
    handle.set(A::KEYVAL_INVALID)
}

/// A value as C sets it.
pub(crate) fn pointer(value: Memory) -> AttributeValue {
    AttributeValue { word: value.address() as usize, kind: AttributeKind::Pointer }
}

/// A value as C gets it: what C has set, or a pointer to what Fortran has set (MPI-5.0 section 19.3.7).
pub(crate) fn give(value: Option<Rc<AttributeValue>>, place: Out<*mut c_void>, flag: Out<c_int>) -> Outcome {
    if let Some(value) = &value {
        place.set(match value.kind {
            AttributeKind::Pointer => value.word as *mut c_void,
            AttributeKind::Address | AttributeKind::Integer => (&raw const value.word).cast_mut().cast(),
        })?;
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
    /// The value of a predefined attribute, at an address that stays; MPI_APPNUM has none.
    fn predefined_attribute<A: Abi>(&self, keyval: c_int) -> Option<&Cell<c_int>> {
        let ranks = || self.universe.borrow().as_ref().map_or(1, |universe| universe.world().size());
        let value = match keyval {
            _ if keyval == A::TAG_UB => rwmpi_core::TAG_MAX,
            _ if keyval == A::HOST => A::PROC_NULL,
            // Every rank can read and write files.
            _ if keyval == A::IO => A::ANY_SOURCE,
            // Clocks of ranks start when the ranks do.
            _ if keyval == A::WTIME_IS_GLOBAL => 0,
            _ if keyval == A::UNIVERSE_SIZE => ranks() as c_int,
            _ if keyval == A::LASTUSEDCODE => last_used_code::<A>(),
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
    let code = |communicator: &Communicator| match communicator.mark() {
        0 => A::COMM_NULL,
        code => code as u32,
    };
    create::<A, Communicator>((copy, delete), keyval, extra, code, AnyKeyval::Communicator)
}

/// MPI_Comm_free_keyval (MPI-5.0 section 7.7.2).
pub fn comm_free_keyval<A: Abi>(keyval: Out<c_int>) -> Outcome {
    free::<A>(keyval, |found| matches!(found, AnyKeyval::Communicator(_)))
}

/// MPI_Comm_set_attr (MPI-5.0 section 7.7.2).
pub fn comm_set_attr<A: Abi>(communicator: A::Handle, keyval: c_int, value: Memory) -> Outcome {
    let rank = rank()?;
    let entry = rank.communicator::<A>(communicator)?;
    let keyval = rank.communicator_keyval::<A>(keyval)?;
    let outcome = entry.core.attributes().set(&entry.core, &keyval, pointer(value));
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
    let entry = rank.communicator::<A>(communicator)?;
    if is_predefined::<A>(keyval) {
        let found = rank.predefined_attribute::<A>(keyval);
        if let Some(cell) = found {
            value.set(cell.as_ptr().cast())?;
        }
        return flag.set(found.is_some().into());
    }
    give(entry.core.attributes().get(&rank.communicator_keyval::<A>(keyval)?), value, flag)
}

/// MPI_Comm_delete_attr (MPI-5.0 section 7.7.2).
pub fn comm_delete_attr<A: Abi>(communicator: A::Handle, keyval: c_int) -> Outcome {
    let rank = rank()?;
    let entry = rank.communicator::<A>(communicator)?;
    let keyval = rank.communicator_keyval::<A>(keyval)?;
    let outcome = entry.core.attributes().delete(&entry.core, &keyval);
    rank.blame(&entry.core);
    if !outcome? {
        return Err(Error::new(ErrorClass::Keyval, "the communicator has no attribute with that keyval"));
    }
    Ok(())
}

/// MPI_Type_create_keyval (MPI-5.0 section 7.7.4).
pub fn type_create_keyval<A: Abi>(copy: Function, delete: Function, keyval: Out<c_int>, extra: Memory) -> Outcome {
    create::<A, Coded>((copy, delete), keyval, extra, |object| object.0, AnyKeyval::Datatype)
}

/// MPI_Type_free_keyval (MPI-5.0 section 7.7.4).
pub fn type_free_keyval<A: Abi>(keyval: Out<c_int>) -> Outcome {
    free::<A>(keyval, |found| matches!(found, AnyKeyval::Datatype(_)))
}

/// MPI_Win_create_keyval (MPI-5.0 section 7.7.3).
pub fn win_create_keyval<A: Abi>(_copy: Function, _delete: Function, keyval: Out<c_int>, _extra: Memory) -> Outcome {
    keyval.set(rank()?.keyvals.insert(AnyKeyval::Window) as c_int)
}

/// MPI_Win_free_keyval (MPI-5.0 section 7.7.3).
pub fn win_free_keyval<A: Abi>(keyval: Out<c_int>) -> Outcome {
    free::<A>(keyval, |found| matches!(found, AnyKeyval::Window))
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

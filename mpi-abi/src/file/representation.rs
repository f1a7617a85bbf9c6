//! Representations of data that the program converts (MPI-5.0 section 14.5.3).
#![allow(unsafe_code)]

use std::rc::Rc;

use rwmpi_core::datatype::Basic;
use rwmpi_core::untyped::Elements;
use rwmpi_core::{Error, ErrorClass, Result};
use rwmpi_io::representation::{pack, unpack};
use rwmpi_io::{Conversion, Representation};

use crate::argument::{Function, Memory, Text, c_int, c_void};
use crate::call::call_program;
use crate::datatype::handle_of_basic;
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Rank, rank};

type Convert<A, Count> =
    unsafe extern "C-unwind" fn(*mut c_void, <A as Abi>::Handle, Count, *mut c_void, i64, *mut c_void) -> c_int;
type Extent<A> = unsafe extern "C-unwind" fn(<A as Abi>::Handle, *mut i64, *mut c_void) -> c_int;

/// The program's functions of a representation; those that convert may be missing.
struct Registered<A: Abi> {
    name: String,
    read: Option<Convertor<A>>,
    write: Option<Convertor<A>>,
    extent: Extent<A>,
    state: *mut c_void,
}

/// A function that converts, and which type the count has that it takes.
#[derive(Clone, Copy)]
enum Convertor<A: Abi> {
    Small(Convert<A, c_int>),
    Large(Convert<A, i64>),
}

impl<A: Abi> std::fmt::Debug for Registered<A> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Registered").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<A: Abi> Convertor<A> {
    /// The function at that address, if there is one.
    ///
    /// # Safety
    /// It is of that kind.
    unsafe fn new(function: Function, is_large: bool) -> Option<Self> {
        // SAFETY: the caller's word.
        let convertor = || unsafe {
            match is_large {
                true => Convertor::Large(std::mem::transmute::<Function, Convert<A, i64>>(function)),
                false => Convertor::Small(std::mem::transmute::<Function, Convert<A, c_int>>(function)),
            }
        };
        (!function.is_null()).then(convertor)
    }

    /// Has it convert all of some elements.
    fn convert(self, elements: &Elements, bytes: &mut [u8], state: *mut c_void) -> Outcome {
        let datatype = elements.datatype();
        let (handle, each) = (A::handle(datatype.handle()), datatype.basic_elements());
        let (count, len) = (elements.count(), bytes.len() as u64);
        if count == 0 || each == 0 {
            return Ok(());
        }
        // So many elements at a time that the number of their constituents has the function's type.
        let batch = match self {
            Convertor::Small(_) => (i32::MAX as u64 / each).max(1),
            Convertor::Large(_) => count,
        };
        let memory = elements.start().cast::<c_void>();
        let mut done = 0;
        while done < count {
            let number = batch.min(count - done);
            let from = bytes[(len / count * done) as usize..].as_mut_ptr().cast::<c_void>();
            let (items, position) = ((number * each) as i64, (done * each) as i64);
            // SAFETY: the program has given this address as that of a function that converts elements of its memory,
            // which it has given for this access, to or from as many bytes as its extent function has said.
            let code = call_program(|| unsafe {
                match self {
                    Convertor::Small(convert) => convert(memory, handle, items as c_int, from, position, state),
                    Convertor::Large(convert) => convert(memory, handle, items, from, position, state),
                }
            })?;
            check::<A>("converts", code)?;
            done += number;
        }
        Ok(())
    }
}

fn check<A: Abi>(what: &str, code: c_int) -> Outcome {
    if code == A::SUCCESS {
        return Ok(());
    }
    let text = format!("the function that {what} data for a representation returned {code}");
    Err(Error::new(ErrorClass::Conversion, text))
}

impl<A: Abi> Conversion for Registered<A> {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self, basic: Basic) -> Result<u64> {
        let mut extent = 0;
        // SAFETY: the program has given this address as that of an extent function.
        let code = call_program(|| unsafe { (self.extent)(handle_of_basic::<A>(basic), &raw mut extent, self.state) })?;
        check::<A>("measures", code)?;
        u64::try_from(extent).map_err(|_| {
            let what = format!("{} has {extent} bytes in the representation {:?}", basic.name(), self.name);
            Error::new(ErrorClass::Conversion, what)
        })
    }

    fn decode(&self, elements: &Elements, bytes: &mut [u8]) -> Result<()> {
        match self.read {
            Some(read) => read.convert(elements, bytes, self.state),
            None => unpack(elements, bytes),
        }
    }

    fn encode(&self, elements: &Elements, bytes: &mut [u8]) -> Result<()> {
        match self.write {
            Some(write) => write.convert(elements, bytes, self.state),
            None => pack(elements, bytes),
        }
    }
}

impl Rank {
    /// The representation with that name.
    pub(super) fn representation(&self, name: &str) -> Result<Representation> {
        let registered = self.for_files.representations.borrow().get(name).cloned().map(Representation::Registered);
        Representation::of_name(name).or(registered).ok_or_else(|| {
            let what = format!("there is no data representation {name:?}: MPI_Register_datarep makes one known");
            Error::new(ErrorClass::UnsupportedRepresentation, what)
        })
    }
}

fn register<A: Abi>(
    name: Text,
    [read, write]: [Function; 2],
    extent: Function,
    state: Memory,
    is_large: bool,
) -> Outcome {
    let rank = rank()?;
    rank.blame_files();
    let name = name.get()?;
    let refuse = |class, what: String| Err(Error::new(class, what));
    if extent.is_null() {
        return refuse(ErrorClass::Argument, "the extent function is a null pointer".to_owned());
    }
    if name.is_empty() || name.len() >= A::MAX_DATAREP_STRING as usize {
        let most = A::MAX_DATAREP_STRING - 1;
        return refuse(ErrorClass::Argument, format!("a representation's name has 1 to {most} bytes"));
    }
    if rank.representation(&name).is_ok() {
        return refuse(ErrorClass::DuplicateRepresentation, format!("there is a representation {name:?} already"));
    }
    // SAFETY: the program says that its functions are of these kinds; they stay as long as it may use the
    // representation, which nothing ends.
    let registered: Registered<A> = unsafe {
        Registered {
            name: name.clone(),
            read: Convertor::new(read, is_large),
            write: Convertor::new(write, is_large),
            extent: std::mem::transmute::<Function, Extent<A>>(extent),
            state: state.address().cast(),
        }
    };
    rank.for_files.representations.borrow_mut().insert(name, Rc::new(registered));
    Ok(())
}

/// MPI_Register_datarep (MPI-5.0 section 14.5.3): its errors go to MPI_FILE_NULL's handler. Without a function values
/// look as in memory.
pub fn register_datarep<A: Abi>(
    name: Text,
    read: Function,
    write: Function,
    extent: Function,
    state: Memory,
) -> Outcome {
    register::<A>(name, [read, write], extent, state, false)
}

/// MPI_Register_datarep_c (MPI-5.0 section 14.5.3): as MPI_Register_datarep, of functions that take large counts.
pub fn register_datarep_c<A: Abi>(
    name: Text,
    read: Function,
    write: Function,
    extent: Function,
    state: Memory,
) -> Outcome {
    register::<A>(name, [read, write], extent, state, true)
}

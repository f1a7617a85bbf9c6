//! Calls of the module `mpi_f08` with buffers that do not lie side by side.
//!
//! Such a buffer is described by a datatype, so the operation reads and writes the program's elements themselves, also
//! after the call. Where no datatype can say what is meant, a call that is over when it returns works on a copy. One
//! that goes on is refused: the program would have to keep what it does not know of.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use rwmpi_interface::Abi;
use smallvec::SmallVec;

use crate::common::choice;
use crate::description::{Extent, Item, Made, Trouble};
use crate::refusal::{Subject, refuse};
use crate::section::{Descriptor, Section, base, is_plain};

/// What a buffer is to the procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its address is all that is used.
    Address,
    /// Memory that the library keeps.
    Kept,
    /// All that there is are so many items.
    All,
    /// Blocks of items.
    Blocks,
    /// No one datatype describes it.
    Loose,
}

/// A buffer of a call.
pub struct Buffer {
    /// What the program calls it, for messages.
    pub name: &'static str,
    /// What the compiler passes.
    pub descriptor: *const Descriptor,
    /// What it is to the procedure.
    pub role: Role,
    /// How many items, if one argument says so.
    pub count: Option<i64>,
    /// The place of its datatype, if there is one. Buffers with the same place share it.
    pub datatype: *const c_int,
    /// Whether the procedure writes it.
    pub is_written: bool,
}

/// What is about the whole call.
pub struct Call {
    /// Whether the operation goes on when the call is over.
    pub goes_on: bool,
    /// The reduction, if it is one.
    pub operation: Option<c_int>,
    /// Whose error handler hears of what is wrong.
    pub subject: Subject,
}

/// What the procedure of the module `mpi` gets for a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where it is.
    pub address: *mut c_void,
    /// The count, if there is one.
    pub count: i64,
    /// The datatype, if there is one.
    pub datatype: c_int,
}

/// What takes the place of the buffers, and what has to live until the call is over.
struct Described<const N: usize> {
    places: [Place; N],
    made: SmallVec<[Made; 2]>,
}

fn is_predefined<A: Abi>(operation: c_int) -> bool {
    let all = [
        A::SUM,
        A::MIN,
        A::MAX,
        A::PROD,
        A::BAND,
        A::BOR,
        A::BXOR,
        A::LAND,
        A::LOR,
        A::LXOR,
        A::MINLOC,
        A::MAXLOC,
        A::REPLACE,
        A::NO_OP,
    ];
    all.contains(&operation.cast_unsigned())
}

impl Buffer {
    /// The place as the program has it.
    unsafe fn place(&self) -> Place {
        // SAFETY: the caller has a descriptor, and a datatype or a null pointer.
        let (address, datatype) = unsafe { (base(self.descriptor), self.datatype.as_ref().copied()) };
        Place { address, count: self.count.unwrap_or(0), datatype: datatype.unwrap_or(0) }
    }

    fn extent(&self) -> Extent {
        match (self.role, self.count) {
            (Role::All, Some(count)) => Extent::All(count),
            (Role::Blocks, Some(count)) => Extent::Blocks(count),
            _ => Extent::Unknown,
        }
    }

    /// Whether it is a constant, such as MPI_IN_PLACE.
    unsafe fn is_constant<A: Abi>(&self) -> bool {
        // SAFETY: the caller has a descriptor.
        let address = unsafe { base(self.descriptor) };
        choice::<A>(address) != address
    }
}

/// Whether both have their elements at the same distances.
fn are_alike(one: &Section, other: &Section) -> bool {
    (one.part, &one.dimensions) == (other.part, &other.dimensions)
}

/// Describes the section that is the buffer at that place, and all that share its datatype.
unsafe fn describe<A: Abi, const N: usize>(
    buffers: &[Buffer; N],
    at: usize,
    call: &Call,
    described: &mut Described<N>,
) -> Result<(), Trouble> {
    let own = &buffers[at];
    if own.role == Role::Address || own.count.is_some_and(|count| count <= 0) {
        return Ok(());
    }
    let is_of_program = call.operation.is_some_and(|operation| !is_predefined::<A>(operation));
    if own.datatype.is_null() || is_of_program {
        return Err(Trouble::Indescribable);
    }
    // SAFETY: passed on.
    let section = unsafe { Section::new(own.descriptor) };
    let together: SmallVec<[usize; 2]> = (0..N).filter(|&other| buffers[other].datatype == own.datatype).collect();
    for &other in &together {
        let other = &buffers[other];
        // SAFETY: passed on.
        let is_alike = unsafe { other.is_constant::<A>() || are_alike(&section, &Section::new(other.descriptor)) };
        if !is_alike {
            return Err(Trouble::Indescribable);
        }
    }
    // SAFETY: passed on.
    let datatype = unsafe { own.datatype.read() };
    let plan = section.plan(own.extent(), Item::of(datatype)?)?;
    let made = Made::of_plan::<A>(&plan, datatype)?;
    for other in together {
        let place = &mut described.places[other];
        place.datatype = made.integer();
        place.count = plan.count(place.count);
    }
    described.made.push(made);
    Ok(())
}

/// Describes all sections.
unsafe fn describe_all<A: Abi, const N: usize>(buffers: &[Buffer; N], call: &Call) -> Result<Described<N>, Trouble> {
    // SAFETY: passed on.
    let places = std::array::from_fn(|at| unsafe { buffers[at].place() });
    let mut described = Described { places, made: SmallVec::new() };
    for at in 0..N {
        let is_done = (0..at).any(|earlier| {
            // SAFETY: passed on.
            let was_section = unsafe { !is_plain(buffers[earlier].descriptor) };
            was_section && !buffers[at].datatype.is_null() && buffers[earlier].datatype == buffers[at].datatype
        });
        // SAFETY: passed on.
        if !is_done && unsafe { !is_plain(buffers[at].descriptor) } {
            // SAFETY: passed on.
            unsafe { describe::<A, N>(buffers, at, call, &mut described)? };
        }
    }
    Ok(described)
}

/// Calls with copies of the sections, and writes back those that the procedure writes.
unsafe fn on_copies<const N: usize>(buffers: &[Buffer; N], with: impl FnOnce(&[Place; N])) {
    // SAFETY: passed on.
    let mut places: [Place; N] = std::array::from_fn(|at| unsafe { buffers[at].place() });
    let mut copies: SmallVec<[(usize, Section, Vec<u8>); 2]> = SmallVec::new();
    for (at, buffer) in buffers.iter().enumerate() {
        // SAFETY: passed on.
        if unsafe { is_plain(buffer.descriptor) } || buffer.role == Role::Address {
            continue;
        }
        // SAFETY: passed on; the elements are the program's, which is in this call.
        let (section, mut copy) = unsafe {
            let section = Section::new(buffer.descriptor);
            let copy = section.gathered();
            (section, copy)
        };
        places[at].address = copy.as_mut_ptr().cast();
        copies.push((at, section, copy));
    }
    with(&places);
    for (at, section, copy) in copies {
        if buffers[at].is_written {
            // SAFETY: as above.
            unsafe { section.scatter(&copy) };
        }
    }
}

/// Calls `with` with what stands for the buffers, of which at least one is a section.
///
/// # Safety
/// The buffers have what the compiler passes, and places of the program or null pointers.
#[cold]
pub unsafe fn with_sections<A: Abi, const N: usize>(
    buffers: &[Buffer; N],
    call: &Call,
    ierror: *mut c_int,
    with: impl FnOnce(&[Place; N]),
) {
    let name =
        |is_it: &dyn Fn(&Buffer) -> bool| buffers.iter().find(|one| is_it(one)).map_or("a buffer", |one| one.name);
    // SAFETY: passed on.
    let is_section = |one: &Buffer| unsafe { !is_plain(one.descriptor) };
    if buffers.iter().any(|one| one.role == Role::Kept && is_section(one)) {
        let name = name(&|one| one.role == Role::Kept && is_section(one));
        let text = format!("{name} is a section whose elements do not lie side by side, as memory that MPI keeps must");
        // SAFETY: passed on.
        return unsafe { refuse::<A>(call.subject, &text, ierror) };
    }
    // SAFETY: passed on.
    match unsafe { describe_all::<A, N>(buffers, call) } {
        Ok(described) => with(&described.places),
        // SAFETY: passed on.
        Err(Trouble::Code(code)) => unsafe { give_code(ierror, code) },
        // SAFETY: passed on.
        Err(Trouble::Indescribable) if !call.goes_on => unsafe { on_copies(buffers, with) },
        Err(Trouble::Indescribable) => {
            let text = format!(
                "{} is a section whose elements do not lie side by side, and no datatype can say which of them are \
                 meant; pass the whole array with a datatype for it, or use the blocking procedure",
                name(&is_section)
            );
            // SAFETY: passed on.
            unsafe { refuse::<A>(call.subject, &text, ierror) };
        }
        Err(Trouble::TooShort(elements)) => {
            let text = format!("{} is a section of {elements} elements: fewer than are wanted", name(&is_section));
            // SAFETY: passed on.
            unsafe { refuse::<A>(call.subject, &text, ierror) };
        }
    }
}

/// Lets the program have the error code, unless it left that argument out.
///
/// # Safety
/// The place is valid or null.
#[inline]
pub unsafe fn give_code(place: *mut c_int, code: c_int) {
    if !place.is_null() {
        // SAFETY: passed on.
        unsafe { place.write(code) };
    }
}

/// Copies a status: as an array of integers and as a structure it is laid out alike.
///
/// # Safety
/// Both places are valid.
pub unsafe fn copy_status<A: Abi>(from: *const c_int, to: *mut c_int) {
    // SAFETY: passed on.
    unsafe { from.copy_to(to, size_of::<A::Status>() / size_of::<c_int>()) };
}

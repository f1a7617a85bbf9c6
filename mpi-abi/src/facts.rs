//! What the library says about the interface, the Fortran compiler it is for, and the hardware (MPI-5.0 sections 9.1.2
//! and 20.4).
//!
//! The Fortran facts are those of gfortran and do not change: a program can't set them.

use rwmpi_core::{Error, ErrorClass, Info, Result};

use crate::argument::{Memory, Out, c_int};
use crate::error::Outcome;
use crate::info::add_info;
use crate::interface::Abi;

/// An info object with these entries, for the program.
fn give<A: Abi>(entries: &[(&str, &str)], made: Out<A::Handle>) -> Outcome {
    let mut info = Info::new();
    entries.iter().try_for_each(|(key, value)| info.set(key, value))?;
    made.set(add_info::<A>(info)?)
}

/// MPI_Abi_get_info (MPI-5.0 section 20.1).
pub fn abi_get_info<A: Abi>(made: Out<A::Handle>) -> Outcome {
    give::<A>(&[("mpi_aint_size", "8"), ("mpi_count_size", "8"), ("mpi_offset_size", "8")], made)
}

/// Sizes of Fortran's default types, and which datatypes of a given size there are: MPI_REAL2 and MPI_COMPLEX4 work
/// too, though gfortran has no such types.
const FORTRAN: &[(&str, &str)] = &[
    ("mpi_logical_size", "4"),
    ("mpi_integer_size", "4"),
    ("mpi_real_size", "4"),
    ("mpi_double_precision_size", "8"),
    ("mpi_logical1_supported", "true"),
    ("mpi_logical2_supported", "true"),
    ("mpi_logical4_supported", "true"),
    ("mpi_logical8_supported", "true"),
    ("mpi_logical16_supported", "true"),
    ("mpi_integer1_supported", "true"),
    ("mpi_integer2_supported", "true"),
    ("mpi_integer4_supported", "true"),
    ("mpi_integer8_supported", "true"),
    ("mpi_integer16_supported", "true"),
    ("mpi_real2_supported", "true"),
    ("mpi_real4_supported", "true"),
    ("mpi_real8_supported", "true"),
    ("mpi_real16_supported", "true"),
    ("mpi_complex4_supported", "true"),
    ("mpi_complex8_supported", "true"),
    ("mpi_complex16_supported", "true"),
    ("mpi_complex32_supported", "true"),
    ("mpi_double_complex_supported", "true"),
];

/// MPI_Abi_get_fortran_info (MPI-5.0 section 20.4). Other ABIs than the standard one have no such facts.
pub fn abi_get_fortran_info<A: Abi>(made: Out<A::Handle>) -> Outcome {
    if A::ABI_VERSION[0] < 0 {
        return made.set(A::handle(A::INFO_NULL));
    }
    give::<A>(FORTRAN, made)
}

fn is_fixed<A: Abi>() -> Error {
    let what = "the facts about Fortran are set already: they are those of gfortran";
    Error::new(ErrorClass::Code(A::ERR_ABI), what)
}

/// MPI_Abi_set_fortran_info (MPI-5.0 section 20.4): they are set.
pub fn abi_set_fortran_info<A: Abi>(_info: A::Handle) -> Outcome {
    Err(is_fixed::<A>())
}

/// How many bytes a LOGICAL of that size has.
fn logical_bytes(size: c_int) -> Result<usize> {
    let known = usize::try_from(size).ok().filter(|size| [1, 2, 4, 8, 16].contains(size));
    known.ok_or_else(|| Error::new(ErrorClass::Argument, format!("there is no LOGICAL of {size} bytes")))
}

/// MPI_Abi_get_fortran_booleans (MPI-5.0 section 20.4): `.TRUE.` is 1.
pub fn abi_get_fortran_booleans<A: Abi>(size: c_int, yes: Memory, no: Memory, is_set: Out<c_int>) -> Outcome {
    let bytes = logical_bytes(size)?;
    let one = 1u128.to_le_bytes();
    yes.write(&one[..bytes])?;
    no.write(&[0; 16][..bytes])?;
    is_set.set(1)
}

/// MPI_Abi_set_fortran_booleans (MPI-5.0 section 20.4): they are set.
pub fn abi_set_fortran_booleans<A: Abi>(size: c_int, _yes: Memory, _no: Memory) -> Outcome {
    logical_bytes(size)?;
    Err(is_fixed::<A>())
}

/// MPI_Get_hw_resource_info (MPI-5.0 section 9.1.2): there are no types of resources that programs could split
/// communicators by.
pub fn get_hw_resource_info<A: Abi>(made: Out<A::Handle>) -> Outcome {
    give::<A>(&[], made)
}

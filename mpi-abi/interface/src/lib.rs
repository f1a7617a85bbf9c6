//! What differs between the two ABIs: how handles and statuses look in C.
//!
//! Inside, a handle is a 32-bit *code* in both. Predefined ones are the constants of the interface. Ours have the
//! highest bit set:
//!
//! ```text
//! 1  generation (bit 6)  kind (4 bits)  generation (bits 0-5)  index (20 bits)
//! ```
//!
//! The generation is never 0, which keeps them apart from the MPICH ABI's predefined datatypes that look like dynamic
//! ones.
//!
//! The Fortran libraries need this, and nothing else of what the C libraries are made of.
#![forbid(unsafe_code)]

pub mod panic;

pub use std::ffi::{c_char, c_int, c_void};

include!(concat!(env!("OUT_DIR"), "/constants.rs"));

/// Address of MPI_UNWEIGHTED in the MPICH interface, where it is a symbol.
pub const MPICH_UNWEIGHTED: isize = 10;
/// Address of MPI_WEIGHTS_EMPTY in the MPICH interface, where it is a symbol.
pub const MPICH_WEIGHTS_EMPTY: isize = 11;

/// The address of a function of the program; its type depends on the call.
pub type Function = *const c_void;

/// What a status says, in the interface's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusValue {
    /// MPI_SOURCE.
    pub source: c_int,
    /// MPI_TAG.
    pub tag: c_int,
    /// MPI_ERROR: read only. Writing a status leaves it as it is.
    pub error: c_int,
    /// Length of the message in bytes.
    pub bytes: u64,
    /// Whether the operation was cancelled.
    pub cancelled: bool,
}

/// Places for predefined datatypes ([`Abi::datatype_place`]).
pub const DATATYPE_PLACES: usize = 512;

/// One of the two interfaces.
pub trait Abi: Constants + Copy + 'static {
    /// A handle in C, except a file's.
    type Handle: Copy + Eq + std::fmt::Debug + 'static;
    /// A file handle in C.
    type File: Copy + 'static;
    /// MPI_Status.
    type Status: Copy + 'static;
    /// What MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY are.
    const WEIGHTS: [isize; 2];
    /// What MPI_Abi_get_version says; -1: not the standard ABI.
    const ABI_VERSION: [c_int; 2];
    /// What MPI_DUP_FN is, if it is no function.
    const DUP_FUNCTION: Option<isize>;
    /// The file that MPI_FILE_NULL is, and what makes a file of a code.
    fn file(code: u32) -> Self::File;
    /// The code of a file handle.
    fn file_code(file: Self::File) -> u32;
    /// The handle with that code.
    fn handle(code: u32) -> Self::Handle;
    /// The code of a handle; 0, which is never valid, for what can't be one.
    fn code(handle: Self::Handle) -> u32;
    /// The place of a predefined datatype among [`DATATYPE_PLACES`]; any for other codes.
    fn datatype_place(code: u32) -> usize;
    /// A status that says nothing.
    fn empty_status() -> Self::Status;
    /// Fills in a status but for its error field.
    fn write_status(status: &mut Self::Status, value: &StatusValue);
    /// What a status says.
    fn read_status(status: &Self::Status) -> StatusValue;
    /// Its error field.
    fn status_error(status: &mut Self::Status) -> &mut c_int;
}

/// The standard ABI of MPI-5.0: handles are pointers to nothing.
#[derive(Clone, Copy, Debug)]
pub enum Standard {}

/// MPI_Status of the standard ABI.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StandardStatus {
    source: c_int,
    tag: c_int,
    error: c_int,
    /// Length in bytes (two words), then whether cancelled.
    internal: [c_int; 5],
}
const _: () = assert!(size_of::<StandardStatus>() == 32);

impl Abi for Standard {
    type Handle = usize;
    type File = usize;
    type Status = StandardStatus;
    const WEIGHTS: [isize; 2] = [10, 11];
    const ABI_VERSION: [c_int; 2] = [1, 0];
    const DUP_FUNCTION: Option<isize> = Some(1);

    fn file(code: u32) -> usize {
        code as usize
    }
    fn file_code(file: usize) -> u32 {
        Self::code(file)
    }
    #[inline]
    fn handle(code: u32) -> usize {
        code as usize
    }
    #[inline]
    fn code(handle: usize) -> u32 {
        u32::try_from(handle).unwrap_or(0)
    }
    #[inline]
    fn datatype_place(code: u32) -> usize {
        (code & 0x1ff) as usize
    }
    fn empty_status() -> StandardStatus {
        StandardStatus { source: Self::ANY_SOURCE, tag: Self::ANY_TAG, error: 0, internal: [0; 5] }
    }
    #[inline]
    fn write_status(status: &mut StandardStatus, value: &StatusValue) {
        status.source = value.source;
        status.tag = value.tag;
        let [low, high] = [value.bytes as c_int, (value.bytes >> 32) as c_int];
        status.internal = [low, high, value.cancelled.into(), 0, 0];
    }
    fn read_status(status: &StandardStatus) -> StatusValue {
        let [low, high, cancelled, ..] = status.internal;
        let bytes = u64::from(high as u32) << 32 | u64::from(low as u32);
        StatusValue { source: status.source, tag: status.tag, error: status.error, bytes, cancelled: cancelled != 0 }
    }
    fn status_error(status: &mut StandardStatus) -> &mut c_int {
        &mut status.error
    }
}

/// The MPICH ABI: handles are integers.
#[derive(Clone, Copy, Debug)]
pub enum Mpich {}

/// MPI_Status of the MPICH ABI.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MpichStatus {
    count_low: c_int,
    /// The higher bits of the length, doubled; plus one if cancelled.
    count_high_and_cancelled: c_int,
    source: c_int,
    tag: c_int,
    error: c_int,
}
const _: () = assert!(size_of::<MpichStatus>() == 20);

impl Abi for Mpich {
    type Handle = c_int;
    type File = usize;
    type Status = MpichStatus;
    const WEIGHTS: [isize; 2] = [MPICH_UNWEIGHTED, MPICH_WEIGHTS_EMPTY];
    const ABI_VERSION: [c_int; 2] = [-1, -1];
    const DUP_FUNCTION: Option<isize> = None;

    fn file(code: u32) -> usize {
        code as usize
    }
    fn file_code(file: usize) -> u32 {
        u32::try_from(file).unwrap_or(0)
    }
    #[inline]
    fn handle(code: u32) -> c_int {
        code as c_int
    }
    #[inline]
    fn code(handle: c_int) -> u32 {
        handle as u32
    }
    #[inline]
    fn datatype_place(code: u32) -> usize {
        // The pairs that have padding look like dynamic datatypes.
        ((code & 0xff) | (code >> 31) << 8) as usize
    }
    fn empty_status() -> MpichStatus {
        let (source, tag) = (Self::ANY_SOURCE, Self::ANY_TAG);
        MpichStatus { count_low: 0, count_high_and_cancelled: 0, source, tag, error: 0 }
    }
    #[inline]
    fn write_status(status: &mut MpichStatus, value: &StatusValue) {
        status.source = value.source;
        status.tag = value.tag;
        status.count_low = value.bytes as c_int;
        status.count_high_and_cancelled = ((value.bytes >> 32) as c_int) << 1 | c_int::from(value.cancelled);
    }
    fn read_status(status: &MpichStatus) -> StatusValue {
        let high = status.count_high_and_cancelled as u32;
        let bytes = u64::from(high >> 1) << 32 | u64::from(status.count_low as u32);
        let cancelled = high & 1 != 0;
        StatusValue { source: status.source, tag: status.tag, error: status.error, bytes, cancelled }
    }
    fn status_error(status: &mut MpichStatus) -> &mut c_int {
        &mut status.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survives<A: Abi>(mut status: A::Status) {
        *A::status_error(&mut status) = 7;
        for bytes in [0, 5, u64::from(u32::MAX), 1 << 40 | 3] {
            for cancelled in [false, true] {
                let value = StatusValue { source: 3, tag: -1, error: 7, bytes, cancelled };
                A::write_status(&mut status, &StatusValue { error: 0, ..value });
                assert_eq!(A::read_status(&status), value);
            }
        }
    }

    #[test]
    fn a_status_keeps_what_it_is_told_and_its_error_field() {
        survives::<Standard>(Standard::empty_status());
        survives::<Mpich>(Mpich::empty_status());
    }

    fn have_places<A: Abi>() {
        let mut taken = std::collections::HashMap::new();
        for &(code, name) in A::DATATYPES {
            assert!(A::datatype_place(code) < DATATYPE_PLACES);
            assert_eq!(*taken.entry(A::datatype_place(code)).or_insert(code), code, "{name} has another's place");
        }
    }

    #[test]
    fn every_predefined_datatype_has_a_place() {
        have_places::<Standard>();
        have_places::<Mpich>();
    }
}

//! An operation bound to a datatype.
#![allow(unsafe_code)]

use std::cell::Cell;

use rwmpi_collective::{Reduction, WhereItLies};

use super::{Arithmetic, Operation, Predefined, UserOperation};
use crate::datatype::{Basic, Datatype, pack, unpack};
use crate::engine::Failure;
use crate::{Error, ErrorClass, Result};

/// Elements that are not a run of bytes are combined in portions of so many bytes.
const PORTION: usize = 32 << 10;

/// An operation on packed elements of a datatype.
#[derive(Clone, Debug)]
pub struct Applied {
    operation: Bound,
    element: usize,
    commutative: bool,
    /// The program's function has not come to its end; it is not called again in this collective.
    has_failed: Cell<bool>,
}

#[derive(Clone, Debug)]
enum Bound {
    Arithmetic(Arithmetic),
    Predefined(Predefined, Basic),
    User(UserOperation, Datatype),
}

impl Operation {
    /// The operation on elements of `datatype`.
    ///
    /// # Errors
    /// It is not defined for them.
    pub fn on(&self, datatype: &Datatype) -> Result<Applied> {
        let (operation, element) = match self {
            Operation::User(operation) => (Bound::User(operation.clone(), datatype.clone()), datatype.size().max(1)),
            Operation::Predefined(operation) => {
                let basic = datatype.element().ok_or_else(|| {
                    let text = format!(
                        "{} works on elements of one predefined datatype; for others make an operation with \
                         MPI_Op_create",
                        operation.name()
                    );
                    Error::new(ErrorClass::Operation, text)
                })?;
                if !operation.supports(basic) {
                    let text = format!("{} is not defined for elements of {}", operation.name(), basic.name());
                    return Err(Error::new(ErrorClass::Operation, text));
                }
                let bound = match operation.arithmetic(basic) {
                    Some(arithmetic) => Bound::Arithmetic(arithmetic),
                    None => Bound::Predefined(*operation, basic),
                };
                (bound, basic.size())
            }
        };
        let (element, commutative) = (element as usize, self.is_commutative());
        Ok(Applied { operation, element, commutative, has_failed: Cell::new(false) })
    }
}

impl Applied {
    /// Whether the order of operands makes no difference.
    pub fn is_commutative(&self) -> bool {
        self.commutative
    }

    /// A collective begins: what happened in the last one is forgotten.
    pub(crate) fn begin(&self) {
        self.has_failed.set(false);
    }

    fn call(&self, function: impl FnOnce() -> Result<()>) {
        if !self.has_failed.get() {
            self.has_failed.set(function().is_err());
        }
    }
}

impl Reduction for Applied {
    fn append(&self, kept: &mut [u8], later: &[u8]) {
        match &self.operation {
            Bound::Arithmetic(arithmetic) => arithmetic.append(kept, later),
            Bound::Predefined(operation, basic) => operation.append(*basic, kept, later),
            Bound::User(operation, datatype) => self.call(|| operation.append(datatype, kept, later)),
        }
    }

    fn prepend(&self, earlier: &[u8], kept: &mut [u8]) {
        match &self.operation {
            Bound::Arithmetic(arithmetic) => arithmetic.prepend(earlier, kept),
            Bound::Predefined(operation, basic) => operation.prepend(*basic, earlier, kept),
            Bound::User(operation, datatype) => self.call(|| operation.prepend(datatype, earlier, kept)),
        }
    }

    #[inline]
    fn where_it_lies(&self) -> Option<&dyn WhereItLies> {
        match &self.operation {
            Bound::Arithmetic(arithmetic) => Some(arithmetic),
            Bound::Predefined(..) | Bound::User(..) => None,
        }
    }

    fn element(&self) -> usize {
        self.element
    }

    fn commutes(&self) -> bool {
        self.commutative
    }

    fn failure(&self) -> Option<Failure> {
        self.has_failed.get().then_some(Failure::Panicked)
    }
}

/// `inout[i] = from[i] ∘ inout[i]` for `count` elements (`MPI_Reduce_local`, MPI-5.0 section 6.9.7).
///
/// # Safety
/// Both must be valid for the bytes that `count` elements describe, `from` for reads and `inout` for reads and writes,
/// and must not overlap.
///
/// # Errors
/// The operation is not defined for the elements, or is a function of the program that has not come to its end.
pub unsafe fn reduce_local(
    operation: &Operation,
    from: *const u8,
    inout: *mut u8,
    count: u64,
    datatype: &Datatype,
) -> Result<()> {
    let applied = operation.on(datatype)?;
    let bytes = datatype.packed_size(count)?;
    if bytes == 0 {
        return Ok(());
    }
    if let Operation::User(operation) = operation {
        // SAFETY: the caller's.
        return unsafe { operation.call(from, inout, count, datatype) };
    }
    if let Some((offset, length)) = datatype.run(count) {
        // SAFETY: the caller's; the run is all bytes that the elements describe.
        let (earlier, kept) = unsafe {
            (
                std::slice::from_raw_parts(from.wrapping_offset(offset as isize), length as usize),
                std::slice::from_raw_parts_mut(inout.wrapping_offset(offset as isize), length as usize),
            )
        };
        applied.prepend(earlier, kept);
        return Ok(());
    }
    let portion = (PORTION / applied.element).max(1) * applied.element;
    let (mut earlier, mut kept) = (vec![0; portion], vec![0; portion]);
    let mut done = 0;
    while done < bytes {
        // SAFETY: the caller's.
        unsafe {
            let length = pack(from, count, datatype, done, &mut earlier);
            pack(inout, count, datatype, done, &mut kept);
            applied.prepend(&earlier[..length], &mut kept[..length]);
            unpack(inout, count, datatype, done, &kept[..length]);
            done += length as u64;
        }
    }
    Ok(())
}

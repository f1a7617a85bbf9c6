//! Reduction operations (MPI-5.0 sections 6.9.2 to 6.9.7).
#![allow(unsafe_code)]

use std::marker::PhantomData;

use rwmpi_core::datatype::Datatype;
use rwmpi_core::reduction::{Operation, Predefined, UserOperation, reduce_local as combine};
use rwmpi_core::untyped::reduce_local_runs;
use rwmpi_core::{Error, ErrorClass, Result};

use crate::argument::{Function, Memory, Out, c_int};
use crate::call::call_program;
use crate::error::Outcome;
use crate::interface::Abi;
use crate::progress_thread::settle_tasks;
use crate::rank::{self, Rank, rank};

/// A function of the program: both operands, how many elements, their datatype.
type UserFunction<A> = unsafe extern "C-unwind" fn(*mut u8, *mut u8, *mut c_int, *mut <A as Abi>::Handle);
/// The same with a count of 64 bits.
type UserFunctionLarge<A> = unsafe extern "C-unwind" fn(*mut u8, *mut u8, *mut i64, *mut <A as Abi>::Handle);

/// What the program gave as the address of its function.
struct UserCode(Function);

// SAFETY: an address of code, which nobody changes.
unsafe impl Send for UserCode {}
// SAFETY: as above.
unsafe impl Sync for UserCode {}

impl UserCode {
    fn address(&self) -> Function {
        self.0
    }
}

/// The codes of an interface.
struct Codes<A>(PhantomData<A>);

impl<A: Abi> Codes<A> {
    const ALL: [(u32, Predefined); 14] = [
        (A::SUM, Predefined::Sum),
        (A::MAX, Predefined::Max),
        (A::MIN, Predefined::Min),
        (A::PROD, Predefined::Product),
        (A::LAND, Predefined::LogicalAnd),
        (A::BAND, Predefined::BitwiseAnd),
        (A::LOR, Predefined::LogicalOr),
        (A::BOR, Predefined::BitwiseOr),
        (A::LXOR, Predefined::LogicalXor),
        (A::BXOR, Predefined::BitwiseXor),
        (A::MAXLOC, Predefined::MaxLocation),
        (A::MINLOC, Predefined::MinLocation),
        (A::REPLACE, Predefined::Replace),
        (A::NO_OP, Predefined::NoOperation),
    ];
}

/// Places for predefined operations: the codes of an interface differ in their last bits.
const PLACES: usize = 32;

impl<A: Abi> Codes<A> {
    /// Each at the remainder of its code.
    /// At a place that none has is a code of another place, so that it is nobody's.
    const BY_PLACE: [(u32, Predefined); PLACES] = {
        let (mut places, mut number) = ([(0, Predefined::NoOperation); PLACES], 0);
        places[0].0 = 1;
        while number < Self::ALL.len() {
            let place = Self::ALL[number].0 as usize % PLACES;
            assert!(places[place].0 as usize % PLACES != place, "two operations have one place");
            places[place] = Self::ALL[number];
            number += 1;
        }
        places
    };
}

/// The predefined operation with that code.
#[inline(always)]
pub(crate) fn predefined<A: Abi>(code: u32) -> Option<Predefined> {
    let (known, operation) = const { &Codes::<A>::BY_PLACE }[code as usize % PLACES];
    if known == code { Some(operation) } else { None }
}

impl Rank {
    /// The operation with that handle.
    ///
    /// # Errors
    /// MPI_ERR_OP if there is none.
    pub fn operation<A: Abi>(&self, handle: A::Handle) -> Result<Operation> {
        let code = A::code(handle);
        if let Some(operation) = predefined::<A>(code) {
            return Ok(Operation::Predefined(operation));
        }
        self.operations.get(code).ok_or_else(|| {
            let what = if code == A::OP_NULL {
                "the operation is MPI_OP_NULL".to_string()
            } else {
                format!("{code:#x} is no operation: it was freed or never was one")
            };
            Error::new(ErrorClass::Operation, what)
        })
    }
}

/// Calls `with` with a handle of the datatype: the rank's own.
fn with_handle<A: Abi>(datatype: &Datatype, with: impl FnOnce(A::Handle) -> Result<()>) -> Result<()> {
    rank::peek()?.with_handle_of::<A, _>(datatype, with)
}

/// Makes an operation of a function that is called with both operands, a count, and a handle.
fn create<A: Abi>(
    function: Function,
    commutative: c_int,
    handle: Out<A::Handle>,
    call: impl Fn(*const u8, *mut u8, u64, &Datatype) -> Result<()> + Send + Sync + 'static,
) -> Outcome {
    let rank = rank()?;
    if function.is_null() {
        return Err(Error::new(ErrorClass::Argument, "the operation's function is a null pointer"));
    }
    // SAFETY: the program vouches for its function.
    let operation = unsafe { UserOperation::new(call, commutative != 0) };
    rank.has_operations.set(true);
    settle_tasks::<A>(rank);
    handle.set(A::handle(rank.operations.insert(Operation::User(operation))?))
}

/// MPI_Op_create (MPI-5.0 section 6.9.5).
pub fn op_create<A: Abi>(function: Function, commutative: c_int, handle: Out<A::Handle>) -> Outcome {
    let code = UserCode(function);
    create::<A>(function, commutative, handle, move |from, inout, count, datatype| {
        with_handle::<A>(datatype, |mut handle| {
            // As many elements at a time as an `int` can say.
            let mut done = 0;
            while done < count {
                let mut portion = c_int::try_from(count - done).unwrap_or(c_int::MAX);
                let offset = (done as i64).wrapping_mul(datatype.extent()) as isize;
                // SAFETY: the program gave this address as that of such a function; the elements are the core's to
                // give.
                unsafe {
                    let function: UserFunction<A> = std::mem::transmute(code.address());
                    let (from, inout) = (from.wrapping_offset(offset), inout.wrapping_offset(offset));
                    call_program(|| function(from.cast_mut(), inout, &raw mut portion, &raw mut handle))?;
                }
                done += c_int::try_from(count - done).unwrap_or(c_int::MAX) as u64;
            }
            Ok(())
        })
    })
}

/// MPI_Op_create_c (MPI-5.0 section 6.9.5).
pub fn op_create_c<A: Abi>(function: Function, commutative: c_int, handle: Out<A::Handle>) -> Outcome {
    let code = UserCode(function);
    create::<A>(function, commutative, handle, move |from, inout, count, datatype| {
        with_handle::<A>(datatype, |mut handle| {
            let mut count = count as i64;
            // SAFETY: as in `op_create`.
            unsafe {
                let function: UserFunctionLarge<A> = std::mem::transmute(code.address());
                call_program(|| function(from.cast_mut(), inout, &raw mut count, &raw mut handle))
            }
        })
    })
}

/// MPI_Op_free (MPI-5.0 section 6.9.5): what is under way with it goes on.
pub fn op_free<A: Abi>(handle: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let operation = handle.get()?;
    match rank.operation::<A>(operation)? {
        Operation::Predefined(operation) => {
            let text = format!("{} is predefined and can't be freed", operation.name());
            Err(Error::new(ErrorClass::Operation, text))
        }
        Operation::User(_) => {
            rank.operations.remove(A::code(operation));
            handle.set(A::handle(A::OP_NULL))
        }
    }
}

/// MPI_Op_commutative (MPI-5.0 section 6.9.5).
pub fn op_commutative<A: Abi>(handle: A::Handle, commutative: Out<c_int>) -> Outcome {
    commutative.set(rank()?.operation::<A>(handle)?.is_commutative().into())
}

/// Where operation and datatype are predefined.
fn reduce_shortly<A: Abi>(
    rank: &Rank,
    from: Memory,
    inout: Memory,
    count: i64,
    datatype: A::Handle,
    operation: A::Handle,
) -> Option<()> {
    let operation = predefined::<A>(A::code(operation))?;
    let (run, datatype) = rank.run::<A>(count, datatype)?;
    let (from, inout) = (from.runs_unless_special::<A>(run)?, inout.runs_unless_special::<A>(run)?);
    reduce_local_runs(operation, datatype, from, inout)
}

/// MPI_Reduce_local (MPI-5.0 section 6.9.7).
pub fn reduce_local<A: Abi>(
    from: Memory,
    inout: Memory,
    count: i64,
    datatype: A::Handle,
    operation: A::Handle,
) -> Outcome {
    let rank = rank()?;
    if from != inout && reduce_shortly::<A>(rank, from, inout, count, datatype, operation).is_some() {
        return Ok(());
    }
    let operation = rank.operation::<A>(operation)?;
    let datatype = rank.committed_datatype::<A>(datatype)?;
    let count = u64::try_from(count)
        .map_err(|_| Error::new(ErrorClass::Count, format!("the count is {count}: it must not be negative")))?;
    if count > 0 && (from.is(A::IN_PLACE) || inout.is(A::IN_PLACE) || from == inout) {
        return Err(Error::new(ErrorClass::Buffer, "the two operands must be two buffers"));
    }
    if from.is_none_for(count, &datatype) || inout.is_none_for(count, &datatype) {
        return Err(Error::new(ErrorClass::Buffer, format!("an operand is a null pointer, the count {count}")));
    }
    // SAFETY: the program vouches for both operands.
    unsafe { combine(&operation, from.address(), inout.address(), count, &datatype) }
}

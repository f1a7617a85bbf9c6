//! Requests that the program completes itself (MPI-5.0 section 13.2).
#![allow(unsafe_code)]

use std::rc::Rc;

use rwmpi_core::untyped::{Generalized, Request};
use rwmpi_core::{Error, ErrorClass};

use crate::argument::{Function, Memory, Out, c_int, c_void};
use crate::call::call_program;
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::rank;
use crate::request::no_request;
use crate::status::status_of;

type Query<A> = unsafe extern "C-unwind" fn(*mut c_void, *mut <A as Abi>::Status) -> c_int;
type Free = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
type Cancel = unsafe extern "C-unwind" fn(*mut c_void, c_int) -> c_int;

/// What a function of the program returned.
fn checked<A: Abi>(code: c_int) -> Outcome {
    if code == A::SUCCESS {
        return Ok(());
    }
    Err(Error::new(ErrorClass::Code(code), format!("a function of a generalized request returned {code}")))
}

fn generalized<A: Abi>(query: Function, free: Function, cancel: Function, state: *mut c_void) -> Generalized {
    Generalized::new(
        move || {
            let mut status = A::empty_status();
            // SAFETY: the program gave this address as that of a query function, with its state.
            let code = unsafe {
                let query: Query<A> = std::mem::transmute(query);
                call_program(|| query(state, &raw mut status))
            }?;
            checked::<A>(code).map(|()| status_of::<A>(&A::read_status(&status)))
        },
        move || {
            // SAFETY: likewise, of a free function.
            checked::<A>(unsafe {
                let free: Free = std::mem::transmute(free);
                call_program(|| free(state))
            }?)
        },
        move |complete| {
            // SAFETY: likewise, of a cancel function.
            checked::<A>(unsafe {
                let cancel: Cancel = std::mem::transmute(cancel);
                call_program(|| cancel(state, complete.into()))
            }?)
        },
    )
}

/// MPI_Grequest_start (MPI-5.0 section 13.2).
pub fn grequest_start<A: Abi>(
    query: Function,
    free: Function,
    cancel: Function,
    state: Memory,
    request: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    if [query, free, cancel].iter().any(|function| function.is_null()) {
        return Err(Error::new(ErrorClass::Argument, "a function of the generalized request is a null pointer"));
    }
    let world = rank.communicator::<A>(A::handle(A::COMM_WORLD))?;
    let generalized = generalized::<A>(query, free, cancel, state.address().cast());
    let generalized = Rc::new(generalized);
    rank.give::<A>(Request::generalized(&world.core, generalized.clone()), request)?;
    rank.generalized.borrow_mut().insert(A::code(request.get()?), generalized);
    Ok(())
}

/// MPI_Grequest_complete (MPI-5.0 section 13.2).
pub fn grequest_complete<A: Abi>(request: A::Handle) -> Outcome {
    let rank = rank()?;
    let code = A::code(request);
    let incomplete = rank.generalized.borrow_mut().remove(&code);
    let found = incomplete
        .map(Ok)
        .or_else(|| rank.lane_of(code).requests.others.with(code, |request| request.as_generalized().cloned()));
    found.unwrap_or_else(|| Err(no_request::<A>(code)))?.complete()
}

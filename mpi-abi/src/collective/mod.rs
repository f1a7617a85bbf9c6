//! Collective communication (MPI-5.0 chapter 6) and that among neighbours (section 8.6), in three forms each: blocking, nonblocking,
//! persistent. What their arguments say is the same in all forms (`arguments`).

mod arguments;
pub mod blocking;
pub mod neighbour;
pub mod nonblocking;
pub mod persistent;

use arguments::Call;
use rwmpi_core::untyped::collective::Collective;
use rwmpi_core::untyped::{Persistent, Request};
use rwmpi_core::{Error, ErrorClass, Result};

use crate::argument::Out;
use crate::error::Outcome;
use crate::interface::Abi;

/// The blocking form.
fn run<A: Abi>(communicator: A::Handle, arguments: impl FnOnce(&Call<A>) -> Result<Collective>) -> Outcome {
    let call = Call::<A>::new(communicator)?;
    call.core().collective(arguments(&call)?)
}

/// Refuses to start what nobody could wait for.
fn check_place<A: Abi>(request: Out<A::Handle>) -> Result<()> {
    if request.is_null() {
        return Err(Error::new(ErrorClass::Argument, "the place for the request is a null pointer"));
    }
    Ok(())
}

/// The nonblocking form.
fn start<A: Abi>(
    communicator: A::Handle,
    request: Out<A::Handle>,
    arguments: impl FnOnce(&Call<A>) -> Result<Collective>,
) -> Outcome {
    let call = Call::<A>::new(communicator)?;
    check_place::<A>(request)?;
    let started = call.core().start_collective(arguments(&call)?)?;
    call.rank.give::<A>(started, request)
}

/// The persistent form.
fn prepare<A: Abi>(
    communicator: A::Handle,
    request: Out<A::Handle>,
    arguments: impl FnOnce(&Call<A>) -> Result<Collective>,
) -> Outcome {
    let call = Call::<A>::new(communicator)?;
    check_place::<A>(request)?;
    let prepared = Persistent::collective(call.core().persistent_collective(arguments(&call)?)?);
    call.rank.give::<A>(Request::persistent(call.core(), prepared), request)
}

//! The three forms of a collective. They differ only in what becomes of the call once its arguments are translated: it
//! is run to its end, started, or prepared to be started again and again. So each collective is declared once
//! (`collectives!`).

use rwmpi_core::Result;
use rwmpi_core::untyped::collective::{Blocking, Collective, Nonblocking};
use rwmpi_core::untyped::{Persistent, Request};

use super::arguments::Call;
use crate::argument::Out;
use crate::error::Outcome;
use crate::interface::Abi;

/// Declares collectives, each as `pub fn blocking, nonblocking, persistent<A: Abi>(arguments) { translation; given }`:
/// the arguments that all forms have, up to the communicator, and which function of [`Call`] makes a `Collective` of
/// what is given; behind `if short:` may stand the one that does the blocking form and the nonblocking one without, or,
/// behind `if blocking:`, the blocking form only ([`super::short`]). The documentation is that of the blocking form;
/// the other forms add the section of the standard that is named first. `rwmpi-abi-table` reads the names off the
/// source, too.
macro_rules! collectives {
    (
        nonblocking: $nonblocking_section:literal, persistent: $persistent_section:literal;
        $(
            $(#[$documentation:meta])*
            pub fn $blocking:ident, $nonblocking:ident, $persistent:ident<A: Abi>($($argument:ident: $kind:ty),* $(,)?) {
                $translation:ident $(, if short: $short:ident)? $(, if blocking: $blocking_short:ident)?;
                $($given:expr),*
            }
        )*
    ) => { $(
        $(#[$documentation])*
        pub fn $blocking<A: Abi>($($argument: $kind,)* comm: A::Handle) -> Outcome {
            form::run::<A>(
                comm,
                form::short!($($short)? $($blocking_short)?; $($given),*),
                |call| call.$translation($($given),*),
            )
        }

        #[doc = concat!("The nonblocking form of [`", stringify!($blocking), "`] (MPI-5.0 section ", $nonblocking_section, ").")]
        pub fn $nonblocking<A: Abi>($($argument: $kind,)* comm: A::Handle, request: Out<A::Handle>) -> Outcome {
            form::start::<A>(comm, request, form::short!($($short)?; $($given),*), |call| call.$translation($($given),*))
        }

        #[doc = concat!("The persistent form of [`", stringify!($blocking), "`] (MPI-5.0 section ", $persistent_section, ").")]
        pub fn $persistent<A: Abi>(
            $($argument: $kind,)*
            comm: A::Handle,
            _info: A::Handle,
            request: Out<A::Handle>,
        ) -> Outcome {
            form::prepare::<A>(comm, request, |call| call.$translation($($given),*))
        }
    )* };
}
pub(super) use collectives;

/// The short way of a form, if it has one.
macro_rules! short {
    (; $($given:expr),*) => {
        |_, _| None
    };
    ($short:ident; $($given:expr),*) => {
        |call, form| call.$short(form $(, $given)*)
    };
}
pub(super) use short;

/// The blocking form: the short way, if that does it.
#[inline(always)]
pub(super) fn run<A: Abi>(
    communicator: A::Handle,
    short: impl FnOnce(&Call<A>, Blocking) -> Option<Result<()>>,
    arguments: impl FnOnce(&Call<A>) -> Result<Collective>,
) -> Outcome {
    let call = Call::<A>::new(communicator)?;
    match short(&call, Blocking) {
        Some(done) => done,
        None => run_long(&call, arguments),
    }
}

#[inline(never)]
fn run_long<A: Abi>(call: &Call<A>, arguments: impl FnOnce(&Call<A>) -> Result<Collective>) -> Outcome {
    let done = call.core().collective(arguments(call)?);
    call.check_alias().and(done)
}

/// The nonblocking form: the short way, if that does it.
#[inline(always)]
pub(super) fn start<A: Abi>(
    communicator: A::Handle,
    request: Out<A::Handle>,
    short: impl FnOnce(&Call<A>, Nonblocking) -> Option<Result<Request>>,
    arguments: impl FnOnce(&Call<A>) -> Result<Collective>,
) -> Outcome {
    let call = Call::<A>::new(communicator)?;
    request.check_place("the request")?;
    let started = match short(&call, Nonblocking) {
        Some(started) => started,
        None => start_long(&call, arguments),
    }?;
    call.rank.give::<A>(started, request)
}

#[inline(never)]
fn start_long<A: Abi>(call: &Call<A>, arguments: impl FnOnce(&Call<A>) -> Result<Collective>) -> Result<Request> {
    let started = call.core().start_collective(arguments(call)?)?;
    if let Err(error) = call.check_alias() {
        // It goes on by itself.
        call.rank.endpoint.free(started)?;
        return Err(error);
    }
    Ok(started)
}

/// The persistent form.
pub(super) fn prepare<A: Abi>(
    communicator: A::Handle,
    request: Out<A::Handle>,
    arguments: impl FnOnce(&Call<A>) -> Result<Collective>,
) -> Outcome {
    let call = Call::<A>::new(communicator)?;
    request.check_place("the request")?;
    let arguments = arguments(&call)?;
    call.check_alias()?;
    let prepared = Persistent::collective(call.core().persistent_collective(arguments)?);
    call.rank.give::<A>(Request::persistent(call.core(), prepared), request)
}

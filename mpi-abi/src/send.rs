//! Sends: four modes (MPI-5.0 section 3.4) in three forms each, blocking, nonblocking and persistent. All have the same arguments, and
//! what they mean does not depend on the form.

use rwmpi_core::untyped::{Elements, Mode, Persistent, Request};
use rwmpi_core::{Communicator, Destination};

use crate::argument::{Memory, Out, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::point_to_point::destination;
use crate::rank::{Rank, rank};
use crate::request_table::SENT;

/// How a message leaves.
#[derive(Clone, Copy)]
enum Leaving {
    /// From the memory where it is.
    Directly(Mode),
    /// By way of the attached buffer.
    Buffered,
}

/// Buffer, count, datatype.
type Data<A> = (Memory, i64, <A as Abi>::Handle);
/// Destination, tag, communicator.
type Envelope<A> = (c_int, c_int, <A as Abi>::Handle);

/// A send whose arguments are translated: nothing but references and numbers, so that what they refer to stays where it was made.
struct Send<'a> {
    rank: &'static Rank,
    communicator: &'a Communicator,
    elements: &'a Elements,
    to: Destination,
    tag: c_int,
}

impl Send<'_> {
    /// Translates the arguments, and has the send leave.
    #[inline(always)]
    fn with<A: Abi>(
        (memory, count, datatype): Data<A>,
        (to, tag, communicator): Envelope<A>,
        leave: impl FnOnce(Send<'_>) -> Outcome,
    ) -> Outcome {
        let rank = rank()?;
        let communicator = rank.communicator::<A>(communicator)?;
        let elements = rank.elements::<A>(memory, count, datatype)?;
        leave(Send { rank, communicator: &communicator.core, elements: &elements, to: destination::<A>(to)?, tag })
    }

    /// Copies the data into the attached buffer.
    fn buffer<A: Abi>(&self) -> Outcome {
        let endpoint = &self.rank.lane(0).endpoint;
        endpoint.buffered_send(self.communicator, self.elements, self.to, self.tag, overhead::<A>())
    }
}

/// The blocking form.
fn run<A: Abi>(data: Data<A>, envelope: Envelope<A>, leaving: Leaving) -> Outcome {
    Send::with::<A>(data, envelope, |send| match leaving {
        Leaving::Directly(mode) => send.communicator.send_elements(send.elements, send.to, send.tag, mode),
        Leaving::Buffered => send.buffer::<A>(),
    })
}

/// The nonblocking form.
fn start<A: Abi>(data: Data<A>, envelope: Envelope<A>, leaving: Leaving, request: Out<A::Handle>) -> Outcome {
    Send::with::<A>(data, envelope, |send| {
        let started = match leaving {
            Leaving::Directly(mode) => send.communicator.start_send_elements(send.elements, send.to, send.tag, mode),
            Leaving::Buffered => send.buffer::<A>().map(|()| None),
        };
        // Told apart at once: as a rule there is no request, and so none to be moved.
        match started {
            Ok(None) => request.set(A::handle(SENT)),
            Ok(Some(started)) => send.rank.give::<A>(started, request),
            Err(error) => Err(error),
        }
    })
}

/// The persistent form.
fn prepare<A: Abi>(data: Data<A>, envelope: Envelope<A>, leaving: Leaving, request: Out<A::Handle>) -> Outcome {
    Send::with::<A>(data, envelope, |Send { rank, communicator, elements, to, tag }| {
        let elements = elements.clone();
        let prepared = match leaving {
            Leaving::Directly(mode) => Persistent::send(communicator, elements, to, tag, mode)?,
            Leaving::Buffered => Persistent::buffered_send(communicator, elements, to, tag, overhead::<A>())?,
        };
        rank.give::<A>(Request::persistent(communicator, prepared), request)
    })
}

/// What a buffered send counts for besides its data.
fn overhead<A: Abi>() -> u64 {
    A::BSEND_OVERHEAD as u64
}

/// Declares sends, each as `pub fn blocking, nonblocking, persistent<A: Abi>(how it leaves);`. The documentation is that of the
/// blocking form. `rwmpi-abi-table` reads the names off the source, too.
macro_rules! sends {
    ($(
        $(#[$documentation:meta])*
        pub fn $blocking:ident, $nonblocking:ident, $persistent:ident<A: Abi>($leaving:expr);
    )*) => { $(
        $(#[$documentation])*
        pub fn $blocking<A: Abi>(
            memory: Memory,
            count: i64,
            datatype: A::Handle,
            to: c_int,
            tag: c_int,
            communicator: A::Handle,
        ) -> Outcome {
            run::<A>((memory, count, datatype), (to, tag, communicator), $leaving)
        }

        #[doc = concat!("The nonblocking form of [`", stringify!($blocking), "`] (MPI-5.0 section 3.7.2).")]
        pub fn $nonblocking<A: Abi>(
            memory: Memory,
            count: i64,
            datatype: A::Handle,
            to: c_int,
            tag: c_int,
            communicator: A::Handle,
            request: Out<A::Handle>,
        ) -> Outcome {
            start::<A>((memory, count, datatype), (to, tag, communicator), $leaving, request)
        }

        #[doc = concat!("The persistent form of [`", stringify!($blocking), "`] (MPI-5.0 section 3.9).")]
        pub fn $persistent<A: Abi>(
            memory: Memory,
            count: i64,
            datatype: A::Handle,
            to: c_int,
            tag: c_int,
            communicator: A::Handle,
            request: Out<A::Handle>,
        ) -> Outcome {
            prepare::<A>((memory, count, datatype), (to, tag, communicator), $leaving, request)
        }
    )* };
}

sends! {
    /// MPI_Send: returns when the buffer may be used again (MPI-5.0 section 3.2.1).
    pub fn send, isend, send_init<A: Abi>(Leaving::Directly(Mode::Standard));

    /// MPI_Rsend: a standard send, as knowing that the receive is posted saves nothing (MPI-5.0 section 3.4).
    pub fn rsend, irsend, rsend_init<A: Abi>(Leaving::Directly(Mode::Standard));

    /// MPI_Ssend: returns when the receive has been matched (MPI-5.0 section 3.4).
    pub fn ssend, issend, ssend_init<A: Abi>(Leaving::Directly(Mode::Synchronous));

    /// MPI_Bsend: sends a copy in the attached buffer, and returns at once (MPI-5.0 section 3.4).
    pub fn bsend, ibsend, bsend_init<A: Abi>(Leaving::Buffered);
}

//! Sends: four modes (MPI-5.0 section 3.4) in three forms each, blocking, nonblocking and persistent. All have the same
//! arguments, and what they mean does not depend on the form.

use std::rc::Rc;

use rwmpi_core::untyped::{Elements, Mode, Persistent, Request, Runs};
use rwmpi_core::{Communicator, Destination, Result};

use crate::argument::{Memory, Out, c_int};
use crate::entry::CommunicatorEntry;
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

/// A send whose envelope is translated.
struct Send {
    rank: &'static Rank,
    communicator: Rc<CommunicatorEntry>,
    to: Destination,
    tag: c_int,
}

impl Send {
    #[inline(always)]
    fn new<A: Abi>((to, tag, communicator): Envelope<A>) -> Result<Self> {
        let rank = rank()?;
        let communicator = rank.communicator::<A>(communicator)?;
        Ok(Send { rank, communicator, to: destination::<A>(to)?, tag })
    }

    #[inline(always)]
    fn core(&self) -> &Communicator {
        &self.communicator.core
    }

    /// The data, if nothing is to be made of them ([`Rank::runs`]).
    #[inline(always)]
    fn runs<A: Abi>(&self, (memory, count, datatype): Data<A>) -> Option<Runs> {
        self.rank.runs::<A>(memory, count, datatype)
    }

    fn elements<A: Abi>(&self, (memory, count, datatype): Data<A>) -> Result<Elements> {
        self.rank.elements_unless::<A>(self.to == Destination::Null, memory, count, datatype)
    }

    /// Copies the data into the attached buffer.
    fn buffer<A: Abi>(&self, data: Data<A>) -> Outcome {
        let (elements, endpoint) = (self.elements::<A>(data)?, &self.rank.lane(0).endpoint);
        endpoint.buffered_send(self.core(), &elements, self.to, self.tag)
    }
}

/// The blocking form.
#[inline(always)]
fn run<A: Abi>(data: Data<A>, envelope: Envelope<A>, leaving: Leaving) -> Outcome {
    let send = Send::new::<A>(envelope)?;
    let Leaving::Directly(mode) = leaving else { return send.buffer::<A>(data) };
    match send.runs::<A>(data) {
        Some(runs) => send.core().send_runs(runs, send.to, send.tag, mode),
        None => send.core().send_elements(&send.elements::<A>(data)?, send.to, send.tag, mode),
    }
}

/// The nonblocking form.
#[inline(always)]
fn start<A: Abi>(data: Data<A>, envelope: Envelope<A>, leaving: Leaving, request: Out<A::Handle>) -> Outcome {
    let send = Send::new::<A>(envelope)?;
    request.check_place("the request")?;
    let (to, tag, rank) = (send.to, send.tag, send.rank);
    let code = match leaving {
        Leaving::Buffered => send.buffer::<A>(data).map(|()| None)?,
        Leaving::Directly(mode) => match send.runs::<A>(data) {
            Some(runs) => {
                let started = send.core().start_send_runs(runs, to, tag, mode)?;
                started.map(|started| rank.keep_started(send.core(), started)).transpose()?
            }
            None => {
                let started = send.core().start_send_elements(&send.elements::<A>(data)?, to, tag, mode)?;
                started.map(|request| rank.keep(request)).transpose()?
            }
        },
    };
    request.set(A::handle(code.unwrap_or(SENT)))
}

/// The persistent form.
fn prepare<A: Abi>(data: Data<A>, envelope: Envelope<A>, leaving: Leaving, request: Out<A::Handle>) -> Outcome {
    let send = Send::new::<A>(envelope)?;
    let elements = send.elements::<A>(data)?;
    let prepared = match leaving {
        Leaving::Directly(mode) => Persistent::send(send.core(), elements, send.to, send.tag, mode)?,
        Leaving::Buffered => Persistent::buffered_send(send.core(), elements, send.to, send.tag)?,
    };
    send.rank.give::<A>(Request::persistent(send.core(), prepared), request)
}

/// Declares sends, each as `pub fn blocking, nonblocking, persistent<A: Abi>(how it leaves);`. The documentation is
/// that of the blocking form. `rwmpi-abi-table` reads the names off the source, too.
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

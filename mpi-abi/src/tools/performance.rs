//! Performance variables (MPI-5.0 section 15.3.7): what the rank has counted, all 0 before it is one, and after it.
//! They count from the beginning of the job and always, so they can neither be started nor reset.

use rwmpi_core::datatype::Basic;
use rwmpi_core::{Protocol, TrafficCounters, Universe};

use super::enumeration::{Enumeration, PROTOCOLS};
use super::{Checked, entry, give, handle, index_of, offer, offer_text, run};
use crate::argument::{Memory, Out, Text, TextOut, c_int, c_void};
use crate::call::in_turn;
use crate::datatype::handle_of_basic;
use crate::interface::Abi;
use crate::rank::peek;

/// What MPI_T_PVAR_ALL_HANDLES is in both interfaces.
const ALL_HANDLES: usize = 1;
/// What sessions are: none has anything of its own.
const SESSION: *mut c_void = std::ptr::without_provenance_mut(2);

/// What a variable is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    Messages,
    Requests,
    Unexpected,
}

/// How a value changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// It counts events.
    Counter,
    /// It sums up lengths.
    Aggregate,
    /// How much there is now.
    Level,
    /// Which of several it is: an item of the enumeration of protocols.
    State,
}

/// A variable.
pub(super) struct Variable {
    name: &'static str,
    description: &'static str,
    pub(super) about: About,
    class: Class,
    read: fn(&Universe) -> u64,
}

/// Makes variables of what a universe counts.
macro_rules! variables {
    ($($about:ident $class:ident $name:ident: $read:expr, $description:literal;)*) => {
        /// All of them.
        pub(super) const VARIABLES: &[Variable] = &[$(Variable {
            name: stringify!($name),
            description: $description,
            about: About::$about,
            class: Class::$class,
            read: $read,
        },)*];
    };
}

/// A counter of what was sent.
macro_rules! sent {
    ($counter:ident) => {
        |universe| {
            let TrafficCounters { $counter, .. } = universe.traffic();
            $counter
        }
    };
}

/// The number of a job's protocol.
fn protocol(universe: &Universe) -> u64 {
    number_of(universe.protocol())
}

fn number_of(protocol: Protocol) -> u64 {
    PROTOCOLS.iter().position(|&known| known == protocol).unwrap_or(0) as u64
}

variables! {
    Messages Counter messages: sent!(messages), "Messages sent, those of collectives included";
    Messages Aggregate bytes: sent!(bytes), "Bytes in them";
    Messages Counter remote_write_messages: sent!(remote_write_messages),
        "Messages of these that were written into the receiver's buffer";
    Messages Aggregate remote_write_bytes: sent!(remote_write_bytes), "Bytes in them";
    Messages Counter large_messages: sent!(large_messages), "Messages of at least 8 KiB";
    Messages Aggregate large_bytes: sent!(large_bytes), "Bytes in them";
    Messages Aggregate large_single_copy_bytes: sent!(large_single_copy_bytes), "Bytes of them that were copied once";
    Requests Counter requests_posted: sent!(requests_posted), "Requests for send posted by this rank as a receiver";
    Requests Counter requests_reposted: sent!(requests_reposted), "Requests for send of these that were posted again";
    Requests Counter requests_used: sent!(requests_used),
        "Requests for send that this rank as a sender answered by remote write";
    Requests Counter requests_stale: sent!(requests_stale),
        "Requests for send that were stale when they were found: a message had overtaken them";
    Requests Counter requests_skipped: sent!(requests_skipped),
        "Requests for send that were ignored because an earlier one was missing";
    Requests Counter requests_dropped: sent!(requests_dropped),
        "Requests for send that matched nothing, were declined, or found their queue full";
    Requests State protocol: protocol, "Whether receivers send requests: by the protocol of the job";
    Unexpected Level unexpected_messages: |universe| universe.unexpected().0,
        "Messages that have arrived and wait for their receives";
    Unexpected Level unexpected_bytes: |universe| universe.unexpected().1, "Memory that they take, bytes";
}

fn class<A: Abi>(class: Class) -> c_int {
    match class {
        Class::Counter => A::T_PVAR_CLASS_COUNTER,
        Class::Aggregate => A::T_PVAR_CLASS_AGGREGATE,
        Class::Level => A::T_PVAR_CLASS_LEVEL,
        Class::State => A::T_PVAR_CLASS_STATE,
    }
}

/// MPI_T_pvar_get_num (MPI-5.0 section 15.3.7).
pub fn t_pvar_get_num<A: Abi>(number: Out<c_int>) -> c_int {
    give::<A, _>(number, VARIABLES.len() as c_int)
}

/// MPI_T_pvar_get_info (MPI-5.0 section 15.3.7).
pub fn t_pvar_get_info<A: Abi>(
    index: c_int,
    name: TextOut,
    name_len: Out<c_int>,
    verbosity: Out<c_int>,
    var_class: Out<c_int>,
    datatype: Out<A::Handle>,
    enumeration: Out<*mut c_void>,
    description: TextOut,
    description_len: Out<c_int>,
    bind: Out<c_int>,
    readonly: Out<c_int>,
    continuous: Out<c_int>,
    atomic: Out<c_int>,
) -> c_int {
    run::<A>(|| {
        let (_, variable) = entry::<A, _>(VARIABLES, index)?;
        offer_text(name, name_len, variable.name);
        offer_text(description, description_len, variable.description);
        offer(verbosity, A::T_VERBOSITY_USER_DETAIL);
        offer(var_class, class::<A>(variable.class));
        let (basic, items) = match variable.class {
            Class::State => (Basic::Int, Enumeration::Protocols.handle()),
            _ => (Basic::UnsignedLongLong, std::ptr::null_mut()),
        };
        offer(datatype, handle_of_basic::<A>(basic));
        offer(enumeration, items);
        offer(bind, A::T_BIND_NO_OBJECT);
        [(readonly, 1), (continuous, 1), (atomic, 0)].into_iter().for_each(|(place, value)| offer(place, value));
        Ok(())
    })
}

/// MPI_T_pvar_get_index (MPI-5.0 section 15.3.7).
pub fn t_pvar_get_index<A: Abi>(name: Text, var_class: c_int, index: Out<c_int>) -> c_int {
    run::<A>(|| {
        let name = name.get().map_err(|_| A::T_ERR_INVALID_NAME)?;
        let is_it = |known: &Variable| known.name == name && class::<A>(known.class) == var_class;
        let found = VARIABLES.iter().position(is_it).ok_or(A::T_ERR_INVALID_NAME)?;
        index.set(found as c_int).map_err(|_| A::T_ERR_INVALID)
    })
}

/// MPI_T_pvar_session_create (MPI-5.0 section 15.3.7).
pub fn t_pvar_session_create<A: Abi>(session: Out<*mut c_void>) -> c_int {
    give::<A, _>(session, SESSION)
}

/// MPI_T_pvar_session_free (MPI-5.0 section 15.3.7).
pub fn t_pvar_session_free<A: Abi>(session: Out<*mut c_void>) -> c_int {
    run::<A>(|| match session.get() {
        Ok(SESSION) => session.set(std::ptr::null_mut()).map_err(|_| A::T_ERR_INVALID),
        _ => Err(A::T_ERR_INVALID_SESSION),
    })
}

fn checked_session<A: Abi>(session: *mut c_void) -> Checked {
    if session == SESSION { Ok(()) } else { Err(A::T_ERR_INVALID_SESSION) }
}

/// MPI_T_pvar_handle_alloc (MPI-5.0 section 15.3.7).
pub fn t_pvar_handle_alloc<A: Abi>(
    session: *mut c_void,
    index: c_int,
    _object: Memory,
    made: Out<*mut c_void>,
    count: Out<c_int>,
) -> c_int {
    run::<A>(|| {
        checked_session::<A>(session)?;
        let (index, _) = entry::<A, _>(VARIABLES, index)?;
        offer(count, 1);
        made.set(handle(index)).map_err(|_| A::T_ERR_INVALID)
    })
}

/// The index of the variable with a handle of that session.
fn variable<A: Abi>(session: *mut c_void, handle: *mut c_void) -> Checked<usize> {
    checked_session::<A>(session)?;
    index_of::<A>(handle, VARIABLES.len())
}

/// MPI_T_pvar_handle_free (MPI-5.0 section 15.3.7).
pub fn t_pvar_handle_free<A: Abi>(session: *mut c_void, handle: Out<*mut c_void>) -> c_int {
    run::<A>(|| {
        variable::<A>(session, handle.get().map_err(|_| A::T_ERR_INVALID_HANDLE)?)?;
        handle.set(std::ptr::null_mut()).map_err(|_| A::T_ERR_INVALID)
    })
}

/// MPI_T_pvar_read (MPI-5.0 section 15.3.7).
pub fn t_pvar_read<A: Abi>(session: *mut c_void, handle: *mut c_void, into: Memory) -> c_int {
    run::<A>(|| {
        let Variable { read, class, .. } = VARIABLES[variable::<A>(session, handle)?];
        let of_job = in_turn("MPI_T_pvar_read", || Some(read(peek().ok()?.universe.borrow().as_ref()?)));
        let written = match class {
            Class::State => {
                let number = of_job.unwrap_or(number_of(Protocol::Auto)) as c_int;
                into.write(&number.to_ne_bytes())
            }
            _ => into.write(&of_job.unwrap_or(0).to_ne_bytes()),
        };
        written.map_err(|_| A::T_ERR_INVALID)
    })
}

/// What can't be done to a variable; to all of a session that it can be done to, it is.
fn refused<A: Abi>(session: *mut c_void, handle: *mut c_void, why: c_int) -> c_int {
    run::<A>(|| {
        checked_session::<A>(session)?;
        if handle.addr() == ALL_HANDLES {
            return Ok(());
        }
        variable::<A>(session, handle).and(Err(why))
    })
}

/// MPI_T_pvar_start (MPI-5.0 section 15.3.7).
pub fn t_pvar_start<A: Abi>(session: *mut c_void, handle: *mut c_void) -> c_int {
    refused::<A>(session, handle, A::T_ERR_PVAR_NO_STARTSTOP)
}

/// MPI_T_pvar_stop (MPI-5.0 section 15.3.7).
pub fn t_pvar_stop<A: Abi>(session: *mut c_void, handle: *mut c_void) -> c_int {
    refused::<A>(session, handle, A::T_ERR_PVAR_NO_STARTSTOP)
}

/// MPI_T_pvar_reset (MPI-5.0 section 15.3.7).
pub fn t_pvar_reset<A: Abi>(session: *mut c_void, handle: *mut c_void) -> c_int {
    refused::<A>(session, handle, A::T_ERR_PVAR_NO_WRITE)
}

/// MPI_T_pvar_write (MPI-5.0 section 15.3.7).
pub fn t_pvar_write<A: Abi>(session: *mut c_void, handle: *mut c_void, _from: Memory) -> c_int {
    run::<A>(|| variable::<A>(session, handle).and(Err(A::T_ERR_PVAR_NO_WRITE)))
}

/// MPI_T_pvar_readreset (MPI-5.0 section 15.3.7).
pub fn t_pvar_readreset<A: Abi>(session: *mut c_void, handle: *mut c_void, _into: Memory) -> c_int {
    run::<A>(|| variable::<A>(session, handle).and(Err(A::T_ERR_PVAR_NO_ATOMIC)))
}

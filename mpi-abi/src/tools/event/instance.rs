//! Events as they happen (MPI-5.0 section 15.3.8): an instance is there while a callback runs, for the thread that it
//! runs in.

use std::cell::Cell;

use rwmpi_core::event::Event;

use super::super::{Checked, handle, index_of, run};
use super::Safety;
use super::registration::{Delivery, registered_for};
use super::source::now;
use super::types::{ELEMENTS, TYPES, element, number_of, whole};
use crate::argument::{Memory, Out, c_int, c_void};
use crate::interface::Abi;

/// An event that has happened.
#[derive(Clone, Copy, Debug)]
struct Instance {
    event: Event,
    timestamp: i64,
}

/// The handle of the one instance that a callback can see.
const PRESENT: usize = 0;

thread_local! {
    /// The instance for which this thread is in a callback.
    static INSTANCE: Cell<Option<Instance>> = const { Cell::new(None) };
}

/// Whether the thread is in a callback.
pub(super) fn is_in_callback() -> bool {
    INSTANCE.get().is_some()
}

/// Tells all who want to know.
pub(super) fn raise<A: Abi>(event: &Event) {
    let required = Safety::of_events();
    let safety = required.constant::<A>();
    INSTANCE.set(Some(Instance { event: *event, timestamp: now() }));
    for registration in registered_for(number_of(event)) {
        match registration.delivery(required) {
            Some(Delivery::Call(callback)) => callback.event(handle(PRESENT), registration.handle(), safety),
            Some(Delivery::Drop(handler, count)) => handler.dropped(count, registration.handle(), 0, safety),
            None => {}
        }
    }
    INSTANCE.set(None);
}

fn instance<A: Abi>(instance: *mut c_void) -> Checked<Instance> {
    index_of::<A>(instance, PRESENT + 1)?;
    INSTANCE.get().ok_or(A::T_ERR_INVALID_HANDLE)
}

/// MPI_T_event_read (MPI-5.0 section 15.3.8).
pub fn t_event_read<A: Abi>(instance: *mut c_void, index: c_int, into: Memory) -> c_int {
    run::<A>(|| {
        let event = self::instance::<A>(instance)?.event;
        let index = usize::try_from(index).map_err(|_| A::T_ERR_INVALID_INDEX)?;
        if index >= ELEMENTS[..TYPES[number_of(&event)].elements].len() {
            return Err(A::T_ERR_INVALID_INDEX);
        }
        into.write(&element(&event, index)).map_err(|_| A::T_ERR_INVALID)
    })
}

/// MPI_T_event_copy (MPI-5.0 section 15.3.8).
pub fn t_event_copy<A: Abi>(instance: *mut c_void, into: Memory) -> c_int {
    run::<A>(|| into.write(&whole(&self::instance::<A>(instance)?.event)).map_err(|_| A::T_ERR_INVALID))
}

/// MPI_T_event_get_timestamp (MPI-5.0 section 15.3.8).
pub fn t_event_get_timestamp<A: Abi>(instance: *mut c_void, timestamp: Out<i64>) -> c_int {
    run::<A>(|| timestamp.set(self::instance::<A>(instance)?.timestamp).map_err(|_| A::T_ERR_INVALID))
}

/// MPI_T_event_get_source (MPI-5.0 section 15.3.8): there is one.
pub fn t_event_get_source<A: Abi>(instance: *mut c_void, source: Out<c_int>) -> c_int {
    run::<A>(|| {
        self::instance::<A>(instance)?;
        source.set(0).map_err(|_| A::T_ERR_INVALID)
    })
}

//! Who wants to know of events (MPI-5.0 section 15.3.8): registrations, each with up to one callback a level of safety.
//!
//! Any thread may register, and events may happen in several. So registrations are kept under a lock, which is not held
//! while a callback runs: whoever raises an event looks who wants it first. A registration that is freed meanwhile
//! lives until the last of these has returned, and only then is the tool told that it is gone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::{Checked, FIRST_HANDLE, entry, run};
use super::callback::Callback;
use super::source::no_hints;
use super::types::TYPES;
use super::{Safety, instance, settle};
use crate::argument::{Function, Memory, Out, c_int, c_void};
use crate::info::hints;
use crate::interface::Abi;

/// A registration.
pub(super) struct Registration {
    /// What its handle is.
    number: usize,
    /// The type of events.
    event: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By level of safety.
    callbacks: [Option<Callback>; Safety::ALL.len()],
    /// Who is told of events that no callback may be called for.
    dropped_handler: Option<Callback>,
    /// How many these were since it was told.
    dropped: i64,
    /// Who is told when the registration is gone, and what the call that frees it requires.
    free: Option<(Callback, c_int)>,
}

struct Registrations {
    all: Vec<Arc<Registration>>,
    /// The number of the next one: none is ever used again.
    next: usize,
}

static REGISTRATIONS: Mutex<Registrations> = Mutex::new(Registrations { all: Vec::new(), next: FIRST_HANDLE });

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is to be done about an event for one registration.
pub(super) enum Delivery {
    Call(Callback),
    /// To tell this one that so many events are lost.
    Drop(Callback, i64),
}

impl Registration {
    pub(super) fn handle(&self) -> *mut c_void {
        std::ptr::without_provenance_mut(self.number)
    }

    /// What is to be done about an event whose callbacks have to be so safe.
    pub(super) fn delivery(&self, required: Safety) -> Option<Delivery> {
        let mut state = lock(&self.state);
        if let Some(callback) = state.callbacks[required as usize..].iter().flatten().next() {
            return Some(Delivery::Call(*callback));
        }
        let too_free = state.callbacks.iter().flatten().next().copied()?;
        state.dropped += 1;
        let handler = state.dropped_handler?.with_data_of(too_free);
        Some(Delivery::Drop(handler, std::mem::take(&mut state.dropped)))
    }

    fn is_wanted(&self) -> bool {
        lock(&self.state).callbacks.iter().any(Option::is_some)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some((callback, safety)) = lock(&self.state).free.take() {
            callback.free(self.handle(), safety);
        }
    }
}

/// Those for events of that type.
pub(super) fn registered_for(event: usize) -> Vec<Arc<Registration>> {
    lock(&REGISTRATIONS).all.iter().filter(|one| one.event == event).cloned().collect()
}

/// Whether anybody wants to be called.
pub(super) fn are_wanted() -> bool {
    lock(&REGISTRATIONS).all.iter().any(|one| one.is_wanted())
}

fn registration<A: Abi>(handle: *mut c_void) -> Checked<Arc<Registration>> {
    let registrations = lock(&REGISTRATIONS);
    let found = registrations.all.iter().find(|one| one.number == handle.addr());
    found.cloned().ok_or(A::T_ERR_INVALID_HANDLE)
}

/// Checks hints, of which none is known.
fn ignore_hints<A: Abi>(info: A::Handle) -> Checked {
    hints::<A>(info).map(drop).map_err(|_| A::T_ERR_INVALID)
}

/// MPI_T_event_handle_alloc (MPI-5.0 section 15.3.8): no type is bound to an object.
pub fn t_event_handle_alloc<A: Abi>(index: c_int, _object: Memory, info: A::Handle, made: Out<*mut c_void>) -> c_int {
    run::<A>(|| {
        let (event, _) = entry::<A, _>(&TYPES, index)?;
        ignore_hints::<A>(info)?;
        let mut registrations = lock(&REGISTRATIONS);
        let number = registrations.next;
        let registration = Arc::new(Registration { number, event, state: Mutex::default() });
        made.set(registration.handle()).map_err(|_| A::T_ERR_INVALID)?;
        registrations.next += 1;
        registrations.all.push(registration);
        Ok(())
    })
}

/// MPI_T_event_handle_set_info (MPI-5.0 section 15.3.8): no hint is known.
pub fn t_event_handle_set_info<A: Abi>(handle: *mut c_void, info: A::Handle) -> c_int {
    run::<A>(|| registration::<A>(handle).and_then(|_| ignore_hints::<A>(info)))
}

/// MPI_T_event_handle_get_info (MPI-5.0 section 15.3.8).
pub fn t_event_handle_get_info<A: Abi>(handle: *mut c_void, info: Out<A::Handle>) -> c_int {
    run::<A>(|| {
        registration::<A>(handle)?;
        info.set(no_hints::<A>()?).map_err(|_| A::T_ERR_INVALID)
    })
}

/// MPI_T_event_register_callback (MPI-5.0 section 15.3.8): a null pointer takes that level's callback away.
pub fn t_event_register_callback<A: Abi>(
    handle: *mut c_void,
    safety: c_int,
    info: A::Handle,
    data: Memory,
    function: Function,
) -> c_int {
    let code = run::<A>(|| {
        let registration = registration::<A>(handle)?;
        let safety = Safety::of::<A>(safety)?;
        ignore_hints::<A>(info)?;
        lock(&registration.state).callbacks[safety as usize] = Callback::new(function, data.address().cast());
        Ok(())
    });
    if code == A::SUCCESS {
        settle::<A>("MPI_T_event_register_callback");
    }
    code
}

/// Looks whether the level has a callback.
fn has_callback<A: Abi>(handle: *mut c_void, safety: c_int) -> Checked {
    let registration = registration::<A>(handle)?;
    let safety = Safety::of::<A>(safety)?;
    let callback = lock(&registration.state).callbacks[safety as usize];
    callback.map(|_| ()).ok_or(A::T_ERR_INVALID)
}

/// MPI_T_event_callback_set_info (MPI-5.0 section 15.3.8): no hint is known.
pub fn t_event_callback_set_info<A: Abi>(handle: *mut c_void, safety: c_int, info: A::Handle) -> c_int {
    run::<A>(|| has_callback::<A>(handle, safety).and_then(|()| ignore_hints::<A>(info)))
}

/// MPI_T_event_callback_get_info (MPI-5.0 section 15.3.8).
pub fn t_event_callback_get_info<A: Abi>(handle: *mut c_void, safety: c_int, info: Out<A::Handle>) -> c_int {
    run::<A>(|| {
        has_callback::<A>(handle, safety)?;
        info.set(no_hints::<A>()?).map_err(|_| A::T_ERR_INVALID)
    })
}

/// MPI_T_event_set_dropped_handler (MPI-5.0 section 15.3.8): it gets the data of the callback that was not called.
pub fn t_event_set_dropped_handler<A: Abi>(handle: *mut c_void, function: Function) -> c_int {
    run::<A>(|| {
        let registration = registration::<A>(handle)?;
        lock(&registration.state).dropped_handler = Callback::new(function, std::ptr::null_mut());
        Ok(())
    })
}

/// MPI_T_event_handle_free (MPI-5.0 section 15.3.8).
pub fn t_event_handle_free<A: Abi>(handle: *mut c_void, data: Memory, function: Function) -> c_int {
    let code = run::<A>(|| {
        let registration = registration::<A>(handle)?;
        let required = if instance::is_in_callback() { Safety::of_events() } else { Safety::None };
        let free = Callback::new(function, data.address().cast()).map(|free| (free, required.constant::<A>()));
        lock(&registration.state).free = free;
        lock(&REGISTRATIONS).all.retain(|one| one.number != registration.number);
        Ok(())
    });
    if code == A::SUCCESS {
        settle::<A>("MPI_T_event_handle_free");
    }
    code
}

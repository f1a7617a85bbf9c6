//! The functions that tools register, as what can be called.
//!
//! They must not be left by exceptions: an event happens in the middle of what the library does.
#![allow(unsafe_code)]

use crate::argument::{Function, c_int, c_void};

type EventFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, *mut c_void);
type FreeFunction = unsafe extern "C" fn(*mut c_void, c_int, *mut c_void);
type DroppedFunction = unsafe extern "C" fn(i64, *mut c_void, c_int, c_int, *mut c_void);

/// A function of a tool, with the data that it gets: addresses, which any thread may keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Callback {
    function: usize,
    data: usize,
}

impl Callback {
    /// That function, if it is one.
    pub(super) fn new(function: Function, data: *mut c_void) -> Option<Callback> {
        (!function.is_null())
            .then(|| Callback { function: function.expose_provenance(), data: data.expose_provenance() })
    }

    /// The same function with other data.
    pub(super) fn with_data_of(self, other: Callback) -> Callback {
        Callback { data: other.data, ..self }
    }

    fn function(self) -> Function {
        std::ptr::with_exposed_provenance(self.function)
    }

    fn data(self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.data)
    }

    /// Calls it as an MPI_T_event_cb_function.
    pub(super) fn event(self, instance: *mut c_void, registration: *mut c_void, safety: c_int) {
        // SAFETY: the tool gave this address as that of such a function, with its data.
        unsafe {
            let function: EventFunction = std::mem::transmute(self.function());
            function(instance, registration, safety, self.data());
        }
    }

    /// Calls it as an MPI_T_event_free_cb_function.
    pub(super) fn free(self, registration: *mut c_void, safety: c_int) {
        // SAFETY: likewise.
        unsafe {
            let function: FreeFunction = std::mem::transmute(self.function());
            function(registration, safety, self.data());
        }
    }

    /// Calls it as an MPI_T_event_dropped_cb_function.
    pub(super) fn dropped(self, count: i64, registration: *mut c_void, source: c_int, safety: c_int) {
        // SAFETY: likewise.
        unsafe {
            let function: DroppedFunction = std::mem::transmute(self.function());
            function(count, registration, source, safety, self.data());
        }
    }
}

//! Attributes: their keys, their values, and the program's procedures that copy and delete them (MPI-5.0 section 7.7).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

use rwmpi_interface::Abi;
use rwmpi_interface::Function;

use crate::handle::give_handle;
use crate::integer::Value;

/// A procedure that copies: object, key, extra state, value, copy, flag, error code.
type Copy<V> = unsafe extern "C-unwind" fn(*mut c_int, *mut c_int, *mut V, *mut V, *mut V, *mut c_int, *mut c_int);
/// A procedure that deletes: object, key, value, extra state, error code.
type Delete<V> = unsafe extern "C-unwind" fn(*mut c_int, *mut c_int, *mut V, *mut V, *mut c_int);

/// What C keeps as extra state of a key.
struct State<V> {
    copy: Function,
    delete: Function,
    /// The program's own extra state.
    extra: V,
}

/// Where all states are: C does not tell when it needs one no more, and tools that look for lost memory find them here.
static STATES: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// The extra state that C keeps for these procedures. It stays for ever: attributes with the key may outlive it.
pub fn attribute_state<V: Value>(copy: Function, delete: Function, extra: V) -> *mut c_void {
    let state = Box::into_raw(Box::new(State { copy, delete, extra }));
    STATES.lock().unwrap_or_else(PoisonError::into_inner).push(state.addr());
    state.cast()
}

/// What C calls to copy an attribute.
///
/// # Safety
/// `state` is from [`attribute_state`] with the same `V`; the rest is as C's prototype says.
pub unsafe extern "C-unwind" fn copy_attribute<A: Abi, V: Value>(
    object: A::Handle,
    mut key: c_int,
    state: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let (mut code, mut object_code) = (A::SUCCESS, 0);
    let (mut value, mut copied) = (V::of(value), V::default());
    // SAFETY: the address is that of a procedure that the program passed as one that copies attributes.
    unsafe {
        give_handle::<A>(&raw mut object_code, object);
        let state = state.cast::<State<V>>();
        let procedure: Copy<V> = std::mem::transmute((*state).copy);
        let extra = &raw mut (*state).extra;
        procedure(&raw mut object_code, &raw mut key, extra, &raw mut value, &raw mut copied, flag, &raw mut code);
        copy.cast::<*mut c_void>().write(copied.pointer());
    }
    code
}

/// What C calls to delete an attribute.
///
/// # Safety
/// As [`copy_attribute`].
pub unsafe extern "C-unwind" fn delete_attribute<A: Abi, V: Value>(
    object: A::Handle,
    mut key: c_int,
    value: *mut c_void,
    state: *mut c_void,
) -> c_int {
    let (mut code, mut object_code) = (A::SUCCESS, 0);
    let mut value = V::of(value);
    // SAFETY: as above.
    unsafe {
        give_handle::<A>(&raw mut object_code, object);
        let state = state.cast::<State<V>>();
        let procedure: Delete<V> = std::mem::transmute((*state).delete);
        let extra = &raw mut (*state).extra;
        procedure(&raw mut object_code, &raw mut key, &raw mut value, extra, &raw mut code);
    }
    code
}

/// Keys of attributes that C has as addresses of `int`s.
fn integer_keys<A: Abi>() -> [c_int; 10] {
    [
        A::TAG_UB,
        A::IO,
        A::HOST,
        A::WTIME_IS_GLOBAL,
        A::APPNUM,
        A::LASTUSEDCODE,
        A::UNIVERSE_SIZE,
        A::WIN_DISP_UNIT,
        A::WIN_CREATE_FLAVOR,
        A::WIN_MODEL,
    ]
}

/// C's key for one of Fortran's: in the MPICH ABI, predefined ones are one lower in C.
pub fn key<A: Abi>(key: c_int) -> c_int {
    let is_standard = A::ABI_VERSION[0] >= 0;
    let in_c = if is_standard { key } else { key.wrapping_sub(1) };
    let is_predefined = integer_keys::<A>().contains(&in_c) || [A::WIN_BASE, A::WIN_SIZE].contains(&in_c);
    if is_predefined { in_c } else { key }
}

/// Lets the program have the attribute with that key of Fortran's: predefined ones are values, not addresses, in
/// Fortran.
///
/// # Safety
/// `place` is valid; the attribute is one that C gave.
pub unsafe fn give_attribute<A: Abi, V: Value>(place: *mut V, key: c_int, attribute: *mut c_void) {
    let key = self::key::<A>(key);
    // SAFETY: C gives addresses for these keys.
    let value = unsafe {
        if integer_keys::<A>().contains(&key) {
            c_int::pointer(attribute.cast::<c_int>().read())
        } else if key == A::WIN_SIZE {
            i64::pointer(attribute.cast::<i64>().read())
        } else {
            attribute
        }
    };
    // SAFETY: passed on.
    unsafe { place.write(V::of(value)) };
}

#[cfg(test)]
mod tests {
    use rwmpi_interface::{Constants, Mpich, Standard};

    use super::*;

    #[test]
    fn predefined_keys_are_the_interfaces() {
        assert_eq!(key::<Standard>(Standard::TAG_UB), Standard::TAG_UB);
        assert_eq!(key::<Mpich>(1_681_915_906), Mpich::TAG_UB);
        assert_eq!((key::<Mpich>(-5), key::<Standard>(-5)), (-5, -5));
    }

    #[test]
    fn predefined_attributes_are_values() {
        let (mut limit, mut place) = (4711, 0_i64);
        // SAFETY: an address for a key whose attribute is one, a value for another.
        unsafe {
            give_attribute::<Standard, _>(&raw mut place, Standard::TAG_UB, (&raw mut limit).cast());
            assert_eq!(place, 4711);
            give_attribute::<Standard, _>(&raw mut place, -9, 12_i64.pointer());
            assert_eq!(place, 12);
        }
    }
}

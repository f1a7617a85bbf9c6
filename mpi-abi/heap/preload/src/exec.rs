//! Programs that this process becomes: in another root than this one's the library may not be there, and the loader would complain of it in
//! every process. So whoever goes on as another program after `chroot` or `pivot_root` is followed by the library only to where it is.
//!
//! The functions may be called between `vfork` and `exec`, in a process that shares its parent's memory: nothing here allocates or changes what
//! others see.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;

use crate::next::next;

type Strings = *const *const c_char;

/// The end of this library's path; by this the launcher and a reader know it.
const NAME: &[u8] = b"/librwmpi_heap.so";
const VARIABLE: &[u8] = b"LD_PRELOAD=";
/// Longer environments, and longer lists of libraries, are passed on as they are.
const VARIABLES_MAX: usize = 4096;
const LIST_MAX: usize = 4096;

unsafe extern "C" {
    static environ: Strings;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    // SAFETY: by the caller.
    unsafe { with_environment(environment, |environment| (next().execve)(path, arguments, environment)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: by the caller.
    unsafe { execve(path, arguments, environ) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(file: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    // SAFETY: by the caller.
    unsafe { with_environment(environment, |environment| (next().execvpe)(file, arguments, environment)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: by the caller.
    unsafe { execvpe(file, arguments, environ) }
}

/// Calls `exec` with the environment, without this library where it is not to be found.
unsafe fn with_environment(environment: Strings, exec: impl Fn(Strings) -> c_int) -> c_int {
    // SAFETY: by the caller.
    if let Some(place) = unsafe { place_of_list(environment) } {
        let mut without = [0_u8; LIST_MAX];
        // SAFETY: the place is one of the environment.
        let list = unsafe { CStr::from_ptr(*environment.add(place)) };
        if leave_out_missing(list.to_bytes_with_nul(), &mut without) {
            // SAFETY: by the caller.
            return unsafe { with_another(environment, place, without.as_ptr().cast(), &exec) };
        }
    }
    exec(environment)
}

/// Calls `exec` with the environment, in which `variable` stands at `place`. A function of its own for the sake of the stack of all others.
#[inline(never)]
unsafe fn with_another(
    environment: Strings,
    place: usize,
    variable: *const c_char,
    exec: &impl Fn(Strings) -> c_int,
) -> c_int {
    let mut variables = [const { MaybeUninit::<*const c_char>::uninit() }; VARIABLES_MAX];
    for (index, slot) in variables.iter_mut().enumerate() {
        // SAFETY: the environment has not ended before, by the caller's word that it ends.
        let passed_on = unsafe { *environment.add(index) };
        slot.write(if index == place { variable } else { passed_on });
        if passed_on.is_null() {
            return exec(variables.as_ptr().cast());
        }
    }
    exec(environment)
}

/// Which variable names what is preloaded.
unsafe fn place_of_list(environment: Strings) -> Option<usize> {
    if environment.is_null() {
        return None;
    }
    for index in 0.. {
        // SAFETY: the list has not ended before, by the caller's word that it ends.
        let variable = unsafe { *environment.add(index) };
        if variable.is_null() {
            return None;
        }
        // SAFETY: it is a C string.
        if unsafe { CStr::from_ptr(variable) }.to_bytes().starts_with(VARIABLE) {
            return Some(index);
        }
    }
    None
}

/// Copies `LD_PRELOAD=…` with its final 0 but for this library, if it is named there and is missing in the present root; whether so.
fn leave_out_missing(variable: &[u8], without: &mut [u8; LIST_MAX]) -> bool {
    if variable.len() > LIST_MAX {
        return false;
    }
    let (mut written, mut left_out) = (VARIABLE.len(), false);
    without[..written].copy_from_slice(VARIABLE);
    let list = &variable[VARIABLE.len()..variable.len() - 1];
    for path in list.split(|byte| b": ".contains(byte)).filter(|path| !path.is_empty()) {
        if path.ends_with(NAME) && is_missing(path) {
            left_out = true;
            continue;
        }
        if written > VARIABLE.len() {
            without[written] = b':';
            written += 1;
        }
        without[written..written + path.len()].copy_from_slice(path);
        written += path.len();
    }
    without[written] = 0;
    left_out
}

fn is_missing(path: &[u8]) -> bool {
    let mut name = [0_u8; LIST_MAX];
    name[..path.len()].copy_from_slice(path);
    // SAFETY: it is a C string: a path of the list is shorter than the list.
    unsafe { libc::access(name.as_ptr().cast(), libc::R_OK) != 0 }
}

//! Programs that this process becomes: in another root than this one's the library may not be there, and the loader
//! would complain of it in every process. So whoever goes on as another program after `chroot` or `pivot_root`, or
//! starts one, is followed by the library only to where it is.
//!
//! The functions may be called between `vfork` and `exec`, in a process that shares its parent's memory: those that are
//! told the environment neither allocate nor change what others see. Those that take the process's own (`system`,
//! `popen`, `execl`, `execlp`) correct that, once.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;

use crate::next::{function, next};

type Strings = *const *const c_char;
type Spawn =
    unsafe extern "C" fn(*mut libc::pid_t, *const c_char, *const c_void, *const c_void, Strings, Strings) -> c_int;
type Popen = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut libc::FILE;

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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn(
    pid: *mut libc::pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: it is the function's type.
    let Some(next) = (unsafe { function::<Spawn>(c"posix_spawn") }) else { return libc::ENOSYS };
    // SAFETY: by the caller.
    let spawn = |environment| unsafe { next(pid, path, actions, attributes, arguments, environment) };
    // SAFETY: by the caller.
    unsafe { with_environment(environment, spawn) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawnp(
    pid: *mut libc::pid_t,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: it is the function's type.
    let Some(next) = (unsafe { function::<Spawn>(c"posix_spawnp") }) else { return libc::ENOSYS };
    // SAFETY: by the caller.
    let spawn = |environment| unsafe { next(pid, file, actions, attributes, arguments, environment) };
    // SAFETY: by the caller.
    unsafe { with_environment(environment, spawn) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn system(command: *const c_char) -> c_int {
    correct_environment();
    // SAFETY: it is the function's type; the rest by the caller.
    unsafe { function::<unsafe extern "C" fn(*const c_char) -> c_int>(c"system").map_or(-1, |next| next(command)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn popen(command: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    correct_environment();
    // SAFETY: it is the function's type; the rest by the caller.
    unsafe { function::<Popen>(c"popen").map_or(std::ptr::null_mut(), |next| next(command, mode)) }
}

/// Functions with any number of arguments: these stay where they are, and the next function finds them.
#[cfg(target_arch = "x86_64")]
mod with_any_arguments {
    use super::correct_environment;
    use crate::next::{Any, next};

    macro_rules! passes_on {
        ($name:ident, $prepare:ident) => {
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                // All registers that may hold arguments come through; seven of them leave the stack aligned for the
                // call.
                std::arch::naked_asm!(
                    "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                    "call {prepare}",
                    "mov r11, rax",
                    "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                    "jmp r11",
                    prepare = sym $prepare,
                )
            }
        };
    }

    passes_on!(execl, before_execl);
    passes_on!(execlp, before_execlp);

    extern "C" fn before_execl() -> Any {
        correct_environment();
        next().execl
    }

    extern "C" fn before_execlp() -> Any {
        correct_environment();
        next().execlp
    }
}

/// Takes this library out of the process's own environment if it is not to be found in the present root.
fn correct_environment() {
    // SAFETY: the process's environment ends with a null pointer, and its entries are C strings.
    unsafe {
        let Some(place) = place_of_list(environ) else { return };
        let mut without = [0_u8; LIST_MAX];
        if leave_out_missing(CStr::from_ptr(*environ.add(place)).to_bytes_with_nul(), &mut without) {
            let corrected = libc::strdup(without.as_ptr().cast());
            if !corrected.is_null() {
                environ.add(place).cast_mut().write(corrected);
            }
        }
    }
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

/// Calls `exec` with the environment, in which `variable` stands at `place`. A function of its own for the sake of the
/// stack of all others.
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

/// Copies `LD_PRELOAD=…` with its final 0 but for this library, if it is named there and is missing in the present
/// root; whether so.
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

//! Which function of MPI the program has called: for reports about ranks that wait, asked when somebody wants to know.
//!
//! No call says so on its way in, which would cost each of them; the stack knows.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};

/// How many callers are looked at.
const DEPTH_MAX: u32 = 200;

mod unwinder {
    use std::ffi::{c_int, c_void};

    pub(super) const GO_ON: c_int = 0;
    pub(super) const END: c_int = 5;

    pub(super) type Look = extern "C" fn(*mut c_void, *mut c_void) -> c_int;

    // The unwinder, which the library is linked with as it is Rust.
    unsafe extern "C" {
        pub(super) fn _Unwind_Backtrace(look: Look, argument: *mut c_void) -> c_int;
        pub(super) fn _Unwind_GetIP(context: *mut c_void) -> usize;
    }
}

#[derive(Default)]
struct Search {
    depth: u32,
    found: Option<String>,
}

/// The function of MPI, as C names it, in which the present thread is; the innermost of several.
pub(crate) fn present_function() -> Option<String> {
    let mut search = Search::default();
    // SAFETY: `look` takes a search, which nobody else uses meanwhile.
    unsafe { unwinder::_Unwind_Backtrace(look, (&raw mut search).cast()) };
    search.found
}

extern "C" fn look(context: *mut c_void, search: *mut c_void) -> c_int {
    // SAFETY: the search of `present_function`, which waits for the unwinder.
    let search = unsafe { &mut *search.cast::<Search>() };
    // SAFETY: the unwinder's own context.
    let address = unsafe { unwinder::_Unwind_GetIP(context) };
    search.depth += 1;
    // It is where the frame goes on: the call before it is the function's for sure.
    search.found = address.checked_sub(1).and_then(exported_at).as_deref().and_then(in_c).map(str::to_owned);
    if search.found.is_some() || search.depth == DEPTH_MAX { unwinder::END } else { unwinder::GO_ON }
}

/// The exported function to which the instruction at that address belongs.
fn exported_at(address: usize) -> Option<String> {
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: any address may be asked for; the answer has room.
    let is_known = unsafe { libc::dladdr(address as *const c_void, &raw mut found) } != 0;
    if !is_known || found.dli_sname.is_null() {
        return None;
    }
    // SAFETY: a name in the table of a library that is loaded as long as this call is in it.
    Some(unsafe { CStr::from_ptr(found.dli_sname) }.to_string_lossy().into_owned())
}

/// The name by which a program calls an exported function, if it is one of MPI.
fn in_c(exported: &str) -> Option<&str> {
    let name = exported.strip_prefix('P').unwrap_or(exported);
    name.starts_with("MPI_").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_functions_of_mpi_are_meant() {
        assert_eq!(
            ["MPI_Send", "PMPI_Send", "main", "P", "PMIx_Get"].map(in_c),
            [Some("MPI_Send"), Some("MPI_Send"), None, None, None]
        );
        assert_eq!(present_function(), None);
    }
}

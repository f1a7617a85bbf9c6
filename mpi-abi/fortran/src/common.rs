//! Constants that are addresses: variables in common blocks, which programs and libraries both have under the same
//! names. The dynamic linker makes one of each; who passes it means the constant.
//!
//! The names are those of the MPICH ABI, with and without gfortran's underscore. `mpif.h` says what lies in them.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};

use rwmpi_interface::Abi;

/// A common block of `N` bytes. Nobody reads or writes it.
#[repr(C, align(32))]
pub struct Block<const N: usize>(UnsafeCell<[u8; N]>);

// SAFETY: its address is all that is used.
unsafe impl<const N: usize> Sync for Block<N> {}

impl<const N: usize> Block<N> {
    /// An empty block.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Block(UnsafeCell::new([0; N]))
    }
}

/// Defines the blocks in a library whose MPI_STATUS_SIZE is that.
#[macro_export]
macro_rules! common_blocks {
    ($status:literal) => {
        $crate::common_blocks!(@ mpipriv1_ mpipriv1 (4 * (2 + $status)));
        $crate::common_blocks!(@ mpipriv2_ mpipriv2 (4 * ($status + 1)));
        $crate::common_blocks!(@ mpiprivc_ mpiprivc 2);
        $crate::common_blocks!(@ mpifcmb5_ mpifcmb5 4);
        $crate::common_blocks!(@ mpifcmb9_ mpifcmb9 4);
        $crate::common_blocks!(@ mpifcmba_ mpifcmba 4);
    };
    (@ $name:ident $plain:ident $size:tt) => {
        #[unsafe(no_mangle)]
        pub static $name: $crate::Block<{ $size }> = $crate::Block::new();
        #[unsafe(no_mangle)]
        pub static $plain: $crate::Block<{ $size }> = $crate::Block::new();
    };
}

unsafe extern "C" {
    static mpipriv1_: Block<0>;
    static mpipriv1: Block<0>;
    static mpipriv2_: Block<0>;
    static mpipriv2: Block<0>;
    static mpiprivc_: Block<0>;
    static mpiprivc: Block<0>;
    static mpifcmb5_: Block<0>;
    static mpifcmb5: Block<0>;
    static mpifcmb9_: Block<0>;
    static mpifcmb9: Block<0>;
    static mpifcmba_: Block<0>;
    static mpifcmba: Block<0>;
}

/// How far behind the start of the block, under either name, the address lies.
macro_rules! place_in {
    ($address:expr, $name:ident, $plain:ident) => {{
        let address = $address as usize;
        // The addresses of statics that every library of this kind defines.
        let blocks = [(&raw const $name) as usize, (&raw const $plain) as usize];
        blocks.map(|block| address.wrapping_sub(block)).into_iter().min().unwrap_or(usize::MAX)
    }};
}

/// A buffer, or a constant of the interface in its place.
#[inline]
pub fn choice<A: Abi>(address: *mut c_void) -> *mut c_void {
    match place_in!(address, mpipriv1_, mpipriv1) {
        0 => A::BOTTOM as *mut c_void,
        4 => A::IN_PLACE as *mut c_void,
        _ if place_in!(address, mpifcmba_, mpifcmba) == 0 => A::BUFFER_AUTOMATIC as *mut c_void,
        _ => address,
    }
}

/// A status or an array of them, or the constant that ignores them. A status of Fortran is laid out as one of C.
#[inline]
pub fn status<A: Abi>(address: *mut c_int) -> *mut A::Status {
    if place_in!(address, mpipriv1_, mpipriv1) == 8 {
        A::STATUS_IGNORE as *mut A::Status
    } else if place_in!(address, mpipriv2_, mpipriv2) == 0 {
        A::STATUSES_IGNORE as *mut A::Status
    } else {
        address.cast()
    }
}

/// Weights of edges, or MPI_UNWEIGHTED or MPI_WEIGHTS_EMPTY.
pub fn weights<A: Abi>(address: *mut c_int) -> *mut c_int {
    let [unweighted, empty] = A::WEIGHTS;
    if place_in!(address, mpifcmb5_, mpifcmb5) == 0 {
        unweighted as *mut c_int
    } else if place_in!(address, mpifcmb9_, mpifcmb9) == 0 {
        empty as *mut c_int
    } else {
        address
    }
}

/// An array for error codes, or MPI_ERRCODES_IGNORE.
pub fn error_codes<A: Abi>(address: *mut c_int) -> *mut c_int {
    let ignore = size_of::<A::Status>();
    if place_in!(address, mpipriv2_, mpipriv2) == ignore { A::ERRCODES_IGNORE as *mut c_int } else { address }
}

/// Whether it is MPI_ARGV_NULL or MPI_ARGVS_NULL.
pub(crate) fn is_no_arguments(address: *const std::ffi::c_char) -> bool {
    place_in!(address, mpiprivc_, mpiprivc) < 2
}

/// What the library defines, for the tests of this crate.
#[cfg(test)]
#[allow(non_upper_case_globals)]
mod blocks {
    crate::common_blocks!(8);
}

//! Inquiry, memory and timers (MPI-5.0 chapter 9), addresses (section 5.1.5), profiling control (section 15.2.4), and
//! what the interface says about itself (chapter 20).

use std::ptr::NonNull;

use rwmpi_core::{Error, ErrorClass, Result};

use crate::argument::{Memory, Out, TextOut, c_int, c_void};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Rank, rank};

/// MPI_Get_version (MPI-5.0 section 9.1.1).
pub fn get_version<A: Abi>(version: Out<c_int>, subversion: Out<c_int>) -> Outcome {
    version.set(5)?;
    subversion.set(0)
}

/// MPI_Get_library_version (MPI-5.0 section 9.1.1).
pub fn get_library_version<A: Abi>(text: TextOut, len: Out<c_int>) -> Outcome {
    let what = concat!("rwmpi ", env!("CARGO_PKG_VERSION"), ": MPI over remote memory");
    len.set(text.set(what, A::MAX_LIBRARY_VERSION_STRING as usize)? as c_int)
}

/// MPI_Get_processor_name (MPI-5.0 section 9.1.2): the node's name.
pub fn get_processor_name<A: Abi>(text: TextOut, len: Out<c_int>) -> Outcome {
    rank()?;
    let system = rustix::system::uname();
    len.set(text.set(&system.nodename().to_string_lossy(), A::MAX_PROCESSOR_NAME as usize)? as c_int)
}

/// MPI_Wtime (MPI-5.0 section 9.6).
pub fn wtime<A: Abi>() -> f64 {
    rwmpi_core::wtime()
}

/// MPI_Wtick (MPI-5.0 section 9.6): the clock counts nanoseconds.
pub fn wtick<A: Abi>() -> f64 {
    1e-9
}

/// MPI_Alloc_mem (MPI-5.0 section 9.2): memory that other ranks can copy to and from without the kernel.
pub fn alloc_mem<A: Abi>(size: i64, _info: A::Handle, base: Out<*mut c_void>) -> Outcome {
    let rank = rank()?;
    let bytes = usize::try_from(size);
    let bytes = bytes.map_err(|_| Error::new(ErrorClass::Argument, format!("the size {size} is negative")))?;
    base.set(rank.allocate(bytes)?.cast())
}

/// MPI_Free_mem (MPI-5.0 section 9.2).
pub fn free_mem<A: Abi>(base: Memory) -> Outcome {
    if rank()?.free(base.address()) {
        return Ok(());
    }
    let what = format!("{:p} is no memory from MPI_Alloc_mem, or was freed already", base.address());
    Err(Error::new(ErrorClass::Code(A::ERR_BASE), what))
}

/// MPI_Get_address (MPI-5.0 section 5.1.5).
pub fn get_address<A: Abi>(location: Memory, address: Out<i64>) -> Outcome {
    address.set(location.address() as i64)
}

/// MPI_Address (MPI-1.0; removed in MPI-3.0).
pub fn address<A: Abi>(location: Memory, address: Out<i64>) -> Outcome {
    address.set(location.address() as i64)
}

/// MPI_Aint_add (MPI-5.0 section 5.1.5).
pub fn aint_add<A: Abi>(base: i64, displacement: i64) -> i64 {
    base.wrapping_add(displacement)
}

/// MPI_Aint_diff (MPI-5.0 section 5.1.5).
pub fn aint_diff<A: Abi>(first: i64, second: i64) -> i64 {
    first.wrapping_sub(second)
}

/// MPI_Pcontrol (MPI-5.0 section 15.2.4): for profilers, which bring their own.
pub fn pcontrol<A: Abi>(_level: c_int) -> Outcome {
    Ok(())
}

/// MPI_Abi_get_version (MPI-5.0 section 20.1).
pub fn abi_get_version<A: Abi>(major: Out<c_int>, minor: Out<c_int>) -> Outcome {
    let [is_major, is_minor] = A::ABI_VERSION;
    major.set(is_major)?;
    minor.set(is_minor)
}

impl Rank {
    /// `bytes` bytes that other ranks can copy to and from directly, if there is room for them.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM if there is no memory at all.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<*mut u8> {
        if let Some(block) = self.universe.borrow().as_ref().and_then(|universe| universe.allocate(bytes)) {
            return Ok(block.as_ptr());
        }
        let mut block: Vec<u128> = Vec::new();
        let units = bytes.div_ceil(size_of::<u128>()).max(1);
        let no_memory = |_| Error::new(ErrorClass::NoMemory, format!("there is no memory for {bytes} bytes"));
        block.try_reserve_exact(units).map_err(no_memory)?;
        block.resize(units, 0);
        let mut block = block.into_boxed_slice();
        let start = block.as_mut_ptr();
        self.private_memory.borrow_mut().insert(start as usize, block);
        Ok(start.cast())
    }

    /// Takes memory back; whether it was from [`Rank::allocate`].
    pub(crate) fn free(&self, start: *mut u8) -> bool {
        let Some(block) = NonNull::new(start) else { return false };
        self.universe.borrow().as_ref().is_some_and(|universe| universe.free(block))
            || self.private_memory.borrow_mut().remove(&(start as usize)).is_some()
    }
}

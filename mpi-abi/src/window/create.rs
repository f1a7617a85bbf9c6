//! Making windows and freeing them (MPI-5.0 section 12.2).

use std::rc::Rc;

use rwmpi_core::window::Window;
use rwmpi_core::{Error, ErrorClass, Info, Result};

use crate::argument::{IntegerOut, Memory, Out, c_int, c_void};
use crate::entry::CommunicatorEntry;
use crate::error::Outcome;
use crate::info::hints;
use crate::interface::Abi;
use crate::point_to_point::destination;
use crate::rank::rank;

fn checked_size(size: i64) -> Result<u64> {
    u64::try_from(size).map_err(|_| Error::new(ErrorClass::Size, format!("the size {size} is negative")))
}

fn checked_unit(unit: i64) -> Result<i64> {
    if unit > 0 {
        return Ok(unit);
    }
    Err(Error::new(ErrorClass::Displacement, format!("the unit of displacements, {unit}, is not positive")))
}

/// Makes a window of the ranks of a communicator. What could not be given to the program is refused before they agree
/// on anything.
fn make<A: Abi>(
    communicator: A::Handle,
    info: A::Handle,
    made: Out<A::Handle>,
    make: impl FnOnce(Rc<CommunicatorEntry>, &Info) -> Result<Window>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.communicator::<A>(communicator)?;
    made.check_place("the new window")?;
    let window = make(entry.clone(), &hints::<A>(info)?)?;
    made.set(rank.add_window::<A>(window)?)
}

/// The same, of memory that the library allocates.
fn make_allocated<A: Abi>(
    communicator: A::Handle,
    info: A::Handle,
    base: Out<*mut c_void>,
    made: Out<A::Handle>,
    allocate: impl FnOnce(Rc<CommunicatorEntry>, &Info) -> Result<Window>,
) -> Outcome {
    base.check_place("the address")?;
    make::<A>(communicator, info, made, |entry, info| {
        let window = allocate(entry, info)?;
        base.set(window.base() as *mut c_void)?;
        Ok(window)
    })
}

/// MPI_Win_create (MPI-5.0 section 12.2.1).
pub fn win_create<A: Abi>(
    base: Memory,
    size: i64,
    unit: i64,
    info: A::Handle,
    communicator: A::Handle,
    made: Out<A::Handle>,
) -> Outcome {
    make::<A>(communicator, info, made, |entry, info| {
        let (size, unit) = (checked_size(size)?, checked_unit(unit)?);
        base.window(&entry.core, size, unit, info)
    })
}

/// MPI_Win_allocate (MPI-5.0 section 12.2.2).
pub fn win_allocate<A: Abi>(
    size: i64,
    unit: i64,
    info: A::Handle,
    communicator: A::Handle,
    base: Out<*mut c_void>,
    made: Out<A::Handle>,
) -> Outcome {
    make_allocated::<A>(communicator, info, base, made, |entry, info| {
        entry.core.allocate_window(checked_size(size)?, checked_unit(unit)?, info)
    })
}

/// MPI_Win_allocate_shared (MPI-5.0 section 12.2.3).
pub fn win_allocate_shared<A: Abi>(
    size: i64,
    unit: i64,
    info: A::Handle,
    communicator: A::Handle,
    base: Out<*mut c_void>,
    made: Out<A::Handle>,
) -> Outcome {
    make_allocated::<A>(communicator, info, base, made, |entry, info| {
        entry.core.allocate_shared_window(checked_size(size)?, checked_unit(unit)?, info)
    })
}

/// MPI_Win_shared_query (MPI-5.0 section 12.2.4).
pub fn win_shared_query<A: Abi>(
    window: A::Handle,
    target: c_int,
    size: Out<i64>,
    unit: IntegerOut,
    base: Out<*mut c_void>,
) -> Outcome {
    let entry = rank()?.window::<A>(window)?;
    let (start, bytes, of) = entry.core.shared_query(destination::<A>(target)?)?;
    size.set(i64::try_from(bytes).unwrap_or(i64::MAX))?;
    unit.set(of)?;
    base.set(start as *mut c_void)
}

/// MPI_Win_create_dynamic (MPI-5.0 section 12.2.5).
pub fn win_create_dynamic<A: Abi>(info: A::Handle, communicator: A::Handle, made: Out<A::Handle>) -> Outcome {
    make::<A>(communicator, info, made, |entry, info| entry.core.create_dynamic_window(info))
}

/// MPI_Win_attach (MPI-5.0 section 12.2.5).
pub fn win_attach<A: Abi>(window: A::Handle, base: Memory, size: i64) -> Outcome {
    let entry = rank()?.window::<A>(window)?;
    base.attach(&entry.core, checked_size(size)?)
}

/// MPI_Win_detach (MPI-5.0 section 12.2.5).
pub fn win_detach<A: Abi>(window: A::Handle, base: Memory) -> Outcome {
    rank()?.window::<A>(window)?.core.detach(base.address())
}

/// MPI_Win_free (MPI-5.0 section 12.2.6): attributes are deleted while the handle is still valid.
pub fn win_free<A: Abi>(handle: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let window = handle.get()?;
    let entry = rank.window::<A>(window)?;
    let outcome = entry.core.free();
    rank.blame_code(A::code(window));
    outcome?;
    rank.windows.remove(A::code(window));
    handle.set(A::handle(A::WIN_NULL))
}

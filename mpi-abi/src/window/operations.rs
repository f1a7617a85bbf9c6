//! Put, get and the accumulate family (MPI-5.0 section 12.3).

use std::rc::Rc;

use rwmpi_core::datatype::Datatype;
use rwmpi_core::reduction::{Operation, Predefined};
use rwmpi_core::untyped::{Elements, Runs};
use rwmpi_core::window::{PackedBasic, Remote, RemoteRun, Window};
use rwmpi_core::{Destination, Error, ErrorClass, Result};

use super::WindowEntry;
use crate::argument::{Memory, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::operation::predefined;
use crate::point_to_point::destination;
use crate::rank::{Rank, rank};

/// What a call says about its target, in C's terms.
#[derive(Clone, Copy)]
pub(super) struct RemoteArguments<A: Abi> {
    pub(super) rank: c_int,
    pub(super) displacement: i64,
    pub(super) count: i64,
    pub(super) datatype: A::Handle,
}

/// An operation on a window, with its target in the core's terms.
pub(super) struct Access {
    pub(super) rank: &'static Rank,
    entry: Rc<WindowEntry>,
    pub(super) target: Destination,
    displacement: i64,
    count: u64,
    datatype: Datatype,
}

impl Access {
    /// # Errors
    /// There is no such window, rank, datatype or count.
    #[inline]
    pub(super) fn new<A: Abi>(window: A::Handle, remote: RemoteArguments<A>) -> Result<Access> {
        let rank = rank()?;
        let entry = rank.window::<A>(window)?;
        let RemoteArguments { rank: target, displacement, count, datatype } = remote;
        let target = destination::<A>(target)?;
        let datatype = rank.committed_datatype::<A>(datatype)?;
        let negative = |_| Error::new(ErrorClass::Count, format!("the count at the target, {count}, is negative"));
        let count = u64::try_from(count).map_err(negative)?;
        Ok(Access { rank, entry, target, displacement, count, datatype })
    }

    pub(super) fn window(&self) -> &Window {
        &self.entry.core
    }

    pub(super) fn remote(&self) -> Remote<'_> {
        Remote { rank: self.target, displacement: self.displacement, count: self.count, datatype: &self.datatype }
    }

    /// Elements of the program's.
    pub(super) fn elements<A: Abi>(&self, memory: Memory, count: i64, datatype: A::Handle) -> Result<Elements> {
        self.rank.elements::<A>(memory, count, datatype)
    }

    /// Combines elements with those at the target.
    pub(super) fn accumulate<A: Abi>(&self, origin: (Memory, i64, A::Handle), operation: A::Handle) -> Outcome {
        let operation = self.rank.operation::<A>(operation)?;
        let origin = self.elements::<A>(origin.0, origin.1, origin.2)?;
        self.window().accumulate(&origin, self.remote(), &operation)
    }

    /// The same, with what was there before.
    pub(super) fn get_accumulate<A: Abi>(
        &self,
        origin: (Memory, i64, A::Handle),
        result: (Memory, i64, A::Handle),
        operation: A::Handle,
    ) -> Outcome {
        let operation = self.rank.operation::<A>(operation)?;
        // Nothing of the origin is looked at then.
        let origin = match operation {
            Operation::Predefined(Predefined::NoOperation) => None,
            _ => Some(self.elements::<A>(origin.0, origin.1, origin.2)?),
        };
        let result = self.elements::<A>(result.0, result.1, result.2)?;
        self.window().get_accumulate(origin.as_ref(), &result, self.remote(), &operation)
    }
}

/// Where bytes lie that an operation names at its target, if it names elements of a predefined datatype without gaps,
/// and what is to be known of that.
#[inline(always)]
fn run_of<A: Abi>(rank: &Rank, remote: RemoteArguments<A>) -> Option<(RemoteRun, PackedBasic)> {
    let packed = rank.packed.get::<A>(remote.datatype)?;
    let bytes = packed.bytes(remote.count)?;
    // What is negative is no rank, as a large number is none.
    let target = remote.rank.cast_unsigned() as usize;
    Some((RemoteRun { rank: target, displacement: remote.displacement, bytes }, packed))
}

/// Copies to or from memory here, if the arguments are in no way out of the ordinary: as a rule as many elements of the
/// same datatype are there.
#[inline(always)]
fn short_copy<A: Abi>(
    rank: &Rank,
    window: A::Handle,
    remote: RemoteArguments<A>,
    (memory, count, datatype): (Memory, i64, A::Handle),
    copy: impl FnOnce(&Window, Runs, RemoteRun) -> Option<()>,
) -> Option<()> {
    let (there, _) = run_of(rank, remote)?;
    let is_alike = count == remote.count && A::code(datatype) == A::code(remote.datatype);
    let bytes = if is_alike { there.bytes } else { rank.packed.get::<A>(datatype)?.bytes(count)? };
    let here = memory.bytes_unless_special::<A>(bytes)?;
    rank.windows.look_at(A::code(window), |entry| copy(&entry.core, here, there))?
}

/// Changes an element by an operation of the accumulate family, whose elements here are of the same datatype.
#[inline(always)]
fn short_change<A: Abi>(
    rank: &Rank,
    window: A::Handle,
    remote: RemoteArguments<A>,
    operation: A::Handle,
    origin: Memory,
    result: Option<Memory>,
) -> Option<()> {
    let operation = predefined::<A>(A::code(operation))?;
    let (there, packed) = run_of(rank, remote)?;
    let result = match result {
        Some(result) => Some(result.bytes_unless_special::<A>(there.bytes)?),
        None => None,
    };
    let origin = match (operation, result) {
        // Nothing of the origin is looked at then.
        (Predefined::NoOperation, Some(result)) => result,
        _ => origin.bytes_unless_special::<A>(there.bytes)?,
    };
    rank.windows
        .look_at(A::code(window), |entry| entry.core.change_element(operation, packed, origin, result, there))?
}

/// MPI_Put (MPI-5.0 section 12.3.1).
#[inline(always)]
pub fn put<A: Abi>(
    origin: Memory,
    origin_count: i64,
    origin_type: A::Handle,
    rank: c_int,
    displacement: i64,
    count: i64,
    datatype: A::Handle,
    window: A::Handle,
) -> Outcome {
    let remote = RemoteArguments { rank, displacement, count, datatype };
    let here = (origin, origin_count, origin_type);
    match short_copy::<A>(crate::rank::rank()?, window, remote, here, Window::put_run) {
        Some(()) => Ok(()),
        None => any_put(window, remote, here),
    }
}

#[inline(never)]
fn any_put<A: Abi>(window: A::Handle, remote: RemoteArguments<A>, here: (Memory, i64, A::Handle)) -> Outcome {
    let access = Access::new::<A>(window, remote)?;
    access.window().put(&access.elements::<A>(here.0, here.1, here.2)?, access.remote())
}

/// MPI_Get (MPI-5.0 section 12.3.2).
#[inline(always)]
pub fn get<A: Abi>(
    origin: Memory,
    origin_count: i64,
    origin_type: A::Handle,
    rank: c_int,
    displacement: i64,
    count: i64,
    datatype: A::Handle,
    window: A::Handle,
) -> Outcome {
    let remote = RemoteArguments { rank, displacement, count, datatype };
    let here = (origin, origin_count, origin_type);
    match short_copy::<A>(crate::rank::rank()?, window, remote, here, Window::get_run) {
        Some(()) => Ok(()),
        None => any_get(window, remote, here),
    }
}

#[inline(never)]
fn any_get<A: Abi>(window: A::Handle, remote: RemoteArguments<A>, here: (Memory, i64, A::Handle)) -> Outcome {
    let access = Access::new::<A>(window, remote)?;
    access.window().get(&access.elements::<A>(here.0, here.1, here.2)?, access.remote())
}

/// MPI_Accumulate (MPI-5.0 section 12.3.4).
#[inline(always)]
pub fn accumulate<A: Abi>(
    origin: Memory,
    origin_count: i64,
    origin_type: A::Handle,
    rank: c_int,
    displacement: i64,
    count: i64,
    datatype: A::Handle,
    operation: A::Handle,
    window: A::Handle,
) -> Outcome {
    let remote = RemoteArguments { rank, displacement, count, datatype };
    let is_alike = origin_count == count && A::code(origin_type) == A::code(datatype);
    if is_alike && short_change::<A>(crate::rank::rank()?, window, remote, operation, origin, None).is_some() {
        return Ok(());
    }
    any_accumulate(window, remote, (origin, origin_count, origin_type), operation)
}

#[inline(never)]
fn any_accumulate<A: Abi>(
    window: A::Handle,
    remote: RemoteArguments<A>,
    here: (Memory, i64, A::Handle),
    operation: A::Handle,
) -> Outcome {
    Access::new::<A>(window, remote)?.accumulate::<A>(here, operation)
}

/// MPI_Get_accumulate (MPI-5.0 section 12.3.4).
pub fn get_accumulate<A: Abi>(
    origin: Memory,
    origin_count: i64,
    origin_type: A::Handle,
    result: Memory,
    result_count: i64,
    result_type: A::Handle,
    rank: c_int,
    displacement: i64,
    count: i64,
    datatype: A::Handle,
    operation: A::Handle,
    window: A::Handle,
) -> Outcome {
    let access = Access::new::<A>(window, RemoteArguments { rank, displacement, count, datatype })?;
    let (origin, result) = ((origin, origin_count, origin_type), (result, result_count, result_type));
    access.get_accumulate::<A>(origin, result, operation)
}

/// MPI_Fetch_and_op (MPI-5.0 section 12.3.4).
#[inline(always)]
pub fn fetch_and_op<A: Abi>(
    origin: Memory,
    result: Memory,
    datatype: A::Handle,
    rank: c_int,
    displacement: i64,
    operation: A::Handle,
    window: A::Handle,
) -> Outcome {
    let remote = RemoteArguments { rank, displacement, count: 1, datatype };
    match short_change::<A>(crate::rank::rank()?, window, remote, operation, origin, Some(result)) {
        Some(()) => Ok(()),
        None => any_fetch_and_op(window, remote, origin, result, operation),
    }
}

#[inline(never)]
fn any_fetch_and_op<A: Abi>(
    window: A::Handle,
    remote: RemoteArguments<A>,
    origin: Memory,
    result: Memory,
    operation: A::Handle,
) -> Outcome {
    let access = Access::new::<A>(window, remote)?;
    if !access.remote().datatype.is_predefined() {
        return Err(Error::new(ErrorClass::Datatype, "MPI_Fetch_and_op is for predefined datatypes"));
    }
    access.get_accumulate::<A>((origin, 1, remote.datatype), (result, 1, remote.datatype), operation)
}

/// MPI_Compare_and_swap (MPI-5.0 section 12.3.4).
#[inline(always)]
pub fn compare_and_swap<A: Abi>(
    origin: Memory,
    compared: Memory,
    result: Memory,
    datatype: A::Handle,
    rank: c_int,
    displacement: i64,
    window: A::Handle,
) -> Outcome {
    let remote = RemoteArguments { rank, displacement, count: 1, datatype };
    let here = [origin, compared, result];
    match short_swap::<A>(crate::rank::rank()?, window, remote, here) {
        Some(()) => Ok(()),
        None => any_swap(window, remote, here),
    }
}

/// Compares and swaps, if the arguments are in no way out of the ordinary.
#[inline(always)]
fn short_swap<A: Abi>(
    rank: &Rank,
    window: A::Handle,
    remote: RemoteArguments<A>,
    [origin, compared, result]: [Memory; 3],
) -> Option<()> {
    let (there, packed) = run_of(rank, remote)?;
    let here = |memory: Memory| memory.bytes_unless_special::<A>(there.bytes);
    let three = [here(origin)?, here(compared)?, here(result)?];
    rank.windows.look_at(A::code(window), |entry| entry.core.compare_and_swap_element(packed, three, there))?
}

#[inline(never)]
fn any_swap<A: Abi>(window: A::Handle, remote: RemoteArguments<A>, here: [Memory; 3]) -> Outcome {
    let access = Access::new::<A>(window, remote)?;
    let [origin, compared, result] = here.map(|memory| access.elements::<A>(memory, 1, remote.datatype));
    access.window().compare_and_swap(&origin?, &compared?, &result?, access.remote())
}

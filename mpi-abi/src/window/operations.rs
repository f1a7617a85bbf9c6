//! Put, get and the accumulate family (MPI-5.0 section 12.3).

use std::rc::Rc;

use rwmpi_core::datatype::Datatype;
use rwmpi_core::reduction::{Operation, Predefined};
use rwmpi_core::untyped::{Elements, Runs};
use rwmpi_core::window::{Remote, RemotePlace, Window};
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

/// Where bytes begin that an operation names at its target. What is negative is no rank, as a large number is none.
#[inline(always)]
fn place(rank: c_int, displacement: i64) -> RemotePlace {
    RemotePlace { rank: rank.cast_unsigned() as usize, displacement }
}

/// The bytes here that a put or get names, if its arguments are in no way out of the ordinary and as many bytes are
/// named there: as a rule as many elements of the same datatype.
#[inline(always)]
fn run_of_copy<A: Abi>(
    rank: &Rank,
    memory: Memory,
    (here, there): ((i64, A::Handle), (i64, A::Handle)),
) -> Option<Runs> {
    let bytes = |(count, datatype)| rank.packed.get::<A>(datatype)?.bytes(count);
    let len = bytes(here)?;
    if here != there && bytes(there)? != len {
        return None;
    }
    memory.bytes_unless_special::<A>(len)
}

/// Changes an element by an operation of the accumulate family, whose elements here are of the same datatype.
#[inline(always)]
fn short_change<A: Abi>(
    rank: &Rank,
    window: A::Handle,
    datatype: A::Handle,
    remote: RemotePlace,
    operation: A::Handle,
    origin: Memory,
    result: Option<Memory>,
) -> Option<()> {
    let operation = predefined::<A>(A::code(operation))?;
    let packed = rank.packed.get::<A>(datatype)?;
    let (change, bytes) = (packed.change(operation)?, packed.bytes_of_one());
    let result = match result {
        Some(result) => Some(result.bytes_unless_special::<A>(bytes)?),
        None => None,
    };
    let origin = match (operation, result) {
        // Nothing of the origin is looked at then.
        (Predefined::NoOperation, Some(result)) => result,
        _ => origin.bytes_unless_special::<A>(bytes)?,
    };
    rank.look_at_window::<A>(window)?.core.change_element(change, origin, result, remote)
}

/// MPI_Put (MPI-5.0 section 12.3.1).
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
    let access = Access::new::<A>(window, RemoteArguments { rank, displacement, count, datatype })?;
    access.window().put_in_place(&access.elements::<A>(origin, origin_count, origin_type)?, access.remote())
}

/// [`put`], if its arguments are in no way out of the ordinary; `None`: nothing has been done.
#[inline(always)]
pub fn short_put<A: Abi>(
    own: &Rank,
    origin: Memory,
    origin_count: i64,
    origin_type: A::Handle,
    rank: c_int,
    displacement: i64,
    count: i64,
    datatype: A::Handle,
    window: A::Handle,
) -> Option<()> {
    let here = run_of_copy::<A>(own, origin, ((origin_count, origin_type), (count, datatype)))?;
    own.look_at_window::<A>(window)?.core.put_run(here, place(rank, displacement))
}

/// MPI_Get (MPI-5.0 section 12.3.2).
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
    let access = Access::new::<A>(window, RemoteArguments { rank, displacement, count, datatype })?;
    access.window().get(&access.elements::<A>(origin, origin_count, origin_type)?, access.remote())
}

/// [`get`], if its arguments are in no way out of the ordinary; `None`: nothing has been done.
#[inline(always)]
pub fn short_get<A: Abi>(
    own: &Rank,
    origin: Memory,
    origin_count: i64,
    origin_type: A::Handle,
    rank: c_int,
    displacement: i64,
    count: i64,
    datatype: A::Handle,
    window: A::Handle,
) -> Option<()> {
    let here = run_of_copy::<A>(own, origin, ((origin_count, origin_type), (count, datatype)))?;
    own.look_at_window::<A>(window)?.core.get_run(here, place(rank, displacement))
}

/// MPI_Accumulate (MPI-5.0 section 12.3.4).
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
    let access = Access::new::<A>(window, RemoteArguments { rank, displacement, count, datatype })?;
    access.accumulate::<A>((origin, origin_count, origin_type), operation)
}

/// [`accumulate`] of one element, if its arguments are in no way out of the ordinary; `None`: nothing has been done.
#[inline(always)]
pub fn short_accumulate<A: Abi>(
    own: &Rank,
    origin: Memory,
    origin_count: i64,
    origin_type: A::Handle,
    rank: c_int,
    displacement: i64,
    count: i64,
    datatype: A::Handle,
    operation: A::Handle,
    window: A::Handle,
) -> Option<()> {
    if count != 1 || origin_count != 1 || origin_type != datatype {
        return None;
    }
    short_change::<A>(own, window, datatype, place(rank, displacement), operation, origin, None)
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
pub fn fetch_and_op<A: Abi>(
    origin: Memory,
    result: Memory,
    datatype: A::Handle,
    rank: c_int,
    displacement: i64,
    operation: A::Handle,
    window: A::Handle,
) -> Outcome {
    let access = Access::new::<A>(window, RemoteArguments { rank, displacement, count: 1, datatype })?;
    if !access.remote().datatype.is_predefined() {
        return Err(Error::new(ErrorClass::Datatype, "MPI_Fetch_and_op is for predefined datatypes"));
    }
    access.get_accumulate::<A>((origin, 1, datatype), (result, 1, datatype), operation)
}

/// [`fetch_and_op`], if its arguments are in no way out of the ordinary; `None`: nothing has been done.
#[inline(always)]
pub fn short_fetch_and_op<A: Abi>(
    own: &Rank,
    origin: Memory,
    result: Memory,
    datatype: A::Handle,
    rank: c_int,
    displacement: i64,
    operation: A::Handle,
    window: A::Handle,
) -> Option<()> {
    short_change::<A>(own, window, datatype, place(rank, displacement), operation, origin, Some(result))
}

/// MPI_Compare_and_swap (MPI-5.0 section 12.3.4).
pub fn compare_and_swap<A: Abi>(
    origin: Memory,
    compared: Memory,
    result: Memory,
    datatype: A::Handle,
    rank: c_int,
    displacement: i64,
    window: A::Handle,
) -> Outcome {
    let access = Access::new::<A>(window, RemoteArguments { rank, displacement, count: 1, datatype })?;
    let [origin, compared, result] = [origin, compared, result].map(|memory| access.elements::<A>(memory, 1, datatype));
    access.window().compare_and_swap(&origin?, &compared?, &result?, access.remote())
}

/// [`compare_and_swap`], if its arguments are in no way out of the ordinary; `None`: nothing has been done.
#[inline(always)]
pub fn short_compare_and_swap<A: Abi>(
    own: &Rank,
    origin: Memory,
    compared: Memory,
    result: Memory,
    datatype: A::Handle,
    rank: c_int,
    displacement: i64,
    window: A::Handle,
) -> Option<()> {
    let packed = own.packed.get::<A>(datatype).filter(|packed| packed.can_be_compared())?;
    let here = |memory: Memory| memory.bytes_unless_special::<A>(packed.bytes_of_one());
    let three = [here(origin)?, here(compared)?, here(result)?];
    own.look_at_window::<A>(window)?.core.compare_and_swap_element(three, place(rank, displacement))
}

//! Statuses: what they say, and changing them (MPI-5.0 sections 3.2.5 and 13.3).

use rwmpi_core::untyped::Status;
use rwmpi_core::{Error, ErrorClass, Result, Source, TagSelector};

use crate::argument::{IntegerOut, Out, StatusIn, StatusOut, c_int};
use crate::error::Outcome;
use crate::interface::{Abi, StatusValue};
use crate::rank::rank;

/// A status in the interface's numbers.
#[inline]
pub(crate) fn value_of<A: Abi>(status: &Status) -> StatusValue {
    let source = match status.source {
        Source::Rank(rank) => rank as c_int,
        Source::Any => A::ANY_SOURCE,
        Source::Null => A::PROC_NULL,
    };
    let tag = match status.tag {
        TagSelector::Tag(tag) => tag,
        TagSelector::Any => A::ANY_TAG,
    };
    StatusValue { source, tag, error: A::SUCCESS, bytes: status.bytes, cancelled: status.cancelled }
}

/// The status that the interface's numbers say.
pub(crate) fn status_of<A: Abi>(value: &StatusValue) -> Status {
    let source = match value.source {
        source if source == A::PROC_NULL => Source::Null,
        source => usize::try_from(source).map_or(Source::Any, Source::Rank),
    };
    let tag = if value.tag < 0 { TagSelector::Any } else { TagSelector::Tag(value.tag) };
    Status { source, tag, bytes: value.bytes, cancelled: value.cancelled }
}

/// MPI_Get_count (MPI-5.0 section 3.2.5).
pub fn get_count<A: Abi>(status: StatusIn<A>, datatype: A::Handle, count: IntegerOut) -> Outcome {
    let datatype = rank()?.datatype::<A>(datatype)?;
    let bytes = status.get()?.bytes;
    let elements = if datatype.size() == 0 { Some(0) } else { datatype.whole_elements(bytes) };
    let elements = elements.and_then(|elements| i64::try_from(elements).ok());
    count.set_or(elements.unwrap_or(A::UNDEFINED.into()), A::UNDEFINED)
}

/// MPI_Test_cancelled (MPI-5.0 section 3.8.4).
pub fn test_cancelled<A: Abi>(status: StatusIn<A>, flag: Out<c_int>) -> Outcome {
    flag.set(status.get()?.cancelled.into())
}

/// MPI_Status_get_source (MPI-5.0 section 3.2.5).
pub fn status_get_source<A: Abi>(status: StatusIn<A>, source: Out<c_int>) -> Outcome {
    source.set(status.get()?.source)
}

/// MPI_Status_get_tag (MPI-5.0 section 3.2.5).
pub fn status_get_tag<A: Abi>(status: StatusIn<A>, tag: Out<c_int>) -> Outcome {
    tag.set(status.get()?.tag)
}

/// MPI_Status_get_error (MPI-5.0 section 3.2.5).
pub fn status_get_error<A: Abi>(status: StatusIn<A>, error: Out<c_int>) -> Outcome {
    error.set(status.get()?.error)
}

/// Says what a receive has got, also if it failed.
#[inline(always)]
pub(crate) fn give<A: Abi>(outcome: Result<Status>, status: StatusOut<A>) -> Outcome {
    let received = outcome.inspect_err(|error| give_failed(error, status))?;
    status.set(&value_of::<A>(&received));
    Ok(())
}

/// The same of one that failed: only the program that knows who sent the message can do anything about it.
#[cold]
pub(crate) fn give_failed<A: Abi>(error: &Error, status: StatusOut<A>) {
    if let Some(received) = Status::of_failed(error) {
        status.set(&value_of::<A>(&received));
    }
}

fn change<A: Abi>(status: StatusOut<A>, change: impl FnOnce(&mut StatusValue)) -> Outcome {
    let mut value = status.get()?;
    change(&mut value);
    status.set(&value);
    Ok(())
}

/// MPI_Status_set_source (MPI-5.0 section 13.3).
pub fn status_set_source<A: Abi>(status: StatusOut<A>, source: c_int) -> Outcome {
    change(status, |value| value.source = source)
}

/// MPI_Status_set_tag (MPI-5.0 section 13.3).
pub fn status_set_tag<A: Abi>(status: StatusOut<A>, tag: c_int) -> Outcome {
    change(status, |value| value.tag = tag)
}

/// MPI_Status_set_error (MPI-5.0 section 13.3).
pub fn status_set_error<A: Abi>(status: StatusOut<A>, error: c_int) -> Outcome {
    status.set_error(error)
}

/// MPI_Status_set_cancelled (MPI-5.0 section 13.3).
pub fn status_set_cancelled<A: Abi>(status: StatusOut<A>, flag: c_int) -> Outcome {
    change(status, |value| value.cancelled = flag != 0)
}

/// MPI_Status_set_elements (MPI-5.0 section 13.3).
pub fn status_set_elements<A: Abi>(status: StatusOut<A>, datatype: A::Handle, count: i64) -> Outcome {
    let datatype = rank()?.datatype::<A>(datatype)?;
    let bytes = u64::try_from(count).ok().and_then(|count| datatype.bytes_of_elements(count));
    let bytes = bytes.ok_or_else(|| {
        Error::new(ErrorClass::Count, format!("a message can't have {count} elements of the datatype"))
    })?;
    change(status, |value| value.bytes = bytes)
}

/// MPI_Status_set_elements_x (MPI-3.0; deprecated in MPI-4.1).
pub fn status_set_elements_x<A: Abi>(status: StatusOut<A>, datatype: A::Handle, count: i64) -> Outcome {
    status_set_elements::<A>(status, datatype, count)
}

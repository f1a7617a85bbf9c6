//! Failures that a job survives: revoking, acknowledging, agreeing, shrinking.

use std::rc::Rc;

use rwmpi_core::{Error, ErrorClass};

use crate::argument::{Out, c_int};
use crate::entry::CommunicatorEntry;
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::rank;

/// MPIX_Comm_revoke.
pub fn mpix_comm_revoke<A: Abi>(communicator: A::Handle) -> Outcome {
    let rank = rank()?;
    rank.any_communicator::<A>(communicator)?.core.revoke()?;
    rank.hide::<A>(A::code(communicator));
    Ok(())
}

/// MPI_Comm_revoke: its name in the standard that comes after MPI-5.0.
pub fn comm_revoke<A: Abi>(communicator: A::Handle) -> Outcome {
    mpix_comm_revoke::<A>(communicator)
}

/// MPIX_Comm_is_revoked.
pub fn mpix_comm_is_revoked<A: Abi>(communicator: A::Handle, flag: Out<c_int>) -> Outcome {
    let rank = rank()?;
    let is_revoked = rank.any_communicator::<A>(communicator)?.core.is_revoked();
    if is_revoked {
        rank.hide::<A>(A::code(communicator));
    }
    flag.set(is_revoked.into())
}

/// MPIX_Comm_shrink.
pub fn mpix_comm_shrink<A: Abi>(communicator: A::Handle, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let entry = rank.any_communicator::<A>(communicator)?;
    made.check_place("the new communicator")?;
    made.set(rank.add_communicator::<A>(entry.core.shrink()?, &entry)?)
}

/// MPIX_Comm_ishrink. The handle is there at once, and means the new communicator when the request has completed.
pub fn mpix_comm_ishrink<A: Abi>(communicator: A::Handle, made: Out<A::Handle>, request: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let entry = rank.any_communicator::<A>(communicator)?;
    made.check_place("the new communicator")?;
    request.check_place("the request")?;
    let place = rank.add_communicator::<A>(entry.core.clone(), &entry)?;
    // Errors of the one that is shrunk stay its own.
    entry.core.set_mark(A::code(communicator) as usize);
    let (code, parent) = (A::code(place), entry.clone());
    let lane = rank.lane(entry.core.lane());
    let started = entry.core.start_shrink(move |shrunk| {
        shrunk.set_mark(code as usize);
        let error_handler = parent.error_handler.clone();
        lane.communicators.replace(code, Rc::new(CommunicatorEntry { core: shrunk, error_handler }));
    });
    let started = started.inspect_err(|_| _ = lane.communicators.remove(code))?;
    made.set(place)?;
    rank.give::<A>(started, request)
}

/// MPIX_Comm_agree. The flag is agreed on although there is a new failure.
pub fn mpix_comm_agree<A: Abi>(communicator: A::Handle, flag: Out<c_int>) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    let agreed = entry.core.agree(flag.get()? as u32)?;
    flag.set(agreed.flags as c_int)?;
    if agreed.has_new_failure { Err(new_failure()) } else { Ok(()) }
}

/// MPIX_Comm_iagree.
pub fn mpix_comm_iagree<A: Abi>(communicator: A::Handle, flag: Out<c_int>, request: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let entry = rank.any_communicator::<A>(communicator)?;
    request.check_place("the request")?;
    let started = entry.core.start_agree(flag.get()? as u32, move |agreed| _ = flag.set(agreed.flags as c_int))?;
    rank.give::<A>(started, request)
}

/// MPIX_Comm_failure_ack.
pub fn mpix_comm_failure_ack<A: Abi>(communicator: A::Handle) -> Outcome {
    rank()?.any_communicator::<A>(communicator)?.core.acknowledge_failures(usize::MAX);
    Ok(())
}

/// MPIX_Comm_failure_get_acked.
pub fn mpix_comm_failure_get_acked<A: Abi>(communicator: A::Handle, group: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let acknowledged = rank.any_communicator::<A>(communicator)?.core.acknowledged_failures();
    group.set(rank.add_group::<A>(acknowledged)?)
}

/// MPIX_Comm_get_failed.
pub fn mpix_comm_get_failed<A: Abi>(communicator: A::Handle, group: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let failed = rank.any_communicator::<A>(communicator)?.core.failed_ranks();
    group.set(rank.add_group::<A>(failed)?)
}

/// MPI_Comm_get_failed: its name in the standard that comes after MPI-5.0.
pub fn comm_get_failed<A: Abi>(communicator: A::Handle, group: Out<A::Handle>) -> Outcome {
    mpix_comm_get_failed::<A>(communicator, group)
}

/// MPIX_Comm_ack_failed.
pub fn mpix_comm_ack_failed<A: Abi>(communicator: A::Handle, number: c_int, acknowledged: Out<c_int>) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    let number = usize::try_from(number)
        .map_err(|_| Error::new(ErrorClass::Argument, format!("{number} failures can't be acknowledged")))?;
    acknowledged.set(entry.core.acknowledge_failures(number) as c_int)
}

/// MPI_Comm_ack_failed: its name in the standard that comes after MPI-5.0.
pub fn comm_ack_failed<A: Abi>(communicator: A::Handle, number: c_int, acknowledged: Out<c_int>) -> Outcome {
    mpix_comm_ack_failed::<A>(communicator, number, acknowledged)
}

#[cold]
fn new_failure() -> Error {
    let what = "a rank has died, which not all that have agreed had acknowledged; the flag is agreed on all the same";
    Error::new(ErrorClass::ProcessDied, what)
}

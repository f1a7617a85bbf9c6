//! Communicators (MPI-5.0 chapter 7).

use std::rc::Rc;

use rwmpi_core::{Communicator, Error, ErrorClass, Info, Result, SplitType};

use crate::argument::{Out, Text, TextOut, c_int};
use crate::call::with_handler;
use crate::entry::CommunicatorEntry;
use crate::error::{ErrorHandler, Outcome};
use crate::error_handling::error_handler;
use crate::group::comparison;
use crate::info::{add_info, hints, leave};
use crate::interface::Abi;
use crate::number::rank_number;
use crate::rank::{Rank, rank};

#[cold]
fn not_inter() -> Error {
    Error::new(ErrorClass::Communicator, "the communicator is no intercommunicator")
}

impl Rank {
    /// The communicator of which another one is made, if there is a place for the handle of that: what could not be
    /// given to the program is refused before ranks agree on anything.
    pub(crate) fn parent<A: Abi>(&self, handle: A::Handle, made: Out<A::Handle>) -> Result<Rc<CommunicatorEntry>> {
        let entry = self.communicator::<A>(handle)?;
        made.check_place("the new communicator")?;
        Ok(entry)
    }

    /// A handle for what a creation made, if it made one.
    pub(crate) fn add_made<A: Abi>(&self, made: Option<Communicator>, parent: &CommunicatorEntry) -> Result<A::Handle> {
        made.map_or(Ok(A::handle(A::COMM_NULL)), |made| self.add_communicator::<A>(made, parent))
    }
}

/// MPI_Comm_size (MPI-5.0 section 7.4.1).
pub fn comm_size<A: Abi>(communicator: A::Handle, size: Out<c_int>) -> Outcome {
    size.set(rank()?.any_communicator::<A>(communicator)?.core.size() as c_int)
}

/// MPI_Comm_rank (MPI-5.0 section 7.4.1).
pub fn comm_rank<A: Abi>(communicator: A::Handle, number: Out<c_int>) -> Outcome {
    number.set(rank()?.any_communicator::<A>(communicator)?.core.rank() as c_int)
}

/// MPI_Comm_compare (MPI-5.0 section 7.4.1).
pub fn comm_compare<A: Abi>(communicator: A::Handle, other: A::Handle, result: Out<c_int>) -> Outcome {
    let rank = rank()?;
    let (one, other) = (rank.any_communicator::<A>(communicator)?, rank.any_communicator::<A>(other)?);
    result.set(comparison::<A>(one.core.compare(&other.core)))
}

/// MPI_Comm_dup (MPI-5.0 section 7.4.2).
pub fn comm_dup<A: Abi>(communicator: A::Handle, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(communicator, made)?;
    made.set(rank.add_communicator::<A>(entry.core.dup()?, &entry)?)
}

/// MPI_Comm_dup_with_info (MPI-5.0 section 7.4.2).
pub fn comm_dup_with_info<A: Abi>(communicator: A::Handle, info: A::Handle, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(communicator, made)?;
    let duplicate = entry.core.dup_with_info(&hints::<A>(info)?)?;
    made.set(rank.add_communicator::<A>(duplicate, &entry)?)
}

/// Starts a duplication.
fn start_duplicate<A: Abi>(
    communicator: A::Handle,
    info: &Info,
    made: Out<A::Handle>,
    request: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(communicator, made)?;
    request.check_place("the request")?;
    let (duplicate, started) = entry.core.start_duplicate(info)?;
    made.set(rank.add_communicator::<A>(duplicate, &entry)?)?;
    rank.give::<A>(started, request)
}

/// MPI_Comm_idup (MPI-5.0 section 7.4.2).
pub fn comm_idup<A: Abi>(communicator: A::Handle, made: Out<A::Handle>, request: Out<A::Handle>) -> Outcome {
    start_duplicate::<A>(communicator, &Info::new(), made, request)
}

/// MPI_Comm_idup_with_info (MPI-5.0 section 7.4.2).
pub fn comm_idup_with_info<A: Abi>(
    communicator: A::Handle,
    info: A::Handle,
    made: Out<A::Handle>,
    request: Out<A::Handle>,
) -> Outcome {
    let info = hints::<A>(info)?;
    start_duplicate::<A>(communicator, &info, made, request)
}

/// MPI_Comm_create (MPI-5.0 section 7.4.2).
pub fn comm_create<A: Abi>(communicator: A::Handle, group: A::Handle, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(communicator, made)?;
    let part = entry.core.create(&rank.group::<A>(group)?)?;
    made.set(rank.add_made::<A>(part, &entry)?)
}

/// MPI_Comm_create_group (MPI-5.0 section 7.4.2).
pub fn comm_create_group<A: Abi>(
    communicator: A::Handle,
    group: A::Handle,
    tag: c_int,
    made: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(communicator, made)?;
    let part = entry.core.create_group(&rank.group::<A>(group)?, tag)?;
    made.set(rank.add_made::<A>(part, &entry)?)
}

/// MPI_Comm_create_from_group (MPI-5.0 section 11.3.4).
pub fn comm_create_from_group<A: Abi>(
    group: A::Handle,
    text: Text,
    info: A::Handle,
    handler: A::Handle,
    made: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let world = rank.communicator::<A>(A::handle(A::COMM_WORLD))?;
    let handler = error_handler::<A>(handler)?;
    with_handler(handler.clone(), A::COMM_NULL, || {
        let (group, info) = (rank.group::<A>(group)?, hints::<A>(info)?);
        made.check_place("the new communicator")?;
        if group.size() == 0 {
            return made.set(A::handle(A::COMM_NULL));
        }
        let communicator = world.core.create_from_group(&group, &text.get()?)?;
        communicator.set_info(&info);
        made.set(rank.add_with_handler::<A>(communicator, handler)?)
    })
}

/// MPI_Comm_split (MPI-5.0 section 7.4.2).
pub fn comm_split<A: Abi>(communicator: A::Handle, colour: c_int, key: c_int, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(communicator, made)?;
    let colour = match u32::try_from(colour) {
        Ok(colour) => Some(colour),
        Err(_) if colour == A::UNDEFINED => None,
        Err(_) => {
            let what = format!("colour {colour} is negative, and not MPI_UNDEFINED");
            return Err(Error::new(ErrorClass::Argument, what));
        }
    };
    made.set(rank.add_made::<A>(entry.core.split(colour, key)?, &entry)?)
}

/// MPI_Comm_split_type (MPI-5.0 section 7.4.2).
pub fn comm_split_type<A: Abi>(
    communicator: A::Handle,
    by: c_int,
    key: c_int,
    info: A::Handle,
    made: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(communicator, made)?;
    let by = match by {
        _ if by == A::UNDEFINED => None,
        _ if by == A::COMM_TYPE_SHARED => Some(SplitType::Shared),
        _ if by == A::COMM_TYPE_HW_GUIDED || by == A::COMM_TYPE_RESOURCE_GUIDED => Some(SplitType::Guided),
        _ if by == A::COMM_TYPE_HW_UNGUIDED => Some(SplitType::Unguided),
        _ => return Err(Error::new(ErrorClass::Argument, format!("{by} is no type to split by"))),
    };
    let part = entry.core.split_type(by, key, &hints::<A>(info)?)?;
    if by == Some(SplitType::Unguided) && part.is_some() {
        // What its ranks have in common.
        leave::<A>(info, "mpi_hw_resource_type", "mpi_shared_memory")?;
    }
    made.set(rank.add_made::<A>(part, &entry)?)
}

/// Deletes attributes, while the handle is still valid, and then the handle.
fn release<A: Abi>(handle: Out<A::Handle>, finish: impl FnOnce(Communicator) -> Result<()>) -> Outcome {
    let rank = rank()?;
    let communicator = handle.get()?;
    let entry = rank.any_communicator::<A>(communicator)?;
    let code = A::code(communicator);
    if code == A::COMM_WORLD || code == A::COMM_SELF {
        return Err(Error::new(ErrorClass::Communicator, "MPI_COMM_WORLD and MPI_COMM_SELF can't be freed"));
    }
    finish(entry.core.clone())?;
    rank.remove_communicator::<A>(communicator)?;
    handle.set(A::handle(A::COMM_NULL))
}

/// MPI_Comm_free (MPI-5.0 section 7.4.3).
pub fn comm_free<A: Abi>(handle: Out<A::Handle>) -> Outcome {
    release::<A>(handle, Communicator::free)
}

/// MPI_Comm_disconnect (MPI-5.0 section 11.10.4).
pub fn comm_disconnect<A: Abi>(handle: Out<A::Handle>) -> Outcome {
    release::<A>(handle, Communicator::disconnect)
}

/// MPI_Comm_set_info (MPI-5.0 section 7.4.4).
pub fn comm_set_info<A: Abi>(communicator: A::Handle, info: A::Handle) -> Outcome {
    let rank = rank()?;
    let entry = rank.any_communicator::<A>(communicator)?;
    entry.core.set_info(&hints::<A>(info)?);
    Ok(())
}

/// MPI_Comm_get_info (MPI-5.0 section 7.4.4).
pub fn comm_get_info<A: Abi>(communicator: A::Handle, info: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    info.set(add_info::<A>(rank.any_communicator::<A>(communicator)?.core.info())?)
}

/// MPI_Comm_test_inter (MPI-5.0 section 7.6.1).
pub fn comm_test_inter<A: Abi>(communicator: A::Handle, flag: Out<c_int>) -> Outcome {
    flag.set(rank()?.any_communicator::<A>(communicator)?.core.is_inter().into())
}

/// MPI_Comm_remote_size (MPI-5.0 section 7.6.1).
pub fn comm_remote_size<A: Abi>(communicator: A::Handle, size: Out<c_int>) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    size.set(entry.core.remote_size().ok_or_else(not_inter)? as c_int)
}

/// MPI_Comm_remote_group (MPI-5.0 section 7.6.1).
pub fn comm_remote_group<A: Abi>(communicator: A::Handle, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let entry = rank.any_communicator::<A>(communicator)?;
    let group = entry.core.remote_group().ok_or_else(not_inter)?;
    made.set(rank.add_group::<A>(group.clone())?)
}

/// MPI_Intercomm_create (MPI-5.0 section 7.6.2).
pub fn intercomm_create<A: Abi>(
    local: A::Handle,
    local_leader: c_int,
    bridge: A::Handle,
    remote_leader: c_int,
    tag: c_int,
    made: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(local, made)?;
    let local_leader = rank_number("local leader", local_leader)?;
    // The bridge and the other leader matter to the leader only.
    let other = if entry.core.rank() == local_leader {
        let bridge = rank.communicator::<A>(bridge)?;
        rank.blame(&entry.core);
        Some((bridge.core.clone(), rank_number("remote leader", remote_leader)?))
    } else {
        None
    };
    let bridge = other.as_ref().map(|(bridge, leader)| (bridge, *leader));
    let inter = entry.core.create_intercommunicator(local_leader, bridge, tag)?;
    made.set(rank.add_communicator::<A>(inter, &entry)?)
}

/// MPI_Intercomm_create_from_groups (MPI-5.0 section 7.6.2). Both groups are known to all here, so no leaders are
/// needed.
pub fn intercomm_create_from_groups<A: Abi>(
    local: A::Handle,
    local_leader: c_int,
    remote: A::Handle,
    remote_leader: c_int,
    text: Text,
    info: A::Handle,
    handler: A::Handle,
    made: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let world = rank.communicator::<A>(A::handle(A::COMM_WORLD))?;
    let handler = error_handler::<A>(handler)?;
    with_handler(handler.clone(), A::COMM_NULL, || {
        let (local, remote) = (rank.group::<A>(local)?, rank.group::<A>(remote)?);
        let leaders = [(&local, local_leader, "local"), (&remote, remote_leader, "remote")];
        for (group, leader, which) in leaders {
            if rank_number("leader", leader)? >= group.size() {
                let what = format!("{which} leader {leader} is out of range; the group has {} members", group.size());
                return Err(Error::new(ErrorClass::Rank, what));
            }
        }
        let info = hints::<A>(info)?;
        made.check_place("the new communicator")?;
        let inter = world.core.create_intercommunicator_from_groups(&local, &remote, &text.get()?)?;
        inter.set_info(&info);
        made.set(rank.add_with_handler::<A>(inter, handler)?)
    })
}

/// MPI_Intercomm_merge (MPI-5.0 section 7.6.2).
pub fn intercomm_merge<A: Abi>(communicator: A::Handle, high: c_int, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(communicator, made)?;
    made.set(rank.add_communicator::<A>(entry.core.merge(high != 0)?, &entry)?)
}

/// MPI_Comm_set_name (MPI-5.0 section 7.8).
pub fn comm_set_name<A: Abi>(communicator: A::Handle, name: Text) -> Outcome {
    let name = name.get()?;
    let mut len = name.len().min(A::MAX_OBJECT_NAME as usize - 1);
    while !name.is_char_boundary(len) {
        len -= 1;
    }
    rank()?.any_communicator::<A>(communicator)?.core.set_name(&name[..len]);
    Ok(())
}

/// MPI_Comm_get_name (MPI-5.0 section 7.8): MPI_COMM_NULL has a name too.
pub fn comm_get_name<A: Abi>(communicator: A::Handle, name: TextOut, len: Out<c_int>) -> Outcome {
    let rank = rank()?;
    if A::code(communicator) == A::COMM_NULL {
        return len.set(name.set("MPI_COMM_NULL", A::MAX_OBJECT_NAME as usize)? as c_int);
    }
    let entry = rank.any_communicator::<A>(communicator)?;
    len.set(name.set(&entry.core.name(), A::MAX_OBJECT_NAME as usize)? as c_int)
}

/// The error handler of communicators that are made without a parent.
impl Rank {
    fn add_with_handler<A: Abi>(&self, core: Communicator, handler: ErrorHandler) -> Result<A::Handle> {
        self.add_entry::<A>(CommunicatorEntry { core, error_handler: handler.into() })
    }
}

//! Ranks of jobs that were started apart (MPI-5.0 sections 11.9 and 11.10).

use std::time::Duration;

use rwmpi_core::{Communicator, Error, ErrorClass, Info, PortPlace, Result, Universe};

use crate::argument::{Out, Text, TextOut, c_int};
use crate::entry::CommunicatorEntry;
use crate::error::Outcome;
use crate::info::hints;
use crate::interface::Abi;
use crate::number::not_negative;
use crate::rank::{Rank, rank};

/// Has the process do something as a member of its job.
fn as_member<R>(rank: &Rank, action: impl FnOnce(&Universe) -> Result<R>) -> Result<R> {
    match &*rank.universe.borrow() {
        Some(universe) => action(universe),
        None => Err(Error::new(ErrorClass::Other, "called after MPI_Finalize")),
    }
}

/// Comes together with others over a communicator, and gives the program what came of it.
fn meet<A: Abi>(
    (root, communicator): (c_int, A::Handle),
    made: Out<A::Handle>,
    meet: impl FnOnce(&Universe, &Communicator, usize) -> Result<Communicator>,
) -> Outcome {
    let rank = rank()?;
    let over = rank.parent::<A>(communicator, made)?;
    let root = not_negative("root", root, ErrorClass::Root)?;
    let met = as_member(rank, |universe| meet(universe, &over.core, root))?;
    made.set(rank.add_communicator::<A>(met, &over)?)
}

/// How long a connecting rank waits for one that accepts, if it says so, in seconds.
fn limit(info: &Info) -> Result<Option<Duration>> {
    const KEY: &str = "timeout";
    let Some(text) = info.get(KEY)? else { return Ok(None) };
    let seconds = text.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let wrong =
        || Error::new(ErrorClass::InfoValue, format!("the hint {KEY} is {text:?}, and not a number of seconds"));
    seconds.ok_or_else(wrong).map(Some)
}

/// Where a port is to be, if hints say so: the standard's `ip_address` and `ip_port`.
fn place(info: &Info) -> Result<PortPlace> {
    let wrong = |key: &str, text: &str, what: &str| {
        Error::new(ErrorClass::InfoValue, format!("the hint {key} is {text:?}, and not {what}"))
    };
    let (address, number) = ("ip_address", "ip_port");
    let address = info.get(address)?.map(|text| text.trim().parse().map_err(|_| wrong(address, text, "an IP address")));
    let number = info.get(number)?.map(|text| text.trim().parse().map_err(|_| wrong(number, text, "a TCP port")));
    Ok(PortPlace { address: address.transpose()?, number: number.transpose()? })
}

/// MPI_Open_port (MPI-5.0 section 11.9.2).
pub fn open_port<A: Abi>(info: A::Handle, name: TextOut) -> Outcome {
    let rank = rank()?;
    let place = place(&hints::<A>(info)?)?;
    let opened = as_member(rank, |universe| universe.open_port(place))?;
    name.set(&opened, A::MAX_PORT_NAME as usize).map(drop)
}

/// MPI_Close_port (MPI-5.0 section 11.9.2).
pub fn close_port<A: Abi>(name: Text) -> Outcome {
    let rank = rank()?;
    let name = name.get()?;
    as_member(rank, |universe| universe.close_port(&name))
}

/// MPI_Comm_accept (MPI-5.0 section 11.9.2): how long it waits is not limited.
pub fn comm_accept<A: Abi>(
    name: Text,
    info: A::Handle,
    root: c_int,
    communicator: A::Handle,
    made: Out<A::Handle>,
) -> Outcome {
    let name = || hints::<A>(info).and_then(|_| name.get());
    meet::<A>((root, communicator), made, |universe, over, root| {
        let name = if over.rank() == root { name() } else { Ok(String::new()) };
        universe.accept(over, root, name)
    })
}

/// MPI_Comm_connect (MPI-5.0 section 11.9.3): the hint `timeout` limits how long it waits.
pub fn comm_connect<A: Abi>(
    name: Text,
    info: A::Handle,
    root: c_int,
    communicator: A::Handle,
    made: Out<A::Handle>,
) -> Outcome {
    let asked = || Ok((limit(&hints::<A>(info)?)?, name.get()?));
    meet::<A>((root, communicator), made, |universe, over, root| {
        let (limit, name) = match if over.rank() == root { asked() } else { Ok((None, String::new())) } {
            Ok((limit, name)) => (limit, Ok(name)),
            Err(error) => (None, Err(error)),
        };
        universe.connect(over, root, name, limit)
    })
}

/// MPI_Comm_join (MPI-5.0 section 11.10.5).
pub fn comm_join<A: Abi>(socket: c_int, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    made.check_place("the new communicator")?;
    let core = as_member(rank, |universe| universe.join(socket))?;
    let alone = rank.communicator::<A>(A::handle(A::COMM_SELF))?;
    let error_handler = alone.error_handler.clone();
    made.set(rank.add_entry::<A>(CommunicatorEntry { core, error_handler })?)
}

/// MPI_Publish_name (MPI-5.0 section 11.9.4).
pub fn publish_name<A: Abi>(service: Text, info: A::Handle, name: Text) -> Outcome {
    let rank = rank()?;
    hints::<A>(info)?;
    let (service, name) = (service.get()?, name.get()?);
    as_member(rank, |universe| universe.publish(&service, &name))
}

/// MPI_Unpublish_name (MPI-5.0 section 11.9.4).
pub fn unpublish_name<A: Abi>(service: Text, info: A::Handle, _name: Text) -> Outcome {
    let rank = rank()?;
    hints::<A>(info)?;
    let service = service.get()?;
    as_member(rank, |universe| universe.unpublish(&service))
}

/// MPI_Lookup_name (MPI-5.0 section 11.9.4).
pub fn lookup_name<A: Abi>(service: Text, info: A::Handle, name: TextOut) -> Outcome {
    let rank = rank()?;
    hints::<A>(info)?;
    let service = service.get()?;
    let found = as_member(rank, |universe| universe.look_up(&service))?;
    name.set(&found, A::MAX_PORT_NAME as usize).map(drop)
}

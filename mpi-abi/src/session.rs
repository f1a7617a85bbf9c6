//! Sessions (MPI-5.0 section 11.3): ways into MPI beside MPI_Init, for parts of a program that know nothing of each
//! other.
//!
//! All of a process share its one membership of the job. The first of MPI_Init and MPI_Session_init joins it; it ends
//! with MPI_Finalize and the last session, or, if the program never calls MPI_Init, with the process, since another
//! session may follow.

use std::rc::Rc;
use std::sync::Once;

use rwmpi_core::untyped::BufferOwner;
use rwmpi_core::{Error, ErrorClass, Group, Info, Result};

use crate::argument::{Function, Out, Text, TextOut, c_int};
use crate::call::{HandlerCall, in_turn, with_handler};
use crate::entry::SessionEntry;
use crate::error::{Object, Outcome};
use crate::error_handling::{call, create, error_handler, handle_of_handler};
use crate::info::{add_info, hints, thread_levels};
use crate::initialization::{join, leave};
use crate::interface::Abi;
use crate::number::count;
use crate::process::{at_exit, is_ending};
use crate::rank::{Phase, Rank, peek, phase, rank};

impl Rank {
    /// The code of the handle of a new session.
    pub(crate) fn add_session(&self, session: SessionEntry) -> Result<u32> {
        self.sessions.insert(Rc::new(session))
    }

    /// Forgets a session.
    pub(crate) fn remove_session(&self, code: u32) {
        self.sessions.remove(code);
    }

    /// Whether there is a session.
    pub(crate) fn has_sessions(&self) -> bool {
        !self.sessions.codes().is_empty()
    }

    /// The session with that handle. Errors of the call go to its error handler from now on.
    pub(crate) fn session<A: Abi>(&self, handle: A::Handle) -> Result<Rc<SessionEntry>> {
        let code = A::code(handle);
        let found = self.sessions.get(code).ok_or_else(|| {
            let what = match code == A::SESSION_NULL {
                true => "the session is MPI_SESSION_NULL".to_string(),
                false => format!("{code:#x} is no session: it was finalized or never was one"),
            };
            Error::new(ErrorClass::Session, what)
        })?;
        self.lock.set_note(code);
        Ok(found)
    }
}

/// The process sets that there are.
const PROCESS_SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// The members of a process set, whose name may be in any case, as a group of that session.
fn members<A: Abi>(rank: &Rank, session: A::Handle, name: &str) -> Result<Group> {
    let unknown = || Error::new(ErrorClass::Argument, format!("there is no process set {name:?}"));
    let universe = rank.universe.borrow();
    let universe = universe.as_ref().ok_or_else(unknown)?;
    let group = match PROCESS_SETS.iter().position(|known| known.eq_ignore_ascii_case(name)) {
        Some(0) => universe.world().group(),
        Some(_) => universe.this_rank().group(),
        None => return Err(unknown()),
    };
    Ok(group.clone().of_session(A::code(session)))
}

/// Leaves the job at the end of a process that had sessions only, or forgot one after MPI_Finalize.
extern "C" fn end_of_process() {
    if is_ending() {
        return;
    }
    in_turn("MPI_Session_finalize", || {
        if let Ok(rank) = peek()
            && (phase() == Phase::After || phase() == Phase::Before && !rank.has_sessions())
        {
            // There is nobody left to tell.
            let _ = leave(rank);
        }
    });
}

/// MPI_Session_init (MPI-5.0 section 11.3.1).
pub fn session_init<A: Abi>(info: A::Handle, handler: A::Handle, made: Out<A::Handle>) -> Outcome {
    static ONCE: Once = Once::new();
    let handler = error_handler::<A>(handler)?;
    with_handler(handler.clone(), A::SESSION_NULL, || {
        let mut info = hints::<A>(info)?;
        let asked = asked_level::<A>(&info)?;
        let rank = match peek() {
            Ok(rank) => rank,
            // Parts of a program that know nothing of each other may use threads.
            Err(_) => join::<A>(A::THREAD_MULTIPLE)?,
        };
        ONCE.call_once(|| at_exit(end_of_process));
        let most = rank.thread_level.get();
        let given = asked.map_or(most, |asked| asked.min(most));
        if let Some((_, name)) = thread_levels::<A>().into_iter().find(|level| level.0 == given) {
            info.set(THREAD_LEVEL, name)?;
        }
        made.set(A::handle(rank.add_session(SessionEntry { error_handler: handler.into(), info })?))
    })
}

/// The hint that asks for a level of thread support, and says which one there is.
const THREAD_LEVEL: &str = "thread_level";

/// The level of thread support that a session is to have, if it says.
fn asked_level<A: Abi>(info: &Info) -> Result<Option<c_int>> {
    let Some(name) = info.get(THREAD_LEVEL)? else { return Ok(None) };
    let levels = thread_levels::<A>();
    let found = levels.iter().find(|level| level.1 == name).ok_or_else(|| {
        let names = levels.map(|level| level.1).join(", ");
        Error::new(ErrorClass::InfoValue, format!("the hint {THREAD_LEVEL} is {name:?}; it may be one of {names}"))
    })?;
    Ok(Some(found.0))
}

/// MPI_Session_finalize (MPI-5.0 section 11.3.1).
pub fn session_finalize<A: Abi>(handle: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let session = handle.get()?;
    rank.session::<A>(session)?;
    handle.set(A::handle(A::SESSION_NULL))?;
    // What was sent from its buffer leaves, which the program has back then.
    rank.lane(0).endpoint.detach_buffer(BufferOwner::Session(A::code(session)))?;
    rank.remove_session(A::code(session));
    if phase() == Phase::After && !rank.has_sessions() { leave(rank) } else { Ok(()) }
}

/// MPI_Session_get_num_psets (MPI-5.0 section 11.3.2).
pub fn session_get_num_psets<A: Abi>(session: A::Handle, info: A::Handle, number: Out<c_int>) -> Outcome {
    rank()?.session::<A>(session)?;
    hints::<A>(info)?;
    number.set(PROCESS_SETS.len() as c_int)
}

/// MPI_Session_get_nth_pset (MPI-5.0 section 11.3.2).
pub fn session_get_nth_pset<A: Abi>(
    session: A::Handle,
    info: A::Handle,
    place: c_int,
    len: Out<c_int>,
    name: TextOut,
) -> Outcome {
    rank()?.session::<A>(session)?;
    hints::<A>(info)?;
    let found = PROCESS_SETS.get(count("the number of the process set", place)?).ok_or_else(|| {
        let what = format!("there is no process set number {place}: there are {}", PROCESS_SETS.len());
        Error::new(ErrorClass::Argument, what)
    })?;
    let room = count("the length of the buffer", len.get()?)?;
    if room > 0 {
        name.set(found, room)?;
    }
    len.set(found.len() as c_int + 1)
}

/// MPI_Session_get_info (MPI-5.0 section 11.3.2).
pub fn session_get_info<A: Abi>(session: A::Handle, info: Out<A::Handle>) -> Outcome {
    info.set(add_info::<A>(rank()?.session::<A>(session)?.info.clone())?)
}

/// MPI_Session_get_pset_info (MPI-5.0 section 11.3.2).
pub fn session_get_pset_info<A: Abi>(session: A::Handle, name: Text, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    rank.session::<A>(session)?;
    let mut info = Info::new();
    info.set("mpi_size", &members::<A>(rank, session, &name.get()?)?.size().to_string())?;
    made.set(add_info::<A>(info)?)
}

/// MPI_Group_from_session_pset (MPI-5.0 section 7.3.2).
pub fn group_from_session_pset<A: Abi>(session: A::Handle, name: Text, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    rank.session::<A>(session)?;
    made.set(rank.add_group::<A>(members::<A>(rank, session, &name.get()?)?)?)
}

/// MPI_Session_create_errhandler (MPI-5.0 section 9.3.4).
pub fn session_create_errhandler<A: Abi>(function: Function, handle: Out<A::Handle>) -> Outcome {
    create::<A>(function, handle)
}

/// MPI_Session_set_errhandler (MPI-5.0 section 9.3.4).
pub fn session_set_errhandler<A: Abi>(session: A::Handle, handle: A::Handle) -> Outcome {
    let session = rank()?.session::<A>(session)?;
    *session.error_handler.borrow_mut() = error_handler::<A>(handle)?;
    Ok(())
}

/// MPI_Session_get_errhandler (MPI-5.0 section 9.3.4).
pub fn session_get_errhandler<A: Abi>(session: A::Handle, handle: Out<A::Handle>) -> Outcome {
    let session = rank()?.session::<A>(session)?;
    let handler = session.error_handler.borrow().clone();
    handle.set(handle_of_handler::<A>(&handler)?)
}

/// MPI_Session_call_errhandler (MPI-5.0 section 9.5).
pub fn session_call_errhandler<A: Abi>(session: A::Handle, code: c_int) -> Result<HandlerCall<A>> {
    let entry = rank()?.session::<A>(session)?;
    let handler = entry.error_handler.borrow().clone();
    call::<A>("MPI_Session_call_errhandler", Object::Handle(session), handler, code)
}

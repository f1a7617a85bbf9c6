//! Beginning and end (MPI-5.0 sections 11.2 to 11.4).

use rwmpi_core::{Error, ErrorClass, Result, Universe};

use crate::argument::{Out, c_char, c_int};
use crate::big_lock::{BIG_LOCKS, with_all};
use crate::call::end_job;
use crate::caller::present_function;
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Phase, Rank, peek, phase, rank};
use crate::{checking, fork, noting, processes, progress_thread, tools};

/// Joins the job, which a process can do once, with that thread level, or the highest below it that there is: what is
/// settled here for the process is the most that any part of the program gets.
pub(crate) fn join<A: Abi>(required: c_int) -> Result<&'static Rank> {
    if phase() == Phase::After {
        let what = "MPI_Finalize has left the job, and no session was open: open one before it";
        return Err(Error::new(ErrorClass::Other, what));
    }
    let universe = rwmpi_core::init_with_lanes()?;
    universe.name_calls(present_function);
    let sleep_states = progress_thread::employ(&universe)?;
    let most = settle_locks::<A>(&universe, required, !sleep_states.is_empty())?;
    tools::event::begin::<A>(&universe, !sleep_states.is_empty());
    let rank = Rank::begin::<A>(universe, most);
    processes::keep_parents::<A>(rank)?;
    fork::prepare::<A>();
    if !sleep_states.is_empty() {
        progress_thread::start(rank, sleep_states)?;
    }
    Ok(rank)
}

/// Settles, for as long as the process is a rank, whether it takes locks; the thread level that it gets.
fn settle_locks<A: Abi>(universe: &Universe, required: c_int, has_progress_threads: bool) -> Result<c_int> {
    let is_noted = universe.recorder().is_some();
    let most = if required >= A::THREAD_MULTIPLE {
        if !has_progress_threads {
            universe.share(&BIG_LOCKS)?;
        }
        A::THREAD_MULTIPLE
    } else {
        if !has_progress_threads && !is_noted {
            BIG_LOCKS.trust();
        }
        A::THREAD_SERIALIZED
    };
    if is_noted {
        noting::start();
    }
    Ok(most)
}

/// Leaves the job when all ranks do.
pub(crate) fn leave(rank: &Rank) -> Outcome {
    progress_thread::stop(rank);
    checking::name_what_is_left(rank)?;
    rank.for_files.end();
    rank.lanes().iter().try_for_each(|lane| lane.endpoint.complete_all())?;
    if let Some(universe) = rank.universe.take() {
        universe.finalize()?;
    }
    rank.end();
    Ok(())
}

/// Begins with that thread level, or the highest below it that there is.
fn begin<A: Abi>(required: c_int) -> Result<c_int> {
    match phase() {
        Phase::Before => {}
        Phase::Active => return Err(Error::new(ErrorClass::Other, "called a second time")),
        Phase::After => return Err(Error::new(ErrorClass::Other, "called after MPI_Finalize")),
    }
    let rank = match peek() {
        Ok(rank) => rank,
        Err(_) => join::<A>(required)?,
    };
    let provided = required.clamp(A::THREAD_SINGLE, rank.thread_level.get());
    // If the rank has just got several lanes, this call has the first one's lock, and progress threads have begun.
    with_all(|| {
        rank.enter_world(provided);
        progress_thread::settle_tasks::<A>(rank);
    });
    Ok(provided)
}

/// MPI_Init (MPI-5.0 section 11.2.1).
pub fn init<A: Abi>(_argc: Out<c_int>, _argv: *mut *mut *mut c_char) -> Outcome {
    begin::<A>(A::THREAD_SINGLE).map(drop)
}

/// MPI_Init_thread (MPI-5.0 section 11.6.2).
pub fn init_thread<A: Abi>(
    _argc: Out<c_int>,
    _argv: *mut *mut *mut c_char,
    required: c_int,
    provided: Out<c_int>,
) -> Outcome {
    provided.set(begin::<A>(required)?)
}

/// MPI_Initialized (MPI-5.0 section 11.4.1).
pub fn initialized<A: Abi>(flag: Out<c_int>) -> Outcome {
    flag.set((phase() != Phase::Before).into())
}

/// MPI_Finalized (MPI-5.0 section 11.4.2).
pub fn finalized<A: Abi>(flag: Out<c_int>) -> Outcome {
    flag.set((phase() == Phase::After).into())
}

/// MPI_Finalize (MPI-5.0 section 11.2.2): the process stays in the job while it has sessions.
pub fn finalize<A: Abi>() -> Outcome {
    let rank = rank()?;
    if phase() != Phase::Active {
        let what = "the program has not called MPI_Init, or has called MPI_Finalize already";
        return Err(Error::new(ErrorClass::Other, what));
    }
    if !rank.has_sessions() {
        leave(rank)?;
    }
    rank.leave_world();
    Ok(())
}

/// MPI_Abort (MPI-5.0 section 11.2.3): ends the whole job, whatever the communicator. A signal handler may call it in
/// the middle of another call, so it looks at nothing that may be changing.
pub fn abort<A: Abi>(_communicator: A::Handle, code: c_int) -> Outcome {
    peek()?;
    end_job(code, "MPI_Abort")
}

/// MPI_Query_thread (MPI-5.0 section 11.6.2).
pub fn query_thread<A: Abi>(provided: Out<c_int>) -> Outcome {
    provided.set(peek()?.thread_level.get())
}

/// MPI_Is_thread_main (MPI-5.0 section 11.6.2).
pub fn is_thread_main<A: Abi>(flag: Out<c_int>) -> Outcome {
    flag.set((peek()?.main_thread == rustix::thread::gettid()).into())
}

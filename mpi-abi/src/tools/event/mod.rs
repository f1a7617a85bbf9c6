//! Events (MPI-5.0 section 15.3.8): [`types`] says which there are, [`registration`] who wants to know of them, and
//! [`instance`] raises them and shows what they say; [`source`] is where they come from.
//!
//! All of them happen inside a call of MPI, or in the library's own thread. A callback that needs more freedom than
//! MPI_T_CB_REQUIRE_MPI_RESTRICTED leaves, or than MPI_T_CB_REQUIRE_THREAD_SAFE does where the library has threads, is
//! never called: what it misses is counted as dropped.

mod callback;
pub mod instance;
pub mod registration;
pub mod source;
pub mod types;

use std::sync::atomic::{AtomicBool, Ordering};

use rwmpi_core::Universe;
use rwmpi_core::event::Observer;

use crate::argument::c_int;
use crate::call::in_turn;
use crate::interface::Abi;
use crate::rank::peek;

/// Whether the library has threads of its own, which raise events beside the program's. Written by the thread that
/// makes the rank, before there are such threads, and read where events are raised (Relaxed).
static HAS_THREADS: AtomicBool = AtomicBool::new(false);

/// How free a callback is, from most to least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Safety {
    None,
    Restricted,
    ThreadSafe,
    SignalSafe,
}

impl Safety {
    const ALL: [Safety; 4] = [Safety::None, Safety::Restricted, Safety::ThreadSafe, Safety::SignalSafe];

    fn constant<A: Abi>(self) -> c_int {
        match self {
            Safety::None => A::T_CB_REQUIRE_NONE,
            Safety::Restricted => A::T_CB_REQUIRE_MPI_RESTRICTED,
            Safety::ThreadSafe => A::T_CB_REQUIRE_THREAD_SAFE,
            Safety::SignalSafe => A::T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
        }
    }

    fn of<A: Abi>(constant: c_int) -> Result<Safety, c_int> {
        let found = Safety::ALL.into_iter().find(|safety| safety.constant::<A>() == constant);
        found.ok_or(A::T_ERR_INVALID)
    }

    /// What callbacks of events have to stand.
    fn of_events() -> Safety {
        if HAS_THREADS.load(Ordering::Relaxed) { Safety::ThreadSafe } else { Safety::Restricted }
    }
}

fn observer<A: Abi>() -> Option<Observer> {
    registration::are_wanted().then_some(instance::raise::<A>)
}

/// The process has become a rank, and tools may have registered already.
pub(crate) fn begin<A: Abi>(universe: &Universe, has_threads: bool) {
    HAS_THREADS.store(has_threads, Ordering::Relaxed);
    if let Some(observer) = observer::<A>() {
        universe.observe(Some(observer));
    }
}

/// What is registered has changed: whether anybody observes the rank.
fn settle<A: Abi>(call: &'static str) {
    // Within a callback the rank is in use; what nobody wants any more is then observed in vain.
    if instance::is_in_callback() {
        return;
    }
    in_turn(call, || {
        if let Ok(rank) = peek()
            && let Some(universe) = &*rank.universe.borrow()
        {
            universe.observe(observer::<A>());
        }
    });
}

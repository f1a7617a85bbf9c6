//! Where events come from (MPI-5.0 section 15.3.8): there is one source, the rank's engine, with the system's monotonic
//! clock.

use rwmpi_core::Info;

use super::super::{Checked, entry, give, offer, offer_text, run};
use super::Safety;
use crate::argument::{Out, TextOut, c_int};
use crate::info::add_info;
use crate::interface::Abi;

const NAMES: [&str; 1] = ["engine"];

/// Nanoseconds on the source's clock.
pub(super) fn now() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// MPI_T_source_get_num (MPI-5.0 section 15.3.8).
pub fn t_source_get_num<A: Abi>(number: Out<c_int>) -> c_int {
    give::<A, _>(number, NAMES.len() as c_int)
}

/// MPI_T_source_get_info (MPI-5.0 section 15.3.8): events come in the order of their times, unless several threads
/// raise them.
pub fn t_source_get_info<A: Abi>(
    index: c_int,
    name: TextOut,
    name_len: Out<c_int>,
    description: TextOut,
    description_len: Out<c_int>,
    ordering: Out<c_int>,
    ticks_per_second: Out<i64>,
    max_ticks: Out<i64>,
    info: Out<A::Handle>,
) -> c_int {
    run::<A>(|| {
        let (_, source) = entry::<A, _>(&NAMES, index)?;
        let is_ordered = Safety::of_events() < Safety::ThreadSafe;
        offer_text(name, name_len, source);
        offer_text(description, description_len, "What decides the ways of this rank's messages and matches them");
        offer(ordering, if is_ordered { A::T_SOURCE_ORDERED } else { A::T_SOURCE_UNORDERED });
        offer(ticks_per_second, 1_000_000_000);
        offer(max_ticks, i64::MAX);
        if !info.is_null() {
            offer(info, no_hints::<A>()?);
        }
        Ok(())
    })
}

/// MPI_T_source_get_timestamp (MPI-5.0 section 15.3.8).
pub fn t_source_get_timestamp<A: Abi>(index: c_int, timestamp: Out<i64>) -> c_int {
    run::<A>(|| {
        entry::<A, _>(&NAMES, index)?;
        timestamp.set(now()).map_err(|_| A::T_ERR_INVALID)
    })
}

/// A new info object that says nothing.
pub(super) fn no_hints<A: Abi>() -> Checked<A::Handle> {
    add_info::<A>(Info::new()).map_err(|_| A::T_ERR_OUT_OF_HANDLES)
}

//! What all calls have in common: how they begin (`turn`) and end (`end`), and how the library calls functions of the
//! program (`program`).

mod end;
mod program;
mod turn;

pub use end::{Failed, HandlerCall, Subject, conclude, settle, unsupported};
pub(crate) use end::{end_job, latest, with_handler};
pub(crate) use program::call_program;
pub use turn::{Place, in_turn, in_turn_at, short_or_whole, try_short};

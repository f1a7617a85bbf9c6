//! What a rank notes about its calls, waits and messages, for a profile and a trace of the job.
//!
//! It notes something only if whoever has started the job asks for it. Nothing on the way of a call asks whether that
//! is so: an engine that takes notes closes its short cuts (`mpi-core/engine/src/observe.rs`), C's calls take the
//! lock by the long way ([`rwmpi_transport::BigLocks::observe`]), and the typed API's short collectives are not short.
//! What is left are looks in waits that have found nothing.
//!
//! All notes lie in memory that outlives the process ([`rwmpi_transport::Records`]), so a rank that is killed loses
//! nothing but its present call. [`layout`] says where they are, [`Recorder`] writes them, and [`recorded`] reads them.

mod layout;
pub mod recorded;
mod recorder;

pub use recorder::Awaiting;
pub use recorder::{Begun, Call, Outer, Recorder};

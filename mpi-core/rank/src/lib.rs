//! One rank's part in a job: its engines, its waits, and what it tells of them.
//!
//! Everything that communicators, requests and scopes of a rank share is in its [`process::Process`]: collectives and
//! the API stand on that. It knows contexts and peers; communicators are what the packages above make of them.
//!
//! Invariants:
//! 1. Every wait of a rank goes through `Process`, so that all of its engines make progress, hangs can be told, and
//!    whoever departs ends what waits for it.
//! 2. A `Process` belongs to one thread at a time: whoever has the rank's lock.
//! 3. What a rank tells of itself ([`activity`], [`answer`], [`profile`]) lies in memory that the launcher reads
//!    without its help.

// Only other packages of this project use it: a name that says all needs no sentence beside it.
#![allow(missing_docs)]

pub mod activity;
pub mod agreeing;
pub mod answer;
pub mod apart;
mod checks;
pub mod context;
pub mod driver;
mod numbers;
pub mod process;
pub mod profile;
mod progress_thread;
mod shared_buffer;
mod streams;
mod wakers;

pub use checks::Checks;
pub use numbers::Numbers;
pub use process::failures::notice;
pub use process::lanes::Lanes;
use rwmpi_engine as engine;
use rwmpi_engine::{task, tuning, waiting};
pub use shared_buffer::Buffer;
pub use streams::{Stream, Streams, TAGS};

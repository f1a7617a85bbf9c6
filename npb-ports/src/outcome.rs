//! What a benchmark hands back on every rank.

use crate::timer::Measurement;
use crate::verify::Verification;

/// One rank's view of a finished run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The problem's size in the words of its definition: `"256x256x256"`, `"14000"`.
    pub size: String,
    /// How many iterations were timed.
    pub iterations: u32,
    /// How many operations all ranks together did in the timed section, as the definition counts them.
    pub operations: f64,
    /// The timed section on this rank.
    pub measurement: Measurement,
    /// The checks; those of rank 0 count.
    pub verification: Verification,
}

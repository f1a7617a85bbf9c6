//! What may be changed about a run besides its class.

/// Choices that a benchmark is told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Receive with `ANY_SOURCE` where NPB 2.3 did (MG and LU), instead of naming the sender.
    pub any_source: bool,
    /// Put data into the other ranks' memory (IS and MG) instead of sending it.
    pub one_sided: bool,
    /// Falsify one value of the problem on the last rank, so that a test can see the verification fail.
    pub corrupt: bool,
}

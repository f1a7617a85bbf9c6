//! Reading or writing.

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the file.
    Read,
    /// To the file.
    Write,
}

impl Direction {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Direction::Read => "reading",
            Direction::Write => "writing",
        }
    }
}

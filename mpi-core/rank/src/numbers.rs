//! Whose numbers the peers of an engine are.
//!
//! Numbers are those of the rank's job, or of a file that it has in common with ranks of another job. Of such a file
//! only its own job's ranks have numbers in the job.

use std::rc::Rc;

/// For each number of a file the number in the job, if it is a rank of this job.
#[derive(Clone, Debug)]
pub struct Numbers(Rc<[Option<u32>]>);

impl Numbers {
    /// Those of a file.
    pub fn new(in_job: impl Iterator<Item = Option<u32>>) -> Numbers {
        Numbers(in_job.collect())
    }

    /// The number in the job of whoever has that one.
    pub fn in_job(&self, number: u32) -> Option<u32> {
        self.0[number as usize]
    }

    /// Who has that number in the job.
    pub fn of(&self, in_job: u32) -> Option<u32> {
        self.0.iter().position(|&number| number == Some(in_job)).map(|number| number as u32)
    }

    /// Whether they are those of the same file.
    pub fn are(&self, other: &Numbers) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

//! Hints: what programs promise about their use of a communicator (MPI-5.0 section 7.4.4).
//!
//! The library does not act on them yet; it keeps those that it knows, so that programs read back what they set.

use super::Communicator;
use crate::Info;

/// The hints that the standard defines, all of them false unless set.
const HINTS: [&str; 5] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
];

impl Communicator {
    /// Takes the hints that it knows from `info` (MPI_Comm_set_info).
    #[doc = example!(2
        "let (copy, mut hints) = (world.dup()?, rwmpi::Info::new());"
        "hints.set(\"mpi_assert_no_any_source\", \"true\")?;"
        "copy.set_info(&hints);"
        "assert_eq!(copy.info().get(\"mpi_assert_no_any_source\")?, Some(\"true\"));"
    )]
    #[doc(alias = "MPI_Comm_set_info")]
    pub fn set_info(&self, info: &Info) {
        let mut hints = self.shared.hints.borrow_mut();
        for (key, value) in info.iter() {
            if HINTS.contains(&key) && matches!(value, "true" | "false") {
                // Keys and values of this table are never refused.
                let _ = hints.set(key, value);
            }
        }
    }

    /// All hints that it knows, with their values (MPI_Comm_get_info).
    #[doc(alias = "MPI_Comm_get_info")]
    pub fn info(&self) -> Info {
        let hints = self.shared.hints.borrow();
        let mut info = Info::new();
        for key in HINTS {
            let value = hints.get(key).ok().flatten().unwrap_or("false");
            let _ = info.set(key, value);
        }
        info
    }
}

//! How ranks of two jobs come together: those that are spawned and their parents, those who find each other at a port,
//! and groups of ranks that don't all know each other by one engine.
//!
//! All members of both take their places in a file that they have in common, which gives each a further engine
//! (`process/company`). If they are not all on one machine, they say first where they are (`apart`). Roots learn where
//! to meet over a `bridge`, at a port (`ports`) or from a launcher (`spawn`), and tell their ranks (`told`).

pub(crate) mod apart;
pub(crate) mod bridge;
pub(crate) mod told;

use rwmpi_transport::{JobFabric, Joint};

use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::{Communicator, Result};

/// A rank's place in a file for the ranks of two jobs.
pub(crate) struct Place {
    pub(crate) number: usize,
    /// The number of the first rank of the second job.
    pub(crate) first: usize,
}

impl Communicator {
    /// The intercommunicator with those who have that file, too, or are on their way there, as long as they are
    /// `expected`. `place` says which place is this rank's in a file for so many.
    pub(crate) fn meet_in(
        &self,
        joint: std::result::Result<Joint, String>,
        place: impl FnOnce(usize) -> Place,
        class: ErrorClass,
        expected: &dyn Fn() -> bool,
    ) -> Result<Communicator> {
        let failed = |why: String| Error::argument(class, self, Call::Meet, why);
        let have_all =
            self.as_part_of(Call::Meet, |all| all.allreduce_value(joint.is_ok(), |one, other| *one && *other))?;
        let joint = joint.map_err(failed)?;
        if !have_all {
            let why = "one of these ranks can't open the file that they were to have in common with others";
            joint.give_up(why);
            return Err(failed(why.to_owned()));
        }
        let Place { number, first } = place(joint.members());
        // The others may be waiting for another thread of this rank.
        let expected = || {
            self.process().step_aside();
            expected()
        };
        let fabric = joint.attach_while(number, &expected).map_err(|error| failed(error.to_string()))?;
        let numbers = self.group().numbers_in_file(joint.members(), number - self.rank());
        Ok(Communicator::across(self.process().join(JobFabric::Node(fabric), numbers), first))
    }
}

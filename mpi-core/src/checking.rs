//! What a rank leaves behind at its end, where the job is checked (`mpiexec --check`): messages that it has not
//! received, and requests that it has not completed. What calls do not go together is for `collective/checking.rs`.

use rwmpi_collective::allgather;
use rwmpi_transport::WriteSpan;

use crate::activity::Call;
use crate::communicator::{comparison_tag, context};
use crate::{Communicator, Result, Universe};

impl Universe {
    /// Whether the rank's calls are checked.
    #[doc(hidden)]
    pub fn is_checked(&self) -> bool {
        self.world().process().lanes().checks().are_on()
    }

    /// Where the job is checked, says what the rank has not received, the first of each communicator, and how many
    /// requests it leaves open, of which the caller knows. The program is at its end, and has these communicators
    /// besides the world. Collective.
    ///
    /// # Errors
    /// What keeps the ranks from meeting.
    #[doc(hidden)]
    pub fn name_what_is_left(&self, others: &[Communicator], open: usize) -> Result<()> {
        if !self.is_checked() {
            return Ok(());
        }
        let world = self.world();
        world.as_part_of(Call::Finalize, Communicator::barrier)?;
        self.take_in_all()?;
        let checks = world.process().lanes().checks();
        self.unreceived(others).iter().for_each(|what| checks.say(what));
        if open > 0 {
            let requests = if open == 1 { "request that is" } else { "requests that are" };
            let me = world.rank();
            checks.say(&format!("rank {me} finalizes with {open} {requests} neither completed nor freed"));
        }
        // Nobody sends anything more before all have looked.
        world.as_part_of(Call::Finalize, Communicator::barrier)
    }

    /// As [`Universe::name_what_is_left`], of a program that has no other front end.
    pub(crate) fn name_what_rust_leaves(&self) -> Result<()> {
        let process = self.world().process();
        if !self.is_checked() || process.is_finalizing() || process.answers.have_names() {
            return Ok(());
        }
        let failed = self.world().failed(Call::Finalize);
        process.collect_detached().and_then(|()| process.wait_for_abandoned()).map_err(failed)?;
        self.name_what_is_left(&[], process.open())
    }

    /// Each rank hears from each, and so has all that they have sent before.
    fn take_in_all(&self) -> Result<()> {
        let world = self.world();
        let tag = comparison_tag(world.next_comparison());
        let mut heard = vec![0_u8; world.size()];
        let places = WriteSpan::from(&mut heard[..]);
        let exchanged = || allgather::direct(world.apart_from_collectives(tag), |rank| places.part(rank, 1));
        world.process().block_on(exchanged).map_err(world.failed(Call::Finalize))
    }

    /// What has not been received, the first of each communicator, in words.
    fn unreceived(&self, others: &[Communicator]) -> Vec<String> {
        let world = self.world();
        let mut known: Vec<&Communicator> = vec![world, self.this_rank()];
        known.extend(others);
        let mut contexts = Vec::new();
        let mut said = Vec::new();
        for lane in 0..self.lanes() {
            for (envelope, bytes) in self.in_lane(lane).process().engine().unmatched() {
                if contexts.contains(&envelope.context) {
                    continue;
                }
                contexts.push(envelope.context);
                let of = known.iter().find(|one| !one.is_joined() && one.context() == envelope.context);
                let (place, source) = match of {
                    Some(one) => (one.name_in_check(), one.rank_of(envelope.source).to_string()),
                    // Ranks there are not known here any more.
                    None => (
                        format!("communicator {}", envelope.context / context::BLOCK),
                        format!("{} of the world", envelope.source),
                    ),
                };
                let (me, tag) = (world.rank(), envelope.tag);
                said.push(format!(
                    "rank {me} finalizes without having received a message in {place}: from rank {source}, tag {tag}, \
                     {bytes} bytes"
                ));
            }
        }
        said
    }
}

//! Waits that nobody can end any more: the rank that is waited for has left the job, or has finalized.
//!
//! A rank says so where all of its node see it, after everything that it has sent. Who waits for that rank alone, sees that, and then finds nothing
//! in its queues, waits in vain. Ranks of other nodes are not seen; a hang on their account is shown when the time is over.

use rwmpi_transport::Presence;

use crate::engine::Failure;
use crate::process::Process;
use crate::waiting::{self, Partner};

/// How often a wait looks once more after it has seen that whom it waits for has gone: a look may end before it has come to all queues.
const LAST_LOOKS: u32 = 50;

/// What one wait knows about the end of whom it waits for.
pub(crate) struct DepartureWatch {
    /// How often the rank had been called to look when this wait looked last.
    calls: u32,
    /// Who has gone, and how often was looked since.
    suspicion: Option<(Failure, u32)>,
}

impl DepartureWatch {
    #[inline(always)]
    pub(crate) fn new(process: &Process) -> Self {
        DepartureWatch { calls: process.calls_to_look(), suspicion: None }
    }

    /// Something has happened.
    #[inline(always)]
    pub(crate) fn reset(&mut self) {
        self.suspicion = None;
    }

    /// After a look that has found nothing: whether the wait seems to be in vain, so that it should look again at once. Asks who is gone only
    /// if it `is_time`, or somebody has called.
    ///
    /// # Errors
    /// If it is in vain.
    #[inline]
    pub(crate) fn suspects(&mut self, process: &Process, is_time: bool) -> Result<bool, Failure> {
        let calls = process.calls_to_look();
        if !is_time && self.calls == calls && self.suspicion.is_none() {
            return Ok(false);
        }
        self.calls = calls;
        self.look(process)
    }

    #[cold]
    fn look(&mut self, process: &Process) -> Result<bool, Failure> {
        let looks = self.suspicion.map_or(0, |(_, looks)| looks);
        self.suspicion = process.departed().map(|failure| (failure, looks + 1));
        match self.suspicion {
            Some((failure, LAST_LOOKS)) => Err(process.engine().poisoned(failure)),
            suspicion => Ok(suspicion.is_some()),
        }
    }
}

impl Process {
    /// What the present wait fails with, if only ranks could end it that have gone.
    fn departed(&self) -> Option<Failure> {
        let word = self.awaited_words()[0];
        let (me, peers) = self.me_and_peers();
        let mut others = (0..peers).filter(|&peer| peer != me);
        match waiting::partner(word) {
            Partner::Rank(peer) => self.gone(peer as u32).filter(|_| peer as u32 != me),
            // Threads of this rank may send to it.
            Partner::Any if !self.is_shared() => others.try_fold(None, |_, peer| self.gone(peer).map(Some)).flatten(),
            _ => None,
        }
    }

    /// Whether that rank can do nothing more that this one could wait for.
    fn gone(&self, peer: u32) -> Option<Failure> {
        let presence = self.engine().presence(peer)?;
        let is_gone = match presence {
            Presence::Here => false,
            Presence::Left => true,
            // It still takes what is sent to it, which it has no use for. Those who leave wait for each other.
            Presence::Leaving | Presence::Finished => !self.is_finalizing() && !self.sends_on(),
        };
        is_gone.then_some(Failure::Departed { peer, finalizes: presence != Presence::Left })
    }
}

#[cfg(test)]
mod tests {
    use rwmpi_transport::{JobFabric, NodeFabric};

    use crate::{Protocol, Result, ThreadLevel, Universe};

    /// What rank 0 hears that waits for rank 1, which has come to its end like that.
    fn heard(end: fn(Universe) -> Result<()>, wait: fn(&Universe) -> Result<()>) -> String {
        let mut fabrics = NodeFabric::threads(2).unwrap();
        let join = |fabric| {
            Universe::new(
                JobFabric::Node(fabric),
                Protocol::Auto,
                &crate::tuning::Tuning::DEFAULT,
                ThreadLevel::Filtered,
            )
        };
        let second = fabrics.pop().unwrap();
        let other = std::thread::spawn(move || {
            let universe = join(second);
            universe.world().barrier().unwrap();
            end(universe)
        });
        let universe = join(fabrics.pop().unwrap());
        universe.world().barrier().unwrap();
        let error = wait(&universe).unwrap_err().to_string();
        drop(universe);
        let _ = other.join().unwrap();
        error
    }

    #[test]
    fn who_waits_for_one_that_is_gone_hears_of_it() {
        let waits: [fn(&Universe) -> Result<()>; 5] = [
            |universe| universe.world().barrier(),
            |universe| universe.world().recv(&mut [0_u8], 1, 0).map(drop),
            |universe| universe.world().recv(&mut [0_u8], crate::ANY_SOURCE, 0).map(drop),
            |universe| universe.world().synchronous_send(&[0_u8], 1, 0),
            |universe| universe.world().allreduce_value(1, crate::op::sum).map(drop),
        ];
        for wait in waits {
            let error = heard(Universe::finalize, wait);
            assert!(error.contains("rank 1, which has finalized"), "{error}");
            let error = heard(
                |universe| {
                    drop(universe);
                    Ok(())
                },
                wait,
            );
            assert!(error.contains("rank 1, which has left the job without finalizing"), "{error}");
        }
        let error = heard(
            |universe| {
                drop(universe);
                Ok(())
            },
            |universe| universe.this_rank().barrier().and_then(|()| universe.world().barrier()),
        );
        assert!(error.contains("rank 1"), "{error}");
    }

    #[test]
    fn what_was_sent_before_the_end_still_arrives() {
        let all_in_order = crate::run_threads(2, Protocol::Auto, |universe| {
            let world = universe.world();
            if world.rank() == 1 {
                return world.send(&[7_u8], 0, 3);
            }
            // Time for the other to be gone.
            std::thread::sleep(std::time::Duration::from_millis(50));
            let mut data = [0_u8];
            world.recv(&mut data, 1, 3)?;
            assert_eq!(data, [7]);
            Ok(())
        });
        all_in_order.unwrap().into_iter().for_each(|rank| rank.unwrap());
    }
}

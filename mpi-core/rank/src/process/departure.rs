//! Waits that nobody can end any more: the rank that is waited for has left the job, or has finalized.
//!
//! A rank says so where all of its node see it, after everything that it has sent. Who waits for that rank alone, sees
//! that, and then finds nothing in its queues, waits in vain. To ranks of other nodes it says so on the connections
//! that it has; whoever waits for a rank to which it has none opens one, and hears.
//!
//! Calls that do not wait are another matter: a program may test for a message that never comes, and take its receive
//! back in the end. They fail only where a rank has left without finalizing, which no correct program's does while
//! others go on.

use rwmpi_transport::Presence;

use super::Process;
use crate::context::is_collective;
use crate::engine::Failure;
use crate::waiting::{self, Awaited, Partner};

/// How often a wait looks once more after it has seen that whom it waits for has gone: a look may end before it has
/// come to all queues.
const LAST_LOOKS: u32 = 50;

/// How many tests in vain there are for each look whether they all are.
pub const TESTS_PER_LOOK: u32 = 1024;

/// What one wait knows about the end of whom it waits for.
#[derive(Default)]
pub struct DepartureWatch {
    /// How often the rank had been called to look when this wait looked last.
    calls: u32,
    /// Who has gone, and how often was looked since.
    suspicion: Option<(Failure, u32)>,
    /// The period in which this wait has answered last, if nothing has happened since; else 0.
    quiet_in: u32,
}

/// A wait that can say what it is for.
pub trait WatchedWait {
    /// What it fails with, if only ranks could end it that have gone.
    fn departed(&self) -> Option<Failure>;

    /// Tells the launcher, which has asked, what it is for; in which period that is. `quiet_in`: nothing has happened
    /// since the last answer, which was in that period; 0: something has, or there was none.
    fn answer(&self, quiet_in: u32) -> u32;
}

/// A wait for nothing but what `each` tells.
pub struct Listed<'a> {
    pub process: &'a Process,
    pub several: Several,
    pub each: &'a EachAwaited<'a>,
}

impl WatchedWait for Listed<'_> {
    fn departed(&self) -> Option<Failure> {
        self.process.departed_of(self.several, self.each)
    }

    fn answer(&self, quiet_in: u32) -> u32 {
        self.process.answer(quiet_in, self.several, self.each)
    }
}

impl DepartureWatch {
    #[inline(always)]
    pub fn new(process: &Process) -> Self {
        DepartureWatch { calls: process.calls_to_look(), suspicion: None, quiet_in: 0 }
    }

    /// Something has happened: what was suspected is to be looked at anew.
    #[inline(always)]
    pub fn reset(&mut self) {
        self.quiet_in = 0;
        if let Some((_, looks)) = &mut self.suspicion {
            *looks = 0;
        }
    }

    /// After a look that has found nothing: whether the wait seems to be in vain, so that it should look again at once.
    /// Asks `wait` who is gone only if it `is_time`, or somebody has called, who gets an answer.
    ///
    /// # Errors
    /// If it is in vain.
    #[inline]
    pub fn suspects(&mut self, process: &Process, is_time: bool, wait: &dyn WatchedWait) -> Result<bool, Failure> {
        let calls = process.calls_to_look();
        if !is_time && self.calls == calls && self.suspicion.is_none() {
            return Ok(false);
        }
        self.look(process, calls, wait)
    }

    #[cold]
    fn look(&mut self, process: &Process, calls: u32, wait: &dyn WatchedWait) -> Result<bool, Failure> {
        if std::mem::replace(&mut self.calls, calls) != calls {
            self.quiet_in = wait.answer(self.quiet_in);
        }
        if process.heed_failures()? {
            return Ok(true);
        }
        let looks = self.suspicion.map_or(0, |(_, looks)| looks);
        self.suspicion = wait.departed().map(|failure| (failure, looks + 1));
        match self.suspicion {
            // All that could come has come by now.
            Some((failure, _)) if failure.is_survived() => Err(failure),
            Some((failure, LAST_LOOKS)) => Err(process.in_vain_by(failure)),
            suspicion => Ok(suspicion.is_some()),
        }
    }
}

/// Names, one after the other, the things that a wait is for.
pub type EachAwaited<'a> = dyn Fn(&mut dyn FnMut(Awaited)) + 'a;

/// How many of several things a wait needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Several {
    /// The first to come.
    Any,
    /// Every one.
    All,
}

impl Process {
    /// What a wait for that fails with, if only ranks could end it that have gone.
    pub fn departed_of(&self, several: Several, each: &EachAwaited<'_>) -> Option<Failure> {
        let (mut failure, mut may_come) = (None, false);
        each(&mut |awaited| match self.departed_from(awaited) {
            None => may_come = true,
            departed => failure = failure.or(departed),
        });
        let is_in_vain = several == Several::All || !may_come;
        let failure = failure.filter(|failure| is_in_vain || matches!(failure, Failure::Unacknowledged { .. }));
        // Where the job goes on collectives look themselves.
        failure.or_else(|| if self.keeps_going() { None } else { self.departed_from_collective() })
    }

    /// What waiting for that fails with, if only ranks could bring it that have gone.
    fn departed_from(&self, awaited: Awaited) -> Option<Failure> {
        let (me, peers) = self.me_and_peers();
        let mut others = (0..peers).filter(|&peer| peer != me);
        let gone = |peer| self.gone(peer, || self.sends_on(awaited));
        let [first, second] = self.words_of(awaited);
        if matches!(awaited, Awaited::Message(_)) && self.is_revoked(waiting::context(second)) {
            return Some(Failure::Revoked);
        }
        match waiting::partner(first) {
            Partner::Rank(peer) => gone(peer as u32).filter(|_| peer as u32 != me),
            Partner::Any if let Some(failure) = self.unacknowledged(waiting::context(second)) => Some(failure),
            // Threads of this rank may send to it.
            Partner::Any if !self.is_shared() => others.try_fold(None, |_, peer| gone(peer).map(Some)).flatten(),
            _ => None,
        }
    }

    /// A collective needs all that it receives, in whatever order it looks for it, and nobody can take it back.
    fn departed_from_collective(&self) -> Option<Failure> {
        if !self.is_in_collective() || !(self.is_joined() || self.engine().has_anybody_gone()) {
            return None;
        }
        for awaited in self.tasks().all_awaited() {
            if let departed @ Some(_) = self.departed_from(awaited) {
                return departed;
            }
        }
        let (me, _) = self.me_and_peers();
        let sources = self.engine().sources(is_collective);
        sources.into_iter().filter(|&peer| peer != me).find_map(|peer| self.gone(peer, || false))
    }

    /// Whether that is a send that goes on as its receiver makes room.
    fn sends_on(&self, awaited: Awaited) -> bool {
        let awaited = if let Awaited::Task(id) = awaited { self.tasks().awaited(id) } else { awaited };
        let Awaited::Operation(id) = awaited else { return false };
        let mut engine = self.engine();
        engine.is_send(id) && !engine.is_with_receiver(id)
    }

    /// Whether that rank can do nothing more that this one could wait for; `sends_on`: it is to make room for what is
    /// sent to it.
    fn gone(&self, peer: u32, sends_on: impl Fn() -> bool) -> Option<Failure> {
        let presence = self.presence_of(peer);
        let is_gone = match presence {
            Presence::Here => false,
            Presence::Left => true,
            Presence::Died => return Some(Failure::Died { peer }),
            // It still takes what is sent to it, which it has no use for. Those who leave wait for each other.
            Presence::Leaving | Presence::Finished => !self.is_finalizing() && !sends_on(),
        };
        is_gone.then_some(Failure::Departed { peer, finalizes: presence != Presence::Left })
    }
}

impl Process {
    /// A call that does not wait has not found what it looked for. A program may call it in a loop: after as many in a
    /// row as a wait looks before it gives way, each gives way. None sleeps.
    ///
    /// # Errors
    /// After many more, if only a rank could bring it that has left without finalizing.
    pub fn found_nothing(&self, awaited: Awaited) -> Result<(), Failure> {
        let times = self.in_vain.get();
        self.in_vain.set(times.saturating_add(1));
        let mut engine = self.engine();
        if times >= engine.patience() {
            engine.give_way();
            drop(engine);
            if times.is_multiple_of(TESTS_PER_LOOK) {
                return self.tests_in_vain(awaited);
            }
        }
        Ok(())
    }

    /// Whether whoever tests for that hears of it only by an error.
    #[cold]
    fn tests_in_vain(&self, awaited: Awaited) -> Result<(), Failure> {
        // Where ranks are threads, nobody ends one that goes on testing after the job has ended.
        self.take_signals()?;
        if self.heed_failures()? {
            return Ok(());
        }
        match self.departed_from(awaited) {
            Some(failure) if failure.is_survived() => Err(failure),
            Some(failure @ Failure::Departed { finalizes: false, .. }) => {
                for _ in 0..LAST_LOOKS {
                    if self.progress_all()? {
                        return Ok(());
                    }
                }
                Err(self.in_vain_by(failure))
            }
            _ => Ok(()),
        }
    }
}

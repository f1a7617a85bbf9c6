//! Model check of the protocol: the real `Sender` and `Receiver` driven through every interleaving of short programs.
//!
//! One receiver, one or two senders, queues of bounded length. A remote write is a step of its own, apart from the
//! decision and from the notice, so every race between them is taken. Checked at each step: nobody writes into a buffer
//! that is not waiting for it. Checked at the end of each run: everything that should be matched is, and matches are
//! those of MPI (module `oracle`).
//!
//! States that were reached before are not entered again. What a rank knows is a function of what it has done and seen,
//! so a state is named by the ranks' histories.

mod oracle;
mod world;

use std::collections::HashSet;
use std::iter;

use rwmpi_protocol::Rule;

use world::World;

/// A way to break the protocol, which the check must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// SR: the sender takes every request for a fresh one.
    IgnoresFreshness,
    /// SR: the sender takes every request for the next one.
    IgnoresSuccession,
    /// AUTO: the sender forgets what it has put into the FIFO.
    ForgetsTheFifo,
    /// AUTO: whoever asks for a claim word gets it.
    ClaimsAreAlwaysGranted,
    /// The receiver does not take its own claim word before it fills a buffer from the FIFO.
    ReceiverDoesNotClaim,
    /// The receiver advertises as if receives that it did not advertise were not there.
    ForgetsTheFence,
    /// The notice leaves before the bytes.
    NoticeBeforeBytes,
    /// Without claim words: the receiver cancels a receive without having its sender forget the request.
    CancelsWithoutAsking,
    /// The sender says that it has forgotten a request, and has not.
    RemembersWhatWasWithdrawn,
}

/// A message that a sender sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Send {
    /// Its tag.
    pub tag: u32,
    /// Whether it is large enough for a remote write.
    pub large: bool,
}

/// A receive that the receiver posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Receive {
    /// From which sender; `None`: any.
    pub source: Option<u32>,
    /// With which tag; `None`: any.
    pub tag: Option<u32>,
    /// Whether it is worth advertising.
    pub large: bool,
    /// Whether the receiver cancels it some time after posting it, unless it has been matched.
    pub cancel: bool,
}

/// What the ranks do.
#[derive(Clone, Debug)]
pub struct Program {
    /// The protocol's rule.
    pub rule: Rule,
    /// What each sender sends, in order.
    pub sends: Vec<Vec<Send>>,
    /// What the receiver posts, in order.
    pub receives: Vec<Receive>,
    /// What is broken.
    pub fault: Option<Fault>,
}

/// What happened in all runs of a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Distinct states.
    pub states: u64,
    /// Complete runs.
    pub runs: u64,
    /// Remote writes.
    pub writes: u64,
    /// Requests found stale.
    pub stale: u64,
    /// Requests found not to be the next (SR).
    pub skipped: u64,
    /// Claims that somebody else had won.
    pub lost_claims: u64,
}

impl std::ops::AddAssign for Seen {
    fn add_assign(&mut self, other: Seen) {
        self.states += other.states;
        self.runs += other.runs;
        self.writes += other.writes;
        self.stale += other.stale;
        self.skipped += other.skipped;
        self.lost_claims += other.lost_claims;
    }
}

/// Runs `program` in every order.
///
/// # Errors
/// The first violation, with the steps that led to it.
pub fn check(program: &Program) -> Result<Seen, String> {
    let mut seen = Seen::default();
    let mut known = HashSet::new();
    let mut stack = vec![World::new(program)];
    while let Some(world) = stack.pop() {
        let steps = world.enabled();
        if steps.is_empty() {
            seen.runs += 1;
            let totals = world.totals();
            seen.writes += totals.used;
            seen.stale += totals.stale;
            seen.skipped += totals.skipped;
            seen.lost_claims += world.lost_claims;
            oracle::check(program, &world.matches, &world.cancelled)
                .map_err(|what| format!("{what}\n{program:#?}\nsteps: {:#?}", world.steps))?;
            continue;
        }
        // The last of them is made of the state itself.
        for (mut next, step) in iter::repeat_n(world, steps.len()).zip(steps) {
            next.take(step).map_err(|what| format!("{what}\n{program:#?}\nsteps: {:#?}", next.steps))?;
            if known.insert(next.name()) {
                seen.states += 1;
                stack.push(next);
            }
        }
    }
    Ok(seen)
}

//! Whole engines on a simulated transport: the third level of test, between the model of the protocol and whole jobs.
//!
//! Every rank is a coroutine that runs ordinary blocking code on the real [`Engine`]; all share one thread. Before and
//! within each operation of the transport a seeded scheduler may give another rank its turn, queues hold a few cells
//! and refuse some for no reason, cells arrive late, copies come in two halves, and some pairs can't reach each other's
//! memory. What every receive got is then compared with what MPI says it should, and no buffer may be touched that its
//! owner has back.
//!
//! In a second kind of run something breaks: a rank dies, copies fail, memory runs out, a peer writes nonsense. Then
//! every rank has to come to an end, and whoever got a buffer back with an error has it for himself. In a third a rank
//! is hostile: the others may get wrong messages or errors, but they come to an end too, and no buffer is touched
//! beyond what its owner lent.
//!
//! A failure names its seed; `RWMPI_SIMULATION_SEED=n` runs that seed alone, `RWMPI_SIMULATION_RUNS=n` so many of them.

mod fabric;
mod memory;
mod network;
mod oracle;
mod program;
mod rank;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use corosensei::{Coroutine, CoroutineResult};

use super::Engine;
use network::{Accident, Network};
use oracle::{Got, Record};
use program::{Program, Wish};
use rank::{Rank, World};

/// Turns after which a run is taken to go on for ever.
const TURNS_MAX: u64 = 2_000_000;

/// Runs in the ordinary test run.
const RUNS: u64 = 800;

/// Seeds beyond these that have found faults: a shared transfer that was not closed before its buffer went back; a
/// message that chose again after having declined a request; one that was forgotten before a request was known that it
/// had answered.
const FOUND: [u64; 3] = [5486, 887, 13237];

impl<F: rwmpi_transport::Fabric> Engine<F> {
    /// What has not been tidied away, in words; empty if nothing.
    fn left_over(&self) -> String {
        let counts = [
            ("operations", self.operations.len()),
            ("unexpected messages", self.unexpected.len()),
            ("unexpected bytes", self.unexpected_bytes as usize),
            ("slots", self.slots.in_use()),
            ("backlog", self.backlog),
            ("awaited answers", self.answers_awaited),
            ("pulls", self.pulls.len()),
            ("messages left to receivers", self.left.len()),
            ("half messages", self.peers.iter().filter(|peer| peer.stream.is_some()).count()),
            ("posted receives", usize::from(!self.receiver.is_idle())),
        ];
        let left = counts.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{count} {what}"));
        left.collect::<Vec<_>>().join(", ")
    }
}

/// A rank under way.
type RankRun = Coroutine<(), (), ()>;

/// What happened in runs: a simulation in which something never happens does not test it.
#[derive(Clone, Debug, Default)]
struct Seen {
    turns: u64,
    /// Cells by kind: messages, requests.
    kinds: [[u64; 16]; 2],
    used: u64,
    stale: u64,
    cancelled_receives: usize,
    cancelled_sends: usize,
    truncated: usize,
    probed: usize,
    copied: usize,
    /// Ranks that saw the transport fail and got all buffers back.
    failed: usize,
    /// Ranks that could not get one back and ended the job.
    ended: usize,
}

impl std::ops::AddAssign for Seen {
    fn add_assign(&mut self, other: Seen) {
        let kinds = self.kinds.iter_mut().flatten().zip(other.kinds.iter().flatten());
        kinds.for_each(|(sum, count)| *sum += count);
        self.turns += other.turns;
        self.used += other.used;
        self.stale += other.stale;
        self.cancelled_receives += other.cancelled_receives;
        self.cancelled_sends += other.cancelled_sends;
        self.truncated += other.truncated;
        self.probed += other.probed;
        self.copied += other.copied;
        self.failed += other.failed;
        self.ended += other.ended;
    }
}

fn start(me: usize, world: Rc<World>, seen: Rc<RefCell<Seen>>) -> RankRun {
    Coroutine::new(move |turn, ()| {
        let mut rank = Rank::new(me, world.clone(), turn);
        let outcome = rank.run();
        let counters = rank.counters();
        seen.borrow_mut().used += counters.used;
        seen.borrow_mut().stale += counters.stale;
        if let Err(failure) = outcome {
            seen.borrow_mut().failed += 1;
            if world.program.conditions.accident.is_none() {
                world.network.borrow_mut().violated(format!("rank {me} failed: {failure:?}"));
            }
        }
    })
}

/// One run.
struct Run {
    world: Rc<World>,
    /// Coroutines of the ranks that have not come to their end.
    running: Vec<(usize, RankRun)>,
    seen: Rc<RefCell<Seen>>,
    /// After how many turns the launcher ends the job, once something has gone wrong.
    patience: u64,
}

impl Run {
    fn new(seed: u64, wish: Wish) -> Run {
        let program = Program::of_seed(seed, wish);
        let ranks = program.conditions.ranks;
        let network = Rc::new(RefCell::new(Network::new(program.conditions.clone(), seed ^ 0x5eed)));
        let errands = RefCell::new(vec![Default::default(); ranks]);
        let record = RefCell::new(Record::default());
        let world = Rc::new(World { program, network, record, done: Cell::new(0), errands });
        let seen = Rc::new(RefCell::new(Seen::default()));
        let running = (0..ranks).map(|me| (me, start(me, world.clone(), seen.clone()))).collect();
        Run { world, running, seen, patience: 2000 }
    }

    /// Everybody gets turns until all are done.
    fn run_to_end(mut self) -> Result<Seen, String> {
        let network = self.world.network.clone();
        while !self.running.is_empty() {
            self.seen.borrow_mut().turns += 1;
            if self.seen.borrow().turns > TURNS_MAX {
                return Err(format!("no end: {}", self.description()));
            }
            let next = network.borrow_mut().below(self.running.len());
            let (rank, coroutine) = &mut self.running[next];
            if !network.borrow().dead[*rank] && coroutine.resume(()) == CoroutineResult::Return(()) {
                self.running.swap_remove(next);
            }
            if let Some(violation) = network.borrow_mut().violation.take() {
                return Err(violation);
            }
            self.accident();
        }
        let trouble = [&network.borrow().dead, &network.borrow().ended].into_iter().any(|ranks| ranks.contains(&true));
        let complete = self.seen.borrow().failed == 0 && !trouble;
        network.borrow().memory.check_returned()?;
        if network.borrow().is_hostile() {
            return Ok(self.seen.take());
        }
        let checked = self.world.record.borrow().check(complete);
        checked.map_err(|violation| format!("{violation}; {}", self.description()))?;
        self.count();
        Ok(self.seen.take())
    }

    /// What comes from outside: a rank's death, and the launcher's reaction to whatever went wrong.
    fn accident(&mut self) {
        let mut network = self.world.network.borrow_mut();
        if let Some(Accident::Dies(rank)) = network.accident() {
            network.dead[rank] = true;
        }
        let troubled = self.seen.borrow().failed > 0
            || network.dead.contains(&true)
            || network.ended.contains(&true)
            || network.is_hostile();
        if troubled {
            self.patience = self.patience.saturating_sub(1);
            network.aborted = self.patience == 0;
        }
        // Those that have ended the job stay where they are; once the others are done too, nothing more will happen.
        let over = |rank: usize| network.dead[rank] || network.ended[rank];
        if troubled && self.running.iter().all(|(rank, _)| over(*rank)) {
            self.seen.borrow_mut().ended += network.ended.iter().filter(|&&ended| ended).count();
            drop(network);
            self.running.clear();
        }
    }

    fn count(&self) {
        let (mut seen, record) = (self.seen.borrow_mut(), self.world.record.borrow());
        seen.kinds = self.world.network.borrow().kinds;
        seen.copied = record.copied;
        seen.cancelled_sends = record.messages.iter().filter(|message| message.cancelled).count();
        for receive in &record.receives {
            seen.probed += usize::from(receive.promised.is_some());
            seen.cancelled_receives += usize::from(receive.got == Got::Cancelled);
            seen.truncated +=
                usize::from(matches!(receive.got, Got::Message { bytes, .. } if bytes > receive.capacity));
        }
    }

    fn description(&self) -> String {
        let (record, program) = (self.world.record.borrow(), &self.world.program);
        let sends = record.messages.iter().filter(|message| message.done.is_none());
        let receives = record.receives.iter().filter(|receive| receive.got == Got::Nothing);
        format!(
            "{:?}, {:?}; in flight {:?} {:?}; {} ranks through",
            program.rule,
            program.conditions,
            sends.collect::<Vec<_>>(),
            receives.collect::<Vec<_>>(),
            self.world.done.get()
        )
    }
}

/// Says how to see a failure again.
struct Note(u64);

impl Drop for Note {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("RWMPI_SIMULATION_SEED={} runs this again", self.0);
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// A run in which rank 0 writes what it likes.
pub fn run_beside_hostile_peer(seed: u64) {
    let _note = Note(seed);
    let wish = Wish { hostile: true, ..Wish::default() };
    Run::new(seed, wish).run_to_end().unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
}

/// Runs the seeds that are asked for.
fn run_all(wish: Wish) -> Seen {
    let seeds: Vec<u64> = match number("RWMPI_SIMULATION_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("RWMPI_SIMULATION_RUNS").unwrap_or(RUNS)).chain(FOUND).collect(),
    };
    let mut seen = Seen::default();
    for seed in seeds {
        let _note = Note(seed);
        seen += Run::new(seed, wish).run_to_end().unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
    }
    println!("{seen:?}");
    seen
}

/// Whether all seeds were run, so that what never happened is a fault of the simulation.
fn all_ran() -> bool {
    number("RWMPI_SIMULATION_SEED").is_none() && number("RWMPI_SIMULATION_RUNS").is_none_or(|runs| runs >= RUNS)
}

#[test]
fn random_programs_match_as_mpi_says() {
    let seen = run_all(Wish::default());
    if all_ran() {
        assert!(seen.kinds[0][1..=10].iter().all(|&count| count > 0), "every kind of cell: {seen:?}");
        assert!(seen.kinds[1][1..=4].iter().all(|&count| count > 0), "every kind of request: {seen:?}");
        assert!(seen.used > 0 && seen.stale > 0, "{seen:?}");
        assert!(seen.cancelled_receives > 0 && seen.cancelled_sends > 0, "{seen:?}");
        assert!(seen.truncated > 0 && seen.probed > 0 && seen.copied > 0, "{seen:?}");
    }
}

#[test]
fn whatever_breaks_buffers_are_safe_and_nobody_waits_for_ever() {
    let seen = run_all(Wish { accident: true, ..Wish::default() });
    if all_ran() {
        assert!(seen.failed > 0 && seen.ended > 0, "{seen:?}");
    }
}

#[test]
fn a_hostile_peer_does_no_harm() {
    let seen = run_all(Wish { hostile: true, ..Wish::default() });
    if all_ran() {
        assert!(seen.failed > 0, "{seen:?}");
    }
}

#[test]
fn a_network_that_breaks_its_promises_is_found_out() {
    use network::Sabotage::*;
    for sabotage in [LosesCells, RepeatsCells, SwapsCells, GrantsAllClaims, WritesHalf, AcceptsEarly] {
        let wish = Wish { sabotage: Some(sabotage), ..Wish::default() };
        let unnoticed = |seed| matches!(std::panic::catch_unwind(|| Run::new(seed, wish).run_to_end()), Ok(Ok(_)));
        let caught = (0..RUNS).find(|&seed| !unnoticed(seed));
        println!("{sabotage:?}: found out by seed {caught:?}");
        assert!(caught.is_some(), "nobody notices {sabotage:?}");
    }
}

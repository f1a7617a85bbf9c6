//! Whole engines on a simulated transport: the third level of test, between the model of the protocol and whole jobs.
//!
//! Every rank is a coroutine that runs ordinary blocking code on the real [`Engine`]; all share one thread. Before and within each
//! operation of the transport a seeded scheduler may give another rank its turn, queues hold a few cells and refuse some for no
//! reason, cells arrive late, copies come in two halves, and some pairs can't reach each other's memory. What every
//! receive got is then compared with what MPI says it should, and no buffer may be touched that its owner has back.
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
use network::{Network, Sabotage};
use oracle::Record;
use program::{Program, Wish};
use rank::{Rank, World};

/// Turns after which a run is taken to go on for ever.
const TURNS_MAX: u64 = 400_000;

/// Runs in the ordinary test run.
const RUNS: u64 = 300;

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
            ("half messages", self.peers.iter().filter(|peer| peer.stream.is_some()).count()),
            ("posted receives", usize::from(!self.receiver.is_idle())),
        ];
        let left = counts.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{count} {what}"));
        left.collect::<Vec<_>>().join(", ")
    }
}

type Coroutine_ = Coroutine<(), (), ()>;

fn start(me: usize, world: Rc<World>) -> Coroutine_ {
    Coroutine::new(move |turn, ()| {
        let mut rank = Rank::new(me, world, turn);
        if let Err(failure) = rank.run() {
            panic!("rank {me} failed: {failure:?}");
        }
    })
}

/// One run to its end.
fn run(seed: u64, wish: Wish) -> Result<u64, String> {
    let program = Program::of_seed(seed, wish);
    let ranks = program.conditions.ranks;
    let network = Rc::new(RefCell::new(Network::new(program.conditions.clone(), seed ^ 0x5eed)));
    let errands = RefCell::new(vec![Default::default(); ranks]);
    let record = RefCell::new(Record::default());
    let world = Rc::new(World { program, network: network.clone(), record, done: Cell::new(0), errands });
    let mut running: Vec<Coroutine_> = (0..ranks).map(|me| start(me, world.clone())).collect();
    let mut turns = 0;
    while !running.is_empty() {
        turns += 1;
        if turns > TURNS_MAX {
            return Err(format!(
                "no end after {turns} turns; {:?}; {:?}\n{:?} {:?} {}\n{:#?}\n{:#?}",
                world.record.borrow().check(true),
                world.program.conditions,
                world.program.protocol,
                world.record.borrow().messages.iter().enumerate().filter(|(_, m)| m.done.is_none()).collect::<Vec<_>>(),
                world.done.get(),
                world.record.borrow().receives.iter().filter(|r| r.got == oracle::Got::Nothing).collect::<Vec<_>>(),
                world.program.steps,
            ));
        }
        let next = network.borrow_mut().below(running.len());
        if let CoroutineResult::Return(()) = running[next].resume(()) {
            drop(running.swap_remove(next));
        }
        if let Some(violation) = network.borrow_mut().violation.take() {
            return Err(violation);
        }
    }
    network.borrow().memory.check_returned()?;
    world.record.borrow().check(true)?;
    Ok(turns)
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

fn seeds() -> std::ops::Range<u64> {
    match number("RWMPI_SIMULATION_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("RWMPI_SIMULATION_RUNS").unwrap_or(RUNS),
    }
}

#[test]
fn random_programs_match_as_mpi_says() {
    let mut turns = 0;
    for seed in seeds() {
        let note = Note(seed);
        turns += run(seed, Wish::default()).unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        drop(note);
    }
    println!("{turns} turns");
}

#[test]
fn a_network_that_breaks_its_promises_is_found_out() {
    use Sabotage::*;
    for sabotage in [LosesCells, RepeatsCells, SwapsCells, GrantsAllClaims, WritesHalf, ForgetsRefusals, AcceptsEarly] {
        let wish = Wish { sabotage: Some(sabotage), ..Wish::default() };
        let caught =
            (0..RUNS).find(|&seed| std::panic::catch_unwind(|| run(seed, wish)).is_ok_and(|result| result.is_ok()));
        println!("{sabotage:?}: {caught:?}");
    }
}

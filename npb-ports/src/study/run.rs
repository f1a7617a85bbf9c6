//! Makes the runs of a plan one after the other, and keeps each result as soon as it is there.
//!
//! Invariant: when this returns, and at any moment before, `results.json` holds every run that ended, so that whatever
//! ends the study, it can be gone on with.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rwmpi_launcher::Transport;

use crate::{Benchmark, Class};

use super::plan::{Cell, ORDER, Selection};
use super::progress::Progress;
use super::record::{Outcome, Record, Store};

/// Something that can make a run: the launcher, or a stand-in in tests.
pub trait Runner: Send + Sync + 'static {
    /// Makes one run; the error says in the user's words why there is no result.
    fn run(&self, cell: Cell, class: Class) -> Result<Outcome, String>;

    /// What carries messages in its runs.
    fn transport(&self) -> Transport {
        Transport::Auto
    }
}

/// What the loop of runs waits for.
pub enum Event {
    /// The run at hand ended.
    Ended(Result<Outcome, String>),
    /// The user wants to stop.
    Interrupted,
}

/// How the loop of runs ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every run was made.
    Complete,
    /// The user stopped it; so many runs are missing.
    Interrupted {
        /// Runs not made.
        missing: usize,
    },
}

/// Where interruptions come from and ends of runs arrive.
pub struct Events {
    sender: Sender<Event>,
    receiver: Receiver<Event>,
}

impl Default for Events {
    /// With no interruption in sight.
    fn default() -> Events {
        let (sender, receiver) = channel();
        Events { sender, receiver }
    }
}

impl Events {
    /// Makes Ctrl-C and SIGTERM interrupt the study; a second one ends this process at once.
    pub fn on_signals(&self) -> Result<()> {
        let sender = self.sender.clone();
        let mut signals = 0;
        let handler = move || {
            signals += 1;
            if signals > 1 || sender.send(Event::Interrupted).is_err() {
                std::process::exit(super::INTERRUPTED.into());
            }
        };
        ctrlc::set_handler(handler).context("cannot watch for Ctrl-C")
    }

    /// Where to say that the user wants to stop.
    pub fn sender(&self) -> Sender<Event> {
        self.sender.clone()
    }
}

/// The records of a study in the order of its tables.
#[derive(Default)]
pub struct Records(pub Vec<Record>);

impl Records {
    fn entry(&mut self, cell: Cell, class: Class) -> &mut Record {
        let place = |cell: Cell| (ORDER.iter().position(|it| *it == cell.benchmark), cell.ranks, cell.mode);
        let found = self.0.binary_search_by_key(&place(cell), |record| place(record.cell()));
        let index = found.unwrap_or_else(|index| {
            self.0.insert(index, Record::new(cell, class));
            index
        });
        &mut self.0[index]
    }

    fn done(&self, cell: Cell) -> usize {
        self.0.iter().find(|record| record.cell() == cell).map_or(0, Record::runs)
    }
}

/// Makes every run of `selection` that `records` lacks.
pub fn execute(
    selection: &Selection,
    records: &mut Records,
    store: &Store,
    runner: &Arc<impl Runner>,
    events: &Events,
    progress: &mut Progress,
) -> Result<Ending> {
    let runs = selection.runs(|cell| records.done(cell));
    let mut costs = Costs::default();
    progress.begin(runs.len());
    for (index, &cell) in runs.iter().enumerate() {
        progress.starts(cell, costs.expected(&runs[index..]));
        let start = Instant::now();
        let Some(result) = wait_for(cell, selection.class, runner, events, progress) else {
            progress.finish();
            return Ok(Ending::Interrupted { missing: runs.len() - index });
        };
        costs.note(cell, start.elapsed());
        progress.ended(cell, &result, costs.expected(&runs[index + 1..]));
        let record = records.entry(cell, selection.class);
        record.transport = runner.transport().name().to_owned();
        match result {
            Ok(outcome) => record.succeeded(outcome),
            Err(message) => record.failed(record.runs() + 1, message),
        }
        store.save_records(&records.0)?;
    }
    progress.finish();
    Ok(Ending::Complete)
}

/// Makes one run; `None` if the user stopped it. A run that was stopped ends with this process, as the launcher ties
/// its ranks to it.
fn wait_for(
    cell: Cell,
    class: Class,
    runner: &Arc<impl Runner>,
    events: &Events,
    progress: &Progress,
) -> Option<Result<Outcome, String>> {
    let (runner, sender) = (Arc::clone(runner), events.sender());
    thread::spawn(move || {
        let result = runner.run(cell, class);
        // Nobody listens any more if the user stopped the study meanwhile.
        let _ = sender.send(Event::Ended(result));
    });
    loop {
        match events.receiver.recv_timeout(Duration::from_secs(1)) {
            Ok(Event::Ended(result)) => return Some(result),
            Ok(Event::Interrupted) => return None,
            Err(RecvTimeoutError::Timeout) => progress.tick(),
            Err(RecvTimeoutError::Disconnected) => unreachable!("this function's caller holds a sender"),
        }
    }
}

/// How long runs took, to say how long the rest will.
#[derive(Default)]
struct Costs {
    latest: HashMap<(Benchmark, usize), Duration>,
    total: Duration,
    runs: u32,
}

impl Costs {
    fn note(&mut self, cell: Cell, took: Duration) {
        self.latest.insert((cell.benchmark, cell.ranks), took);
        self.total += took;
        self.runs += 1;
    }

    /// How long `runs` will take; `None` before anything is known.
    fn expected(&self, runs: &[Cell]) -> Option<Duration> {
        let average = self.total.checked_div(self.runs)?;
        let cost = |cell: &Cell| self.latest.get(&(cell.benchmark, cell.ranks)).copied().unwrap_or(average);
        Some(runs.iter().map(cost).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::Mode;
    use super::*;
    use crate::Traffic;
    use std::sync::Mutex;

    /// Runs nothing: hands out times, and fails or interrupts where told.
    struct Fake {
        made: Mutex<Vec<Cell>>,
        fail: Option<Benchmark>,
        interrupt_after: usize,
        stop: Sender<Event>,
    }

    impl Fake {
        fn new(events: &Events) -> Fake {
            Fake { made: Mutex::new(Vec::new()), fail: None, interrupt_after: usize::MAX, stop: events.sender() }
        }
    }

    impl Runner for Fake {
        fn run(&self, cell: Cell, _: Class) -> Result<Outcome, String> {
            let mut made = self.made.lock().unwrap();
            if made.len() == self.interrupt_after {
                self.stop.send(Event::Interrupted).unwrap();
                thread::sleep(Duration::from_millis(100));
            }
            made.push(cell);
            if self.fail == Some(cell.benchmark) {
                return Err("rank 1 was killed".to_owned());
            }
            let seconds = 1.0 + made.len() as f64;
            Ok(Outcome { seconds, mops: 1.0, verified: true, traffic: Traffic::default(), communication: vec![] })
        }
    }

    fn selection() -> Selection {
        Selection {
            benchmarks: vec![Benchmark::Ep, Benchmark::Cg],
            class: Class::S,
            modes: Mode::PROTOCOLS.to_vec(),
            limit: 2,
            repeats: 2,
        }
    }

    fn go(fake: Fake, events: &Events, records: &mut Records, store: &Store) -> (Ending, Vec<Cell>) {
        let fake = Arc::new(fake);
        let ending = execute(&selection(), records, store, &fake, events, &mut Progress::silent()).unwrap();
        let made = fake.made.lock().unwrap().clone();
        (ending, made)
    }

    fn saved(store: &Store) -> Vec<Record> {
        serde_json::from_slice(&std::fs::read(store.path("results.json")).unwrap()).unwrap()
    }

    #[test]
    fn every_run_is_made_and_the_fastest_counts() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let (events, mut records) = (Events::default(), Records::default());
        let (ending, made) = go(Fake::new(&events), &events, &mut records, &store);
        assert_eq!((ending, made.len()), (Ending::Complete, 24));
        let kept: Vec<(Cell, usize)> = saved(&store).iter().map(|it| (it.cell(), it.runs())).collect();
        assert_eq!(kept, selection().cells().into_iter().map(|cell| (cell, 2)).collect::<Vec<_>>());
        let first = &records.0[0];
        assert_eq!((first.benchmark, first.ranks, first.protocol), (Benchmark::Ep, 1, Mode::Sr));
        assert_eq!(first.seconds, Some(2.0), "its first run came first of all");
        assert_eq!(first.repeats.len(), 2);
    }

    #[test]
    fn a_failure_is_kept_and_the_rest_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let (events, mut records) = (Events::default(), Records::default());
        let fake = Fake { fail: Some(Benchmark::Ep), ..Fake::new(&events) };
        let (ending, made) = go(fake, &events, &mut records, &store);
        assert_eq!((ending, made.len()), (Ending::Complete, 24));
        let (failed, well): (Vec<_>, Vec<_>) = saved(&store).into_iter().partition(|it| it.benchmark == Benchmark::Ep);
        assert!(failed.iter().all(|it| !it.verified && it.failures.len() == 2 && it.seconds.is_none()));
        assert!(well.iter().all(|it| it.verified && it.repeats.len() == 2));
        assert_eq!(failed[0].failures[1].repeat, 2);
        assert_eq!(failed[0].failures[1].message, "rank 1 was killed");
    }

    #[test]
    fn an_interrupted_study_keeps_what_it_has_and_goes_on_with_the_rest() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let (events, mut records) = (Events::default(), Records::default());
        let fake = Fake { interrupt_after: 7, ..Fake::new(&events) };
        let (ending, _) = go(fake, &events, &mut records, &store);
        assert_eq!(ending, Ending::Interrupted { missing: 17 });
        let kept = saved(&store);
        assert_eq!(kept.iter().map(Record::runs).sum::<usize>(), 7);

        let (events, mut records) = (Events::default(), Records(kept));
        let (ending, made) = go(Fake::new(&events), &events, &mut records, &store);
        assert_eq!((ending, made.len()), (Ending::Complete, 17));
        assert!(saved(&store).iter().all(|record| record.repeats.len() == 2));
    }
}

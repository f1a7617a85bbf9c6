//! What the study keeps of its runs, and the file it keeps it in.
//!
//! Invariants: `results.json` holds an array with one record per benchmark, process count and protocol; it is replaced
//! as a whole by a rename, so whoever reads it sees a complete state, whenever the study was interrupted. The figures
//! of a record (seconds, Mop/s, messages, requests) are all those of one run, the fastest that verified.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use crate::{Benchmark, Class, PairTraffic, Traffic};

use super::machine::Machine;
use super::micro::Micro;
use super::plan::{Cell, Mode, ORDER};

/// What one run reports, as far as the study keeps it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Outcome {
    /// Seconds that the timed part took.
    pub seconds: f64,
    /// Millions of the benchmark's operations per second, all ranks together.
    pub mops: f64,
    /// Whether the results are right.
    pub verified: bool,
    /// What the ranks sent and how.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// Who sent how much to whom: a row per sender, a column per receiver.
    pub communication: Vec<Vec<PairTraffic>>,
}

/// A run that did not end well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which repeat, counted from 1.
    pub repeat: usize,
    /// What happened, in words.
    pub message: String,
}

/// All runs of one benchmark with one process count and one protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Which benchmark.
    pub benchmark: Benchmark,
    /// Problem class.
    pub class: Class,
    /// Processes.
    pub ranks: usize,
    /// Protocol mode.
    pub protocol: Mode,
    /// What carried messages: auto or tcp.
    #[serde(default = "usual_transport")]
    pub transport: String,
    /// Seconds of the fastest verified run; none if no run was verified.
    pub seconds: Option<f64>,
    /// Mop/s of that run.
    pub mops: Option<f64>,
    /// Whether every run so far ended and verified.
    pub verified: bool,
    /// Traffic of the fastest run.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// Seconds of every verified run, in the order they ran.
    pub repeats: Vec<f64>,
    /// Fastest, in seconds.
    pub min: Option<f64>,
    /// Middle one, in seconds.
    pub median: Option<f64>,
    /// Slowest, in seconds.
    pub max: Option<f64>,
    /// Slowest less fastest, as a fraction of the fastest.
    pub spread: Option<f64>,
    /// Runs that did not end well.
    pub failures: Vec<Failure>,
    /// Who sent how much to whom in the fastest run: row is the sender, column the receiver.
    pub communication: Vec<Vec<PairTraffic>>,
}

/// That of studies that were made before there was a choice.
pub fn usual_transport() -> String {
    "auto".to_owned()
}

impl Record {
    /// A record with no runs yet.
    pub fn new(cell: Cell, class: Class) -> Record {
        Record {
            benchmark: cell.benchmark,
            class,
            ranks: cell.ranks,
            protocol: cell.mode,
            transport: usual_transport(),
            seconds: None,
            mops: None,
            verified: false,
            traffic: Traffic::default(),
            repeats: Vec::new(),
            min: None,
            median: None,
            max: None,
            spread: None,
            failures: Vec::new(),
            communication: Vec::new(),
        }
    }

    /// Which cell of the plan it is about.
    pub fn cell(&self) -> Cell {
        Cell { benchmark: self.benchmark, ranks: self.ranks, mode: self.protocol }
    }

    /// Adds a run that ended and verified.
    pub fn succeeded(&mut self, outcome: Outcome) {
        if self.min.is_none_or(|best| outcome.seconds < best) {
            self.seconds = Some(outcome.seconds);
            self.mops = Some(outcome.mops);
            self.traffic = outcome.traffic;
            self.communication = outcome.communication;
        }
        self.repeats.push(outcome.seconds);
        let mut sorted = self.repeats.clone();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
        self.min = Some(min);
        self.median = Some((sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0);
        self.max = Some(max);
        self.spread = (min > 0.0).then(|| max / min - 1.0);
        self.verified = self.failures.is_empty();
    }

    /// Adds a run that did not.
    pub fn failed(&mut self, repeat: usize, message: String) {
        self.failures.push(Failure { repeat, message });
        self.verified = false;
    }

    /// Forgets the failures, so that those runs are tried again.
    pub fn forgive(&mut self) {
        self.failures.clear();
        self.verified = !self.repeats.is_empty();
    }

    /// What failed, in words: how often, and what each failure said that no earlier one did.
    pub fn failure_report(&self) -> String {
        let mut told: Vec<&Failure> = Vec::new();
        for failure in &self.failures {
            // Process numbers differ from run to run, and make no difference.
            let gist = |text: &str| text.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
            if told.iter().all(|earlier| gist(&earlier.message) != gist(&failure.message)) {
                told.push(failure);
            }
        }
        let messages: Vec<String> = told.iter().map(|it| format!("repeat {}: {}", it.repeat, it.message)).collect();
        format!("{} of {} runs failed; {}", self.failures.len(), self.runs(), messages.join("\n"))
    }

    /// Runs that were made, well or not.
    pub fn runs(&self) -> usize {
        self.repeats.len() + self.failures.len()
    }

    /// Bytes sent per second in the fastest run.
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.seconds.filter(|seconds| *seconds > 0.0).map(|seconds| self.traffic.bytes as f64 / seconds)
    }

    /// Messages sent per second in the fastest run.
    pub fn messages_per_second(&self) -> Option<f64> {
        self.seconds.filter(|seconds| *seconds > 0.0).map(|seconds| self.traffic.messages as f64 / seconds)
    }
}

impl Traffic {
    /// Bytes written straight into the receiver's buffer, of all bytes; none if nothing was sent.
    pub fn availability_by_bytes(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.remote_write_bytes as f64 / self.bytes as f64)
    }

    /// Messages written straight into the receiver's buffer, of all messages; none if nothing was sent.
    pub fn availability_by_messages(&self) -> Option<f64> {
        (self.messages > 0).then(|| self.remote_write_messages as f64 / self.messages as f64)
    }

    /// Bytes in messages of at least 8 KiB that were copied once only, of all bytes in such messages; none if there
    /// were none.
    pub fn copied_once(&self) -> Option<f64> {
        (self.large_bytes > 0).then(|| self.large_single_copy_bytes as f64 / self.large_bytes as f64)
    }

    /// Bytes in a message, on average; none if nothing was sent.
    pub fn mean_message_bytes(&self) -> Option<f64> {
        (self.messages > 0).then(|| self.bytes as f64 / self.messages as f64)
    }
}

/// What a study was asked for, and where and when it ran; kept beside the results as `study.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Problem class of every run.
    pub class: Class,
    /// Most processes a run may have.
    pub ranks: usize,
    /// Runs per benchmark, process count and protocol.
    pub repeats: usize,
    /// What carried messages in every run.
    #[serde(default = "usual_transport")]
    pub transport: String,
    /// The machine and the day.
    pub machine: Machine,
    /// Round-trip time and bandwidth, as far as measured.
    #[serde(default)]
    pub micro: Micro,
}

/// A study's settings and everything measured so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// What was asked for.
    pub settings: Settings,
    /// One record per cell, in the order of the plan.
    pub records: Vec<Record>,
    /// Runs that the plan still lacks.
    pub missing: usize,
    /// The same over another transport, to be shown beside it.
    pub beside: Option<Box<Study>>,
}

impl Study {
    /// The record of a cell, if there is one.
    pub fn record(&self, benchmark: Benchmark, ranks: usize, mode: Mode) -> Option<&Record> {
        let cell = Cell { benchmark, ranks, mode };
        self.records.iter().find(|record| record.cell() == cell)
    }

    /// The benchmarks that have records, in the usual order.
    pub fn benchmarks(&self) -> Vec<Benchmark> {
        ORDER.into_iter().filter(|it| self.records.iter().any(|record| record.benchmark == *it)).collect()
    }

    /// Those of the modes that have messages.
    pub fn protocols(&self) -> Vec<Mode> {
        self.modes().into_iter().filter(|mode| *mode != Mode::OneSided).collect()
    }

    /// The modes that have records, in the usual order.
    pub fn modes(&self) -> Vec<Mode> {
        Mode::ALL.into_iter().filter(|it| self.records.iter().any(|record| record.protocol == *it)).collect()
    }

    /// The process counts that a benchmark ran with, ascending.
    pub fn rank_counts(&self, benchmark: Benchmark) -> Vec<usize> {
        let of_benchmark = self.records.iter().filter(|record| record.benchmark == benchmark);
        let mut counts: Vec<usize> = of_benchmark.map(|record| record.ranks).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// The largest process count of a benchmark at which some run verified, if that is more than one process: where
    /// protocols can differ.
    pub fn widest(&self, benchmark: Benchmark) -> Option<usize> {
        let measured = self.records.iter().filter(|record| record.benchmark == benchmark && record.seconds.is_some());
        measured.map(|record| record.ranks).max().filter(|ranks| *ranks > 1)
    }

    /// Seconds on one process over seconds on `ranks`, same mode.
    pub fn speed_up(&self, benchmark: Benchmark, ranks: usize, mode: Mode) -> Option<f64> {
        let alone = self.record(benchmark, 1, mode)?.seconds?;
        let together = self.record(benchmark, ranks, mode)?.seconds?;
        (together > 0.0).then(|| alone / together)
    }

    /// Whether nothing failed.
    pub fn all_well(&self) -> bool {
        self.failed().next().is_none() && self.settings.micro.failures.is_empty()
    }

    /// The records with runs that did not end well.
    pub fn failed(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| !record.failures.is_empty())
    }
}

/// The directory of a study.
#[derive(Clone, Debug)]
pub struct Store {
    directory: PathBuf,
}

impl Store {
    /// Opens the directory, making it if it is not there.
    pub fn open(directory: &Path) -> Result<Store> {
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot make the directory {}: name another with --out", directory.display()))?;
        Ok(Store::at(directory))
    }

    /// That of an earlier study.
    pub fn at(directory: &Path) -> Store {
        Store { directory: directory.to_owned() }
    }

    /// Where a file of the study is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Settings and records of an earlier study here; none if there was none.
    pub fn load(&self) -> Result<Option<(Settings, Vec<Record>)>> {
        let (results, study) = (self.path("results.json"), self.path("study.json"));
        if !results.exists() && !study.exists() {
            return Ok(None);
        }
        Ok(Some((read(&study)?, read(&results)?)))
    }

    /// Puts the results of an earlier study aside, under names that the next does not touch. Returns whether there were
    /// any.
    pub fn set_aside(&self) -> Result<bool> {
        let results = self.path("results.json");
        if !results.exists() {
            return Ok(false);
        }
        let kept = self.path("results-before.json");
        fs::rename(&results, &kept).with_context(|| format!("cannot rename {}", results.display()))?;
        Ok(true)
    }

    /// Writes `results.json`.
    pub fn save_records(&self, records: &[Record]) -> Result<()> {
        self.replace("results.json", &serde_json::to_vec_pretty(records)?)
    }

    /// Writes `study.json`.
    pub fn save_settings(&self, settings: &Settings) -> Result<()> {
        self.replace("study.json", &serde_json::to_vec_pretty(settings)?)
    }

    /// Puts a whole new file in the place of the old one; readers see one or the other.
    pub fn replace(&self, name: &str, contents: &[u8]) -> Result<()> {
        let (path, unfinished) = (self.path(name), self.path(&format!(".{name}.unfinished")));
        let write = || -> std::io::Result<()> {
            let mut file = fs::File::create(&unfinished)?;
            file.write_all(contents)?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) => bail!("cannot read {} ({error}): run without --resume to start anew", path.display()),
    };
    serde_json::from_slice(&text)
        .with_context(|| format!("{} is not what a study writes: run without --resume to start anew", path.display()))
}

/// That an earlier study can be gone on with under these settings.
pub fn check_resumable(before: &Settings, class: Class, ranks: usize, repeats: usize, transport: &str) -> Result<()> {
    if before.transport != transport {
        bail!(
            "the study to go on with was made with --transport {}: give the same, another --out, or leave out --resume to start anew",
            before.transport
        )
    }
    if before.class == class && before.ranks == ranks && before.repeats == repeats {
        return Ok(());
    }
    bail!(
        "the study to go on with was of class {} with -n {} and --repeats {}, not class {class} with -n {ranks} and --repeats \
         {repeats}: give the same, another --out, or leave out --resume to start anew",
        before.class,
        before.ranks,
        before.repeats
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell() -> Cell {
        Cell { benchmark: Benchmark::Cg, ranks: 2, mode: Mode::Sr }
    }

    fn outcome(seconds: f64, messages: u64) -> Outcome {
        let traffic = Traffic { messages, ..Traffic::default() };
        Outcome { seconds, mops: 1.0 / seconds, verified: true, traffic, communication: vec![] }
    }

    #[test]
    fn figures_are_those_of_the_fastest_run() {
        let mut record = Record::new(cell(), Class::S);
        for (seconds, messages) in [(2.0, 20), (1.0, 10), (4.0, 40)] {
            record.succeeded(outcome(seconds, messages));
        }
        assert_eq!((record.seconds, record.mops, record.traffic.messages), (Some(1.0), Some(1.0), 10));
        assert_eq!((record.median, record.max, record.spread), (Some(2.0), Some(4.0), Some(3.0)));
        assert!(record.verified);
    }

    #[test]
    fn one_failure_among_many_runs_is_not_verified() {
        let mut record = Record::new(cell(), Class::S);
        record.succeeded(outcome(1.0, 1));
        record.failed(2, "rank 0 (pid 17) died\nin send".to_owned());
        record.failed(3, "rank 0 (pid 4711) died\nin send".to_owned());
        record.succeeded(outcome(1.0, 1));
        assert!(!record.verified);
        assert_eq!(record.failure_report(), "2 of 4 runs failed; repeat 2: rank 0 (pid 17) died\nin send");
        record.forgive();
        assert!(record.verified);
        assert_eq!(record.runs(), 2);
    }

    #[test]
    fn results_have_the_promised_fields() {
        let mut record = Record::new(cell(), Class::S);
        record.succeeded(outcome(1.0, 1));
        let json = serde_json::to_value(&record).unwrap();
        let fields = ["benchmark", "class", "ranks", "protocol", "seconds", "mops", "verified", "messages", "bytes"];
        let more = ["remote_write_messages", "remote_write_bytes", "repeats", "min", "spread", "communication"];
        for field in fields.iter().chain(&more) {
            assert!(!json[field].is_null(), "{field} in {json}");
        }
        assert_eq!((&json["benchmark"], &json["protocol"]), (&"cg".into(), &"sr".into()));
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("new")).unwrap();
        assert!(store.load().unwrap().is_none());
        store.replace("results.json", b"first").unwrap();
        store.replace("results.json", b"second").unwrap();
        assert_eq!(fs::read(store.path("results.json")).unwrap(), b"second");
        assert_eq!(fs::read_dir(directory.path().join("new")).unwrap().count(), 1);
        let message = format!("{:#}", store.load().unwrap_err());
        assert!(message.contains("run without --resume"), "{message}");
    }

    #[test]
    fn only_the_same_study_goes_on() {
        let settings = Settings {
            class: Class::S,
            ranks: 2,
            repeats: 5,
            transport: usual_transport(),
            machine: Machine::here(),
            micro: Micro::default(),
        };
        assert!(check_resumable(&settings, Class::S, 2, 5, "auto").is_ok());
        for (class, ranks, repeats) in [(Class::W, 2, 5), (Class::S, 4, 5), (Class::S, 2, 3)] {
            let message = check_resumable(&settings, class, ranks, repeats, "auto").unwrap_err().to_string();
            assert!(message.contains("leave out --resume"), "{message}");
        }
        let message = check_resumable(&settings, Class::S, 2, 5, "tcp").unwrap_err().to_string();
        assert!(message.contains("--transport auto"), "{message}");
    }
}

//! Which runs a study makes, and in which order.
//!
//! Invariant: the modes of one benchmark and process count run one right after the other, and the one that begins
//! changes from repeat to repeat, so a machine that gets slower or faster meanwhile does so for all of them alike.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::memory::{self, Shortage};
use crate::{Benchmark, Class};

/// The benchmarks in the order of the thesis's list.
pub const ORDER: [Benchmark; 8] = {
    use Benchmark::*;
    [Ep, Mg, Cg, Ft, Is, Lu, Sp, Bt]
};

/// The benchmark's name as people write it: `CG`.
pub fn title(benchmark: Benchmark) -> String {
    benchmark.to_string().to_uppercase()
}

/// What the benchmark computes and how it communicates, in a few words.
pub fn subject(benchmark: Benchmark) -> &'static str {
    match benchmark {
        Benchmark::Ep => "random numbers; almost no communication",
        Benchmark::Mg => "multigrid; many small boundary exchanges",
        Benchmark::Cg => "conjugate gradient; exchanges of rows and small sums",
        Benchmark::Ft => "Fourier transform; all-to-all of the whole array",
        Benchmark::Is => "integer sort; all-to-all of the keys",
        Benchmark::Lu => "wavefront solver; a stream of small messages",
        Benchmark::Sp => "scalar pentadiagonal solver; large faces of blocks",
        Benchmark::Bt => "block tridiagonal solver; large faces of blocks",
    }
}

/// Whether the benchmark wants a square number of processes.
pub fn wants_squares(benchmark: Benchmark) -> bool {
    matches!(benchmark, Benchmark::Sp | Benchmark::Bt)
}

/// The process counts a study uses, up to `limit`: powers of two, or squares where the benchmark wants them, as far as
/// the class has work for so many.
pub fn rank_counts(benchmark: Benchmark, class: Class, limit: usize) -> Vec<usize> {
    let counts: Vec<usize> = if wants_squares(benchmark) {
        (1..).map(|side| side * side).take_while(|count| *count <= limit).collect()
    } else {
        (0..usize::BITS).map(|exponent| 1 << exponent).take_while(|count| *count <= limit).collect()
    };
    counts.into_iter().filter(|count| benchmark.check_process_count(class, *count).is_ok()).collect()
}

/// How messages travel in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// With requests for send, as in the thesis.
    Sr,
    /// Without them: everything through the FIFO.
    Nsr,
    /// Whichever pays, message by message.
    Auto,
    /// Without messages: ranks put their data into the memory of others.
    #[value(skip)]
    #[serde(rename = "one-sided")]
    OneSided,
}

impl Mode {
    /// All of them, in the order of the tables.
    pub const ALL: [Mode; 4] = [Mode::Sr, Mode::Nsr, Mode::Auto, Mode::OneSided];
    /// Those with messages.
    pub const PROTOCOLS: [Mode; 3] = [Mode::Sr, Mode::Nsr, Mode::Auto];

    /// Whether the benchmark can run so.
    pub fn is_for(self, benchmark: Benchmark) -> bool {
        self != Mode::OneSided || benchmark.definition().has_one_sided
    }

    /// Its name as the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Sr => "sr",
            Mode::Nsr => "nsr",
            Mode::Auto => "auto",
            Mode::OneSided => "one-sided",
        }
    }

    /// Its name as people write it.
    pub fn title(self) -> &'static str {
        match self {
            Mode::Sr => "SR",
            Mode::Nsr => "NSR",
            Mode::Auto => "AUTO",
            Mode::OneSided => "PUT",
        }
    }
}

/// One benchmark with one process count and one mode: what a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Which benchmark.
    pub benchmark: Benchmark,
    /// Processes.
    pub ranks: usize,
    /// Mode.
    pub mode: Mode,
}

/// What the user chose.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Benchmarks, in the order they run.
    pub benchmarks: Vec<Benchmark>,
    /// Problem class.
    pub class: Class,
    /// Modes.
    pub modes: Vec<Mode>,
    /// Most processes.
    pub limit: usize,
    /// Runs per cell.
    pub repeats: usize,
}

impl Selection {
    /// Every cell, in the order of the tables.
    #[cfg(test)]
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &benchmark in &self.benchmarks {
            for ranks in rank_counts(benchmark, self.class, self.limit) {
                let modes = self.modes_of(benchmark);
                cells.extend(modes.into_iter().map(|mode| Cell { benchmark, ranks, mode }));
            }
        }
        cells
    }

    /// The modes with messages.
    pub fn protocols(&self) -> Vec<Mode> {
        self.modes.iter().copied().filter(|mode| *mode != Mode::OneSided).collect()
    }

    /// The modes in which a benchmark runs.
    fn modes_of(&self, benchmark: Benchmark) -> Vec<Mode> {
        self.modes.iter().copied().filter(|mode| mode.is_for(benchmark)).collect()
    }

    /// Whether this machine has memory for each of the runs; the error names the first that it has not.
    pub fn check_memory(&self) -> Result<(), Shortage> {
        for &benchmark in &self.benchmarks {
            for ranks in rank_counts(benchmark, self.class, self.limit) {
                let bytes_per_rank = (benchmark.definition().memory_per_rank)(self.class, ranks);
                let checked = memory::check_here(ranks, bytes_per_rank);
                checked.map_err(|shortage| format!("{benchmark} class {}: {shortage}", self.class))?;
            }
        }
        Ok(())
    }

    /// Every run that is still to make, given how many each cell already has, in the order they run.
    pub fn runs(&self, done: impl Fn(Cell) -> usize) -> Vec<Cell> {
        let mut runs = Vec::new();
        for repeat in 0..self.repeats {
            for &benchmark in &self.benchmarks {
                let modes = self.modes_of(benchmark);
                for ranks in rank_counts(benchmark, self.class, self.limit) {
                    for turn in 0..modes.len() {
                        let mode = modes[(turn + repeat) % modes.len()];
                        let cell = Cell { benchmark, ranks, mode };
                        if repeat >= done(cell) {
                            runs.push(cell);
                        }
                    }
                }
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(limit: usize, repeats: usize) -> Selection {
        Selection { class: Class::A, benchmarks: ORDER.to_vec(), modes: Mode::PROTOCOLS.to_vec(), limit, repeats }
    }

    #[test]
    fn process_counts_are_powers_of_two_or_squares() {
        assert_eq!(rank_counts(Benchmark::Cg, Class::A, 9), [1, 2, 4, 8]);
        assert_eq!(rank_counts(Benchmark::Lu, Class::A, 2), [1, 2]);
        assert_eq!(rank_counts(Benchmark::Sp, Class::A, 9), [1, 4, 9]);
        assert_eq!(rank_counts(Benchmark::Bt, Class::A, 2), [1]);
    }

    #[test]
    fn every_mode_begins_equally_often() {
        let runs = selection(1, 3).runs(|_| 0);
        for mode in Mode::PROTOCOLS {
            let begins = runs.chunks(3).filter(|group| group[0].mode == mode).count();
            assert_eq!(begins, ORDER.len());
        }
    }

    #[test]
    fn modes_of_one_cell_are_neighbours() {
        for group in selection(4, 2).runs(|_| 0).chunks(3) {
            assert!(group.iter().all(|cell| (cell.benchmark, cell.ranks) == (group[0].benchmark, group[0].ranks)));
        }
    }

    #[test]
    fn one_sided_runs_are_for_benchmarks_that_have_them() {
        let selection = Selection { modes: Mode::ALL.to_vec(), ..selection(2, 1) };
        let put: Vec<Benchmark> =
            selection.cells().iter().filter(|cell| cell.mode == Mode::OneSided).map(|cell| cell.benchmark).collect();
        assert_eq!(put, [Benchmark::Mg, Benchmark::Mg, Benchmark::Is, Benchmark::Is]);
        assert_eq!(selection.runs(|_| 0).len(), selection.cells().len());
    }

    #[test]
    fn what_is_done_is_not_run_again() {
        let whole = selection(2, 3);
        let finished = Cell { benchmark: Benchmark::Is, ranks: 2, mode: Mode::Nsr };
        let left = whole.runs(|cell| if cell == finished { 3 } else { 1 });
        assert!(!left.contains(&finished));
        assert_eq!(left.len(), (whole.cells().len() - 1) * 2);
    }
}

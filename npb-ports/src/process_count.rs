//! Which numbers of processes a benchmark can be run on.

use crate::{Benchmark, Class};
use std::fmt;

/// A number of processes that a benchmark can't be run on, with the legal ones near it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessCountError {
    benchmark: Benchmark,
    class: Class,
    processes: usize,
    nearest: Vec<usize>,
}

impl ProcessCountError {
    /// No number above this is proposed.
    const LARGEST: usize = 1 << 16;

    pub(crate) fn check(benchmark: Benchmark, class: Class, processes: usize) -> Result<(), Self> {
        let allowed = |count: &usize| *count > 0 && (benchmark.definition().allows)(class, *count);
        if allowed(&processes) {
            return Ok(());
        }
        let mut nearest: Vec<_> = (1..processes.min(Self::LARGEST)).rev().filter(allowed).take(2).collect();
        nearest.reverse();
        nearest.extend((processes.saturating_add(1)..=Self::LARGEST).filter(allowed).take(2));
        Err(ProcessCountError { benchmark, class, processes, nearest })
    }

    /// Legal numbers near the refused one: up to two on each side, ascending.
    pub fn nearest(&self) -> &[usize] {
        &self.nearest
    }
}

impl fmt::Display for ProcessCountError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProcessCountError { benchmark, class, processes, nearest } = self;
        let needs = benchmark.definition().process_counts;
        let nearest = nearest.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let plural = if *processes == 1 { "" } else { "es" };
        write!(formatter, "{benchmark} class {class} can't run on {processes} process{plural}: it needs {needs}; ")?;
        write!(formatter, "the nearest that work: {nearest}")
    }
}

impl std::error::Error for ProcessCountError {}

#[cfg(test)]
mod tests {
    use crate::{Benchmark, Class};

    fn nearest(benchmark: Benchmark, class: Class, processes: usize) -> Vec<usize> {
        benchmark.check_process_count(class, processes).unwrap_err().nearest().to_vec()
    }

    fn legal(benchmark: Benchmark, class: Class) -> Vec<usize> {
        (0..=40).filter(|&processes| benchmark.check_process_count(class, processes).is_ok()).collect()
    }

    #[test]
    fn the_rules_are_those_of_the_definition() {
        for benchmark in [Benchmark::Is, Benchmark::Cg, Benchmark::Mg, Benchmark::Ft] {
            assert_eq!(legal(benchmark, Class::A), [1, 2, 4, 8, 16, 32], "{benchmark}");
        }
        for benchmark in [Benchmark::Sp, Benchmark::Bt] {
            assert_eq!(legal(benchmark, Class::A), [1, 4, 9, 16, 25, 36], "{benchmark}");
            assert_eq!(legal(benchmark, Class::S), [1, 4, 9, 16], "{benchmark}: a cell has three points at least");
        }
        assert_eq!(legal(Benchmark::Ep, Class::S).len(), 40);
        assert_eq!(legal(Benchmark::Lu, Class::A)[..10], [1, 2, 4, 6, 8, 9, 12, 15, 16, 18]);
        assert_eq!(legal(Benchmark::Lu, Class::S).last(), Some(&16));
    }

    #[test]
    fn the_nearest_legal_numbers_are_named() {
        assert_eq!(nearest(Benchmark::Cg, Class::A, 3), [1, 2, 4, 8]);
        assert_eq!(nearest(Benchmark::Bt, Class::A, 0), [1, 4]);
        assert_eq!(nearest(Benchmark::Is, Class::S, 129), [64, 128]);
        assert_eq!(nearest(Benchmark::Ep, Class::S, usize::MAX), [255, 256]);
        let message = Benchmark::Sp.check_process_count(Class::W, 2).unwrap_err().to_string();
        assert_eq!(
            message,
            "sp class W can't run on 2 processes: it needs a square number; the nearest that work: 1, 4, 9"
        );
    }
}

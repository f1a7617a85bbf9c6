//! The eight benchmarks by name, and what the frame must know of each before and while it runs.

use crate::definition::Definition;
use crate::{BenchmarkResult, Class, Options, ProcessCountError, bt, cg, ep, ft, is, lu, mg, sp};
use rwmpi::{Communicator, Result, Universe};
use std::fmt;
use std::str::FromStr;

/// A benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Benchmark {
    /// Embarrassingly parallel: Gaussian pairs by rejection; communicates only at the end.
    Ep,
    /// Integer sort: bucketed ranking of keys; all-to-all.
    Is,
    /// Conjugate gradient on an irregular sparse matrix; long rows and transposes.
    Cg,
    /// Multigrid on a periodic cube; ghost faces of every size.
    Mg,
    /// Three-dimensional Fourier transform; large transposes.
    Ft,
    /// Lower-upper symmetric Gauss-Seidel; a pipeline of many small messages.
    Lu,
    /// Scalar pentadiagonal solver on a multi-partition.
    Sp,
    /// Block tridiagonal solver on a multi-partition.
    Bt,
}

impl Benchmark {
    /// All of them.
    pub const ALL: [Benchmark; 8] = {
        use Benchmark::*;
        [Ep, Is, Cg, Mg, Ft, Lu, Sp, Bt]
    };

    /// What it tells about itself.
    pub fn definition(self) -> &'static Definition {
        match self {
            Benchmark::Ep => &ep::DEFINITION,
            Benchmark::Is => &is::DEFINITION,
            Benchmark::Cg => &cg::DEFINITION,
            Benchmark::Mg => &mg::DEFINITION,
            Benchmark::Ft => &ft::DEFINITION,
            Benchmark::Lu => &lu::DEFINITION,
            Benchmark::Sp => &sp::DEFINITION,
            Benchmark::Bt => &bt::DEFINITION,
        }
    }

    /// Whether `processes` can run `class`; the error says which numbers near it can.
    pub fn check_process_count(self, class: Class, processes: usize) -> std::result::Result<(), ProcessCountError> {
        ProcessCountError::check(self, class, processes)
    }

    /// Runs it on all ranks of `world` and gathers what they measured; every rank gets the same result.
    ///
    /// # Panics
    /// If `world` has a size that [`Benchmark::check_process_count`] refuses.
    pub fn run(
        self,
        world: &Communicator,
        universe: &Universe,
        class: Class,
        options: &Options,
    ) -> Result<BenchmarkResult> {
        if let Err(error) = self.check_process_count(class, world.size()) {
            panic!("{error}");
        }
        let outcome = (self.definition().run)(world, universe, class, options)?;
        BenchmarkResult::gather(self, class, world, universe, outcome)
    }
}

impl fmt::Display for Benchmark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{self:?}").to_lowercase())
    }
}

impl FromStr for Benchmark {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let named = Benchmark::ALL.into_iter().find(|benchmark| text.eq_ignore_ascii_case(&benchmark.to_string()));
        named.ok_or_else(|| format!("there is no benchmark '{text}': choose ep, is, cg, mg, ft, lu, sp or bt"))
    }
}

#[cfg(test)]
mod tests {
    use super::Benchmark;

    #[test]
    fn names_of_either_case_are_understood_and_others_refused() {
        for benchmark in Benchmark::ALL {
            assert_eq!(benchmark.to_string().parse(), Ok(benchmark));
            assert_eq!(benchmark.to_string().to_uppercase().parse(), Ok(benchmark));
        }
        assert!("ua".parse::<Benchmark>().unwrap_err().contains("'ua'"));
    }
}

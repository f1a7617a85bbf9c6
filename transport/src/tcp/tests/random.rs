//! Chance that a seed decides, so that what failed once fails again.
//!
//! A failure names its seed; `RWMPI_WIRE_SEED=n` runs that seed alone, `RWMPI_WIRE_RUNS=n` so many of them. (A fuzzer
//! that is led by what the code does would want instrumented code, which the compiler gives to nightly builds only; so
//! the streams here are made by who knows the frames, and the tests count what they have met.)

/// A small generator (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn of_seed(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 8
    }

    /// From 0 on, below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Says how to see a failure again.
struct Note(u64);

impl Drop for Note {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("RWMPI_WIRE_SEED={} runs this again", self.0);
        }
    }
}

/// Runs the seeds that are asked for, `usual` many unless it is said otherwise. Whether those were enough for all to
/// have happened that can.
pub(super) fn for_each_seed(usual: u64, mut run: impl FnMut(u64)) -> bool {
    let number = |variable: &str| {
        let text = std::env::var(variable).ok()?;
        Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
    };
    let seeds = match (number("RWMPI_WIRE_SEED"), number("RWMPI_WIRE_RUNS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, runs) => 0..runs.unwrap_or(usual),
    };
    let are_enough = seeds.end - seeds.start >= usual;
    for seed in seeds {
        let _note = Note(seed);
        run(seed);
    }
    are_enough
}

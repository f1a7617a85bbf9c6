//! Pi by throwing darts: each rank throws its own, and one reduction adds up what all have hit.

use rwmpi::prelude::*;

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let estimate = run(universe.world(), 10_000_000)?;
    if universe.world().rank() == 0 {
        println!("pi is about {:.5} ± {:.5}", estimate.mean, estimate.error);
    }
    universe.finalize()
}

/// What the darts say.
pub struct Estimate {
    /// Of pi.
    pub mean: f64,
    /// One standard deviation.
    pub error: f64,
}

/// Throws `darts` darts on each rank; the estimate is known to all.
pub fn run(world: &Communicator, darts: u64) -> rwmpi::Result<Estimate> {
    let mut random = Random(world.rank() as u64 + 1);
    let hits = (0..darts).filter(|_| random.next().hypot(random.next()) < 1.0).count() as u64;
    // A tuple is a value like any other.
    let (hits, darts) = world.allreduce_value((hits, darts), |a, b| (a.0 + b.0, a.1 + b.1))?;
    let share = hits as f64 / darts as f64;
    Ok(Estimate { mean: 4.0 * share, error: 4.0 * (share * (1.0 - share) / darts as f64).sqrt() })
}

/// Splitmix64: good enough for darts.
struct Random(u64);

impl Random {
    /// In 0..1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

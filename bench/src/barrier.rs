//! Barriers of any number of ranks, more than there are cores included.

use crate::session::{Limit, Session};
use anyhow::Result;
use std::time::Instant;

/// The benchmark `barrier`.
pub fn barrier(session: &mut Session) -> Result<()> {
    let world = session.world();
    let figure = session.figure("barrier");
    session.measure(&figure, Limit::Line { window: 1 }, |iterations, samples| {
        let start = Instant::now();
        for _ in 0..iterations {
            world.barrier()?;
        }
        samples.push(start.elapsed().as_secs_f64() * 1e6 / iterations as f64);
        Ok(())
    })
}

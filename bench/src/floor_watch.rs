//! The floor as the ranks of a job measure it: rank 0 and rank 1 do, all others keep out of the way.

use crate::floor::{LINE, RawLink};
use crate::machine::{self, Pinned};
use anyhow::Result;
use rwmpi::Communicator;
use std::time::Duration;

/// How long a look at the cache line's way takes.
const LOOK: Duration = Duration::from_millis(2);
/// How long each kind of raw copy is repeated.
const COPIES: Duration = Duration::from_millis(4);
/// Cores that ranks tell each other of.
const CORES: usize = 1024;

/// A rank's part in measuring the floor.
pub struct FloorWatch {
    link: RawLink,
    /// Where this rank runs meanwhile; none if it only keeps out of the way.
    core: Option<usize>,
    /// How many cores ranks 0 and 1 have between them.
    cores: usize,
}

impl FloorWatch {
    /// Joins all ranks by a mapping of their own, for copies of up to `largest` bytes. If that can't be, says why.
    /// Collective.
    pub fn open(world: &Communicator, largest: usize) -> Result<Result<Self, String>> {
        let [first_mask, second_mask] = masks(world)?;
        let Some((first, second)) = machine::separate_cores(&first_mask, &second_mask) else {
            return Ok(Err(format!("ranks 0 and 1 both run on core {first_mask:?}")));
        };
        let link = open_link(world, largest)?;
        let all_have_it = world.allreduce_value(u32::from(link.is_ok()), rwmpi::op::min)? == 1;
        let link = match link {
            Ok(link) if all_have_it => link,
            Ok(_) => return Ok(Err("another rank can't open the floor's shared memory".into())),
            Err(error) => return Ok(Err(format!("{error:#}"))),
        };
        let core = [first, second].get(world.rank()).copied();
        if let (Some(core), 2) = (core, world.size()) {
            machine::pin(&[core])?;
        }
        let more = second_mask.iter().filter(|core| !first_mask.contains(core)).count();
        Ok(Ok(FloorWatch { link, core, cores: first_mask.len() + more }))
    }

    /// How many cores ranks 0 and 1 have between them.
    pub fn cores(&self) -> usize {
        self.cores
    }

    /// Rank 0: the cache line's way at this moment, µs.
    pub fn line(&mut self) -> Result<f64> {
        self.lead(|link| Ok(least(link.line(LOOK)?)))
    }

    /// Rank 0: what a message of `bytes` bytes takes by the faster of the raw copies, µs.
    pub fn copy(&mut self, bytes: usize) -> Result<f64> {
        self.lead(|link| {
            let line_us = least(link.line(LOOK)?);
            let one = least(link.copy_by_one(bytes, COPIES, line_us)?);
            let both = least(link.copy_by_both(bytes, COPIES, line_us)?);
            Ok(one.min(both).max(line_us))
        })
    }

    fn lead(&mut self, work: impl FnOnce(&mut RawLink) -> Result<f64>) -> Result<f64> {
        let _pinned = self.core.map(Pinned::to).transpose()?;
        let value = work(&mut self.link)?;
        self.link.end()?;
        Ok(value)
    }

    /// Everybody else: takes part in rank 0's next measurement.
    pub fn follow(&mut self) -> Result<()> {
        let _pinned = self.core.map(Pinned::to).transpose()?;
        if self.core.is_some() { self.link.serve() } else { self.link.rest() }
    }
}

/// The cores that rank 0 and rank 1 may run on.
fn masks(world: &Communicator) -> Result<[Vec<usize>; 2]> {
    let mut mine = [0_u64; CORES / 64];
    for core in machine::allowed_cores()?.into_iter().filter(|&core| core < CORES) {
        mine[core / 64] |= 1 << (core % 64);
    }
    let mut all = vec![0; world.size() * mine.len()];
    world.allgather(&mine, &mut all)?;
    let (first, others) = all.split_at(mine.len());
    let cores = |words: &[u64]| (0..CORES).filter(|core| words[core / 64] >> (core % 64) & 1 == 1).collect::<Vec<_>>();
    Ok([cores(first), cores(&others[..mine.len()])])
}

/// Rank 0 makes the mapping, the others open it. The inner error is one that the rank can live with.
pub fn open_link(world: &Communicator, largest: usize) -> Result<Result<RawLink>> {
    let mut path = [0_u8; 64];
    let mut link = None;
    if world.rank() == 0 {
        let made = RawLink::create(largest.max(LINE))?;
        let name = made.path();
        path[..name.len()].copy_from_slice(name.as_bytes());
        link = Some(Ok(made));
    }
    world.bcast(&mut path, 0)?;
    let name = String::from_utf8_lossy(&path);
    Ok(link.unwrap_or_else(|| RawLink::open(name.trim_end_matches('\0'))))
}

/// The least of `values`.
fn least(values: Vec<f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}

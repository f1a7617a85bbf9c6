//! What the ranks of a job do that shows a value: exchanges of each length, whose least time counts.

use std::time::{Duration, Instant};

use anyhow::Result;
use rwmpi::{Buffer, Universe};

use crate::arguments::{Memory, Tune};
use crate::exchange::Exchange;
use crate::report::Figure;

/// A batch is this long at least.
const BATCH: Duration = Duration::from_micros(100);
/// How many exchanges there are before it counts.
const WARMING_UP: u64 = 4;
/// Numbers of a page.
const PAGE: usize = 4096 / size_of::<u64>();

/// Numbers of a rank, where they are to lie. They begin with a page, as long data of programs do: processors take
/// longer to copy between places that are the same in their pages.
enum Numbers {
    Shared(Buffer<u64>),
    Private(Vec<u64>),
}

impl Numbers {
    fn new(universe: &Universe, memory: Memory, len: usize) -> Self {
        match memory {
            Memory::Shared => Numbers::Shared(universe.alloc(len + PAGE)),
            Memory::Private => Numbers::Private(vec![0; len + PAGE]),
        }
    }

    fn slice(&mut self) -> &mut [u64] {
        let numbers = match self {
            Numbers::Shared(numbers) => &mut **numbers,
            Numbers::Private(numbers) => numbers,
        };
        let (len, skipped) = (numbers.len() - PAGE, numbers.as_ptr().align_offset(size_of::<[u64; PAGE]>()));
        &mut numbers[skipped..][..len]
    }
}

/// What each rank does; rank 0 returns the least time of each length.
pub fn measure(universe: &Universe, exchange: Exchange, options: &Tune) -> Result<Vec<Figure>> {
    let world = universe.world();
    let mut figures = Vec::new();
    for &bytes in &options.sizes.0 {
        let (given, got) = exchange.numbers(bytes, world.size());
        let mut given = Numbers::new(universe, options.common.memory, given);
        let mut got = Numbers::new(universe, options.common.memory, got);
        let mut number = 0;
        let mut batch = |exchanges: u64| -> rwmpi::Result<f64> {
            let start = Instant::now();
            for _ in 0..exchanges {
                exchange.run(world, number, given.slice(), got.slice())?;
                number += 1;
            }
            Ok(start.elapsed().as_secs_f64() / exchanges as f64)
        };
        batch(WARMING_UP)?;
        let once = world.bcast_value(batch(WARMING_UP)?, 0)?;
        let exchanges = (BATCH.as_secs_f64() / once).ceil().clamp(1.0, 1e6) as u64;
        let batches = (options.common.output.seconds.as_secs_f64() / once / exchanges as f64).clamp(3.0, 1e4) as u64;
        let mut least = f64::INFINITY;
        for _ in 0..batches {
            least = least.min(batch(exchanges)?);
        }
        figures.push(Figure { bytes: Some(bytes), min_us: Some(least * 1e6), ..Figure::of("tune") });
    }
    Ok(if world.rank() == 0 { figures } else { Vec::new() })
}

//! Rank 1 of a job whose rank 0 is `tests/c/tools/beside_rust.c`.
#![forbid(unsafe_code)]

use rwmpi::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
#[repr(C)]
struct Sample {
    flag: bool,
    position: [f64; 2],
    count: u16,
    pair: Pair,
}

#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
#[repr(C)]
struct Pair {
    low: u8,
    high: i32,
}

fn sample(place: usize) -> Sample {
    let pair = Pair { low: (place % 256) as u8, high: -(place as i32) };
    let position = [place as f64, -0.5 * place as f64];
    Sample { flag: place.is_multiple_of(3), position, count: place as u16, pair }
}

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    let expected: Vec<Sample> = (0..1000).map(sample).collect();
    let mut samples = vec![sample(0); 1000];
    let status = world.recv(&mut samples, 0, 1)?;
    assert_eq!((status.count::<Sample>(), &samples), (Some(1000), &expected));
    samples.fill(sample(0));
    world.bcast(&mut samples, 0)?;
    assert_eq!(samples, expected);
    let shifted: Vec<Sample> = (1..=1000).map(sample).collect();
    world.send(&shifted, 0, 2)?;

    assert_eq!(world.recv_value::<String>(0, 3)?.0, "C says hello");
    world.send_value(&vec![1.5, 2.5, 3.5], 0, 4)?;
    universe.finalize()
}

//! A task farm: rank 0 hands out tasks to whoever asks, so that nobody idles because tasks differ in length. Tasks and
//! answers are enums with whatever fields they need.

use rwmpi::prelude::*;

/// What rank 0 says.
#[derive(Debug, Message)]
enum Order {
    Factor(u64),
    Stop,
}

/// What a worker says: that it is free, perhaps with what it has found.
#[derive(Debug, Message)]
enum Report {
    Ready,
    Factors { of: u64, factors: Vec<u64> },
}

const ORDERS: i32 = 1;
const REPORTS: i32 = 2;

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    for (number, factors) in run(universe.world(), (1_000_000_000..1_000_000_020).collect())? {
        println!("{number} = {factors:?}");
    }
    universe.finalize()
}

/// The factors of `numbers`, in their order, at rank 0; elsewhere none.
pub fn run(world: &Communicator, numbers: Vec<u64>) -> rwmpi::Result<Vec<(u64, Vec<u64>)>> {
    if world.size() == 1 {
        return Ok(numbers.into_iter().map(|number| (number, factors(number))).collect());
    }
    if world.rank() > 0 {
        work(world)?;
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let mut numbers = numbers.into_iter();
    let mut workers = world.size() - 1;
    while workers > 0 {
        let (report, status) = world.recv_value(ANY_SOURCE, REPORTS)?;
        if let Report::Factors { of, factors } = report {
            found.push((of, factors));
        }
        let order = numbers.next().map_or(Order::Stop, Order::Factor);
        workers -= usize::from(matches!(order, Order::Stop));
        let worker = status.source().expect("a report comes from a worker");
        world.send_value(&order, worker, ORDERS)?;
    }
    found.sort();
    Ok(found)
}

fn work(world: &Communicator) -> rwmpi::Result<()> {
    let mut report = Report::Ready;
    loop {
        world.send_value(&report, 0, REPORTS)?;
        let (order, _) = world.recv_value(0, ORDERS)?;
        match order {
            Order::Factor(of) => report = Report::Factors { of, factors: factors(of) },
            Order::Stop => return Ok(()),
        }
    }
}

fn factors(mut number: u64) -> Vec<u64> {
    let mut factors = Vec::new();
    let mut candidate = 2;
    while candidate * candidate <= number {
        while number.is_multiple_of(candidate) {
            factors.push(candidate);
            number /= candidate;
        }
        candidate += 1;
    }
    factors.extend((number > 1).then_some(number));
    factors
}

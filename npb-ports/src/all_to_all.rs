//! The exchange of all ranks with all, of data that is yet to be computed.
//!
//! A collective call would post its receives when the data is there, just before the other ranks send theirs. Posted
//! before the data is computed, they are known to the senders in time, and remote write serves them.

use rwmpi::{Communicator, Datatype, Result};
use std::mem::take;
use std::ops::Range;

const TAG: i32 = 1001;

/// Calls `fill` to compute `outgoing` and sends the range that `parts` has for each rank to that rank; the part of rank
/// `r` arrives in `incoming[r]`, which must be as long. A rank's own part stays where it is if there is no place for
/// it. Collective.
pub fn exchange<T: Datatype>(
    world: &Communicator,
    mut incoming: Vec<&mut [T]>,
    (outgoing, parts): (&mut [T], &[Range<usize>]),
    fill: impl FnOnce(&mut [T]),
) -> Result<()> {
    let (rank, ranks) = (world.rank(), world.size());
    let own = take(&mut incoming[rank]);
    rwmpi::scope(|scope| {
        // Everybody sends to the next rank first, so the message of the one before comes first.
        let sources = (1..ranks).map(|turn| (rank + ranks - turn) % ranks);
        let requests = sources.map(|source| world.irecv(scope, take(&mut incoming[source]), source, TAG));
        let requests = requests.collect::<Result<Vec<_>>>()?;
        fill(outgoing);
        for destination in (1..ranks).map(|turn| (rank + turn) % ranks) {
            world.send(&outgoing[parts[destination].clone()], destination, TAG)?;
        }
        if !own.is_empty() {
            own.copy_from_slice(&outgoing[parts[rank].clone()]);
        }
        rwmpi::wait_all(requests).map(drop)
    })
}

#[cfg(test)]
mod tests {
    use rwmpi::{Protocol, run_threads};

    #[test]
    fn parts_of_any_length_reach_their_ranks() {
        let ranks = 3;
        // Rank s sends s + d numbers to rank d.
        let exchanged = run_threads(ranks, Protocol::Sr, |universe| {
            let world = universe.world();
            let rank = world.rank();
            let mut start = 0;
            let parts: Vec<_> = (0..ranks).map(|other| (start, start += rank + other).0..start).collect();
            let mut incoming: Vec<Vec<u64>> = (0..ranks).map(|other| vec![0; rank + other]).collect();
            if rank == 2 {
                incoming[rank].clear();
            }
            let mut outgoing = vec![0; start];
            let (places, target) = (parts.clone(), incoming.iter_mut().map(Vec::as_mut_slice).collect());
            super::exchange(world, target, (&mut outgoing, &parts), |outgoing| {
                for (other, part) in places.into_iter().enumerate() {
                    outgoing[part].fill(10 * rank as u64 + other as u64);
                }
            })
            .unwrap();
            incoming
        });
        for (rank, incoming) in exchanged.unwrap().into_iter().enumerate() {
            for (source, part) in incoming.into_iter().enumerate().filter(|(_, part)| !part.is_empty()) {
                assert_eq!(part, vec![10 * source as u64 + rank as u64; rank + source]);
            }
        }
    }
}

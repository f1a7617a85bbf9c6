//! Much traffic: more than any queue holds, and random schedules whose outcome is known.

use rwmpi::{Result, Universe, op, scope, wait_all};

use super::Check;
use super::point_to_point::{LENGTHS, in_pairs, pattern};

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("a_flood_is_held_back", a_flood_is_held_back),
    ("random_traffic_matches_the_model", random_traffic_matches_the_model),
];

fn a_flood_is_held_back(universe: &Universe) -> Result<()> {
    const MESSAGES: u64 = 20_000;
    let world = universe.world();
    let send = |other| {
        for number in 0..MESSAGES {
            world.send(&[number; 5], other, 1)?;
        }
        Ok(())
    };
    let receive = |other| {
        for number in 0..MESSAGES {
            let mut buffer = [0; 5];
            world.recv(&mut buffer, other, 1)?;
            assert_eq!(buffer, [number; 5]);
        }
        Ok(())
    };
    in_pairs(universe, send, receive)
}

/// A small generator, the same on all ranks (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// All ranks know the whole schedule, so each knows what every receive must bring: for one source and tag, in order.
fn random_traffic_matches_the_model(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (me, size) = (world.rank(), world.size());
    for seed in 1..=10u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let messages: Vec<(usize, usize, i32, usize)> = (0..60)
            .map(|_| (random.below(size), random.below(size), random.below(3) as i32, LENGTHS[random.below(13)]))
            .collect();
        let mut buffers: Vec<Vec<u8>> = messages.iter().map(|&(.., len)| vec![0; len]).collect();
        let data: Vec<Vec<u8>> = messages.iter().enumerate().map(|(i, &(.., len))| pattern(i, len)).collect();
        scope(|s| {
            // Some receives before the sends, some after, the order among equals kept: all of one (source, tag)
            // together.
            let early = |source: usize, tag: i32| (source + tag as usize + seed as usize).is_multiple_of(2);
            let mut requests = Vec::new();
            let mut late = Vec::new();
            for (&(from, to, tag, _), buffer) in messages.iter().zip(&mut buffers) {
                if to == me && early(from, tag) {
                    requests.push(world.irecv(s, buffer, from, tag)?);
                } else if to == me {
                    late.push((from, tag, buffer));
                }
            }
            for (&(from, to, tag, _), data) in messages.iter().zip(&data) {
                if from == me {
                    requests.push(world.isend(s, data, to, tag)?);
                }
            }
            for (from, tag, buffer) in late {
                requests.push(world.irecv(s, buffer, from, tag)?);
            }
            wait_all(requests).map(drop)
        })?;
        for (place, &(_, to, _, _)) in messages.iter().enumerate() {
            assert!(to != me || buffers[place] == data[place], "seed {seed}, message {place}");
        }
    }
    let total = world.allreduce_value(1u32, op::sum)?;
    assert_eq!(total as usize, size);
    Ok(())
}

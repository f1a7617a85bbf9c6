//! The keys: four uniform numbers added up, so that they are roughly bell-shaped.

use super::problem::Problem;
use crate::random::{Generator, MULTIPLIER, power};

const SEED: u64 = 314_159_265;
const UNIFORMS_PER_KEY: usize = 4;

/// The keys of rank `rank` of `ranks`.
pub fn generate(problem: &Problem, rank: usize, ranks: usize) -> Vec<u32> {
    let count = problem.keys_per_rank(ranks);
    let mut generator = Generator::new(SEED);
    generator.multiply(power(MULTIPLIER, (UNIFORMS_PER_KEY * count * rank) as u64));
    let scale = (problem.key_values() / UNIFORMS_PER_KEY) as f64;
    let mut uniforms = [0.0; UNIFORMS_PER_KEY * 256];
    let mut keys = vec![0; count];
    for block in keys.chunks_mut(256) {
        let uniforms = &mut uniforms[..UNIFORMS_PER_KEY * block.len()];
        generator.fill(uniforms);
        for (key, [a, b, c, d]) in block.iter_mut().zip(uniforms.as_chunks().0) {
            *key = (scale * (a + b + c + d)) as u32;
        }
    }
    keys
}

/// Replaces two keys, as every iteration does before ranking: they belong to rank 0.
pub fn replace(keys: &mut [u32], iteration: u32, problem: &Problem) {
    keys[iteration as usize] = iteration;
    keys[iteration as usize + super::problem::ITERATIONS as usize] = problem.key_values() as u32 - iteration;
}

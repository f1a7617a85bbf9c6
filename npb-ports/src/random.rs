//! The pseudo-random numbers of the benchmarks: a linear congruential generator with modulus 2^46 and multiplier 5^13.
//!
//! The state is an integer. Products are taken modulo 2^64, which does not disturb their lowest 46 bits, so one
//! wrapping multiplication and one mask make a number. A number is the state times 2^-46, which a double holds exactly.

/// 5^13: one step multiplies the state by it.
pub const MULTIPLIER: u64 = 1_220_703_125;

const MASK: u64 = (1 << 46) - 1;

/// Turns a state into the number in (0, 1) that it stands for; bits above the lowest 46 do not matter.
#[inline(always)]
pub fn unit_interval(state: u64) -> f64 {
    // The state becomes the fraction of a double between 1 and 2: cheaper than a conversion, and a vector operation.
    f64::from_bits((state << 18 >> 12) | 1.0_f64.to_bits()) - 1.0
}

/// `base^exponent` modulo 2^46.
pub fn power(base: u64, exponent: u64) -> u64 {
    let (mut result, mut square, mut remaining) = (1_u64, base, exponent);
    while remaining > 0 {
        if remaining & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        remaining >>= 1;
    }
    result & MASK
}

/// A place in the sequence of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generator {
    state: u64,
}

impl Generator {
    /// Starts at `seed`: the first number is made from the state after one step.
    pub fn new(seed: u64) -> Self {
        Generator { state: seed & MASK }
    }

    /// The present state, below 2^46.
    pub fn state(&self) -> u64 {
        self.state
    }

    /// Skips `count` numbers, in time proportional to the logarithm of `count`.
    pub fn jump(&mut self, count: u64) {
        self.multiply(power(MULTIPLIER, count));
    }

    /// Skips as many numbers as the `factor`, a [`power`] of [`MULTIPLIER`], stands for.
    pub fn multiply(&mut self, factor: u64) {
        self.state = self.state.wrapping_mul(factor) & MASK;
    }

    /// The next number.
    #[inline(always)]
    pub fn next_number(&mut self) -> f64 {
        self.multiply(MULTIPLIER);
        unit_interval(self.state)
    }

    /// Fills `numbers` with the next ones.
    ///
    /// Eight numbers are made at a time, each from the one eight before it, so that the multiplications do not wait for
    /// one another.
    #[inline(always)]
    pub fn fill(&mut self, numbers: &mut [f64]) {
        const LANES: usize = 8;
        let (groups, rest) = numbers.as_chunks_mut::<LANES>();
        let mut lanes = [0; LANES];
        let mut ahead = *self;
        for lane in &mut lanes {
            ahead.multiply(MULTIPLIER);
            *lane = ahead.state;
        }
        let step = power(MULTIPLIER, LANES as u64);
        for group in groups.iter_mut() {
            for (number, lane) in group.iter_mut().zip(&mut lanes) {
                *number = unit_interval(*lane);
                *lane = lane.wrapping_mul(step);
            }
        }
        self.jump((groups.len() * LANES) as u64);
        rest.fill_with(|| self.next_number());
    }
}

#[cfg(test)]
mod tests {
    use super::{Generator, MULTIPLIER, power};

    /// The definition itself, in arithmetic that cannot wrap.
    fn step(state: u64) -> u64 {
        (u128::from(state) * 5_u128.pow(13) % (1_u128 << 46)) as u64
    }

    #[test]
    fn numbers_are_states_divided_by_two_to_the_46() {
        let (mut generator, mut state) = (Generator::new(314_159_265), 314_159_265);
        for _ in 0..1000 {
            state = step(state);
            assert_eq!(generator.next_number(), state as f64 / 2_f64.powi(46));
            assert_eq!(generator.state(), state);
        }
    }

    #[test]
    fn a_jump_equals_that_many_steps() {
        for count in [0, 1, 2, 7, 64, 999] {
            let (mut walking, mut jumping) = (Generator::new(271_828_183), Generator::new(271_828_183));
            (0..count).for_each(|_| {
                walking.next_number();
            });
            jumping.jump(count);
            assert_eq!(walking, jumping);
        }
    }

    #[test]
    fn filling_equals_drawing_one_by_one() {
        for length in [0, 1, 7, 8, 9, 40, 83] {
            let (mut filling, mut drawing) = (Generator::new(11), Generator::new(11));
            let mut numbers = vec![0.0; length];
            filling.fill(&mut numbers);
            assert!(numbers.iter().all(|&number| number == drawing.next_number()));
            assert_eq!(filling, drawing);
        }
    }

    #[test]
    fn powers_multiply() {
        assert_eq!(power(MULTIPLIER, 0), 1);
        assert_eq!(power(MULTIPLIER, 3), step(step(step(1))));
    }
}

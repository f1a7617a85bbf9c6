//! Where two ways cost the same.

/// What has to be saved of the time of the lengths that go another way, for a value to be another than the default:
/// less is noise.
pub const WORTH_IT: f64 = 0.02;

/// How many lengths go the first way, and what that saves of the time of those that go another way than by default.
#[derive(Debug, PartialEq)]
pub struct Crossing {
    pub place: usize,
    pub gain: f64,
}

/// Chooses how many lengths, the shortest first, go the first way, by the times that all take either way; `now` many do
/// by default.
pub fn crossing(first: &[f64], second: &[f64], now: usize) -> Crossing {
    let cost = |place: usize| {
        let ways = first[..place].iter().chain(&second[place..]);
        ways.map(|time| time.ln()).sum::<f64>()
    };
    let best = (0..=first.len()).min_by(|&one, &other| cost(one).total_cmp(&cost(other))).unwrap_or(now);
    let moved = best.abs_diff(now).max(1);
    let gain = (cost(now) - cost(best)) / moved as f64;
    if gain < WORTH_IT { Crossing { place: now, gain: 0.0 } } else { Crossing { place: best, gain } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ways_cross_where_the_second_becomes_the_cheaper() {
        let (first, second) = ([1.0, 2.0, 4.0, 8.0], [2.0, 2.5, 3.0, 4.0]);
        assert_eq!(crossing(&first, &second, 1).place, 2);
        assert_eq!(crossing(&first, &second, 4).place, 2);
        assert_eq!(crossing(&first, &first.map(|time| time * 2.0), 2).place, 4);
        assert_eq!(crossing(&first, &first.map(|time| time / 2.0), 2).place, 0);
    }

    #[test]
    fn what_saves_next_to_nothing_changes_nothing() {
        let first = [1.0, 2.0, 4.0, 8.0];
        for now in 0..=4 {
            assert_eq!(crossing(&first, &first.map(|time| time * 1.01), now), Crossing { place: now, gain: 0.0 });
        }
    }
}

//! How the accumulate family changes elements of windows.

use crate::tuning::Tuning;

/// Whether it takes less time to keep out all others, of whom there are so many, and to change so many elements by
/// loads and stores, than to change each by an atomic operation. Who finds the others kept out already pays nothing.
pub(crate) fn works_alone(tuning: &Tuning, elements: u64, others: usize, are_kept_out: bool) -> bool {
    let others = (others as u64).saturating_mul(tuning.accumulate_alone_min_per_rank as u64);
    are_kept_out || elements >= others.saturating_add(tuning.accumulate_alone_min as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_elements_are_worth_keeping_the_others_out() {
        let works_alone = |elements, others| works_alone(&Tuning::DEFAULT, elements, others, false);
        assert_eq!([543, 544].map(|elements| works_alone(elements, 2)), [false, true]);
        assert_eq!([767, 768].map(|elements| works_alone(elements, 16)), [false, true]);
        assert!(super::works_alone(&Tuning::DEFAULT, 2, 16, true));
    }
}

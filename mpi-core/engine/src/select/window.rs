//! How the accumulate family changes elements of windows, and how operations reach other nodes.

use crate::tuning::Tuning;

/// Whether to keep out all others, of whom there are so many, and to change elements by loads and stores, once so many
/// would have been changed by an atomic operation each since they were last kept out. They take as long then as keeping
/// the others out does: so whatever comes, it takes at most twice the time of the better way. Who finds the others kept
/// out already pays nothing.
pub fn works_alone(tuning: &Tuning, elements: u64, others: usize, are_kept_out: bool) -> bool {
    let others = (others as u64).saturating_mul(tuning.accumulate_alone_min_per_rank as u64);
    are_kept_out || elements >= others.saturating_add(tuning.accumulate_alone_min as u64)
}

/// Whether requests to a target on another node that are so many bytes, and that nobody waits for, wait for others.
pub fn waits_for_others(tuning: &Tuning, bytes: usize) -> bool {
    bytes < tuning.window_requests_min
}

/// Whether so many bytes that are put to another node go as a message of their own, from memory to memory.
pub fn goes_apart(tuning: &Tuning, bytes: usize) -> bool {
    bytes >= tuning.network_pull_min
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_elements_are_worth_keeping_the_others_out() {
        let works_alone = |elements, others| works_alone(&Tuning::DEFAULT, elements, others, false);
        assert_eq!([129, 130].map(|elements| works_alone(elements, 2)), [false, true]);
        assert_eq!([143, 144].map(|elements| works_alone(elements, 16)), [false, true]);
        assert!(super::works_alone(&Tuning::DEFAULT, 2, 16, true));
    }
}

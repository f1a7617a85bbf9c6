//! What ranks have seen of words that all of them change: whether it can have happened one operation after another.

use std::collections::HashMap;

use rwmpi::Message;

/// What one operation has done to a word.
#[derive(Clone, Copy, Debug, PartialEq, Message)]
pub(super) struct Step {
    /// Which word.
    pub(super) word: u64,
    /// What was there; nothing if the operation has not fetched it.
    pub(super) before: Option<u64>,
    /// What the operation has made of that; of a counter, the unit that was added.
    pub(super) after: u64,
}

/// A word on which operations of all kinds meet. All have fetched, and nobody makes the same value as anybody else.
///
/// By rank there are the steps in the order in which the rank has made them.
///
/// # Errors
/// They have happened in no order, or not in each rank's.
pub(super) fn check_mixed(first: u64, last: u64, by_rank: &[Vec<Step>]) -> Result<(), String> {
    let mut successors = HashMap::new();
    for step in by_rank.iter().flatten() {
        let before = step.before.ok_or("it has not been fetched")?;
        if before != step.after && successors.insert(before, step.after).is_some() {
            return Err(format!("two operations have changed the same value {before:#x}"));
        }
    }
    let mut places = HashMap::from([(first, 0)]);
    let mut value = first;
    while let Some(&next) = successors.get(&value) {
        if places.insert(next, places.len()).is_some() {
            return Err(format!("{next:#x} comes twice"));
        }
        value = next;
    }
    if places.len() != successors.len() + 1 {
        return Err(format!("of {} changes only {} follow each other", successors.len(), places.len() - 1));
    }
    if value != last {
        return Err(format!("{last:#x} is there, and not {value:#x}"));
    }
    for (rank, steps) in by_rank.iter().enumerate() {
        let mut reached = 0;
        for step in steps {
            let before = step.before.unwrap_or_default();
            let place =
                places.get(&before).ok_or_else(|| format!("rank {rank} has seen {before:#x}, which never was"))?;
            if *place < reached {
                return Err(format!("rank {rank} has seen {before:#x} again"));
            }
            reached = places[&step.after];
        }
    }
    Ok(())
}

/// How many bits of a counter a rank has to itself.
const BITS: usize = 8;

/// What a rank adds to counters.
pub(super) fn unit_of(rank: usize) -> u64 {
    1 << (rank % (64 / BITS) * BITS)
}

/// A word to which each rank adds units of its own, at most 255 times: what anybody has fetched says whose operations
/// have happened by then.
///
/// # Errors
/// As [`check_mixed`].
pub(super) fn check_counter(last: u64, by_rank: &[Vec<Step>]) -> Result<(), String> {
    let expected: u64 = by_rank.iter().flatten().map(|step| step.after).sum();
    if last != expected {
        return Err(format!("{last:#x} is there, and not {expected:#x}"));
    }
    let mut seen = Vec::new();
    for (rank, steps) in by_rank.iter().enumerate() {
        let (mut own, mask) = (0, unit_of(rank) * (u64::MAX >> (64 - BITS)));
        for step in steps {
            if let Some(before) = step.before {
                if before & mask != own {
                    return Err(format!("rank {rank} has seen {before:#x}, and of its own {own:#x} have gone before"));
                }
                seen.push(before);
            }
            own += step.after;
        }
    }
    let fields = |value: u64| value.to_le_bytes();
    seen.sort_by_key(|&value| fields(value).iter().map(|&field| u64::from(field)).sum::<u64>());
    let grows = |two: &&[u64]| fields(two[0]).iter().zip(fields(two[1])).all(|(one, other)| *one <= other);
    match seen.windows(2).find(|two| !grows(two)) {
        Some(two) => Err(format!("{:#x} and {:#x} were seen, of which neither is before the other", two[0], two[1])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(steps: &[(u64, u64)]) -> Vec<Step> {
        steps.iter().map(|&(before, after)| Step { word: 0, before: Some(before), after }).collect()
    }

    #[test]
    fn histories_of_mixed_operations_are_told_from_what_is_none() {
        let check = |last, ranks: [&[(u64, u64)]; 2]| check_mixed(1, last, &ranks.map(steps));
        check(4, [&[(1, 2), (2, 2), (3, 4)], &[(2, 3), (4, 4)]]).unwrap();
        for (last, ranks, what) in [
            (3, [&[(1, 2)][..], &[(1, 3)]], "changed the same"),
            (2, [&[(1, 2)], &[(2, 3)]], "and not 0x3"),
            (2, [&[(1, 2)], &[(5, 6)]], "follow each other"),
            (2, [&[(1, 2)], &[(7, 7)]], "never was"),
            (2, [&[(1, 2), (1, 1)], &[]], "again"),
        ] {
            let found = check(last, ranks).unwrap_err();
            assert!(found.contains(what), "{found}");
        }
    }

    #[test]
    fn histories_of_counters_are_told_from_what_is_none() {
        let (a, b) = (unit_of(0), unit_of(1));
        let check = |last, ranks: [&[(u64, u64)]; 2]| check_counter(last, &ranks.map(steps));
        check(2 * a + b, [&[(0, a), (a + b, a)], &[(a, b), (2 * a + b, 0)]]).unwrap();
        for (last, ranks, what) in [
            (a, [&[(0, a)][..], &[(0, b)]], "and not"),
            (2 * a, [&[(0, a), (0, a)], &[]], "of its own"),
            (a + b, [&[(0, a), (a, 0)], &[(0, b), (b, 0)]], "neither"),
        ] {
            let found = check(last, ranks).unwrap_err();
            assert!(found.contains(what), "{found}");
        }
    }
}

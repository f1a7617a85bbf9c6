//! Who waits for whom, and whether anybody can still help: what makes of a hang a sentence.

use crate::rank_state::RankState;
use rwmpi_core::{Partner, Wait};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// Waits shorter than this say nothing: what is waited for may just be arriving.
const SETTLED: Duration = Duration::from_millis(300);
/// Waits that are listed one by one at most.
const LISTED_MAX: usize = 16;

/// The shortest wait of these ranks, if all of them wait.
pub(crate) fn least(states: &[&RankState]) -> Option<Duration> {
    let waited = states.iter().map(|state| state.wait.as_ref().map(|&(_, waited)| waited));
    waited.collect::<Option<Vec<_>>>()?.into_iter().min()
}

/// Lines that say who waits for whom, and who does so for ever; empty if nobody has waited long.
pub(crate) fn text(states: &[RankState]) -> String {
    let waits: BTreeMap<usize, &Wait> = states
        .iter()
        .filter_map(|state| Some((state.rank, state.wait.as_ref().filter(|&&(_, waited)| waited >= SETTLED)?)))
        .map(|(rank, (wait, _))| (rank, wait))
        .collect();
    let stuck = stuck(states, &waits);
    let cycle = cycle(&stuck, &waits);
    let mut text = String::new();
    if !cycle.is_empty() {
        let links: Vec<String> = cycle.iter().map(|&rank| sentence(rank, waits[&rank])).collect();
        let _ = writeln!(text, "  deadlock: {}", links.join(", "));
    } else if !stuck.is_empty() {
        let _ = writeln!(text, "  deadlock: whoever could help is waiting too, or has left the job");
    }
    let others = waits.iter().filter(|(rank, wait)| !cycle.contains(rank) && wait.partner != Partner::Unknown);
    for (&rank, wait) in others.take(LISTED_MAX) {
        let left = match wait.partner {
            Partner::Rank(partner) if !states.iter().any(|state| state.rank == partner && state.takes_part) => {
                ", which has left the job"
            }
            _ => "",
        };
        let _ = writeln!(text, "  {}{left}", sentence(rank, wait));
    }
    text
}

fn sentence(rank: usize, wait: &Wait) -> String {
    let partner = match wait.partner {
        Partner::Rank(partner) => format!("rank {partner}"),
        Partner::Any | Partner::Unknown => "any rank".to_owned(),
    };
    format!("rank {rank} waits for {partner} ({})", wait.what)
}

/// The ranks that no other can help any more: everyone they wait for is stuck too, or gone.
fn stuck(states: &[RankState], waits: &BTreeMap<usize, &Wait>) -> Vec<usize> {
    let mut free: Vec<usize> = states.iter().filter(|state| state.takes_part).map(|state| state.rank).collect();
    free.retain(|rank| waits.get(rank).is_none_or(|wait| wait.partner == Partner::Unknown));
    let mut stuck: Vec<usize> = waits.keys().copied().filter(|rank| !free.contains(rank)).collect();
    loop {
        let before = stuck.len();
        let helped = |&rank: &usize| match waits[&rank].partner {
            Partner::Rank(partner) => free.contains(&partner),
            Partner::Any | Partner::Unknown => !free.is_empty(),
        };
        let (freed, left): (Vec<usize>, Vec<usize>) = stuck.iter().partition(|rank| helped(rank));
        free.extend(freed);
        stuck = left;
        if stuck.len() == before {
            return stuck;
        }
    }
}

/// A cycle among those who wait for one particular rank, from its lowest rank on; empty if there is none.
fn cycle(stuck: &[usize], waits: &BTreeMap<usize, &Wait>) -> Vec<usize> {
    for &start in stuck {
        let mut path = vec![start];
        while let Some(Partner::Rank(next)) = waits.get(&path[path.len() - 1]).map(|wait| wait.partner) {
            if next == start {
                return path;
            }
            if path.contains(&next) {
                break;
            }
            path.push(next);
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(rank: usize, partner: Option<Partner>) -> RankState {
        let wait = partner.map(|partner| Wait { since: 1, partner, what: "receive, tag 7".to_owned() });
        let wait = wait.map(|wait| (wait, Duration::from_secs(2)));
        RankState { rank, pid: 100, doing: "receive".to_owned(), wait, takes_part: true }
    }

    #[test]
    fn a_cycle_is_a_deadlock_and_those_behind_it_are_listed() {
        let states = [
            state(0, Some(Partner::Rank(1))),
            state(1, Some(Partner::Rank(2))),
            state(2, Some(Partner::Rank(1))),
            state(3, None),
        ];
        assert_eq!(
            text(&states),
            "  deadlock: rank 1 waits for rank 2 (receive, tag 7), rank 2 waits for rank 1 (receive, tag 7)\n  \
             rank 0 waits for rank 1 (receive, tag 7)\n"
        );
    }

    #[test]
    fn who_waits_for_somebody_at_work_is_not_deadlocked() {
        let states = [state(0, Some(Partner::Rank(1))), state(1, None), state(2, Some(Partner::Any))];
        let text = text(&states);
        assert!(!text.contains("deadlock"), "{text}");
        assert!(text.contains("rank 0 waits for rank 1"), "{text}");
        assert!(text.contains("rank 2 waits for any rank (receive, tag 7)"), "{text}");
    }

    #[test]
    fn nobody_is_left_for_whom_to_wait() {
        let mut states = [state(0, Some(Partner::Any)), state(1, None)];
        states[1].takes_part = false;
        assert!(text(&states).contains("deadlock: whoever could help"), "{}", text(&states));
        states[0] = state(0, Some(Partner::Rank(1)));
        assert!(text(&states).contains("rank 0 waits for rank 1 (receive, tag 7), which has left the job"));
    }

    #[test]
    fn a_wait_that_has_just_begun_says_nothing() {
        let mut states = [state(0, Some(Partner::Rank(1))), state(1, Some(Partner::Rank(0)))];
        for state in &mut states {
            state.wait.as_mut().unwrap().1 = Duration::from_millis(1);
        }
        assert_eq!(text(&states), "");
    }
}

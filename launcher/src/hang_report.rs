//! What is said of a job that hangs: where each rank is, what it waits for, what has come that nobody wants, and what
//! does not fit together.

use crate::phrases::ranges;
use rwmpi_core::{Answer, Partner};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Lines for single ranks at most.
const LISTED_MAX: usize = 16;

/// The whole report.
pub(crate) fn text(hung: &[(usize, Answer)]) -> String {
    "the job hangs: all ranks wait, and none can go on any more (said once; --no-hang-check: not at all)\n".to_owned()
        + &details(hung)
}

/// What follows its first line.
pub(crate) fn details(hung: &[(usize, Answer)]) -> String {
    let mut text = String::new();
    let groups = grouped(hung.iter().map(|(rank, answer)| (*rank, place_and_wait(answer))));
    let count = groups.len();
    for (words, ranks) in groups.into_iter().take(LISTED_MAX) {
        // One waits, several wait.
        let words = if ranks.len() == 1 { words } else { words.replacen(", waits for ", ", wait for ", 1) };
        let _ = writeln!(text, "  {}, {words}", named(&ranks));
        let first = hung.iter().find(|(rank, _)| *rank == ranks[0]);
        first.into_iter().for_each(|(_, answer)| unmatched(&mut text, answer));
    }
    if count > LISTED_MAX {
        let _ = writeln!(text, "  and {} others that are no two alike", count - LISTED_MAX);
    }
    let cycle = cycle(hung);
    if let [first, .., _] = cycle[..] {
        let links = cycle.iter().zip(cycle[1..].iter().chain([&first]));
        let links: Vec<String> = links.map(|(from, to)| format!("rank {from} waits for rank {to}")).collect();
        let _ = writeln!(text, "  deadlock: {}", links.join(", "));
    } else if let [alone] = cycle[..] {
        let _ = writeln!(text, "  deadlock: rank {alone} waits for itself");
    }
    mismatched(&mut text, hung);
    of_collectives(&mut text, hung, &cycle);
    text
}

/// Equal words once, with all ranks that they are about, the lowest first.
fn grouped(words: impl Iterator<Item = (usize, String)>) -> Vec<(String, Vec<usize>)> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    words.for_each(|(rank, words)| groups.entry(words).or_default().push(rank));
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, ranks)| ranks[0]);
    groups
}

fn named(ranks: &[usize]) -> String {
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}", ranges(ranks))
}

fn communicator(number: u32) -> String {
    match number {
        0 => "the world communicator".to_owned(),
        1 => "the communicator of one rank alone".to_owned(),
        number => format!("communicator {number}"),
    }
}

/// In which call a rank is, and what it waits for there.
fn place_and_wait(answer: &Answer) -> String {
    let call = &answer.call;
    if let Some(number) = answer.collective {
        return format!("in {call}, in {}", communicator(number));
    }
    let mut things: Vec<String> = answer.first_awaited.iter().map(thing).collect();
    if answer.awaited > things.len() {
        things.push(format!("{} more", answer.awaited - things.len()));
    }
    let things = things.join("; ");
    match answer.awaited {
        0 => format!("in {call}"),
        1 => format!("in {call}, waits for {} {things}", article(&things)),
        count if answer.any => format!("in {call}, waits for the first of {count}: {things}"),
        count => format!("in {call}, waits for all of {count}: {things}"),
    }
}

fn article(thing: &str) -> &'static str {
    if thing.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

/// "receive from rank 1, tag 7", of what is known as "receive, tag 7".
fn thing((partner, what): &(Partner, String)) -> String {
    let (kind, rest) =
        what.split_once(", ").map_or((what.as_str(), String::new()), |(kind, rest)| (kind, format!(", {rest}")));
    let direction = if kind == "send" { "to" } else { "from" };
    match partner {
        Partner::Rank(rank) => format!("{kind} {direction} rank {rank}{rest}"),
        Partner::Any => format!("{kind} {direction} any rank{rest}"),
        Partner::Unknown => format!("{kind}{rest}"),
    }
}

/// What has come to a rank that it does not ask for.
fn unmatched(text: &mut String, answer: &Answer) {
    for message in &answer.first_messages {
        let _ = writeln!(text, "    a message is here that no receive takes: {message}");
    }
    if answer.messages > answer.first_messages.len() {
        let _ = writeln!(text, "    and {} more", answer.messages - answer.first_messages.len());
    }
}

/// Ranks each of which needs the next one, and the last the first; empty if there are none such.
fn cycle(hung: &[(usize, Answer)]) -> Vec<usize> {
    let needs = |rank: usize| {
        let answer = hung.iter().find(|(other, _)| *other == rank).map(|(_, answer)| answer);
        let all = answer.filter(|answer| !answer.any || answer.awaited == 1).map(|answer| answer.first_awaited.iter());
        all.into_iter().flatten().filter_map(|(partner, _)| match partner {
            Partner::Rank(partner) => Some(*partner),
            Partner::Any | Partner::Unknown => None,
        })
    };
    let mut done: Vec<usize> = Vec::new();
    for &(start, _) in hung {
        let mut path = vec![(start, needs(start))];
        while let Some((_, next)) = path.last_mut() {
            let Some(next) = next.next() else {
                done.extend(path.pop().map(|(rank, _)| rank));
                continue;
            };
            if let Some(place) = path.iter().position(|(rank, _)| *rank == next) {
                return path[place..].iter().map(|(rank, _)| *rank).collect();
            }
            if !done.contains(&next) {
                path.push((next, needs(next)));
            }
        }
    }
    Vec::new()
}

/// Which ranks of a communicator are in different collectives, or which alone are in none.
fn mismatched(text: &mut String, hung: &[(usize, Answer)]) {
    let mut numbers: Vec<u32> = hung.iter().filter_map(|(_, answer)| answer.collective).collect();
    numbers.sort_unstable();
    numbers.dedup();
    for number in numbers {
        let there = hung.iter().filter(|(_, answer)| answer.collective == Some(number));
        let calls = grouped(there.map(|(rank, answer)| (*rank, answer.call.clone())));
        if calls.len() > 1 {
            let calls: Vec<String> = calls.iter().map(|(call, ranks)| format!("{} in {call}", named(ranks))).collect();
            let _ = writeln!(
                text,
                "  these do not go together, in {}: {}; all its ranks must call the same, in the same order",
                communicator(number),
                calls.join(", ")
            );
        }
    }
    let elsewhere: Vec<usize> =
        hung.iter().filter(|(_, answer)| answer.collective.is_none()).map(|&(rank, _)| rank).collect();
    if !elsewhere.is_empty() && 2 * elsewhere.len() < hung.len() {
        let word = if elsewhere.len() == 1 { "is" } else { "are" };
        let _ = writeln!(text, "  the others are in a collective, and {} {word} not", named(&elsewhere));
    }
}

/// What there is to say of ranks that need each other where all are in collectives.
fn of_collectives(text: &mut String, hung: &[(usize, Answer)], cycle: &[usize]) {
    let there = hung.iter().filter(|(rank, _)| cycle.contains(rank));
    let calls: Option<Vec<(u32, &str)>> =
        there.map(|(_, answer)| Some((answer.collective?, answer.call.as_str()))).collect();
    let Some([first, others @ ..]) = calls.as_deref() else { return };
    if others.iter().any(|(number, _)| *number != first.0) {
        text.push_str(
            "  ranks call collectives of these communicators in a different order: it must be the same on all\n",
        );
    } else if !others.is_empty() && others.iter().all(|call| call == first) {
        text.push_str(
            "  these are in the same call, and yet wait for each other: do all name the same root, and as many elements? \
             mpiexec --check compares them\n",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(call: &str, awaited: &[(Partner, &str)]) -> Answer {
        Answer {
            period: 1,
            given: 2,
            is_closed: true,
            is_shared: false,
            any: false,
            call: call.to_owned(),
            collective: None,
            awaited: awaited.len(),
            first_awaited: awaited.iter().map(|&(partner, what)| (partner, what.to_owned())).collect(),
            messages: 0,
            first_messages: Vec::new(),
            carried: [0, 0],
        }
    }

    fn collective(call: &str, partner: usize, number: u32) -> Answer {
        Answer { collective: Some(number), ..answer(call, &[(Partner::Rank(partner), "its part of a collective")]) }
    }

    #[test]
    fn a_cycle_is_named_with_what_each_waits_for_and_what_is_there() {
        let mut second = answer(
            "MPI_Waitall",
            &[(Partner::Rank(0), "receive, tag 8"), (Partner::Rank(0), "send, tag 1, 90000 bytes")],
        );
        (second.messages, second.first_messages) = (1, vec!["from rank 0, tag 7, 4 bytes".to_owned()]);
        let hung = [(0, answer("MPI_Recv", &[(Partner::Rank(1), "receive, tag 9")])), (1, second)];
        let told: Vec<String> = text(&hung).lines().skip(1).map(str::to_owned).collect();
        assert_eq!(
            told,
            [
                "  rank 0, in MPI_Recv, waits for a receive from rank 1, tag 9",
                "  rank 1, in MPI_Waitall, waits for all of 2: receive from rank 0, tag 8; send to rank 0, tag 1, 90000 bytes",
                "    a message is here that no receive takes: from rank 0, tag 7, 4 bytes",
                "  deadlock: rank 0 waits for rank 1, rank 1 waits for rank 0",
            ]
        );
    }

    #[test]
    fn one_of_several_makes_no_cycle() {
        let mut first =
            answer("MPI_Waitany", &[(Partner::Rank(1), "receive, tag 0"), (Partner::Any, "receive, tag 1")]);
        first.any = true;
        let hung = [(0, first), (1, answer("MPI_Recv", &[(Partner::Rank(0), "receive, tag 2")]))];
        let told = text(&hung);
        assert!(
            told.contains("waits for the first of 2: receive from rank 1, tag 0; receive from any rank, tag 1"),
            "{told}"
        );
        assert!(!told.contains("deadlock"), "{told}");
        let both = [0, 1].map(|rank| (rank, answer("MPI_Probe", &[(Partner::Any, "probe, tag 6")])));
        assert!(text(&both).contains("  ranks 0-1, in MPI_Probe, wait for a probe from any rank, tag 6\n"));
        let epoch = [(0, answer("MPI_Win_start", &[(Partner::Rank(1), "epoch of a window")]))];
        assert!(text(&epoch).contains("waits for an epoch of a window from rank 1\n"));
        let alone = [(0, answer("MPI_Recv", &[(Partner::Rank(0), "receive, tag 2")]))];
        assert!(text(&alone).contains("deadlock: rank 0 waits for itself"));
    }

    #[test]
    fn collectives_that_differ_are_set_side_by_side() {
        let hung = [
            (0, collective("MPI_Barrier", 1, 0)),
            (1, collective("MPI_Bcast", 0, 0)),
            (2, collective("MPI_Barrier", 1, 0)),
        ];
        let told = text(&hung);
        assert!(told.contains("  ranks 0,2, in MPI_Barrier, in the world communicator\n"), "{told}");
        assert!(
            told.contains(
                "these do not go together, in the world communicator: ranks 0,2 in MPI_Barrier, rank 1 in MPI_Bcast;"
            ),
            "{told}"
        );
        let elsewhere = [(0, collective("MPI_Barrier", 1, 0)), (1, collective("MPI_Bcast", 0, 5))];
        let told = text(&elsewhere);
        assert!(!told.contains("do not go together"), "these are different communicators: {told}");
        assert!(told.contains("collectives of these communicators in a different order"), "{told}");
    }

    #[test]
    fn who_waits_for_each_other_in_the_same_collective_may_differ_in_the_root() {
        let scatter = |rank, root| (rank, collective("MPI_Scatter", root, 0));
        assert!(text(&[scatter(0, 1), scatter(1, 0)]).contains("do all name the same root"));
        // Rank 2 is about to do what both wait for.
        let barrier = |rank| (rank, collective("MPI_Barrier", 2, 0));
        let hung = [barrier(0), barrier(1), (2, answer("MPI_Recv", &[(Partner::Rank(0), "receive, tag 5")]))];
        assert!(!text(&hung).contains("same root"));
    }

    #[test]
    fn the_odd_one_out_is_named() {
        let mut hung: Vec<(usize, Answer)> = (0..63).map(|rank| (rank, collective("MPI_Barrier", 63, 0))).collect();
        hung.push((63, answer("MPI_Recv", &[(Partner::Rank(0), "receive, tag 5")])));
        let told = text(&hung);
        assert!(told.contains("  ranks 0-62, in MPI_Barrier, in the world communicator\n"), "{told}");
        assert!(told.contains("the others are in a collective, and rank 63 is not"), "{told}");
        assert!(told.contains("deadlock: rank 0 waits for rank 63, rank 63 waits for rank 0"), "{told}");
    }
}

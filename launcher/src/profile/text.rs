//! The profile in some lines, for a terminal: first the answer, then the ranks, then what is missing.

use super::gathered::{Job, said};
use super::summary::{Summary, per_cent, time};
use rwmpi_core::profile::recorded::{Reason, Recorded};

/// Most ranks that have a line.
const RANKS_MAX: usize = 16;

/// The text.
pub(super) fn of(job: &Job, summary: &Summary) -> String {
    let mut text = String::new();
    for line in &summary.answer {
        text.push_str(&format!("profile: {line}\n"));
    }
    if job.noted().next().is_some() {
        text.push_str(&table(job));
    }
    for line in missing(job) {
        text.push_str(&format!("profile: {line}\n"));
    }
    text
}

/// A line for each rank, those first that wait least if there are many: the others wait for them.
fn table(job: &Job) -> String {
    let mut ranks: Vec<_> = job.noted().collect();
    if ranks.len() > RANKS_MAX {
        ranks.sort_by_key(|(_, _, notes)| notes.waited);
    }
    let mut text = format!("  {:>5} {:>9} {:>8} {:>8}  waits most for\n", "rank", "time", "in MPI", "waiting");
    for (number, rank, notes) in ranks.iter().take(RANKS_MAX) {
        let run = rank.ran();
        let (inside, waited) = (per_cent(notes.inside, run), per_cent(notes.waited, run));
        text.push_str(&format!("  {number:>5} {:>9} {inside:>8} {waited:>8}  {}\n", time(run), most_awaited(notes)));
    }
    if ranks.len() > RANKS_MAX {
        text.push_str(&format!("  and {} ranks that wait longer\n", ranks.len() - RANKS_MAX));
    }
    text
}

/// Whom a rank waited for most, and why.
pub(super) fn most_awaited(notes: &Recorded) -> String {
    let all =
        notes.peers.iter().enumerate().flat_map(|(peer, of)| {
            Reason::ALL.into_iter().map(move |reason| (of.waits[reason as usize][1], peer, reason))
        });
    match all.max_by_key(|(waited, ..)| *waited) {
        Some((waited, peer, reason)) if waited > 0 => format!("rank {peer}: {}, {}", time(waited), said(reason)),
        _ => "nobody".to_owned(),
    }
}

/// What is not in the profile.
pub(super) fn missing(job: &Job) -> Vec<String> {
    let named = |ranks: &[usize]| {
        let first: Vec<String> = ranks.iter().take(8).map(usize::to_string).collect();
        let more = if ranks.len() > 8 { format!(" and {} more", ranks.len() - 8) } else { String::new() };
        let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
        format!("{noun} {}{more}", first.join(", "))
    };
    let mut lines = Vec::new();
    let (broken_off, silent) = (job.broken_off(), job.silent());
    if !broken_off.is_empty() {
        lines.push(format!("{} did not finalize: there the notes end where the rank did", named(&broken_off)));
    }
    if !silent.is_empty() {
        lines.push(format!("{} left no notes, not having joined the job by this library", named(&silent)));
    }
    let uncounted: u64 = job.noted().map(|(_, _, notes)| notes.uncounted).sum();
    if uncounted > 0 {
        lines.push(format!(
            "{uncounted} calls of functions or kinds of collectives beyond the tables' room are not counted"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::gathered::tests::late_sender;
    use super::super::summary;
    use super::*;

    #[test]
    fn the_answer_comes_first_and_what_is_missing_is_said() {
        let mut job = late_sender();
        let text = of(&job, &summary::of(&job));
        assert!(text.lines().nth(1).unwrap().contains("Rank 0 holds the others up"), "{text}");
        assert!(text.contains("rank 0: 800 ns, messages that it sends late"), "{text}");
        assert!(!text.contains("finalize"), "{text}");
        if let Some(notes) = &mut job.ranks[1].notes {
            notes.ended = None;
        }
        job.ranks[0].notes = None;
        let text = of(&job, &summary::of(&job));
        assert!(text.contains("rank 1 did not finalize") && text.contains("rank 0 left no notes"), "{text}");
    }
}

//! Tables of pairs of ranks: every cell, as far as that can be taken in at a glance; the largest pairs beyond.

use super::gathered::Job;
use rwmpi_core::profile::recorded::Peer;
use std::fmt::Write as _;

/// Most ranks whose pairs are all shown, and most pairs of more ranks.
const RANKS_MAX: usize = 24;
const PAIRS_MAX: usize = 40;
/// How many shades there are.
const SHADES: u64 = 5;

/// A table of what `value` says of each rank (a line) and each other (a column), in the words of `said`.
pub(super) fn table(job: &Job, caption: &str, value: impl Fn(&Peer) -> u64, said: impl Fn(u64) -> String) -> String {
    let pairs: Vec<(usize, usize, u64)> = job
        .noted()
        .flat_map(|(from, _, notes)| notes.peers.iter().enumerate().map(move |(to, peer)| (from, to, peer)))
        .map(|(from, to, peer)| (from, to, value(peer)))
        .filter(|&(.., value)| value > 0)
        .collect();
    let Some(most) = pairs.iter().map(|&(.., value)| value).max() else { return String::new() };
    let body =
        if job.ranks.len() <= RANKS_MAX { square(job.ranks.len(), &pairs, most, said) } else { list(pairs, said) };
    format!("<p class=\"about\">{caption}</p>\n<div class=\"table\"><table class=\"heat\">{body}</table></div>\n")
}

fn square(ranks: usize, pairs: &[(usize, usize, u64)], most: u64, said: impl Fn(u64) -> String) -> String {
    let mut body = "<thead><tr><th></th>".to_owned();
    (0..ranks).for_each(|rank| _ = write!(body, "<th>{rank}</th>"));
    body.push_str("</tr></thead><tbody>");
    for from in 0..ranks {
        let _ = write!(body, "<tr><th>{from}</th>");
        for to in 0..ranks {
            let value = pairs.iter().find(|&&(one, other, _)| (one, other) == (from, to)).map(|&(.., value)| value);
            let _ = match value {
                Some(value) => write!(body, "<td class=\"s{}\">{}</td>", shade(value, most), said(value)),
                None => write!(body, "<td></td>"),
            };
        }
        body.push_str("</tr>");
    }
    body + "</tbody>"
}

/// From 1 to [`SHADES`].
fn shade(value: u64, most: u64) -> u64 {
    (u128::from(value) * u128::from(SHADES)).div_ceil(u128::from(most.max(1))).try_into().unwrap_or(SHADES)
}

fn list(mut pairs: Vec<(usize, usize, u64)>, said: impl Fn(u64) -> String) -> String {
    pairs.sort_by_key(|&(.., value)| std::cmp::Reverse(value));
    let mut body = "<thead><tr><th>rank</th><th>other</th><th></th></tr></thead><tbody>".to_owned();
    for (from, to, value) in pairs.iter().take(PAIRS_MAX) {
        let _ = write!(body, "<tr><th>{from}</th><td>{to}</td><td>{}</td></tr>", said(*value));
    }
    if pairs.len() > PAIRS_MAX {
        let rest: u64 = pairs[PAIRS_MAX..].iter().map(|&(.., value)| value).sum();
        let _ = write!(body, "<tr><th>others</th><td>{}</td><td>{}</td></tr>", pairs.len() - PAIRS_MAX, said(rest));
    }
    body + "</tbody>"
}

#[cfg(test)]
mod tests {
    use super::super::gathered::tests::late_sender;
    use super::*;

    #[test]
    fn many_ranks_have_their_largest_pairs_shown() {
        let mut job = late_sender();
        let all = table(&job, "sent", |peer| peer.bytes, |bytes| bytes.to_string());
        assert!(all.contains("<tr><th>0</th><td></td><td class=\"s5\">8</td></tr>"), "{all}");
        assert_eq!(table(&job, "none", |_| 0, |_| String::new()), "");
        for _ in 0..RANKS_MAX {
            let more = late_sender().ranks.remove(0);
            job.ranks.push(more);
        }
        let some = table(&job, "sent", |peer| peer.bytes, |bytes| bytes.to_string());
        assert!(some.contains("<tr><th>0</th><td>1</td><td>8</td></tr>"), "{some}");
    }

    #[test]
    fn the_most_is_the_darkest() {
        assert_eq!([shade(1, 100), shade(50, 100), shade(100, 100), shade(u64::MAX, u64::MAX)], [1, 3, 5, 5]);
    }
}

//! The comparison at a glance: the answer in words, and a map of ratios by benchmark and size.
//!
//! Both are computed from the figures. The map shows one regime at a time, the one with most ratios first, since
//! figures of different regimes are never held against each other.

use maud::{Markup, html};

use super::figures::{Figures, REGIMES};
use super::{IMB, LAMMPS, MULTIPLE, TCP};
use crate::plots;

/// Sizes that have a column. The tables have them all.
const SIZES: [u64; 11] = [0, 8, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// From which part of the best other's time on a cell has which class: better ones are deeper.
const STEPS: [(f64, &str); 6] = [(0.5, "h1"), (0.8, "h2"), (1.0, "h3"), (1.1, "h4"), (1.5, "h5"), (f64::MAX, "h6")];
/// Ratios that differ from 1 by less are level: samples of one machine vary more.
const LEVEL: f64 = 0.1;
/// How many of those that are slower and move bytes are named.
const NAMED: usize = 5;

/// A ratio and where it was found.
struct Cell<'a> {
    benchmark: &'a str,
    ranks: usize,
    bytes: u64,
    regime: &'a str,
    ratio: f64,
}

fn cells(figures: &Figures) -> Vec<Cell<'_>> {
    let mut cells = Vec::new();
    for (benchmark, ranks) in figures.benchmarks() {
        for line in figures.table(benchmark, ranks).lines {
            let Some(ratio) = line.ratio else { continue };
            cells.push(Cell { benchmark, ranks, bytes: line.bytes, regime: line.regime, ratio });
        }
    }
    cells
}

/// The regimes that have ratios, the one with most of them first.
pub fn regimes(figures: &Figures) -> Vec<&'static str> {
    let cells = cells(figures);
    let count = |regime: &&str| cells.iter().filter(|cell| cell.regime == *regime).count();
    let mut regimes: Vec<&str> = REGIMES.into_iter().filter(|regime| count(regime) > 0).collect();
    regimes.sort_by_key(|regime| std::cmp::Reverse(count(regime)));
    regimes
}

/// What the comparison says, in a few sentences.
pub fn answer(figures: &Figures) -> Markup {
    let mut cells = cells(figures);
    cells.sort_by(|one, other| one.ratio.total_cmp(&other.ratio));
    let all = cells.len();
    let faster = cells.iter().filter(|cell| cell.ratio < 1.0 - LEVEL).count();
    let slower: Vec<&Cell> = cells.iter().rev().filter(|cell| cell.ratio > 1.0 + LEVEL).collect();
    html! {
        @match cells.get(all / 2) {
            None => p class="answer" { "Nothing was compared yet." },
            Some(middle) => {
                p class="answer" {
                    "In " b { (faster) " of " (all) } " comparisons rwmpi takes less time than the best of the other libraries, in "
                    (all - faster - slower.len()) " it is level (within " (percent(LEVEL)) "), and in " b { (slower.len()) } " it takes more. The middle one takes "
                    b { (percent(middle.ratio)) } " of the best other's time."
                }
                @let (empty, moving): (Vec<&Cell>, Vec<&Cell>) = slower.into_iter().partition(|cell| cell.bytes == 0);
                @if !moving.is_empty() {
                    p { "It is furthest behind in:" }
                    ul { @for cell in moving.iter().take(NAMED) { li { (name(cell)) ": " (format!("{:.2}", cell.ratio)) " times the best other's" } } }
                }
                @if !empty.is_empty() {
                    p { (empty.len()) " of those in which it takes more move no bytes; other libraries return from some of these calls at once." }
                }
            }
        }
    }
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

fn name(cell: &Cell<'_>) -> String {
    let ranks = if cell.ranks == 1 { "1 rank".to_owned() } else { format!("{} ranks", cell.ranks) };
    format!("{}, {ranks}, {}, cores {}", cell.benchmark, plots::length(cell.bytes), cell.regime)
}

/// In which part of the map a benchmark is.
fn group(benchmark: &str, ranks: usize) -> &'static str {
    let in_rounds = ["latency", "bandwidth", "bidirectional", "whole, to and fro", "whole, both ways"];
    match benchmark {
        name if name.ends_with(TCP) => "Over TCP",
        name if name.ends_with(IMB) => "Intel's MPI Benchmarks",
        name if name.ends_with(LAMMPS) => "LAMMPS",
        name if name.ends_with(MULTIPLE) || name.contains("thread") => "Threads",
        name if in_rounds.contains(&name) || name.starts_with("latency, ") => "Messages",
        name if super::COLLECTIVES.contains(&name) || ["barrier", "scan"].contains(&name) || ranks > 2 => "Collectives",
        "alltoallv" | "allgatherv" | "reduce_scatter" | "whole, allreduce" => "Collectives",
        "ibcast" | "ireduce" | "iallreduce" | "ialltoall" => "Collectives",
        _ => "Everything else",
    }
}

/// The parts of the map, in its order.
const GROUPS: [&str; 7] =
    ["Messages", "Collectives", "Threads", "Over TCP", "Intel's MPI Benchmarks", "LAMMPS", "Everything else"];

/// The map of a regime, for a reader who is to see at once where rwmpi is ahead.
pub fn map(figures: &Figures, regime: &str) -> Markup {
    let cells: Vec<Cell> = cells(figures).into_iter().filter(|cell| cell.regime == regime).collect();
    html! {
        @for wanted in GROUPS {
            @let its: Vec<&Cell> = cells.iter().filter(|cell| group(cell.benchmark, cell.ranks) == wanted).collect();
            @let sizes: Vec<u64> = SIZES.into_iter().filter(|size| its.iter().any(|cell| cell.bytes == *size)).collect();
            @if !sizes.is_empty() {
                div class="table" {
                    table class="heat" {
                        caption { (wanted) }
                        thead { tr { th { "bytes" } @for size in &sizes { th { (plots::size(*size)) } } } }
                        tbody { @for (benchmark, ranks) in figures.benchmarks() { (row(&its, (benchmark, ranks), &sizes)) } }
                    }
                }
            }
        }
    }
}

fn row(cells: &[&Cell<'_>], (benchmark, ranks): (&str, usize), sizes: &[u64]) -> Markup {
    let at = |bytes: u64| {
        cells
            .iter()
            .find(|cell| (cell.benchmark, cell.ranks, cell.bytes) == (benchmark, ranks, bytes))
            .map(|cell| cell.ratio)
    };
    let title = [TCP, IMB, LAMMPS].iter().fold(benchmark, |name, mark| name.strip_suffix(mark).unwrap_or(name));
    html! {
        @if sizes.iter().any(|size| at(*size).is_some()) {
            tr {
                th { a href={ "#" (anchor(benchmark, ranks)) } { (title) } " " span class="ranks" { "×" (ranks) } }
                @for size in sizes {
                    @match at(*size) {
                        Some(ratio) => td class=(class(ratio)) { (format!("{ratio:.2}")) },
                        None => td {},
                    }
                }
            }
        }
    }
}

fn class(ratio: f64) -> &'static str {
    STEPS.into_iter().find(|(limit, _)| ratio <= *limit).map_or("h6", |(_, class)| class)
}

/// What the colours mean.
pub fn legend() -> Markup {
    let words = ["half the time or less", "up to 0.8", "up to 1.0", "level, up to 1.1", "up to 1.5", "more"];
    html! { p class="legend" { @for ((_, class), words) in STEPS.into_iter().zip(words) { span class=(class) { (words) } " " } } }
}

/// How the section of a benchmark is called within the page.
pub fn anchor(benchmark: &str, ranks: usize) -> String {
    let name = benchmark.replace(|letter: char| !letter.is_alphanumeric(), "-").to_lowercase();
    format!("{name}-{ranks}")
}

#[cfg(test)]
mod tests {
    use super::super::figures::Found;
    use super::*;

    /// Times of ours and of another library, whose time is 1.
    fn figures(ours: &[(&str, u64, &str, f64)]) -> Figures {
        let mut figures = Figures::default();
        for &(benchmark, bytes, regime, time) in ours {
            for (library, median_us) in [("ours", time), ("theirs", 1.0)] {
                let (benchmark, regime) = (benchmark.to_owned(), regime.to_owned());
                figures.add(library, 2, Found { benchmark, bytes, regime, min_us: median_us, median_us });
            }
        }
        figures
    }

    #[test]
    fn the_answer_counts_and_names_the_worst() {
        let figures = figures(&[
            ("latency", 8, "close", 0.5),
            ("latency", 64, "close", 0.7),
            ("latency", 256, "close", 1.05),
            ("bcast", 1 << 20, "near", 1.3),
        ]);
        let text = answer(&figures).into_string();
        assert!(text.contains("<b>1</b> it takes more") && text.contains("<b>2 of 4</b>"), "{text}");
        assert!(text.contains("bcast, 2 ranks, 1 MiB, cores near: 1.30 times"), "{text}");
        assert_eq!(regimes(&figures), ["close", "near"]);
    }

    #[test]
    fn the_map_has_a_cell_for_each_ratio_of_its_regime() {
        let figures =
            figures(&[("latency", 8, "close", 0.4), ("latency", 64, "near", 2.0), ("latency, tcp", 8, "close", 1.2)]);
        let map = map(&figures, "close").into_string();
        assert!(map.contains("<td class=\"h1\">0.40</td>") && map.contains("<td class=\"h5\">1.20</td>"), "{map}");
        assert!(!map.contains("2.00") && map.contains("<caption>Over TCP</caption>"), "{map}");
    }

    #[test]
    fn nothing_compared_is_no_answer() {
        assert!(answer(&Figures::default()).into_string().contains("Nothing was compared"));
    }
}

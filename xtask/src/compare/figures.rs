//! The figures of a comparison: read from the program's tables, held against one another, written down.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::plots::{Across, Curve, Panel, SeriesLabelPosition};

/// What names of columns begin with that are no libraries.
pub const FLOOR: &str = "raw";

/// What is compared, in the order of the tables. The place is that of its first appearance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    place: usize,
    benchmark: String,
    ranks: usize,
    bytes: u64,
    regime: String,
}

/// What one library reached in one row.
#[derive(Clone, Debug, Default)]
struct Reached {
    /// The least time of each round, microseconds.
    minima: Vec<f64>,
    /// The median time of each round, microseconds.
    medians: Vec<f64>,
}

/// One line of the JSON.
#[derive(Serialize)]
struct Record<'a> {
    benchmark: &'a str,
    ranks: usize,
    bytes: u64,
    regime: &'a str,
    library: &'a str,
    rounds: usize,
    min_us: f64,
    median_us: f64,
    /// Its median by the least median of the other libraries.
    ratio_to_best_peer: Option<f64>,
    /// Its median by the floor's.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_to_floor: Option<f64>,
}

/// All figures so far.
#[derive(Debug, Default)]
pub struct Figures {
    /// In the order of their first figures; ours is the first.
    libraries: Vec<String>,
    rows: BTreeMap<Row, BTreeMap<usize, Reached>>,
}

impl Figures {
    /// Reads the table that the program wrote under `library`; `mark` is added to the benchmarks' names, which are the result.
    pub fn read(&mut self, library: &str, ranks: usize, mark: &str, table: &str) -> Result<BTreeSet<String>> {
        let mut benchmarks = BTreeSet::new();
        let column = self.libraries.iter().position(|known| known == library).unwrap_or_else(|| {
            self.libraries.push(library.to_owned());
            self.libraries.len() - 1
        });
        for line in table.lines().skip(1).filter(|line| !line.trim().is_empty()) {
            let benchmark = self.read_line(column, ranks, mark, line);
            benchmarks.insert(benchmark.with_context(|| format!("{library} wrote a strange line: {line:?}"))?);
        }
        Ok(benchmarks)
    }

    /// Whether each library has figures of a benchmark in a regime in which ours has some, at each size that both have.
    pub fn have_met(&self, benchmark: &str, ranks: usize) -> bool {
        let rows = || self.rows.iter().filter(|(row, _)| row.benchmark == benchmark && row.ranks == ranks);
        let have = |bytes: u64, columns: &[usize]| {
            rows().any(|(row, reached)| row.bytes == bytes && columns.iter().all(|column| reached.contains_key(column)))
        };
        rows()
            .all(|(row, reached)| reached.keys().all(|&column| have(row.bytes, &[column, 0]) || !have(row.bytes, &[0])))
    }

    /// The name may have blanks; after it come bytes, minimum, sextile, median, MB/s, regime, line, samples, dropped.
    fn read_line(&mut self, column: usize, ranks: usize, mark: &str, line: &str) -> Result<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, numbers) = words.split_at(words.len().checked_sub(9).context("too few columns")?);
        let (benchmark, regime) = (name.join(" ") + mark, numbers[5].to_owned());
        let bytes = numbers[0].parse()?;
        let same = |row: &&Row| row.benchmark == benchmark && row.ranks == ranks;
        let place = self.rows.keys().find(same).map_or(self.rows.len(), |row| row.place);
        let reached = self.rows.entry(Row { place, benchmark: benchmark.clone(), ranks, bytes, regime }).or_default();
        let reached = reached.entry(column).or_default();
        reached.minima.push(numbers[1].parse()?);
        reached.medians.push(numbers[3].parse()?);
        Ok(benchmark)
    }

    /// Ours is the first, and whatever is called after it.
    fn is_ours(&self, column: usize) -> bool {
        self.libraries[column].starts_with(&self.libraries[0])
    }

    /// Whether it is no library, but what all of them are above.
    fn is_floor(&self, column: usize) -> bool {
        self.libraries[column].starts_with(FLOOR)
    }

    /// The least of the other libraries' medians in a row.
    fn best_peer(&self, row: &BTreeMap<usize, Reached>) -> Option<f64> {
        self.best(row, |column| !self.is_ours(column) && !self.is_floor(column))
    }

    /// The least of the floor's medians in a row.
    fn floor(&self, row: &BTreeMap<usize, Reached>) -> Option<f64> {
        self.best(row, |column| self.is_floor(column))
    }

    fn best(&self, row: &BTreeMap<usize, Reached>, among: impl Fn(usize) -> bool) -> Option<f64> {
        row.iter()
            .filter(|(column, _)| among(**column))
            .map(|(_, reached)| median(&reached.medians))
            .min_by(f64::total_cmp)
    }

    /// For people: of each row the median time under each library, and ours by the best of the others.
    pub fn tables(&self) -> String {
        let mut text =
            String::from("median times in microseconds; the last column is ours by the best of the others\n");
        let mut benchmark = None;
        let width = self.libraries.iter().map(String::len).max().unwrap_or(0).max(11);
        for (row, reached) in &self.rows {
            if benchmark != Some((&row.benchmark, row.ranks)) {
                benchmark = Some((&row.benchmark, row.ranks));
                let _ = write!(text, "\n{}, {} ranks\n{:>10} {:>6}", row.benchmark, row.ranks, "bytes", "cores");
                self.libraries.iter().for_each(|library| write!(text, " {library:>width$}").unwrap_or_default());
                text.push_str("    ratio\n");
            }
            let _ = write!(text, "{:>10} {:>6}", row.bytes, row.regime);
            for column in 0..self.libraries.len() {
                match reached.get(&column) {
                    Some(reached) => write!(text, " {:>width$.3}", median(&reached.medians)).unwrap_or_default(),
                    None => write!(text, " {:>width$}", "-").unwrap_or_default(),
                }
            }
            match (reached.get(&0), self.best_peer(reached)) {
                (Some(ours), Some(best)) => write!(text, " {:>8.2}", median(&ours.medians) / best).unwrap_or_default(),
                _ => text.push_str("        -"),
            }
            if let (Some(ours), Some(floor)) = (reached.get(&0), self.floor(reached)) {
                write!(text, "  {:.2} x raw", median(&ours.medians) / floor).unwrap_or_default();
            }
            text.push('\n');
        }
        text
    }

    /// For pictures: what was measured with `ranks` ranks at three sizes or more, in the regime that has the most figures.
    pub fn panels(&self, ranks: usize, wanted: &[&str]) -> Vec<Panel> {
        let panel = |&name: &&str| {
            let rows = |regime: &str| {
                let rows = self.rows.iter().filter(|(row, _)| row.benchmark == name && row.ranks == ranks);
                rows.filter(|(row, reached)| row.regime == regime && row.bytes > 0 && reached.len() > 1)
                    .collect::<Vec<_>>()
            };
            let rows =
                ["close", "near", "far"].map(rows).into_iter().max_by_key(Vec::len).filter(|rows| rows.len() >= 3)?;
            let curve = |(column, library): (usize, &String)| {
                let point = |(row, reached): &(&Row, &BTreeMap<usize, Reached>)| {
                    Some((row.bytes as f64, median(&reached.get(&column)?.medians)))
                };
                Curve::through(library.clone(), rows.iter().filter_map(point).collect())
            };
            let title = format!("{name}, {ranks} ranks, cores {}", rows[0].0.regime);
            let curves = self.libraries.iter().enumerate().map(curve);
            let curves = curves.filter(|curve| !curve.points.is_empty()).collect();
            let names = SeriesLabelPosition::UpperLeft;
            Some(Panel { title, across: Across::Bytes, up: "µs, median", names, curves })
        };
        wanted.iter().filter_map(panel).collect()
    }

    /// For programs.
    pub fn json(&self) -> Result<String> {
        let records: Vec<Record<'_>> = self
            .rows
            .iter()
            .flat_map(|(row, reached)| {
                let (best, floor) = (self.best_peer(reached), self.floor(reached));
                reached.iter().map(move |(&column, reached)| Record {
                    benchmark: &row.benchmark,
                    ranks: row.ranks,
                    bytes: row.bytes,
                    regime: &row.regime,
                    library: &self.libraries[column],
                    rounds: reached.medians.len(),
                    min_us: reached.minima.iter().copied().fold(f64::INFINITY, f64::min),
                    median_us: median(&reached.medians),
                    ratio_to_best_peer: best.filter(|_| column == 0).map(|best| median(&reached.medians) / best),
                    ratio_to_floor: floor.filter(|_| column == 0).map(|floor| median(&reached.medians) / floor),
                })
            })
            .collect();
        Ok(serde_json::to_string_pretty(&records)? + "\n")
    }
}

/// The middle one; of an even number the lower of the two.
fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "benchmark bytes min us sextile us median us MB/s regime line samples dropped\n";

    #[test]
    fn ours_is_held_against_the_best_of_the_others() {
        let mut figures = Figures::default();
        for (library, times) in [("ours", [1.0, 3.0, 2.0]), ("slow", [9.0, 9.0, 9.0]), ("fast", [4.0, 5.0, 3.0])] {
            for time in times {
                let line = format!("posted, in order 8 0.5 0.6 {time} 7.0 near 50 100 0");
                figures.read(library, 2, "", &format!("{HEAD}{line}\n")).unwrap();
            }
        }
        let text = figures.tables();
        assert!(text.contains("posted, in order, 2 ranks"), "{text}");
        assert!(text.lines().last().unwrap().ends_with("0.50"), "{text}");
        let records: serde_json::Value = serde_json::from_str(&figures.json().unwrap()).unwrap();
        assert_eq!(records[0]["ratio_to_best_peer"], 0.5);
        assert_eq!(records[1]["library"], "slow");
    }

    #[test]
    fn the_floor_is_no_peer() {
        let mut figures = Figures::default();
        for (library, time) in [("ours", 5.0), ("fast", 10.0), ("raw TCP", 4.0)] {
            figures.read(library, 2, ", tcp", &format!("{HEAD}latency 8 0.5 0.6 {time} 7.0 near 50 100 0\n")).unwrap();
        }
        let text = figures.tables();
        assert!(text.contains("latency, tcp, 2 ranks") && text.ends_with("0.50  1.25 x raw\n"), "{text}");
    }

    #[test]
    fn libraries_meet_in_a_regime_at_each_size() {
        let mut figures = Figures::default();
        let mut met_after = |library, size, regime| {
            let line = format!("{HEAD}latency {size} 0.5 0.6 1.0 7.0 {regime} 50 100 0\n");
            assert!(figures.read(library, 2, "", &line).unwrap().contains("latency"));
            figures.have_met("latency", 2)
        };
        assert!(met_after("ours", 8, "near"));
        assert!(!met_after("theirs", 8, "far"));
        assert!(met_after("theirs", 8, "near"));
        assert!(met_after("theirs", 64, "near"), "ours has nothing at this size");
        assert!(!met_after("ours", 64, "far"));
        assert!(met_after("ours", 64, "near"));
    }

    #[test]
    fn a_strange_line_is_named() {
        let error = Figures::default().read("ours", 2, "", &format!("{HEAD}oops\n")).unwrap_err();
        assert!(error.to_string().contains("oops"));
    }
}

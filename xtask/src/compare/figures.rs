//! The figures of a comparison: read from the program's tables, held against one another, written down.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::plots::{Across, Curve, Panel, SeriesLabelPosition};

/// What names of columns begin with that are no libraries.
pub const FLOOR: &str = "raw";
/// What a library is called that has a thread for progress.
const WITH_THREAD: &str = ", thread";

/// How far the cores are from each other; of several that were met equally often, the first is drawn. *Halves* are of
/// one core.
pub const REGIMES: [&str; 4] = ["close", "near", "far", "halves"];

/// What was reached in one benchmark.
pub struct Table<'a> {
    pub libraries: Vec<&'a str>,
    pub lines: Vec<Line<'a>>,
}

/// What was reached at one size in one regime.
pub struct Line<'a> {
    pub bytes: u64,
    pub regime: &'a str,
    /// By library.
    pub medians: Vec<Option<f64>>,
    pub ratio: Option<f64>,
    pub floor_ratio: Option<f64>,
}

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

/// What one run of a benchmark found.
#[derive(Debug, PartialEq)]
pub struct Found {
    pub benchmark: String,
    pub bytes: u64,
    pub regime: String,
    pub min_us: f64,
    pub median_us: f64,
}

/// One line of the JSON.
#[derive(Serialize, Deserialize)]
struct Record {
    benchmark: String,
    ranks: usize,
    bytes: u64,
    regime: String,
    library: String,
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
    /// What an earlier run wrote by [`Figures::json`]: of its rounds, one.
    pub fn from_json(text: &str) -> Result<Figures> {
        let records: Vec<Record> = serde_json::from_str(text)?;
        let mut figures = Figures::default();
        for Record { benchmark, ranks, bytes, regime, library, min_us, median_us, .. } in records {
            figures.add(&library, ranks, Found { benchmark, bytes, regime, min_us, median_us });
        }
        Ok(figures)
    }

    /// Reads the table that the program wrote under `library`; `mark` is added to the benchmarks' names, which are the
    /// result.
    pub fn read(&mut self, library: &str, ranks: usize, mark: &str, table: &str) -> Result<BTreeSet<String>> {
        let mut benchmarks = BTreeSet::new();
        for line in table.lines().skip(1).filter(|line| !line.trim().is_empty()) {
            let found = found(mark, line).with_context(|| format!("{library} wrote a strange line: {line:?}"))?;
            benchmarks.insert(found.benchmark.clone());
            self.add(library, ranks, found);
        }
        Ok(benchmarks)
    }

    pub fn add(&mut self, library: &str, ranks: usize, found: Found) {
        let column = self.libraries.iter().position(|known| known == library).unwrap_or_else(|| {
            self.libraries.push(library.to_owned());
            self.libraries.len() - 1
        });
        let Found { benchmark, bytes, regime, min_us, median_us } = found;
        let same = |row: &&Row| row.benchmark == benchmark && row.ranks == ranks;
        let place = self.rows.keys().find(same).map_or(self.rows.len(), |row| row.place);
        let reached = self.rows.entry(Row { place, benchmark, ranks, bytes, regime }).or_default();
        let reached = reached.entry(column).or_default();
        reached.minima.push(min_us);
        reached.medians.push(median_us);
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

    /// Ours is the first, and whatever is called after it.
    fn is_ours(&self, column: usize) -> bool {
        self.libraries[column].starts_with(&self.libraries[0])
    }

    /// Whether it is no library, but what all of them are above.
    fn is_floor(&self, column: usize) -> bool {
        self.libraries[column].starts_with(FLOOR)
    }

    /// The least of the other libraries' medians in a row, of those that have no more threads than ours: what a thread
    /// for progress gains in a wait, it costs the computation.
    fn best_peer(&self, row: &BTreeMap<usize, Reached>) -> Option<f64> {
        let has_thread = |column: usize| self.libraries[column].ends_with(WITH_THREAD);
        self.best(row, |column| !self.is_ours(column) && !self.is_floor(column) && !has_thread(column))
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
        let (mut benchmark, mut columns) = (None, Vec::new());
        let width = self.libraries.iter().map(String::len).max().unwrap_or(0).max(11);
        for (row, reached) in &self.rows {
            if benchmark != Some((&row.benchmark, row.ranks)) {
                benchmark = Some((&row.benchmark, row.ranks));
                let _ = write!(text, "\n{}, {} ranks\n{:>10} {:>6}", row.benchmark, row.ranks, "bytes", "cores");
                columns = self.columns(&row.benchmark, row.ranks).into_iter().collect();
                for &column in &columns {
                    write!(text, " {:>width$}", self.libraries[column]).unwrap_or_default();
                }
                text.push_str("    ratio\n");
            }
            let _ = write!(text, "{:>10} {:>6}", row.bytes, row.regime);
            for column in &columns {
                match reached.get(column) {
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

    /// What was measured, in the order of the tables: benchmarks, each with its ranks.
    pub fn benchmarks(&self) -> Vec<(&str, usize)> {
        let mut benchmarks: Vec<_> = self.rows.keys().map(|row| (row.benchmark.as_str(), row.ranks)).collect();
        benchmarks.dedup();
        benchmarks
    }

    /// Those that have figures of a benchmark.
    fn columns(&self, benchmark: &str, ranks: usize) -> BTreeSet<usize> {
        let rows = self.rows.iter().filter(|(row, _)| row.benchmark == benchmark && row.ranks == ranks);
        rows.flat_map(|(_, reached)| reached.keys().copied()).collect()
    }

    /// Of a benchmark: the libraries that have figures, ours first, and for each size and regime what they reached,
    /// their medians in microseconds, and ours by the best of the others and by the floor.
    pub fn table(&self, benchmark: &str, ranks: usize) -> Table<'_> {
        let rows = || self.rows.iter().filter(|(row, _)| row.benchmark == benchmark && row.ranks == ranks);
        let ours_by = |reached: &BTreeMap<usize, Reached>, other: Option<f64>| {
            reached.get(&0).zip(other).map(|(ours, other)| median(&ours.medians) / other)
        };
        let columns = self.columns(benchmark, ranks);
        let lines = rows().map(|(row, reached)| Line {
            bytes: row.bytes,
            regime: &row.regime,
            medians: columns.iter().map(|column| Some(median(&reached.get(column)?.medians))).collect(),
            ratio: ours_by(reached, self.best_peer(reached)),
            floor_ratio: ours_by(reached, self.floor(reached)),
        });
        Table {
            libraries: columns.iter().map(|&column| self.libraries[column].as_str()).collect(),
            lines: lines.collect(),
        }
    }

    /// For pictures: what was measured with `ranks` ranks at three sizes or more, in the regime that has the most
    /// figures.
    pub fn panels(&self, ranks: usize, wanted: &[&str]) -> Vec<Panel> {
        let panel = |&name: &&str| {
            REGIMES.into_iter().rev().filter_map(|regime| self.panel(name, ranks, regime)).max_by_key(points)
        };
        wanted.iter().filter_map(panel).collect()
    }

    /// A picture of what ours and others reached in one regime, if that was measured at three sizes or more.
    pub fn panel(&self, name: &str, ranks: usize, regime: &str) -> Option<Panel> {
        let rows =
            self.rows.iter().filter(|(row, _)| row.benchmark == name && row.ranks == ranks && row.regime == regime);
        let is_compared = |reached: &BTreeMap<usize, Reached>| reached.contains_key(&0) && reached.len() > 1;
        let rows: Vec<_> = rows.filter(|(row, reached)| row.bytes > 0 && is_compared(reached)).collect();
        let curve = |(column, library): (usize, &String)| {
            let point = |(row, reached): &(&Row, &BTreeMap<usize, Reached>)| {
                Some((row.bytes as f64, median(&reached.get(&column)?.medians)))
            };
            Curve::through(library.clone(), rows.iter().filter_map(point).collect())
        };
        let title = format!("{name}, {ranks} ranks, cores {regime}");
        let curves = self.libraries.iter().enumerate().map(curve).collect();
        let names = SeriesLabelPosition::UpperLeft;
        (rows.len() >= 3).then_some(Panel { title, across: Across::Bytes, up: "µs, median", names, curves })
    }

    /// For programs.
    pub fn json(&self) -> Result<String> {
        let records: Vec<Record> = self
            .rows
            .iter()
            .flat_map(|(row, reached)| {
                let (best, floor) = (self.best_peer(reached), self.floor(reached));
                reached.iter().map(move |(&column, reached)| Record {
                    benchmark: row.benchmark.clone(),
                    ranks: row.ranks,
                    bytes: row.bytes,
                    regime: row.regime.clone(),
                    library: self.libraries[column].clone(),
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

/// What a line of the program's table says. The benchmark's name may have blanks; after it come bytes, minimum,
/// sextile, median, MB/s, regime, line, samples, dropped.
fn found(mark: &str, line: &str) -> Result<Found> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, numbers) = words.split_at(words.len().checked_sub(9).context("too few columns")?);
    Ok(Found {
        benchmark: name.join(" ") + mark,
        bytes: numbers[0].parse()?,
        regime: numbers[5].to_owned(),
        min_us: numbers[1].parse()?,
        median_us: numbers[3].parse()?,
    })
}

/// How near the cores were, as the first line of the program's table says.
pub fn regime(table: &str) -> Result<String> {
    Ok(found("", table.lines().nth(1).context("the table is empty")?)?.regime)
}

/// How many points the curve has that has the most.
fn points(panel: &Panel) -> usize {
    panel.curves.iter().map(|curve| curve.points.len()).max().unwrap_or(0)
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

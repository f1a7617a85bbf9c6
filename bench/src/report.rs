//! Telling the figures: a table for people, JSON for programs.

use crate::digits::{microseconds, rounded};
use crate::distribution::Distribution;
use crate::regime::Regime;
use crate::statistics::Summary;
use crate::way::Way;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// One measured figure. What does not apply is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figure {
    /// Which benchmark.
    pub benchmark: String,
    /// Which way of doing it, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Length of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// The least of all samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_us: Option<f64>,
    /// The sample a sixth of the way up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sextile1_us: Option<f64>,
    /// The sample half of the way up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_us: Option<f64>,
    /// The sample five sixths of the way up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sextile5_us: Option<f64>,
    /// Bytes by the least time; mega is a million.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub megabytes_per_second: Option<f64>,
    /// Messages by the least time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages_per_second: Option<f64>,
    /// The least time by the physical limit for it in the same regime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_ratio: Option<f64>,
    /// The least time on a raw connection, in a job over TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_min_us: Option<f64>,
    /// The median time on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_median_us: Option<f64>,
    /// Instructions of one operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<f64>,
    /// How many ranks took part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<usize>,
    /// How messages travelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Where messages lay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// What joined the ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way: Option<Way>,
    /// What the sockets' buffers were set to, where it was not left to the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<usize>,
    /// Where rank 0 and rank 1 ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<[usize; 2]>,
    /// Whether the cores were near or far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regime: Option<Regime>,
    /// The cache line's way from core to core meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regime_ns: Option<f64>,
    /// How its samples are distributed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
    /// How many samples there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// How many were dropped because the regime changed meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<usize>,
}

impl Figure {
    /// An empty figure of `benchmark`.
    pub fn of(benchmark: &str) -> Self {
        Figure { benchmark: benchmark.into(), ..Figure::default() }
    }

    /// Takes over the values of `summary`, and the bandwidth if the message has a length.
    pub fn time(&mut self, summary: Summary) {
        self.min_us = Some(rounded(summary.min, 5));
        self.sextile1_us = Some(rounded(summary.sextile1, 5));
        self.median_us = Some(rounded(summary.median, 5));
        self.sextile5_us = Some(rounded(summary.sextile5, 5));
        self.megabytes_per_second =
            self.bytes.filter(|&bytes| bytes > 0).map(|bytes| rounded(bytes as f64 / summary.min.max(1e-6), 1));
    }

    /// Takes over where the cores were: the cache line's way.
    pub fn neighbourhood(&mut self, regime: Regime, line_us: f64) {
        self.regime = Some(regime);
        self.regime_ns = Some(rounded(line_us * 1e3, 1));
    }
}

/// A column of the table.
struct Column {
    title: &'static str,
    width: usize,
    cell: fn(&Figure) -> Option<String>,
}

const COLUMNS: &[Column] = &[
    Column { title: "variant", width: 22, cell: |f| f.variant.clone() },
    Column { title: "ranks", width: 5, cell: |f| f.ranks.map(|ranks| ranks.to_string()) },
    Column { title: "bytes", width: 9, cell: |f| f.bytes.map(|bytes| bytes.to_string()) },
    Column { title: "min us", width: 10, cell: |f| f.min_us.map(microseconds) },
    Column { title: "sextile us", width: 10, cell: |f| f.sextile1_us.map(microseconds) },
    Column { title: "median us", width: 10, cell: |f| f.median_us.map(microseconds) },
    Column {
        title: "99 % us",
        width: 10,
        cell: |f| f.distribution.as_ref().map(|it| microseconds(it.percentile99_us)),
    },
    Column { title: "max us", width: 10, cell: |f| f.distribution.as_ref().map(|it| microseconds(it.max_us)) },
    Column { title: "MB/s", width: 9, cell: |f| f.megabytes_per_second.map(|rate| format!("{rate:.1}")) },
    Column { title: "messages/s", width: 11, cell: |f| f.messages_per_second.map(|rate| format!("{rate:.0}")) },
    Column { title: "x floor", width: 8, cell: |f| f.floor_ratio.map(|ratio| format!("{ratio:.2}")) },
    Column { title: "raw us", width: 10, cell: |f| f.floor_min_us.map(microseconds) },
    Column { title: "raw median", width: 10, cell: |f| f.floor_median_us.map(microseconds) },
    Column { title: "instructions", width: 12, cell: |f| f.instructions.map(|count| format!("{count:.1}")) },
    Column { title: "regime", width: 6, cell: |f| f.regime.map(|regime| regime.name().into()) },
    Column { title: "line ns", width: 7, cell: |f| f.regime_ns.map(|ns| format!("{ns:.0}")) },
    Column { title: "samples", width: 7, cell: |f| f.samples.map(|samples| samples.to_string()) },
    Column { title: "dropped", width: 7, cell: |f| f.dropped.filter(|&n| n > 0).map(|dropped| dropped.to_string()) },
];

/// Where figures go as they are found.
pub struct Report {
    figures: Vec<Figure>,
    titles: String,
    to_stderr: bool,
}

impl Report {
    /// A report whose table goes to standard error if `json` takes standard output.
    pub fn new(json: Option<&Path>) -> Self {
        Report { figures: Vec::new(), titles: String::new(), to_stderr: takes_stdout(json) }
    }

    /// Writes a line beside the table.
    pub fn say(&self, line: &str) {
        if self.to_stderr {
            eprintln!("{line}");
        } else {
            println!("{line}");
        }
    }

    /// Adds a figure and shows it, below titles if those before do not fit.
    pub fn add(&mut self, figure: Figure) {
        let columns: Vec<&Column> = COLUMNS.iter().filter(|column| shown(column, &figure)).collect();
        let titles = row(&columns, |column| column.title.into());
        if titles != self.titles {
            self.say(&titles);
            self.titles = titles;
        }
        self.say(&row(&columns, |column| (column.cell)(&figure).unwrap_or_default()));
        if let Some(distribution) = &figure.distribution {
            distribution.lines().for_each(|line| self.say(&line));
            self.titles.clear();
        }
        self.figures.push(figure);
    }

    /// Adds a figure of which every sample was dropped: its row has no times.
    pub fn add_dropped(&mut self, figure: Figure, dropped: usize) {
        self.add(Figure { samples: Some(0), dropped: Some(dropped), ..figure });
        self.say("  (the floor never stayed the same; leave the machine alone, or give more --seconds)");
    }

    /// What was added so far.
    pub fn figures(&self) -> &[Figure] {
        &self.figures
    }

    /// What was added.
    pub fn into_figures(self) -> Vec<Figure> {
        self.figures
    }
}

/// Columns of times are shown for whatever is timed, even if a row can't fill them.
fn shown(column: &Column, figure: &Figure) -> bool {
    let timed = figure.samples.is_some();
    match column.title {
        "min us" | "sextile us" | "median us" | "regime" | "line ns" | "dropped" => timed,
        "MB/s" => timed && figure.bytes.is_some() && figure.benchmark != "rate",
        "messages/s" => figure.benchmark == "rate",
        "x floor" => timed && !matches!(figure.benchmark.as_str(), "floor" | "tags"),
        "ranks" => figure.benchmark == "barrier",
        _ => (column.cell)(figure).is_some(),
    }
}

fn row(columns: &[&Column], cell: impl Fn(&Column) -> String) -> String {
    let cells: Vec<String> = columns
        .iter()
        .map(|column| match column.title {
            "variant" => format!("{:<1$}", cell(column), column.width),
            _ => format!("{:>1$}", cell(column), column.width),
        })
        .collect();
    cells.join("  ").trim_end().to_string()
}

/// Whether the JSON goes to standard output.
fn takes_stdout(json: Option<&Path>) -> bool {
    json == Some(Path::new("-"))
}

/// Writes the array to `target`: a file, or `-` for standard output.
pub fn write_json(figures: &[Figure], target: &Path) -> Result<()> {
    let mut text = serde_json::to_string_pretty(figures)?;
    text.push('\n');
    if takes_stdout(Some(target)) {
        std::io::stdout().write_all(text.as_bytes()).context("can't write the figures to standard output")
    } else {
        std::fs::write(target, text).with_context(|| format!("can't write the figures to {}", target.display()))
    }
}

/// Appends figures, one a line, to the file that the process that started the job will read.
pub fn leave(figures: &[Figure], path: &PathBuf) -> Result<()> {
    let file = OpenOptions::new().append(true).open(path).with_context(|| format!("can't open {}", path.display()))?;
    let mut file = BufWriter::new(file);
    for figure in figures {
        serde_json::to_writer(&mut file, figure)?;
        file.write_all(b"\n")?;
    }
    file.flush().context("can't leave the figures for the process that started the job")
}

/// Reads what the jobs have left.
pub fn collect(file: File) -> Result<Vec<Figure>> {
    BufReader::new(file)
        .lines()
        .map(|line| serde_json::from_str(&line?).context("a job left figures that can't be read"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_apply_is_left_out_of_the_json() {
        let mut figure = Figure { bytes: Some(1000), ..Figure::of("latency") };
        figure.time(Summary { min: 2.0, sextile1: 3.0, median: 4.0, sextile5: 5.0 });
        assert_eq!(
            serde_json::to_value(&figure).unwrap(),
            serde_json::json!({
                "benchmark": "latency", "bytes": 1000, "min_us": 2.0, "sextile1_us": 3.0, "median_us": 4.0, "sextile5_us": 5.0,
                "megabytes_per_second": 500.0
            })
        );
    }

    #[test]
    fn a_message_of_no_bytes_has_no_bandwidth() {
        let mut figure = Figure { bytes: Some(0), ..Figure::of("latency") };
        figure.time(Summary { min: 2.0, sextile1: 3.0, median: 4.0, sextile5: 5.0 });
        assert_eq!(figure.megabytes_per_second, None);
    }

    #[test]
    fn titles_and_cells_are_aligned() {
        let mut figure = Figure { bytes: Some(8), samples: Some(7), ..Figure::of("latency") };
        figure.time(Summary { min: 0.25, sextile1: 12.5, median: 54321.0, sextile5: 6e4 });
        let columns: Vec<&Column> = COLUMNS.iter().filter(|column| shown(column, &figure)).collect();
        let titles = row(&columns, |column| column.title.into());
        let cells = row(&columns, |column| (column.cell)(&figure).unwrap_or_default());
        let end = |line: &str, of: &str| line.find(of).map(|at| at + of.len());
        assert_eq!(end(&titles, "min us"), end(&cells, "0.2500"));
        assert_eq!(end(&titles, "samples"), end(&cells, "      7"));
        assert!(cells.contains("0.2500") && cells.contains("12.50") && cells.contains("54321"), "{cells}");
    }
}

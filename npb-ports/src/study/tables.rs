//! The thesis's tables with the study's values: made once here, printed in the terminal and laid out on the page.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, TableStyle};

use crate::Benchmark;

use super::format::{NONE, bytes, count, list, message_size, or_none, percent, seconds, significant};
use super::micro::{MicroMode, Point};
use super::plan::{Mode, title};
use super::record::{Record, Study};
use super::thesis::{self, Implementation, Series};

/// A table: rows of a name and values, under a heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Heading of the first column and of each value.
    pub heading: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What must be known to read it.
    pub note: Option<String>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is about.
    pub name: String,
    /// Whose values they are.
    pub origin: Origin,
    /// The values, one per column.
    pub values: Vec<String>,
}

/// Whose values a row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The study's, of one mode.
    Mode(Mode),
    /// The study's.
    Study,
    /// The thesis's.
    Thesis,
}

impl Table {
    /// The table as lines of text.
    pub fn text(&self) -> String {
        let mut table = comfy_table::Table::new();
        let style = TableStyle::new().header_separator(LineStyle::none().fill('─'));
        table.load_style(style).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(&self.heading);
        for row in &self.rows {
            table.add_row(std::iter::once(&row.name).chain(&row.values));
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let lines: Vec<String> = table.lines().map(|line| format!("  {}", line.trim_end())).collect();
        let note = self.note.as_ref().map_or(String::new(), |note| format!("\n  ({note})"));
        format!("{}\n{}{note}\n", self.caption, lines.join("\n"))
    }
}

fn thesis_note() -> String {
    format!("{}, class W", thesis::MARK)
}

/// Tables 4.4 to 4.10: seconds and speed-up per mode and process count.
pub fn times(study: &Study, benchmark: Benchmark) -> Table {
    let own = study.rank_counts(benchmark);
    let mut counts = own.clone();
    counts.extend(thesis::speed_ups(benchmark, Implementation::Sr).iter().map(|(ranks, _)| *ranks));
    counts.sort_unstable();
    counts.dedup();
    let cores = study.settings.machine.cores;
    let mark =
        |ranks: &usize| if *ranks > cores && own.contains(ranks) { format!("{ranks}*") } else { ranks.to_string() };
    let mut rows = Vec::new();
    for mode in study.modes().into_iter().filter(|mode| mode.is_for(benchmark)) {
        let values = counts.iter().map(|&ranks| time(study, benchmark, ranks, mode)).collect();
        rows.push(Row { name: mode.title().to_owned(), origin: Origin::Mode(mode), values });
    }
    for implementation in Implementation::ALL {
        let known = thesis::speed_ups(benchmark, implementation);
        if known.is_empty() {
            continue;
        }
        let value = |ranks: &usize| known.iter().find(|(count, _)| count == ranks);
        let values = counts.iter().map(|ranks| or_none(value(ranks), |(_, it)| format!("[{it:.2}]"))).collect();
        rows.push(Row { name: format!("1999 {}", implementation.title()), origin: Origin::Thesis, values });
    }
    let has_thesis = rows.iter().any(|row| row.origin == Origin::Thesis);
    let mut notes = Vec::new();
    if own.iter().any(|ranks| *ranks > cores) {
        notes.push(format!("* more processes than the {cores} cores: this speed-up means nothing"));
    }
    if has_thesis {
        notes.push(thesis_note());
    }
    Table {
        caption: format!(
            "{}, class {}: seconds [speed-up] +spread, fastest of {} runs",
            title(benchmark),
            study.settings.class,
            study.settings.repeats
        ),
        heading: std::iter::once("processes".to_owned()).chain(counts.iter().map(mark)).collect(),
        rows,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    }
}

fn time(study: &Study, benchmark: Benchmark, ranks: usize, mode: Mode) -> String {
    let Some(record) = study.record(benchmark, ranks, mode) else { return NONE.to_owned() };
    let Some(fastest) = record.seconds else { return "failed".to_owned() };
    let speed_up = or_none(study.speed_up(benchmark, ranks, mode), |it| format!("{it:.2}"));
    let spread = record.spread.filter(|_| record.repeats.len() > 1).map(|it| format!(" +{:.0}%", it * 100.0));
    format!("{} [{speed_up}]{}", seconds(fastest), spread.unwrap_or_default())
}

/// Table 4.3: how the benchmarks communicate, and what became of the requests for send.
pub fn characteristics(study: &Study) -> Table {
    let benchmarks = study.benchmarks();
    let of = |mode| -> Vec<Option<&Record>> {
        benchmarks
            .iter()
            .map(|&it| study.record(it, study.widest(it)?, mode).filter(|it| it.seconds.is_some()))
            .collect()
    };
    let modes = study.protocols();
    // The thesis measured the communication with SR; without it, any mode tells how much is sent.
    let reference = if modes.contains(&Mode::Sr) { Mode::Sr } else { modes.first().copied().unwrap_or(Mode::Sr) };
    let of_reference = of(reference);
    let mut rows = Vec::new();
    let mut row = |name: &str, origin, records: &[Option<&Record>], value: &dyn Fn(&Record) -> String| {
        let values = records.iter().map(|record| or_none(*record, value)).collect();
        rows.push(Row { name: name.to_owned(), origin, values });
    };
    row("processes", Origin::Study, &of_reference, &|it| it.ranks.to_string());
    row("Mbytes/s", Origin::Study, &of_reference, &|it| or_none(it.bytes_per_second(), |rate| significant(rate / 1e6)));
    row("messages/s", Origin::Study, &of_reference, &|it| {
        or_none(it.messages_per_second(), |rate| count(rate.round() as u64))
    });
    row("bytes a message", Origin::Study, &of_reference, &|it| or_none(it.traffic.mean_message_bytes(), bytes));
    for mode in modes.iter().copied().filter(|mode| *mode != Mode::Nsr) {
        let (records, origin) = (of(mode), Origin::Mode(mode));
        let name = mode.title();
        row(&format!("{name}: remote write, bytes"), origin, &records, &|it| {
            or_none(it.traffic.availability_by_bytes(), percent)
        });
        row(&format!("{name}: remote write, messages"), origin, &records, &|it| {
            or_none(it.traffic.availability_by_messages(), percent)
        });
        row(&format!("{name}: requests posted"), origin, &records, &|it| count(it.traffic.requests_posted));
        row("  used", origin, &records, &|it| count(it.traffic.requests_used));
        row("  stale", origin, &records, &|it| count(it.traffic.requests_stale));
        row("  skipped", origin, &records, &|it| count(it.traffic.requests_skipped));
        row("  dropped", origin, &records, &|it| count(it.traffic.requests_dropped));
        row("  posted again", origin, &records, &|it| count(it.traffic.requests_reposted));
    }
    for mode in modes.iter().copied() {
        let name = format!("{}: 8 KB and more, copied once", mode.title());
        row(&name, Origin::Mode(mode), &of(mode), &|it| or_none(it.traffic.copied_once(), percent));
    }
    let folded = fold_zeros(&mut rows);
    rows.extend(thesis_characteristics(&benchmarks));
    let note = format!("{}, on 8 processes, 9 for SP and BT", thesis_note());
    Table {
        caption: format!("Characteristics of the benchmarks, class {}", study.settings.class),
        heading: std::iter::once(String::new()).chain(benchmarks.iter().map(|it| title(*it))).collect(),
        rows,
        note: Some(if folded.is_empty() { note } else { format!("{note}; zero everywhere: {}", list(&folded)) }),
    }
}

/// Takes out the rows that are nothing but zeros, which say no more than their names do. Those are the result.
fn fold_zeros(rows: &mut Vec<Row>) -> Vec<String> {
    let (mut folded, mut above) = (Vec::new(), String::new());
    rows.retain(|row| {
        if !row.name.starts_with(' ') {
            above = row.name.split(':').next().unwrap_or_default().to_owned();
        }
        let is_zero = row.values.iter().all(|value| value == "0" || value == NONE);
        if is_zero {
            let name = row.name.trim_start();
            folded.push(if name.len() < row.name.len() {
                format!("{above}, requests {name}")
            } else {
                name.to_owned()
            });
        }
        !is_zero
    });
    folded
}

fn thesis_characteristics(benchmarks: &[Benchmark]) -> Vec<Row> {
    let row = |name: &str, value: &dyn Fn(thesis::Characteristics) -> String| Row {
        name: name.to_owned(),
        origin: Origin::Thesis,
        values: benchmarks.iter().map(|it| or_none(thesis::characteristics(*it), value)).collect(),
    };
    vec![
        row("1999 Mbytes/s", &|it| significant(it.megabytes_per_second)),
        row("1999 messages/s", &|it| format!("{:.0}", it.messages_per_second)),
        row("1999 SR: remote write, bytes", &|it| percent(it.availability)),
    ]
}

/// Table 4.1: round-trip time by message size; none if it was not measured.
pub fn round_trip(study: &Study) -> Option<Table> {
    let value = |point: &Point| significant(2.0 * point.min_us);
    let before = (&thesis::ROUND_TRIP[..], 0, "1999: two workstations, 100BASE-TX");
    by_size(study, "Round-trip time in µs", |mode| &mode.latency, &value, before)
}

/// Table 4.2: bandwidth by message size; none if it was not measured.
pub fn bandwidth(study: &Study) -> Option<Table> {
    let value = |point: &Point| match point.megabytes_per_second {
        0.0 => NONE.to_owned(),
        rate => significant(rate),
    };
    let before = (&thesis::BANDWIDTH[..], 2, "1999: two workstations, 100BASE-TX, H half-duplex and F full-duplex");
    by_size(study, "Bandwidth in Mbytes/s", |mode| &mode.bandwidth, &value, before)
}

/// Message sizes down the side, modes and the thesis's implementations across.
fn by_size(
    study: &Study,
    caption: &str,
    points: impl Fn(&MicroMode) -> &Vec<Point>,
    value: &dyn Fn(&Point) -> String,
    (before, before_decimals, before_note): (&[Series], usize, &str),
) -> Option<Table> {
    let modes: Vec<&MicroMode> = study.settings.micro.modes.iter().filter(|mode| !points(mode).is_empty()).collect();
    if modes.is_empty() {
        return None;
    }
    let mut sizes: Vec<u64> = modes.iter().flat_map(|mode| points(mode).iter().map(|point| point.bytes)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let now = |mode: &MicroMode, size| or_none(points(mode).iter().find(|point| point.bytes == size), value);
    let then = |series: &Series, size| {
        or_none(series.values.iter().find(|(bytes, _)| *bytes == size), |(_, value)| {
            format!("{value:.before_decimals$}")
        })
    };
    let rows = sizes.iter().map(|&size| {
        let own = modes.iter().map(|mode| now(mode, size));
        Row {
            name: message_size(size),
            origin: Origin::Study,
            values: own.chain(before.iter().map(|series| then(series, size))).collect(),
        }
    });
    let names = modes.iter().map(|mode| mode.protocol.title().to_owned());
    let heading = std::iter::once("bytes".to_owned()).chain(names);
    Some(Table {
        caption: format!("{caption}, two processes"),
        heading: heading.chain(before.iter().map(|series| format!("1999 {}", series.name))).collect(),
        rows: rows.collect(),
        note: Some(format!("{before_note}; K and M are 1024 and 1048576 bytes, Mbytes 10^6")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn times_stand_beside_those_of_the_thesis() {
        let study = fixture::study(4, 5, 2);
        let table = times(&study, Benchmark::Cg);
        assert_eq!(table.heading, ["processes", "1", "2", "4*", "8"]);
        assert_eq!(table.rows.len(), 6);
        let (sr, then) = (&table.rows[0], &table.rows[3]);
        assert_eq!(sr.origin, Origin::Mode(Mode::Sr));
        assert!(sr.values[0].contains("[1.00] +") && sr.values[3] == NONE, "{:?}", sr.values);
        assert_eq!(then.values, ["[1.00]", "[1.83]", "[3.30]", "[6.15]"]);
        let note = table.note.unwrap();
        assert!(note.contains("more processes than the 2 cores") && note.contains(thesis::MARK), "{note}");
    }

    #[test]
    fn characteristics_have_a_column_per_benchmark() {
        let study = fixture::study(4, 5, 4);
        let table = characteristics(&study);
        assert_eq!(table.heading[1..], ["EP", "MG", "CG", "FT", "IS", "LU", "SP", "BT"]);
        assert!(table.rows.iter().all(|row| row.values.len() == 8));
        let availability = table.rows.iter().find(|row| row.name == "1999 SR: remote write, bytes").unwrap();
        assert_eq!(availability.values[1].replace('\u{a0}', " "), "0.01 %");
        let stale = table.rows.iter().find(|row| row.name == "  stale").unwrap();
        assert_ne!(stale.values[5], "0");
    }

    #[test]
    fn rows_of_zeros_are_folded_into_the_note() {
        let table = characteristics(&fixture::study(4, 5, 4));
        for name in ["  skipped", "  posted again"] {
            assert!(!table.rows.iter().any(|row| row.name == name), "{name}");
        }
        let note = table.note.unwrap();
        assert!(note.contains("zero everywhere: SR, requests skipped, SR, requests posted again"), "{note}");
        let row = |name: &str, values: [&str; 2]| Row {
            name: name.to_owned(),
            origin: Origin::Study,
            values: values.map(str::to_owned).to_vec(),
        };
        let mut rows =
            vec![row("AUTO: requests posted", ["0", "0"]), row("  used", ["0", NONE]), row("  stale", ["0", "1"])];
        assert_eq!(fold_zeros(&mut rows), ["AUTO: requests posted", "AUTO, requests used"]);
        assert_eq!(rows.len(), 1);
    }

    #[test]
    fn sizes_of_the_thesis_meet_those_of_today() {
        let study = fixture::study(2, 1, 2);
        let trips = round_trip(&study).unwrap();
        assert_eq!(trips.heading, ["bytes", "SR", "NSR", "AUTO", "1999 SR", "1999 NSR", "1999 MPICH"]);
        assert_eq!(trips.rows[0].values, ["0.600", "0.240", "0.240", "71", "112", "968"]);
        assert_eq!(trips.rows.last().unwrap().name, "4M");
        assert_eq!(bandwidth(&study).unwrap().rows[0].values[0], NONE);
        let mut without = study;
        without.settings.micro = Default::default();
        assert!(round_trip(&without).is_none());
    }

    #[test]
    fn text_is_aligned() {
        let text = times(&fixture::study(2, 2, 2), Benchmark::Ft).text();
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(" [")).skip(1).collect();
        assert_eq!(lines.len(), 3);
        let ends = lines.iter().map(|line| line.find(']')).collect::<std::collections::HashSet<_>>();
        assert_eq!(ends.len(), 1, "{text}");
    }
}

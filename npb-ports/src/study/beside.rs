//! Another study of the same class beside this one: what a request costs where it is a packet, and where it is a few
//! stores.

use std::path::Path;

use anyhow::{Result, bail};

use crate::{Benchmark, Class};

use super::format::{NONE, list, or_none, seconds};
use super::plan::{Mode, title};
use super::record::{Store, Study};
use super::tables::{Origin, Row, Table};
use super::verdict::{self, Verdict};

/// Reads the study in a directory, to be shown beside one of that class and over that transport.
pub fn load(directory: &Path, class: Class, transport: &str) -> Result<Box<Study>> {
    let place = directory.display();
    let Some((other, records)) = Store::at(directory).load()? else { bail!("there is no study in {place}") };
    if other.class != class || other.transport == transport {
        bail!(
            "the study in {place} is of class {} with --transport {}: beside this one belongs one of class {class} with another transport",
            other.class,
            other.transport
        );
    }
    Ok(Box::new(Study { settings: other, records, missing: 0, beside: None }))
}

/// What carries messages in a study, in a word or two.
pub fn carrier(study: &Study) -> &'static str {
    if study.settings.transport == "tcp" { "TCP" } else { "shared memory" }
}

/// What the other study says as a whole.
pub fn summary(other: &Study) -> Vec<String> {
    let verdicts: Vec<Verdict> = other.benchmarks().into_iter().map(|it| Verdict::on(other, it)).collect();
    verdict::summary(other, &verdicts)
}

/// Seconds of both, by mode, on the most processes that each benchmark has run with in both; none if there are none.
pub fn table(study: &Study) -> Option<Table> {
    let other = study.beside.as_deref()?;
    let both = [study, other];
    let columns: Vec<(Benchmark, usize)> =
        study.benchmarks().into_iter().filter_map(|it| Some((it, common(both, it)?))).collect();
    if columns.is_empty() {
        return None;
    }
    let mut rows = Vec::new();
    let mut row = |name: String, origin, value: &dyn Fn(Benchmark, usize) -> String| {
        rows.push(Row { name, origin, values: columns.iter().map(|&(it, ranks)| value(it, ranks)).collect() });
    };
    row("processes".to_owned(), Origin::Study, &|_, ranks| ranks.to_string());
    for mode in study.modes() {
        for it in both {
            let name = format!("{}, {}", mode.title(), carrier(it));
            row(name, Origin::Mode(mode), &|benchmark, ranks| or_none(time(it, benchmark, ranks, mode), seconds));
        }
    }
    for it in both {
        let name = format!("SR by NSR, {}", carrier(it));
        let ratio =
            |benchmark, ranks| Some(time(it, benchmark, ranks, Mode::Sr)? / time(it, benchmark, ranks, Mode::Nsr)?);
        row(name, Origin::Study, &|benchmark, ranks| or_none(ratio(benchmark, ranks), |it| format!("{it:.2}")));
    }
    let words = both.map(carrier);
    Some(Table {
        caption: format!("Class {} over {}: seconds, fastest of all runs", study.settings.class, list(&words)),
        heading: std::iter::once(String::new()).chain(columns.iter().map(|(it, _)| title(*it))).collect(),
        rows,
        note: Some(format!("over {}: {}; {NONE} where it did not run", carrier(other), other.settings.machine.date)),
    })
}

/// The most processes, if more than one, that a benchmark has run with in both.
fn common([study, other]: [&Study; 2], benchmark: Benchmark) -> Option<usize> {
    let theirs = other.rank_counts(benchmark);
    study.rank_counts(benchmark).into_iter().rfind(|ranks| *ranks > 1 && theirs.contains(ranks))
}

fn time(study: &Study, benchmark: Benchmark, ranks: usize, mode: Mode) -> Option<f64> {
    study.record(benchmark, ranks, mode)?.seconds.filter(|seconds| *seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn over_tcp(mut study: Study) -> Study {
        study.settings.transport = "tcp".to_owned();
        study
    }

    #[test]
    fn each_mode_has_a_row_for_each_transport() {
        let mut study = fixture::study(4, 5, 4);
        study.beside = Some(Box::new(over_tcp(fixture::study(2, 5, 2))));
        let table = table(&study).unwrap();
        // On two processes, which SP and BT do not run with.
        assert_eq!(table.heading[1..], ["EP", "MG", "CG", "FT", "IS", "LU"]);
        assert!(table.rows[0].values.iter().all(|processes| processes == "2"));
        let names: Vec<&str> = table.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names[1..3], ["SR, shared memory", "SR, TCP"]);
        assert_eq!(names[7..], ["SR by NSR, shared memory", "SR by NSR, TCP"]);
        assert!(table.rows.iter().flat_map(|row| &row.values).all(|value| value != NONE));
        study.beside = None;
        assert_eq!(super::table(&study), None);
    }

    #[test]
    fn only_a_study_over_another_transport_stands_beside() {
        let directory = tempfile::tempdir().unwrap();
        let missing = load(directory.path(), Class::S, "auto").unwrap_err().to_string();
        assert!(missing.contains("no study in"), "{missing}");
        let store = Store::open(directory.path()).unwrap();
        let other = over_tcp(fixture::study(2, 1, 2));
        store.save_settings(&other.settings).unwrap();
        store.save_records(&other.records).unwrap();
        assert_eq!(load(directory.path(), Class::S, "auto").unwrap().records.len(), other.records.len());
        let same = load(directory.path(), Class::S, "tcp").unwrap_err().to_string();
        assert!(same.contains("another transport"), "{same}");
    }
}

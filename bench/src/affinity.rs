//! The benchmark `affinity`: ping-pong between every two cores, and of both ranks on one (McMPI thesis, section 5.1.5,
//! figures 24 and 25).
//!
//! Each pair is a job that may use these two cores only, because ranks see at their start whether they have to share. A
//! pair of cores has a floor of its own; two ranks on one core have none.

use crate::arguments::Affinity;
use crate::digits::microseconds;
use crate::latency;
use crate::launch::Job;
use crate::machine;
use crate::report::{Figure, Report, write_json};
use crate::session::Session;
use anyhow::{Context, Result};
use rwmpi_launcher::{Binding, Output};

/// Runs a job for each ordered pair.
pub fn run(options: &Affinity) -> Result<()> {
    let common = &options.sized.two.common;
    let mut report = Report::new(common.output.json.as_deref());
    let cores = machine::allowed_cores()?;
    report.say(&format!("{}, {} cores; ping-pong on each pair", machine::processor(), cores.len()));
    for (first, second) in cores.iter().flat_map(|&first| cores.iter().map(move |&second| (first, second))) {
        let pair = ["--cores".into(), format!("{first},{second}").into()];
        let job = Job {
            arguments: std::env::args_os().skip(1).chain(pair).collect(),
            binding: Binding::None,
            output: Output::Capture,
            ..Job::of(common, 2)
        };
        machine::pin(&[first, second])?;
        let found = job.run();
        machine::pin(&cores)?;
        found?.0.into_iter().for_each(|figure| report.add(figure));
    }
    for &bytes in &options.sized.sizes.0 {
        matrix(report.figures(), bytes, &cores).iter().for_each(|line| report.say(line));
    }
    let figures = report.into_figures();
    common.output.json.as_deref().map_or(Ok(()), |target| write_json(&figures, target))
}

/// What the ranks of one pair do.
pub fn pair(session: &mut Session, options: &Affinity) -> Result<()> {
    let pair = options.pair().context("this job was not told its cores")?;
    session.move_to(pair, options.sized.sizes.max())?;
    for &bytes in &options.sized.sizes.0 {
        let figure = Figure {
            bytes: Some(bytes),
            variant: Some(format!("core {} and core {}", pair[0], pair[1])),
            cores: Some(pair),
            ..session.figure("affinity")
        };
        latency::measure(session, &figure, false)?;
    }
    Ok(())
}

/// The first sextiles of one size: a row for each core of rank 0, a column for each of rank 1. Of two regimes, the one
/// that lasted longer.
fn matrix(figures: &[Figure], bytes: usize, cores: &[usize]) -> Vec<String> {
    let cell = |pair: [usize; 2]| {
        let of_pair = figures.iter().filter(|figure| figure.bytes == Some(bytes) && figure.cores == Some(pair));
        let longest = of_pair.max_by_key(|figure| figure.samples)?;
        longest.sextile1_us.map(microseconds)
    };
    let row = |name: String, cells: Vec<String>| {
        cells.into_iter().fold(format!("{name:>8}"), |line, cell| format!("{line}  {cell:>9}"))
    };
    let title = format!("\n{bytes} bytes, first sextile in us: rank 0 on the row's core, rank 1 on the column's");
    let heads = row(String::new(), cores.iter().map(|core| format!("core {core}")).collect());
    let rows = cores.iter().map(|&first| {
        let cells = cores.iter().map(|&second| cell([first, second]).unwrap_or_else(|| "-".into()));
        row(format!("core {first}"), cells.collect())
    });
    [title, heads].into_iter().chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_has_its_place_in_the_matrix() {
        let figure = |cores, sextile1_us, samples| Figure {
            bytes: Some(8),
            cores: Some(cores),
            sextile1_us: Some(sextile1_us),
            samples: Some(samples),
            ..Figure::of("affinity")
        };
        let figures =
            [figure([0, 0], 5.0, 9), figure([0, 2], 0.5, 3), figure([0, 2], 0.25, 9), figure([2, 0], 0.75, 9)];
        let lines = matrix(&figures, 8, &[0, 2]);
        assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["core", "0", "core", "2"]);
        assert_eq!(lines[2].split_whitespace().collect::<Vec<_>>(), ["core", "0", "5.0000", "0.2500"]);
        assert_eq!(lines[3].split_whitespace().collect::<Vec<_>>(), ["core", "2", "0.7500", "-"]);
    }
}

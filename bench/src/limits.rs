//! The benchmark `floor`: the physical limits of this machine, from two processes without the library.

use crate::arguments::Floor;
use crate::floor::RawLink;
use crate::machine::{self, Pinned};
use crate::regime::{Regime, steady};
use crate::report::{Figure, Report, write_json};
use crate::statistics::Summary;
use anyhow::{Context, Result, anyhow, ensure};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A stretch of measuring between two looks at the regime.
const STRETCH: Duration = Duration::from_millis(20);
/// A look at the regime.
const LOOK: Duration = Duration::from_millis(2);

/// Runs the benchmark, or serves the process that does.
pub fn run(options: &Floor) -> Result<()> {
    match &options.serve {
        Some(path) => serve(path),
        None => lead(options),
    }
}

fn serve(path: &str) -> Result<()> {
    let cores = machine::allowed_cores()?;
    let _pinned = Pinned::to(*cores.get(1).context("the floor needs two cores")?)?;
    RawLink::open(path)?.serve()
}

fn lead(options: &Floor) -> Result<()> {
    let cores = machine::allowed_cores()?;
    ensure!(
        cores.len() > 1,
        "the floor is measured between two cores, but this process may only run on core {cores:?}: give it a second one"
    );
    let mut link = RawLink::create(options.sizes.max())?;
    let program = std::env::current_exe().context("can't find this program to start the second process")?;
    let mut child = Command::new(program)
        .args(["floor", "--serve", &link.path()])
        .spawn()
        .context("can't start the second process")?;
    let pinned = Pinned::to(cores[0])?;
    let outcome = measure(&mut link, options, &mut child, cores.len());
    drop(pinned);
    if outcome.is_err() {
        // It may already be gone; either way nothing of it is needed any more.
        let _ = child.kill();
    }
    let status = child.wait().context("can't wait for the second process")?;
    let figures = outcome?;
    ensure!(status.success(), "the second process of the floor failed: {status}");
    options.output.json.as_deref().map_or(Ok(()), |target| write_json(&figures, target))
}

fn measure(link: &mut RawLink, options: &Floor, child: &mut Child, cores: usize) -> Result<Vec<Figure>> {
    let mut report = Report::new(options.output.json.as_deref());
    let line = least(&link.line(LOOK)?).ok_or_else(|| anyhow!("the floor gave no value"))?;
    report.say(&format!(
        "{}, {cores} cores; {}; no protocol: the machine alone",
        machine::processor(),
        Regime::describe(line)
    ));
    let mut kinds = vec![("line", crate::floor::LINE)];
    kinds.extend(options.sizes.0.iter().flat_map(|&bytes| [("one core copies", bytes), ("both cores copy", bytes)]));
    for (variant, bytes) in kinds {
        ensure!(child.try_wait()?.is_none(), "the second process of the floor has ended early");
        let figure = Figure { variant: Some(variant.into()), bytes: Some(bytes), ..Figure::of("floor") };
        sample(link, &mut report, figure, options.output.seconds)?;
    }
    link.end()?;
    Ok(report.into_figures())
}

/// Samples one kind for about `time`, near and far apart.
fn sample(link: &mut RawLink, report: &mut Report, figure: Figure, time: Duration) -> Result<()> {
    let bytes = figure.bytes.context("every floor has a length")?;
    let mut buckets: Vec<(Regime, f64, Vec<f64>)> = Vec::new();
    let mut dropped = 0;
    let begin = Instant::now();
    let look = |link: &mut RawLink| least(&link.line(LOOK)?).ok_or_else(|| anyhow!("the floor gave no value"));
    let mut before = look(link)?;
    while buckets.is_empty() && begin.elapsed() < 4 * time || begin.elapsed() < time {
        let stretch = STRETCH.min(time);
        let mut samples = match figure.variant.as_deref() {
            Some("line") => link.line(stretch)?,
            Some("one core copies") => link.copy_by_one(bytes, stretch, before)?,
            _ => link.copy_by_both(bytes, stretch, before)?,
        };
        let after = look(link)?;
        match steady(before, after) {
            None => dropped += samples.len(),
            Some(regime) => {
                let line = before.min(after);
                match buckets.iter_mut().find(|bucket| bucket.0 == regime) {
                    Some(bucket) => {
                        bucket.1 = bucket.1.min(line);
                        bucket.2.append(&mut samples);
                    }
                    None => buckets.push((regime, line, samples)),
                }
            }
        }
        before = after;
    }
    if buckets.is_empty() {
        report.add_dropped(figure.clone(), dropped);
    }
    for (regime, line, mut samples) in buckets {
        let mut figure = figure.clone();
        figure.time(Summary::of(&mut samples).context("the floor measured nothing")?);
        figure.neighbourhood(regime, line);
        figure.samples = Some(samples.len());
        figure.dropped = Some(std::mem::take(&mut dropped));
        report.add(figure);
    }
    Ok(())
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

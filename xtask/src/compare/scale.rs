//! `cargo xtask scale`: what many ranks on one node cost, under the other MPI libraries and ours
//! (`bench/peers/scale.c`).

use std::fmt::Write;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;

use super::libraries::{self, Library, Part};
use super::machine;
use crate::foreign::Cache;
use crate::plots::{self, Across, Curve, Panel, SeriesLabelPosition};
use crate::workspace::Workspace;

const RANKS: [usize; 6] = [2, 4, 16, 64, 128, 256];
/// Starts of which the middle one counts.
const STARTS: usize = 3;

/// What a library takes for so many ranks. What is missing could not be measured.
#[derive(Serialize)]
struct Cost {
    library: &'static str,
    ranks: usize,
    /// From the call of mpiexec to its end, with nothing between MPI_Init and MPI_Finalize.
    start_seconds: Option<f64>,
    /// Proportional set size.
    rank_mib: Option<f64>,
    /// 8 bytes one way between two ranks, while all others wait.
    pair_us: Option<f64>,
    /// The same beside a program on each processor that never stops: 8 bytes from each to all, from each to each, and a
    /// few messages that nobody expects.
    allreduce_us: Option<f64>,
    alltoall_us: Option<f64>,
    sparse_us: Option<f64>,
}

/// A figure, and what it is called.
type Column = (&'static str, fn(&Cost) -> Option<f64>);

const COLUMNS: [Column; 6] = [
    ("init to finalize, s", |cost| cost.start_seconds),
    ("memory of a rank, MiB", |cost| cost.rank_mib),
    ("8 bytes between two, the others waiting, µs", |cost| cost.pair_us),
    ("beside busy programs: allreduce of 8 bytes, µs", |cost| cost.allreduce_us),
    ("beside busy programs: alltoall of 8 bytes, µs", |cost| cost.alltoall_us),
    ("beside busy programs: sparse exchange, µs", |cost| cost.sparse_us),
];

/// Measures, and writes `bench/results/scale.{txt,json}` and `docs/performance/scale.svg`.
pub fn run(workspace: &Workspace) -> Result<()> {
    let cache = Cache::new(workspace.target().join("compare"), None)?;
    let libraries = libraries::install(workspace, &cache, "scale.c")?;
    let mut costs = Vec::new();
    for ranks in RANKS {
        for library in libraries.iter().filter(|library| library.part == Part::Memory) {
            println!("{}, {ranks} ranks", library.name);
            costs.push(cost(library, ranks)?);
        }
    }
    let text = format!("{}\n{}", machine(), tables(&costs));
    println!("\n{text}");
    let results = workspace.root.join("bench").join("results").join("scale");
    fs::write(results.with_extension("txt"), &text)?;
    fs::write(results.with_extension("json"), serde_json::to_string_pretty(&costs)? + "\n")?;
    plots::draw(&workspace.root.join("docs").join("performance").join("scale.svg"), &panels(&costs))
}

fn cost(library: &Library, ranks: usize) -> Result<Cost> {
    let run = |arguments: &[&str]| -> Result<Option<(f64, String)>> {
        let begin = Instant::now();
        let mut command = (library.start)(ranks, arguments);
        let output = command.output().with_context(|| format!("cannot start {}'s mpiexec", library.name))?;
        if !output.status.success() {
            // A library that can't start so many is no reason to lose the figures of the rest.
            println!("  failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
            return Ok(None);
        }
        Ok(Some((begin.elapsed().as_secs_f64(), String::from_utf8_lossy(&output.stdout).into_owned())))
    };
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let Some((seconds, _)) = run(&[])? else { break };
        starts.push(seconds);
    }
    starts.sort_by(f64::total_cmp);
    let mut printed = run(&["waiting"])?.map(|(_, printed)| printed).unwrap_or_default();
    printed += &beside_busy_threads(|| run(&["beside"]))?.map(|(_, printed)| printed).unwrap_or_default();
    let figure = |name: &str| {
        let line = printed.lines().find_map(|line| line.trim().strip_prefix(name));
        line.and_then(|number| number.trim().parse::<f64>().ok()).filter(|&number| number > 0.0)
    };
    Ok(Cost {
        library: library.name,
        ranks,
        start_seconds: starts.get(STARTS / 2).copied(),
        rank_mib: figure("memory").map(|kib| kib / 1024.0),
        pair_us: figure("pair"),
        allreduce_us: figure("allreduce"),
        alltoall_us: figure("alltoall"),
        sparse_us: figure("sparse"),
    })
}

/// Does it while as many threads as there are processors compute something that nobody needs.
fn beside_busy_threads<R>(measure: impl FnOnce() -> R) -> R {
    // Set by this thread when it has measured, and looked at by all others.
    let is_over = AtomicBool::new(false);
    let processors = thread::available_parallelism().map_or(1, |processors| processors.get());
    thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let measured = measure();
        is_over.store(true, Ordering::Relaxed);
        measured
    })
}

/// The libraries, in the order of their figures.
fn names(costs: &[Cost]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for cost in costs {
        if !names.contains(&cost.library) {
            names.push(cost.library);
        }
    }
    names
}

/// For people: each figure under each library, and ours, which is the first, by the best of the others.
fn tables(costs: &[Cost]) -> String {
    let mut text = String::from("the last column is ours by the best of the others\n");
    let names = names(costs);
    for (title, figure) in COLUMNS {
        let _ = write!(text, "\n{title}\n{:>6}", "ranks");
        names.iter().for_each(|name| write!(text, " {name:>10}").unwrap_or_default());
        text.push_str("    ratio\n");
        for ranks in RANKS {
            let of = |name: &str| costs.iter().find(|it| it.library == name && it.ranks == ranks).and_then(figure);
            let _ = write!(text, "{ranks:>6}");
            for name in &names {
                match of(name) {
                    Some(value) => write!(text, " {value:>10.3}").unwrap_or_default(),
                    None => write!(text, " {:>10}", "-").unwrap_or_default(),
                }
            }
            let best = names.iter().skip(1).filter_map(|name| of(name)).min_by(f64::total_cmp);
            match names.first().and_then(|ours| of(ours)).zip(best) {
                Some((ours, best)) => writeln!(text, " {:>8.2}", ours / best).unwrap_or_default(),
                None => text.push_str("        -\n"),
            }
        }
    }
    text
}

fn panels(costs: &[Cost]) -> Vec<Panel> {
    let panel = |(title, figure): Column| {
        let curve = |name: &'static str| {
            let of_it = costs.iter().filter(|cost| cost.library == name);
            Curve::through(name.to_owned(), of_it.filter_map(|it| Some((it.ranks as f64, figure(it)?))).collect())
        };
        let curves = names(costs).into_iter().map(curve).filter(|curve| !curve.points.is_empty()).collect();
        let (names, up) = (SeriesLabelPosition::UpperLeft, title.rsplit_once(", ").map_or("", |(_, unit)| unit));
        Panel { title: title.to_owned(), across: Across::Ranks, up, names, curves }
    };
    COLUMNS.into_iter().map(panel).filter(|panel| !panel.curves.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_held_against_the_best_of_the_others() {
        let cost = |library, ranks, start_seconds| Cost {
            library,
            ranks,
            start_seconds,
            rank_mib: None,
            pair_us: None,
            allreduce_us: None,
            alltoall_us: None,
            sparse_us: None,
        };
        let costs = [
            cost("ours", 2, Some(1.0)),
            cost("slow", 2, Some(9.0)),
            cost("fast", 2, Some(4.0)),
            cost("fast", 16, None),
        ];
        let text = tables(&costs);
        assert!(text.contains("     2      1.000      9.000      4.000     0.25\n"), "{text}");
        assert!(text.contains("    16          -          -          -        -\n"), "{text}");
        let panels = panels(&costs);
        assert_eq!((panels.len(), panels[0].curves.len(), panels[0].up), (1, 3, "s"));
    }
}

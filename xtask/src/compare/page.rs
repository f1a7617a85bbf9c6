//! The comparison as a page: every figure of `bench/results/compare.json`, as tables and, where there are several
//! sizes, as pictures.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use maud::{Markup, html};

use super::figures::{Figures, Line, REGIMES};
use crate::page;
use crate::plots;
use crate::workspace::Workspace;

/// Draws `docs/performance/compare.html` from what lies in `bench/results`.
pub fn draw(workspace: &Workspace) -> Result<()> {
    let target = workspace.root.join("docs").join("performance").join("compare.html");
    let page = page_of(&workspace.root.join("bench").join("results"))?;
    fs::write(&target, page.into_string()).with_context(|| format!("cannot write {}", target.display()))?;
    println!("page {}", target.display());
    Ok(())
}

fn page_of(results: &Path) -> Result<Markup> {
    let read = |extension: &str| {
        let path = results.join("compare").with_extension(extension);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let (text, figures) = (read("txt")?, Figures::from_json(&read("json")?).context("compare.json is strange")?);
    // The machine, then what was set for each library, then the tables.
    let mut lines = text.lines();
    let machine = lines.next().unwrap_or_default();
    let settings = lines.take_while(|line| !line.starts_with("median times"));
    let mut sections = Vec::new();
    for (benchmark, ranks) in figures.benchmarks() {
        sections.push(section(&figures, benchmark, ranks)?);
    }
    let body = html! {
        p {
            "Median times in microseconds; of windows and rates, of one message. The ratio is rwmpi's time by the best of the other libraries, "
            "bold where rwmpi took less; by raw, by the least that was measured without any library. How near the two cores are is measured beside every figure: figures of different regimes are never "
            "held against each other."
        }
        ul { @for setting in settings { li { (setting) } } }
        @for section in sections { (section) }
    };
    Ok(page::page("rwmpi beside other MPI libraries", machine, &body))
}

fn section(figures: &Figures, benchmark: &str, ranks: usize) -> Result<Markup> {
    let table = figures.table(benchmark, ranks);
    let panels = REGIMES.into_iter().filter_map(|regime| figures.panel(benchmark, ranks, regime));
    let drawings = page::drawn(panels)?;
    let has_floor = table.lines.iter().any(|line| line.floor_ratio.is_some());
    Ok(html! {
        section {
            h2 { (benchmark) ", " (ranks) @if ranks == 1 { " rank" } @else { " ranks" } }
            (drawings)
            table {
                thead { tr { th { "bytes" } th { "cores" } @for library in &table.libraries { th { (library) } } th { "ratio" } @if has_floor { th { "by raw" } } } }
                tbody { @for line in &table.lines { (row(line, has_floor)) } }
            }
        }
    })
}

fn row(line: &Line<'_>, has_floor: bool) -> Markup {
    html! {
        tr {
            th { (plots::size(line.bytes)) }
            td { (line.regime) }
            @for median in &line.medians { td { (median.map_or("–".into(), |median| format!("{median:.3}"))) } }
            td { @match line.ratio {
                Some(ratio) if ratio < 1.0 => b { (format!("{ratio:.2}")) },
                Some(ratio) => (format!("{ratio:.2}")),
                None => "–",
            } }
            @if has_floor { td { (line.floor_ratio.map_or("–".into(), |ratio| format!("{ratio:.2}"))) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_compared_last_makes_a_page_that_stands_alone() {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/results");
        let page = page_of(&results).unwrap().into_string();
        for section in ["latency, 2 ranks", "bandwidth, 2 ranks", "barrier, 4 ranks", "alltoall, 2 ranks"] {
            assert!(page.contains(&format!("<h2>{section}</h2>")), "{section}");
        }
        assert!(page.matches("<svg").count() >= 7, "{} plots", page.matches("<svg").count());
        assert!(page.matches("<b>").count() >= 20, "{} figures are better", page.matches("<b>").count());
        assert!(page.contains("<li>Intel MPI: "), "its setting is missing");
        for loading in page::LOADING {
            assert!(!page.contains(loading), "{loading}");
        }
    }
}

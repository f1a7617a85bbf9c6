//! The comparison as a page: the answer and a map of ratios first, then every figure of `bench/results/compare.json`,
//! as tables and, where there are several sizes, as pictures.
//!
//! The page has a megabyte of pictures, so it is made where it is read and is not part of the source tree.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use maud::{Markup, html};

use super::figures::{Figures, Line};
use super::heat;
use crate::page;
use crate::plots;
use crate::workspace::Workspace;

/// Draws `compare.html` into cargo's folder for pages, from what lies in `bench/results`.
pub fn draw(workspace: &Workspace) -> Result<()> {
    let page = page_of(&workspace.root.join("bench").join("results"))?;
    page::write(workspace, "compare.html", page)
}

pub fn page_of(results: &Path) -> Result<Markup> {
    let read = |extension: &str| {
        let path = results.join("compare").with_extension(extension);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let (text, figures) = (read("txt")?, Figures::from_json(&read("json")?).context("compare.json is strange")?);
    // The machine, then what was set for each library, then the tables.
    let mut lines = text.lines();
    let machine = lines.next().unwrap_or_default();
    let settings = lines.take_while(|line| !line.starts_with("median times"));
    let regimes = heat::regimes(&figures);
    let mut sections = Vec::new();
    for (benchmark, ranks) in figures.benchmarks() {
        sections.push(section(&figures, benchmark, ranks, &regimes)?);
    }
    let body = html! {
        (heat::answer(&figures))
        (maps(&figures, &regimes))
        (contents(&figures))
        section id="how" {
            h2 { "How to read the tables" }
            p {
                "Median times in microseconds; of windows and rates, of one message. The ratio is rwmpi's time by the best of the other libraries, "
                "bold where rwmpi took less; by raw, by the least that was measured without any library. The distance of the two cores is measured beside "
                "every figure; figures of different regimes are never held against each other."
            }
            ul { @for setting in settings { li { (setting) } } }
        }
        @for section in sections { (section) }
    };
    Ok(page::page("rwmpi beside other MPI libraries", machine, &body))
}

/// The map of the regime with most ratios, and those of the others for whoever wants them.
fn maps(figures: &Figures, regimes: &[&str]) -> Markup {
    html! {
        section id="map" {
            h2 { "rwmpi's time by the best other's" }
            (heat::legend())
            @for (place, regime) in regimes.iter().enumerate() {
                details open[place == 0] { summary { "Cores " (regime) ": " (meaning(regime)) } (heat::map(figures, regime)) }
            }
        }
    }
}

/// How far the cores of a regime are from each other.
fn meaning(regime: &str) -> &'static str {
    match regime {
        "close" => "a line changes hands in 40 to 80 ns",
        "near" => "in up to 200 ns",
        "far" => "in more than 200 ns",
        _ => "two halves of one core",
    }
}

fn contents(figures: &Figures) -> Markup {
    html! {
        nav id="contents" {
            h2 { "Contents" }
            details {
                summary { "All tables" }
                ul { @for (benchmark, ranks) in figures.benchmarks() {
                    li { a href={ "#" (heat::anchor(benchmark, ranks)) } { (title(benchmark, ranks)) } }
                } }
            }
        }
    }
}

fn title(benchmark: &str, ranks: usize) -> String {
    format!("{benchmark}, {ranks} {}", if ranks == 1 { "rank" } else { "ranks" })
}

/// A benchmark: the picture of its first regime, the table, and the pictures of its other regimes.
fn section(figures: &Figures, benchmark: &str, ranks: usize, regimes: &[&str]) -> Result<Markup> {
    let table = figures.table(benchmark, ranks);
    let mut panels = regimes.iter().filter_map(|regime| figures.panel(benchmark, ranks, regime));
    let first = page::drawn(panels.next())?;
    let others: Vec<_> = panels.collect();
    let has_others = !others.is_empty();
    let others = page::drawn(others)?;
    let has_floor = table.lines.iter().any(|line| line.floor_ratio.is_some());
    Ok(html! {
        section id=(heat::anchor(benchmark, ranks)) {
            h2 { (title(benchmark, ranks)) }
            (first)
            @if has_others { details { summary { "Other regimes" } (others) } }
            div class="table" {
                table {
                    thead { tr { th { "bytes" } th { "cores" } @for library in &table.libraries { th { (library) } } th { "ratio" } @if has_floor { th { "by raw" } } } }
                    tbody { @for line in &table.lines { (row(line, has_floor)) } }
                }
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
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
        let order = ["class=\"answer\"", "class=\"heat\"", "id=\"contents\"", "<svg"].map(place);
        assert!(order.is_sorted(), "the answer, then the map, then the contents, then pictures: {order:?}");
        let (opened, folded) = (page.matches("<details open>").count(), page.matches("<details>").count());
        assert!(opened == 1 && folded > 2, "one regime is shown at first: {opened}, {folded}");
        for anchor in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(page.contains(&format!("id=\"{anchor}\"")), "{anchor}");
        }
        assert!(page.matches("<svg").count() >= 7, "{} plots", page.matches("<svg").count());
        assert!(page.matches("<b>").count() >= 20, "{} figures are better", page.matches("<b>").count());
        assert!(page.contains("<li>Intel MPI: "), "its setting is missing");
        for loading in page::LOADING {
            assert!(!page.contains(loading), "{loading}");
        }
    }

    #[test]
    fn readers_on_phones_and_in_the_dark_can_read_it() {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/results");
        page::assert_readable("compare.html", &page_of(&results).unwrap());
    }
}

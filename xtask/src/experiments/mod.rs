//! The seeds' experiments as a page: what mpi-bench found when it did again what the McMPI thesis shows in its chapter
//! 5, in one file that refers to nothing outside it.

mod figures;

use std::fs;
use std::path::Path;

use anyhow::Result;
use maud::{Markup, html};

use crate::page;
use crate::plots::{self, Across, Panel, SeriesLabelPosition};
use crate::workspace::Workspace;
use figures::{Figure, Value, curve, outline, panel, read};

const WAYS: [&str; 3] = ["threads", "processes", "tcp"];
/// Longer ones are held against raw copies.
const LINE: u64 = 64;

/// Draws the page from what lies in `bench/results`.
pub fn draw(workspace: &Workspace) -> Result<()> {
    let page = page_of(&workspace.root.join("bench").join("results"))?;
    page::write(workspace, "experiments.html", page)
}

pub fn page_of(results: &Path) -> Result<Markup> {
    let table = fs::read_to_string(results.join("ways.txt")).unwrap_or_default();
    let machine = table.lines().next().unwrap_or_default().split("; protocol").next().unwrap_or_default();
    let body = html! {
        p {
            "Points are first sextiles, the thesis's “most frequent minimum”: a sixth of the samples was faster. Lines through them reach "
            "to the fifth sextile; a sixth was slower. Figures were taken while the cores were near or while they were far, whichever "
            "was the case for longer."
        }
        (ways(&read(results, "ways")?)?)
        (affinity(&read(results, "affinity")?))
        (histograms(results)?)
        (socket_buffers(&read(results, "socket-buffers")?)?)
        (tags(&read(results, "tags")?))
    };
    Ok(page::page("The McMPI thesis's experiments, on rwmpi", machine, &body))
}

fn drawn(panels: impl IntoIterator<Item = Option<Panel>>) -> Result<Markup> {
    page::drawn(panels.into_iter().flatten())
}

fn ways(all: &[Figure]) -> Result<Markup> {
    let of = |benchmark: &str, way: &str| -> Vec<&Figure> {
        let its = |it: &&Figure| it.benchmark == benchmark && it.way.as_deref() == Some(way);
        all.iter().filter(its).collect()
    };
    let by_way = |benchmark, value| WAYS.map(|way| curve(way, of(benchmark, way), value));
    let both = WAYS.into_iter().take(2).flat_map(|way| {
        [("ping-pong", "latency"), ("ping-ping", "pingping")]
            .map(|(title, benchmark)| curve(&format!("{title}, {way}"), of(benchmark, way), Value::Megabytes))
    });
    let drawings = drawn([
        panel("ping-pong: latency", Value::Microseconds, by_way("latency", Value::Microseconds)),
        panel("ping-pong: bandwidth", Value::Megabytes, by_way("latency", Value::Megabytes)),
        panel("ping-ping: latency", Value::Microseconds, by_way("pingping", Value::Microseconds)),
        panel("bandwidth each way: ping-pong and ping-ping", Value::Megabytes, both),
    ])?;
    let threads = of("latency", "threads");
    let mut processes = of("latency", "processes");
    processes.sort_by_key(|it| it.bytes);
    let rows = processes
        .into_iter()
        .filter_map(|processes| Some([*threads.iter().find(|it| it.bytes == processes.bytes)?, processes]));
    Ok(html! {
        section id="ways" {
            h2 { "Threads, processes, TCP" }
            p {
                "Ranks as threads of one process, as processes that share memory, and as processes with a TCP connection; jobs of the three "
                "kinds took turns (thesis: figures 13 to 20)."
            }
            (drawings)
            div class="table" {
                table {
                    caption { "Ping-pong of threads by that of processes, and the raw copy's time by each" }
                    thead { tr { th { "bytes" } th { "threads ÷ processes" } th { "memcpy ÷ threads" } th { "memcpy ÷ processes" } } }
                    tbody {
                        @for [threads, processes] in rows {
                            @let bytes = processes.bytes.unwrap_or(0);
                            tr {
                                th { (plots::size(bytes)) }
                                td { (ratio(threads.sextile1_us, processes.sextile1_us)) }
                                @for figure in [threads, processes] {
                                    td { @if bytes > LINE { (ratio(Some(1.0), figure.floor_ratio)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    })
}

fn ratio(a: Option<f64>, b: Option<f64>) -> String {
    a.zip(b).map_or("–".into(), |(a, b)| format!("{:.2}", a / b))
}

/// The values of one property, without repetition, in the order of their appearance.
fn distinct<T: PartialEq>(figures: &[Figure], of: impl Fn(&Figure) -> Option<T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in figures.iter().filter_map(of) {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

fn affinity(all: &[Figure]) -> Markup {
    let cores = distinct(all, |it| it.cores.map(|pair| pair[0]));
    html! {
        section id="affinity" {
            h2 { "Which cores" }
            p { "Ping-pong with rank 0 on one core and rank 1 on another, or both on one (thesis: figures 24 and 25)." }
            div class="tables" {
                @for bytes in distinct(all, |it| it.bytes) {
                    @let of_size: Vec<&Figure> = all.iter().filter(|it| it.bytes == Some(bytes)).collect();
                    @let most = of_size.iter().filter_map(|it| it.sextile1_us).fold(0.0, f64::max);
                    div class="table" {
                        table {
                            caption { (plots::length(bytes)) ", µs" }
                            thead { tr { th { "rank 0 \\ rank 1" } @for core in &cores { th { "core " (core) } } } }
                            tbody {
                                @for first in &cores {
                                    tr {
                                        th { "core " (first) }
                                        @for second in &cores {
                                            @let found = of_size.iter().find(|it| it.cores == Some([*first, *second]));
                                            (cell(found.and_then(|it| it.sextile1_us), most))
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A cell that is the darker the closer its time is to the longest.
fn cell(time: Option<f64>, most: f64) -> Markup {
    let Some(time) = time else { return html! { td { "–" } } };
    let strength = format!("background: rgb(213 94 0 / {:.0}%)", 50.0 * time / most);
    html! { td style=(strength) { (format!("{time:.2}")) } }
}

fn histograms(results: &Path) -> Result<Markup> {
    let mut all = Vec::new();
    for way in WAYS {
        all.extend(read(results, &format!("histogram-{way}"))?);
    }
    let of_size = |bytes: u64| {
        let its = all.iter().filter(|it| it.bytes == Some(bytes));
        let curves = its.filter_map(|it| Some(outline(it.way.as_deref()?, it.distribution.as_ref()?)));
        let title = plots::length(bytes);
        Some(Panel {
            title,
            across: Across::Microseconds,
            up: "share of the samples",
            names: SeriesLabelPosition::UpperRight,
            curves: curves.collect(),
        })
    };
    let drawings = drawn(distinct(&all, |it| it.bytes).into_iter().map(of_size))?;
    Ok(html! {
        section id="histograms" {
            h2 { "How latencies are distributed" }
            p {
                "Half of each single round trip, in bins of 6 % (thesis: figures 52 to 59, which look for steps). What lies far to the right are "
                "the times at which something else had a core."
            }
            (drawings)
        }
    })
}

fn socket_buffers(all: &[Figure]) -> Result<Markup> {
    let variant = |whose: &str, pattern: &str| format!("{whose}, {pattern}");
    let curves = |pattern: &str, value| {
        let of = |whose: &str, buffer: Option<u64>| -> Vec<&Figure> {
            let wanted = variant(whose, pattern);
            all.iter().filter(|it| it.variant.as_ref() == Some(&wanted) && it.buffer_bytes == buffer).collect()
        };
        let mut curves = vec![
            curve("rwmpi", of("rwmpi", None), value),
            curve("raw socket, kernel's own", of("raw socket", None), value),
        ];
        for buffer in distinct(all, |it| it.buffer_bytes) {
            curves.push(curve(&plots::size(buffer), of("raw socket", Some(buffer)), value));
        }
        curves
    };
    let drawings = drawn([
        panel("stream over TCP, by the buffers' size", Value::Megabytes, curves("stream", Value::Megabytes)),
        panel(
            "ping-pong over TCP, by the buffers' size",
            Value::Microseconds,
            curves("ping-pong", Value::Microseconds),
        ),
    ])?;
    Ok(html! {
        section id="socket-buffers" {
            h2 { "Buffers of sockets" }
            p {
                "A raw TCP connection within the machine, both ends with send and receive buffers of one size or of what the kernel chooses, and "
                "the library, which leaves them to the kernel (thesis: figure 38)."
            }
            (drawings)
        }
    })
}

fn tags(all: &[Figure]) -> Markup {
    html! {
        section id="tags" {
            h2 { "Tags in order and in reverse" }
            p { "Messages with a tag each, by the time for one match (thesis: figures 21 to 23)." }
            div class="table" {
                table {
                    thead { tr { th { "receives" } th { "µs, first sextile" } th { "fifth sextile" } } }
                    tbody {
                        @for figure in all {
                            tr {
                                th { (figure.variant.as_deref().unwrap_or_default()) }
                                @for time in [figure.sextile1_us, figure.sextile5_us] {
                                    td { (time.map_or("–".into(), |time| format!("{time:.3}"))) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTIONS: [&str; 5] = ["ways", "affinity", "histograms", "socket-buffers", "tags"];

    #[test]
    fn what_was_measured_last_makes_a_page_that_stands_alone() {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/results");
        let page = page_of(&results).unwrap().into_string();
        for section in SECTIONS {
            assert!(page.contains(&format!("<section id=\"{section}\">")), "{section}");
        }
        // Four of the ways, two of the buffers, and at least one histogram.
        assert!(page.matches("<svg").count() >= 7, "{} plots", page.matches("<svg").count());
        assert!(page.matches("core 0").count() >= 2, "no matrix of cores");
        for loading in page::LOADING {
            assert!(!page.contains(loading), "{loading}");
        }
    }

    #[test]
    fn where_nothing_was_measured_the_page_is_empty_but_whole() {
        let page = page_of(Path::new("no such folder")).unwrap().into_string();
        assert!(!page.contains("<svg") && page.ends_with("</html>"));
    }

    #[test]
    fn readers_on_phones_and_in_the_dark_can_read_it() {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/results");
        page::assert_readable("experiments.html", &page_of(&results).unwrap());
    }
}

//! The two plots that show all benchmarks at once: times relative to NSR, and how much was written remotely.

use maud::{Markup, html};

use super::format::{percent, seconds};
use super::plan::{Mode, title};
use super::plot_frame::{Axis, Px, class, drawing, horizontal_axis, legend, marker};
use super::record::{Record, Study};
use super::thesis;
use crate::Benchmark;

const WIDTH: f64 = 560.0;
const LEFT: f64 = 44.0;
const TOP: f64 = 46.0;
const THICKNESS: f64 = 11.0;
const GROUP_GAP: f64 = 14.0;

fn group_height(bars: usize) -> f64 {
    (THICKNESS + 2.0) * bars as f64 + GROUP_GAP
}

/// Seconds of each mode over those of NSR, per benchmark on its most processes; whiskers reach to the slowest run. None
/// if no benchmark ran with NSR on more than one process.
pub fn relative_times(study: &Study) -> Option<Markup> {
    let modes = study.modes();
    let groups: Vec<(Benchmark, Vec<Bar>)> =
        study.benchmarks().into_iter().filter_map(|it| Some((it, bars(study, it)?))).collect();
    if groups.is_empty() {
        return None;
    }
    let longest = groups.iter().flat_map(|(_, bars)| bars).map(|bar| bar.length).fold(1.0, f64::max);
    // Whiskers may leave the plot: one disturbed run must not flatten all bars.
    let end = (longest * 1.15).max(1.25);
    let group = group_height(modes.len());
    let (top, right) = (TOP, WIDTH - 66.0);
    let bottom = top + group * groups.len() as f64;
    let x = Axis::linear((0.0, end), (LEFT, right), |value| {
        format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
    });
    let content = html! {
        (legend(&modes, (LEFT, 15.0)))
        @for (value, _) in &x.ticks {
            line class="grid" x1=(Px(x.at(*value))) x2=(Px(x.at(*value))) y1=(Px(top)) y2=(Px(bottom)) {}
        }
        @for (row, (benchmark, bars)) in groups.iter().enumerate() {
            @let start = top + group * row as f64 + GROUP_GAP / 2.0;
            text class="row" x="0" y=(Px(start + (group - GROUP_GAP) / 2.0 + 4.0)) { (title(*benchmark)) }
            @for (index, bar) in bars.iter().enumerate() {
                (bar.draw(&x, start + (THICKNESS + 2.0) * index as f64))
            }
        }
        line class="reference" x1=(Px(x.at(1.0))) x2=(Px(x.at(1.0))) y1=(Px(top)) y2=(Px(bottom)) {}
        (horizontal_axis(&x, bottom, "time, NSR = 1 (shorter is better)"))
    };
    let description = "Bars: time of each benchmark with SR, NSR and AUTO, relative to NSR";
    Some(drawing((WIDTH, bottom + 42.0), "bars", description, &content))
}

struct Bar {
    mode: Mode,
    length: f64,
    slowest: f64,
    tip: String,
}

fn bars(study: &Study, benchmark: Benchmark) -> Option<Vec<Bar>> {
    let ranks = study.widest(benchmark)?;
    let unit = study.record(benchmark, ranks, Mode::Nsr)?.seconds?;
    let bar = |record: &Record| {
        let (fastest, slowest) = (record.min?, record.max?);
        let tip = format!(
            "{} {} on {ranks} processes: {} to {} s in {} runs",
            title(benchmark),
            record.protocol.title(),
            seconds(fastest),
            seconds(slowest),
            record.repeats.len()
        );
        Some(Bar { mode: record.protocol, length: fastest / unit, slowest: slowest / unit, tip })
    };
    Some(study.modes().into_iter().filter_map(|mode| bar(study.record(benchmark, ranks, mode)?)).collect())
}

impl Bar {
    fn draw(&self, x: &Axis, y: f64) -> Markup {
        let (zero, end) = (x.at(0.0), x.at(self.length));
        let middle = y + THICKNESS / 2.0;
        let limit = WIDTH - 62.0;
        let slowest = x.at(self.slowest);
        let outside = slowest > limit;
        let reach = slowest.min(limit);
        html! {
            g class=(class(self.mode)) {
                title { (self.tip) }
                rect class="bar" x=(Px(zero)) y=(Px(y)) width=(Px(end - zero)) height=(Px(THICKNESS)) rx="1.5" {}
                @if reach - end > 1.0 {
                    line class="whisker" x1=(Px(end)) x2=(Px(reach)) y1=(Px(middle)) y2=(Px(middle)) {}
                    @if outside {
                        path class="whisker" d=(format!("M{0:.1} {1:.1}l4 3.5l-4 3.5", reach - 3.0, middle - 3.5)) fill="none" {}
                    } @else {
                        line class="whisker" x1=(Px(reach)) x2=(Px(reach)) y1=(Px(middle - 3.5)) y2=(Px(middle + 3.5)) {}
                    }
                }
            }
            text class={ "value " (class(self.mode)) } x=(Px(WIDTH)) y=(Px(middle + 4.0)) text-anchor="end" {
                (format!("{:.3}", self.length))
            }
        }
    }
}

/// Bytes written straight into the receiver's buffer, per benchmark: SR, AUTO, and SR in the thesis. None if nothing
/// was sent.
pub fn availability(study: &Study) -> Option<Markup> {
    let modes: Vec<Mode> = study.protocols().into_iter().filter(|mode| *mode != Mode::Nsr).collect();
    let rows: Vec<AvailabilityRow> =
        study.benchmarks().into_iter().filter_map(|it| AvailabilityRow::of(study, it, &modes)).collect();
    if rows.is_empty() {
        return None;
    }
    // As high as the groups of bars, since the two plots stand side by side.
    let (top, height) = (TOP, group_height(study.modes().len()));
    let columns = 58.0;
    let right = WIDTH - columns * (modes.len() + 1) as f64 - 18.0;
    let bottom = top + height * rows.len() as f64;
    let x = Axis::linear((0.0, 100.0), (LEFT, right), |value| format!("{value:.0}"));
    let column = |index: usize| WIDTH - columns * (modes.len() - index) as f64;
    let content = html! {
        @for (value, _) in &x.ticks {
            line class="grid" x1=(Px(x.at(*value))) x2=(Px(x.at(*value))) y1=(Px(top)) y2=(Px(bottom)) {}
        }
        text class="end then" x=(Px(WIDTH)) y=(Px(top - 10.0)) text-anchor="end" { "1999 SR" }
        circle class="hollow then" cx=(Px(WIDTH - 24.0)) cy=(Px(top - 31.0)) r="4.5" {}
        @for (index, mode) in modes.iter().enumerate() {
            text class={ "end " (class(*mode)) } x=(Px(column(index))) y=(Px(top - 10.0)) text-anchor="end" { (mode.title()) }
            (marker(*mode, (column(index) - 14.0, top - 31.0), mode.title()))
        }
        @for (index, row) in rows.iter().enumerate() {
            (row.draw(&x, top + height * (index as f64 + 0.5), &|place| if place < modes.len() { column(place) } else { WIDTH }))
        }
        (horizontal_axis(&x, bottom, "% of bytes"))
    };
    let description = "Share of bytes written straight into the receiver's buffer, per benchmark, now and in 1999";
    Some(drawing((WIDTH, bottom + 42.0), "availability", description, &content))
}

struct AvailabilityRow {
    benchmark: Benchmark,
    now: Vec<(Mode, Option<f64>)>,
    then: Option<f64>,
}

impl AvailabilityRow {
    fn of(study: &Study, benchmark: Benchmark, modes: &[Mode]) -> Option<AvailabilityRow> {
        let ranks = study.widest(benchmark)?;
        let share = |mode| study.record(benchmark, ranks, mode)?.traffic.availability_by_bytes();
        let now: Vec<(Mode, Option<f64>)> = modes.iter().map(|mode| (*mode, share(*mode))).collect();
        let then = thesis::characteristics(benchmark).map(|it| it.availability);
        now.iter().any(|(_, share)| share.is_some()).then_some(AvailabilityRow { benchmark, now, then })
    }

    fn draw(&self, x: &Axis, y: f64, column: &dyn Fn(usize) -> f64) -> Markup {
        let all: Vec<f64> = self.now.iter().filter_map(|(_, share)| *share).chain(self.then).collect();
        let (low, high) = (all.iter().copied().fold(1.0, f64::min), all.iter().copied().fold(0.0, f64::max));
        let name = title(self.benchmark);
        let text = |share: Option<f64>| share.map_or_else(|| super::format::NONE.to_owned(), percent);
        html! {
            text class="row" x="0" y=(Px(y + 4.0)) { (name) }
            line class="span" x1=(Px(x.at(low * 100.0))) x2=(Px(x.at(high * 100.0))) y1=(Px(y)) y2=(Px(y)) {}
            @if let Some(share) = self.then {
                circle class="hollow then" cx=(Px(x.at(share * 100.0))) cy=(Px(y)) r="5" {
                    title { (name) " in 1999: " (percent(share)) }
                }
            }
            @for (mode, share) in &self.now {
                @if let Some(share) = share {
                    (marker(*mode, (x.at(share * 100.0), y), &format!("{name} {}: {}", mode.title(), percent(*share))))
                }
            }
            @for (index, (mode, share)) in self.now.iter().enumerate() {
                text class={ "value " (class(*mode)) } x=(Px(column(index))) y=(Px(y + 4.0)) text-anchor="end" { (text(*share)) }
            }
            text class="value then" x=(Px(column(self.now.len()))) y=(Px(y + 4.0)) text-anchor="end" { (text(self.then)) }
        }
    }
}

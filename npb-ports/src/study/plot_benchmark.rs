//! The two plots of one benchmark: its speed-up, and who sends how much to whom.

use maud::{Markup, html};

use super::format::{bytes, compact, count};
use super::plan::{Mode, title};
use super::plot_frame::{
    Axis, EndLabel, Px, class, curve, drawing, end_labels, faint_curve, horizontal_axis, inline_label, vertical_axis,
};
use super::record::Study;
use super::thesis::{self, Implementation};
use crate::{Benchmark, PairTraffic};

/// Speed-up over process count per mode, against the ideal and the thesis's SR; none if it ran on one process count
/// only.
pub fn speed_up(study: &Study, benchmark: Benchmark) -> Option<Markup> {
    let counts = study.rank_counts(benchmark);
    let most = *counts.last().filter(|count| **count > 1)?;
    let modes: Vec<(Mode, Vec<(usize, f64)>)> = study
        .modes()
        .into_iter()
        .map(|mode| (mode, counts.iter().filter_map(|&it| Some((it, study.speed_up(benchmark, it, mode)?))).collect()))
        .filter(|(_, points): &(Mode, Vec<_>)| points.len() > 1)
        .collect();
    if modes.is_empty() {
        return None;
    }
    let then: Vec<(usize, f64)> =
        thesis::speed_ups(benchmark, Implementation::Sr).into_iter().filter(|(count, _)| *count <= most).collect();
    let values = || modes.iter().flat_map(|(_, points)| points).chain(&then).map(|(_, value)| *value);
    let low = values().fold(1.0, f64::min);
    let high = values().fold(most as f64, f64::max);

    let (width, height, left, top) = (430.0, 268.0, 40.0, 30.0);
    let (right, bottom) = (width - 104.0, height - 44.0);
    let between = if high / low < 4.0 { 1.5 } else { 1.0 };
    let values = (-6..=12).map(|it| 2f64.powi(it)).flat_map(|it| [it, it * between]);
    let y_ticks = values.map(|it| (it, it.to_string())).collect();
    let x_ticks = counts.iter().map(|&it| (it as f64, it.to_string())).collect();
    let x = Axis::logarithmic((1.0, most as f64), (left + 6.0, right - 10.0), x_ticks);
    let y = Axis::logarithmic((low.min(1.0) * 0.94, high * 1.06), (bottom, top), y_ticks);
    let place = |points: &[(usize, f64)]| -> Vec<(f64, f64)> {
        points.iter().map(|(count, value)| (x.at(*count as f64), y.at(*value))).collect()
    };
    let end = |points: &[(usize, f64)], name: &str, class: &str| {
        points.last().map(|(_, value)| EndLabel {
            y: y.at(*value),
            text: format!("{name} {value:.2}"),
            class: class.to_owned(),
        })
    };
    let mut labels: Vec<EndLabel> = modes.iter().filter_map(|(mode, it)| end(it, mode.title(), class(*mode))).collect();
    let then_reaches_end = then.last().is_some_and(|(count, _)| *count == most);
    labels.extend(end(&then, "1999 SR", "then").filter(|_| then_reaches_end));
    labels.push(EndLabel { y: y.at(most as f64), text: "ideal".to_owned(), class: "ideal".to_owned() });
    let content = html! {
        (vertical_axis(&y, left, right - 10.0, "speed-up"))
        (horizontal_axis(&x, bottom, "processes"))
        (faint_curve("ideal", &place(&[(1, 1.0), (most, most as f64)])))
        @if then.len() > 1 {
            (faint_curve("then", &place(&then)))
            @if !then_reaches_end { (inline_label("then", place(&then)[then.len() - 1], "1999 SR")) }
        }
        @for (mode, points) in &modes {
            @let tips: Vec<String> = points.iter().map(|(count, value)| format!("{} on {count}: {value:.2}", mode.title())).collect();
            (curve(*mode, &place(points), &tips))
        }
        (end_labels(right + 4.0, (top, bottom), labels))
    };
    let description = format!("Speed-up of {} over the number of processes", title(benchmark));
    Some(drawing((width, height), "speed-up", &description, &content))
}

/// Bytes from each rank to each other in the fastest run on the most processes; none if no message was sent.
pub fn communication(study: &Study, benchmark: Benchmark) -> Option<Markup> {
    let ranks = study.widest(benchmark)?;
    let record = study
        .modes()
        .into_iter()
        .find_map(|mode| study.record(benchmark, ranks, mode).filter(|it| it.seconds.is_some()))?;
    let matrix = &record.communication;
    let most = matrix.iter().flatten().map(|pair| pair.bytes).max().filter(|most| *most > 0)?;
    let (left, top, side) = (40.0, 44.0, 190.0);
    let cell = side / matrix.len() as f64;
    let label_every = matrix.len().div_ceil(8);
    let labelled = |index: usize| index.is_multiple_of(label_every);
    let content = html! {
        text class="axis-title" x=(Px(left)) y="12" { "to rank" }
        text class="axis-title" x="0" y=(Px(top - 6.0)) { "from" }
        @for (from, row) in matrix.iter().enumerate() {
            @if labelled(from) {
                text class="tick" x=(Px(left - 8.0)) y=(Px(top + cell * (from as f64 + 0.5) + 4.0)) text-anchor="end" { (from) }
                text class="tick" x=(Px(left + cell * (from as f64 + 0.5))) y=(Px(top - 8.0)) text-anchor="middle" { (from) }
            }
            @for (to, pair) in row.iter().enumerate() {
                (square((left + cell * to as f64, top + cell * from as f64), cell, (from, to), pair, most))
            }
        }
        (scale_of_heat(left, top + side + 12.0, side, most))
    };
    let description = format!("Bytes sent from each rank to each other in {}", title(benchmark));
    Some(drawing((left + side + 4.0, top + side + 40.0), "heat", &description, &content))
}

fn square((x, y): (f64, f64), side: f64, (from, to): (usize, usize), pair: &PairTraffic, most: u64) -> Markup {
    let share = pair.bytes as f64 / most as f64;
    let tip = format!("{from} to {to}: {} in {} messages", bytes(pair.bytes as f64), count(pair.messages));
    // Text on the darker half of the scale is light.
    let ink = if share > 0.55 { "cell on-dark" } else { "cell" };
    html! {
        rect class="square" x=(Px(x + 0.75)) y=(Px(y + 0.75)) width=(Px(side - 1.5)) height=(Px(side - 1.5)) rx="2" {}
        rect class="heat" x=(Px(x + 0.75)) y=(Px(y + 0.75)) width=(Px(side - 1.5)) height=(Px(side - 1.5)) rx="2"
            fill-opacity=(format!("{share:.3}")) { title { (tip) } }
        @if side > 40.0 && pair.messages > 0 {
            text class=(ink) x=(Px(x + side / 2.0)) y=(Px(y + side / 2.0 + 4.0)) text-anchor="middle" { (compact(pair.bytes)) }
        }
    }
}

fn scale_of_heat(left: f64, top: f64, width: f64, most: u64) -> Markup {
    let steps = 12;
    let step = width / f64::from(steps);
    html! {
        @for index in 0..steps {
            rect class="square" x=(Px(left + step * f64::from(index))) y=(Px(top)) width=(Px(step)) height="6" {}
            rect class="heat" x=(Px(left + step * f64::from(index))) y=(Px(top)) width=(Px(step)) height="6"
                fill-opacity=(format!("{:.3}", f64::from(index) / f64::from(steps - 1))) {}
        }
        text class="tick" x=(Px(left)) y=(Px(top + 20.0)) { "0" }
        text class="tick" x=(Px(left + width)) y=(Px(top + 20.0)) text-anchor="end" { (bytes(most as f64)) }
    }
}

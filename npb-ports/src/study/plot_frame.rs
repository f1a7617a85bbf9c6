//! What all plots share: scales, axes, markers and labels that do not overlap, drawn as SVG.
//!
//! Colours and fonts are classes that the page's style sheet defines, so one drawing serves light, dark and paper.
//! Lengths are in units of the drawing, about a CSS pixel at full size.

use maud::{Markup, PreEscaped, Render, html};

use super::plan::Mode;

/// A length or position, written with one decimal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Px(pub f64);

impl Render for Px {
    fn render(&self) -> Markup {
        let text = format!("{:.1}", self.0);
        PreEscaped(text.strip_suffix(".0").unwrap_or(&text).to_owned())
    }
}

/// How values become positions.
#[derive(Clone, Debug)]
pub struct Axis {
    logarithmic: bool,
    values: (f64, f64),
    positions: (f64, f64),
    /// Values that carry a label.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Equal steps for equal differences, with about six round ticks.
    pub fn linear(values: (f64, f64), positions: (f64, f64), label: impl Fn(f64) -> String) -> Axis {
        let step = round_step((values.1 - values.0) / 6.0);
        let first = (values.0 / step).ceil() as i64;
        let last = (values.1 / step + 1e-9).floor() as i64;
        let ticks = (first..=last).map(|index| index as f64 * step).map(|value| (value, label(value))).collect();
        Axis { logarithmic: false, values, positions, ticks }
    }

    /// Equal steps for equal ratios, with a tick at each of the given values within the range.
    pub fn logarithmic(values: (f64, f64), positions: (f64, f64), ticks: Vec<(f64, String)>) -> Axis {
        let within = |tick: &(f64, String)| tick.0 >= values.0 * 0.999 && tick.0 <= values.1 * 1.001;
        Axis { logarithmic: true, values, positions, ticks: ticks.into_iter().filter(within).collect() }
    }

    /// Where a value is.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value / self.values.0).ln() / (self.values.1 / self.values.0).ln()
        } else {
            (value - self.values.0) / (self.values.1 - self.values.0)
        };
        self.positions.0 + share * (self.positions.1 - self.positions.0)
    }
}

fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|digit| digit * power >= rough * 0.999);
    digit.unwrap_or(10.0) * power
}

/// Ticks at the powers of ten from `low` to `high`.
pub fn decades(low: f64, high: f64, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
    exponents.map(|exponent| 10f64.powi(exponent)).map(|value| (value, label(value))).collect()
}

/// The class of a mode's colour.
pub fn class(mode: Mode) -> &'static str {
    mode.name()
}

/// A whole drawing of `size`, with a description for those who cannot see it.
pub fn drawing(size: (f64, f64), kind: &str, description: &str, content: &Markup) -> Markup {
    let view = format!("0 0 {} {}", Px(size.0).render().0, Px(size.1).render().0);
    html! {
        svg class={ "plot " (kind) } viewBox=(view) role="img" aria-label=(description) { (content) }
    }
}

/// Horizontal hairlines at the ticks of a vertical axis, their labels to the left of `from`, and its title above.
pub fn vertical_axis(axis: &Axis, from: f64, to: f64, title: &str) -> Markup {
    let top = axis.positions.0.min(axis.positions.1);
    html! {
        text class="axis-title" x="0" y=(Px(top - 14.0)) { (title) }
        @for (value, label) in &axis.ticks {
            line class="grid" x1=(Px(from)) x2=(Px(to)) y1=(Px(axis.at(*value))) y2=(Px(axis.at(*value))) {}
            text class="tick" x=(Px(from - 8.0)) y=(Px(axis.at(*value) + 4.0)) text-anchor="end" { (label) }
        }
    }
}

/// The labels of a horizontal axis below `bottom`, and its title at its right end.
pub fn horizontal_axis(axis: &Axis, bottom: f64, title: &str) -> Markup {
    let right = axis.positions.1;
    html! {
        @for (value, label) in &axis.ticks {
            line class="mark" x1=(Px(axis.at(*value))) x2=(Px(axis.at(*value))) y1=(Px(bottom)) y2=(Px(bottom + 4.0)) {}
            text class="tick" x=(Px(axis.at(*value))) y=(Px(bottom + 18.0)) text-anchor="middle" { (label) }
        }
        text class="axis-title" x=(Px(right)) y=(Px(bottom + 36.0)) text-anchor="end" { (title) }
    }
}

/// A line through points, with the mode's marker at each.
pub fn curve(mode: Mode, points: &[(f64, f64)], tips: &[String]) -> Markup {
    html! {
        g class=(class(mode)) {
            polyline class="curve" points=(path(points)) {}
            @for (point, tip) in points.iter().zip(tips) { (marker(mode, *point, tip)) }
        }
    }
}

/// A dashed line through points, for values of the thesis or ideals.
pub fn faint_curve(kind: &str, points: &[(f64, f64)]) -> Markup {
    html! { polyline class={ "faint " (kind) } points=(path(points)) {} }
}

fn path(points: &[(f64, f64)]) -> String {
    let points: Vec<String> =
        points.iter().map(|(x, y)| format!("{},{}", Px(*x).render().0, Px(*y).render().0)).collect();
    points.join(" ")
}

/// The marker of a mode: a disc for SR, a square for NSR, a triangle for AUTO, a diamond for PUT, so that colour is
/// never all there is.
pub fn marker(mode: Mode, (x, y): (f64, f64), tip: &str) -> Markup {
    let triangle = || path(&[(x, y - 5.5), (x + 5.2, y + 4.0), (x - 5.2, y + 4.0)]);
    let diamond = || path(&[(x, y - 5.5), (x + 5.5, y), (x, y + 5.5), (x - 5.5, y)]);
    html! {
        g class={ "marker " (class(mode)) } {
            title { (tip) }
            @match mode {
                Mode::Sr => circle cx=(Px(x)) cy=(Px(y)) r="4.5" {},
                Mode::Nsr => rect x=(Px(x - 4.0)) y=(Px(y - 4.0)) width="8" height="8" {},
                Mode::Auto => polygon points=(triangle()) {},
                Mode::OneSided => polygon points=(diamond()) {},
            }
        }
    }
}

/// A label at the end of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct EndLabel {
    /// Where the line ends.
    pub y: f64,
    /// What it says.
    pub text: String,
    /// Its class.
    pub class: String,
}

/// Labels right of `x`, each as near to its line's end as the others leave room for.
pub fn end_labels(x: f64, limits: (f64, f64), mut labels: Vec<EndLabel>) -> Markup {
    labels.sort_by(|a, b| a.y.total_cmp(&b.y));
    let ends: Vec<f64> = labels.iter().map(|label| label.y).collect();
    let places = spread(&ends, 15.0, limits);
    html! {
        @for (label, place) in labels.iter().zip(places) {
            line class="leader" x1=(Px(x - 7.0)) y1=(Px(label.y)) x2=(Px(x - 2.0)) y2=(Px(place)) {}
            text class={ "end " (label.class) } x=(Px(x)) y=(Px(place + 4.0)) { (label.text) }
        }
    }
}

/// A label just above the last point of a line that ends within the plot.
pub fn inline_label(kind: &str, (x, y): (f64, f64), text: &str) -> Markup {
    html! { text class={ "end " (kind) } x=(Px(x)) y=(Px(y - 8.0)) text-anchor="end" { (text) } }
}

/// Moves ascending positions apart to at least `gap`, within limits if they leave room, and no further than needed.
fn spread(wanted: &[f64], gap: f64, limits: (f64, f64)) -> Vec<f64> {
    // Groups of labels that touch, each centred on the mean of what its members want.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for &place in wanted {
        groups.push((place, 1));
        while let [.., (upper, above), (lower, below)] = groups[..]
            && lower - upper < gap * (above + below) as f64 / 2.0
        {
            groups.truncate(groups.len() - 2);
            groups.push(((upper * above as f64 + lower * below as f64) / (above + below) as f64, above + below));
        }
    }
    let mut places = Vec::new();
    for (centre, members) in groups {
        let half = gap * (members - 1) as f64 / 2.0;
        let first = (centre - half).min(limits.1 - 2.0 * half).max(limits.0);
        places.extend((0..members).map(|index| first + gap * index as f64));
    }
    for index in 1..places.len() {
        places[index] = places[index].max(places[index - 1] + gap);
    }
    places
}

/// A legend of modes in one line.
pub fn legend(modes: &[Mode], (x, y): (f64, f64)) -> Markup {
    html! {
        @for (index, mode) in modes.iter().enumerate() {
            @let at = x + 70.0 * index as f64;
            (marker(*mode, (at + 5.0, y - 4.5), mode.title()))
            text class={ "end " (class(*mode)) } x=(Px(at + 15.0)) y=(Px(y)) { (mode.title()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance_and_order() {
        let places = spread(&[10.0, 11.0, 12.0, 80.0], 15.0, (0.0, 100.0));
        assert_eq!(places, [0.0, 15.0, 30.0, 80.0]);
        let crowded = spread(&[95.0, 96.0, 99.0], 15.0, (0.0, 100.0));
        assert_eq!(crowded, [70.0, 85.0, 100.0]);
        assert_eq!(spread(&[20.0, 60.0], 15.0, (0.0, 100.0)), [20.0, 60.0]);
    }

    #[test]
    fn logarithmic_axes_space_ratios_evenly() {
        let axis = Axis::logarithmic((1.0, 100.0), (0.0, 200.0), decades(1.0, 100.0, |value| value.to_string()));
        assert!((axis.at(10.0) - 100.0).abs() < 1e-9);
        assert_eq!(axis.ticks.iter().map(|tick| tick.0).collect::<Vec<_>>(), [1.0, 10.0, 100.0]);
    }

    #[test]
    fn linear_ticks_are_round() {
        let axis = Axis::linear((0.0, 1.3), (0.0, 100.0), |value| format!("{value:.2}"));
        let labels: Vec<&str> = axis.ticks.iter().map(|tick| tick.1.as_str()).collect();
        assert_eq!(labels, ["0.00", "0.25", "0.50", "0.75", "1.00", "1.25"]);
    }
}

//! Figures as pictures: panels with a curve for each of those that are compared, on logarithmic axes.

use std::path::Path;

use anyhow::{Result, anyhow};
pub use plotters::chart::SeriesLabelPosition;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Several curves over the same axes.
pub struct Panel {
    pub title: String,
    pub across: Across,
    /// What the vertical axis shows.
    pub up: &'static str,
    /// Where the names of the curves hide least.
    pub names: SeriesLabelPosition,
    pub curves: Vec<Curve>,
}

/// What the horizontal axis shows.
#[derive(Clone, Copy, PartialEq)]
pub enum Across {
    Bytes,
    Microseconds,
    Ranks,
}

/// What one of those that are compared reached.
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
    /// From where to where the values above a place spread.
    pub spreads: Vec<(f64, (f64, f64))>,
}

impl Curve {
    /// A curve through points that say nothing of their spread.
    pub fn through(name: String, points: Vec<(f64, f64)>) -> Self {
        Curve { name, points, spreads: Vec::new() }
    }
}

const PANEL: (u32, u32) = (460, 320);
const COLUMNS: usize = 2;
/// Told apart with any kind of sight (Okabe and Ito, and one for whatever is ninth); ours is the first.
const COLOURS: [RGBColor; 9] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(120, 120, 120),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(146, 108, 60),
];

/// One panel as an SVG element.
///
/// # Errors
/// If it cannot be drawn.
pub fn svg(panel: &Panel) -> Result<String> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, PANEL).into_drawing_area();
    area.fill(&WHITE).map_err(failed)?;
    draw_panel(&area, panel)?;
    area.present().map_err(failed)?;
    drop(area);
    Ok(text)
}

/// Draws the panels into a file, two beside each other.
///
/// # Errors
/// If the file cannot be written.
pub fn draw(path: &Path, panels: &[Panel]) -> Result<()> {
    let rows = panels.len().div_ceil(COLUMNS);
    let columns = COLUMNS.min(panels.len());
    let size = (PANEL.0 * columns as u32, PANEL.1 * rows as u32);
    let area = SVGBackend::new(path, size).into_drawing_area();
    area.fill(&WHITE).map_err(failed)?;
    for (panel, area) in panels.iter().zip(area.split_evenly((rows, columns))) {
        draw_panel(&area, panel)?;
    }
    area.present().map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}

fn draw_panel(area: &DrawingArea<SVGBackend<'_>, Shift>, panel: &Panel) -> Result<()> {
    let spreads = |curve: &Curve| curve.spreads.clone().into_iter().flat_map(|(x, (low, high))| [(x, low), (x, high)]);
    let points = || panel.curves.iter().flat_map(|curve| curve.points.iter().copied().chain(spreads(curve)));
    let limits = |of: fn((f64, f64)) -> f64| {
        points().map(of).fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)))
    };
    let ((first, last), (fastest, slowest)) = (limits(|point| point.0), limits(|point| point.1));
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 16))
        .margin(8)
        .margin_right(24)
        .x_label_area_size(34)
        .y_label_area_size(54)
        .build_cartesian_2d(
            (first..last).log_scale().base(panel.across.base()),
            (fastest * 0.7..slowest * 1.4).log_scale(),
        )
        .map_err(failed)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc(panel.across.name())
        .y_desc(panel.up)
        .y_label_formatter(&|value| number(*value))
        .x_label_formatter(&|value| panel.across.in_words(*value))
        .draw()
        .map_err(failed)?;
    // One without points keeps its colour for other panels.
    let curves = panel.curves.iter().zip(COLOURS.into_iter().cycle()).filter(|(curve, _)| !curve.points.is_empty());
    for (curve, colour) in curves {
        let style = colour.stroke_width(if curve.name == panel.curves[0].name { 3 } else { 2 });
        let spread = |&(x, (low, high)): &(f64, (f64, f64))| PathElement::new([(x, low), (x, high)], colour.mix(0.5));
        chart.draw_series(curve.spreads.iter().map(spread)).map_err(failed)?;
        let points = if panel.across == Across::Microseconds { 0 } else { 3 };
        let line = LineSeries::new(curve.points.iter().copied(), style).point_size(points);
        let key = move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style);
        chart.draw_series(line).map_err(failed)?.label(&curve.name).legend(key);
    }
    chart
        .configure_series_labels()
        .position(panel.names.clone())
        .background_style(WHITE.mix(0.8))
        .draw()
        .map_err(failed)
}

impl Across {
    /// The ratio of two ticks.
    fn base(self) -> f64 {
        match self {
            Across::Bytes => 4.0,
            Across::Ranks => 2.0,
            Across::Microseconds => 10.0,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Across::Bytes => "bytes",
            Across::Microseconds => "µs",
            Across::Ranks => "ranks",
        }
    }

    fn in_words(self, value: f64) -> String {
        match self {
            Across::Bytes => size(value.round() as u64),
            Across::Microseconds | Across::Ranks => number(value),
        }
    }
}

/// A number at an axis, without what its computation has left behind the sixth decimal place.
fn number(value: f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
}

/// A length with its unit, as in a sentence.
pub fn length(bytes: u64) -> String {
    if bytes < 1 << 10 { format!("{bytes} bytes") } else { size(bytes) }
}

/// A number of bytes as people write it where the unit is said already.
pub fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
        bytes => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_one_unit() {
        assert_eq!([8, 64 << 10, 1 << 20].map(length), ["8 bytes", "64 KiB", "1 MiB"]);
    }

    #[test]
    fn numbers_at_axes_are_short() {
        assert_eq!([0.1 + 0.2, 0.05, 1000.0, 1e6 / 3.0 * 3.0].map(number), ["0.3", "0.05", "1000", "1000000"]);
    }
}

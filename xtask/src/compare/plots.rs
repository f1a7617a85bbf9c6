//! The comparison as pictures: one panel for each benchmark that was measured at several sizes, one curve for each library.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

/// One benchmark's medians.
pub struct Panel {
    pub title: String,
    /// By library: bytes and microseconds.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
}

const PANEL: (u32, u32) = (460, 320);
const COLUMNS: usize = 2;
/// Told apart with any kind of sight (Okabe and Ito); ours is the first.
const COLOURS: [RGBColor; 4] =
    [RGBColor(213, 94, 0), RGBColor(0, 114, 178), RGBColor(0, 158, 115), RGBColor(120, 120, 120)];

/// Draws the panels, two beside each other, on logarithmic axes.
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
    let points = || panel.curves.iter().flat_map(|(_, points)| points.iter().copied());
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
        .build_cartesian_2d((first..last).log_scale().base(4.0), (fastest * 0.7..slowest * 1.4).log_scale())
        .map_err(failed)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc("bytes")
        .y_desc("µs, median")
        .x_label_formatter(&|bytes| in_words(*bytes))
        .draw()
        .map_err(failed)?;
    for ((name, points), colour) in panel.curves.iter().zip(COLOURS.into_iter().cycle()) {
        let style = colour.stroke_width(if *name == panel.curves[0].0 { 3 } else { 2 });
        let curve = LineSeries::new(points.iter().copied(), style).point_size(3);
        let key = move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style);
        chart.draw_series(curve).map_err(failed)?.label(name).legend(key);
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .draw()
        .map_err(failed)
}

fn in_words(bytes: f64) -> String {
    match bytes.round() as u64 {
        bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
        bytes => bytes.to_string(),
    }
}

//! Round-trip time and bandwidth over message size, against the thesis's (its table 4.1 and figure 4.1).

use maud::{Markup, html};

use super::format::{count, message_size, significant};
use super::micro::MicroMode;
use super::plan::Mode;
use super::plot_frame::{
    Axis, EndLabel, class, curve, decades, drawing, end_labels, faint_curve, horizontal_axis, inline_label,
    vertical_axis,
};
use super::record::Study;
use super::thesis::{self, Series};

/// Round-trip time over message size; none if it was not measured.
pub fn round_trip(study: &Study) -> Option<Markup> {
    let of = |mode: &MicroMode| mode.latency.iter().map(|point| (point.bytes, 2.0 * point.min_us)).collect();
    by_size(study, of, &thesis::ROUND_TRIP[0], "1999 SR", ("µs there and back", "Round-trip time"))
}

/// Bandwidth over message size; none if it was not measured.
pub fn bandwidth(study: &Study) -> Option<Markup> {
    let of = |mode: &MicroMode| {
        let carrying = mode.bandwidth.iter().filter(|point| point.megabytes_per_second > 0.0);
        carrying.map(|point| (point.bytes, point.megabytes_per_second)).collect()
    };
    by_size(study, of, &thesis::BANDWIDTH[2], "1999 SR", ("Mbytes/s", "Bandwidth"))
}

/// Where a message size stands on the logarithmic axis; that of an empty message is left of one byte.
fn abscissa(bytes: u64) -> f64 {
    if bytes == 0 { 0.5 } else { bytes as f64 }
}

/// A power of ten as a label: `0.1`, `10`, `10 000`.
fn round_number(value: f64) -> String {
    if value < 1.0 { value.to_string() } else { count(value as u64) }
}

fn by_size(
    study: &Study,
    values: impl Fn(&MicroMode) -> Vec<(u64, f64)>,
    before: &Series,
    before_name: &str,
    (unit, name): (&str, &str),
) -> Option<Markup> {
    let modes: Vec<(Mode, Vec<(u64, f64)>)> = study
        .settings
        .micro
        .modes
        .iter()
        .map(|mode| (mode.protocol, values(mode)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    if modes.is_empty() {
        return None;
    }
    let all = || modes.iter().flat_map(|(_, points)| points).chain(before.values).copied();
    let sizes = (
        all().map(|(bytes, _)| abscissa(bytes)).fold(f64::MAX, f64::min),
        all().map(|(bytes, _)| abscissa(bytes)).fold(0.0, f64::max),
    );
    let range =
        (all().map(|(_, value)| value).fold(f64::MAX, f64::min), all().map(|(_, value)| value).fold(0.0, f64::max));
    let (width, height, left, top) = (560.0, 340.0, 52.0, 30.0);
    let (right, bottom) = (width - 92.0, height - 44.0);
    let ticks = [0, 4, 64, 1 << 10, 1 << 14, 1 << 18, 1 << 22].map(|bytes| (abscissa(bytes), message_size(bytes)));
    let x = Axis::logarithmic(sizes, (left + 6.0, right - 10.0), ticks.to_vec());
    let y = Axis::logarithmic((range.0 / 1.3, range.1 * 1.3), (bottom, top), decades(range.0, range.1, round_number));
    let place = |points: &[(u64, f64)]| -> Vec<(f64, f64)> {
        points.iter().map(|(bytes, value)| (x.at(abscissa(*bytes)), y.at(*value))).collect()
    };
    let end = |points: &[(u64, f64)], name: &str, class: &str| {
        points.last().map(|(_, value)| EndLabel { y: y.at(*value), text: name.to_owned(), class: class.to_owned() })
    };
    let labels: Vec<EndLabel> = modes.iter().filter_map(|(mode, it)| end(it, mode.title(), class(*mode))).collect();
    let tip = |mode: Mode, (bytes, value): (u64, f64)| {
        format!("{} {} bytes: {} {unit}", mode.title(), message_size(bytes), significant(value))
    };
    let content = html! {
        (vertical_axis(&y, left, right - 10.0, unit))
        (horizontal_axis(&x, bottom, "bytes in a message"))
        (faint_curve("then", &place(before.values)))
        @if let Some(end) = place(before.values).last() { (inline_label("then", *end, before_name)) }
        @for (mode, points) in &modes {
            @let tips: Vec<String> = points.iter().map(|point| tip(*mode, *point)).collect();
            (curve(*mode, &place(points), &tips))
        }
        (end_labels(right + 4.0, (top, bottom), labels))
    };
    let description = format!("{name} by message size for each mode, and in 1999");
    Some(drawing((width, height), "by-size", &description, &content))
}

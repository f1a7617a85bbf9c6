//! What mpi-bench has measured, as the page needs it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::plots::{Across, Curve, Panel, SeriesLabelPosition};

/// One figure of mpi-bench's JSON.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct Figure {
    pub benchmark: String,
    pub variant: Option<String>,
    pub bytes: Option<u64>,
    pub sextile1_us: Option<f64>,
    pub sextile5_us: Option<f64>,
    pub floor_ratio: Option<f64>,
    pub way: Option<String>,
    pub cores: Option<[usize; 2]>,
    pub buffer_bytes: Option<u64>,
    pub distribution: Option<Distribution>,
    pub regime: Option<String>,
    pub samples: Option<u64>,
}

/// Where samples lie.
#[derive(Clone, Deserialize)]
pub struct Distribution {
    pub bins: Vec<Bin>,
}

/// How many lie between two times.
#[derive(Clone, Deserialize)]
pub struct Bin {
    pub from_us: f64,
    pub to_us: f64,
    pub share: f64,
}

/// Smaller shares are drawn as this one: a logarithmic axis has no place for none.
const SHARE_LEAST: f64 = 1e-4;

/// The figures of `name`; none if it was never measured.
pub fn read(results: &Path, name: &str) -> Result<Vec<Figure>> {
    let path = results.join(format!("{name}.json"));
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let figures: Vec<Figure> =
        serde_json::from_str(&text).with_context(|| format!("{} is not what mpi-bench writes", path.display()))?;
    Ok(in_one_regime(figures))
}

/// Of figures near and far, those of the regime that has more samples; those without a regime stay.
fn in_one_regime(figures: Vec<Figure>) -> Vec<Figure> {
    let samples = |regime: &str| -> u64 {
        figures.iter().filter(|it| it.regime.as_deref() == Some(regime)).filter_map(|it| it.samples).sum()
    };
    let regime = if samples("far") > samples("near") { "far" } else { "near" };
    let kept = |it: &Figure| it.sextile1_us.is_some() && it.regime.as_deref().is_none_or(|its| its == regime);
    figures.into_iter().filter(kept).collect()
}

/// What a panel shows of a figure.
#[derive(Clone, Copy, PartialEq)]
pub enum Value {
    /// The first sextile of the times, spread up to the fifth.
    Microseconds,
    /// Bytes by these.
    Megabytes,
}

impl Value {
    /// The shortest message that has a value worth drawing.
    fn from(self) -> u64 {
        match self {
            Value::Microseconds => 1,
            Value::Megabytes => 4096,
        }
    }
}

/// The curve of some figures over their lengths.
pub fn curve(name: &str, mut figures: Vec<&Figure>, value: Value) -> Option<Curve> {
    figures.sort_by_key(|figure| figure.bytes);
    let mut curve = Curve::through(name.to_owned(), Vec::new());
    for figure in figures {
        let bytes = figure.bytes.filter(|&bytes| bytes >= value.from());
        let (Some(bytes), Some(first)) = (bytes, figure.sextile1_us) else { continue };
        let (x, fifth) = (bytes as f64, figure.sextile5_us.unwrap_or(first));
        let of = |us: f64| if value == Value::Microseconds { us } else { x / us };
        curve.points.push((x, of(first)));
        curve.spreads.push((x, (of(first), of(fifth))));
    }
    (!curve.points.is_empty()).then_some(curve)
}

/// A panel of those curves that there are.
pub fn panel(title: &str, value: Value, curves: impl IntoIterator<Item = Option<Curve>>) -> Option<Panel> {
    let curves: Vec<Curve> = curves.into_iter().flatten().collect();
    let (up, names) = match value {
        Value::Microseconds => ("µs, first to fifth sextile", SeriesLabelPosition::UpperLeft),
        Value::Megabytes => ("MB/s, fifth to first sextile", SeriesLabelPosition::LowerRight),
    };
    // One length alone makes no axis.
    let several = curves.iter().any(|curve| curve.points.len() > 1);
    several.then(|| Panel { title: title.to_owned(), across: Across::Bytes, up, names, curves })
}

/// The outline of a histogram.
pub fn outline(name: &str, distribution: &Distribution) -> Curve {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for bin in &distribution.bins {
        match points.last() {
            Some(&(x, _)) if x >= bin.from_us * 0.999 => {}
            last => {
                let gap = last.map(|&(x, _)| (x, SHARE_LEAST));
                points.extend(gap);
                points.push((bin.from_us, SHARE_LEAST));
            }
        }
        let share = bin.share.max(SHARE_LEAST);
        points.extend([(bin.from_us, share), (bin.to_us, share)]);
    }
    points.extend(points.last().map(|&(x, _)| (x, SHARE_LEAST)));
    Curve::through(name.to_owned(), points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regimes_are_not_mixed() {
        let figure = |regime: Option<&str>, samples| Figure {
            sextile1_us: Some(1.0),
            regime: regime.map(str::to_owned),
            samples: Some(samples),
            ..Figure::default()
        };
        let kept = in_one_regime(vec![figure(Some("near"), 5), figure(Some("far"), 7), figure(None, 1)]);
        assert_eq!(kept.iter().map(|it| it.samples.unwrap()).collect::<Vec<_>>(), [7, 1]);
    }

    #[test]
    fn the_outline_falls_where_there_are_no_samples() {
        let bin = |from_us, to_us| Bin { from_us, to_us, share: 0.5 };
        let found = outline("x", &Distribution { bins: vec![bin(1.0, 2.0), bin(4.0, 8.0)] });
        let lows = found.points.iter().filter(|point| point.1 == SHARE_LEAST).map(|point| point.0);
        assert_eq!(lows.collect::<Vec<_>>(), [1.0, 2.0, 4.0, 8.0]);
    }
}

//! One figure out of several rounds in which what is compared takes turns.

use crate::report::Figure;

/// How often each has its turn where nobody says otherwise.
pub const ROUNDS: u32 = 5;

/// What makes figures of several rounds the same figure.
fn key(figure: &Figure) -> impl PartialEq {
    let Figure { benchmark, variant, way, bytes, buffer_bytes, regime, .. } = figure;
    (benchmark, variant, way, bytes, buffer_bytes, regime)
}

/// One figure of those that each round has, in the order of their first appearance.
pub fn merge(found: &[Figure]) -> Vec<Figure> {
    let mut keys: Vec<_> = Vec::new();
    for figure in found {
        if !keys.contains(&key(figure)) {
            keys.push(key(figure));
        }
    }
    keys.into_iter().map(|wanted| middle(found.iter().filter(|figure| key(figure) == wanted).collect())).collect()
}

/// The figure of several rounds: the least of the minima, and of the other values the middle one.
fn middle(rounds: Vec<&Figure>) -> Figure {
    let sorted = |value: fn(&Figure) -> Option<f64>| {
        let mut values: Vec<f64> = rounds.iter().filter_map(|figure| value(figure)).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let least = |value| sorted(value).first().copied();
    let median = |value| {
        let values = sorted(value);
        values.get(values.len().saturating_sub(1) / 2).copied()
    };
    Figure {
        min_us: least(|figure| figure.min_us),
        sextile1_us: median(|figure| figure.sextile1_us),
        median_us: median(|figure| figure.median_us),
        sextile5_us: median(|figure| figure.sextile5_us),
        megabytes_per_second: sorted(|figure| figure.megabytes_per_second).last().copied(),
        // Each round's minimum has a limit of the same moment.
        floor_ratio: median(|figure| figure.floor_ratio),
        regime_ns: least(|figure| figure.regime_ns),
        samples: rounds.iter().map(|figure| figure.samples).sum(),
        dropped: rounds.iter().map(|figure| figure.dropped).sum(),
        ..rounds[0].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::way::Way;

    fn figure(way: Way, min_us: f64, sextile1_us: f64, floor_ratio: f64) -> Figure {
        Figure {
            way: Some(way),
            bytes: Some(8),
            min_us: Some(min_us),
            sextile1_us: Some(sextile1_us),
            floor_ratio: Some(floor_ratio),
            samples: Some(10),
            dropped: Some(1),
            ..Figure::of("latency")
        }
    }

    #[test]
    fn rounds_become_one_figure_for_each_way() {
        let found = [
            figure(Way::Threads, 2.0, 9.0, 2.5),
            figure(Way::Tcp, 20.0, 30.0, 10.0),
            figure(Way::Threads, 1.5, 4.0, 1.0),
            figure(Way::Threads, 3.0, 5.0, 1.5),
        ];
        let merged = merge(&found);
        assert_eq!(merged.len(), 2);
        let threads = &merged[0];
        assert_eq!((threads.min_us, threads.sextile1_us), (Some(1.5), Some(5.0)));
        assert_eq!(threads.floor_ratio, Some(1.5));
        assert_eq!((threads.samples, threads.dropped), (Some(30), Some(3)));
        assert_eq!(merged[1], found[1]);
    }
}

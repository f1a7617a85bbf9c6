//! What was set out: how far ours is to be ahead of the best other library, and what came of it.

use std::fmt::Write;

use super::figures::{Figures, Line};

const COLLECTIVES: [&str; 6] = ["barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall"];

/// The part of the best other's time that ours is to take at most.
fn aim(benchmark: &str, ranks: usize, bytes: u64, regime: &str) -> Option<f64> {
    let far = regime == "far";
    let (by_size, least) = match benchmark {
        "latency" if bytes <= 64 => (if far { 0.85 } else { 0.8 }, 0),
        "latency" if bytes <= 16 << 10 => (0.7, 0),
        "latency" if !far => (0.5, 0),
        "latency" => (if bytes < 1 << 20 { 0.6 } else { 0.4 }, 0),
        "latency, static" | "latency, stack" => (if far { 0.7 } else { 1.0 }, 64 << 10),
        "bandwidth" if bytes == 8 => (1.0 / 1.5, 0),
        "bandwidth" => (if bytes < 64 << 10 { 1.0 / 1.5 } else { 0.5 }, 4 << 10),
        "bidirectional" => (if far { 1.0 / 1.5 } else { 1.0 / 1.3 }, 64 << 10),
        "unexpected, in order" | "unexpected, in reverse" => (0.8, 0),
        "receiver's wait" => (0.05, 1 << 20),
        name if COLLECTIVES.contains(&name) && ranks > 2 => (0.7, 0),
        name if COLLECTIVES.contains(&name) => (if bytes < 16 << 10 { 0.8 } else { 0.5 }, 0),
        _ => return None,
    };
    (bytes >= least).then_some(by_size)
}

/// For people: how many cells of the tables reached what was set out, of those in which another library was met in the
/// same regime, and which did not: ours by the best other's time, what was set out, and what that takes without any
/// library.
pub fn verdict(figures: &Figures) -> String {
    let (mut all, mut reached, mut missed) = (0, 0, String::new());
    for (benchmark, ranks) in figures.benchmarks() {
        for Line { bytes, regime, ratio, floor_ratio, .. } in figures.table(benchmark, ranks).lines {
            let Some((ratio, aim)) = ratio.zip(aim(benchmark, ranks, bytes, regime)) else { continue };
            all += 1;
            if ratio <= aim {
                reached += 1;
                continue;
            }
            let name = format!("{benchmark}, {ranks} ranks");
            let _ = write!(missed, "{name:<30}{bytes:>10} {regime:>6} {ratio:>8.2} {aim:>8.2}");
            if let Some(floor) = floor_ratio {
                let _ = write!(missed, " {:>8.2}", ratio / floor);
            }
            missed.push('\n');
        }
    }
    format!(
        "what was set out: {reached} of {all} reach it\n{:<30}{:>10} {:>6} {:>8} {:>8} {:>8}\n{missed}",
        "of the best other's time", "bytes", "cores", "ours", "set out", "raw"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_misses_its_aim_is_named_with_its_floor() {
        let mut figures = Figures::default();
        let libraries = [
            ("ours", 8, 6.0),
            ("ours", 1024, 6.0),
            ("theirs", 8, 8.0),
            ("theirs", 1024, 8.0),
            ("theirs, thread", 8, 1.0),
            ("raw, read", 1024, 4.0),
        ];
        for (library, bytes, time) in libraries {
            let table = format!("benchmark\nlatency {bytes} 0.5 0.6 {time} 7.0 near 50 100 0\n");
            figures.read(library, 2, "", &table).unwrap();
        }
        let text = verdict(&figures);
        assert!(text.starts_with("what was set out: 1 of 2 reach it\n"), "{text}");
        let missed: Vec<_> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(missed, ["latency,", "2", "ranks", "1024", "near", "0.75", "0.70", "0.50"]);
        assert_eq!(text.lines().count(), 3);
    }
}

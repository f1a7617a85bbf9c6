//! A made-up study for tests: plausible in shape, and the same every time. Never shown to a user.

use super::machine::Machine;
use super::micro::{Micro, MicroMode, Point};
use super::plan::{Mode, ORDER, Selection};
use super::record::{Outcome, Record, Settings, Study, usual_transport};
use crate::{Benchmark, Class, PairTraffic, Traffic};

/// Whole, with micro-benchmarks, on a machine with `cores` cores.
pub fn study(limit: usize, repeats: usize, cores: usize) -> Study {
    study_of(&Mode::PROTOCOLS, limit, repeats, cores)
}

/// The same with these modes.
pub fn study_of(modes: &[Mode], limit: usize, repeats: usize, cores: usize) -> Study {
    let machine = Machine {
        processor: "Example Processor 3000".to_owned(),
        cores,
        memory: 24 << 30,
        kernel: "Linux 6.0.0-example".to_owned(),
        date: "2001-02-03T04:05:06Z".to_owned(),
    };
    let selection = Selection { benchmarks: ORDER.to_vec(), class: Class::S, modes: modes.to_vec(), limit, repeats };
    let mut noise = Noise(1);
    let records = selection.cells().into_iter().map(|cell| {
        let mut record = Record::new(cell, Class::S);
        for _ in 0..repeats {
            record.succeeded(outcome(&record, &mut noise));
        }
        record
    });
    let records = records.collect();
    Study {
        settings: Settings {
            class: Class::S,
            ranks: limit,
            repeats,
            transport: usual_transport(),
            machine,
            micro: micro(),
        },
        records,
        missing: 0,
        beside: None,
    }
}

/// Seconds on one process, time with SR over time with NSR, messages per process, bytes in one, and their share that is
/// remote-written with SR and with AUTO.
fn character(benchmark: Benchmark) -> (f64, f64, f64, f64, f64, f64) {
    match benchmark {
        Benchmark::Ep => (0.23, 1.0, 6.0, 80.0, 0.5, 0.0),
        Benchmark::Mg => (0.0011, 1.12, 420.0, 700.0, 0.41, 0.35),
        Benchmark::Cg => (0.020, 0.97, 900.0, 5600.0, 0.55, 0.0),
        Benchmark::Ft => (0.029, 0.83, 30.0, 1_000_000.0, 0.999, 0.999),
        Benchmark::Is => (0.0013, 0.79, 60.0, 65_000.0, 0.992, 0.997),
        Benchmark::Lu => (0.013, 1.06, 2600.0, 480.0, 0.13, 0.02),
        Benchmark::Sp => (0.017, 0.95, 800.0, 9600.0, 0.49, 0.9),
        Benchmark::Bt => (0.031, 0.99, 500.0, 9900.0, 0.47, 0.9),
    }
}

fn outcome(record: &Record, noise: &mut Noise) -> Outcome {
    let (alone, sr_to_nsr, messages, size, sr_share, auto_share) = character(record.benchmark);
    let ranks = record.ranks as f64;
    let (factor, share) = match record.protocol {
        Mode::Sr => (sr_to_nsr, sr_share),
        Mode::Nsr => (1.0, 0.0),
        Mode::Auto | Mode::OneSided => (f64::min(sr_to_nsr, 1.0) * 0.985, auto_share),
    };
    let slowed = if record.ranks > 1 { factor * (1.0 + 0.06 * ranks.log2()) } else { 1.0 };
    let seconds = alone / ranks * slowed * (1.0 + 0.03 * noise.next());
    let total = if record.ranks > 1 { (messages * ranks) as u64 } else { 0 };
    let bytes = total * size as u64;
    let written = (total as f64 * share) as u64;
    let posted = if share > 0.0 { total } else { 0 };
    let traffic = Traffic {
        messages: total,
        bytes,
        remote_write_messages: written,
        remote_write_bytes: (bytes as f64 * share) as u64,
        large_messages: if size >= 8192.0 { total } else { 0 },
        large_bytes: if size >= 8192.0 { bytes } else { 0 },
        large_single_copy_bytes: if size >= 8192.0 { (bytes as f64 * share) as u64 } else { 0 },
        requests_posted: posted,
        requests_used: written,
        requests_stale: (posted - written.min(posted)) * 2 / 3,
        requests_skipped: 0,
        requests_dropped: (posted - written.min(posted)) / 3,
        requests_reposted: 0,
    };
    Outcome { seconds, mops: 100.0 / seconds, verified: true, traffic, communication: matrix(record.ranks, &traffic) }
}

fn matrix(ranks: usize, traffic: &Traffic) -> Vec<Vec<PairTraffic>> {
    // Neighbours talk most, ranks do not talk to themselves.
    let weight = |from: usize, to: usize| match from.abs_diff(to) {
        0 => 0.0,
        distance => 1.0 / distance as f64,
    };
    let all: f64 = (0..ranks).flat_map(|from| (0..ranks).map(move |to| weight(from, to))).sum();
    let share = |total: u64, from, to| if all > 0.0 { (total as f64 * weight(from, to) / all) as u64 } else { 0 };
    let pair =
        |from, to| PairTraffic { messages: share(traffic.messages, from, to), bytes: share(traffic.bytes, from, to) };
    (0..ranks).map(|from| (0..ranks).map(|to| pair(from, to)).collect()).collect()
}

fn micro() -> Micro {
    let sizes = [0, 4, 16, 64, 256, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22];
    let of = |protocol, start: f64, rate: f64| {
        let point = |bytes: u64| {
            let time = start + bytes as f64 / rate;
            let megabytes_per_second = bytes as f64 / (time * 0.6);
            Point { bytes, min_us: time, median_us: time * 1.1, megabytes_per_second }
        };
        MicroMode { protocol, latency: sizes.map(point).to_vec(), bandwidth: sizes.map(point).to_vec() }
    };
    Micro {
        modes: vec![of(Mode::Sr, 0.3, 24_000.0), of(Mode::Nsr, 0.12, 9_000.0), of(Mode::Auto, 0.12, 30_000.0)],
        absent: None,
        failures: Vec::new(),
    }
}

/// Numbers from 0 to 1 that look like chance.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1 << 24) as f64
    }
}

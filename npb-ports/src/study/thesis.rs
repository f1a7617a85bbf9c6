//! What the MPI/MBCF thesis measured: its tables 4.1 to 4.10, to stand beside what a study measures.
//!
//! Workstations with 85 MHz SuperSPARC processors, one process each, 100BASE-TX between them, NPB 2.3 class W, 1999.
//! The absolute values say nothing about a machine of today; rates and speed-ups do.

use crate::Benchmark;

/// How the thesis's values are marked wherever they are shown.
pub const MARK: &str = "1999, 8-9 workstations, 100BASE-TX";

/// What the thesis says about the communication of a benchmark (table 4.3), on 8 processes (9 for SP and BT), in mode
/// SR.
pub struct Characteristics {
    /// Mbytes sent per second.
    pub megabytes_per_second: f64,
    /// Messages sent per second.
    pub messages_per_second: f64,
    /// Bytes that were remote-written, of all bytes.
    pub availability: f64,
}

/// Table 4.3; FT could not be compiled then.
pub fn characteristics(benchmark: Benchmark) -> Option<Characteristics> {
    let (megabytes_per_second, messages_per_second, percent) = match benchmark {
        Benchmark::Ep => (0.00, 4.0, 51.10),
        Benchmark::Mg => (9.68, 4670.0, 0.01),
        Benchmark::Cg => (12.69, 2138.0, 53.33),
        Benchmark::Is => (13.58, 466.0, 99.22),
        Benchmark::Lu => (1.89, 1199.0, 13.37),
        Benchmark::Sp => (7.83, 421.0, 49.01),
        Benchmark::Bt => (5.32, 488.0, 47.24),
        Benchmark::Ft => return None,
    };
    Some(Characteristics { megabytes_per_second, messages_per_second, availability: percent / 100.0 })
}

/// Which implementation a value of the thesis is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// MPI/MBCF with requests for send.
    Sr,
    /// MPI/MBCF without.
    Nsr,
    /// MPICH 1.1 over TCP.
    Mpich,
}

impl Implementation {
    /// All of them, in the order of the tables.
    pub const ALL: [Implementation; 3] = [Implementation::Sr, Implementation::Nsr, Implementation::Mpich];

    /// Its name.
    pub fn title(self) -> &'static str {
        match self {
            Implementation::Sr => "SR",
            Implementation::Nsr => "NSR",
            Implementation::Mpich => "MPICH",
        }
    }
}

/// Speed-ups of tables 4.4 to 4.10, as (processes, speed-up); empty for FT.
#[allow(clippy::approx_constant)] // LU's speed-up of 6.28 has nothing to do with a circle
pub fn speed_ups(benchmark: Benchmark, implementation: Implementation) -> Vec<(usize, f64)> {
    let rows: [[f64; 4]; 3] = match benchmark {
        Benchmark::Ep => [[1.0, 2.00, 4.00, 8.00], [1.0, 2.00, 4.00, 8.00], [1.0, 2.07, 3.91, 7.73]],
        Benchmark::Mg => [[1.0, 1.65, 2.66, 5.02], [1.0, 1.65, 2.66, 4.66], [1.0, 1.24, 1.85, 2.83]],
        Benchmark::Cg => [[1.0, 1.83, 3.30, 6.15], [1.0, 1.79, 3.22, 5.85], [1.0, 1.72, 2.47, 4.71]],
        Benchmark::Is => [[1.0, 1.60, 2.25, 3.50], [1.0, 1.60, 2.17, 2.73], [1.0, 1.45, 1.83, 2.13]],
        Benchmark::Lu => [[1.0, 1.92, 3.57, 6.28], [1.0, 1.91, 3.52, 6.10], [1.0, 1.77, 3.37, 5.84]],
        Benchmark::Sp => return squares(implementation, [[3.63, 8.30], [3.62, 7.74], [2.93, 6.01]]),
        Benchmark::Bt => return squares(implementation, [[3.98, 9.20], [3.98, 9.13], [2.93, 6.53]]),
        Benchmark::Ft => return Vec::new(),
    };
    [1, 2, 4, 8].into_iter().zip(rows[implementation as usize]).collect()
}

fn squares(implementation: Implementation, rows: [[f64; 2]; 3]) -> Vec<(usize, f64)> {
    let [on_four, on_nine] = rows[implementation as usize];
    vec![(1, 1.0), (4, on_four), (9, on_nine)]
}

/// Seconds of SR over seconds of NSR on the most processes (last columns of tables 4.4 to 4.10); none for FT.
pub fn sr_over_nsr(benchmark: Benchmark) -> Option<f64> {
    let (sr, nsr) = match benchmark {
        Benchmark::Ep => (15.15, 15.15),
        Benchmark::Mg => (7.44, 8.01),
        Benchmark::Cg => (11.24, 11.81),
        Benchmark::Is => (2.90, 3.72),
        Benchmark::Lu => (164.55, 169.63),
        Benchmark::Sp => (153.96, 165.01),
        Benchmark::Bt => (67.13, 67.65),
        Benchmark::Ft => return None,
    };
    Some(sr / nsr)
}

/// A row of table 4.1 or 4.2: a name and the values by message size in bytes.
pub struct Series {
    /// Whose values they are.
    pub name: &'static str,
    /// (bytes, value).
    pub values: &'static [(u64, f64)],
}

/// Table 4.1: round-trip time in microseconds.
pub const ROUND_TRIP: [Series; 3] = [
    Series {
        name: "SR",
        values: &[(0, 71.0), (4, 85.0), (16, 85.0), (64, 106.0), (256, 168.0), (1024, 438.0), (4096, 1026.0)],
    },
    Series {
        name: "NSR",
        values: &[(0, 112.0), (4, 137.0), (16, 139.0), (64, 154.0), (256, 223.0), (1024, 517.0), (4096, 1109.0)],
    },
    Series {
        name: "MPICH",
        values: &[(0, 968.0), (4, 962.0), (16, 980.0), (64, 1020.0), (256, 1080.0), (1024, 1255.0), (4096, 2195.0)],
    },
];

/// Table 4.2: peak bandwidth in Mbytes/s; H is half-duplex, F full-duplex Ethernet.
pub const BANDWIDTH: [Series; 5] = [
    Series { name: "SRH", values: &bandwidth([0.14, 0.53, 1.82, 4.72, 8.08, 9.72, 10.15, 9.78, 9.96, 10.00]) },
    Series { name: "NSRH", values: &bandwidth([0.14, 0.54, 1.89, 4.92, 8.54, 10.21, 10.34, 10.43, 10.02, 9.96]) },
    Series { name: "SRF", values: &bandwidth([0.14, 0.57, 1.90, 5.33, 10.22, 11.68, 11.77, 11.85, 11.85, 11.86]) },
    Series { name: "NSRF", values: &bandwidth([0.15, 0.59, 1.98, 5.51, 10.58, 11.70, 11.78, 11.81, 11.82, 11.82]) },
    Series { name: "MPICH", values: &bandwidth([0.02, 0.09, 0.35, 1.27, 3.54, 6.04, 5.59, 7.00, 7.77, 7.07]) },
];

const fn bandwidth(values: [f64; 10]) -> [(u64, f64); 10] {
    let mut rows = [(0, 0.0); 10];
    let mut row = 0;
    while row < 10 {
        rows[row] = (4 << (2 * row), values[row]);
        row += 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_sizes_go_from_4_bytes_to_1_megabyte() {
        let sizes: Vec<u64> = BANDWIDTH[0].values.iter().map(|(bytes, _)| *bytes).collect();
        assert_eq!(sizes, [4, 16, 64, 256, 1024, 4096, 16384, 65536, 262_144, 1_048_576]);
    }

    #[test]
    fn every_benchmark_but_ft_has_values() {
        for benchmark in Benchmark::ALL {
            let known = benchmark != Benchmark::Ft;
            assert_eq!(characteristics(benchmark).is_some(), known);
            assert_eq!(sr_over_nsr(benchmark).is_some(), known);
            for implementation in Implementation::ALL {
                assert_eq!(!speed_ups(benchmark, implementation).is_empty(), known);
            }
        }
    }
}

//! The machine and the day of a study: figures mean nothing without them.

use std::fs;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// Where and when a study ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Processor model, as the kernel names it.
    pub processor: String,
    /// Cores that the study may use.
    pub cores: usize,
    /// Memory in bytes.
    pub memory: u64,
    /// Kernel name and release.
    pub kernel: String,
    /// When the study began, UTC.
    pub date: String,
}

impl Machine {
    /// This machine, now.
    pub fn here() -> Machine {
        let field = |file: &str, name: &str| {
            let text = fs::read_to_string(file).unwrap_or_default();
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let memory = field("/proc/meminfo", "MemTotal").unwrap_or_default();
        let kibibytes: u64 = memory.trim_end_matches("kB").trim().parse().unwrap_or(0);
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Machine {
            processor: field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            // Follows the affinity mask and the control group's quota, which is what runs have to live with.
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory: kibibytes * 1024,
            kernel: format!("Linux {}", release.trim()),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        }
    }

    /// In one line.
    pub fn sentence(&self) -> String {
        let gibibytes = self.memory as f64 / f64::from(1 << 30);
        let cores = super::format::plural(self.cores, "core");
        format!("{}, {cores}, {gibibytes:.0} GiB, {}", self.processor, self.kernel)
    }
}

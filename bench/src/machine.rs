//! The machine as this process may use it: processor model, cores, pinning.

use anyhow::{Context, Result};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The processor's own name, or the architecture where the kernel does not tell.
pub fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == "model name")
        .map_or_else(|| std::env::consts::ARCH.to_string(), |(_, name)| name.trim().to_string())
}

/// Numbers of the cores that the calling thread may run on, ascending.
pub fn allowed_cores() -> Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0)).context("can't ask which cores this process may use")?;
    Ok((0..CpuSet::count()).filter(|&core| set.is_set(core) == Ok(true)).collect())
}

/// Keeps the calling thread on `cores` from now on.
pub fn pin(cores: &[usize]) -> Result<()> {
    let mut set = CpuSet::new();
    for &core in cores {
        set.set(core).with_context(|| format!("core {core} is beyond what the kernel's affinity call can name"))?;
    }
    sched_setaffinity(Pid::from_raw(0), &set).with_context(|| format!("can't keep the process on cores {cores:?}"))
}

/// Keeps the calling thread on one core until it is dropped.
pub struct Pinned(Vec<usize>);

impl Pinned {
    /// Moves the calling thread to `core`.
    pub fn to(core: usize) -> Result<Self> {
        let before = allowed_cores()?;
        pin(&[core])?;
        Ok(Pinned(before))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // What was allowed before is allowed now; if not, staying on one core is the harmless outcome.
        let _ = pin(&self.0);
    }
}

/// A core each for two processes that may use `first` and `second`; none if they can only share one.
pub fn separate_cores(first: &[usize], second: &[usize]) -> Option<(usize, usize)> {
    let pair = |a: usize| second.iter().find(|&&b| b != a).map(|&b| (a, b));
    first.iter().find_map(|&a| pair(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_get_separate_cores_if_there_are_any() {
        assert_eq!(separate_cores(&[0, 1], &[0, 1]), Some((0, 1)));
        assert_eq!(separate_cores(&[1], &[0, 1]), Some((1, 0)));
        assert_eq!(separate_cores(&[0, 1], &[0]), Some((1, 0)));
        assert_eq!(separate_cores(&[3], &[3]), None);
    }

    #[test]
    fn pinning_lasts_as_long_as_its_guard() {
        let before = allowed_cores().unwrap();
        let core = before[before.len() - 1];
        {
            let _pinned = Pinned::to(core).unwrap();
            assert_eq!(allowed_cores().unwrap(), [core]);
        }
        assert_eq!(allowed_cores().unwrap(), before);
    }
}

//! Refuses a run that the machine has no memory for, before it swaps or is killed.

use rwmpi::{Communicator, Result};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Why a run would not fit, in the user's words.
pub type Shortage = String;

/// Whether every machine has `bytes_per_rank` for each of its ranks. Collective; all ranks get the same answer.
pub fn check(world: &Communicator, bytes_per_rank: u64) -> Result<std::result::Result<(), Shortage>> {
    let mut machines = vec![0; world.size()];
    let own = machine();
    world.allgather(&[own], &mut machines)?;
    let ranks_here = machines.iter().filter(|&&machine| machine == own).count() as u64;
    let needed = ranks_here * bytes_per_rank;
    let mut demands = vec![[0_u64; 3]; world.size()];
    world.allgather(&[[ranks_here, needed, available().unwrap_or(u64::MAX)]], &mut demands)?;
    Ok(first_shortage(&demands))
}

/// Whether this machine has `bytes_per_rank` for each of `ranks`, all of which are to run here.
pub fn check_here(ranks: usize, bytes_per_rank: u64) -> std::result::Result<(), Shortage> {
    let ranks = ranks as u64;
    let demand = [ranks, ranks.saturating_mul(bytes_per_rank), available().unwrap_or(u64::MAX)];
    first_shortage(&vec![demand; ranks as usize])
}

fn first_shortage(demands: &[[u64; 3]]) -> std::result::Result<(), Shortage> {
    let Some((rank, [ranks, needed, available])) =
        demands.iter().enumerate().find(|(_, [_, needed, available])| needed > available)
    else {
        return Ok(());
    };
    let whose =
        if *ranks == demands.len() as u64 { "this machine".into() } else { format!("the machine of rank {rank}") };
    Err(format!(
        "{ranks} ranks need {} MiB and {whose} has {} MiB free: choose a smaller class or more machines",
        needed.div_ceil(1 << 20),
        available >> 20,
    ))
}

/// A number that is the same for all processes under one kernel, in whatever containers, and hardly for others.
fn machine() -> u64 {
    let mut hasher = DefaultHasher::new();
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// Bytes that can still be allocated here without swapping: what the kernel says, or less if a control group allows
/// less.
fn available() -> Option<u64> {
    let kernel = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse_available(&text));
    let number =
        |name: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u64>().ok();
    let group = number("memory.max").zip(number("memory.current")).map(|(most, used)| most.saturating_sub(used));
    kernel.into_iter().chain(group).min()
}

fn parse_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::{check_here, first_shortage, parse_available};

    #[test]
    fn available_memory_is_read_in_bytes() {
        let text = "MemTotal:       8000000 kB\nMemAvailable:    1234 kB\nBuffers: 1 kB\n";
        assert_eq!(parse_available(text), Some(1234 * 1024));
        assert_eq!(parse_available("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn nobody_has_memory_without_end() {
        assert_eq!(check_here(2, 1), Ok(()));
        let text = check_here(2, u64::MAX).unwrap_err();
        assert!(text.starts_with("2 ranks need") && text.contains("this machine has"), "{text}");
    }

    #[test]
    fn only_a_machine_that_lacks_memory_is_reported() {
        let gib = 1 << 30;
        assert_eq!(first_shortage(&[[2, gib, gib], [2, gib, gib]]), Ok(()));
        let text = first_shortage(&[[1, gib, 4 * gib], [1, 2 * gib, gib]]).unwrap_err();
        assert!(text.contains("1 ranks need 2048 MiB and the machine of rank 1 has 1024 MiB"), "{text}");
    }
}

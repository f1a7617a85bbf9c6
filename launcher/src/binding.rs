//! Which cores each rank may use.
//!
//! A core is one with all its hardware threads. Cores that another job of this library has tied its ranks to are left
//! alone (see `claims`).

use crate::claims::{self, Claim};
use crate::job_spec::Binding;
use crate::report::counted;
use rustix::thread::CpuSet;
use std::collections::BTreeMap;
use std::fs;
use std::io;

/// A physical core: its hardware threads that this process may use, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Core {
    pub(crate) cpus: Vec<usize>,
}

/// What there is to run on.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// Cores within the affinity mask, those of one package together.
    pub(crate) cores: Vec<Core>,
    /// Hardware threads that may run at the same time: the mask, or the control group's share if that is less.
    pub(crate) parallelism: usize,
}

/// Who runs where, and why.
#[derive(Debug)]
pub(crate) struct Placement {
    /// For each rank its hardware threads; `None`: wherever the launcher may run.
    pub(crate) cpus: Vec<Option<Vec<usize>>>,
    /// Why, as the end of a sentence.
    pub(crate) reason: String,
    /// What the user ought to know.
    pub(crate) warnings: Vec<String>,
    /// Holds the cores against other jobs.
    _claims: Vec<Claim>,
}

impl Machine {
    /// Looks at the affinity mask, the topology and the control group.
    pub(crate) fn look() -> io::Result<Machine> {
        let mask = rustix::thread::sched_getaffinity(None)?;
        let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect();
        let mut cores: BTreeMap<(usize, usize), Core> = BTreeMap::new();
        for &cpu in &cpus {
            let package = topology(cpu, "physical_package_id").and_then(|id| id.parse().ok()).unwrap_or(0);
            let first_sibling =
                topology(cpu, "thread_siblings_list").and_then(|list| first_number(&list)).unwrap_or(cpu);
            cores.entry((package, first_sibling)).or_insert_with(|| Core { cpus: Vec::new() }).cpus.push(cpu);
        }
        let share = std::thread::available_parallelism().map_or(cpus.len(), usize::from);
        Ok(Machine { cores: cores.into_values().collect(), parallelism: share.min(cpus.len()) })
    }

    /// How many ranks can compute at full speed at the same time.
    pub(crate) fn usable_cores(&self) -> usize {
        self.cores.len().min(self.parallelism)
    }
}

/// One fact about a hardware thread from sysfs, where the kernel offers it.
fn topology(cpu: usize, fact: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/{fact}")).ok()?;
    Some(text.trim().to_owned())
}

/// The first number of a list such as `0-1` or `0,32`.
fn first_number(list: &str) -> Option<usize> {
    list.split([',', '-']).next()?.parse().ok()
}

/// Decides for ranks that run `threads[rank]` threads each.
pub(crate) fn place(wish: Binding, threads: &[usize], machine: &Machine) -> Placement {
    let ranks = threads.len();
    let needed: usize = threads.iter().sum();
    let usable = machine.usable_cores();
    let unbound = |reason: String| Placement {
        cpus: vec![None; ranks],
        reason,
        warnings: too_many_threads(threads, machine),
        _claims: Vec::new(),
    };
    match wish {
        Binding::None => unbound("as asked".to_owned()),
        Binding::Core => share_cores(threads, machine),
        Binding::Auto if ranks == 1 => unbound("one rank has nobody to keep away from its core".to_owned()),
        Binding::Auto if needed > usable => {
            unbound(format!("the ranks need {} and {usable} can be used", counted(needed, "core")))
        }
        Binding::Auto => match claim(machine, needed) {
            Some((cores, claims)) => Placement {
                cpus: deal(threads, cores.iter().copied()),
                reason: format!("the ranks need {} of {usable} that can be used", counted(needed, "core")),
                warnings: Vec::new(),
                _claims: claims,
            },
            None => unbound("other jobs hold cores, and too few are left".to_owned()),
        },
    }
}

/// Deals out cores in order, beginning again when they run out.
fn share_cores(threads: &[usize], machine: &Machine) -> Placement {
    let needed: usize = threads.iter().sum();
    let (_, claims) = claim(machine, needed.min(machine.cores.len())).unwrap_or_default();
    let mut warnings = too_many_threads(threads, machine);
    if needed > machine.cores.len() {
        warnings.push(format!(
            "--bind-to core: {} on {}: some ranks share a core; --bind-to none lets the kernel spread them",
            counted(needed, "thread"),
            counted(machine.cores.len(), "core")
        ));
    }
    Placement {
        cpus: deal(threads, machine.cores.iter().cycle()),
        reason: "as asked".to_owned(),
        warnings,
        _claims: claims,
    }
}

/// Gives each rank as many of `cores` as it has threads.
fn deal<'a>(threads: &[usize], mut cores: impl Iterator<Item = &'a Core>) -> Vec<Option<Vec<usize>>> {
    threads
        .iter()
        .map(|&count| {
            let mut cpus: Vec<usize> = cores.by_ref().take(count).flat_map(|core| core.cpus.iter().copied()).collect();
            cpus.sort_unstable();
            cpus.dedup();
            Some(cpus)
        })
        .collect()
}

/// Takes `count` cores that no other job holds; `None`: there are not so many.
fn claim(machine: &Machine, count: usize) -> Option<(Vec<&Core>, Vec<Claim>)> {
    let free = machine.cores.iter().filter_map(|core| claims::claim(&core.cpus).map(|claim| (core, claim)));
    let (cores, claims): (Vec<&Core>, Vec<Claim>) = free.take(count).unzip();
    (cores.len() == count).then_some((cores, claims))
}

/// A warning if a single rank has more threads than there are hardware threads to run them.
fn too_many_threads(threads: &[usize], machine: &Machine) -> Vec<String> {
    let most = threads.iter().copied().max().unwrap_or(0);
    if most <= machine.parallelism {
        return Vec::new();
    }
    vec![format!(
        "OMP_NUM_THREADS asks for {most} threads a rank, but this job may use only {}: set it to {} or less",
        counted(machine.parallelism, "hardware thread"),
        (machine.parallelism / threads.len()).max(1)
    )]
}

/// `0-3,8` for the numbers 0, 1, 2, 3, 8, ascending.
pub(crate) fn ranges(numbers: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let Some(&first) = rest.first() {
        let run = rest.iter().enumerate().take_while(|&(index, &number)| number == first + index).count();
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&first.to_string());
        if run > 1 {
            text.push_str(&format!("-{}", first + run - 1));
        }
        rest = &rest[run..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of its own for each `test`, with core numbers beyond any real one's, so that no running job holds
    /// them.
    fn machine(test: usize, cores: usize, threads_per_core: usize) -> Machine {
        let first = 1_000_000 + std::process::id() as usize * 1000 + test * 100;
        let core = |index| Core { cpus: (0..threads_per_core).map(|thread| first + index + thread * cores).collect() };
        Machine { cores: (0..cores).map(core).collect(), parallelism: cores * threads_per_core }
    }

    #[test]
    fn ranges_are_written_short() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
    }

    #[test]
    fn each_rank_gets_all_threads_of_a_core_of_its_own() {
        let machine = machine(0, 4, 2);
        let placement = place(Binding::Auto, &[1, 1], &machine);
        assert_eq!(placement.cpus[0].as_ref(), Some(&machine.cores[0].cpus), "{}", placement.reason);
        assert_eq!(placement.cpus[1].as_ref(), Some(&machine.cores[1].cpus));
        // A second job takes what is left, and a third finds too few.
        let second = place(Binding::Auto, &[1, 1], &machine);
        assert_eq!(second.cpus[1].as_ref(), Some(&machine.cores[3].cpus), "{}", second.reason);
        assert_eq!(place(Binding::Auto, &[1, 1], &machine).cpus, [None, None]);
        drop(placement);
        assert_ne!(place(Binding::Auto, &[1, 1], &machine).cpus, [None, None]);
    }

    #[test]
    fn threads_of_a_rank_get_a_core_each_or_the_ranks_are_free() {
        let machine = machine(1, 5, 1);
        let placement = place(Binding::Auto, &[2, 2], &machine);
        assert_eq!(placement.cpus[1].as_ref().map(Vec::len), Some(2));
        drop(placement);
        assert_eq!(place(Binding::Auto, &[3, 3], &machine).cpus, [None, None]);
        assert!(!place(Binding::Auto, &[6, 1], &machine).warnings.is_empty());
    }

    #[test]
    fn a_quota_below_the_mask_counts_as_too_few_cores() {
        let machine = Machine { parallelism: 1, ..machine(2, 6, 1) };
        assert_eq!(place(Binding::Auto, &[1, 1], &machine).cpus, [None, None]);
    }

    #[test]
    fn asked_for_cores_are_shared_when_there_are_too_few() {
        let machine = machine(3, 2, 1);
        let placement = place(Binding::Core, &[1, 1, 1], &machine);
        assert_eq!(placement.cpus[2], placement.cpus[0]);
        assert_eq!(placement.warnings.len(), 1);
    }
}

//! What a host has to run on: hardware threads, and the cores, caches, memory and packages that they belong to.
//!
//! A core is one with all its hardware threads, as far as this process may use them.

use rustix::thread::CpuSet;
use std::fs;
use std::io;

/// What hardware threads can have in common, from the whole host down to one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub(crate) enum Level {
    Host,
    Package,
    Numa,
    L3,
    L2,
    Core,
    Thread,
}

/// A physical core, and where it lies.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Core {
    pub(crate) package: usize,
    pub(crate) numa: usize,
    /// A number of the cache of that level: of its first hardware thread.
    pub(crate) l3: usize,
    pub(crate) l2: usize,
    /// Its hardware threads that this process may use, ascending.
    pub(crate) cpus: Vec<usize>,
}

/// What there is to run on.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// Cores within the affinity mask, neighbours side by side.
    pub(crate) cores: Vec<Core>,
    /// Hardware threads that may run at the same time: the mask, or the control group's share if that is less.
    pub(crate) parallelism: usize,
}

impl Machine {
    /// Looks at the affinity mask, the topology and the control group.
    pub(crate) fn look() -> io::Result<Machine> {
        let mask = rustix::thread::sched_getaffinity(None)?;
        let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect();
        let share = std::thread::available_parallelism().map_or(cpus.len(), usize::from);
        let parallelism = share.min(cpus.len());
        let numa = numa_nodes();
        let mut cores: Vec<(usize, Core)> = Vec::new();
        for cpu in cpus {
            let fact = |name: &str| first_number(&read(&format!("cpu{cpu}/topology/{name}"))?);
            let first = fact("thread_siblings_list").unwrap_or(cpu);
            match cores.iter_mut().find(|(sibling, _)| *sibling == first) {
                Some((_, core)) => core.cpus.push(cpu),
                None => {
                    let node = numa.iter().position(|node| node.contains(&cpu)).unwrap_or(0);
                    let package = fact("physical_package_id").unwrap_or(0);
                    let [l3, l2] = [3, 2].map(|level| cache(cpu, level));
                    // A machine without such a cache: what it would be in stands for it.
                    let core =
                        Core { package, numa: node, l3: l3.unwrap_or(node), l2: l2.unwrap_or(first), cpus: vec![cpu] };
                    cores.push((first, core));
                }
            }
        }
        let mut cores: Vec<Core> = cores.into_iter().map(|(_, core)| core).collect();
        cores.sort();
        Ok(Machine { cores, parallelism })
    }

    /// How many ranks can compute at full speed at the same time.
    pub(crate) fn usable_cores(&self) -> usize {
        self.cores.len().min(self.parallelism)
    }

    /// With these hardware threads only.
    pub(crate) fn restricted_to(&self, allowed: &[usize]) -> Machine {
        let keep = |core: &Core| Core {
            cpus: core.cpus.iter().copied().filter(|cpu| allowed.contains(cpu)).collect(),
            ..core.clone()
        };
        let cores: Vec<Core> = self.cores.iter().map(keep).filter(|core| !core.cpus.is_empty()).collect();
        let count = cores.iter().map(|core| core.cpus.len()).sum();
        Machine { cores, parallelism: self.parallelism.min(count) }
    }

    /// With each hardware thread taken for a core.
    pub(crate) fn of_threads(&self) -> Machine {
        let split =
            |core: &Core| core.cpus.iter().map(|&cpu| Core { cpus: vec![cpu], ..core.clone() }).collect::<Vec<_>>();
        Machine { cores: self.cores.iter().flat_map(split).collect(), parallelism: self.parallelism }
    }

    /// Whether some core has more than one hardware thread.
    pub(crate) fn has_sibling_threads(&self) -> bool {
        self.cores.iter().any(|core| core.cpus.len() > 1)
    }

    /// The hardware threads of each part of that level, in order.
    pub(crate) fn parts(&self, level: Level) -> Vec<Vec<usize>> {
        let key = |core: &Core| match level {
            Level::Host => [0; 4],
            Level::Package => [core.package, 0, 0, 0],
            Level::Numa => [core.package, core.numa, 0, 0],
            Level::L3 => [core.package, core.numa, core.l3, 0],
            Level::L2 | Level::Core | Level::Thread => [core.package, core.numa, core.l3, core.l2],
        };
        match level {
            Level::Core => self.cores.iter().map(|core| core.cpus.clone()).collect(),
            Level::Thread => self.cores.iter().flat_map(|core| &core.cpus).map(|&cpu| vec![cpu]).collect(),
            _ => {
                let same = self.cores.chunk_by(|one, other| key(one) == key(other));
                same.map(|cores| cores.iter().flat_map(|core| core.cpus.iter().copied()).collect()).collect()
            }
        }
    }
}

/// What the kernel says below `/sys/devices/system/cpu`, where it does.
fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/devices/system/cpu/{path}")).ok()?;
    Some(text.trim().to_owned())
}

/// The first number of a list such as `0-1` or `0,32`.
fn first_number(list: &str) -> Option<usize> {
    list.split([',', '-']).next()?.parse().ok()
}

/// The first hardware thread that shares the cache of that level with this one.
fn cache(cpu: usize, level: usize) -> Option<usize> {
    let indices = (0..8).map(|index| format!("cpu{cpu}/cache/index{index}"));
    let mut data = indices.filter(|path| read(&format!("{path}/type")).is_some_and(|kind| kind != "Instruction"));
    let path = data.find(|path| read(&format!("{path}/level")) == Some(level.to_string()))?;
    first_number(&read(&format!("{path}/shared_cpu_list"))?)
}

/// The hardware threads of each node of memory, by its number.
fn numa_nodes() -> Vec<Vec<usize>> {
    let online = fs::read_to_string("/sys/devices/system/node/online").unwrap_or_default();
    let nodes = super::parse_cpus(online.trim()).unwrap_or_default();
    let list = |node: usize| fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist")).ok();
    nodes.into_iter().map(|node| super::parse_cpus(list(node).unwrap_or_default().trim()).unwrap_or_default()).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A machine with that many packages, nodes of memory in each, cores in each of these, and hardware threads of
    /// each core; numbered as Linux does: siblings far apart. The first number is beyond any real one's, another for
    /// each `test`, so that no running job holds the cores.
    pub(in crate::placement) fn machine(test: usize, [packages, nodes, cores, threads]: [usize; 4]) -> Machine {
        let first = first_cpu(test);
        let all = packages * nodes * cores;
        let core = |index: usize| {
            let (package, node) = (index / (nodes * cores), index / cores);
            let cpus = (0..threads).map(|thread| first + index + thread * all).collect();
            Core { package, numa: node, l3: node, l2: index, cpus }
        };
        Machine { cores: (0..all).map(core).collect(), parallelism: all * threads }
    }

    /// The number of the first hardware thread of the [`machine`] of that test.
    pub(in crate::placement) fn first_cpu(test: usize) -> usize {
        1_000_000 + std::process::id() as usize * 10_000 + test * 100
    }

    #[test]
    fn parts_hold_what_belongs_together() {
        let machine = machine(0, [2, 2, 2, 2]);
        let sizes = |level| machine.parts(level).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(Level::Host), [16]);
        assert_eq!(sizes(Level::Package), [8, 8]);
        assert_eq!(sizes(Level::Numa), [4; 4]);
        assert_eq!(sizes(Level::L3), [4; 4]);
        assert_eq!(sizes(Level::Core), [2; 8]);
        assert_eq!(sizes(Level::Thread), [1; 16]);
        let first = first_cpu(0);
        assert_eq!(machine.parts(Level::Core)[1], [first + 1, first + 9]);
    }

    #[test]
    fn a_machine_can_be_seen_as_less_or_as_threads() {
        let machine = machine(1, [1, 1, 4, 2]);
        let first = first_cpu(1);
        let less = machine.restricted_to(&[first, first + 1, first + 5, 3]);
        assert_eq!(less.parts(Level::Core), [vec![first], vec![first + 1, first + 5]]);
        assert_eq!(less.parallelism, 3);
        assert_eq!(machine.of_threads().usable_cores(), 8);
        assert!(machine.has_sibling_threads() && !machine.of_threads().has_sibling_threads());
    }

    #[test]
    fn this_machine_has_every_hardware_thread_once() {
        let machine = Machine::look().unwrap();
        let mut cpus: Vec<usize> = machine.cores.iter().flat_map(|core| core.cpus.clone()).collect();
        cpus.sort_unstable();
        let count = cpus.len();
        cpus.dedup();
        assert_eq!(cpus.len(), count);
        for level in [Level::Host, Level::Package, Level::Numa, Level::L3, Level::L2, Level::Core, Level::Thread] {
            assert_eq!(machine.parts(level).concat().len(), count, "{level:?}");
        }
    }
}

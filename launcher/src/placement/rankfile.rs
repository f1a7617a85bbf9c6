//! The file of `--rankfile`, as Open MPI has it: a line `rank N=HOST slot=CPUS` for each rank.
//!
//! CPUS are numbers of hardware threads, `0-3,8`, or `PACKAGE:CORES`, counted within the package. HOST is a name, or
//! `+nI` for the host number I of those that were named.

use super::topology::{Level, Machine};
use super::wish::parse_cpus;
use serde::{Deserialize, Serialize};

/// Where the file wants a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RankPlace {
    pub(crate) rank: usize,
    pub(crate) host: String,
    pub(crate) slot: Slot,
}

/// What it is tied to there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Slot {
    Cpus(Vec<usize>),
    /// Cores of a package.
    Cores(usize, Vec<usize>),
}

impl Slot {
    /// The hardware threads on this machine; empty if there are no such.
    pub(super) fn cpus(&self, machine: &Machine) -> Vec<usize> {
        match self {
            Slot::Cpus(cpus) => machine.restricted_to(cpus).parts(Level::Host).concat(),
            Slot::Cores(package, cores) => {
                let packages = machine.parts(Level::Package);
                let Some(package) = packages.get(*package) else { return Vec::new() };
                let all = machine.restricted_to(package).parts(Level::Core);
                cores.iter().filter_map(|&core| all.get(core)).flatten().copied().collect()
            }
        }
    }
}

/// Reads the file: every rank that it names, by number.
pub(crate) fn read_rankfile(path: &str) -> Result<Vec<RankPlace>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let mut places: Vec<RankPlace> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            let place = parse_line(line).map_err(|what| format!("{path}, line {number}: {what}"))?;
            if places.iter().any(|known| known.rank == place.rank) {
                return Err(format!("{path}, line {number}: rank {} is there twice", place.rank));
            }
            places.push(place);
        }
    }
    places.sort_by_key(|place| place.rank);
    // Ranks that it leaves out would have to be guessed.
    match places.iter().zip(0..).find(|(place, expected)| place.rank != *expected) {
        Some((_, missing)) => Err(format!("{path}: rank {missing} is missing")),
        None if places.is_empty() => Err(format!("{path} names no rank")),
        None => Ok(places),
    }
}

fn parse_line(line: &str) -> Result<RankPlace, String> {
    let understood = || {
        let (rank, rest) = line.strip_prefix("rank")?.split_once('=')?;
        let (host, slot) = rest.split_once("slot")?;
        Some((rank.trim().parse().ok()?, host.trim(), slot.trim().strip_prefix('=')?.trim()))
    };
    let (rank, host, slot) =
        understood().ok_or_else(|| format!("{line:?} is not understood: rank N=HOST slot=CPUS"))?;
    let slot = match slot.split_once(':') {
        Some((package, cores)) => {
            let package = package.trim_start_matches(['p', 'P']);
            Slot::Cores(
                package.parse().map_err(|_| format!("{package:?} is no number of a package"))?,
                parse_cpus(cores)?,
            )
        }
        None => Slot::Cpus(parse_cpus(slot)?),
    };
    Ok(RankPlace { rank, host: host.to_owned(), slot })
}

#[cfg(test)]
mod tests {
    use super::super::topology::tests::{first_cpu, machine};
    use super::*;

    fn read(text: &str) -> Result<Vec<RankPlace>, String> {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default().replace(':', "-");
        let path = std::env::temp_dir().join(format!("rwmpi-ranks-{name}-{}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let places = read_rankfile(path.to_str().unwrap());
        std::fs::remove_file(&path).unwrap();
        places
    }

    #[test]
    fn lines_name_rank_host_and_cores() {
        let places = read("# two\nrank 1=b slot=1:0-1\nrank 0 = +n0 slot = 4,6 # first\n").unwrap();
        assert_eq!(places[0], RankPlace { rank: 0, host: "+n0".to_owned(), slot: Slot::Cpus(vec![4, 6]) });
        assert_eq!(places[1], RankPlace { rank: 1, host: "b".to_owned(), slot: Slot::Cores(1, vec![0, 1]) });
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, what) in [
            ("rank 0=a slot=0\nrank 0=a slot=1", "line 2: rank 0 is there twice"),
            ("rank 0=a slot=0\nrank 2=a slot=1", "rank 1 is missing"),
            ("rank one=a slot=0", "line 1"),
            ("rank 0=a slot=x", "\"x\" is not a number"),
            ("rank 0=a", "rank N=HOST slot=CPUS"),
            ("", "names no rank"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(what), "{text}: {error}");
        }
        assert!(read_rankfile("/no/such/file").unwrap_err().contains("/no/such/file"));
    }

    #[test]
    fn slots_are_hardware_threads_of_the_machine() {
        let (machine, first) = (machine(3, [2, 1, 2, 2]), first_cpu(3));
        assert_eq!(Slot::Cores(1, vec![0]).cpus(&machine), [first + 2, first + 6]);
        assert_eq!(Slot::Cpus(vec![first + 1, 7]).cpus(&machine), [first + 1]);
        assert_eq!(Slot::Cores(2, vec![0]).cpus(&machine), [0; 0]);
    }
}

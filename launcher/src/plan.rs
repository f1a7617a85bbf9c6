//! From what the caller wants to what will be done: programs found, directories checked, cores dealt out. All of it
//! before the first rank starts, so that a wrong name costs one message and no job.

use crate::environment::{Environment, value_in};
use crate::error::LaunchError;
use crate::job_spec::JobSpec;
use crate::lanes;
use crate::other_mpi::{self, OtherMpi};
use crate::placement::{self, Announced, Machine, Placement};
use crate::redirect;
use crate::this_machine;
use rustix::fs::Access;
use rwmpi_core::Protocol;
use rwmpi_transport::LANES;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A section whose program is known to be there.
#[derive(Debug)]
pub(crate) struct PlannedSection {
    /// Absolute path.
    pub(crate) program: PathBuf,
    /// The program's first argument: its name as the user gave it.
    pub(crate) name: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Environment,
    pub(crate) directory: Option<PathBuf>,
    /// Which of the job's sections it is.
    pub(crate) number: usize,
    /// How many ranks of it run here.
    pub(crate) ranks: usize,
    /// Whose library its program is linked with, if that does not know of us.
    pub(crate) other_mpi: Option<OtherMpi>,
    /// Threads that each rank announces to run.
    threads: Announced,
}

impl PlannedSection {
    /// Whether its ranks run under valgrind. The search for leaks of that reads all mapped memory, which gives memory
    /// to all of it.
    pub(crate) fn is_under_valgrind(&self) -> bool {
        self.program.file_name().is_some_and(|name| name == "valgrind")
    }

    /// Whether it is a container's starter that passes its environment on without the C library: the loader in the
    /// container then complains of every library that is not there. (Of others `librwmpi_heap.so` takes care itself.)
    pub(crate) fn is_container(&self) -> bool {
        const STARTERS: [&str; 4] = ["apptainer", "singularity", "shifter", "sarus"];
        self.program.file_name().is_some_and(|name| STARTERS.iter().any(|starter| name == *starter))
    }
}

/// What will be done on one host.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Those that have ranks here.
    pub(crate) sections: Vec<PlannedSection>,
    /// The numbers of the ranks here.
    pub(crate) ranks: Vec<usize>,
    /// For each of them, which of `sections` it belongs to.
    pub(crate) section_of: Vec<usize>,
    /// The processes: for each the places of its ranks among those here, more than one where ranks are threads.
    pub(crate) processes: Vec<Range<usize>>,
    /// For each rank of the job, the number of its host.
    pub(crate) nodes: Vec<usize>,
    pub(crate) lanes: usize,
    /// For how many ranks there is room.
    pub(crate) universe_size: usize,
    pub(crate) placement: Placement,
    pub(crate) machine: Machine,
}

/// For how many ranks there is room: as the user says, as many as named hosts have slots, or as this machine has cores.
fn universe_size(spec: &JobSpec, machine: &Machine) -> usize {
    let slots = || spec.hosts.iter().map(|host| host.slots.unwrap_or(1)).fold(0, usize::saturating_add);
    spec.universe_size.unwrap_or_else(|| if spec.hosts.is_empty() { machine.parallelism } else { slots() })
}

impl Plan {
    /// Finds and checks everything that `spec` names for these `ranks`, which share a host; `nodes`: the host of each
    /// rank of the job.
    pub(crate) fn resolve(spec: &JobSpec, ranks: Vec<usize>, nodes: Vec<usize>) -> Result<Plan, LaunchError> {
        let lanes = lanes::of_job(spec, &nodes)?;
        let mut sections: Vec<PlannedSection> = Vec::new();
        let mut section_of = Vec::with_capacity(ranks.len());
        let all = spec.section_of();
        for &rank in &ranks {
            let number = all[rank];
            let known = sections.iter().position(|section| section.number == number);
            let index = known.unwrap_or(sections.len());
            if known.is_none() {
                sections.push(plan_section(spec, number)?);
            }
            sections[index].ranks += 1;
            section_of.push(index);
        }
        let machine = Machine::look().map_err(LaunchError::system("read the affinity mask"))?;
        // Who asks for lanes has a thread for each, but perhaps not at the same time.
        let least = lanes.min(machine.parallelism);
        let with_lanes = |threads: Announced| match threads {
            Some((count, variable)) => Some((count.max(least), variable)),
            None => (least > 1).then_some((least, LANES)),
        };
        let threads: Vec<Announced> = section_of.iter().map(|&index| with_lanes(sections[index].threads)).collect();
        let placement = placement::place(&spec.wish, &threads, &ranks, &machine);
        let processes = group(&section_of, spec.threads);
        let universe_size = universe_size(spec, &machine).max(nodes.len());
        Ok(Plan { sections, ranks, section_of, processes, nodes, lanes, universe_size, placement, machine })
    }

    /// Whose the streams of a process with these ranks are.
    pub(crate) fn owner_of_streams(&self, places: &Range<usize>) -> redirect::Owner {
        let (first, last) = (self.ranks[places.start], self.ranks[places.end - 1]);
        redirect::Owner {
            ranks: (first, last),
            size: self.nodes.len(),
            node: self.nodes[first],
            section: self.section(places.start).number,
            host: this_machine::name(),
        }
    }

    /// The section of the rank at that place among those here.
    pub(crate) fn section(&self, place: usize) -> &PlannedSection {
        &self.sections[self.section_of[place]]
    }
}

/// Groups ranks of the same section, up to `threads` at a time.
fn group(section_of: &[usize], threads: usize) -> Vec<Range<usize>> {
    let mut processes: Vec<Range<usize>> = Vec::new();
    for (place, section) in section_of.iter().enumerate() {
        match processes.last_mut().filter(|last| last.len() < threads && section_of[last.start] == *section) {
            Some(last) => last.end = place + 1,
            None => processes.push(place..place + 1),
        }
    }
    processes
}

fn plan_section(spec: &JobSpec, number: usize) -> Result<PlannedSection, LaunchError> {
    let section = &spec.sections[number];
    let mut environment = if section.clean { Vec::new() } else { spec.carried.clone() };
    environment.retain(|(name, _)| !section.removed.contains(name));
    environment.extend(spec.environment.iter().chain(&section.environment).cloned());
    if let Some(protocol) = spec.protocol {
        environment.push((Protocol::VARIABLE.into(), protocol.name().into()));
    }
    if let Some(transport) = spec.transport {
        environment.push((rwmpi_transport::TRANSPORT.into(), transport.name().into()));
    }
    let here = env::current_dir().map_err(LaunchError::system("find the working directory"))?;
    let directory = section.directory.as_ref().map(|directory| here.join(directory));
    if let Some(directory) = &directory {
        check_directory(directory).map_err(|source| LaunchError::Directory { directory: directory.clone(), source })?;
    }
    let environment = Environment { set: environment, clean: section.clean, removed: section.removed.clone() };
    let mut path = value_in(&environment.set, "PATH").or_else(|| spec.setting("PATH"));
    if let Some(search) = &section.search {
        let rest = path.unwrap_or_default();
        path = Some([search.as_os_str(), OsStr::new(":"), &rest].into_iter().collect());
    }
    let program = find_program(&section.program, directory.as_deref().unwrap_or(&here), &here, path.as_deref())?;
    Ok(PlannedSection {
        other_mpi: other_mpi::linked_with(&program),
        program,
        name: section.program.clone(),
        arguments: section.arguments.clone(),
        directory,
        number,
        ranks: 0,
        threads: announced(&environment),
        environment,
    })
}

/// The threads that the environment asks for of whatever library asks for most.
fn announced(environment: &Environment) -> Announced {
    const VARIABLES: [&str; 4] = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"];
    let asked = VARIABLES.map(|name| environment.get(name).and_then(|list| threads(&list)).map(|count| (count, name)));
    asked.into_iter().flatten().max_by_key(|&(count, _)| count)
}

/// The threads that an `OMP_NUM_THREADS` such as `4` or `4,2` (nested levels) asks for.
fn threads(list: &OsStr) -> Option<usize> {
    let levels = list.to_str()?.split(',').map(|level| level.trim().parse::<usize>().ok().filter(|&count| count > 0));
    levels.into_iter().try_fold(1_usize, |product, level| product.checked_mul(level?))
}

fn check_directory(directory: &Path) -> io::Result<()> {
    if !directory.metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(rustix::fs::access(directory, Access::EXEC_OK)?)
}

/// Looks `program` up as a shell would, relative names first in the ranks' directory and then in the launcher's.
fn find_program(program: &OsStr, directory: &Path, here: &Path, path: Option<&OsStr>) -> Result<PathBuf, LaunchError> {
    let mut unusable = None;
    for candidate in candidates(program, directory, here, path) {
        match check_program(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(Unusable::NotThere) => {}
            Err(Unusable::Because(reason)) => {
                unusable.get_or_insert(reason);
            }
        }
    }
    let program = program.to_owned();
    match unusable {
        Some(reason) => Err(LaunchError::NotExecutable { program, reason }),
        None => Err(LaunchError::NotFound { hint: where_it_may_be(&program, directory), program }),
    }
}

fn candidates(program: &OsStr, directory: &Path, here: &Path, path: Option<&OsStr>) -> Vec<PathBuf> {
    if program.is_empty() {
        return Vec::new();
    }
    if program.as_bytes().contains(&b'/') {
        return vec![directory.join(program), here.join(program)];
    }
    // Without PATH, the C library's default.
    let path = path.unwrap_or(OsStr::new("/bin:/usr/bin"));
    env::split_paths(path).map(|entry| directory.join(entry).join(program)).collect()
}

enum Unusable {
    NotThere,
    Because(String),
}

fn check_program(candidate: &Path) -> Result<(), Unusable> {
    let metadata = candidate.metadata().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Unusable::NotThere,
        _ => Unusable::Because(format!("{}: {error}", candidate.display())),
    })?;
    if metadata.is_dir() {
        return Err(Unusable::Because("it is a directory".to_owned()));
    }
    if rustix::fs::access(candidate, Access::EXEC_OK).is_err() {
        let path = candidate.display();
        return Err(Unusable::Because(format!("{path} may not be executed; perhaps: chmod +x {path}")));
    }
    Ok(())
}

/// Where was looked, and whether the user only forgot `./`.
fn where_it_may_be(program: &OsStr, directory: &Path) -> String {
    if program.is_empty() {
        return "its name is empty".to_owned();
    }
    if program.as_bytes().contains(&b'/') {
        return "there is no such file".to_owned();
    }
    if directory.join(program).is_file() {
        return format!("it is not in PATH, but in the working directory: say ./{}", program.display());
    }
    "it is in no directory of PATH".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job_spec::Section;

    fn resolve(spec: &JobSpec) -> Result<Plan, LaunchError> {
        let ranks = spec.section_of().len();
        Plan::resolve(spec, (0..ranks).collect(), vec![0; ranks])
    }

    #[test]
    fn thread_counts_of_nested_levels_multiply() {
        assert_eq!(threads(OsStr::new("4")), Some(4));
        assert_eq!(threads(OsStr::new("4, 2")), Some(8));
        assert_eq!(threads(OsStr::new("0")), None);
        assert_eq!(threads(OsStr::new("many")), None);
    }

    #[test]
    fn the_variable_that_asks_for_most_threads_counts() {
        let set = |pairs: &[(&str, &str)]| Environment {
            set: pairs.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            clean: true,
            removed: Vec::new(),
        };
        assert_eq!(announced(&set(&[])), None);
        let both = set(&[("OMP_NUM_THREADS", "2"), ("RAYON_NUM_THREADS", "3")]);
        assert_eq!(announced(&both), Some((3, "RAYON_NUM_THREADS")));
        assert_eq!(announced(&set(&[("OPENBLAS_NUM_THREADS", "1")])), Some((1, "OPENBLAS_NUM_THREADS")));
    }

    #[test]
    fn processes_hold_ranks_of_one_section() {
        assert_eq!(group(&[0, 0, 0, 1, 1], 2), [0..2, 2..3, 3..5]);
        assert_eq!(group(&[0, 1], 1), [0..1, 1..2]);
        assert_eq!(group(&[0, 0, 1], 8), [0..2, 2..3]);
    }

    #[test]
    fn ranks_are_numbered_across_sections() {
        let spec = JobSpec::new(Section::new("sh").ranks(2)).section(Section::new("true").ranks(1));
        let plan = resolve(&spec).unwrap();
        assert_eq!(plan.section_of, [0, 0, 1]);
        assert_eq!(plan.section(2).name, "true");
        let plan = Plan::resolve(&spec, vec![2], vec![0, 0, 1]).unwrap();
        assert_eq!((plan.section(0).number, plan.sections.len()), (1, 1));
    }

    #[test]
    fn what_cannot_run_is_named_with_the_reason() {
        let refused = |program: &str| resolve(&JobSpec::new(Section::new(program))).unwrap_err();
        assert!(matches!(refused("no-such-program"), LaunchError::NotFound { .. }));
        assert!(matches!(refused("./no/such/program"), LaunchError::NotFound { .. }));
        assert!(matches!(refused(""), LaunchError::NotFound { .. }));
        assert!(matches!(refused("/"), LaunchError::NotExecutable { .. }));
        assert!(matches!(
            refused(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")),
            LaunchError::NotExecutable { .. }
        ));
        let spec = JobSpec::new(Section::new("true").directory("/no/such"));
        assert!(matches!(resolve(&spec), Err(LaunchError::Directory { .. })));
    }

    #[test]
    fn a_path_set_for_the_section_is_the_one_that_counts() {
        let section = Section::new("true").environment("PATH", "/nowhere");
        assert!(matches!(resolve(&JobSpec::new(section)), Err(LaunchError::NotFound { .. })));
    }
}

//! From what the caller wants to what will be done: programs found, directories checked, cores dealt out. All of it before the
//! first rank starts, so that a wrong name costs one message and no job.

use crate::binding::{self, Machine, Placement};
use crate::error::LaunchError;
use crate::job_spec::{JobSpec, Section};
use rustix::fs::Access;
use rwmpi_core::Protocol;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
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
    /// What is set beyond the launcher's own environment; later ones win.
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) ranks: usize,
    /// Threads that each rank announces to run (`OMP_NUM_THREADS`).
    threads: usize,
}

/// What will be done.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) sections: Vec<PlannedSection>,
    /// For each rank, the index of its section.
    pub(crate) section_of: Vec<usize>,
    /// For each rank, the number of its node.
    pub(crate) nodes: Vec<usize>,
    pub(crate) placement: Placement,
    pub(crate) machine: Machine,
}

impl Plan {
    /// Finds and checks everything that `spec` names.
    pub(crate) fn resolve(spec: &JobSpec) -> Result<Plan, LaunchError> {
        let sections =
            spec.sections.iter().map(|section| plan_section(spec, section)).collect::<Result<Vec<_>, _>>()?;
        let section_of: Vec<usize> = sections
            .iter()
            .enumerate()
            .flat_map(|(index, section)| std::iter::repeat_n(index, section.ranks))
            .collect();
        let threads: Vec<usize> = section_of.iter().map(|&index| sections[index].threads).collect();
        let machine = Machine::look().map_err(LaunchError::system("read the affinity mask"))?;
        let placement = binding::place(spec.binding, &threads, &machine);
        let nodes = vec![0; section_of.len()];
        Ok(Plan { sections, section_of, nodes, placement, machine })
    }

    /// How many ranks there are.
    pub(crate) fn ranks(&self) -> usize {
        self.section_of.len()
    }

    /// The section of a rank.
    pub(crate) fn section(&self, rank: usize) -> &PlannedSection {
        &self.sections[self.section_of[rank]]
    }
}

fn plan_section(spec: &JobSpec, section: &Section) -> Result<PlannedSection, LaunchError> {
    if section.ranks == 0 {
        return Err(LaunchError::NoRanks(section.program.clone()));
    }
    let mut environment = spec.environment.clone();
    environment.extend(section.environment.iter().cloned());
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
    let path = setting(&environment, "PATH");
    let program = find_program(&section.program, directory.as_deref().unwrap_or(&here), &here, path.as_deref())?;
    Ok(PlannedSection {
        program,
        name: section.program.clone(),
        arguments: section.arguments.clone(),
        directory,
        ranks: section.ranks,
        threads: setting(&environment, "OMP_NUM_THREADS").and_then(|list| threads(&list)).unwrap_or(1),
        environment,
    })
}

/// The value that a rank will see.
pub(crate) fn setting(environment: &[(OsString, OsString)], name: &str) -> Option<OsString> {
    let set = environment.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    set.or_else(|| env::var_os(name))
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

    #[test]
    fn thread_counts_of_nested_levels_multiply() {
        assert_eq!(threads(OsStr::new("4")), Some(4));
        assert_eq!(threads(OsStr::new("4, 2")), Some(8));
        assert_eq!(threads(OsStr::new("0")), None);
        assert_eq!(threads(OsStr::new("many")), None);
    }

    #[test]
    fn ranks_are_numbered_across_sections() {
        let spec = JobSpec::new(Section::new("sh").ranks(2)).section(Section::new("true").ranks(1));
        let plan = Plan::resolve(&spec).unwrap();
        assert_eq!(plan.section_of, [0, 0, 1]);
        assert_eq!(plan.section(2).name, "true");
    }

    #[test]
    fn what_cannot_run_is_named_with_the_reason() {
        let resolve = |program: &str| Plan::resolve(&JobSpec::new(Section::new(program))).unwrap_err();
        assert!(matches!(resolve("no-such-program"), LaunchError::NotFound { .. }));
        assert!(matches!(resolve("./no/such/program"), LaunchError::NotFound { .. }));
        assert!(matches!(resolve(""), LaunchError::NotFound { .. }));
        assert!(matches!(resolve("/"), LaunchError::NotExecutable { .. }));
        assert!(matches!(
            resolve(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")),
            LaunchError::NotExecutable { .. }
        ));
        let spec = JobSpec::new(Section::new("true").directory("/no/such"));
        assert!(matches!(Plan::resolve(&spec), Err(LaunchError::Directory { .. })));
        let spec = JobSpec::new(Section::new("true").ranks(0));
        assert!(matches!(Plan::resolve(&spec), Err(LaunchError::NoRanks(_))));
    }

    #[test]
    fn a_path_set_for_the_section_is_the_one_that_counts() {
        let section = Section::new("true").environment("PATH", "/nowhere");
        assert!(matches!(Plan::resolve(&JobSpec::new(section)), Err(LaunchError::NotFound { .. })));
    }
}

//! `mpiexec --doctor`: what of this machine matters to jobs, what it means, and what to do where it is not as it should
//! be.
//!
//! Nothing is changed and no job started; what it says of hosts is found out by asking the agent for nothing.

use crate::hosts::HostSlots;
use crate::phrases::{counted, ranges};
use crate::placement::Machine;
use crate::remote;
use crate::this_machine;
use rustix::process::Resource;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Open files that a job of some hundred ranks needs.
const FILES_WANTED: u64 = 4096;

/// One thing that was looked at.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    what: &'static str,
    is_well: bool,
    /// What it is and means; where it is not well, what to do.
    words: String,
}

fn well(what: &'static str, words: String) -> Finding {
    Finding { what, is_well: true, words }
}

fn unwell(what: &'static str, words: String) -> Finding {
    Finding { what, is_well: false, words }
}

/// Looks at everything, at these hosts too; the answer in lines.
pub(crate) fn examine(hosts: &[HostSlots], agent: &[OsString]) -> String {
    let mut findings = processors();
    findings.push(kernel_copies(&read("/proc/sys/kernel/yama/ptrace_scope")));
    findings.push(open_files(rustix::process::getrlimit(Resource::Nofile).maximum));
    findings.push(shared_heap());
    findings.push(other_launchers(&env::var_os("PATH").unwrap_or_default(), env::current_exe().ok().as_deref()));
    findings.extend(settings());
    findings.extend(hosts.iter().map(|host| reach(&host.name, agent)));
    let line = |finding: &Finding| {
        let mark = if finding.is_well { "ok " } else { "!! " };
        format!("{mark}{:16}{}\n", finding.what, finding.words)
    };
    findings.iter().map(line).collect()
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn processors() -> Vec<Finding> {
    match Machine::look() {
        Err(error) => vec![unwell("cores", format!("the affinity mask can't be read: {error}"))],
        Ok(machine) => {
            let mut cpus: Vec<usize> = machine.cores.iter().flat_map(|core| core.cpus.iter().copied()).collect();
            cpus.sort_unstable();
            let cores = counted(machine.cores.len(), "core");
            let list = ranges(&cpus);
            let words = format!("{cores} (hardware threads {list}); up to so many ranks each get one of their own");
            vec![well("cores", words), share(machine.parallelism, cpus.len())]
        }
    }
}

/// What the control group leaves of so many hardware threads.
fn share(parallelism: usize, threads: usize) -> Finding {
    if parallelism >= threads {
        return well("control group", "no limit on processor time".to_owned());
    }
    let words = format!(
        "it allows the time of {parallelism} of {threads} hardware threads: more ranks than that wait for each other; raise cpu.max, or \
         the container's --cpus"
    );
    unwell("control group", words)
}

fn kernel_copies(scope: &Option<String>) -> Finding {
    const WHAT: &str = "ptrace scope";
    match scope.as_deref() {
        None | Some("0" | "1") => {
            well(WHAT, "ranks of a job may copy from each other's memory by the kernel".to_owned())
        }
        Some(scope) => unwell(
            WHAT,
            format!(
                "{scope}: large messages from memory that is not shared go through a FIFO, with two copies; sysctl kernel.yama.ptrace_scope=1"
            ),
        ),
    }
}

fn open_files(maximum: Option<u64>) -> Finding {
    match maximum {
        Some(maximum) if maximum < FILES_WANTED => unwell(
            "open files",
            format!("at most {maximum}, and a rank takes up to 7 of the launcher's: ulimit -Hn {FILES_WANTED} or more"),
        ),
        _ => well("open files", "enough for some hundred ranks".to_owned()),
    }
}

fn shared_heap() -> Finding {
    match crate::shared_heap::library() {
        Some(path) => well("shared malloc", format!("{} serves large blocks", path.display())),
        None => unwell(
            "shared malloc",
            "librwmpi_heap.so is neither in ../lib of mpiexec nor beside it: large messages of C and Fortran programs are slower; \
             install with `cargo xtask install`"
                .to_owned(),
        ),
    }
}

/// Launchers of the same name that the user may start in place of this one.
fn other_launchers(path: &OsString, own: Option<&Path>) -> Finding {
    const WHAT: &str = "mpiexec in PATH";
    let found: Vec<PathBuf> =
        env::split_paths(path).map(|folder| folder.join("mpiexec")).filter(|program| program.is_file()).collect();
    let is_own = |program: &PathBuf| own.is_some() && program.canonicalize().ok().as_deref() == own;
    match found.first() {
        None => unwell(WHAT, "there is none: put the folder of this one into PATH".to_owned()),
        Some(first) if is_own(first) => well(WHAT, "it is this one".to_owned()),
        Some(first) => unwell(
            WHAT,
            format!(
                "the first is {}, of another MPI or version: put the folder of this one before it",
                first.display()
            ),
        ),
    }
}

fn settings() -> Vec<Finding> {
    let remarks = rwmpi_transport::settings::remarks(env::vars_os());
    if remarks.is_empty() {
        return vec![well("settings", "every RWMPI_ variable is understood".to_owned())];
    }
    remarks.into_iter().map(|remark| unwell("settings", remark)).collect()
}

/// Whether a host can be reached, and has this program.
fn reach(host: &str, agent: &[OsString]) -> Finding {
    if agent.is_empty() && this_machine::is_meant_by(host) {
        return well("host", format!("{host} is this machine"));
    }
    match remote::try_out(host, agent) {
        Ok(()) => well("host", format!("{host} is reached and has this mpiexec")),
        Err(what) => unwell(
            "host",
            format!(
                "{host}: {what}; the same mpiexec must be at the same path there, and be reached without a password"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_as_it_should_be_comes_with_the_cure() {
        let tight = [
            kernel_copies(&Some("2".to_owned())),
            open_files(Some(256)),
            share(1, 4),
            other_launchers(&"/no/such/folder".into(), None),
        ];
        for (finding, cure) in tight.iter().zip(["sysctl", "ulimit -Hn", "cpu.max", "PATH"]) {
            assert!(!finding.is_well && finding.words.contains(cure), "{finding:?}");
        }
        for finding in [kernel_copies(&None), kernel_copies(&Some("1".to_owned())), open_files(None), share(4, 4)] {
            assert!(finding.is_well, "{finding:?}");
        }
    }

    #[test]
    fn another_launcher_before_this_one_is_named() {
        let folder = env::temp_dir().join(format!("rwmpi-doctor-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("mpiexec");
        fs::write(&program, "").unwrap();
        let path: OsString = folder.clone().into();
        let finding = other_launchers(&path, Some(Path::new("/usr/bin/mpiexec")));
        assert!(!finding.is_well && finding.words.contains(program.to_str().unwrap()), "{finding:?}");
        assert!(other_launchers(&path, program.canonicalize().ok().as_deref()).is_well);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_host_that_cannot_be_reached_is_said() {
        let finding = reach("nowhere.invalid", &["false".into()]);
        assert!(!finding.is_well && finding.words.contains("nowhere.invalid"), "{finding:?}");
        let text = examine(&[], &[]);
        assert!(text.lines().all(|line| line.starts_with("ok ") || line.starts_with("!! ")), "{text}");
        assert!(text.contains("cores") && text.contains("settings"), "{text}");
    }
}

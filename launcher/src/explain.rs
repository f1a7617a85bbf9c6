//! Says what was decided, and why.

use std::collections::BTreeMap;

use crate::job_spec::JobSpec;
use crate::lanes;
use crate::phrases::{counted, ranges};
use crate::plan::{Plan, PlannedSection};
use crate::report;
use rwmpi_core::{Progress, Protocol};

/// The lines that the user asked for, and warnings, which need no asking.
pub(crate) fn lines(spec: &JobSpec, plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> = plan.placement.warnings.iter().map(|text| format!("warning: {text}")).collect();
    let others = plan.sections.iter().filter_map(|section| Some((section, section.other_mpi?)));
    lines.extend(others.map(|(section, other)| format!("warning: {}", other.warning(&section.name.to_string_lossy()))));
    if spec.explain {
        lines.extend(programs(plan));
        lines.push(cores(plan));
        lines.push(waiting(plan));
        lines.push(memory(spec));
        lines.push(protocol(spec));
        lines.push(progress());
        lines.extend(lanes::explain(spec, plan.lanes));
    }
    if spec.explain || spec.report_bindings {
        lines.extend(bindings(plan));
    }
    lines
}

fn programs(plan: &Plan) -> impl Iterator<Item = String> {
    plan.sections.iter().map(|section| {
        let directory = section.directory.as_ref().map(|path| format!(", in {}", path.display())).unwrap_or_default();
        let ranks = format!("{}{}", counted(section.ranks, "rank"), in_processes(plan, section));
        let words = report::command_line(&section.name, &section.arguments);
        format!("program: {} as {ranks}{directory}: {words}", section.program.display())
    })
}

/// In how many processes the ranks of a section are, if that is not one each.
fn in_processes(plan: &Plan, section: &PlannedSection) -> String {
    let processes = plan.processes.iter().filter(|places| plan.section(places.start).number == section.number).count();
    let each = processes == section.ranks;
    if each { String::new() } else { format!(", which are threads of {}", counted(processes, "process")) }
}

fn cores(plan: &Plan) -> String {
    let machine = &plan.machine;
    let mut cpus: Vec<usize> = machine.cores.iter().flat_map(|core| core.cpus.iter().copied()).collect();
    cpus.sort_unstable();
    let share = if machine.parallelism < cpus.len() {
        format!("; the control group allows the time of {}", machine.parallelism)
    } else {
        String::new()
    };
    let cores = counted(machine.cores.len(), "core");
    format!("cores: {cores} in the affinity mask (hardware threads {}){share}", ranges(&cpus))
}

fn waiting(plan: &Plan) -> String {
    let ranks = counted(plan.ranks.len(), "rank");
    let threads = counted(plan.machine.parallelism, "hardware thread");
    if shared_by_several(plan) {
        format!("waiting: ranks that wait soon let others run, because {ranks} share {threads}")
    } else {
        format!("waiting: ranks that wait keep looking for a while, because {ranks} have {threads}")
    }
}

/// Whether ranks take processor time from each other.
fn shared_by_several(plan: &Plan) -> bool {
    let bound: Vec<&Vec<usize>> = plan.placement.cpus.iter().flatten().collect();
    let oversubscribed = |mine: &&Vec<usize>| {
        bound.iter().filter(|theirs| theirs.iter().all(|cpu| mine.contains(cpu))).count() > mine.len()
    };
    plan.ranks.len() > plan.machine.parallelism || bound.iter().any(oversubscribed)
}

/// How memory that is not shared moves between ranks, once they have tried it.
pub(crate) fn kernel_copies(plan: &Plan, kernel_pairs: usize) -> String {
    let pairs: usize = plan.processes.iter().map(|places| places.len() * (plan.ranks.len() - places.len())).sum();
    if pairs == 0 {
        "copies: directly, as the ranks are threads of one process".to_owned()
    } else if kernel_pairs == pairs {
        "copies: shared memory directly; other memory by the kernel, which worked for all pairs of ranks".to_owned()
    } else {
        format!(
            "copies: shared memory directly; other memory through the FIFO for {} of {pairs} pairs of ranks, for which the kernel \
             refused process_vm_readv (kernel.yama.ptrace_scope, or the container's seccomp filter)",
            pairs - kernel_pairs
        )
    }
}

/// By which way windows were used: of each of these ranks, how many in memory that all of its node have mapped, how
/// many in other memory, and how many of both by ranks of other nodes. Ranks of which that is the same are in one line.
pub(crate) fn windows(ranks: &[usize], of_rank: &[[u64; 3]]) -> Vec<String> {
    let mut alike: BTreeMap<[u64; 3], Vec<usize>> = BTreeMap::new();
    for (&rank, &windows) in ranks.iter().zip(of_rank).filter(|(_, windows)| **windows != [0; 3]) {
        alike.entry(windows).or_default().push(rank);
    }
    let line = |([mapped, other, served], ranks): (&[u64; 3], &Vec<usize>)| {
        let ways = [
            (mapped, "by loads, stores and atomic operations"),
            (other, "by copies of the kernel, elements under a lock, since others have not mapped their memory"),
            (served, "of these also by messages from ranks of other nodes, which it serves as it makes progress"),
        ];
        let ways = ways.iter().filter(|(number, _)| **number > 0).map(|(number, way)| format!("{number} {way}"));
        format!("windows: memory of rank {}: {}", ranges(ranks), ways.collect::<Vec<_>>().join("; "))
    };
    alike.iter().map(line).collect()
}

fn memory(spec: &JobSpec) -> String {
    match &spec.segment_directory {
        Some(directory) => {
            format!("shared memory: a file without a name in {}, as asked", directory.display())
        }
        None => {
            "shared memory: anonymous (memfd), so the size of /dev/shm does not matter and nothing can be left behind"
                .to_owned()
        }
    }
}

fn protocol(spec: &JobSpec) -> String {
    match spec.protocol {
        Some(protocol) => format!("protocol: {}, as asked", protocol.name()),
        None => match std::env::var(Protocol::VARIABLE) {
            Ok(value) => format!("protocol: {value}, from {}", Protocol::VARIABLE),
            Err(_) => "protocol: auto, the default".to_owned(),
        },
    }
}

/// Who makes progress, and what standard sends may leave to it.
fn progress() -> String {
    match (Progress::of_job(), Progress::buffer_of_job()) {
        (Ok(Progress::Calls), _) => "progress: by the program's calls, the default".to_owned(),
        (Ok(Progress::Thread), Ok(buffer)) => format!(
            "progress: programs in C and Fortran have a thread for it beside their own, from {}; sends are complete once they are copied, \
             into a buffer of {buffer} bytes ({})",
            Progress::VARIABLE,
            Progress::BUFFER_VARIABLE
        ),
        (Err(error), _) | (_, Err(error)) => format!("progress: {error}"),
    }
}

fn bindings(plan: &Plan) -> Vec<String> {
    let (what, reason) = (&plan.placement.what, &plan.placement.reason);
    if plan.placement.cpus.iter().all(Option::is_none) {
        return vec![format!("binding: none, the kernel places the ranks: {reason}")];
    }
    let each = plan.ranks.iter().zip(&plan.placement.cpus).filter_map(|(rank, cpus)| {
        cpus.as_ref().map(|cpus| format!("  rank {rank}: hardware threads {}", ranges(cpus)))
    });
    std::iter::once(format!("binding: {what}: {reason}")).chain(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_whose_windows_are_used_alike_are_in_one_line() {
        let lines = windows(&[0, 1, 2, 5, 6], &[[3, 0, 0], [1, 2, 0], [3, 0, 0], [0, 0, 0], [3, 0, 2]]);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("windows: memory of rank 1: 1 by loads") && lines[0].contains("; 2 by copies"));
        assert_eq!(lines[1], "windows: memory of rank 0,2: 3 by loads, stores and atomic operations");
        assert!(lines[2].contains("rank 6: 3 by loads") && lines[2].contains("; 2 of these also by messages"));
    }
}

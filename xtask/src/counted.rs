//! Instructions of calls from C, counted by valgrind as `mpi-bench instructions` counts those of the Rust API, and held
//! against the same limits.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{fs, iter};

use anyhow::{Context, Result, ensure};

use crate::beside_c::compiled;
use crate::process::run_and_keep;
use crate::workspace::Workspace;

/// How often each call is made.
const TIMES: u64 = 100;

/// The calls of `bench/peers/counted.c`, which need no other rank.
const CALLS: [&str; 9] = [
    "put and flush",
    "get and flush",
    "fetch_and_op",
    "compare_and_swap",
    "accumulate",
    "lock, put, unlock",
    "lock_all, unlock_all",
    "fence, put, fence",
    "post, start, put, complete, wait",
];
/// The memory that they use: the library's, and the program's own.
const MEMORY: [&str; 2] = ["allocated", "created"];

/// Counts all calls; without a C compiler says that it is left out.
pub fn run(workspace: &Workspace, limits: &Path) -> Result<()> {
    let Some(program) = compiled(workspace, "counted")? else {
        println!("left out: instructions of calls from C, for there is no C compiler (cc)");
        return Ok(());
    };
    let text = fs::read_to_string(limits).with_context(|| format!("cannot read {}", limits.display()))?;
    let limits: BTreeMap<String, f64> = serde_json::from_str(&text)?;
    for (call, memory) in CALLS.iter().flat_map(|call| iter::repeat(call).zip(MEMORY)) {
        let name = format!("{call}, {memory}");
        let log = program.with_extension("log");
        // The launcher sees to it that memory of the program can be shared.
        let mut job = Command::new(workspace.target().join("debug/mpiexec"));
        job.args(["-n", "1", "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        job.arg("--toggle-collect=counted").arg(format!("--log-file={}", log.display())).arg(&program);
        run_and_keep(job.args([call, TIMES.to_string().as_str(), memory]))?;
        let log = fs::read_to_string(&log).context("valgrind left no log")?;
        let total = collected(&log).with_context(|| format!("valgrind counted no {name}:\n{log}"))?;
        let found = total as f64 / TIMES as f64;
        println!("{name:36} {found:8.1}");
        let limit = limits.get(&name).with_context(|| format!("there is no limit for {name}"))?;
        ensure!(
            found <= *limit,
            "{name}: {found:.1} instructions, more than the limit of {limit}: find out why, or, if it is worth it, raise the limit"
        );
    }
    Ok(())
}

/// The total in callgrind's closing words.
fn collected(log: &str) -> Option<u64> {
    let line = log.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().parse().ok().filter(|&total| total > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_found_in_the_closing_words() {
        assert_eq!(collected("==7== Events    : Ir\n==7== Collected : 6700\n==7==\n"), Some(6700));
        assert_eq!(collected("==7== Collected : 0\n"), None);
    }
}

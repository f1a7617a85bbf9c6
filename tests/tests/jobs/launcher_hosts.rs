//! Jobs on several hosts. The hosts are this machine under other names: the agent that reaches them forgets the name
//! and runs the daemon here, in an empty environment and another directory, as a login elsewhere would.

use crate::launcher_support::{Finished, Job, MPIEXEC, Running, launcher, mpiexec, runs, send};
use rustix::process::Signal;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_launcher-mpi");
const SUITE: &str = env!("CARGO_BIN_EXE_suite");
/// Within that time of a death, the job has to be over on all hosts.
const OVER: Duration = Duration::from_secs(5);

/// A login that says hello, and to `nowhere` there is no way; `stays` waits for the daemon as ssh does, instead of
/// becoming it.
const AGENT: &str = r#"#!/bin/sh
if [ "$1" = nowhere ]; then echo 'No route to host' >&2; exit 255; fi
name=$1
shift
echo 'Welcome to this machine'
cd /
if [ "$name" = stays ]; then env -i RWMPI_TEST_JOB="$RWMPI_TEST_JOB" "$@"; exit; fi
exec env -i RWMPI_TEST_JOB="$RWMPI_TEST_JOB" "$@"
"#;

/// A file for this test process, with that text.
fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::write(&path, text).unwrap();
    path
}

pub(crate) fn agent() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let path = file("agent", AGENT);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    })
}

/// A job on those hosts.
fn on_hosts(hosts: &str, arguments: &[&str]) -> Job {
    mpiexec(["-hosts", hosts, "--launch-agent", agent(), "--interface", "lo"].iter().chain(arguments))
}

fn run(hosts: &str, arguments: &[&str]) -> Finished {
    on_hosts(hosts, arguments).run()
}

#[test]
fn ranks_are_dealt_out_and_know_their_place() {
    let script = "echo $RWMPI_RANK/$RWMPI_SIZE $RWMPI_LOCAL_RANK $RWMPI_NODES";
    let finished = run("a,b:2", &["-n", "3", "-l", "sh", "-c", script]);
    finished.assert_success();
    assert_eq!(finished.sorted_lines(), ["[0] 0/3 0 0,1,1", "[1] 1/3 0 0,1,1", "[2] 2/3 1 0,1,1"]);
}

#[test]
fn environment_and_directory_go_along() {
    let directory = env!("CARGO_MANIFEST_DIR");
    let script = "echo $RWMPI_RANK $CARRIED $SET $HOSTNAME $(pwd)";
    let finished = on_hosts("a,b", &["-n", "2", "-env", "SET", "two words", "sh", "-c", script])
        .command(|command| _ = command.env("CARRIED", "a b").env("HOSTNAME", "ours").current_dir(directory))
        .run();
    finished.assert_success();
    let expected = [0, 1].map(|rank| format!("{rank} a b two words {directory}"));
    assert_eq!(finished.sorted_lines(), expected);
}

#[test]
fn a_host_file_names_the_hosts() {
    let hosts = file("hosts", "# two\na slots=2\nb:1\n");
    let options = ["-f", hosts.to_str().unwrap(), "--launch-agent", agent(), "--interface", "lo", "-n", "3"];
    let finished = mpiexec(options.iter().chain(&["sh", "-c", "echo $RWMPI_NODES"])).run();
    finished.assert_success();
    assert_eq!(finished.stdout, "0,0,1\n".repeat(3));
    let hosts = file("bad-hosts", "a\nb slots=several\n");
    let finished = mpiexec(["-f", hosts.to_str().unwrap(), "-n", "2", "true"]).run();
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("line 2") && finished.stderr.contains("several"), "{finished:?}");
}

/// Input and output of any size arrive whole.
#[test]
fn rank_0_reads_and_all_write() {
    let text: String = (0..30_000).map(|line| format!("line {line}\n")).collect();
    let finished =
        on_hosts("a,b", &["-n", "2", "sh", "-c", "cat; [ $RWMPI_RANK = 0 ] || seq 30000"]).stdin(&text).run();
    finished.assert_success();
    let (lines, numbers): (Vec<&str>, Vec<&str>) = finished.stdout.lines().partition(|line| line.starts_with("line"));
    assert_eq!((lines.len(), numbers.len()), (30_000, 30_000));
    assert_eq!(lines.join("\n") + "\n", text);
    assert_eq!(numbers.last(), Some(&"30000"));
}

#[test]
fn a_job_goes_well_on_two_hosts_under_every_protocol() {
    for protocol in ["sr", "nsr", "auto"] {
        let finished = run("a,b", &["-n", "4", "--protocol", protocol, PROGRAM, "succeed"]);
        finished.assert_success();
        let expected: Vec<String> = (0..4).map(|rank| format!("rank {rank} of 4: sum 6")).collect();
        assert_eq!(finished.sorted_lines(), expected);
    }
}

/// More ranks than fit into one of the values by which they tell each other where they listen.
#[test]
fn many_ranks_on_many_hosts_find_each_other() {
    let finished = run("a,b,c,d", &["-n", "40", PROGRAM, "succeed"]);
    finished.assert_success();
    assert_eq!(finished.stdout.matches("of 40: sum 780").count(), 40, "{finished:?}");
}

#[test]
fn the_suite_passes_on_two_hosts() {
    run("a,b", &["-n", "4", SUITE]).assert_success();
}

#[test]
fn the_exit_code_is_that_of_the_rank_that_failed() {
    let finished = run("a,b", &["-n", "4", "sh", "-c", "if [ $RWMPI_RANK = 2 ]; then exit 42; fi; sleep 100"]);
    finished.assert_report(42, &["rank 2 (pid ", " on b)", "exited with code 42", "3 other ranks"]);
    run("a,b", &["-n", "4", PROGRAM, "abort"]).assert_report(3, &["rank 1 on a aborted", "the input makes no sense"]);
    run("a,b", &["-n", "4", PROGRAM, "leave"]).assert_report(1, &["rank 1", "exited without finalizing"]);
    let hang = run("a,b", &["-n", "4", "--timeout", "2", PROGRAM, "cycle"]);
    hang.assert_report(124, &["receive from rank", "tag 7", "deadlock"]);
}

#[test]
fn what_is_missing_is_one_message() {
    run("a,b", &["-n", "2", "no-such-program"]).assert_report(127, &["host ", "no-such-program", "PATH"]);
    let finished = run("a,nowhere", &["-n", "2", "sh", "-c", "echo ran"]);
    finished.assert_report(125, &["host nowhere", "exited with code 255", "[nowhere] No route to host"]);
    assert_eq!(finished.stdout, "", "nobody runs unless all can");
    mpiexec(["-hosts", "a", "--launch-agent", "/no/such/agent", "true"])
        .run()
        .assert_report(125, &["host a", "/no/such/agent"]);
    mpiexec(["-hosts", "a", "--launch-agent", agent(), "--interface", "no-such-one", "true"])
        .run()
        .assert_report(125, &["host a", "no-such-one"]);
}

/// Starts a job whose four ranks wait for each other.
fn start_waiting_job(hosts: &str) -> (Running, Vec<i32>) {
    let (running, stdout) = on_hosts(hosts, &["-n", "4", PROGRAM, "hold"]).start_with_stdout();
    let mut lines = BufReader::new(stdout).lines();
    (0..4).for_each(|_| drop(lines.next().expect("a line").expect("text")));
    // Nobody reads on; nothing else is written either.
    std::mem::forget(lines);
    let pids = running.processes(4, |pid| runs(pid, "launcher-mpi"));
    (running, pids)
}

fn is_daemon(pid: i32) -> bool {
    runs(pid, "mpiexec-under-t")
}

fn finish_in_time(running: Running) -> Finished {
    let begin = Instant::now();
    let finished = running.wait();
    assert!(begin.elapsed() < OVER, "{:?}", begin.elapsed());
    finished
}

#[test]
fn a_killed_rank_ends_the_job_everywhere() {
    let (running, pids) = start_waiting_job("a,b");
    send(pids[3], Signal::KILL);
    finish_in_time(running).assert_report(137, &["SIGKILL", "3 other ranks"]);
}

#[test]
fn a_killed_daemon_ends_the_job_everywhere() {
    let (running, _) = start_waiting_job("a,b");
    send(running.processes(2, is_daemon)[0], Signal::KILL);
    finish_in_time(running).assert_report(123, &["host ", "was lost, with ranks ", "SIGKILL"]);
}

#[test]
fn a_killed_agent_ends_the_job_everywhere() {
    let (running, _) = start_waiting_job("a,stays");
    let is_agent =
        |pid: i32| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words.contains("stays"));
    let agents = running.processes(1, |pid| is_agent(pid) && !is_daemon(pid));
    send(agents[0], Signal::KILL);
    finish_in_time(running).assert_report(123, &["host stays was lost, with ranks 2-3", "SIGKILL"]);
}

#[test]
fn a_killed_launcher_takes_all_hosts_along() {
    for hosts in ["a,b", "a,stays"] {
        let (running, _) = start_waiting_job(hosts);
        running.processes(2, is_daemon);
        running.signal(Signal::KILL);
        assert_eq!(finish_in_time(running).code, 137);
    }
}

/// A daemon that does not answer any more is not waited for.
#[test]
fn a_stopped_daemon_does_not_keep_a_job_alive() {
    let (running, pids) = start_waiting_job("a,b");
    let parent = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse::<i32>().unwrap()
    };
    let daemons = running.processes(2, is_daemon);
    let victim = *pids.iter().find(|&&pid| parent(pid) == daemons[0]).unwrap();
    send(daemons[1], Signal::STOP);
    send(victim, Signal::KILL);
    finish_in_time(running).assert_report(137, &["SIGKILL"]);
}

/// The ranks go on meanwhile: all that could be said of them is not heard.
#[test]
fn a_daemon_that_falls_silent_is_lost() {
    let (running, _) = start_waiting_job("a,b");
    send(running.processes(2, is_daemon)[1], Signal::STOP);
    running.wait().assert_report(123, &["was lost, with ranks ", "its daemon has not answered for 30 s"]);
}

/// Each agent takes some descriptors of the launcher's.
#[test]
fn many_agents_need_many_open_files() {
    let hosts: Vec<String> = (0..30).map(|host| format!("h{host}")).collect();
    let hosts = hosts.join(",");
    let limited = |limit: &str| {
        let script = format!("{limit}; exec \"$0\" \"$@\"");
        let job =
            ["-hosts", &hosts, "--launch-agent", agent(), "--interface", "lo", "-n", "30", "sh", "-c", "ulimit -Sn"];
        launcher("sh", ["-c", &script, MPIEXEC].iter().chain(&job)).run()
    };
    let finished = limited("ulimit -Sn 100");
    finished.assert_success();
    assert_eq!(finished.stdout, "100\n".repeat(30), "the ranks have the limit that the user set");
    let finished = limited("ulimit -n 100");
    assert_eq!(finished.code, 125, "{finished:?}");
    assert!(finished.stderr.contains("the limit on open files (ulimit -Hn) is reached"), "{finished:?}");
}

#[test]
fn signals_reach_all_hosts() {
    let script = "trap 'echo got; exit 0' USR1 INT; echo ready; while :; do sleep 0.05; done";
    for (signal, code) in [(Signal::USR1, 0), (Signal::INT, 130)] {
        let running = on_hosts("a,b", &["-n", "2", "sh", "-c", script]).start();
        running.processes(2, |pid| runs(pid, "sleep"));
        running.signal(signal);
        let finished = running.wait();
        assert_eq!((finished.code, finished.stdout.matches("got").count()), (code, 2), "{finished:?}");
    }
}

/// All in one job, which is then on one host.
#[test]
fn every_name_of_this_machine_is_reached_without_an_agent() {
    let own_name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "127.9.8.7".to_owned(), own_name];
    names.extend(rwmpi_transport::first_to_others().map(|address| address.to_string()));
    let ranks = (2 * names.len()).to_string();
    for option in ["-H", "--host", "-hosts"] {
        let script = "echo $RWMPI_RANK/$RWMPI_SIZE $RWMPI_NODES";
        // There is no ssh where there is no PATH.
        let arguments = [option, &names.join(","), "-genv", "PATH", "/nowhere", "-n", &ranks, "/bin/sh", "-c", script];
        let finished = mpiexec(arguments).command(|command| _ = command.env("PATH", "/nowhere")).run();
        finished.assert_success();
        let expected: Vec<String> = (0..2 * names.len()).map(|rank| format!("{rank}/{ranks}")).collect();
        let mut said: Vec<&str> = finished.stdout.lines().map(str::trim_end).collect();
        said.sort_by_key(|line| line.split('/').next().unwrap().parse::<usize>().unwrap());
        assert_eq!(said, expected);
    }
    let finished = mpiexec(["-hosts", "localhost,198.51.100.7", "-nolocal", "-launcher", "rsh", "-n", "1", "true"])
        .command(|command| _ = command.env("PATH", "/nowhere"))
        .run();
    assert_ne!(finished.code, 0);
    assert!(finished.stderr.contains("198.51.100.7"), "{finished:?}");
}

#[test]
fn an_agent_with_quotation_marks_is_split_as_by_a_shell() {
    let agent = format!("sh -c 'host=$1; shift; exec {} \"$host\" \"$@\"' agent", agent());
    let finished = mpiexec(["-H", "a,b", "--launch-agent", &agent, "--interface", "lo", "-n", "2", "true"]).run();
    finished.assert_success();
}

//! Jobs that ranks spawn, and jobs that meet: what is said when something goes wrong, and that nothing is left behind.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rwmpi_abi_table::Interface;

use crate::c_support::{Library, sources, text};

/// The library, and the program that spawns.
fn spawner() -> (Library, PathBuf) {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("tools/spawner.c"), &[]).expect("it compiles");
    (library, program)
}

/// What comes of two ranks that spawn two others and go on like that.
fn spawn(manner: &str) -> Output {
    let (library, program) = spawner();
    library.run(2, &[program.as_os_str(), OsStr::new(manner)], &[])
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The processes of the children, which have said their numbers.
fn children(output: &Output) -> Vec<String> {
    let said = stdout(output);
    let numbers: Vec<_> = said.lines().filter_map(|line| line.split_once("is process ")).collect();
    assert_eq!(numbers.len(), 2, "{}", text(output));
    numbers.into_iter().map(|(_, number)| number.to_owned()).collect()
}

/// The job has failed with that code and said that, and no child is left.
fn check_failed(output: &Output, code: i32, said: &[&str]) {
    assert_eq!(output.status.code(), Some(code), "{}", text(output));
    check_said(output, said);
}

/// It has said that, and no child is left.
fn check_said(output: &Output, said: &[&str]) {
    let report = String::from_utf8_lossy(&output.stderr);
    said.iter().for_each(|word| assert!(report.contains(word), "{word:?} is not in: {report}"));
    for child in children(output) {
        assert!(!Path::new("/proc").join(&child).exists(), "process {child} is left");
    }
}

#[test]
fn what_children_write_is_output_of_the_job() {
    let output = spawn("well");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output));
    assert_eq!(children(&output).len(), 2);
}

#[test]
fn a_child_that_is_killed_is_named() {
    check_failed(
        &spawn("child-dies"),
        137,
        &["of the job that rank 0 spawned, rank 1 (pid", "SIGKILL", "spawner child-dies"],
    );
}

#[test]
fn a_child_that_aborts_ends_all() {
    check_failed(&spawn("child-aborts"), 17, &["of the job that rank 0 spawned, rank 1", "code 17"]);
}

#[test]
fn children_end_with_their_parents() {
    check_failed(&spawn("parent-dies"), 137, &["rank 0 (pid", "SIGKILL"]);
}

#[test]
fn a_program_that_is_none_of_mpi_is_not_waited_for() {
    let output = spawn("no-mpi");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(report.contains("exited without joining"), "{report}");
}

#[test]
fn children_may_outlive_their_parents() {
    let output = spawn("outlive");
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(stdout(&output).matches("goes on").count(), 2, "{}", text(&output));
}

/// What comes of one process that nobody has started, and that spawns two others and goes on like that. `mpiexec` is
/// not beside its library, but in `path`.
fn spawn_alone(path: &OsStr, manner: &str) -> Output {
    spawn_alone_after("", path, manner)
}

/// The same, where its shell has been told something before.
fn spawn_alone_after(told: &str, path: &OsStr, manner: &str) -> Output {
    let (library, program) = spawner();
    let place = library.file();
    let file = std::fs::canonicalize(&place).unwrap();
    std::fs::remove_file(&place).unwrap();
    std::fs::hard_link(file, place).unwrap();
    // Until the launcher has ended: it has the same outputs.
    let mut command = Command::new("/usr/bin/timeout");
    command.args(["60", "/bin/sh", "-c", &format!("{told} exec \"$0\" \"$@\"")]).arg(program).arg(manner);
    command.env("PATH", path).output().expect("it starts")
}

/// The folder with `mpiexec`, behind one with another MPI's.
fn path_to_mpiexec() -> OsString {
    let others = Path::new(env!("CARGO_TARGET_TMPDIR")).join("another-mpiexec");
    std::fs::create_dir_all(&others).unwrap();
    let link = others.join("mpiexec");
    let _ = std::os::unix::fs::symlink("/bin/true", link);
    let ours = rwmpi_tests::binary("mpiexec").parent().unwrap().to_owned();
    std::env::join_paths([others, ours, "/bin".into()]).unwrap()
}

#[test]
fn a_process_without_a_launcher_starts_one() {
    let output = spawn_alone(&path_to_mpiexec(), "talk");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output));
    assert_eq!(stdout(&output).matches("of 3: sum 3, beside 3").count(), 3, "{}", text(&output));
    // The kernel then forgets how children end.
    let output = spawn_alone_after("trap '' CHLD;", &path_to_mpiexec(), "outlive");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output));
    assert_eq!(stdout(&output).matches("goes on").count(), 2, "{}", text(&output));
}

#[test]
fn a_process_without_a_launcher_hears_what_goes_wrong() {
    let path = path_to_mpiexec();
    let output = spawn_alone("/bin".as_ref(), "talk");
    assert!(!output.status.success() && text(&output).contains("no mpiexec of rwmpi"), "{}", text(&output));
    let output = spawn_alone(&path, "no-program");
    assert!(output.status.success() && stdout(&output).contains("/no/such/program"), "{}", text(&output));
    let output = spawn_alone(&path, "no-mpi");
    assert!(!output.status.success() && text(&output).contains("exited without joining"), "{}", text(&output));
    let output = spawn_alone(&path, "launcher-dies");
    // It hears of either end first.
    let ends =
        ["the connection to the launcher (PMI) is broken", "the other job has ended before all of its ranks had come"];
    let says_why = ends.iter().any(|end| text(&output).contains(end));
    assert!(output.status.code() == Some(53) && says_why, "{}", text(&output));
    let left = "rank 1, which has left the job without finalizing";
    check_failed_alone(&spawn_alone(&path, "child-dies"), &["rank 1 (pid", "SIGKILL", left]);
    check_failed_alone(&spawn_alone(&path, "child-aborts"), &["rank 1 on", "code 17", left]);
    check_failed_alone(&spawn_alone(&path, "parent-dies"), &["ended without MPI_Finalize"]);
}

/// The process has failed, not hung; the rest is as for [`check_said`].
fn check_failed_alone(output: &Output, said: &[&str]) {
    assert!(!matches!(output.status.code(), Some(0 | 124)), "{}", text(output));
    check_said(output, said);
}

/// Hosts that are this machine under other names, and how they are reached.
const AGENT: [&str; 5] = ["--launch-agent", "sh -c 'shift; exec \"$@\"' --", "--interface", "lo", "-hosts"];

/// What comes of two ranks, on these hosts if there are any, that spawn two others and go on like that.
fn spawn_on(hosts: &str, hint: Option<&str>, manner: &str) -> Output {
    let (library, program) = spawner();
    let options = if hosts.is_empty() { AGENT[..4].to_vec() } else { [&AGENT[..], &[hosts]].concat() };
    let hint = hint.map(|hint| format!("SPAWNER_HOST={hint}"));
    let hint = hint.iter().flat_map(|hint| ["env", hint]);
    let command: Vec<&OsStr> = options.into_iter().chain(hint).map(OsStr::new).collect();
    library.run(2, &[&command[..], &[program.as_os_str(), OsStr::new(manner)]].concat(), &[])
}

/// All four have talked with each other; so many share memory with each, in the order of ranks.
fn check_talked(output: &Output, beside: [usize; 4]) {
    assert!(output.status.success(), "{}", text(output));
    for (rank, beside) in beside.into_iter().enumerate() {
        let said = format!("rank {rank} of 4: sum 6, beside {beside}, left {}\n", (rank + 3) % 4);
        assert!(stdout(output).contains(&said), "{said}{}", text(output));
    }
}

#[test]
fn parents_and_children_on_several_hosts_talk() {
    // Parents on a and b, children as well.
    check_talked(&spawn_on("a,b", None, "talk"), [2; 4]);
    // Both children on b.
    check_talked(&spawn_on("a,b", Some("b"), "talk"), [1, 3, 3, 3]);
    // On hosts that the job did not have.
    check_talked(&spawn_on("a:2", Some("b,c"), "talk"), [2, 2, 1, 1]);
    // Whom the system lets share memory, whatever their hosts are called.
    check_talked(&spawn_on("", Some("b"), "talk"), [4; 4]);
    check_talked(&spawn_on("a:2", None, "talk"), [4; 4]);
}

#[test]
fn what_can_not_be_started_on_a_host_is_an_error_of_the_call() {
    let output = spawn_on("a,b", None, "no-program");
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(stdout(&output).matches("/no/such/program").count(), 2, "{}", text(&output));
    let (library, program) = spawner();
    let agent = ["--launch-agent", "sh -c 'echo no way to $0 >&2; exit 255'", "env", "SPAWNER_HOST=b"].map(OsStr::new);
    let output = library.run(2, &[&agent[..], &[program.as_os_str(), "no-program".as_ref()]].concat(), &[]);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(stdout(&output).matches("refused: ").count(), 2, "{}", text(&output));
    assert!(stdout(&output).contains("exited with code 255"), "{}", text(&output));
}

#[test]
fn a_child_that_is_killed_on_another_host_is_named() {
    check_failed(
        &spawn_on("a,b", Some("c"), "child-dies"),
        137,
        &["of the job that rank 0 spawned, rank 1 (pid", "SIGKILL", "spawner child-dies"],
    );
    check_failed(&spawn_on("a,b", None, "parent-dies"), 137, &["rank 0 (pid", "SIGKILL"]);
}

/// What comes of two jobs that meet, the accepting one with two ranks, the other with three.
fn meet(accepting: &str, connecting: &str) -> [Output; 2] {
    meet_with(&[], accepting, connecting)
}

/// The same, where `mpiexec` gets these words as well.
fn meet_with(options: &[&str], accepting: &str, connecting: &str) -> [Output; 2] {
    let (library, program) = spawner();
    let service = format!("rwmpi-test-{accepting}-{}-{}", options.len(), std::process::id());
    let options: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
    let job = |ranks, manner: &str| {
        let command = [program.as_os_str(), OsStr::new(manner), OsStr::new(&service)];
        library.run(ranks, &[&options[..], &command].concat(), &[])
    };
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| job(3, connecting));
        [job(2, accepting), connecting.join().unwrap()]
    })
}

/// Ranks that are all on machines of their own as far as they know, and call ports as others do from elsewhere.
const FROM_AFAR: [&str; 8] =
    ["--transport", "tcp", "-genv", "SPAWNER_PORT_FROM_AFAR", "1", "-genv", "RWMPI_LISTEN", "127.0.0.1"];

#[test]
fn who_waits_for_a_job_that_has_died_hears_of_it() {
    let [accepting, connecting] = meet("accept-and-die", "connect-and-wait");
    assert_eq!(accepting.status.code(), Some(137), "{}", text(&accepting));
    let report = String::from_utf8_lossy(&connecting.stderr);
    let has_heard = report.contains("left the job without finalizing");
    assert!(!connecting.status.success() && has_heard, "{}", text(&connecting));
}

/// One of the jobs ends while the two are coming together.
fn check_left_waiting(ended: &Output, left: &Output) {
    assert_eq!(ended.status.code(), Some(137), "{}", text(ended));
    let report = String::from_utf8_lossy(&left.stderr);
    let has_heard = report.contains("the other job has ended") || report.contains("was aborted while");
    assert!(!left.status.success() && has_heard, "{}", text(left));
}

#[test]
fn who_comes_to_meet_a_job_that_dies_hears_of_it() {
    let [accepting, connecting] = meet("accept-late", "connect");
    check_left_waiting(&accepting, &connecting);
    let [accepting, connecting] = meet("accept", "connect-late");
    check_left_waiting(&connecting, &accepting);
}

#[test]
fn over_a_network_who_waits_for_a_job_that_has_died_hears_of_it() {
    let [accepting, connecting] = meet_with(&FROM_AFAR, "accept-and-die", "connect-and-wait");
    assert_eq!(accepting.status.code(), Some(137), "{}", text(&accepting));
    assert!(text(&connecting).contains("it has died or was killed"), "{}", text(&connecting));
    for (manners, ended, left) in [(["accept-late", "connect"], 0, 1), (["accept", "connect-late"], 1, 0)] {
        let outputs = meet_with(&FROM_AFAR, manners[0], manners[1]);
        assert_eq!(outputs[ended].status.code(), Some(137), "{}", text(&outputs[ended]));
        let said = text(&outputs[left]);
        assert!(
            !outputs[left].status.success() && said.contains("has ended before all of its ranks had come"),
            "{said}"
        );
    }
}

#[test]
fn two_jobs_meet_by_a_name() {
    check_met(&meet("accept", "connect"));
}

#[test]
fn two_jobs_meet_over_a_network() {
    check_met(&meet_with(&FROM_AFAR, "accept", "connect"));
    check_met(&meet_with(&[&AGENT[..], &["a,b"]].concat(), "accept", "connect"));
}

/// Both have met, and know how many they are.
fn check_met([accepting, connecting]: &[Output; 2]) {
    for (output, first) in [(accepting, 0), (connecting, 2)] {
        assert!(output.status.success(), "{}", text(output));
        assert!(
            stdout(output).contains(&format!("rank {first} of 5, accepting: {}", u8::from(first == 0))),
            "{}",
            text(output)
        );
    }
}

//! Options that fingers know from other launchers: what they do here, in whole jobs. What is computed of them is tested
//! beside its code.

use crate::launcher_support::{mpiexec, mpiexec_sh};
use std::fs;
use std::path::PathBuf;

/// An empty directory of this test's own.
fn scratch(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("options-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

#[test]
fn scripts_find_their_place_under_the_names_of_other_launchers() {
    let script = "echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK $MPI_LOCALRANKID/$MPI_LOCALNRANKS $PMI_RANK <$SLURM_PROCID>";
    let run = |options: &[&str]| {
        let finished = mpiexec_sh(&[&["-n", "2"], options].concat(), &script.replace('<', "'<'").replace('>', "'>'"))
            .command(|command| _ = command.env_remove("SLURM_JOB_ID").env_remove("SLURM_PROCID"))
            .run();
        finished.assert_success();
        finished.sorted_lines().iter().map(|line| line.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(run(&[]), ["0/2 0 0/2 0 <>", "1/2 1 1/2 1 <>"]);
    let finished = mpiexec_sh(&["-n", "2"], "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID")
        .command(|command| _ = command.env("SLURM_JOB_ID", "7").env("SLURM_PROCID", "0"))
        .run();
    assert_eq!(finished.sorted_lines(), ["0 0 0", "1 1 0"]);
}

#[test]
fn each_rank_can_write_to_a_file_of_its_own() {
    let folder = scratch("patterns");
    let out = folder.join("out.%r").display().to_string();
    let finished =
        mpiexec_sh(&["-n", "2", "-outfile-pattern", &out], "echo $RWMPI_RANK; echo seen $RWMPI_RANK >&2").run();
    assert_eq!((finished.code, finished.stdout.as_str()), (0, ""), "{finished:?}");
    assert!(finished.stderr.contains("seen 1"), "{finished:?}");
    assert_eq!([0, 1].map(|rank| fs::read_to_string(folder.join(format!("out.{rank}"))).unwrap()), ["0\n", "1\n"]);
    // One file for all.
    let all = folder.join("sub/all").display().to_string();
    mpiexec_sh(&["-n", "3", "-outfile-pattern", &all], "echo one line").run().assert_success();
    assert_eq!(fs::read_to_string(&all).unwrap(), "one line\n".repeat(3));
    mpiexec_sh(&["-outfile-pattern", "/proc/no/such"], "true").run().assert_report(125, &["/proc/no/such"]);
}

#[test]
fn a_folder_can_hold_what_each_rank_writes() {
    let folder = scratch("folder").display().to_string();
    let script = "echo out $RWMPI_RANK; echo err $RWMPI_RANK >&2";
    let copied = mpiexec_sh(&["-n", "2", "--output-filename", &folder], script).run();
    assert_eq!(copied.sorted_lines(), ["out 0", "out 1"]);
    let read = |path: &str| fs::read_to_string(PathBuf::from(&folder).join(path)).unwrap();
    assert_eq!((read("1/rank.0/stdout"), read("1/rank.1/stderr")), ("out 0\n".to_owned(), "err 1\n".to_owned()));
    let alone = mpiexec_sh(&["-n", "2", "--output", &format!("dir={folder}:nocopy")], script).run();
    assert_eq!((alone.code, alone.stdout, alone.stderr), (0, String::new(), String::new()));
    assert_eq!(read("1/rank.1/stdout"), "out 1\n");
}

#[test]
fn lines_can_have_times_and_patterns_before_them() {
    let finished = mpiexec_sh(&["-prepend-pattern", "%r of %g: ", "--timestamp-output"], "echo hello").run();
    finished.assert_success();
    let (time, line) = finished.stdout.split_once(' ').unwrap();
    assert_eq!(line, "0 of 0: hello\n");
    assert!(time.starts_with("20") && time.ends_with('Z') && time.len() == 24, "{time}");
}

#[test]
fn both_outputs_can_be_one_and_stay_in_order() {
    let script = "for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done";
    let finished = mpiexec_sh(&["--merge-stderr-to-stdout"], script).run();
    finished.assert_success();
    let expected: String = (1..=5).map(|i| format!("out {i}\nerr {i}\n")).collect();
    assert_eq!(finished.stdout, expected);
}

#[test]
fn other_ranks_than_the_first_can_read() {
    let read = |ranks: &str| mpiexec(["-n", "3", "-l", "--stdin", ranks, "cat"]).stdin("one\ntwo\n").run();
    assert_eq!(read("1").stdout, "[1] one\n[1] two\n");
    assert_eq!(read("none").stdout, "");
    let all = read("all");
    assert_eq!(all.sorted_lines(), ["[0] one", "[0] two", "[1] one", "[1] two", "[2] one", "[2] two"]);
    // Those that read no more don't keep the others from it.
    let text = "x\n".repeat(100_000);
    let some = mpiexec_sh(&["-n", "3", "-s", "all"], "if [ $RWMPI_RANK = 1 ]; then wc -l; fi").stdin(&text).run();
    assert_eq!(some.stdout.trim(), "100000", "{some:?}");
}

#[test]
fn the_map_can_be_shown_and_nothing_started() {
    let finished = mpiexec_sh(&["-n", "3", "--display-map", "--do-not-launch"], "echo started").run();
    assert_eq!((finished.code, finished.stdout.as_str()), (0, ""), "{finished:?}");
    assert!(finished.stderr.contains("3 ranks of ") && finished.stderr.contains(": 0-2\n"), "{finished:?}");
    mpiexec(["--do-not-launch", "no-such-program"]).run().assert_report(127, &["no-such-program"]);
}

#[test]
fn programs_are_looked_for_where_path_says_and_variables_kept_away() {
    let folder = scratch("path");
    fs::copy("/bin/echo", folder.join("speak-up")).unwrap();
    let finished = mpiexec(["-path", folder.to_str().unwrap(), "speak-up", "here"]).run();
    finished.assert_success();
    assert_eq!(finished.stdout, "here\n");
    let kept = mpiexec_sh(&["-envexcl", "HOME,NO_SUCH"], "echo \"<$HOME>$PATH\"")
        .command(|command| _ = command.env("HOME", "/home"))
        .run();
    assert!(kept.stdout.starts_with("<>/"), "{kept:?}");
}

#[test]
fn what_has_no_effect_is_said_in_a_line_and_not_at_all_if_so_asked() {
    let options = ["--mca", "btl", "self", "-rmk", "slurm", "--mca", "pml", "ob1"];
    let finished = mpiexec_sh(&options, "true").run();
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(finished.stderr.lines().count(), 2, "{finished:?}");
    assert!(finished.stderr.contains("note: --mca has no effect: it is about how another launcher works inside\n"));
    mpiexec_sh(&[&options[..], &["--quiet"]].concat(), "true").run().assert_success();
}

#[test]
fn ranks_are_bound_as_a_set_and_a_file_say() {
    let allowed = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned();
    let first: String = allowed.chars().take_while(char::is_ascii_digit).collect();
    let mask = |options: &[&str]| {
        let finished =
            mpiexec([&["-n", "2"], options, &["grep", "Cpus_allowed_list", "/proc/self/status"]].concat()).run();
        assert_eq!(finished.code, 0, "{finished:?}");
        finished.stdout.lines().map(|line| line.rsplit('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(mask(&["--cpu-set", &first]), [first.clone(), first.clone()]);
    assert_eq!(mask(&["--bind-to", "none"]), [allowed.clone(), allowed.clone()]);
    assert_eq!(mask(&["--bind-to", &format!("user:{first}")]), [first.clone(), first.clone()]);
    let file = scratch("rankfile").join("ranks");
    fs::write(&file, format!("rank 0=localhost slot={first}\nrank 1=+n0 slot={first}\n")).unwrap();
    assert_eq!(mask(&["--rankfile", file.to_str().unwrap()]), [first.clone(), first]);
}

/// A program that is linked with another's library, as far as its file says.
#[test]
fn a_program_of_another_mpi_is_noticed() {
    let program = scratch("other").join("solver");
    let mut bytes = fs::read("/bin/true").unwrap();
    bytes.extend_from_slice(b"\0libmpi.so.40\0");
    fs::write(&program, bytes).unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let finished = mpiexec(["-n", "2", program.to_str().unwrap()]).run();
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(finished.stderr.matches("uses Open MPI (libmpi.so.40)").count(), 1, "{finished:?}");
}

#[test]
fn settings_are_listed_with_what_they_can_be() {
    let finished = mpiexec(["--help-settings"]).run();
    finished.assert_success();
    for setting in ["RWMPI_PROTOCOL=auto, sr or nsr\n", "RWMPI_SHARED_HEAP=on or off\n", "RWMPI_TUNING=a file\n"] {
        assert!(finished.stdout.contains(setting), "no {setting} in {finished:?}");
    }
}

#[test]
fn this_machine_and_hosts_are_examined() {
    let agent = scratch("agent").join("agent");
    // It goes to no host, and runs the command here.
    fs::write(&agent, "#!/bin/sh\nshift\nexec \"$@\"\n").unwrap();
    fs::set_permissions(&agent, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let examine = |agent: &str| mpiexec(["--doctor", "-hosts", "nowhere", "--launch-agent", agent]).run();
    let reached = examine(agent.to_str().unwrap());
    reached.assert_success();
    assert!(reached.stdout.contains("nowhere is reached and has this mpiexec"), "{reached:?}");
    assert!(reached.stdout.lines().any(|line| line.contains("cores")), "{reached:?}");
    let lost = examine("false");
    lost.assert_success();
    assert!(lost.stdout.contains("!! host            nowhere: false: it says nothing"), "{lost:?}");
}

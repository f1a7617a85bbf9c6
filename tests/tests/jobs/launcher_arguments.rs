//! What the launcher makes of its arguments: programs, sections, environment, directories; and that a wrong one costs a
//! message and no job.

use crate::launcher_support::{Finished, mpiexec, mpiexec_sh};
use rwmpi_tests::binary;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// An empty directory of this test's own.
fn scratch(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

#[test]
fn ranks_know_their_number_and_the_size() {
    let finished = mpiexec_sh(&["-n", "3"], "echo $RWMPI_RANK/$RWMPI_SIZE").run();
    finished.assert_success();
    assert_eq!(finished.sorted_lines(), ["0/3", "1/3", "2/3"]);
}

#[test]
fn sections_share_one_numbering_and_keep_their_own_environment() {
    let script = "echo $RWMPI_RANK $RWMPI_APPNUM $A $B $(pwd)";
    let line = ["-n", "1", "-env", "A", "one", "-genv", "B", "both", "-wdir", "/", "sh", "-c", script, ":"];
    let finished =
        mpiexec(line.into_iter().chain(["-n", "2", "-x", "A=two", "-wd", "/proc", "sh", "-c", script])).run();
    finished.assert_success();
    assert_eq!(finished.sorted_lines(), ["0 0 one both /", "1 1 two both /proc", "2 1 two both /proc"]);
}

#[test]
fn ranks_know_for_how_many_there_is_room() {
    let cores = std::thread::available_parallelism().unwrap().get().to_string();
    let boundless = i32::MAX.to_string();
    for (line, room) in [
        (&["-n", "2", "-usize", "7"][..], "7"),
        // There is room for those that are there.
        (&["-n", "3", "-usize", "1"], "3"),
        (&["-usize", "INFINITE"], &boundless),
        (&["-usize", "SYSTEM"], &cores),
        (&["-n", "1"], &cores),
        (&["-hosts", "localhost:5", "-n", "1"], "5"),
    ] {
        let finished = mpiexec_sh(line, "echo $RWMPI_UNIVERSE_SIZE").run();
        finished.assert_success();
        assert!(finished.stdout.lines().all(|said| said == room), "{line:?}: {finished:?}");
    }
}

#[test]
fn what_this_build_is_can_be_asked_without_a_program() {
    for line in [&["-info"][..], &["--info"], &["-n", "2", "-info", "no-such-program"]] {
        let finished = mpiexec(line.iter().copied()).run();
        finished.assert_success();
        assert!(finished.stdout.starts_with("rwmpi build details:\n"), "{finished:?}");
        assert!(finished.stdout.contains(&format!("Version:                         {}\n", env!("CARGO_PKG_VERSION"))));
    }
}

#[test]
fn mpirun_is_the_mpiexec_beside_it() {
    let finished = Command::new(binary("mpirun")).args(["-n", "1", "sh", "-c", "exit 7"]).output().unwrap();
    assert_eq!(finished.status.code(), Some(7));
    let folder = scratch("mpirun");
    fs::copy(binary("mpirun"), folder.join("mpirun")).unwrap();
    let finished = Command::new(folder.join("mpirun")).args(["-n", "1", "true"]).output().unwrap();
    let said = String::from_utf8_lossy(&finished.stderr);
    let missing = folder.join("mpiexec").display().to_string();
    assert!(!finished.status.success() && said.contains(&missing), "{said}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_relative_program_is_found_from_the_ranks_directory() {
    let directory = scratch("relative");
    fs::copy("/bin/echo", directory.join("speak")).unwrap();
    let finished = mpiexec(["-wdir", directory.to_str().unwrap(), "./speak", "here"]).run();
    finished.assert_success();
    assert_eq!(finished.stdout, "here\n");
}

#[test]
fn a_missing_program_is_one_message_and_nothing_runs() {
    let finished = mpiexec(["-n", "2", "sh", "-c", "echo ran", ":", "-n", "2", "no-such-program"]).run();
    finished.assert_report(127, &["no-such-program", "PATH"]);
    assert_eq!(finished.stdout, "");
}

#[test]
fn a_forgotten_dot_slash_is_pointed_out() {
    let directory = scratch("dot-slash");
    fs::copy("/bin/true", directory.join("my-solver")).unwrap();
    let finished = mpiexec(["my-solver"]).command(|command| _ = command.current_dir(&directory)).run();
    finished.assert_report(127, &["say ./my-solver"]);
}

#[test]
fn what_cannot_be_executed_is_one_message() {
    let directory = scratch("not-executable");
    let plain = directory.join("notes.txt");
    fs::write(&plain, "hello").unwrap();
    mpiexec(["-n", "2", plain.to_str().unwrap()]).run().assert_report(126, &["notes.txt", "chmod +x"]);
    mpiexec(["-n", "2", "/"]).run().assert_report(126, &["directory"]);
    let orphan = directory.join("orphan");
    fs::write(&orphan, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&orphan, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    mpiexec(["-n", "2", orphan.to_str().unwrap()]).run().assert_report(126, &["orphan", "interpreter"]);
}

#[test]
fn a_wrong_directory_is_one_message() {
    mpiexec(["-wdir", "/no/such/directory", "true"]).run().assert_report(125, &["/no/such/directory"]);
}

#[test]
fn no_ranks_and_no_program_are_usage_errors() {
    mpiexec(["-n", "0", "true"]).run().assert_report(2, &["at least one rank"]);
    for (one, other) in
        [("18446744073709551615", "1"), ("9223372036854775808", "9223372036854775808"), ("1048576", "1")]
    {
        let finished = mpiexec(["-n", one, "true", ":", "-n", other, "true"]).run();
        finished.assert_report(2, &["a job can have at most 1048576 ranks"]);
    }
    mpiexec(["-n", "1000000", "true"]).run().assert_report(125, &["1 to 4096 processes, not 1000000"]);
    let finished = mpiexec(["-n", "2"]).run();
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("no program"), "{finished:?}");
}

#[test]
fn unknown_words_are_refused_with_a_suggestion() {
    let finished = mpiexec(["--protocl", "sr", "true"]).run();
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("'--protocol'"), "{finished:?}");
    let finished = mpiexec(["--protocol", "fast", "true"]).run();
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("nsr"), "{finished:?}");
}

#[test]
fn the_protocol_reaches_the_ranks() {
    let finished = mpiexec_sh(&["-n", "2", "--protocol", "nsr"], "echo $RWMPI_PROTOCOL").run();
    finished.assert_success();
    assert_eq!(finished.stdout, "nsr\nnsr\n");
}

#[test]
fn more_ranks_than_cores_and_root_are_fine_and_foreign_options_are_noted() {
    let finished = mpiexec(["--oversubscribe", "-allow-run-as-root", "-np", "20", "true"]).run();
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(finished.stderr.matches("has no effect").count(), 2, "{finished:?}");
}

#[test]
fn the_end_of_each_rank_can_be_shown() {
    let finished = mpiexec_sh(&["-n", "3", "-print-all-exitcodes"], "true").run();
    assert_eq!((finished.code, finished.stderr.as_str()), (0, "mpiexec: exit codes: 0 of ranks 0-2\n"), "{finished:?}");
}

#[test]
fn a_file_can_name_the_programs() {
    let path = scratch("programs").join("configuration");
    std::fs::write(&path, "# two programs\n-n 2 -env A 'one two' sh -c \\\n'echo $RWMPI_RANK $A'\n\n-n 1 echo last\n")
        .unwrap();
    let finished = mpiexec(["-l", "-configfile", path.to_str().unwrap()]).run();
    finished.assert_success();
    assert_eq!(finished.sorted_lines(), ["[0] 0 one two", "[1] 1 one two", "[2] last"]);
    let finished = mpiexec(["-configfile", "/no/such/file"]).run();
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("-configfile /no/such/file: No such file"), "{finished:?}");
}

#[test]
fn decisions_are_explained() {
    let finished = mpiexec(["-n", "2", "-explain", "true"]).run();
    assert_eq!(finished.code, 0);
    for topic in ["program:", "cores:", "waiting:", "shared memory:", "protocol:", "binding:"] {
        assert!(finished.stderr.contains(topic), "no {topic} in {finished:?}");
    }
}

#[test]
fn the_ways_to_the_memory_of_windows_are_explained() {
    let explained = |nodes: &str, check: &str| {
        let suite = env!("CARGO_BIN_EXE_suite");
        let options = ["-n", "2", "-genv", "RWMPI_SHARED_HEAP", "off", "-explain"];
        let finished = mpiexec(options.iter().chain(&["env", nodes, suite, check])).run();
        assert_eq!(finished.code, 0, "{finished:?}");
        finished.stderr
    };
    let said = explained("RWMPI_NODES=0,0", "accesses_beyond_memory_are_errors");
    assert!(said.contains("windows: memory of rank 0-1: 1 by loads, stores and atomic operations\n"), "{said}");
    let said = explained("RWMPI_NODES=0,0", "borrowed_memory_comes_back");
    assert!(said.contains("windows: memory of rank 0-1: 4 by copies of"), "{said}");
    let said = explained("RWMPI_NODES=0,1", "accesses_beyond_memory_are_errors");
    assert!(said.contains("; 1 of these also by messages from ranks of other nodes"), "{said}");
    let said = explained("RWMPI_NODES=0,0", "hello");
    assert!(!said.contains("windows:"), "{said}");
}

#[test]
fn lanes_are_explained_where_there_are_several() {
    let explained = |options: &[&str]| {
        let finished = mpiexec_sh(&[&["-n", "2", "--explain"], options].concat(), "true").run();
        assert_eq!(finished.code, 0, "{finished:?}");
        finished.stderr
    };
    assert!(!explained(&[]).contains("lanes:"));
    assert!(explained(&["--lanes", "3"]).contains("lanes: 3, as asked"));
    assert!(explained(&["-genv", "RWMPI_LANES", "2"]).contains("lanes: 2, from RWMPI_LANES"));
    assert!(explained(&["--lanes", "3", "--transport", "tcp"]).contains("lanes: 1 rather than 3"));
}

#[test]
fn impossible_lanes_are_usage_errors() {
    mpiexec(["-n", "2", "--lanes", "9", "true"]).run().assert_report(2, &["--lanes", "1 to 8"]);
    mpiexec(["-n", "2", "-genv", "RWMPI_LANES", "0", "true"]).run().assert_report(2, &["RWMPI_LANES", "1 to 8"]);
    mpiexec(["-n", "2", "--lanes", "2", "--threads", "2", "true"]).run().assert_report(2, &["leave out --threads"]);
}

#[test]
fn ranks_run_on_the_cores_that_the_launcher_names() {
    let finished =
        mpiexec(["-n", "2", "-bind-to", "core", "--report-bindings", "grep", "Cpus_allowed_list", "/proc/self/status"])
            .run();
    assert_eq!(finished.code, 0);
    let mut lists: Vec<&str> = finished.stdout.lines().map(|line| line.rsplit('\t').next().unwrap()).collect();
    lists.sort_unstable();
    for (rank, list) in lists.iter().enumerate() {
        let line = format!("rank {rank}: hardware threads {list}\n");
        assert!(finished.stderr.contains(&line), "no {line:?} in {finished:?}");
    }
}

#[test]
fn a_table_of_lengths_is_explained_and_handed_down() {
    let path = scratch("tuning").join("mine.toml");
    std::fs::write(&path, "# mine\nslots_below = 4_096 # bytes\n").unwrap();
    let file = path.to_str().unwrap();
    let run = |options: &[&str]| {
        let finished = mpiexec_sh(&[&["-n", "1"], options].concat(), "echo \"<$RWMPI_TUNING_TABLE>\"").run();
        assert_eq!(finished.code, 0, "{finished:?}");
        finished
    };
    let tuned = run(&["-genv", "RWMPI_TUNING", file, "--explain"]);
    // Values of the processor's family may stand beside it.
    let tells = |finished: &Finished, row| finished.stdout.trim_start_matches('<').lines().any(|line| line == row);
    assert!(tells(&tuned, "slots_below = 4096"), "{tuned:?}");
    assert!(tuned.stderr.contains("  slots_below = 4096 bytes, from RWMPI_TUNING: "), "{tuned:?}");
    assert!(tuned.stderr.contains("  allgather_slots_below = 24576 bytes, the default: "), "{tuned:?}");
    assert!(tuned.stderr.contains("tuning: the table of "), "{tuned:?}");
    // Whatever this launcher itself was told is another job's.
    let plain = run(&["-genv", "RWMPI_TUNING_TABLE", "slots_below = 1"]);
    assert!(!tells(&plain, "slots_below = 1"), "{plain:?}");
    assert!(!plain.stderr.contains("tuning"), "{plain:?}");
}

#[test]
fn mistakes_in_a_table_of_lengths_are_usage_errors() {
    let path = scratch("mistuning").join("mine.toml");
    let file = path.to_str().unwrap();
    let set = format!("RWMPI_TUNING={file}");
    let refuse = |expected: &[&str]| {
        mpiexec(["-n", "2", "-genv", "RWMPI_TUNING", file, "true"]).run().assert_report(2, expected);
    };
    refuse(&[set.as_str(), "No such file"]);
    std::fs::write(&path, "\nslots_belov = 3\n").unwrap();
    refuse(&[set.as_str(), "line 2", "perhaps slots_below is meant"]);
    std::fs::write(&path, "slots_below = 1000000\n").unwrap();
    refuse(&[set.as_str(), "line 1", "1 to 65536 bytes"]);
}

//! Large blocks of `malloc` in the job's file, as programs and users of `mpiexec` see them. What blocks must do is in
//! `tests/c/heap_*.c`.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use crate::c_support::{Library, sources, text};
use rwmpi_abi_table::Interface;
use rwmpi_tests::binary;

const SWITCH: &str = "RWMPI_SHARED_HEAP";

/// Whether whoever runs the tests has switched off what they are about.
fn is_off() -> bool {
    std::env::var_os(SWITCH).is_some_and(|value| value == "off")
}

fn compile(source: &str, options: &[&str]) -> std::path::PathBuf {
    Library::new(Interface::Standard).compile(&sources().join("tools").join(source), options).unwrap()
}

/// `mpiexec --explain` with these arguments.
fn explained(arguments: &[&OsStr], environment: &[(&str, &OsStr)]) -> Output {
    let mut mpiexec = Command::new(binary("mpiexec"));
    mpiexec.args(["--explain", "--timeout", "60"]).args(arguments).envs(environment.iter().copied());
    mpiexec.output().expect("mpiexec starts")
}

/// Two ranks run this command; it must end well. What `mpiexec --explain` says.
fn pair(command: &[&OsStr], environment: &[(&str, &OsStr)]) -> String {
    let output = explained(&[&[OsStr::new("-n"), OsStr::new("2")], command].concat(), environment);
    assert!(output.status.success(), "{}", text(&output));
    text(&output)
}

/// Megabytes copied through shared memory and by the kernel.
fn copied(said: &str) -> (f64, f64) {
    let line = said.lines().find_map(|line| line.split_once("copied: ")).expect("says what was copied").1;
    let mut numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[test]
fn messages_between_blocks_of_malloc_are_copied_without_the_kernel() {
    if is_off() {
        return;
    }
    let program = compile("send_large.c", &[]);
    let said = pair(&[program.as_os_str()], &[]);
    let (shared, kernel) = copied(&said);
    assert!(shared >= 20.0 && kernel == 0.0, "{said}");
    assert!(said.contains("2 of 2 ranks had large blocks in shared memory"), "{said}");
    let said = pair(&[program.as_os_str()], &[(SWITCH, OsStr::new("off"))]);
    let (shared, _) = copied(&said);
    assert!(shared == 0.0 && said.contains("0 of 2 ranks had large blocks in shared memory"), "{said}");
}

/// The block that the child has, too, lies in front of those of the messages.
#[test]
fn messages_after_a_fork_are_copied_without_the_kernel() {
    if is_off() {
        return;
    }
    let program = compile("send_large.c", &[]);
    let said = pair(&[program.as_os_str(), "1".as_ref(), "20".as_ref(), "fork".as_ref()], &[]);
    let (shared, kernel) = copied(&said);
    assert!(shared >= 20.0 && kernel == 0.0, "{said}");
}

#[test]
fn messages_between_static_arrays_are_copied_without_the_kernel() {
    if is_off() || cfg!(not(target_arch = "x86_64")) {
        return;
    }
    let program = compile("send_static.c", &[]);
    let said = pair(&[program.as_os_str()], &[]);
    let (shared, kernel) = copied(&said);
    assert!(shared >= 20.0 && kernel == 0.0, "{said}");
    let said = pair(&[program.as_os_str()], &[(SWITCH, OsStr::new("off"))]);
    assert_eq!(copied(&said).0, 0.0, "{said}");
    // The address sanitizer has records of all static arrays of its own.
    let program = compile("send_static.c", &["-fsanitize=address"]);
    pair(&[program.as_os_str()], &[("ASAN_OPTIONS", OsStr::new("detect_leaks=0"))]);
}

#[test]
fn a_receiver_that_was_late_is_not_waited_for() {
    if is_off() {
        return;
    }
    let program = compile("late_receiver.c", &[]);
    pair(&[program.as_os_str()], &[]);
}

#[test]
fn limits_of_memory_do_no_harm() {
    if is_off() {
        return;
    }
    let program = compile("send_large.c", &[]);
    // Half a gigabyte of addresses for each process: room for some blocks only.
    let script = |limit: &str, inner: &str| format!("ulimit {limit}; exec {inner}");
    let mpiexec = format!("{} --explain --timeout 60 -n 2 {} 60 2", binary("mpiexec").display(), program.display());
    let output = Command::new("sh").args(["-c", &script("-v 500000", &mpiexec)]).output().unwrap();
    let said = text(&output);
    assert!(output.status.success() && said.contains("had no room were private: rank 0, 1"), "{said}");
    // The limit of a rank alone, too small for the file: the rank has its own memory.
    let program = compile("large_block.c", &[]);
    let limited = script("-v 300000", &program.display().to_string());
    let output = explained(&["sh", "-c", &limited].map(OsStr::new), &[]);
    assert!(output.status.success() && text(&output).contains("private"), "{}", text(&output));
    // Of private memory, which is what a child gets, and shared memory is not.
    let program = compile("fork_large.c", &[]);
    let output = explained(&["sh", "-c", &script("-d 200000", &program.display().to_string())].map(OsStr::new), &[]);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn a_file_of_limited_size_serves_no_malloc() {
    let program = compile("send_large.c", &[]);
    let folder = std::env::temp_dir();
    let said = pair(&[OsStr::new("--segment-dir"), folder.as_os_str(), program.as_os_str()], &[]);
    assert!(
        is_off() || said.contains("large blocks are private memory: the shared file lies in a directory"),
        "{said}"
    );
    assert_eq!(copied(&said).0, 0.0, "{said}");
}

#[test]
fn wrappers_leave_the_heap_to_the_program() {
    if is_off() {
        return;
    }
    let (program, sender) = (compile("large_block.c", &[]), compile("send_large.c", &[]));
    // Started by a shell; and by a program with large blocks of its own, which it becomes.
    let run = format!("{} && true", sender.display());
    let commands: [&[&OsStr]; 2] =
        [&["sh", "-c", &run].map(OsStr::new), &[program.as_os_str(), program.as_os_str(), sender.as_os_str()]];
    for command in commands {
        let said = pair(command, &[]);
        assert_eq!(copied(&said).1, 0.0, "{said}");
    }
    // A program that has the heap keeps it; what it starts has its own memory, and what comes after it has the heap
    // again.
    let twice = format!("{0} && {0}", program.display());
    let output = explained(&["sh", "-c", &twice].map(OsStr::new), &[]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "shared\nshared\n", "{}", text(&output));
}

#[test]
fn an_allocator_of_the_program_wins() {
    let allocator = sources().join("tools/own_allocator.c");
    let within = compile("large_block.c", &[allocator.to_str().unwrap()]);
    let output = explained(&[within.as_os_str()], &[]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "private\n", "{}", text(&output));

    let preloaded = Library::new(Interface::Standard).compile(&allocator, &["-shared", "-fPIC"]).unwrap();
    let program = compile("large_block.c", &[]);
    let heap = binary("librwmpi_heap.so");
    let lists = [preloaded.display().to_string(), format!("{}:{}", heap.display(), preloaded.display())];
    for list in lists {
        let output = explained(&[program.as_os_str()], &[("LD_PRELOAD", OsStr::new(&list))]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "private\n", "{list}: {}", text(&output));
    }
}

/// Then it comes before this library, which finds nothing behind itself.
#[test]
fn the_c_library_may_be_preloaded() {
    let program = compile("large_block.c", &[]);
    for list in ["libc.so.6", "libm.so.6:libc.so.6"] {
        let output = explained(&[program.as_os_str()], &[("LD_PRELOAD", OsStr::new(list))]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "private\n", "{}", text(&output));
    }
}

#[test]
fn a_sanitizer_of_the_program_wins() {
    let program = compile("large_block.c", &["-fsanitize=address"]);
    let output = explained(&[program.as_os_str()], &[("ASAN_OPTIONS", OsStr::new("detect_leaks=0"))]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "private\n", "{}", text(&output));
}

#[test]
fn rust_has_it_as_its_allocator() {
    if is_off() {
        return;
    }
    // Beside the preloaded library, which then has nothing to give.
    let program = binary("global-allocator");
    let said = pair(&[program.as_os_str()], &[]);
    let (shared, kernel) = copied(&said);
    assert!(shared >= 20.0 && kernel == 0.0, "{said}");
}

#[test]
fn without_a_launcher_nothing_is_shared() {
    let program = compile("large_block.c", &[]);
    let alone = |program: &Path| Command::new(program).env("LD_PRELOAD", binary("librwmpi_heap.so")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&alone(&program).stdout), "private\n");
}

/// A process in another root than its starter's finds the library nowhere, and is not to complain of it.
#[test]
fn where_the_library_is_not_nothing_is_said_of_it() {
    let unshare = ["unshare", "--mount", "--map-root-user"];
    if is_off()
        || !Command::new(unshare[0]).args(&unshare[1..]).arg("true").output().is_ok_and(|it| it.status.success())
    {
        println!("skipped: no name spaces here");
        return;
    }
    let library = binary("librwmpi_heap.so");
    let hide = format!("mount -t tmpfs none {}", library.parent().unwrap().display());
    // What is preloaded there besides stays. It becomes another program by each of the functions for that, with a child
    // by `fork` or `vfork`.
    for go_on in ["exec env", "env", "exec sh -c env", "exec env env", "exec nice env"] {
        let script = format!("{hide} && {go_on}");
        let command = unshare.iter().copied().chain(["sh", "-c", &script]).map(OsStr::new).collect::<Vec<_>>();
        let other = ("LD_PRELOAD", OsStr::new("libm.so.6"));
        let said = pair(&command, &[other]);
        assert!(!said.contains("cannot be preloaded"), "{go_on}: {said}");
        assert!(said.lines().any(|line| line == "LD_PRELOAD=libm.so.6"), "{go_on}: {said}");
    }
    let program = compile("starts.c", &[]);
    for how in ["system", "popen", "posix_spawn", "posix_spawnp", "execl", "execlp"] {
        let folder = library.parent().unwrap().to_str().unwrap();
        let inner = [program.to_str().unwrap(), folder, how];
        let command = unshare.iter().copied().chain(inner).map(OsStr::new).collect::<Vec<_>>();
        let said = pair(&command, &[("LD_PRELOAD", OsStr::new("libm.so.6"))]);
        assert!(!said.contains("cannot be preloaded"), "{how}: {said}");
        assert!(said.lines().any(|line| line == "LD_PRELOAD=libm.so.6"), "{how}: {said}");
    }
    // Where it is, it is passed on.
    let said = pair(&["sh", "-c", "exec nice env"].map(OsStr::new), &[]);
    assert!(said.contains(&format!("LD_PRELOAD={}", library.display())), "{said}");
}

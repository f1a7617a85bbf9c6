//! Runs `mpiexec` under a watchdog, and makes sure that nothing of the job is left.
//!
//! Every job carries a unique environment variable, which all its processes inherit; what is left of a job is whatever
//! process `/proc` shows with it.
#![allow(dead_code)]

pub mod namespaces;

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// No job here takes that long unless it hangs.
const WATCHDOG: Duration = Duration::from_secs(180);
/// What was sent SIGKILL takes a moment to disappear.
const DISAPPEARING: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);
const MARKER: &str = "RWMPI_TEST_JOB";

/// The launcher as cargo built it for this package.
pub const MPIEXEC: &str = env!("CARGO_BIN_EXE_mpiexec-under-test");
/// The program whose ranks behave as told.
pub const PEER: &str = env!("CARGO_BIN_EXE_launcher-peer");

/// A job about to be started.
pub struct Job {
    command: Command,
    marker: String,
    stdin: Option<String>,
}

/// A job under way.
pub struct Running {
    child: Child,
    marker: String,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
}

/// What came of a job.
#[derive(Debug)]
pub struct Finished {
    /// As a shell would see it: the exit code, or 128 + signal.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// `mpiexec` with these arguments.
pub fn mpiexec<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Job {
    launcher(MPIEXEC, arguments)
}

/// What is, or becomes, `mpiexec`, with these arguments.
pub fn launcher<A: AsRef<OsStr>>(program: impl AsRef<OsStr>, arguments: impl IntoIterator<Item = A>) -> Job {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let marker = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let mut command = Command::new(program);
    command.args(arguments).env(MARKER, &marker).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Job { command, marker, stdin: None }
}

/// `mpiexec OPTIONS sh -c SCRIPT`.
pub fn mpiexec_sh(options: &[&str], script: &str) -> Job {
    mpiexec(options.iter().copied().chain(["sh", "-c", script]))
}

impl Job {
    pub fn stdin(mut self, text: &str) -> Self {
        self.stdin = Some(text.to_owned());
        self.command.stdin(Stdio::piped());
        self
    }

    pub fn command(mut self, change: impl FnOnce(&mut Command)) -> Self {
        change(&mut self.command);
        self
    }

    pub fn start(mut self) -> Running {
        let mut child = self.command.spawn().expect("mpiexec starts");
        if let Some(text) = self.stdin {
            child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        }
        let stdout = collect(child.stdout.take());
        let stderr = collect(child.stderr.take());
        Running { child, marker: self.marker, stdout, stderr }
    }

    /// Like [`Job::start`], but leaves standard input to the caller.
    pub fn start_with_stdin(mut self) -> (Running, ChildStdin) {
        self.command.stdin(Stdio::piped());
        let mut child = self.command.spawn().expect("mpiexec starts");
        let stdin = child.stdin.take().unwrap();
        let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
        (Running { child, marker: self.marker, stdout, stderr }, stdin)
    }

    /// Like [`Job::start`], but leaves standard output to the caller.
    pub fn start_with_stdout(mut self) -> (Running, ChildStdout) {
        let mut child = self.command.spawn().expect("mpiexec starts");
        let stdout = child.stdout.take().unwrap();
        let stderr = collect(child.stderr.take());
        (Running { child, marker: self.marker, stdout: collect(None::<ChildStdout>), stderr }, stdout)
    }

    /// Runs the job to its end and checks that no process is left.
    pub fn run(self) -> Finished {
        self.start().wait()
    }
}

impl Running {
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Sends a signal to the launcher.
    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// The processes of the job except the launcher, once there are at least `count` for which `wanted` holds.
    pub fn processes(&self, count: usize, wanted: impl Fn(i32) -> bool) -> Vec<i32> {
        let begin = Instant::now();
        loop {
            let mut found = marked(&self.marker);
            found.retain(|&pid| pid != self.pid() && wanted(pid));
            if found.len() >= count {
                return found;
            }
            assert!(begin.elapsed() < WATCHDOG, "only {} of {count} processes came to life", found.len());
            sleep(POLL);
        }
    }

    /// Waits for the launcher to end, and checks that no process is left.
    pub fn wait(mut self) -> Finished {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if begin.elapsed() > WATCHDOG {
                let _ = self.child.kill();
                let _ = self.child.wait();
                panic!("the job hangs: {}", self.stderr.join().unwrap());
            }
            sleep(POLL);
        };
        assert_gone(&self.marker);
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap());
        Finished { code, stdout: self.stdout.join().unwrap(), stderr: self.stderr.join().unwrap() }
    }
}

impl Finished {
    /// The whole job went well and the launcher had nothing to say.
    pub fn assert_success(&self) {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{self:?}");
    }

    /// Exit code, and that the launcher's report (one, and only one) contains each of `words`.
    pub fn assert_report(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        let heads = self.stderr.lines().filter(|line| line.starts_with("mpiexec: ") && !line.starts_with("mpiexec:  "));
        // A job that hangs until its end may be told so before, on a slow machine; and ranks may have written the same.
        let heads = heads.filter(|line| !line.contains("the job hangs") && !line.starts_with("mpiexec: ×"));
        assert_eq!(heads.count(), 1, "one report: {self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {self:?}");
        }
    }

    /// The lines of standard output, sorted.
    pub fn sorted_lines(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }
}

pub fn send(pid: i32, signal: Signal) {
    rustix::process::kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Whether `pid` runs a program of that name.
pub fn runs(pid: i32, name: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
}

/// Whether `pid` was started with `entry` (`NAME=value`) in its environment; the dead that wait to be reaped have none.
pub fn has_in_environment(pid: i32, entry: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|&byte| byte == 0).any(|present| present == entry.as_bytes())
}

/// The processes of the job with that marker.
fn marked(marker: &str) -> Vec<i32> {
    let variable = format!("{MARKER}={marker}");
    let names = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    names.filter(|&pid| has_in_environment(pid, &variable)).collect()
}

fn assert_gone(marker: &str) {
    let begin = Instant::now();
    loop {
        let left = marked(marker);
        if left.is_empty() {
            return;
        }
        if begin.elapsed() > DISAPPEARING {
            let names: Vec<String> =
                left.iter().map(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()).collect();
            left.iter().for_each(|&pid| send(pid, Signal::KILL));
            panic!("left behind: {left:?} {names:?}");
        }
        sleep(POLL);
    }
}

fn collect<R: Read + Send + 'static>(source: Option<R>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut source) = source {
            source.read_to_end(&mut bytes).unwrap();
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

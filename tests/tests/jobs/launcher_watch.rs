//! `mpiexec --watch` in a terminal: `script` has one.

use std::io::{Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use rwmpi_tests::binary;

const IN_RUST: &str = env!("CARGO_BIN_EXE_launcher-mpi");

/// What is drawn, in one piece, of a rank that waits: its line gets another color.
const WAITING: &str = "receive from rank 1, tag 7";

/// A terminal in which a job runs.
struct Terminal {
    child: Child,
    screen: ChildStdout,
    seen: String,
}

fn terminal(options: &str, behaviour: &str) -> Terminal {
    let mpiexec = binary("mpiexec");
    let run = format!(
        "stty rows 30 cols 150; {} --timeout 60 {options} -n 2 {IN_RUST} {behaviour}; echo ended with $?",
        mpiexec.display()
    );
    let mut script = Command::new("script");
    script.args(["-q", "-f", "-e", "-c", &run, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = script.env("TERM", "xterm").spawn().expect("util-linux is there");
    let screen = child.stdout.take().expect("it is piped");
    Terminal { child, screen, seen: String::new() }
}

impl Terminal {
    /// Reads until that is on the screen.
    fn wait_for(&mut self, words: &str) {
        let mut piece = [0; 4096];
        while !self.seen.contains(words) {
            let count = self.screen.read(&mut piece).expect("it can be read");
            assert!(count > 0, "no {words:?} in {:?}", self.seen);
            self.seen += &String::from_utf8_lossy(&piece[..count]);
        }
    }

    fn press(&mut self, key: &str) {
        let keys = self.child.stdin.as_mut().expect("it is piped");
        keys.write_all(key.as_bytes()).and_then(|()| keys.flush()).expect("it can be written");
    }

    /// What was written after the table was closed.
    fn rest(mut self) -> String {
        self.screen.read_to_string(&mut self.seen).expect("it can be read");
        self.child.wait().expect("it ends");
        self.seen.rsplit_once("\u{1b}[?1049l").map_or(self.seen.clone(), |(_, rest)| rest.to_owned())
    }
}

#[test]
fn ranks_are_shown_and_the_output_is_written_when_the_table_closes() {
    let mut terminal = terminal("--watch --no-hang-check", "cycle");
    terminal.wait_for(WAITING);
    terminal.press("w");
    terminal.wait_for("deadlock");
    terminal.press("q");
    let rest = terminal.rest();
    assert!(rest.contains("rank 0 of 2: sum 1") && rest.contains("rank 1 of 2: sum 1"), "{rest}");
    assert!(rest.contains("the job was ended by") && rest.contains("ended with 130"), "{rest}");
}

#[test]
fn a_table_can_be_left_and_the_job_goes_on() {
    let mut terminal = terminal("--watch --no-hang-check --timeout 15", "cycle");
    terminal.wait_for(WAITING);
    terminal.press("d");
    terminal.wait_for("\u{1b}[?1049l");
    let rest = terminal.rest();
    assert!(rest.contains("rank 0 of 2: sum 1"), "{rest}");
}

#[test]
fn without_a_terminal_the_job_runs_all_the_same() {
    let mut mpiexec = Command::new("setsid");
    mpiexec.arg("--wait").arg(binary("mpiexec")).args(["--watch", "-n", "2", IN_RUST, "succeed"]);
    let output = mpiexec.stdin(Stdio::null()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("--watch has no effect: there is no terminal"), "{said}");
}

//! A job on two hosts that are reached by ssh: this machine twice, by a daemon of its own on a port of loopback.

use crate::launcher_support::{self, Job, launcher, runs, send};
use rustix::process::Signal;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_launcher-mpi");

/// An ssh daemon with keys of its own; it ends when this is dropped.
struct Ssh {
    daemon: Child,
    directory: PathBuf,
    port: u16,
}

impl Ssh {
    /// `None`, with a word about it, where there is no usable sshd.
    fn start(name: &str) -> Option<Ssh> {
        let program = std::env::var("RWMPI_SSHD").unwrap_or_else(|_| "/usr/sbin/sshd".to_owned());
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ssh-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = directory.display();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/key\nAuthorizedKeysFile {folder}/key.pub\nUsePAM no\n\
             StrictModes no\nPidFile none\nPermitRootLogin yes\n"
        );
        fs::write(directory.join("config"), config).unwrap();
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(directory.join("key"));
        let has_key = keygen.status().is_ok_and(|status| status.success());
        let check = Command::new(&program).args(["-t", "-f"]).arg(directory.join("config")).output();
        if !has_key || !check.as_ref().is_ok_and(|output| output.status.success()) {
            println!("skipped: no usable sshd (RWMPI_SSHD may say where it is): {check:?}");
            let _ = fs::remove_dir_all(&directory);
            return None;
        }
        let mut command = Command::new(&program);
        command.args(["-D", "-q", "-f"]).arg(directory.join("config")).stdin(Stdio::null());
        let ssh = Ssh { daemon: command.spawn().unwrap(), directory, port };
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(10), "sshd does not listen");
            sleep(Duration::from_millis(20));
        }
        Some(ssh)
    }

    fn job(&self, arguments: &[&str]) -> Job {
        self.job_of(launcher_support::MPIEXEC.as_ref(), arguments)
    }

    /// The same by a launcher that lies elsewhere.
    fn job_of(&self, mpiexec: &Path, arguments: &[&str]) -> Job {
        let agent = format!(
            "ssh -x -T -p {} -i {}/key -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
            self.port,
            self.directory.display()
        );
        let options = ["-hosts", "127.0.0.1,localhost", "--launch-agent", &agent, "-n", "4"];
        launcher(mpiexec, options.iter().chain(arguments))
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

#[test]
fn a_job_goes_well_and_carries_its_surroundings() {
    let Some(ssh) = Ssh::start("well") else { return };
    ssh.job(&[PROGRAM, "succeed"]).run().assert_success();
    let directory = env!("CARGO_MANIFEST_DIR");
    let finished = ssh
        .job(&["-l", "sh", "-c", "echo $CARRIED $(pwd); cat"])
        .command(|command| _ = command.env("CARRIED", "a b").current_dir(directory))
        .stdin("typed\n")
        .run();
    finished.assert_success();
    let mut expected: Vec<String> = (0..4).map(|rank| format!("[{rank}] a b {directory}")).collect();
    expected.insert(1, "[0] typed".to_owned());
    assert_eq!(finished.sorted_lines(), expected);
}

/// What ssh is told is read by a shell there.
#[test]
fn the_launcher_may_lie_where_names_have_spaces() {
    let Some(ssh) = Ssh::start("spaces") else { return };
    let folder = ssh.directory.join("it's my $HOME");
    fs::create_dir(&folder).unwrap();
    let mpiexec = folder.join("mpiexec-under-test");
    fs::copy(launcher_support::MPIEXEC, &mpiexec).unwrap();
    ssh.job_of(&mpiexec, &[PROGRAM, "succeed"]).run().assert_success();
}

#[test]
fn deaths_end_the_job() {
    let Some(ssh) = Ssh::start("deaths") else { return };
    let start = || {
        let running = ssh.job(&[PROGRAM, "hold"]).start();
        let ranks = running.processes(4, |pid| runs(pid, "launcher-mpi"));
        (running, ranks)
    };
    let (running, ranks) = start();
    send(ranks[3], Signal::KILL);
    running.wait().assert_report(137, &["SIGKILL"]);
    let (running, _) = start();
    send(running.processes(2, |pid| runs(pid, "ssh"))[0], Signal::KILL);
    running.wait().assert_report(123, &["was lost, with ranks", "SIGKILL"]);
    let (running, _) = start();
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, 137);
}

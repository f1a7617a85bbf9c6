//! Our ranks in jobs of Slurm: `srun --mpi=pmi2` (whose plugin speaks PMI-1, too) and `srun --mpi=pmix`.
//!
//! The test starts a Slurm of its own: munge, slurmctld, and a slurmd for each of two nodes that are both this machine,
//! with all they write in a folder that goes with them. Skipped where there is no Slurm (Debian: `slurm-wlm`, `munge`;
//! for PMIx `libpmix-dev`), or this is not the root user, whom its daemons want.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::c_support::{Library, sources, text};
use rwmpi_abi_table::Interface;

const PROGRAM: &str = env!("CARGO_BIN_EXE_launcher-mpi");
/// No daemon takes that long to come to life, and no job to end, unless it hangs.
const WATCHDOG: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

/// A Slurm that ends when this is dropped.
struct Slurm {
    folder: PathBuf,
    daemons: Vec<Child>,
}

impl Slurm {
    /// Starts it; `None`, with a word about it: this machine cannot.
    fn start() -> Option<Slurm> {
        let missing = ["munged", "slurmctld", "slurmd", "srun"].into_iter().find(|program| !is_installed(program));
        if let Some(program) = missing {
            println!("skipped: there is no {program} (Debian: apt-get install slurm-wlm munge)");
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            println!("skipped: the daemons of Slurm want to be started by root");
            return None;
        }
        // Paths of sockets are short.
        let folder = std::env::temp_dir().join(format!("rwmpi-slurm-{}", std::process::id()));
        let mut slurm = Slurm { folder, daemons: Vec::new() };
        slurm.prepare();
        slurm.start_daemons();
        slurm.wait_for_nodes();
        Some(slurm)
    }

    fn prepare(&self) {
        for folder in ["", "state", "spool-one", "spool-two"] {
            fs::DirBuilder::new().mode(0o700).create(self.folder.join(folder)).unwrap();
        }
        let key: Vec<u8> = (0..128).map(|byte| (byte * 37) as u8 ^ std::process::id() as u8).collect();
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.folder.join("key"));
        file.unwrap().write_all(&key).unwrap();
        let (folder, host) = (self.folder.display(), rustix::system::uname());
        let host = host.nodename().to_str().unwrap().split('.').next().unwrap();
        // All at once, so that they differ. Somebody else may take one before its daemon does; that would be seen.
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [control, one, two] = listeners.each_ref().map(|listener| listener.local_addr().unwrap().port());
        let node = |name: &str, port: u16| {
            format!("NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 State=UNKNOWN\n")
        };
        let configuration = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={control}\nSlurmUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={folder}/munge.socket\nStateSaveLocation={folder}/state\n\
             SlurmdSpoolDir={folder}/spool-%n\nSlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/%n.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/linear\n\
             SchedulerType=sched/builtin\nReturnToService=2\n{}{}\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            node("one", one),
            node("two", two)
        );
        fs::write(self.configuration(), configuration).unwrap();
    }

    fn configuration(&self) -> PathBuf {
        self.folder.join("slurm.conf")
    }

    fn start_daemons(&mut self) {
        let munge = ["socket", "key-file", "pid-file", "log-file", "seed-file"];
        let names = ["munge.socket", "key", "munge.pid", "munge.log", "munge.seed"];
        let place = |name: &str| self.folder.join(name).display().to_string();
        let mut arguments = vec!["--foreground".to_owned(), "--force".to_owned()];
        arguments.extend(munge.iter().zip(names).map(|(option, name)| format!("--{option}={}", place(name))));
        let configuration = self.configuration().display().to_string();
        self.daemon("munged", &arguments);
        self.wait_until("munge", |slurm| slurm.folder.join("munge.socket").exists());
        self.daemon("slurmctld", &["-D", "-i", "-f", &configuration]);
        for node in ["one", "two"] {
            self.daemon("slurmd", &["-D", "-N", node, "-f", &configuration]);
        }
    }

    fn daemon(&mut self, program: &str, arguments: &[impl AsRef<std::ffi::OsStr>]) {
        let log = fs::File::create(self.folder.join(format!("{program}-{}.out", self.daemons.len()))).unwrap();
        let mut command = self.command(program);
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push(command.spawn().unwrap());
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.configuration());
        command
    }

    fn wait_for_nodes(&mut self) {
        self.wait_until("nodes", |slurm| {
            let states = slurm.command("sinfo").args(["--noheader", "--format=%D %t"]).output().unwrap();
            String::from_utf8_lossy(&states.stdout).trim() == "2 idle"
        });
    }

    fn wait_until(&mut self, what: &str, good: impl Fn(&Slurm) -> bool) {
        let begin = Instant::now();
        while !good(self) {
            let ended = self.daemons.iter_mut().any(|daemon| daemon.try_wait().unwrap().is_some());
            if ended || begin.elapsed() > WATCHDOG {
                panic!("Slurm does not come to life ({what}):\n{}", self.logs());
            }
            sleep(POLL);
        }
    }

    fn logs(&self) -> String {
        let files = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        let logs = files.filter(|path| path.extension().is_some_and(|extension| extension == "out"));
        logs.map(|path| format!("{}:\n{}\n", path.display(), fs::read_to_string(&path).unwrap_or_default())).collect()
    }

    /// Runs a job under `srun`, which has to come to its end by itself.
    fn run(&self, options: &[&str], transport: &str, behaviour: &str) -> Output {
        let mut command = self.command("timeout");
        command.arg(WATCHDOG.as_secs().to_string()).args(["srun", "--overcommit", "-n", "4"]).args(options);
        command.args([PROGRAM, behaviour]).env("RWMPI_TRANSPORT", transport).output().unwrap()
    }

    /// Good jobs and a bad one.
    fn all_goes_as_it_should(&self, options: &[&str]) {
        for transport in ["auto", "tcp"] {
            let output = self.run(options, transport, "succeed");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{options:?} {transport}: {output:?}\n{}", self.logs());
            assert_eq!(said.matches("of 4: sum 6").count(), 4, "{options:?} {transport}: {said}");
        }
        let output = self.run(options, "auto", "abort");
        assert!(!output.status.success() && output.status.code() != Some(124), "{options:?}: {output:?}");
        let said = text(&output);
        assert!(said.contains("task 1: Exited with exit code 3"), "{options:?}: {said}");
        assert!(said.contains("the job ends with code 3: the input makes no sense"), "{options:?}: {said}");
    }

    /// What comes of two ranks that spawn two others, and talk with them.
    fn spawn(&self, options: &[&str]) -> Output {
        let program = Library::new(Interface::Standard).compile(&sources().join("tools/spawner.c"), &[]).unwrap();
        let mut command = self.command("timeout");
        command
            .arg(WATCHDOG.as_secs().to_string())
            .args(["srun", "--overcommit", "--overlap", "-n", "2"])
            .args(options);
        command.arg(program).arg("talk").output().unwrap()
    }

    /// What is spawned is a step of its own.
    fn starts_what_ranks_spawn(&self, options: &[&str]) {
        let output = self.spawn(options);
        let said = text(&output);
        assert!(output.status.success(), "{options:?}: {said}\n{}", self.logs());
        assert_eq!(said.matches("of 4: sum 6, beside 4").count(), 4, "{options:?}: {said}");
    }

    /// It says why it starts none, and the job ends.
    fn refuses_to_spawn(&self, options: &[&str]) {
        let output = self.spawn(options);
        let said = text(&output);
        assert!(!output.status.success() && output.status.code() != Some(124), "{options:?}: {said}");
        assert!(said.contains("MPI_Comm_spawn") && said.contains("PMIx refuses to start processes"), "{said}");
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // Those that ask others for something, before those whom they ask.
        for daemon in self.daemons.iter_mut().rev() {
            let _ =
                rustix::process::kill_process(rustix::process::Pid::from_child(daemon), rustix::process::Signal::TERM);
            let begin = Instant::now();
            while daemon.try_wait().is_ok_and(|status| status.is_none()) {
                if begin.elapsed() > WATCHDOG {
                    let _ = daemon.kill();
                }
                sleep(POLL);
            }
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Whether Slurm's own plugin finds the library of PMIx that it was built with.
fn has_pmix(slurm: &Slurm) -> bool {
    let output = slurm.run(&["--mpi=pmix", "-N", "1"], "auto", "succeed");
    let complaint = String::from_utf8_lossy(&output.stderr);
    let missing = complaint.contains("can not load PMIx library") || complaint.contains("Invalid MPI type");
    if missing {
        println!("skipped for PMIx: Slurm's plugin does not find its library (Debian: apt-get install libpmix-dev)");
    }
    !missing
}

#[test]
fn slurm_starts_our_ranks() {
    let Some(slurm) = Slurm::start() else { return };
    for nodes in ["1", "2"] {
        slurm.all_goes_as_it_should(&["--mpi=pmi2", "-N", nodes]);
    }
    slurm.starts_what_ranks_spawn(&["--mpi=pmi2", "-N", "1"]);
    // Its plugin for PMIx cannot have two daemons on one machine.
    if has_pmix(&slurm) {
        slurm.all_goes_as_it_should(&["--mpi=pmix", "-N", "1"]);
        slurm.refuses_to_spawn(&["--mpi=pmix", "-N", "1"]);
    }
}

//! The conformance suite with peers that are processes, or threads in several processes, with the kernel's copy and
//! without it, and in the second lane of two; and what becomes of a job's file when its processes are killed.
//!
//! The program runs itself once for each peer; the environment then says which case and which peer.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use rustix::io::FdFlags;
use rwmpi_tests::conformance::cases;
use rwmpi_transport::{
    JOB_FD, Job, JobFabric, JobShape, Membership, NodeFabric, RANK, SIZE, SharedPlace, THREADS, Waiting, handed_down,
};

/// Far beyond what any case takes on a busy machine.
const WATCHDOG: Duration = Duration::from_secs(60);
/// Tells a peer which case it runs.
const CASE: &str = "FABRIC_PROCESSES_CASE";
/// The case of a peer that shall be killed: it sends and receives without end.
const ENDLESS: &str = "endless";

/// A test for each case and kind of processes.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (kind, kernel_copy) in [("processes", "on"), ("processes_without_kernel_copy", "off")] {
        for case in cases::<NodeFabric>() {
            let run = move |threads: usize, lanes: usize| run(case.name, case.peers, threads, lanes, kernel_copy);
            let name = |shape: &str| format!("{kind}{shape}/{}", case.name);
            trials.push(Trial::test(name(""), move || run(1, 1)));
            trials.push(Trial::test(name("_two_threads"), move || run(2, 1)));
            trials.push(Trial::test(name("_second_lane"), move || run(1, 2)));
        }
    }
    trials.push(Trial::test("processes/nothing_is_left_after_a_kill", nothing_is_left_after_a_kill));
    trials
}

/// If this process is a peer, or several: runs the case.
pub fn play_peer() -> bool {
    let case = env::var(CASE);
    case.iter().for_each(|case| join(case));
    case.is_ok()
}

fn join(name: &str) {
    if let Some(places) = SharedPlace::from_environment().expect("an environment") {
        return thread::scope(|scope| {
            let places = &places;
            for member in places.members() {
                scope.spawn(move || match places.attach(member).expect("a job").fabric {
                    JobFabric::Node(fabric) => play(name, fabric),
                    JobFabric::Cluster(_) => unreachable!("a job on one node"),
                });
            }
        });
    }
    let Membership { fabric: JobFabric::Node(first), mut lanes, .. } = Membership::from_environment().expect("a job")
    else {
        unreachable!("a job on one node")
    };
    match lanes.pop() {
        None => play(name, first),
        Some(last) => {
            play(name, last);
            first.finish();
        }
    }
}

fn play(name: &str, mut fabric: NodeFabric) {
    if name == ENDLESS {
        use rwmpi_transport::Backoff;
        let mut backoff = Backoff::default();
        loop {
            fabric.idle(&mut backoff);
        }
    }
    let case = cases::<NodeFabric>().into_iter().find(|case| case.name == name).expect("a case of this name");
    (case.run)(&mut fabric);
    fabric.finish();
}

/// The processes of a job; killed when it goes.
struct Peers(Vec<Child>);

impl Peers {
    fn start(job: &Job, case: &str, threads: usize, kernel_copy: &str) -> Result<Peers, Failed> {
        rustix::io::fcntl_setfd(job.as_fd(), FdFlags::empty())?;
        let file = handed_down(job.as_fd())?;
        let mut peers = Peers(Vec::new());
        for rank in (0..job.peers()).step_by(threads) {
            let threads = threads.min(job.peers() - rank);
            let child = Command::new(env::current_exe()?)
                .env(CASE, case)
                .env(JOB_FD, &file)
                .env(RANK, rank.to_string())
                .env(SIZE, job.peers().to_string())
                .env(THREADS, threads.to_string())
                .env("RWMPI_KERNEL_COPY", kernel_copy)
                .spawn()?;
            peers.0.push(child);
        }
        Ok(peers)
    }

    /// Waits for all to end well.
    fn await_success(&mut self) -> Result<(), Failed> {
        let deadline = Instant::now() + WATCHDOG;
        let mut running = self.0.len();
        while running > 0 {
            running = 0;
            for (peer, child) in self.0.iter_mut().enumerate() {
                match child.try_wait()? {
                    None => running += 1,
                    Some(status) if status.success() => {}
                    Some(status) => return Err(format!("peer {peer}: {status}").into()),
                }
            }
            if Instant::now() > deadline {
                return Err("the peers did not come to an end".into());
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn kill(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.kill();
    }
}

fn run(case: &str, peers: usize, threads: usize, lanes: usize, kernel_copy: &str) -> Result<(), Failed> {
    let job = Job::create_shaped(&JobShape { lanes, ..JobShape::of(peers) }, None)?;
    Peers::start(&job, case, threads, kernel_copy)?.await_success()?;
    for peer in 0..peers {
        if !job.attached(peer) || !job.finished(peer) || job.pid(peer).is_none() {
            return Err(format!("the job does not say that peer {peer} came and went").into());
        }
    }
    Ok(())
}

/// Kills the processes of a job in memory and of one in a directory: no file may be left.
fn nothing_is_left_after_a_kill() -> Result<(), Failed> {
    let names = |directory: &Path| -> Result<Vec<_>, Failed> {
        let mut names: Vec<_> =
            fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<_, _>>()?;
        names.retain(|name| name.to_string_lossy().contains("rwmpi"));
        Ok(names)
    };
    let own = env::temp_dir().join(format!("fabric-processes-{}", std::process::id()));
    fs::create_dir(&own)?;
    for directory in [None, Some(own.as_path())] {
        let job = Job::create(2, directory)?;
        let mut peers = Peers::start(&job, ENDLESS, 1, "on")?;
        let deadline = Instant::now() + WATCHDOG;
        while !(0..2).all(|peer| job.attached(peer)) {
            if Instant::now() > deadline {
                return Err("the peers did not attach".into());
            }
            thread::sleep(Duration::from_millis(2));
        }
        peers.kill();
        if job.finished(0) {
            return Err("a killed peer counts as finished".into());
        }
    }
    let left = [names(Path::new("/dev/shm"))?, names(&own)?].concat();
    fs::remove_dir_all(&own)?;
    if left.is_empty() { Ok(()) } else { Err(format!("left behind: {left:?}").into()) }
}

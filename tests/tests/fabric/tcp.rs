//! The conformance suite over TCP on loopback, with peers that are threads and with peers that are processes, and what
//! becomes of the others when a process is killed.
//!
//! The program runs itself once for each process; it tells it the job's secret and the addresses through a pipe.

use std::env;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use rwmpi_tests::conformance::{Case, cases};
use rwmpi_transport::{
    Backoff, Enqueue, Fabric, JobSecret, Network, PushError, Queue, Queues, ReadSpan, TcpEndpoint, TcpFabric, Waiting,
};

/// Far beyond what any case takes on a busy machine.
const WATCHDOG: Duration = Duration::from_secs(60);
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Tells a process which case it runs, and as which peer.
const CASE: &str = "FABRIC_TCP_CASE";
const ME: &str = "FABRIC_TCP_ME";
/// The case of a process that shall be killed while the others hear from it.
const TO_BE_KILLED: &str = "to be killed";

/// A test for each case, with threads and with processes.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for case in cases::<TcpFabric>() {
        let name = format!("tcp_threads/{}", case.name);
        trials.push(Trial::test(name, move || run_threads(&case)));
    }
    for case in cases::<TcpFabric>().into_iter().filter(|case| case.peers <= 6) {
        let name = format!("tcp_processes/{}", case.name);
        trials.push(Trial::test(name, move || Processes::start(case.name, case.peers)?.await_success()));
    }
    trials.push(Trial::test("tcp_processes/a_killed_peer_is_a_fault_of_that_peer", a_killed_peer_is_a_fault));
    trials
}

/// Runs a case; fails as soon as one peer does, and leaves the rest of its threads behind.
fn run_threads(case: &Case<TcpFabric>) -> Result<(), Failed> {
    let endpoints: Vec<TcpEndpoint> = (0..case.peers).map(|_| TcpFabric::bind(LOOPBACK)).collect::<Result<_, _>>()?;
    let addresses: Vec<_> = endpoints.iter().map(|endpoint| vec![endpoint.address()]).collect();
    let secret = JobSecret::random()?;
    let (report, reports) = channel();
    for (me, endpoint) in endpoints.into_iter().enumerate() {
        let mut fabric = endpoint.connect(me, addresses.clone(), secret.clone())?;
        let (report, run) = (report.clone(), case.run);
        thread::spawn(move || {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                run(&mut fabric);
                fabric.finish();
            }));
            let _ = report.send(outcome.is_ok());
        });
    }
    for _ in 0..case.peers {
        match reports.recv_timeout(WATCHDOG) {
            Ok(true) => {}
            Ok(false) => return Err("a peer panicked".into()),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err("the peers did not come to an end".into());
            }
        }
    }
    Ok(())
}

/// If this process is a peer: tells the starter the own address, hears the secret and all addresses, and runs the case.
pub fn play_peer() -> bool {
    let case = env::var(CASE);
    case.iter().for_each(|case| play(case));
    case.is_ok()
}

fn play(name: &str) {
    let me: usize = env::var(ME).expect("a number").parse().expect("a number");
    let endpoint = TcpFabric::bind(LOOPBACK).expect("a free port");
    println!("{}", endpoint.address());
    let mut said = Vec::new();
    std::io::stdin().read_to_end(&mut said).expect("a pipe");
    let (secret, addresses) = said.split_at(16);
    let addresses: Vec<Vec<SocketAddr>> = std::str::from_utf8(addresses)
        .expect("text")
        .lines()
        .map(|line| vec![line.parse().expect("an address")])
        .collect();
    let secret = JobSecret::from_bytes(secret.try_into().expect("16 bytes"));
    let mut fabric = endpoint.connect(me, addresses, secret).expect("a place");
    if name == TO_BE_KILLED {
        return to_be_killed(&mut fabric);
    }
    let case = cases::<TcpFabric>().into_iter().find(|case| case.name == name).expect("a case of this name");
    (case.run)(&mut fabric);
    fabric.finish();
}

/// The processes of a job; killed when it goes.
struct Processes(Vec<Child>);

impl Processes {
    fn start(case: &str, peers: usize) -> Result<Processes, Failed> {
        let mut processes = Processes(Vec::new());
        for me in 0..peers {
            let mut command = Command::new(env::current_exe()?);
            command.env(CASE, case).env(ME, me.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
            processes.0.push(command.spawn()?);
        }
        let mut addresses = String::new();
        for child in &mut processes.0 {
            let mut line = String::new();
            let output = child.stdout.take().expect("a pipe");
            std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line)?;
            addresses.push_str(&line);
        }
        let secret = JobSecret::random()?.to_bytes();
        for child in &mut processes.0 {
            let mut input = child.stdin.take().expect("a pipe");
            input.write_all(&secret)?;
            input.write_all(addresses.as_bytes())?;
        }
        Ok(processes)
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
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Peer 2 talks to the others until both have heard it for a while, and dies in the middle of it by SIGKILL; they hear
/// it out, and then the fault.
fn to_be_killed(fabric: &mut TcpFabric) {
    if fabric.me() == 2 { talk_until_killed(fabric) } else { hear_out_the_killed(fabric) }
}

fn talk_until_killed(fabric: &mut TcpFabric) {
    let mut heard = 0;
    while heard < 2 {
        for to in 0..2 {
            let _ = fabric.try_push(to, Queue::Messages, Enqueue::Retry, [0; 4], ReadSpan::from(&[7; 1000][..]));
            if fabric.front(to, Queue::Requests).expect("alive").is_some() {
                fabric.pop(to, Queue::Requests);
                heard += 1;
            }
        }
    }
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

fn hear_out_the_killed(fabric: &mut TcpFabric) {
    let mut backoff = Backoff::default();
    let mut heard = 0;
    loop {
        let Some(from) = fabric.ready(Queue::Messages) else {
            fabric.idle(&mut backoff);
            continue;
        };
        backoff = Backoff::default();
        match fabric.front(from, Queue::Messages) {
            Ok(cell) => assert!(cell.is_some_and(|cell| cell.len == 1000)),
            Err(fault) => {
                assert_eq!(fault.peer, 2);
                let pushed = fabric.try_push(2, Queue::Messages, Enqueue::Retry, [0; 4], ReadSpan::EMPTY);
                assert_eq!(pushed, Err(PushError::PeerLost { peer: 2 }));
                return;
            }
        }
        fabric.pop(from, Queue::Messages);
        heard += 1;
        if heard == 100 {
            fabric.try_push(2, Queue::Requests, Enqueue::Next, [0; 4], ReadSpan::EMPTY).expect("room");
        }
    }
}

fn a_killed_peer_is_a_fault() -> Result<(), Failed> {
    let mut processes = Processes::start(TO_BE_KILLED, 3)?;
    let mut victim = Processes(processes.0.split_off(2));
    processes.await_success()?;
    match victim.await_success() {
        Err(_) => Ok(()),
        Ok(()) => Err("the victim was not killed".into()),
    }
}

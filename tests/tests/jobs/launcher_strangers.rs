//! A job that strangers disturb: who scans its ports, and who sends it ten million random bytes at each place where it
//! listens.

use crate::launcher_support::{MPIEXEC, Running, mpiexec, runs};
use std::collections::{HashSet, VecDeque};
use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_launcher-mpi");
/// Where nobody else listens, so that nobody else is disturbed.
const HERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 77);
/// What the launcher says of them at the end.
const TURNED_AWAY: &str = "connections from outside the job turned away, most by rank";
/// Bytes for each listener.
const FUZZ: usize = 10_000_000;
/// Bytes of one connection at most: what the kernel takes before anybody reads.
const CONNECTION: usize = 1 << 16;

/// The addresses at which these processes listen.
fn listeners(pids: &[i32]) -> Vec<String> {
    let sockets: HashSet<String> = pids
        .iter()
        .flat_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten())
        .filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.to_str()?.to_owned()))
        .collect();
    let table = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default()).concat();
    let address_of = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        (*state == "0A" && sockets.contains(&format!("socket:[{inode}]"))).then(|| (*local).to_owned())
    };
    table.lines().filter_map(address_of).collect()
}

fn ports(pids: &[i32]) -> Vec<u16> {
    let here = format!("{:08X}", u32::from_le_bytes(HERE.octets()));
    let port = |address: &String| {
        let (host, port) = address.split_once(':').unwrap();
        assert_eq!(host, here, "ranks listen where they were told and nowhere else");
        u16::from_str_radix(port, 16).unwrap()
    };
    listeners(pids).iter().map(port).collect()
}

fn connect(port: u16) -> Option<TcpStream> {
    let address = SocketAddr::from((HERE, port));
    TcpStream::connect_timeout(&address, Duration::from_secs(5)).ok()
}

/// Sends random bytes, connection after connection, of which some begin as a hello does.
fn fuzz(port: u16, mut random: u64) {
    let mut bytes = vec![0_u8; CONNECTION];
    let mut sent = 0;
    while sent < FUZZ {
        for word in bytes.chunks_exact_mut(8) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            word.copy_from_slice(&random.to_le_bytes());
        }
        if random.is_multiple_of(2) {
            for (place, number) in bytes.chunks_exact_mut(4).zip([1_u32, 4, random as u32 % 4, 0]) {
                place.copy_from_slice(&number.to_le_bytes());
            }
        }
        let mut stranger = connect(port).expect("the job runs until it is told to end");
        stranger.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
        let len = if random.is_multiple_of(8) { random as usize % 200 } else { CONNECTION };
        let mut rest = &bytes[..len];
        // Until it is thrown out, or nobody reads.
        while let Ok(count) = stranger.write(rest)
            && count > 0
        {
            sent += count;
            rest = &rest[count..];
        }
    }
}

/// The ports at which the ranks of a job listen, once all of them do.
fn ports_of_ranks(running: &Running, ranks: usize) -> Vec<u16> {
    let pids = running.processes(ranks, |pid| runs(pid, "launcher-mpi"));
    let begin = Instant::now();
    loop {
        let ports = ports(&pids);
        if ports.len() == ranks {
            return ports;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "the ranks listen at {ports:?} only");
        sleep(Duration::from_millis(10));
    }
}

/// Opens a thousand connections a second that say nothing, until nobody listens any more.
fn flood(port: u16) {
    let mut open = VecDeque::new();
    while let Some(stranger) = connect(port) {
        open.push_back(stranger);
        open.drain(..open.len().saturating_sub(200));
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_flood_of_silent_connections_keeps_no_rank_out() {
    let here = HERE.to_string();
    let options = ["-n", "4", "--transport", "tcp", "--timeout", "100", "-genv", "RWMPI_LISTEN", &here];
    let running = mpiexec(options.into_iter().chain([PROGRAM, "seldom"])).start();
    let ports = ports_of_ranks(&running, 4);
    std::thread::scope(|scope| {
        for port in ports {
            scope.spawn(move || flood(port));
        }
    });
    let finished = running.wait();
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(finished.stdout.matches("all in order").count(), 4, "{finished:?}");
    assert!(finished.stderr.contains(TURNED_AWAY), "{finished:?}");
}

#[test]
fn scans_and_random_bytes_do_a_job_no_harm() {
    // Its hosts are this machine, by names that are variables that nobody needs.
    let agent = "env -u";
    let here = HERE.to_string();
    let options = ["-n", "4", "-hosts", "A,B", "--launch-agent", agent, "-genv", "RWMPI_LISTEN", &here];
    let (running, stdin) = mpiexec(options.into_iter().chain([PROGRAM, "exchange"])).start_with_stdin();
    let ports = ports_of_ranks(&running, 4);
    let launchers =
        running.processes(2, |pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ends_with(MPIEXEC)));
    assert_eq!(listeners(&[&launchers[..], &[running.pid()]].concat()), [""; 0], "nobody else listens");
    let found: Vec<u16> = (1024..=u16::MAX).filter(|&port| connect(port).is_some()).collect();
    assert!(ports.iter().all(|port| found.contains(port)), "{ports:?} {found:?}");
    std::thread::scope(|scope| {
        for (index, &port) in ports.iter().enumerate() {
            scope.spawn(move || fuzz(port, 0x2545_f491_4f6c_dd1d + index as u64));
        }
    });
    drop(stdin);
    let finished = running.wait();
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(finished.stdout.matches("all in order").count(), 4, "{finished:?}");
    assert!(finished.stderr.contains(TURNED_AWAY), "{finished:?}");
}

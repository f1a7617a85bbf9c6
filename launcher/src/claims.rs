//! Which job has which core.
//!
//! A launcher listens on an abstract socket named after every core that it hands out; the kernel drops those with the
//! launcher. Such a name belongs to whoever takes it first, so it is looked at who that is: what a job of this user
//! holds is held, and what another user holds is if it has tied a process to the core. Nobody is kept from a core by a
//! name alone.

use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::process::Pid;
use rustix::thread::CpuSet;
use std::fs;
use std::os::fd::OwnedFd;

/// How many may look at a claim before nobody else can.
const LOOKS_MAX: i32 = 4096;

/// A core that is held; dropping it gives the core back.
#[derive(Debug)]
pub(crate) struct Claim {
    _socket: Option<OwnedFd>,
}

/// Takes the core with these hardware threads; `None`: another job holds it.
pub(crate) fn claim(cpus: &[usize]) -> Option<Claim> {
    let free = Some(Claim { _socket: None });
    let address = SocketAddrUnix::new_abstract_name(format!("rwmpi-core-{}", cpus[0]).as_bytes());
    let (Ok(address), Ok(socket)) = (address, new_socket()) else { return free };
    match rustix::net::bind(&socket, &address) {
        Ok(()) => match rustix::net::listen(&socket, LOOKS_MAX) {
            Ok(()) => Some(Claim { _socket: Some(socket) }),
            Err(_) => free,
        },
        Err(Errno::ADDRINUSE) if is_held(&address, cpus) => None,
        // By nobody who counts; or there are no such sockets here, so nobody can hold it.
        Err(_) => free,
    }
}

fn new_socket() -> rustix::io::Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}

/// Whether a job has taken the name, and not somebody else.
fn is_held(address: &SocketAddrUnix, cpus: &[usize]) -> bool {
    let holder = new_socket().and_then(|socket| {
        rustix::net::connect(&socket, address)?;
        socket_peercred(&socket)
    });
    holder.is_ok_and(|holder| holder.uid == rustix::process::geteuid() || has_tied_a_child(holder.pid, cpus))
}

/// Whether a child of that process may run on these hardware threads only.
fn has_tied_a_child(parent: Pid, cpus: &[usize]) -> bool {
    let tasks = fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero()));
    let lists = tasks.into_iter().flatten().flatten();
    let children = lists.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    let is_tied = |mask: CpuSet| (0..CpuSet::MAX_CPU).all(|cpu| !mask.is_set(cpu) || cpus.contains(&cpu));
    let is_tied_child = |pid: &str| {
        let pid = pid.parse().ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| rustix::thread::sched_getaffinity(Some(pid)).is_ok_and(is_tied))
    };
    children.into_iter().any(|list| list.split_whitespace().any(is_tied_child))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    /// Numbers beyond any real core's.
    fn cpu(test: usize) -> [usize; 1] {
        [2_000_000_000 + std::process::id() as usize * 10 + test]
    }

    #[test]
    fn a_core_is_held_until_its_claim_is_dropped() {
        let first = claim(&cpu(0));
        assert!(first.is_some() && claim(&cpu(0)).is_none());
        drop(first);
        assert!(claim(&cpu(0)).is_some());
    }

    #[test]
    fn a_name_alone_keeps_nobody_away() {
        let name = SocketAddr::from_abstract_name(format!("rwmpi-core-{}", cpu(1)[0])).unwrap();
        let _holder = UnixDatagram::bind_addr(&name).unwrap();
        assert!(claim(&cpu(1)).is_some());
    }

    #[test]
    fn only_who_ties_a_child_uses_the_core_of_others() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mask = rustix::thread::sched_getaffinity(Some(Pid::from_child(&child))).unwrap();
        let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect();
        assert!(has_tied_a_child(rustix::process::getpid(), &all));
        assert!(!has_tied_a_child(rustix::process::getpid(), &cpu(2)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

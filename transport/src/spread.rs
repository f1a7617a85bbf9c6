//! Processes of several jobs that come together although they are on several machines.
//!
//! Each says where it is ([`Arriving`]), and all learn what all have said, by ways that are not this module's matter.
//! Then the first one of each machine makes a file for those there ([`crate::Joint`]), says where it has it, and all
//! take their seats ([`Seats`]): as in a job of several nodes, members of a machine share memory, and others connect by
//! TCP once they have something for each other, with a secret that is drawn for this meeting.
//!
//! Machines are told apart by what their kernels say, so that two jobs agree about them although they know nothing of
//! each other. Processes in different name spaces of one machine are taken for those of several: they may not be able
//! to open each other's files.
#![forbid(unsafe_code)]

use std::net::SocketAddr;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::environment::{self, HOST};
use crate::job_error::JobError;
use crate::joint::Joint;
use crate::membership::{self, JobFabric};
use crate::tcp::handshake::random_bytes;
use crate::{ClusterFabric, JobSecret, TcpEndpoint, TcpFabric};

/// This process, which is on its way.
pub struct Arriving {
    endpoint: TcpEndpoint,
    machine: String,
}

impl Arriving {
    /// Listens for the others.
    ///
    /// # Errors
    /// If it can't, or the environment makes no sense.
    pub fn new() -> Result<Arriving, JobError> {
        Ok(Arriving { endpoint: TcpFabric::bind(membership::interface(false)?)?, machine: machine()? })
    }

    /// What the others have to know of it: a line.
    pub fn said(&self) -> String {
        format!("{} {} {}", self.machine, std::process::id(), self.endpoint.address())
    }
}

/// A word for the machine, the same for all processes that can share memory.
fn machine() -> Result<String, JobError> {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let spaces = ["pid", "net", "user"].map(|space| std::fs::read_link(format!("/proc/self/ns/{space}")).ok());
    let (Some(kernel), [Some(pid), Some(net), Some(user)], false) = (kernel, spaces, membership::only_network()?)
    else {
        // Nobody is near.
        return Ok(format!("{:032x}", u128::from_be_bytes(random_bytes().map_err(JobError::Secret)?)));
    };
    let owner = rustix::process::geteuid().as_raw();
    let (pid, net, user) = (pid.display(), net.display(), user.display());
    let word = format!("{}/{pid}/{net}/{user}/{owner}/{}", kernel.trim(), pretended()?);
    Ok(word.split_ascii_whitespace().collect())
}

/// Which of several hosts this process is to believe that it is on, where that is one machine.
fn pretended() -> Result<String, JobError> {
    if let Some(name) = environment::text_of(HOST)? {
        return Ok(name);
    }
    Ok(environment::own_node()?.unwrap_or_default())
}

/// Where all are, as one of them knows it.
#[derive(Debug)]
pub struct Seats {
    me: usize,
    /// For each of them, the first one of the same machine.
    first: Vec<usize>,
    processes: Vec<Option<Pid>>,
    addresses: Vec<SocketAddr>,
}

impl Seats {
    /// For the member of that number, where these have been [said](Arriving::said).
    ///
    /// # Errors
    /// If it is none of them, or one has said something else.
    pub fn of<'a>(said: impl IntoIterator<Item = &'a str>, me: usize) -> Result<Seats, JobError> {
        let (mut machines, mut first) = (Vec::new(), Vec::new());
        let (mut processes, mut addresses) = (Vec::new(), Vec::new());
        for (peer, line) in said.into_iter().enumerate() {
            let silent = || JobError::Silent { peer };
            let [machine, process, address] =
                *line.split(' ').collect::<Vec<_>>().first_chunk::<3>().ok_or_else(silent)?;
            machines.push(machine);
            first.push(machines.iter().position(|other| *other == machine).unwrap_or(peer));
            processes.push(Pid::from_raw(process.parse().map_err(|_| silent())?));
            addresses.push(address.parse().map_err(|_| silent())?);
        }
        if me >= first.len() {
            return Err(JobError::NoSuchPeer { me, peers: first.len() });
        }
        Ok(Seats { me, first, processes, addresses })
    }

    /// Who makes the file for those of this machine.
    pub fn maker(&self) -> usize {
        self.first[self.me]
    }

    /// The members of this machine.
    fn here(&self) -> Vec<usize> {
        (0..self.first.len()).filter(|&peer| self.first[peer] == self.maker()).collect()
    }

    /// The file for those of this machine, which this process is to make.
    ///
    /// # Errors
    /// As for [`Joint::create`].
    pub fn make_file(&self) -> Result<Joint, JobError> {
        Joint::create(self.here().len())
    }

    /// Takes the seat, where `joint` is the file of this machine. Returns when all of this machine have taken theirs,
    /// as long as those that have not come are `expected`.
    ///
    /// # Errors
    /// As for [`Joint::attach_while`], or if the system gives no means to wait for sockets.
    pub fn sit(
        self,
        joint: &Joint,
        arriving: Arriving,
        secret: JobSecret,
        expected: &dyn Fn() -> bool,
    ) -> Result<JobFabric, JobError> {
        let here = self.here();
        let number = here.iter().position(|&peer| peer == self.me).unwrap_or(0);
        if joint.members() != here.len() {
            return Err(JobError::NotAJob("it is for others"));
        }
        // Of another job, nobody else says that one has died on its way.
        let is_no_more = |process: Pid| test_kill_process(process) == Err(Errno::SRCH);
        let are_there = || !here.iter().filter_map(|&peer| self.processes[peer]).any(is_no_more);
        let node = joint.attach_while(number, &|| expected() && are_there())?;
        if here.len() == self.first.len() {
            return Ok(JobFabric::Node(node));
        }
        let addresses = self.addresses.iter().map(|&address| vec![address]).collect();
        let mut network = arriving.endpoint.connect(self.me, addresses, secret)?;
        network.publish_turned_away(node.turned_away_record());
        Ok(JobFabric::Cluster(Box::new(ClusterFabric::new(node, network, here, self.first))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SharedMemory;

    fn said(machine: &str, arriving: &Arriving) -> String {
        let said = arriving.said();
        format!("{machine} {}", said.split_once(' ').unwrap().1)
    }

    #[test]
    fn members_of_a_machine_share_memory_and_others_do_not() {
        let arriving = [0; 3].map(|_| Arriving::new().unwrap());
        let lines = [said("a", &arriving[0]), said("b", &arriving[1]), said("a", &arriving[2])];
        let seats = [0, 1, 2].map(|me| Seats::of(lines.iter().map(String::as_str), me).unwrap());
        assert_eq!(seats.each_ref().map(Seats::maker), [0, 1, 0]);
        let files = [&seats[0], &seats[1]].map(|seats| seats.make_file().unwrap());
        assert_eq!(files.each_ref().map(Joint::members), [2, 1]);
        let secret = JobSecret::random().unwrap();
        let fabrics = std::thread::scope(|scope| {
            let sitting = seats.into_iter().zip(arriving).zip([0, 1, 0]).map(|((seats, arriving), file)| {
                let (file, secret) = (&files[file], secret.clone());
                scope.spawn(move || seats.sit(file, arriving, secret, &|| true).unwrap())
            });
            sitting.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let JobFabric::Cluster(first) = &fabrics[0] else { panic!("it is on several machines") };
        assert_eq!([0, 1, 2].map(|peer| first.shares_memory_with(peer)), [true, false, true]);
    }

    #[test]
    fn who_is_on_one_machine_needs_no_network() {
        let arriving = Arriving::new().unwrap();
        let seats = Seats::of([&*arriving.said()], 0).unwrap();
        let file = seats.make_file().unwrap();
        let fabric = seats.sit(&file, arriving, JobSecret::random().unwrap(), &|| true).unwrap();
        assert!(matches!(fabric, JobFabric::Node(_)));
    }

    #[test]
    fn nobody_waits_for_a_process_that_is_no_more() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let arriving = Arriving::new().unwrap();
        let line = said("a", &arriving);
        let gone = line.replacen(&std::process::id().to_string(), &child.id().to_string(), 1);
        let seats = Seats::of([&*line, &gone], 0).unwrap();
        let file = seats.make_file().unwrap();
        let failed = seats.sit(&file, arriving, JobSecret::random().unwrap(), &|| true).err();
        assert!(matches!(failed, Some(JobError::OthersGone)));
    }

    #[test]
    fn nonsense_is_refused() {
        for line in ["", "a", "a 1", "a x 192.0.2.7:1", "a 1 nowhere", "a 1 192.0.2.7"] {
            assert!(matches!(Seats::of([line], 0), Err(JobError::Silent { peer: 0 })), "{line}");
        }
        assert!(matches!(Seats::of(["a 1 192.0.2.7:1"], 1), Err(JobError::NoSuchPeer { .. })));
    }
}

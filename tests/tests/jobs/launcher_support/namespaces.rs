//! Hosts that are network namespaces of this machine, joined by a cable, or by several that meet at the first of them.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Output};

/// What reaches such a host.
pub const AGENT: &str = "ip netns exec";
/// The end of a bad cable.
const BAD_CABLE: &str = env!("CARGO_BIN_EXE_bad-cable");

/// Some hosts; they are gone when this is dropped.
pub struct Hosts {
    pub names: Vec<String>,
    ends: Vec<Child>,
}

impl Hosts {
    /// Two hosts with a good cable between them. `None`, with a word about it, where this user or this machine cannot
    /// have network namespaces.
    pub fn new() -> Option<Hosts> {
        let hosts = Hosts::without_cable(2)?;
        let (a, b) = (&hosts.names[0], &hosts.names[1]);
        must(&["-n", a, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", b]);
        hosts.configure();
        Some(hosts)
    }

    /// So many hosts with good cables; otherwise like [`Hosts::new`].
    pub fn many(count: usize) -> Option<Hosts> {
        let hosts = Hosts::without_cable(count)?;
        let hub = &hosts.names[0];
        must(&["-n", hub, "link", "add", "cable", "type", "bridge"]);
        for (number, name) in hosts.names.iter().enumerate().skip(1) {
            let end = format!("end{number}");
            must(&["-n", hub, "link", "add", &end, "type", "veth", "peer", "name", "cable", "netns", name]);
            must(&["-n", hub, "link", "set", &end, "master", "cable", "up"]);
        }
        hosts.configure();
        Some(hosts)
    }

    /// Two hosts with a cable on which packets are late by microseconds, and up to so many more, and of which so many
    /// of a thousand are lost.
    pub fn with_bad_cable(delay: u32, jitter: u32, loss: u32) -> Option<Hosts> {
        if !Path::new("/dev/net/tun").exists() {
            println!("skipped: no tunnels here");
            return None;
        }
        let mut hosts = Hosts::without_cable(2)?;
        hosts.names.iter().for_each(|name| must(&["-n", name, "tuntap", "add", "dev", "cable", "mode", "tun"]));
        let (one, other) = UnixDatagram::pair().unwrap();
        for (name, socket) in hosts.names.iter().zip([one, other]) {
            let mut end = Command::new("ip");
            end.args(["netns", "exec", name, BAD_CABLE]).args([delay, jitter, loss].map(|number| number.to_string()));
            hosts.ends.push(end.stdin(OwnedFd::from(socket)).spawn().expect("ip runs"));
        }
        hosts.configure();
        Some(hosts)
    }

    fn without_cable(count: usize) -> Option<Hosts> {
        remove_what_others_left();
        let names = (0..count).map(|number| format!("rwmpi-{}-{number}", std::process::id())).collect();
        let hosts = Hosts { names, ends: Vec::new() };
        for name in &hosts.names {
            let made = ip(&["netns", "add", name]);
            if !made.as_ref().is_some_and(|output| output.status.success()) {
                println!("skipped: no network namespaces here: {made:?}");
                return None;
            }
        }
        Some(hosts)
    }

    fn configure(&self) {
        for (number, name) in self.names.iter().enumerate() {
            let address = format!("192.0.2.{}/24", number + 1);
            must(&["-n", name, "address", "add", &address, "dev", "cable"]);
            must(&["-n", name, "link", "set", "lo", "up"]);
            must(&["-n", name, "link", "set", "cable", "up"]);
        }
    }

    /// As `-hosts` has them.
    pub fn list(&self) -> String {
        self.names.join(",")
    }

    /// The processes on each of them.
    pub fn processes(&self) -> Vec<Vec<i32>> {
        let on = |name: &String| {
            let list = ip(&["netns", "pids", name]).expect("ip runs").stdout;
            String::from_utf8_lossy(&list).lines().map(|pid| pid.parse().expect("a number")).collect()
        };
        self.names.iter().map(on).collect()
    }

    /// Pulls the cable, or plugs it in again.
    pub fn connect(&self, connected: bool) {
        must(&["-n", &self.names[1], "link", "set", "cable", if connected { "up" } else { "down" }]);
    }
}

/// How many ends of connections with other hosts are a process's. (By those within a host, ranks wake each other.)
pub fn ends_of_connections(pid: i32) -> usize {
    let table = fs::read_to_string(format!("/proc/{pid}/net/tcp")).expect("a process");
    let address = |end: &str| end.split(':').next().map(str::to_owned);
    let is_outward = |line: &Vec<&str>| line[3] == "01" && address(line[1]) != address(line[2]);
    let established = table.lines().map(|line| line.split_whitespace().collect()).filter(is_outward);
    let established: Vec<_> = established.map(|line| format!("socket:[{}]", line[9])).collect();
    let open = fs::read_dir(format!("/proc/{pid}/fd")).expect("a process");
    let names = open.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    names.filter(|name| established.iter().any(|socket| name == Path::new(socket))).count()
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for end in &mut self.ends {
            let _ = end.kill();
            let _ = end.wait();
        }
        for name in &self.names {
            ip(&["netns", "delete", name]);
        }
    }
}

/// Namespaces of tests that were killed.
fn remove_what_others_left() {
    let Some(list) = ip(&["netns", "list"]) else { return };
    for name in String::from_utf8_lossy(&list.stdout).lines().filter_map(|line| line.split(' ').next()) {
        let process = name.strip_prefix("rwmpi-").and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            ip(&["netns", "delete", name]);
        }
    }
}

fn ip(arguments: &[&str]) -> Option<Output> {
    Command::new("ip").args(arguments).output().ok()
}

fn must(arguments: &[&str]) {
    let output = ip(arguments).expect("ip runs");
    assert!(output.status.success(), "ip {arguments:?}: {output:?}");
}

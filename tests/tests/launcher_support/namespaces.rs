//! Two hosts that are network namespaces of this machine, joined by a cable.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Output};

/// What reaches such a host.
pub const AGENT: &str = "ip netns exec";
/// The end of a bad cable.
const BAD_CABLE: &str = env!("CARGO_BIN_EXE_bad-cable");

/// Two hosts; they are gone when this is dropped.
pub struct Hosts {
    pub names: [String; 2],
    ends: Vec<Child>,
}

impl Hosts {
    /// Hosts with a good cable between them. `None`, with a word about it, where this user or this machine cannot have network namespaces.
    pub fn new() -> Option<Hosts> {
        let hosts = Hosts::without_cable()?;
        let [a, b] = &hosts.names;
        must(&["-n", a, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", b]);
        hosts.configure();
        Some(hosts)
    }

    /// Hosts with a cable on which packets are late by microseconds, and up to so many more, and of which so many of a thousand are lost.
    pub fn with_bad_cable(delay: u32, jitter: u32, loss: u32) -> Option<Hosts> {
        if !Path::new("/dev/net/tun").exists() {
            println!("skipped: no tunnels here");
            return None;
        }
        let mut hosts = Hosts::without_cable()?;
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

    fn without_cable() -> Option<Hosts> {
        remove_what_others_left();
        let names = ["a", "b"].map(|name| format!("rwmpi-{}-{name}", std::process::id()));
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
        for (name, address) in self.names.iter().zip(["192.0.2.1/24", "192.0.2.2/24"]) {
            must(&["-n", name, "address", "add", address, "dev", "cable"]);
            must(&["-n", name, "link", "set", "lo", "up"]);
            must(&["-n", name, "link", "set", "cable", "up"]);
        }
    }

    /// As `-hosts` has them.
    pub fn list(&self) -> String {
        self.names.join(",")
    }

    /// Pulls the cable, or plugs it in again.
    pub fn connect(&self, connected: bool) {
        must(&["-n", &self.names[1], "link", "set", "cable", if connected { "up" } else { "down" }]);
    }
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

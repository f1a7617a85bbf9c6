//! Two hosts that are network namespaces of this machine, joined by a cable.

use std::path::Path;
use std::process::{Command, Output};

/// What reaches such a host.
pub const AGENT: &str = "ip netns exec";

/// Two hosts; they are gone when this is dropped.
pub struct Hosts {
    pub names: [String; 2],
}

impl Hosts {
    /// `None`, with a word about it, where this user or this machine cannot have network namespaces.
    pub fn new() -> Option<Hosts> {
        remove_what_others_left();
        let names = ["a", "b"].map(|name| format!("rwmpi-{}-{name}", std::process::id()));
        let hosts = Hosts { names };
        let [a, b] = &hosts.names;
        for name in [a, b] {
            let made = ip(&["netns", "add", name]);
            if !made.as_ref().is_some_and(|output| output.status.success()) {
                println!("skipped: no network namespaces here: {made:?}");
                return None;
            }
        }
        must(&["-n", a, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", b]);
        for (name, address) in [(a, "192.0.2.1/24"), (b, "192.0.2.2/24")] {
            must(&["-n", name, "address", "add", address, "dev", "cable"]);
            must(&["-n", name, "link", "set", "lo", "up"]);
            must(&["-n", name, "link", "set", "cable", "up"]);
        }
        Some(hosts)
    }

    /// As `-hosts` has them.
    pub fn list(&self) -> String {
        self.names.join(",")
    }

    /// Pulls the cable, or plugs it in again.
    pub fn connect(&self, connected: bool) {
        must(&["-n", &self.names[1], "link", "set", "cable", if connected { "up" } else { "down" }]);
    }

    /// Makes the cable a bad one, in both directions; false if this kernel does not know how.
    pub fn spoil(&self, how: &[&str]) -> bool {
        self.names.iter().all(|name| {
            let mut command = Command::new("tc");
            command.args(["-n", name, "qdisc", "replace", "dev", "cable", "root", "netem"]).args(how);
            command.output().is_ok_and(|output| output.status.success())
        })
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
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

//! What this machine is called, and which names of hosts mean it.

use crate::hosts::HostSlots;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};

/// The name that it gives itself.
pub(crate) fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Whether `host` is a name or an address of this machine: what it is called, or anything that leads to an address of
/// its own.
pub(crate) fn is_meant_by(host: &str) -> bool {
    let is_called = |name: &str| host.eq_ignore_ascii_case(name);
    if is_called("localhost") || is_called(&name()) {
        return true;
    }
    // What only the agent knows leads nowhere here.
    (host, 0).to_socket_addrs().is_ok_and(|mut addresses| addresses.any(is_own))
}

/// Whether an interface of this machine has the address: the kernel lets nobody bind to another's.
fn is_own(address: SocketAddr) -> bool {
    address.ip().is_loopback() || UdpSocket::bind(address).is_ok()
}

/// Gives all that mean this machine the name that it is called first, so that it is one host; that name, if there is
/// one.
pub(crate) fn unite(hosts: &mut [HostSlots]) -> Option<String> {
    let mut here: Option<String> = None;
    let mut others: Vec<String> = Vec::new();
    for host in hosts {
        if others.contains(&host.name) {
            continue;
        }
        if here.as_ref() == Some(&host.name) || is_meant_by(&host.name) {
            host.name = here.get_or_insert_with(|| host.name.clone()).clone();
        } else {
            others.push(host.name.clone());
        }
    }
    here
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::parse_list;

    #[test]
    fn every_name_and_address_of_this_machine_means_it() {
        let mut names: Vec<String> =
            ["localhost", "LocalHost", "127.0.0.1", "127.3.2.1"].map(str::to_owned).into_iter().collect();
        names.push(name());
        names.extend(rwmpi_transport::first_to_others().map(|address| address.to_string()));
        for name in names {
            assert!(is_meant_by(&name), "{name}");
        }
        // Addresses for documentation, which nobody has; a name that nobody can have.
        for other in ["198.51.100.7", "2001:db8::1", "no-such-host.invalid"] {
            assert!(!is_meant_by(other), "{other}");
        }
    }

    #[test]
    fn several_names_of_this_machine_become_one() {
        let mut hosts = parse_list("198.51.100.7,127.0.0.1:2,localhost,198.51.100.7").unwrap().0;
        assert_eq!(unite(&mut hosts).as_deref(), Some("127.0.0.1"));
        let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["198.51.100.7", "127.0.0.1", "127.0.0.1", "198.51.100.7"]);
        assert_eq!(unite(&mut parse_list("198.51.100.7").unwrap().0), None);
    }
}

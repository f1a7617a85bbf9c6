//! The addresses of this machine.
#![forbid(unsafe_code)]

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;

/// The address of the interface of that name, IPv4 first; or that address, if an interface has it.
pub fn address_of_interface(name: &str) -> Option<IpAddr> {
    let wanted: Option<IpAddr> = name.parse().ok();
    let interfaces = getifaddrs().ok()?;
    let mut addresses: Vec<IpAddr> = interfaces
        .filter(|interface| wanted.is_some() || interface.interface_name == name)
        .filter_map(|interface| usable_address(interface.address?))
        .filter(|address| wanted.is_none_or(|wanted| wanted == *address))
        .collect();
    addresses.sort_by_key(IpAddr::is_ipv6);
    addresses.first().copied()
}

/// The first address at which other machines may reach this one: of an interface that is up and is not the loopback,
/// IPv4 first.
pub fn first_to_others() -> Option<IpAddr> {
    let mut addresses: Vec<IpAddr> = getifaddrs()
        .ok()?
        .filter(|interface| {
            interface.flags.contains(InterfaceFlags::IFF_UP) && !interface.flags.contains(InterfaceFlags::IFF_LOOPBACK)
        })
        .filter_map(|interface| usable_address(interface.address?))
        .filter(|address| !matches!(address, IpAddr::V4(address) if address.is_link_local()))
        .collect();
    addresses.sort_by_key(IpAddr::is_ipv6);
    addresses.first().copied()
}

/// An address of IP that can be used without the name of an interface beside it.
fn usable_address(address: SockaddrStorage) -> Option<IpAddr> {
    let version_4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    let version_6 = || address.as_sockaddr_in6().map(|address| address.ip());
    version_4.or_else(|| version_6().filter(|address| !address.is_unicast_link_local()).map(IpAddr::V6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn interfaces_are_found_by_name_and_by_address() {
        let loopback = Some(Ipv4Addr::LOCALHOST.into());
        assert_eq!(address_of_interface("lo"), loopback);
        assert_eq!(address_of_interface("127.0.0.1"), loopback);
        assert_eq!(address_of_interface("no-such-one"), None);
        assert_eq!(address_of_interface("192.0.2.77"), None);
    }
}

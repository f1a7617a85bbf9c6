//! The addresses of this machine.
#![forbid(unsafe_code)]

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

/// The first address at which other machines may reach this one: of an interface that is up and is not the loopback, IPv4 first.
pub fn first_to_others() -> Option<IpAddr> {
    let mut addresses: Vec<IpAddr> = getifaddrs()
        .ok()?
        .filter(|interface| {
            interface.flags.contains(InterfaceFlags::IFF_UP) && !interface.flags.contains(InterfaceFlags::IFF_LOOPBACK)
        })
        .filter_map(|interface| {
            let address = interface.address?;
            let version_4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
            version_4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
        })
        .filter(|address| match address {
            IpAddr::V4(address) => !address.is_link_local(),
            // Needs the name of an interface beside it.
            IpAddr::V6(address) => !address.is_unicast_link_local(),
        })
        .collect();
    addresses.sort_by_key(IpAddr::is_ipv6);
    addresses.first().copied()
}

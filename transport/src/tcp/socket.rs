//! Sockets: their options, and the two calls that move bytes between them and spans.
//!
//! Spans are raw memory, so the calls are made with raw addresses; no reference to memory that somebody else may change
//! is ever formed.
#![allow(unsafe_code)]

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use nix::libc;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::descriptor::raised;
#[cfg(test)]
use crate::tcp::stingy;
use crate::{ReadSpan, WriteSpan};

/// Connections that may wait until this peer looks.
pub(crate) const BACKLOG: i32 = 4096;
/// A connection on which nothing has moved for so long is asked whether it is alive, ...
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(10);
/// (As long as the other has not said a word, after so long, ...)
const FIRST_QUESTION_AFTER: Duration = Duration::from_secs(1);
/// ... so often, ...
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// ... so many times. A cable may be out for as long as all that takes.
const KEEP_ALIVE_PROBES: u32 = 6;
/// Bytes that were sent and not acknowledged for so long mean the same.
const UNACKNOWLEDGED: Duration = Duration::from_secs(40);
/// The congestion control of connections within a machine, where nothing is congested. Others send by the clock, at the
/// rate that they believe the network has (BBR), and data wait for no reason. Every kernel has this one, and lets
/// everybody choose it. A connection that has once stood under a control with a clock keeps the clock under any other:
/// so this one comes first.
const WITHOUT_CLOCK: &str = "reno";

/// A socket that listens at `address`.
pub(crate) fn listen(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = stream_socket(address)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// A socket that connects to `address`; writable when it has done so, or failed.
///
/// If the other stops listening at that moment, this side may take for a connection what the other side has dropped
/// without a word. Since it waits for the other to speak first, only the kernel's questions can bring that to light.
pub(crate) fn start_to_connect(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = stream_socket(address)?;
    sockopt::set_socket_keepalive(&socket, true)?;
    sockopt::set_tcp_keepidle(&socket, FIRST_QUESTION_AFTER)?;
    sockopt::set_tcp_keepintvl(&socket, KEEP_ALIVE_INTERVAL)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// The next connection that waits at `listener`, and where it comes from.
pub(crate) fn accept(listener: &OwnedFd) -> io::Result<(OwnedFd, Option<IpAddr>)> {
    let (socket, from) = rustix::net::acceptfrom_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
    Ok((raised(socket), from.and_then(|from| SocketAddr::try_from(from).ok()).map(|from| from.ip())))
}

fn stream_socket(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = raised(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?);
    // Where the kernel does not let us, its own choice is slower, not wrong. What is accepted begins with what the
    // listener has.
    let _ = sockopt::set_tcp_congestion(&socket, WITHOUT_CLOCK);
    Ok(socket)
}

/// The congestion control that connections have of which nobody says anything.
fn usual_control() -> io::Result<String> {
    let untouched = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    Ok(sockopt::tcp_congestion(untouched)?)
}

/// Options of every connection.
pub(crate) fn prepare(socket: &OwnedFd) -> io::Result<()> {
    // Cells go out at once; whoever has several writes them in one call.
    sockopt::set_tcp_nodelay(socket, true)?;
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, KEEP_ALIVE_AFTER)?;
    sockopt::set_tcp_keepintvl(socket, KEEP_ALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(socket, KEEP_ALIVE_PROBES)?;
    sockopt::set_tcp_user_timeout(socket, UNACKNOWLEDGED.as_millis() as u32)?;
    if !is_within_machine(socket)? {
        let _ = sockopt::set_tcp_congestion(socket, &usual_control()?);
    }
    Ok(())
}

/// Whether both ends have one address: no network lies between.
fn is_within_machine(socket: &OwnedFd) -> io::Result<bool> {
    let here = SocketAddr::try_from(rustix::net::getsockname(socket)?)?;
    let there = rustix::net::getpeername(socket)?.map(SocketAddr::try_from).transpose()?;
    Ok(there.is_some_and(|there| there.ip() == here.ip()))
}

/// Whether a connection that was being made stands now.
pub(crate) fn connected(socket: &OwnedFd) -> io::Result<()> {
    sockopt::socket_error(socket.as_fd())??;
    Ok(())
}

/// Up to so many bytes it is cheaper to put them beside each other than to describe to the kernel where they lie.
const SHORT: usize = 256;

fn vectors<const N: usize>(parts: [(*const u8, usize); N]) -> [libc::iovec; N] {
    parts.map(|(start, len)| libc::iovec { iov_base: start.cast_mut().cast(), iov_len: len })
}

/// Sends as much of the parts, one after the other, as the socket takes now: at least a byte if they have any, or
/// [`io::ErrorKind::WouldBlock`].
pub(crate) fn send<const N: usize>(socket: &OwnedFd, parts: [ReadSpan; N]) -> io::Result<usize> {
    #[cfg(test)]
    let parts = stingy::first_of(parts)?;
    let len = parts.iter().map(|part| part.len()).sum();
    if len <= SHORT {
        let mut bytes = [0; SHORT];
        let mut rest = &mut bytes[..len];
        for part in parts {
            let (head, tail) = rest.split_at_mut(part.len());
            part.copy_to(head.into());
            rest = tail;
        }
        return in_spite_of_interrupts(|| {
            // SAFETY: `len` bytes of `bytes` are readable.
            unsafe {
                libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), len, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
            }
        });
    }
    let mut vectors = vectors(parts.map(|part| (part.start(), part.len())));
    // SAFETY: all-zero is a valid `msghdr`: no address, no vectors, no control data.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = vectors.as_mut_ptr();
    message.msg_iovlen = vectors.len() as _;
    in_spite_of_interrupts(|| {
        // SAFETY: the vectors describe bytes that are readable by the contracts of their spans.
        unsafe { libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) }
    })
}

/// Receives what is there into the two parts, one after the other: 0 bytes only at the end of the stream, or
/// [`io::ErrorKind::WouldBlock`]. Not both parts may be empty.
pub(crate) fn receive(socket: &OwnedFd, first: WriteSpan, second: WriteSpan) -> io::Result<usize> {
    #[cfg(test)]
    let (first, second) = stingy::first_places(first, second)?;
    if first.is_empty() {
        return in_spite_of_interrupts(|| {
            // SAFETY: the span's bytes are writable by its contract.
            unsafe { libc::recv(socket.as_raw_fd(), second.start().cast(), second.len(), libc::MSG_DONTWAIT) }
        });
    }
    let mut vectors = vectors([(first.start(), first.len()), (second.start(), second.len())]);
    // SAFETY: as in `send`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = vectors.as_mut_ptr();
    message.msg_iovlen = vectors.len() as _;
    in_spite_of_interrupts(|| {
        // SAFETY: the vectors describe bytes that are writable by the contracts of their spans.
        unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_DONTWAIT) }
    })
}

fn in_spite_of_interrupts(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        match usize::try_from(call()) {
            Ok(moved) => return Ok(moved),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, last], 0))
    }

    /// Both ends of a connection from `from`, ready for use.
    fn connection(from: SocketAddr) -> [OwnedFd; 2] {
        let listener = listen(ip(1)).unwrap();
        let there = SocketAddr::try_from(rustix::net::getsockname(&listener).unwrap()).unwrap();
        let opened = stream_socket(there).unwrap();
        rustix::net::bind(&opened, &from).unwrap();
        rustix::io::ioctl_fionbio(&opened, false).unwrap();
        rustix::net::connect(&opened, &there).unwrap();
        let ends = [opened, accept(&listener).unwrap().0];
        ends.iter().for_each(|end| prepare(end).unwrap());
        ends
    }

    #[test]
    fn only_connections_within_the_machine_are_freed_of_the_clock() {
        for end in connection(ip(1)) {
            assert_eq!(sockopt::tcp_congestion(&end).unwrap(), WITHOUT_CLOCK);
        }
        // Two addresses stand for two machines.
        for end in connection(ip(2)) {
            assert_eq!(sockopt::tcp_congestion(&end).unwrap(), usual_control().unwrap());
        }
    }
}

//! A TCP connection of this machine with itself, with buffers of a chosen size: what a message takes, as
//! [`RawConnection`] measures it.
//!
//! The follower is a thread on another core where there is one.

use crate::machine;
use crate::tcp_floor::{Pattern, RawConnection};
use anyhow::{Context, Result};
use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, sockopt};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread::{self, JoinHandle};

/// The leader's end.
pub struct RawSocket {
    connection: RawConnection,
    follower: JoinHandle<Result<()>>,
}

impl RawSocket {
    /// Connects to a follower on `core`, with buffers of `buffer` bytes at both ends or those that the kernel chooses.
    pub fn open(buffer: Option<usize>, core: usize) -> Result<Self> {
        let listening = endpoint(buffer)?;
        socket::bind(listening.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)))
            .and_then(|()| socket::listen(&listening, Backlog::new(1)?))
            .context("can't listen for a TCP connection of this machine with itself")?;
        let listener = TcpListener::from(listening);
        let address: SockaddrIn = socket::getsockname(listener.as_raw_fd())?;
        let connecting = endpoint(buffer)?;
        socket::connect(connecting.as_raw_fd(), &address).context("can't connect this machine with itself")?;
        let (stream, (other, _)) = (TcpStream::from(connecting), listener.accept()?);
        let follower = thread::spawn(move || {
            machine::pin(&[core])?;
            RawConnection::over(other)?.serve()
        });
        Ok(RawSocket { connection: RawConnection::over(stream)?, follower })
    }

    /// Adds to `samples` what a message takes, µs, in one exchange whose ends sleep.
    pub fn exchange(&mut self, pattern: Pattern, samples: &mut Vec<f64>) -> Result<()> {
        self.connection.lead_rounds(false, pattern, 1, samples)
    }

    /// Ends the connection, and waits for the follower.
    pub fn close(mut self) -> Result<()> {
        self.connection.end()?;
        self.follower.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Whether the kernel gives buffers of `buffer` bytes. It doubles what it is asked for.
pub fn can_have(buffer: usize) -> Result<bool> {
    let socket = endpoint(Some(buffer))?;
    let (out, inward) = (socket::getsockopt(&socket, sockopt::SndBuf)?, socket::getsockopt(&socket, sockopt::RcvBuf)?);
    Ok(out.min(inward) >= 2 * buffer)
}

/// A socket without a connection: buffers set later would not do for what the two ends agree on when they connect.
fn endpoint(buffer: Option<usize>) -> Result<OwnedFd> {
    let socket = socket::socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .context("can't make a TCP socket")?;
    if let Some(buffer) = buffer {
        socket::setsockopt(&socket, sockopt::SndBuf, &buffer)
            .and_then(|()| socket::setsockopt(&socket, sockopt::RcvBuf, &buffer))
            .with_context(|| format!("can't give a socket buffers of {buffer} bytes"))?;
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_longer_than_the_buffers_arrive_in_both_patterns() {
        let core = machine::allowed_cores().unwrap()[0];
        let mut socket = RawSocket::open(Some(4096), core).unwrap();
        for window in [1, 3] {
            for bytes in [1, 8, 100_000] {
                let mut samples = Vec::new();
                socket.exchange(Pattern { bytes, window }, &mut samples).unwrap();
                assert!(!samples.is_empty() && samples.iter().all(|&sample| sample > 0.0), "{window} of {bytes}");
            }
        }
        socket.close().unwrap();
    }
}

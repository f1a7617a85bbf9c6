//! A TCP connection of this machine with itself, without the library: buffers of a chosen size, and what a message takes.
//!
//! The *follower*, a thread on another core where there is one, does what the leader asks for until the leader hangs up.

use crate::machine;
use anyhow::{Context, Result};
use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, sockopt};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// How messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// To and fro.
    PingPong,
    /// Many one after the other, and a byte back.
    Stream,
}

/// The leader's end.
pub struct RawSocket {
    stream: TcpStream,
    follower: Option<JoinHandle<Result<()>>>,
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
        for end in [&stream, &other] {
            end.set_nodelay(true)?;
        }
        let follower = Some(thread::spawn(move || follow(other, core)));
        Ok(RawSocket { stream, follower })
    }

    /// What a message takes in one exchange, in µs: half of a round trip, or a part of a stream of `window`.
    pub fn exchange(&mut self, pattern: Pattern, message: &mut [u8], window: usize) -> Result<f64> {
        let (messages, answer, ways) = match pattern {
            Pattern::PingPong => (1, message.len(), 2),
            Pattern::Stream => (window, 1, window),
        };
        let order = [pattern as u64, message.len() as u64, messages as u64];
        self.stream.write_all(order.map(u64::to_le_bytes).as_flattened())?;
        self.stream.read_exact(&mut [0])?;
        let start = Instant::now();
        for _ in 0..messages {
            self.stream.write_all(message)?;
        }
        self.stream.read_exact(&mut message[..answer])?;
        Ok(start.elapsed().as_secs_f64() * 1e6 / ways as f64)
    }

    /// Hangs up, and waits for the follower.
    pub fn close(mut self) -> Result<()> {
        drop(self.stream);
        let follower = self.follower.take().expect("set by `open`, taken here only");
        follower.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
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

fn follow(mut stream: TcpStream, core: usize) -> Result<()> {
    machine::pin(&[core])?;
    let mut message = Vec::new();
    let mut order = [[0; 8]; 3];
    loop {
        match stream.read_exact(order.as_flattened_mut()) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let [pattern, len, messages] = order.map(u64::from_le_bytes);
        message.resize(len as usize, 0);
        stream.write_all(&[1])?;
        for _ in 0..messages {
            stream.read_exact(&mut message)?;
        }
        let answer = if pattern == Pattern::PingPong as u64 { &message[..] } else { &[1] };
        stream.write_all(answer)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_longer_than_the_buffers_arrive_in_both_patterns() {
        let core = machine::allowed_cores().unwrap()[0];
        let mut socket = RawSocket::open(Some(4096), core).unwrap();
        for pattern in [Pattern::PingPong, Pattern::Stream] {
            for len in [1, 8, 100_000] {
                assert!(socket.exchange(pattern, &mut vec![7; len], 3).unwrap() > 0.0, "{pattern:?} of {len}");
            }
        }
        socket.close().unwrap();
    }
}

//! The side that calls a port: by the socket that the port has on its own machine, and if there is none, over the
//! network.
#![forbid(unsafe_code)]

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::event::PollFlags;

use super::greeting::{self, HELLO, Introduction, VERDICT};
use super::line::{Line, is_ready, read_up_to, send_from};
use super::name::PortName;
use crate::JobSecret;
use crate::descriptor::raised;
use crate::tcp::handshake::CHALLENGE;
use crate::tcp::socket;

/// A call that this process has made.
pub struct Call {
    secret: JobSecret,
    introduction: Introduction,
    /// Where else the port may be, the next one last.
    addresses: Vec<SocketAddr>,
    socket: OwnedFd,
    stage: Stage,
    unsent: Vec<u8>,
    read: Vec<u8>,
}

enum Stage {
    Connecting,
    Challenge,
    Verdict { challenge: [u8; CHALLENGE], hello: Box<[u8; HELLO]> },
    Stands,
}

fn no_port() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "there is no port with that name")
}

fn no_way(address: SocketAddr, why: &io::Error) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("no port is reached at {address}: {why}"))
}

impl Call {
    /// Calls the port of that name, for so many members, who are or are not all on one machine; `None`: it is too busy
    /// right now.
    ///
    /// # Errors
    /// If there is no such port.
    pub fn new(name: &str, members: usize, is_together: bool) -> io::Result<Option<Call>> {
        let PortName { word, secret, mut addresses } = PortName::parse(name).ok_or_else(no_port)?;
        addresses.reverse();
        let (socket, stage, is_here) = match UnixStream::connect_addr(&super::address(&word)?) {
            Ok(stream) => {
                stream.set_nonblocking(true)?;
                (raised(stream.into()), Stage::Challenge, true)
            }
            // It is not on this machine.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                (connect_to_next(&mut addresses)?.ok_or_else(no_port)?, Stage::Connecting, false)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        let introduction = Introduction { members, is_together: is_together && is_here };
        let (unsent, read) = (Vec::new(), Vec::new());
        Ok(Some(Call { secret, introduction, addresses, socket, stage, unsent, read }))
    }

    /// The line, once both sides have proved that they know the secret.
    ///
    /// # Errors
    /// If the port can't be reached or is closed, or whoever is there does not know the secret.
    pub fn line(&mut self) -> io::Result<Option<Line>> {
        if let Stage::Connecting = self.stage
            && !self.has_connected()?
        {
            return Ok(None);
        }
        if let Stage::Challenge = self.stage {
            if !read_up_to(&self.socket, &mut self.read, CHALLENGE)? {
                return Ok(None);
            }
            let challenge = *self.read.first_chunk().expect("all of it has come");
            let hello = Box::new(self.introduction.hello(&self.secret, &challenge)?);
            self.unsent.extend_from_slice(&*hello);
            self.read.clear();
            self.stage = Stage::Verdict { challenge, hello };
        }
        if !send_from(&self.socket, &mut self.unsent)? || !read_up_to(&self.socket, &mut self.read, VERDICT)? {
            return Ok(None);
        }
        let Stage::Verdict { challenge, hello } = std::mem::replace(&mut self.stage, Stage::Stands) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let verdict = self.read.first_chunk().expect("all of it has come");
        if !greeting::is_verdict(verdict, &self.secret, &challenge, &hello) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "whoever is there has not opened that port"));
        }
        let secret = greeting::meeting_secret(&self.secret, &challenge, &hello);
        Ok(Some(Line::new(self.socket.try_clone().map(raised)?, secret)))
    }

    /// Whether the connection that was begun stands; if it has failed, the next address is tried.
    fn has_connected(&mut self) -> io::Result<bool> {
        if !is_ready(&self.socket, PollFlags::OUT) {
            return Ok(false);
        }
        match socket::connected(&self.socket).and_then(|()| socket::prepare(&self.socket)) {
            Ok(()) => {
                self.stage = Stage::Challenge;
                Ok(true)
            }
            Err(error) => {
                let next = connect_to_next(&mut self.addresses)?;
                self.socket = next.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, unreached(&error)))?;
                Ok(false)
            }
        }
    }
}

fn unreached(why: &io::Error) -> String {
    format!("there is no port with that name on this machine, and none is reached at its address: {why}")
}

/// Begins to connect to the next of these addresses; `None`: there is none left.
fn connect_to_next(addresses: &mut Vec<SocketAddr>) -> io::Result<Option<OwnedFd>> {
    let mut why = None;
    while let Some(address) = addresses.pop() {
        match socket::start_to_connect(address) {
            Ok(socket) => return Ok(Some(socket)),
            Err(error) => why = Some(no_way(address, &error)),
        }
    }
    why.map_or(Ok(None), Err)
}

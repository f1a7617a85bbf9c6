//! Ports, at which processes of one job are reached by those of another: on this machine by a socket with a name that
//! nobody can guess and that the kernel forgets with the process, from other machines by TCP.
//!
//! What programs pass on is where the port is together with a secret, so to have its name is to be let in; on this
//! machine only processes of the same user are. Nothing of a caller is looked at before it has proved that it knows the
//! secret ([`greeting`]), which is never said.
//!
//! Then there is a [`Line`] between the two sides. Whoever has opened the port says where they meet, and the caller
//! that it will come. So neither waits for one that has given up. Nothing here waits but [`exchange_names`].
#![forbid(unsafe_code)]

mod call;
mod greeting;
mod line;
mod name;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as LocalAddress, UnixListener};

use rustix::event::{PollFd, PollFlags};
use rustix::net::sockopt::socket_peercred;

pub use self::call::Call;
pub use self::line::Line;

use self::greeting::{HELLO, Introduction};
use self::line::{read_up_to, send_from, unless_waiting};
use self::name::PortName;
use crate::descriptor::{self, raised};
use crate::tcp::handshake::{CHALLENGE, random_bytes};
use crate::tcp::socket;
use crate::{JobSecret, membership};

/// Longest name that is exchanged.
const NAME_MAX: usize = 512;
/// Callers that have not said hello yet; who comes when there are more pushes out the one that came first.
const MOST_SILENT: usize = 64;

/// A port that this process has opened.
pub struct Port {
    name: String,
    secret: JobSecret,
    near: UnixListener,
    /// For other machines; `None`: there is no network.
    far: Option<OwnedFd>,
    silent: Vec<Silent>,
}

/// Where a port is to be reached from other machines.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortPlace {
    /// An address of this machine; `None`: where processes of other hosts reach those of this job.
    pub address: Option<IpAddr>,
    /// A TCP port; `None`: one that is free.
    pub number: Option<u16>,
}

/// Somebody who has called, and knows the secret.
pub struct Caller {
    /// The line to it.
    pub line: Line,
    /// How many processes want to be let in.
    pub members: usize,
    /// Whether all of them are on this machine.
    pub is_here: bool,
}

/// Somebody who has called and has not said hello yet.
struct Silent {
    socket: OwnedFd,
    is_near: bool,
    challenge: [u8; CHALLENGE],
    hello: Vec<u8>,
}

/// The name by which a port is found on its machine.
fn address(word: &str) -> io::Result<LocalAddress> {
    LocalAddress::from_abstract_name(format!("rwmpi-{word}"))
}

/// Listens for other machines. Who asks for nothing does without where there is no network.
fn listen(place: PortPlace) -> io::Result<Option<OwnedFd>> {
    let is_asked_for = place.address.is_some() || place.number.is_some();
    let interface = || place.address.map_or_else(|| membership::interface(false).map_err(io::Error::other), Ok);
    match interface().and_then(|ip| socket::listen(SocketAddr::new(ip, place.number.unwrap_or(0)))) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if is_asked_for => Err(error),
        Err(_) => Ok(None),
    }
}

impl Silent {
    /// Challenges somebody who has just called.
    fn new(socket: OwnedFd, is_near: bool) -> io::Result<Silent> {
        let challenge = random_bytes()?;
        // A new socket has room for so little.
        match send_from(&socket, &mut challenge.to_vec())? {
            true => Ok(Silent { socket, is_near, challenge, hello: Vec::new() }),
            false => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    /// Who it is, if it knows the secret.
    fn known_by(self, secret: &JobSecret) -> Option<Caller> {
        let Silent { socket, is_near, challenge, hello } = self;
        let hello = hello.first_chunk::<HELLO>()?;
        let Introduction { members, is_together } = Introduction::of(hello, secret, &challenge)?;
        let mut verdict = greeting::verdict(secret, &challenge, hello).to_vec();
        send_from(&socket, &mut verdict).ok().filter(|&all| all)?;
        let mut line = Line::new(socket, greeting::meeting_secret(secret, &challenge, hello));
        line.expect_of(members);
        Some(Caller { line, members, is_here: is_near && is_together })
    }
}

impl Port {
    /// Opens one.
    ///
    /// # Errors
    /// If the system has no random bytes or no sockets, or it can't be at that place.
    pub fn open(place: PortPlace) -> io::Result<Port> {
        let (word, secret) = (u128::from_be_bytes(random_bytes()?), JobSecret::random()?);
        let word = format!("{word:032x}");
        let near = UnixListener::bind_addr(&address(&word)?)?;
        near.set_nonblocking(true)?;
        let far = listen(place)?;
        let at = |listener: &OwnedFd| SocketAddr::try_from(rustix::net::getsockname(listener).ok()?).ok();
        let addresses = far.iter().filter_map(at).collect();
        let name = PortName { word, secret: secret.clone(), addresses }.to_string();
        Ok(Port { name, secret, near, far, silent: Vec::new() })
    }

    /// Its name, by which others call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next who has called and knows the secret, if there is one.
    ///
    /// # Errors
    /// If a socket is broken.
    pub fn caller(&mut self) -> io::Result<Option<Caller>> {
        self.let_callers_in()?;
        let mut place = 0;
        while let Some(silent) = self.silent.get_mut(place) {
            match read_up_to(&silent.socket, &mut silent.hello, HELLO) {
                Ok(false) => place += 1,
                Ok(true) => {
                    if let Some(caller) = self.silent.remove(place).known_by(&self.secret) {
                        return Ok(Some(caller));
                    }
                }
                Err(_) => drop(self.silent.remove(place)),
            }
        }
        Ok(None)
    }

    /// Takes all calls that there are.
    fn let_callers_in(&mut self) -> io::Result<()> {
        loop {
            match self.near.accept() {
                Ok((stream, _)) => {
                    let is_of_this_user =
                        socket_peercred(&stream).is_ok_and(|peer| peer.uid == rustix::process::geteuid());
                    if is_of_this_user && stream.set_nonblocking(true).is_ok() {
                        self.challenge(raised(stream.into()), true);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        // One that has hung up already is no error of the listener's.
        while let Some(Ok((socket, _))) = self.far.as_ref().map(socket::accept) {
            if socket::prepare(&socket).is_ok() {
                self.challenge(socket, false);
            }
        }
        Ok(())
    }

    fn challenge(&mut self, socket: OwnedFd, is_near: bool) {
        let Ok(silent) = Silent::new(socket, is_near) else { return };
        if self.silent.len() == MOST_SILENT {
            self.silent.remove(0);
        }
        self.silent.push(silent);
    }
}

/// Says the name of the own port over a connected socket of the program's, and gives that of the other side, which does
/// the same. Waits for it.
///
/// # Errors
/// If it is no socket, or the other side says something else.
pub fn exchange_names(socket: i32, own: &str) -> io::Result<String> {
    let socket = descriptor::of_program(socket)?;
    let wait = |flags| -> io::Result<()> {
        let polled = rustix::event::poll(&mut [PollFd::new(&socket, flags)], None);
        unless_waiting(polled).map(drop)
    };
    let line = format!("{own}\n");
    let mut unsent = line.as_bytes();
    while !unsent.is_empty() {
        match unless_waiting(rustix::io::write(&socket, unsent))? {
            Some(count) => unsent = &unsent[count..],
            None => wait(PollFlags::OUT)?,
        }
    }
    // Byte by byte: what comes behind the line is the program's.
    let (mut said, mut byte) = (Vec::new(), [0]);
    while byte != *b"\n" {
        match unless_waiting(rustix::io::read(&socket, &mut byte))? {
            Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(_) if said.len() == NAME_MAX => return Err(io::ErrorKind::InvalidData.into()),
            Some(_) => said.push(byte[0]),
            None => wait(PollFlags::IN)?,
        }
    }
    let said = String::from_utf8(said).map_err(io::Error::other)?;
    Ok(said.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpStream};
    use std::os::unix::net::UnixStream;

    const LOOPBACK: PortPlace = PortPlace { address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), number: None };

    fn eventually<T>(mut ask: impl FnMut() -> io::Result<Option<T>>) -> io::Result<T> {
        loop {
            if let Some(found) = ask()? {
                return Ok(found);
            }
            std::thread::yield_now();
        }
    }

    /// Its name as processes of other machines see it, where no socket has the word.
    fn from_afar(port: &Port) -> String {
        let word = port.name().split(':').nth(1).unwrap().to_owned();
        port.name().replace(&word, "elsewhere")
    }

    /// A port, and both ends of the line to one that has called it by a name.
    fn connected(name: fn(&Port) -> String) -> (Port, Caller, Line) {
        let mut port = Port::open(LOOPBACK).unwrap();
        let mut call = Call::new(&name(&port), 3, true).unwrap().unwrap();
        let (mut caller, mut line) = (None, None);
        while caller.is_none() || line.is_none() {
            caller = caller.or_else(|| port.caller().unwrap());
            line = line.or_else(|| call.line().unwrap());
        }
        (port, caller.unwrap(), line.unwrap())
    }

    #[test]
    fn who_knows_the_name_is_answered() {
        for (name, is_here) in [((|port| port.name().to_owned()) as fn(&Port) -> String, true), (from_afar, false)] {
            let (_port, mut caller, mut line) = connected(name);
            assert_eq!((caller.members, caller.is_here), (3, is_here));
            assert_eq!(caller.line.secret().to_bytes(), line.secret().to_bytes());
            assert!(caller.line.hear().unwrap().is_none());
            caller.line.say("the corner").unwrap();
            assert_eq!(eventually(|| line.hear()).unwrap(), "the corner");
            line.say("").unwrap();
            assert_eq!(eventually(|| caller.line.hear()).unwrap(), "");
        }
    }

    #[test]
    fn who_does_not_know_the_secret_is_not_heard() {
        let mut port = Port::open(LOOPBACK).unwrap();
        for name in [port.name().to_owned(), from_afar(&port)] {
            let (front, behind) = name.split_once('@').unwrap();
            let last = if front.ends_with('0') { '1' } else { '0' };
            let wrong = format!("{}{last}@{behind}", &front[..front.len() - 1]);
            let mut stranger = Call::new(&wrong, 1, true).unwrap().unwrap();
            let refused = loop {
                assert!(port.caller().unwrap().is_none());
                match stranger.line() {
                    Ok(line) => assert!(line.is_none()),
                    Err(error) => break error,
                }
            };
            assert_ne!(refused.kind(), io::ErrorKind::PermissionDenied, "it is hung up on: {refused}");
        }
    }

    #[test]
    fn who_gives_up_is_not_waited_for() {
        let (_port, mut caller, line) = connected(from_afar);
        drop(line);
        // The answer may still go into the socket; that it will come nobody says.
        let _ = caller.line.say("here");
        assert!(eventually(|| caller.line.hear()).is_err());
    }

    #[test]
    fn what_is_no_port_says_so() {
        let closed = Port::open(LOOPBACK).unwrap();
        let (near, far) = (closed.name().split('@').next().unwrap().to_owned(), closed.name().to_owned());
        drop(closed);
        for name in ["", "tag#0$", "rwmpi-port:x", "rwmpi-port:x:y", &near, &far] {
            let refused = Call::new(name, 1, true).and_then(|call| {
                let mut call = call.expect("nobody else calls");
                eventually(|| call.line())
            });
            let refused = refused.err();
            assert_eq!(refused.map(|error| error.kind()), Some(io::ErrorKind::NotFound), "{name}");
        }
    }

    #[test]
    fn many_silent_strangers_keep_nobody_out() {
        let mut port = Port::open(LOOPBACK).unwrap();
        let near = address(port.name().split(':').nth(1).unwrap()).unwrap();
        let far: SocketAddr = port.name().split('@').nth(1).unwrap().parse().unwrap();
        let mut strangers: Vec<OwnedFd> = Vec::new();
        for _ in 0..MOST_SILENT {
            strangers.push(UnixStream::connect_addr(&near).unwrap().into());
            strangers.push(TcpStream::connect(far).unwrap().into());
            assert!(port.caller().unwrap().is_none());
        }
        assert!(port.silent.len() <= MOST_SILENT);
        let mut call = Call::new(port.name(), 2, true).unwrap().unwrap();
        let caller = loop {
            assert!(call.line().unwrap().is_none());
            if let Some(caller) = port.caller().unwrap() {
                break caller;
            }
        };
        assert_eq!(caller.members, 2);
    }

    #[test]
    fn a_port_is_where_it_is_wanted() {
        let port = Port::open(LOOPBACK).unwrap();
        let at: SocketAddr = port.name().split('@').nth(1).unwrap().parse().unwrap();
        let again = Port::open(PortPlace { number: Some(at.port()), ..LOOPBACK });
        assert_eq!(again.err().map(|error| error.kind()), Some(io::ErrorKind::AddrInUse));
        let nowhere = PortPlace { address: Some("192.0.2.77".parse().unwrap()), number: None };
        assert!(Port::open(nowhere).is_err());
    }
}

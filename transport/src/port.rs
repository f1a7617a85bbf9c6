//! Ports, at which processes of one job are reached by those of another on this machine.
//!
//! A port is a socket with a name that nobody can guess and that the kernel forgets with the process. What programs
//! pass on is that name together with a secret, so to have it is to be let in; but only processes of the same user are.
//! Nothing of a caller is looked at before its secret is known to be right.
//!
//! The two sides say three things: the caller says the secret and how many come with it, whoever answers says where
//! they meet ([`crate::Joint`]), and the caller that it will come. So neither waits for one that has given up. Nothing
//! here waits but [`exchange_names`].
#![forbid(unsafe_code)]

use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use rustix::event::{PollFd, PollFlags};
use rustix::net::sockopt::socket_peercred;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::descriptor;

/// With what names of ports begin.
const PREFIX: &str = "rwmpi-port:";
/// Bytes of what is drawn for a name, and for a secret.
const DRAWN: usize = 16;
/// The secret, and a number.
const GREETING: usize = DRAWN + 8;
/// Longest answer.
const ANSWER_MAX: usize = 256;
/// Callers that have not said their secret yet; who comes when there are more pushes out the one that came first.
const MOST_SILENT: usize = 64;
const WILL_COME: u8 = 1;

/// A port that this process has opened.
pub struct Port {
    listener: UnixListener,
    name: String,
    secret: [u8; DRAWN],
    silent: Vec<(UnixStream, Vec<u8>)>,
}

/// Somebody who has called, and knows the secret.
pub struct Caller {
    stream: UnixStream,
    /// How many processes want to be let in.
    pub members: usize,
}

/// A call that this process has made.
pub struct Call {
    stream: UnixStream,
    unsent: Vec<u8>,
    answer: Vec<u8>,
}

fn draw() -> io::Result<[u8; DRAWN]> {
    let mut bytes = [0; DRAWN];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("rwmpi-{name}"))
}

/// What would have made the process wait is nothing.
fn unless_waiting<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(result) => Ok(Some(result)),
        Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&error.kind()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether nobody has hung up at the other end, where nothing more is said.
fn is_there(stream: &UnixStream) -> bool {
    let mut polled = [PollFd::new(stream, PollFlags::IN)];
    let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
    !matches!(rustix::event::poll(&mut polled, Some(&now)), Ok(ready) if ready > 0)
}

/// Reads what there is, up to so many bytes in all; whether they are complete.
fn read_up_to(stream: &mut UnixStream, read: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let mut bytes = [0; ANSWER_MAX];
    while read.len() < most {
        let room = (most - read.len()).min(bytes.len());
        match unless_waiting(stream.read(&mut bytes[..room]))? {
            Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(count) => read.extend_from_slice(&bytes[..count]),
            None => return Ok(false),
        }
    }
    Ok(true)
}

impl Port {
    /// Opens one.
    ///
    /// # Errors
    /// If the system has no random bytes or no sockets.
    pub fn open() -> io::Result<Port> {
        let (word, secret) = (hexadecimal(&draw()?), draw()?);
        let listener = UnixListener::bind_addr(&address(&word)?)?;
        listener.set_nonblocking(true)?;
        let name = format!("{PREFIX}{word}:{}", hexadecimal(&secret));
        Ok(Port { listener, name, secret, silent: Vec::new() })
    }

    /// Its name, by which others call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next who has called and knows the secret, if there is one.
    ///
    /// # Errors
    /// If the socket is broken.
    pub fn caller(&mut self) -> io::Result<Option<Caller>> {
        while let Some((stream, _)) = unless_waiting(self.listener.accept())? {
            let is_of_this_user = socket_peercred(&stream).is_ok_and(|peer| peer.uid == rustix::process::geteuid());
            if is_of_this_user && stream.set_nonblocking(true).is_ok() {
                if self.silent.len() == MOST_SILENT {
                    self.silent.remove(0);
                }
                self.silent.push((stream, Vec::new()));
            }
        }
        let mut place = 0;
        while let Some((stream, read)) = self.silent.get_mut(place) {
            match read_up_to(stream, read, GREETING) {
                Ok(false) => place += 1,
                Ok(true) => {
                    let (stream, read) = self.silent.remove(place);
                    if let Some(members) = self.members_let_in(&read) {
                        return Ok(Some(Caller { stream, members }));
                    }
                }
                Err(_) => drop(self.silent.remove(place)),
            }
        }
        Ok(None)
    }

    /// How many come with whoever has said that, if the secret is right.
    fn members_let_in(&self, greeting: &[u8]) -> Option<usize> {
        let (secret, number) = greeting.split_at(DRAWN);
        // Takes as long wherever the first difference is.
        let differences = secret.iter().zip(&self.secret).fold(0, |all, (one, other)| all | (one ^ other));
        let number = number.try_into().map(u64::from_le_bytes).ok().filter(|_| differences == 0)?;
        usize::try_from(number).ok().filter(|&members| members > 0)
    }
}

impl Caller {
    /// Says where to meet.
    ///
    /// # Errors
    /// If the caller is gone.
    pub fn answer(&mut self, place: &str) -> io::Result<()> {
        let mut answer = vec![u8::try_from(place.len()).map_err(io::Error::other)?];
        answer.extend_from_slice(place.as_bytes());
        self.stream.write_all(&answer)
    }

    /// Whether the caller is still there: it keeps the line until it has met this side.
    pub fn is_there(&self) -> bool {
        is_there(&self.stream)
    }

    /// Whether the caller has said that it will come.
    ///
    /// # Errors
    /// If it is gone.
    pub fn will_come(&mut self) -> io::Result<bool> {
        read_up_to(&mut self.stream, &mut Vec::new(), 1)
    }
}

impl Call {
    /// Calls the port of that name, for so many members; `None`: it is too busy right now.
    ///
    /// # Errors
    /// If there is no such port.
    pub fn new(name: &str, members: usize) -> io::Result<Option<Call>> {
        let no_port = || io::Error::new(io::ErrorKind::NotFound, "there is no port with that name");
        let (word, secret) =
            name.trim_end().strip_prefix(PREFIX).and_then(|rest| rest.split_once(':')).ok_or_else(no_port)?;
        let secret = (secret.len() == 2 * DRAWN).then(|| u128::from_str_radix(secret, 16).ok()).flatten();
        let mut unsent = secret.ok_or_else(no_port)?.to_be_bytes().to_vec();
        unsent.extend_from_slice(&(members as u64).to_le_bytes());
        let stream = match UnixStream::connect_addr(&address(word)?) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Err(no_port()),
            result => unless_waiting(result)?,
        };
        let Some(stream) = stream else { return Ok(None) };
        stream.set_nonblocking(true)?;
        Ok(Some(Call { stream, unsent, answer: Vec::new() }))
    }

    /// Whether the other side is still there: it keeps the line until it has met this one.
    pub fn is_there(&self) -> bool {
        is_there(&self.stream)
    }

    /// Where to meet, once the other side has said it; from then on it counts on this one.
    ///
    /// # Errors
    /// If the port is closed, or answers nonsense.
    pub fn answer(&mut self) -> io::Result<Option<String>> {
        while !self.unsent.is_empty() {
            let Some(count) = unless_waiting(self.stream.write(&self.unsent))? else { return Ok(None) };
            self.unsent.drain(..count);
        }
        let len = self.answer.first().map_or(1, |&len| 1 + usize::from(len));
        if !read_up_to(&mut self.stream, &mut self.answer, len)? {
            return Ok(None);
        }
        if len == 1 {
            // The length alone has come.
            return if self.answer[0] == 0 { Err(io::ErrorKind::InvalidData.into()) } else { self.answer() };
        }
        self.stream.write_all(&[WILL_COME])?;
        let place = String::from_utf8(self.answer.split_off(1)).map_err(io::Error::other)?;
        Ok(Some(place))
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
        unless_waiting(polled.map_err(io::Error::from)).map(drop)
    };
    let line = format!("{own}\n");
    let mut unsent = line.as_bytes();
    while !unsent.is_empty() {
        match unless_waiting(rustix::io::write(&socket, unsent).map_err(io::Error::from))? {
            Some(count) => unsent = &unsent[count..],
            None => wait(PollFlags::OUT)?,
        }
    }
    // Byte by byte: what comes behind the line is the program's.
    let (mut said, mut byte) = (Vec::new(), [0]);
    while byte != *b"\n" {
        match unless_waiting(rustix::io::read(&socket, &mut byte).map_err(io::Error::from))? {
            Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(_) if said.len() == ANSWER_MAX => return Err(io::ErrorKind::InvalidData.into()),
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

    fn eventually<T>(mut ask: impl FnMut() -> io::Result<Option<T>>) -> io::Result<T> {
        loop {
            if let Some(found) = ask()? {
                return Ok(found);
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn who_knows_the_name_is_answered() {
        let mut port = Port::open().unwrap();
        let mut call = Call::new(port.name(), 3).unwrap().unwrap();
        assert!(call.answer().unwrap().is_none());
        let mut caller = eventually(|| port.caller()).unwrap();
        assert_eq!(caller.members, 3);
        assert!(!caller.will_come().unwrap());
        caller.answer("the corner").unwrap();
        assert_eq!(eventually(|| call.answer()).unwrap(), "the corner");
        eventually(|| Ok(caller.will_come()?.then_some(()))).unwrap();
    }

    #[test]
    fn who_does_not_know_the_secret_is_not_heard() {
        let mut port = Port::open().unwrap();
        let wrong = format!("{}0", &port.name()[..port.name().len() - 1]);
        let wrong = if wrong == port.name() { format!("{}1", &wrong[..wrong.len() - 1]) } else { wrong };
        let mut stranger = Call::new(&wrong, 1).unwrap().unwrap();
        assert!(stranger.answer().unwrap().is_none());
        assert!(port.caller().unwrap().is_none());
        assert!(eventually(|| stranger.answer()).is_err(), "it is hung up on");
    }

    #[test]
    fn who_gives_up_is_not_waited_for() {
        let mut port = Port::open().unwrap();
        let mut call = Call::new(port.name(), 1).unwrap().unwrap();
        assert!(call.answer().unwrap().is_none());
        let mut caller = eventually(|| port.caller()).unwrap();
        drop(call);
        // The answer may still go into the socket; that it will come nobody says.
        let _ = caller.answer("here");
        assert!(caller.will_come().is_err());
    }

    #[test]
    fn what_is_no_port_says_so() {
        let closed = Port::open().unwrap().name().to_owned();
        for name in ["", "tag#0$", "rwmpi-port:x", "rwmpi-port:x:y", &closed] {
            let refused = Call::new(name, 1).err().map(|error| error.kind());
            assert_eq!(refused, Some(io::ErrorKind::NotFound), "{name}");
        }
    }

    #[test]
    fn many_silent_strangers_keep_nobody_out() {
        let mut port = Port::open().unwrap();
        let address = address(port.name().split(':').nth(1).unwrap()).unwrap();
        let strangers: Vec<UnixStream> = (0..3 * MOST_SILENT)
            .map(|_| {
                let stranger = UnixStream::connect_addr(&address).unwrap();
                assert!(port.caller().unwrap().is_none());
                stranger
            })
            .collect();
        assert!(port.silent.len() <= MOST_SILENT);
        let mut call = Call::new(port.name(), 2).unwrap().unwrap();
        assert!(call.answer().unwrap().is_none());
        assert_eq!(eventually(|| port.caller()).unwrap().members, 2);
        drop(strangers);
    }
}

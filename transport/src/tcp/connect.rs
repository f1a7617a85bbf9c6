//! Opening connections: the opener's side of the handshake, and what happens when both sides open one at the same time.
//!
//! A connection is made when the first bytes are to be sent. Either side may open it. If both do, the one opened by the
//! peer of the lower number is used: that peer refuses the other's as soon as it has said hello on its own, and the
//! other gives its own up when it accepts. Before it has said hello, the lower one gives its own up instead; the other
//! cannot have accepted it yet. So exactly one of the two stands.
//!
//! Every step is a nonblocking one, taken when the socket is ready. A peer that computes takes no steps: so nothing
//! here takes silence for death, except a connection that the other's kernel has not accepted.
#![forbid(unsafe_code)]

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::WriteSpan;
use crate::tcp::handshake::{self, CHALLENGE, HELLO, Introduction, JobSecret, NO_CHALLENGE, VERDICT, random_bytes};
use crate::tcp::socket;

/// How long a kernel may take to accept a connection before the next address is tried.
const TO_CONNECT: Duration = Duration::from_secs(10);
/// How often a connection is tried at least, ...
const TRIES: u32 = 12;
/// ... and for how long: strangers may crowd a peer's door for a while.
const PERSISTENCE: Duration = Duration::from_secs(30);
/// The pause after the first failure; doubled with each, up to 256 times.
const FIRST_PAUSE: Duration = Duration::from_millis(1);

/// What is known to the whole job.
#[derive(Debug)]
pub(crate) struct JobBook {
    pub(crate) me: usize,
    /// Where each peer listens: in order of preference.
    pub(crate) addresses: Vec<Vec<SocketAddr>>,
    pub(crate) secret: JobSecret,
}

impl JobBook {
    /// What this peer says of itself when it opens a connection to that one.
    fn introduction(&self, to: usize) -> Introduction {
        Introduction { from: self.me, to, peers: self.addresses.len() }
    }
}

/// Bytes of a fixed number that arrive in pieces.
#[derive(Debug)]
pub(crate) struct Exactly<const LEN: usize> {
    pub(crate) bytes: [u8; LEN],
    filled: usize,
}

impl<const LEN: usize> Exactly<LEN> {
    pub(crate) fn new() -> Self {
        Exactly { bytes: [0; LEN], filled: 0 }
    }

    /// Reads on; true when all are there.
    pub(crate) fn read(&mut self, from: &OwnedFd) -> io::Result<bool> {
        while self.filled < LEN {
            match socket::receive(from, WriteSpan::from(&mut self.bytes[self.filled..]), WriteSpan::EMPTY) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Sends a few bytes to a socket that has room for them: it is new.
pub(crate) fn send_whole(to: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    match socket::send(to, [bytes.into()])? {
        sent if sent == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

#[derive(Debug)]
enum Stage {
    /// The next try is due then.
    Pause(Instant),
    /// The other kernel has until then.
    Connecting(OwnedFd, Instant),
    Challenge(OwnedFd, Exactly<CHALLENGE>),
    Verdict {
        socket: OwnedFd,
        challenge: [u8; CHALLENGE],
        hello: [u8; HELLO],
        verdict: Exactly<VERDICT>,
    },
}

/// A connection that this peer tries to open.
#[derive(Debug)]
pub(crate) struct Attempt {
    peer: usize,
    stage: Stage,
    tries: u32,
    /// When the first try began.
    since: Instant,
    pub(crate) persistence: Duration,
    /// How many addresses in a row had nobody listening.
    refused: usize,
}

/// What became of an attempt.
#[derive(Debug)]
pub(crate) enum Progress {
    /// Nothing new.
    Same,
    /// There is another socket to wait for (or none, in a pause).
    Changed,
    /// The connection stands.
    Done(OwnedFd),
    /// There is none to be had.
    Failed(&'static str),
}

impl Attempt {
    /// An attempt whose first try is due now.
    pub(crate) fn new(peer: usize) -> Attempt {
        let now = Instant::now();
        Attempt { peer, stage: Stage::Pause(now), tries: 0, since: now, persistence: PERSISTENCE, refused: 0 }
    }

    /// Whether the other may have accepted it.
    pub(crate) fn has_said_hello(&self) -> bool {
        matches!(self.stage, Stage::Verdict { .. })
    }

    /// What to wait for, and whether for room to write (else for something to read).
    pub(crate) fn socket(&self) -> Option<(&OwnedFd, bool)> {
        match &self.stage {
            Stage::Pause(_) => None,
            Stage::Connecting(socket, _) => Some((socket, true)),
            Stage::Challenge(socket, _) | Stage::Verdict { socket, .. } => Some((socket, false)),
        }
    }

    /// When to look again even if nothing happens.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self.stage {
            Stage::Pause(until) | Stage::Connecting(_, until) => Some(until),
            Stage::Challenge(..) | Stage::Verdict { .. } => None,
        }
    }

    /// The clock has gone on.
    pub(crate) fn tick(&mut self, book: &JobBook, now: Instant) -> Progress {
        match &self.stage {
            Stage::Pause(until) if now >= *until => self.open(book, now),
            Stage::Connecting(_, until) if now >= *until => self.fail(now, None),
            _ => Progress::Same,
        }
    }

    fn open(&mut self, book: &JobBook, now: Instant) -> Progress {
        let addresses = &book.addresses[self.peer];
        let Some(address) = addresses.get(self.tries as usize % addresses.len().max(1)) else {
            return Progress::Failed("has no address at which it could be reached");
        };
        match socket::start_to_connect(*address) {
            Ok(socket) => {
                self.stage = Stage::Connecting(socket, now + TO_CONNECT);
                Progress::Changed
            }
            Err(error) => self.fail_by(&error, book, now),
        }
    }

    /// The socket is ready.
    pub(crate) fn advance(&mut self, book: &JobBook) -> Progress {
        match self.step(book) {
            Ok(progress) => progress,
            Err(error) => self.fail_by(&error, book, Instant::now()),
        }
    }

    fn step(&mut self, book: &JobBook) -> io::Result<Progress> {
        match &mut self.stage {
            Stage::Pause(_) => Ok(Progress::Same),
            Stage::Connecting(socket, _) => {
                socket::connected(socket)?;
                self.refused = 0;
                let knock =
                    handshake::hello(&book.secret, &NO_CHALLENGE, book.introduction(self.peer), &random_bytes()?);
                send_whole(socket, &knock)?;
                // The owner of the socket moves on to the next stage.
                let Stage::Connecting(socket, _) = self.replace_stage() else { unreachable!("just seen") };
                self.stage = Stage::Challenge(socket, Exactly::new());
                Ok(Progress::Changed)
            }
            Stage::Challenge(socket, challenge) => {
                if !challenge.read(socket)? {
                    return Ok(Progress::Same);
                }
                let challenge = challenge.bytes;
                let hello = handshake::hello(&book.secret, &challenge, book.introduction(self.peer), &random_bytes()?);
                send_whole(socket, &hello)?;
                let Stage::Challenge(socket, _) = self.replace_stage() else { unreachable!("just seen") };
                self.stage = Stage::Verdict { socket, challenge, hello, verdict: Exactly::new() };
                Ok(Progress::Same)
            }
            Stage::Verdict { socket, challenge, hello, verdict } => {
                if !verdict.read(socket)? {
                    return Ok(Progress::Same);
                }
                if !handshake::check_verdict(&book.secret, challenge, hello, &verdict.bytes) {
                    return Ok(Progress::Failed("at its address answers somebody who does not know the job's secret"));
                }
                socket::prepare(socket)?;
                let Stage::Verdict { socket, .. } = self.replace_stage() else { unreachable!("just seen") };
                Ok(Progress::Done(socket))
            }
        }
    }

    fn replace_stage(&mut self) -> Stage {
        std::mem::replace(&mut self.stage, Stage::Pause(Instant::now()))
    }

    fn fail_by(&mut self, error: &io::Error, book: &JobBook, now: Instant) -> Progress {
        if error.kind() == io::ErrorKind::ConnectionRefused {
            // A peer listens before anybody knows its address: it is gone.
            self.refused += 1;
            if self.refused >= book.addresses[self.peer].len() {
                return Progress::Failed("does not listen at its address any more: it has ended");
            }
        }
        let what = match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                "closes every connection: do both processes belong to one job, with one secret?"
            }
            _ => "cannot be reached through the network",
        };
        self.fail(now, Some(what))
    }

    fn fail(&mut self, now: Instant, what: Option<&'static str>) -> Progress {
        self.tries += 1;
        if self.tries >= TRIES && now.saturating_duration_since(self.since) >= self.persistence {
            return Progress::Failed(what.unwrap_or("does not answer at its address"));
        }
        self.stage = Stage::Pause(now + FIRST_PAUSE * (1 << self.tries.min(8)));
        Progress::Changed
    }
}

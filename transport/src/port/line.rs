//! The line between the roots of two jobs that come together: texts of bounded length, after the greeting. Nothing here
//! waits.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags};
use rustix::net::{RecvFlags, SendFlags};

use crate::JobSecret;

/// Bytes of a text's length.
const LENGTH: usize = 4;
/// Longest text of one that has not said how many come with it.
const SHORT: usize = 4096;
/// How much more each of them adds at most.
const OF_MEMBER: usize = 512;
/// Longest text in any case.
const LONGEST: usize = 64 << 20;
/// Most that is read at once.
const READ: usize = 1 << 14;

/// A line that stands.
#[derive(Debug)]
pub struct Line {
    socket: OwnedFd,
    unsent: Vec<u8>,
    arrived: Vec<u8>,
    longest: usize,
    secret: JobSecret,
}

/// What would have made the process wait is nothing.
pub(super) fn unless_waiting<T>(result: Result<T, rustix::io::Errno>) -> io::Result<Option<T>> {
    match result.map_err(io::Error::from) {
        Ok(result) => Ok(Some(result)),
        Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&error.kind()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether something has happened to a socket.
pub(super) fn is_ready(socket: &OwnedFd, what: PollFlags) -> bool {
    let mut polled = [PollFd::new(socket, what)];
    let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(rustix::event::poll(&mut polled, Some(&now)), Ok(ready) if ready > 0)
}

/// Reads what there is, up to so many bytes in all; whether they are complete.
pub(super) fn read_up_to(socket: &OwnedFd, read: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let mut bytes = [0; READ];
    while read.len() < most {
        let room = (most - read.len()).min(bytes.len());
        match unless_waiting(rustix::net::recv(socket, &mut bytes[..room], RecvFlags::empty()))? {
            Some((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some((count, _)) => read.extend_from_slice(&bytes[..count]),
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// Sends what goes; whether that is all.
pub(super) fn send_from(socket: &OwnedFd, unsent: &mut Vec<u8>) -> io::Result<bool> {
    let mut sent = 0;
    while sent < unsent.len() {
        match unless_waiting(rustix::net::send(socket, &unsent[sent..], SendFlags::NOSIGNAL))? {
            Some(count) => sent += count,
            None => break,
        }
    }
    unsent.drain(..sent);
    Ok(unsent.is_empty())
}

impl Line {
    pub(super) fn new(socket: OwnedFd, secret: JobSecret) -> Line {
        Line { socket, unsent: Vec::new(), arrived: Vec::new(), longest: SHORT, secret }
    }

    /// What both sides know and nobody else, for what they make together.
    pub fn secret(&self) -> &JobSecret {
        &self.secret
    }

    /// So many are at the other end: its texts may be as long as that takes.
    pub fn expect_of(&mut self, members: usize) {
        self.longest = members.saturating_mul(OF_MEMBER).saturating_add(SHORT).min(LONGEST);
    }

    /// Says something. What does not go at once goes as this side listens.
    ///
    /// # Errors
    /// If the other side is gone, or the text is too long to be said.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        let len = u32::try_from(text.len()).ok().filter(|_| text.len() <= LONGEST);
        let len = len.ok_or_else(|| io::Error::other("there is more to say than fits into a message"))?;
        self.unsent.extend_from_slice(&len.to_le_bytes());
        self.unsent.extend_from_slice(text.as_bytes());
        send_from(&self.socket, &mut self.unsent).map(drop)
    }

    /// What the other side has said next, once all of it is here and all that was said here has gone.
    ///
    /// # Errors
    /// If the other side is gone, or makes no sense.
    pub fn hear(&mut self) -> io::Result<Option<String>> {
        let has_gone = send_from(&self.socket, &mut self.unsent)?;
        if !read_up_to(&self.socket, &mut self.arrived, LENGTH)? {
            return Ok(None);
        }
        let len = self.arrived.first_chunk().map_or(0, |len| u32::from_le_bytes(*len) as usize);
        if len > self.longest {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the other side says more than it can have to say"));
        }
        if !read_up_to(&self.socket, &mut self.arrived, LENGTH + len)? || !has_gone {
            return Ok(None);
        }
        let text = self.arrived.split_off(LENGTH);
        self.arrived.clear();
        String::from_utf8(text).map(Some).map_err(io::Error::other)
    }

    /// Whether the other side is still there, where nothing more is said: it keeps the line until it has met this one.
    pub fn is_there(&self) -> bool {
        !is_ready(&self.socket, PollFlags::IN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn pair() -> [Line; 2] {
        let (one, other) = UnixStream::pair().unwrap();
        [one, other].map(|end| {
            end.set_nonblocking(true).unwrap();
            Line::new(end.into(), JobSecret::from_bytes([7; 16]))
        })
    }

    #[test]
    fn texts_that_fill_both_ways_arrive() {
        let mut lines = pair();
        let text = "x".repeat(4 << 20);
        let mut heard = [None, None];
        for line in &mut lines {
            line.expect_of(1 << 14);
            line.say(&text).unwrap();
        }
        while heard.iter().any(Option::is_none) {
            for (line, heard) in lines.iter_mut().zip(&mut heard) {
                if heard.is_none() {
                    *heard = line.hear().unwrap();
                }
            }
        }
        assert!(heard.iter().all(|heard| heard.as_deref() == Some(&*text)));
        assert!(lines[0].is_there());
        let [line, other] = lines;
        drop(other);
        assert!(!line.is_there());
    }

    #[test]
    fn nobody_says_more_than_is_expected() {
        let [mut one, mut other] = pair();
        one.say(&"x".repeat(SHORT + 1)).unwrap();
        assert_eq!(other.hear().unwrap_err().kind(), io::ErrorKind::InvalidData);
        let [mut one, mut other] = pair();
        one.say(&"x".repeat(SHORT)).unwrap();
        assert_eq!(other.hear().unwrap().map(|text| text.len()), Some(SHORT));
        drop(other);
        assert!(one.hear().is_err());
    }
}

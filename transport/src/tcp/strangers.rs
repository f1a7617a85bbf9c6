//! Those who have opened a connection to here and have not proved who they are: who may stay, and who has to go.
//!
//! Anybody who can reach the port can connect. A peer of the job knocks at once, which takes the job's secret;
//! everybody else can only be silent, or say what is wrong. So silent connections are limited in number and time, the
//! address with the most of them loses one first, and a connection that has knocked never makes room for a silent one.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::segment::TurnedAwayRecord;
use crate::tcp::connect::{Exactly, JobBook, send_whole};
use crate::tcp::handshake::{self, CHALLENGE, HELLO, NO_CHALLENGE};
use crate::tcp::socket;

/// What is allowed to those who have not knocked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How many may be connected beside as many as there are peers.
    pub(crate) silent: usize,
    /// How long each may take. Generous, as a peer that computes between two steps is not a stranger.
    pub(crate) time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { silent: 64, time: Duration::from_secs(30) }
    }
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Stranger {
    socket: OwnedFd,
    from: Option<IpAddr>,
    challenge: [u8; CHALLENGE],
    /// As which peer it has knocked.
    knocked: Option<usize>,
    said: Exactly<HELLO>,
    since: Instant,
}

impl Stranger {
    /// Sends the challenge.
    fn new(socket: OwnedFd, from: Option<IpAddr>) -> io::Result<Stranger> {
        let challenge = handshake::random_bytes()?;
        send_whole(&socket, &challenge)?;
        Ok(Stranger { socket, from, challenge, knocked: None, said: Exactly::new(), since: Instant::now() })
    }

    /// Reads on. `Ok(Some(peer))`: it is that peer. An error: it is none, and never will be.
    fn advance(&mut self, book: &JobBook) -> io::Result<Option<usize>> {
        while self.said.read(&self.socket)? {
            let challenge = if self.knocked.is_none() { &NO_CHALLENGE } else { &self.challenge };
            let peer = handshake::check_hello(&book.secret, challenge, &self.said.bytes, book.me, book.addresses.len())
                .ok_or(io::ErrorKind::PermissionDenied)?;
            if self.knocked.is_some() {
                return Ok(Some(peer));
            }
            self.knocked = Some(peer);
            self.said = Exactly::new();
        }
        Ok(None)
    }

    /// Answers one who has proved who it is, and hands over its connection.
    pub(crate) fn accept(self, book: &JobBook) -> io::Result<OwnedFd> {
        send_whole(&self.socket, &handshake::verdict(&book.secret, &self.challenge, &self.said.bytes))?;
        socket::prepare(&self.socket)?;
        Ok(self.socket)
    }
}

/// All of them.
#[derive(Default)]
pub(crate) struct Strangers {
    /// Oldest first, each with a number.
    present: Vec<(u32, Stranger)>,
    next: u32,
    turned_away: u64,
    pub(crate) record: Option<TurnedAwayRecord>,
    pub(crate) limits: Limits,
}

impl Strangers {
    /// How many were turned away, or gave up.
    pub(crate) fn turned_away(&self) -> u64 {
        self.turned_away
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.present.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.present.len()
    }

    /// Lets one in, under a number of its own, where `peers` of the job may come, too.
    pub(crate) fn admit(&mut self, socket: OwnedFd, from: Option<IpAddr>, peers: usize) -> io::Result<u32> {
        let stranger = Stranger::new(socket, from)?;
        self.make_room(self.limits.silent + peers);
        let key = self.next;
        self.next = self.next.wrapping_add(1);
        self.present.push((key, stranger));
        Ok(key)
    }

    /// The connection of one who is here.
    pub(crate) fn socket(&self, key: u32) -> &OwnedFd {
        let index = self.index(key).expect("it was just let in");
        &self.present[index].1.socket
    }

    /// Reads what one has to say; the peer that it has proved to be, with its connection.
    pub(crate) fn hear(&mut self, key: u32, book: &JobBook) -> Option<(usize, Stranger)> {
        let index = self.index(key)?;
        let was_silent = self.present[index].1.knocked.is_none();
        match self.present[index].1.advance(book) {
            Ok(Some(peer)) => return Some((peer, self.present.remove(index).1)),
            Ok(None) => {}
            Err(_) => self.turn_away(index),
        }
        if was_silent
            && let Some(index) = self.index(key)
            && let Some(peer) = self.present[index].1.knocked
        {
            self.keep_latest(peer, key);
        }
        None
    }

    /// When the next one has taken too long.
    pub(crate) fn next_to_expire(&self) -> Option<Instant> {
        self.present.first().map(|(_, stranger)| stranger.since + self.limits.time)
    }

    /// Turns away those who have taken too long.
    pub(crate) fn expire(&mut self, now: Instant) {
        let before = self.present.len();
        self.present.retain(|(_, stranger)| now.saturating_duration_since(stranger.since) < self.limits.time);
        self.count(before - self.present.len());
    }

    fn index(&self, key: u32) -> Option<usize> {
        self.present.iter().position(|(other, _)| *other == key)
    }

    fn turn_away(&mut self, index: usize) {
        self.present.remove(index);
        self.count(1);
    }

    fn count(&mut self, more: usize) {
        self.turned_away += more as u64;
        if let Some(record) = &self.record
            && more > 0
        {
            record.publish(self.turned_away);
        }
    }

    /// A peer tries one connection at a time: it has given up those before the latest.
    fn keep_latest(&mut self, peer: usize, latest: u32) {
        self.present.retain(|(key, stranger)| *key == latest || stranger.knocked != Some(peer));
    }

    /// Turns away the oldest silent one of the address that has the most of them, if there are so many.
    fn make_room(&mut self, most: usize) {
        let silent = self.present.iter().filter(|(_, stranger)| stranger.knocked.is_none());
        if silent.clone().count() < most {
            return;
        }
        let mut of_address: HashMap<Option<IpAddr>, usize> = HashMap::new();
        for (_, stranger) in silent.clone() {
            *of_address.entry(stranger.from).or_default() += 1;
        }
        let most = of_address.values().max().copied();
        let mut silent = self.present.iter().map(|(_, stranger)| stranger);
        let oldest = silent.position(|one| one.knocked.is_none() && of_address.get(&one.from).copied() == most);
        if let Some(index) = oldest {
            self.turn_away(index);
        }
    }
}

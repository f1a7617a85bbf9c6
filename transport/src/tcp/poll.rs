//! Waiting for sockets: which are watched, and what is done when one of them is ready.
#![forbid(unsafe_code)]

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::time::Timespec;

use crate::Queue;
use crate::control::Presence;
use crate::layout::QUEUES;
use crate::tcp::TcpFabric;
use crate::tcp::connect::{Attempt, Progress};
use crate::tcp::link::{Context, Link, State, Watched};
use crate::tcp::socket;

/// Events that are taken from the kernel at once.
const EVENTS: usize = 64;
/// Longest sleep: a safety net, no wake-up depends on it.
pub(crate) const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// With at most so many connections, each is read without asking first which has something.
const FEW: usize = 2;
/// How often, among looks of that kind, all sockets are looked at.
pub(super) const LOOK_AT_ALL: u32 = 32;
/// After so many looks in a row that found something, without a sleep, the kernel need not say when that happens: it
/// costs time of every arrival.
const RELIED_UPON: u32 = 8;

const LISTENER: u64 = u64::MAX;
pub(super) const DOORBELL: u64 = u64::MAX - 1;
const STRANGERS: u64 = 1 << 32;

/// Watches a socket, be it new or watched already.
pub(crate) fn watch(epoll: &OwnedFd, socket: &OwnedFd, token: u64, flags: EventFlags) {
    if epoll::add(epoll, socket, EventData::new_u64(token), flags).is_err() {
        // It was there. (If there were no memory for it, the safety net of a second would keep the connection going.)
        let _ = epoll::modify(epoll, socket, EventData::new_u64(token), flags);
    }
}

/// Watches the socket on which others connect.
pub(crate) fn watch_listener(epoll: &OwnedFd, listener: &OwnedFd) {
    watch(epoll, listener, LISTENER, EventFlags::IN);
}

impl TcpFabric {
    fn silence_doorbell(&self) {
        if let Some(doorbell) = &self.doorbell {
            // Nothing to read: nobody has rung since.
            let _ = rustix::io::read(&**doorbell, &mut [0; 8]);
        }
    }

    /// Whether there are so few sockets that each may be looked at.
    pub(super) fn are_few(&self) -> bool {
        (1..=FEW).contains(&self.live.len()) && self.connecting.is_empty() && self.strangers.is_empty()
    }

    /// Takes in what has arrived from one peer, without waiting.
    pub(crate) fn look_at(&mut self, peer: usize) {
        self.looks = self.looks.wrapping_add(1);
        if self.links[peer].socket().is_none() || self.looks.is_multiple_of(LOOK_AT_ALL) {
            return self.poll(Duration::ZERO);
        }
        self.look_into(peer);
    }

    /// Reads from a link that the kernel has said nothing of.
    pub(super) fn look_into(&mut self, peer: usize) {
        if !self.receive_from(peer) || !self.are_few() {
            return;
        }
        self.found = self.found.saturating_add(1);
        let link = &mut self.links[peer];
        if self.found > RELIED_UPON
            && link.watched == Watched::ForArrivals
            && let State::Up(socket) = &link.state
            && epoll::delete(&self.epoll, socket).is_ok()
        {
            link.watched = Watched::Not;
            self.all_watched = false;
        }
    }

    /// Has the kernel say of every socket when something has arrived.
    pub(super) fn watch_all(&mut self) {
        if !std::mem::replace(&mut self.all_watched, true) {
            for index in 0..self.live.len() {
                let peer = self.live[index];
                if self.links[peer].watched == Watched::Not {
                    self.watch_link(peer, Watched::ForArrivals);
                }
            }
        }
    }

    /// Waits at most so long for any socket to be ready, and does what is to be done then.
    pub(crate) fn poll(&mut self, longest: Duration) {
        if !longest.is_zero() {
            self.found = 0;
        }
        if !longest.is_zero() || !self.are_few() {
            self.watch_all();
        }
        let mut events = [const { MaybeUninit::uninit() }; EVENTS];
        let timeout = self.time_to_wait(longest);
        let timeout = Timespec { tv_sec: timeout.as_secs() as _, tv_nsec: timeout.subsec_nanos() as _ };
        // An interrupted wait is a short one.
        let ready = epoll::wait(&self.epoll, &mut events, Some(&timeout));
        let ready: &[Event] = ready.as_ref().map_or(&[], |(ready, _)| ready);
        for event in ready {
            let (token, flags) = (event.data.u64(), event.flags);
            if token == LISTENER {
                self.accept_strangers();
            } else if token == DOORBELL {
                self.silence_doorbell();
            } else if token >= STRANGERS {
                self.hear_stranger((token - STRANGERS) as u32);
            } else if matches!(self.links[token as usize].state, State::Connecting(_)) {
                self.advance_attempt(token as usize, |attempt, book| attempt.advance(book));
            } else if flags != EventFlags::OUT {
                _ = self.receive_from(token as usize);
            } else {
                self.links[token as usize].flush();
                self.watch_for_room(token as usize);
                // Whoever has a write under way is to come again.
                self.news = true;
            }
        }
        if !self.connecting.is_empty() || !self.strangers.is_empty() {
            self.keep_time();
        }
    }

    /// `longest`, or less if something is to be done at a certain time.
    fn time_to_wait(&self, longest: Duration) -> Duration {
        if longest.is_zero() || (self.connecting.is_empty() && self.strangers.is_empty()) {
            return longest;
        }
        let attempts = self.connecting.iter().filter_map(|&peer| match &self.links[peer].state {
            State::Connecting(attempt) => attempt.due(),
            _ => None,
        });
        let Some(first) = attempts.chain(self.strangers.next_to_expire()).min() else { return longest };
        first.saturating_duration_since(Instant::now()).min(longest)
    }

    /// Does what is due by the clock.
    fn keep_time(&mut self) {
        let now = Instant::now();
        for index in (0..self.connecting.len()).rev() {
            self.advance_attempt(self.connecting[index], |attempt, book| attempt.tick(book, now));
        }
        self.strangers.expire(now);
    }

    /// Reads from a link and sees what follows from it; whether there was anything.
    pub(crate) fn receive_from(&mut self, peer: usize) -> bool {
        let (link, mut context) = self.link_and_context(peer);
        let anything = link.receive(&mut context);
        let link = &mut self.links[peer];
        if !anything {
            if link.has_something_to_send() {
                link.flush();
                self.watch_for_room(peer);
            }
            return false;
        }
        if link.has_something_to_send() {
            link.flush();
        }
        self.news = true;
        if link.socket().is_none() {
            self.live.retain(|&other| other != peer);
        }
        self.watch_for_room(peer);
        for queue in 0..QUEUES {
            self.list(peer, queue);
        }
        true
    }

    /// A link and what it needs to take in what arrives.
    pub(crate) fn link_and_context(&mut self, peer: usize) -> (&mut Link, Context<'_>) {
        let context = Context {
            handed_out: &self.handed_out,
            signals: &mut self.signals,
            rooms: &mut self.rooms,
            room: &mut self.room,
        };
        (&mut self.links[peer], context)
    }

    /// Has `ready` look at a peer if there is something to see.
    pub(crate) fn list(&mut self, peer: usize, queue: usize) {
        if !self.listed[queue][peer] && self.has_something(peer, queue) {
            self.listed[queue][peer] = true;
            self.waiting[queue].push_back(peer);
        }
    }

    pub(crate) fn has_something(&self, peer: usize, queue: usize) -> bool {
        let link = &self.links[peer];
        let is_coming = queue == Queue::Messages as usize && link.is_coming();
        link.inboxes[queue].front().is_some() || is_coming || link.fault().is_some()
    }

    /// Has the kernel say when a socket takes more, if there is more.
    pub(crate) fn watch_for_room(&mut self, peer: usize) {
        let link = &mut self.links[peer];
        let waits = link.under_way.is_some() || link.has_something_to_send();
        match (waits, link.watched) {
            (true, Watched::Not | Watched::ForArrivals) => self.watch_link(peer, Watched::ForRoom),
            (false, Watched::ForRoom) => self.watch_link(peer, Watched::ForArrivals),
            _ => {}
        }
    }

    fn watch_link(&mut self, peer: usize, watched: Watched) {
        let link = &mut self.links[peer];
        if let State::Up(socket) = &link.state {
            let room = if watched == Watched::ForRoom { EventFlags::OUT } else { EventFlags::empty() };
            watch(&self.epoll, socket, peer as u64, EventFlags::IN | room);
            link.watched = watched;
        }
    }

    /// Opens a connection to `peer`, if nobody has.
    pub(crate) fn reach_out(&mut self, peer: usize) {
        if matches!(self.links[peer].state, State::Unused) {
            self.links[peer].state = State::Connecting(Attempt::new(peer));
            self.connecting.push(peer);
            let now = Instant::now();
            self.advance_attempt(peer, |attempt, book| attempt.tick(book, now));
        }
    }

    fn advance_attempt(&mut self, peer: usize, step: impl Fn(&mut Attempt, &crate::tcp::connect::JobBook) -> Progress) {
        let State::Connecting(attempt) = &mut self.links[peer].state else { return };
        match step(attempt, &self.book) {
            Progress::Same => {}
            Progress::Changed => {
                if let Some((socket, for_room)) = attempt.socket() {
                    let flags = if for_room { EventFlags::OUT } else { EventFlags::IN };
                    watch(&self.epoll, socket, peer as u64, flags);
                }
            }
            Progress::Done(socket) => self.adopt(peer, socket),
            // It may come to this one where this one can't come to it.
            Progress::Failed(_) if self.links[peer].still_only_asks() => self.stop_asking(peer),
            Progress::Failed(what) => self.break_link(peer, what),
        }
    }

    /// A connection stands: use it.
    pub(super) fn adopt(&mut self, peer: usize, socket: OwnedFd) {
        self.connecting.retain(|&other| other != peer);
        self.links[peer].state = State::Up(socket);
        self.watch_link(peer, Watched::ForArrivals);
        self.live.push(peer);
        let link = &mut self.links[peer];
        if !link.said_goodbye {
            if self.presence != Presence::Here {
                link.tell(self.presence);
            }
            if self.finishing {
                link.say_goodbye();
            }
        }
        link.flush();
        self.news = true;
        self.watch_for_room(peer);
    }

    /// Lets in whoever waits at the door, and hears at once who has spoken already: a silent one may make room for the
    /// next.
    fn accept_strangers(&mut self) {
        // As many as can wait there: whoever comes meanwhile is for the next look.
        for _ in 0..socket::BACKLOG {
            let Some(Ok((socket, from))) = self.listener.as_ref().map(socket::accept) else { return };
            let Ok(key) = self.strangers.admit(socket, from, self.links.len()) else { continue };
            watch(&self.epoll, self.strangers.socket(key), STRANGERS + u64::from(key), EventFlags::IN);
            self.hear_stranger(key);
        }
    }

    fn hear_stranger(&mut self, key: u32) {
        let Some((peer, stranger)) = self.strangers.hear(key, &self.book) else { return };
        let wanted = match &self.links[peer].state {
            State::Unused => true,
            State::Connecting(attempt) => peer < self.book.me || !attempt.has_said_hello(),
            State::Up(_) | State::Gone | State::Lost(_) => false,
        };
        if wanted && let Ok(socket) = stranger.accept(&self.book) {
            self.adopt(peer, socket);
        }
    }
}

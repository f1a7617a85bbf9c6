//! The fabric between nodes: the same primitives over TCP.
//!
//! One connection joins two peers, made when the first of them has something for the other (`connect`), after both have
//! proved that they know the job's secret (`handshake`). Over it go frames (`frame`): cells, for which the receiver has
//! lent credit (`credit`); remote writes, whose bytes are read from the socket into the memory they are for, if the
//! receiver has handed that out (`handed_out`); signals. The receiver does all this whenever it calls the fabric: it
//! plays the part that the MBCF leaves to the interrupt handler of the receiving node.
//!
//! There is no remote read and there are no claim words: both would need an answer of the peer, and nobody waits for
//! those.

mod connect;
mod credit;
mod frame;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod handed_out;
pub(crate) mod handshake;
mod link;
mod poll;
mod presence;
pub(crate) mod socket;
mod spin;
#[cfg(test)]
mod stingy;
mod strangers;
#[cfg(test)]
mod tests;
mod write;

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::unistd::{SysconfVar, sysconf};
use rustix::event::epoll;

pub use self::handshake::JobSecret;

use self::connect::JobBook;
use self::credit::Rooms;
use self::frame::{Kind, MAX_PAYLOAD};
use self::handed_out::HandedOut;
use self::link::{Link, State};
use self::poll::LONGEST_SLEEP;
use self::spin::{BEGIN_TO_COUNT, Spin};
use self::strangers::Strangers;
use crate::control::Presence;
use crate::descriptor::raised;
use crate::layout::QUEUES;
use crate::segment::TurnedAwayRecord;
use crate::{
    Arrival, Backoff, Enqueue, Fabric, Header, INLINE_PAYLOAD, Notice, PeerFault, PushError, Queue, ReadSpan, Reading,
    RemoteAddress, RemoteError, Signal, SignalSet, Way, WriteSpan, Written,
};

/// Why a peer could not take its place.
#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    /// No socket to listen at.
    #[error("cannot listen for the other processes of the job at {address}: {source}")]
    Listen {
        /// Where.
        address: IpAddr,
        /// What the system says.
        source: io::Error,
    },
    /// No means to wait for sockets.
    #[error("cannot set up waiting for network connections: {0}")]
    Poll(io::Error),
    /// The number of this process does not fit.
    #[error("process number {me} in a job of {peers}")]
    NoSuchPeer {
        /// The number.
        me: usize,
        /// How many there are.
        peers: usize,
    },
}

/// A place where others will connect, before it is known who they are.
#[derive(Debug)]
pub struct TcpEndpoint {
    listener: OwnedFd,
    address: SocketAddr,
}

impl TcpEndpoint {
    /// Where it is, to be told to the other peers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes its place as peer `me` among peers that listen at `addresses` (each at one or more, the preferred one
    /// first). No connection is made before it is needed.
    ///
    /// # Errors
    /// If there is no such place, or the system gives no means to wait for sockets.
    pub fn connect(self, me: usize, addresses: Vec<Vec<SocketAddr>>, secret: JobSecret) -> Result<TcpFabric, TcpError> {
        let peers = addresses.len();
        if me >= peers {
            return Err(TcpError::NoSuchPeer { me, peers });
        }
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map(raised);
        let epoll = epoll.map_err(|error| TcpError::Poll(error.into()))?;
        poll::watch_listener(&epoll, &self.listener);
        let is_here = |addresses: &Vec<SocketAddr>| addresses.iter().any(|other| other.ip() == self.address.ip());
        let peers_here = addresses.iter().filter(|addresses| is_here(addresses)).count();
        // Of the machine: this process may be bound to one, and the others to others.
        let processors = sysconf(SysconfVar::_NPROCESSORS_ONLN).ok().flatten().map_or(1, |count| count as usize);
        Ok(TcpFabric {
            links: (0..peers).map(Link::new).collect(),
            book: JobBook { me, addresses, secret },
            epoll,
            doorbell: None,
            listener: Some(self.listener),
            strangers: Strangers::default(),
            live: Vec::new(),
            connecting: Vec::new(),
            debtors: Vec::new(),
            waiting: Default::default(),
            listed: [vec![false; peers], vec![false; peers]],
            handed_out: HandedOut::default(),
            signals: 0,
            room: Rooms::default().take(),
            rooms: Rooms::default(),
            looks: 0,
            found: 0,
            all_watched: true,
            looked: false,
            served: false,
            news: false,
            presence: Presence::Here,
            finishing: false,
            spin: Spin::new(peers_here > processors),
        })
    }
}

/// One peer's end of the fabric between nodes.
pub struct TcpFabric {
    book: JobBook,
    links: Vec<Link>,
    epoll: OwnedFd,
    /// Readable when another thread wants this peer to wake up.
    doorbell: Option<Arc<OwnedFd>>,
    listener: Option<OwnedFd>,
    /// Who has connected and not yet proved who it is.
    strangers: Strangers,
    /// Peers with a connection that stands.
    live: Vec<usize>,
    /// Peers to which a connection is being opened.
    connecting: Vec<usize>,
    /// Peers that may not know yet of cells that were popped.
    debtors: Vec<usize>,
    /// For each queue: peers whose inbox is not empty or whose link is broken, and some whose was.
    waiting: [VecDeque<usize>; QUEUES],
    /// Who is in `waiting`.
    listed: [Vec<bool>; QUEUES],
    handed_out: HandedOut,
    signals: u32,
    /// What sockets are read into.
    room: Vec<u8>,
    rooms: Rooms,
    looks: u32,
    /// Looks in a row that found something.
    found: u32,
    /// The kernel says of every socket when something has arrived.
    all_watched: bool,
    /// The sockets were looked at for the other queue just now.
    looked: bool,
    /// The last call of `ready` has named a peer with messages, and whoever serves one looks whether there are more.
    served: bool,
    /// Something arrived since the last call of `idle`: its caller may not have seen it.
    news: bool,
    /// What this peer has said of itself.
    presence: Presence,
    finishing: bool,
    spin: Spin,
}

impl TcpFabric {
    /// Listens at an address of this machine (and a free port), for loopback or one network interface.
    ///
    /// # Errors
    /// If the system refuses, as when this machine has no such address.
    pub fn bind(interface: IpAddr) -> Result<TcpEndpoint, TcpError> {
        let failure = |source| TcpError::Listen { address: interface, source };
        let listener = socket::listen(SocketAddr::new(interface, 0)).map_err(failure)?;
        let address = rustix::net::getsockname(&listener).map_err(|error| failure(error.into()))?;
        let address = SocketAddr::try_from(address).map_err(|error| failure(error.into()))?;
        Ok(TcpEndpoint { listener, address })
    }

    /// How many connections were closed because whoever opened them did not prove to be a peer (a peer that gave one up
    /// included).
    pub fn turned_away(&self) -> u64 {
        self.strangers.turned_away()
    }

    /// To how many peers there is a connection.
    pub fn connections(&self) -> usize {
        self.live.len()
    }

    /// Ends the job: every peer that this one is connected with learns of it by [`Signal::Abort`].
    pub fn abort(&mut self) {
        for index in 0..self.live.len() {
            self.signal(self.live[index], Signal::Abort);
        }
    }

    /// Ends in good order: all that was pushed or written reaches the peers. Returns when every peer that this one is
    /// connected with has finished too, or is gone.
    pub fn finish(&mut self) {
        self.begin_to_finish();
        while !self.has_finished() {
            self.poll(LONGEST_SLEEP);
        }
        self.listener = None;
    }

    /// As [`TcpFabric::finish`], but does not wait longer than that.
    pub fn leave(&mut self, longest: Duration) {
        let until = Instant::now() + longest;
        self.begin_to_finish();
        while !self.has_finished() && Instant::now() < until {
            self.poll(until.saturating_duration_since(Instant::now()).min(LONGEST_SLEEP));
        }
        self.listener = None;
    }

    /// Has whoever watches the job see how many were turned away.
    pub(crate) fn publish_turned_away(&mut self, record: TurnedAwayRecord) {
        self.strangers.record = Some(record);
    }

    /// The connection with `peer` serves nothing but [`TcpFabric::ring`]: it may have finished before one stands.
    pub(crate) fn only_ring(&mut self, peer: usize) {
        self.links[peer].only_rings = true;
    }

    /// Whether the connection with `peer` is broken.
    pub(crate) fn has_lost(&self, peer: usize) -> bool {
        matches!(self.links[peer].state, State::Lost(_))
    }

    /// Has `peer` come out of its sleep, without saying anything.
    pub(crate) fn ring(&mut self, peer: usize) {
        if !self.links[peer].is_over() {
            // A new connection rings by itself.
            self.reach_out(peer);
            self.links[peer].give_credit();
            self.watch_for_room(peer);
        }
    }

    /// Whether something has arrived that a caller may not have seen, since the last call.
    #[inline]
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    /// One round of a wait, but for the sleep: returns whether it is time for that.
    pub(crate) fn pass_round(&mut self, backoff: &mut Backoff) -> bool {
        if backoff.rounds == 0 {
            self.spin.begin();
        }
        let spins = backoff.rounds < self.spin.looks();
        if backoff.rounds == BEGIN_TO_COUNT {
            self.spin.count();
        }
        backoff.rounds = backoff.rounds.saturating_add(1);
        if spins {
            self.look_around();
            self.news = false;
            return false;
        }
        // If there are news, the caller may want to see them first.
        let sleeps = !self.take_news();
        if sleeps {
            self.spin.in_vain();
        }
        sleeps
    }

    /// Sleeps until a socket is ready.
    pub(crate) fn sleep(&mut self) {
        self.pay_debts();
        self.poll(LONGEST_SLEEP);
        self.news = false;
    }

    /// Says goodbye to all, once.
    pub(crate) fn begin_to_finish(&mut self) {
        self.finishing = true;
        self.stop_asking_all();
        for peer in 0..self.links.len() {
            let link = &mut self.links[peer];
            if link.under_way.is_some() {
                // Nobody comes with the rest any more, and nothing else can follow.
                self.break_link(peer, "a write to it was given up");
            } else if matches!(link.state, State::Up(_) | State::Connecting(_)) && !link.said_goodbye {
                if self.presence != Presence::Here && matches!(link.state, State::Connecting(_)) {
                    // Nobody is there yet to have heard it, and nothing follows a goodbye.
                    link.tell(self.presence);
                }
                link.say_goodbye();
                self.watch_for_room(peer);
            }
        }
    }

    /// Whether everything has left and every connected peer has said goodbye.
    fn has_finished(&self) -> bool {
        self.connecting.is_empty()
            && self
                .links
                .iter()
                .all(|link| link.socket().is_none() || (link.is_closed_by_peer() && !link.has_something_to_send()))
    }

    /// Tells peers of all credit that they can have.
    pub(crate) fn pay_debts(&mut self) {
        while let Some(peer) = self.debtors.pop() {
            if self.links[peer].owes_credit() {
                self.links[peer].give_credit();
                self.watch_for_room(peer);
            }
        }
    }

    /// A cell of `peer` was popped, of which it is to be told, perhaps at once.
    fn owe(&mut self, peer: usize, is_due: bool) {
        let link = &mut self.links[peer];
        if link.socket().is_none() || link.said_goodbye {
            // Nobody to tell.
        } else if is_due {
            link.give_credit();
            self.watch_for_room(peer);
        } else if self.debtors.last() != Some(&peer) && !self.debtors.contains(&peer) {
            self.debtors.push(peer);
        }
    }

    pub(crate) fn next_waiting(&mut self, queue: usize) -> Option<usize> {
        while let Some(peer) = self.waiting[queue].pop_front() {
            if self.has_something(peer, queue) {
                self.waiting[queue].push_back(peer);
                return Some(peer);
            }
            self.listed[queue][peer] = false;
        }
        None
    }

    fn push_to_self(&mut self, queue: Queue, header: Header, payload: ReadSpan) {
        let me = self.book.me;
        let inbox = &mut self.links[me].inboxes[queue as usize];
        let mut cell =
            inbox.begin(header, payload.len(), &mut self.rooms).expect("the window has said that there is room");
        payload.copy_to(WriteSpan::from(cell.payload_mut()));
        inbox.arrive(cell);
        self.news = true;
        self.list(me, queue as usize);
    }

    /// Ends a link with an error, if it has not ended.
    fn break_link(&mut self, peer: usize, what: &'static str) {
        self.links[peer].lose(what);
        self.live.retain(|&other| other != peer);
        self.connecting.retain(|&other| other != peer);
        self.news = true;
        (0..QUEUES).for_each(|queue| self.list(peer, queue));
    }
}

impl Fabric for TcpFabric {
    #[inline]
    fn me(&self) -> usize {
        self.book.me
    }

    #[inline]
    fn peers(&self) -> usize {
        self.links.len()
    }

    #[inline]
    fn max_payload(&self, _: usize) -> usize {
        MAX_PAYLOAD
    }

    fn try_push(
        &mut self,
        to: usize,
        queue: Queue,
        enqueue: Enqueue,
        header: Header,
        payload: ReadSpan,
    ) -> Result<(), PushError> {
        let most = if queue == Queue::Messages { MAX_PAYLOAD } else { INLINE_PAYLOAD };
        assert!(payload.len() <= most, "payload longer than the queue takes");
        if self.links[to].is_over() {
            return Err(PushError::PeerLost { peer: to });
        }
        if !self.links[to].windows[queue as usize].take(enqueue, payload.len()) {
            // One that has said goodbye will never make room.
            let never = self.links[to].is_closed_by_peer();
            return Err(if never { PushError::PeerLost { peer: to } } else { PushError::Full });
        }
        if to == self.book.me {
            self.push_to_self(queue, header, payload);
            return Ok(());
        }
        self.reach_out(to);
        self.links[to].post(Kind::Cell(queue), header, payload);
        self.watch_for_room(to);
        Ok(())
    }

    fn front(&mut self, from: usize, queue: Queue) -> Result<Option<Arrival>, PeerFault> {
        let link = &mut self.links[from];
        if link.inboxes[queue as usize].front().is_none() {
            // Where the socket was found empty just now, not at once again; and not into a payload that may be
            // placed directly.
            let is_known = match queue {
                Queue::Messages => std::mem::take(&mut link.emptied) || link.is_coming(),
                Queue::Requests => std::mem::take(&mut link.has_no_more_requests),
            };
            if !is_known {
                self.look_at(from);
                let link = &mut self.links[from];
                link.has_no_more_requests =
                    queue == Queue::Requests && link.emptied && link.inboxes[queue as usize].front().is_some();
            }
        }
        let link = &self.links[from];
        if let Some(cell) = link.inboxes[queue as usize].front() {
            return Ok(Some(Arrival { header: cell.header, len: cell.len, place: 0 }));
        }
        link.fault().map_or(Ok(None), |what| Err(PeerFault { peer: from, what }))
    }

    fn read(&mut self, from: usize, queue: Queue, _: &Arrival, offset: usize, into: WriteSpan) {
        let cell = self.links[from].inboxes[queue as usize].front().expect("read without an arrival");
        ReadSpan::from(cell.payload()).part(offset, into.len()).copy_to(into);
    }

    fn pop(&mut self, from: usize, queue: Queue) {
        let link = &mut self.links[from];
        let is_due = link.inboxes[queue as usize].pop(&mut self.rooms);
        if from == self.book.me {
            let popped = link.inboxes[queue as usize].announce();
            link.windows[queue as usize].give_back(popped).expect("what was popped was pushed");
        } else {
            self.owe(from, is_due);
        }
    }

    fn coming(&mut self, from: usize) -> Option<Arrival> {
        self.links[from].coming()
    }

    fn place_directly(&mut self, from: usize, address: &RemoteAddress, note: Header) {
        let (link, mut context) = self.link_and_context(from);
        let is_due = link.place_directly(address.space, address.place, note, &mut context);
        self.owe(from, is_due);
        self.receive_from(from);
    }

    fn ready(&mut self, queue: Queue) -> Option<usize> {
        let is_fresh = match queue {
            Queue::Messages => std::mem::take(&mut self.served),
            Queue::Requests => std::mem::take(&mut self.looked),
        };
        let mut found = self.next_waiting(queue as usize);
        if found.is_none() && !is_fresh {
            self.look_around();
            found = self.next_waiting(queue as usize);
        }
        if queue == Queue::Messages {
            (self.looked, self.served) = (found.is_none(), found.is_some());
        }
        found
    }

    #[inline]
    fn popped(&self, from: usize) -> u64 {
        self.links[from].inboxes[Queue::Messages as usize].popped()
    }

    #[inline]
    fn pushed(&self, to: usize) -> u64 {
        self.links[to].windows[Queue::Messages as usize].pushed()
    }

    #[inline]
    fn accepted(&mut self, to: usize) -> Option<u64> {
        Some(self.links[to].windows[Queue::Messages as usize].popped())
    }

    fn address_of(&self, span: ReadSpan) -> RemoteAddress {
        // A name in a space that is never handed out.
        RemoteAddress { space: 0, place: span.start() as u64, len: span.len() as u64 }
    }

    fn hand_out(&mut self, peer: usize, span: WriteSpan<'static>) -> RemoteAddress {
        self.handed_out.add(peer, span)
    }

    fn withdraw(&mut self, peer: usize, address: &RemoteAddress) -> bool {
        self.handed_out.remove(peer, address.space);
        true
    }

    fn way_from(&self, _: usize, _: &RemoteAddress) -> Option<Way> {
        Some(Way::Network)
    }

    fn remote_write(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        from: ReadSpan,
        notice: Option<Notice>,
    ) -> Result<Written, RemoteError> {
        self.write(peer, address, offset, from, notice)
    }

    fn remote_read(
        &mut self,
        _: usize,
        address: &RemoteAddress,
        offset: u64,
        into: WriteSpan,
        _: Reading,
    ) -> Result<Way, RemoteError> {
        address.part(offset, into.len()).ok_or(RemoteError::Refused)?;
        Err(RemoteError::NoWay)
    }

    fn claim_words(&self) -> usize {
        0
    }

    fn set_claim(&mut self, _: usize, _: u64) {
        unreachable!("there are no claim words")
    }

    fn swap_claim(&mut self, _: usize, _: usize, _: u64, _: u64) -> Result<(), u64> {
        unreachable!("there are no claim words")
    }

    fn add_to_claim(&mut self, _: usize, _: usize, _: u64) -> u64 {
        unreachable!("there are no claim words")
    }

    fn end_job(&mut self, code: i32, reason: &str) -> ! {
        self.abort();
        eprintln!("the job ends: {reason}");
        std::process::exit(code)
    }

    fn signal(&mut self, peer: usize, signal: Signal) {
        if peer == self.book.me {
            self.signals |= signal as u32;
            self.news = true;
        } else if !self.links[peer].is_over() {
            self.reach_out(peer);
            self.links[peer].send_signal(signal as u32);
            self.watch_for_room(peer);
        }
    }

    fn carried(&self) -> [u64; 2] {
        self.links.iter().fold([0; 2], |[sent, taken], link| [sent + link.sent, taken + link.taken])
    }

    #[inline]
    fn take_signals(&mut self) -> SignalSet {
        SignalSet(std::mem::take(&mut self.signals))
    }

    #[inline]
    fn patience(&self) -> u32 {
        self.spin.looks()
    }

    fn idle(&mut self, backoff: &mut Backoff) {
        if self.pass_round(backoff) {
            self.sleep();
        }
    }
}

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
mod fabric;
mod frame;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod handed_out;
pub(crate) mod handshake;
mod link;
mod network;
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

use nix::unistd::{SysconfVar, sysconf};
use rustix::event::epoll;

pub use self::handshake::JobSecret;

use self::connect::JobBook;
use self::credit::Rooms;
use self::handed_out::HandedOut;
use self::link::Link;
use self::spin::Spin;
use self::strangers::Strangers;
use crate::control::Presence;
use crate::descriptor::raised;
use crate::layout::QUEUES;
use crate::segment::TurnedAwayRecord;
use crate::{Header, Queue, ReadSpan, WriteSpan};

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

    /// Has whoever watches the job see how many were turned away.
    pub(crate) fn publish_turned_away(&mut self, record: TurnedAwayRecord) {
        self.strangers.record = Some(record);
    }

    /// Whether everything has left and every connected peer has said goodbye.
    fn has_finished(&self) -> bool {
        self.connecting.is_empty()
            && self
                .links
                .iter()
                .all(|link| link.socket().is_none() || (link.is_closed_by_peer() && !link.has_something_to_send()))
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

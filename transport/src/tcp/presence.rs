//! Whether peers still take part, said by each to those it is connected with, and to whoever connects with it later.
//!
//! Who waits for a peer to which there is no connection opens one: nothing has been said on it before, so what the peer
//! says first is how it stands with it.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use crate::control::Presence;
use crate::tcp::TcpFabric;
use crate::tcp::link::State;

/// How long a peer is waited for before it is asked: as a rule what is awaited comes first, on a connection that it
/// opens.
const BEFORE_ASKING: Duration = Duration::from_millis(20);

impl TcpFabric {
    /// Says that this peer ends, and how: behind all that it has pushed or written.
    pub(crate) fn depart(&mut self, presence: Presence) {
        self.presence = presence;
        for index in 0..self.live.len() {
            let peer = self.live[index];
            if !self.links[peer].only_rings && !self.links[peer].is_over() {
                self.links[peer].tell(presence);
                self.watch_for_room(peer);
            }
        }
    }

    /// Whether a peer still takes part, as far as it has said.
    pub(crate) fn presence(&self, peer: usize) -> Presence {
        self.links[peer].presence
    }

    /// Whether any peer has said that it takes part no longer.
    pub(crate) fn has_anybody_gone(&self) -> bool {
        self.links.iter().any(|link| link.presence != Presence::Here)
    }

    /// Has a peer say how it stands with it, unless it can say so already, or is about to have a connection for other
    /// reasons: who is asked again and again for a while is asked once.
    pub(crate) fn ask(&mut self, peer: usize) {
        let link = &mut self.links[peer];
        if !matches!(link.state, State::Unused) || link.only_asks || self.finishing || peer == self.book.me {
            return;
        }
        let now = Instant::now();
        if now.duration_since(*link.awaited_since.get_or_insert(now)) >= BEFORE_ASKING {
            link.only_asks = true;
            self.reach_out(peer);
        }
    }

    /// Nobody is to hear any more how it stands with the peers that were asked, unless they have been reached.
    pub(crate) fn stop_asking_all(&mut self) {
        for index in (0..self.connecting.len()).rev() {
            let peer = self.connecting[index];
            let link = &self.links[peer];
            // One that has heard a hello may have let this one in.
            let may_be_in = matches!(&link.state, State::Connecting(attempt) if attempt.has_said_hello());
            if link.still_only_asks() && !may_be_in {
                self.stop_asking(peer);
            }
        }
    }

    /// The connection that was to be opened is not needed.
    pub(crate) fn stop_asking(&mut self, peer: usize) {
        self.links[peer].state = State::Unused;
        self.connecting.retain(|&other| other != peer);
    }
}

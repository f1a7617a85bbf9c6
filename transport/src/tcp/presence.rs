//! Whether peers still take part, said by each to those it is connected with, and to whoever connects with it later.
//!
//! Who waits for a peer to which there is no connection opens one: nothing has been said on it before, so what the peer
//! says first is how it stands with it.
#![forbid(unsafe_code)]

use std::time::Duration;

use crate::tcp::TcpFabric;
use crate::tcp::link::State;

/// How long a peer is waited for before it is asked: as a rule what is awaited comes first, on a connection that it
/// opens.
pub(super) const BEFORE_ASKING: Duration = Duration::from_millis(20);

impl TcpFabric {
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

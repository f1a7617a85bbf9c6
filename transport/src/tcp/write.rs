//! Remote writes: their bytes go from the sender's memory to the socket, and no more than a short rest of them is ever copied.
#![forbid(unsafe_code)]

use std::io;

use crate::tcp::TcpFabric;
use crate::tcp::frame::Kind;
use crate::tcp::link::MOST_COPIED;
use crate::tcp::poll::LONGEST_SLEEP;
use crate::tcp::socket;
use crate::{Backoff, Header, ReadSpan, RemoteError, Signal, SignalSet};

impl TcpFabric {
    /// One round of waiting until the socket to `peer` takes more; takes in meanwhile what arrives from anybody. False: it never will.
    fn await_room(&mut self, peer: usize, backoff: &mut Backoff) -> bool {
        // (Not `pass_round`: what arrives is news for the caller of `idle` still.)
        if backoff.rounds < self.spin.looks() {
            backoff.rounds += 1;
            self.look_around();
        } else {
            self.watch_for_room(peer);
            self.poll(LONGEST_SLEEP);
        }
        if SignalSet(self.signals).contains(Signal::Abort) {
            self.break_link(peer, "the job was aborted");
        }
        !self.links[peer].is_over()
    }

    /// Sends one frame of a remote write.
    pub(crate) fn write_frame(&mut self, peer: usize, words: Header, body: ReadSpan) -> Result<(), RemoteError> {
        let mut backoff = Backoff::default();
        // Behind everything else, and into the socket as far as possible.
        loop {
            let link = &mut self.links[peer];
            link.flush();
            if link.socket().is_some() && !link.has_something_to_send() {
                break;
            }
            if link.outbox_len() + body.len() <= MOST_COPIED {
                link.post(Kind::Write, words, body);
                self.watch_for_room(peer);
                return Ok(());
            }
            if !self.await_room(peer, &mut backoff) {
                return Err(RemoteError::PeerLost);
            }
        }
        let link = &mut self.links[peer];
        let header = link.frame(Kind::Write, body.len(), words);
        link.writing = true;
        let sent = self.write_whole(peer, &header, body);
        self.links[peer].writing = false;
        self.links[peer].flush();
        self.watch_for_room(peer);
        sent
    }

    /// Sends all of these bytes, but for a rest that may be kept in the outbox.
    fn write_whole(&mut self, peer: usize, header: &[u8], body: ReadSpan) -> Result<(), RemoteError> {
        let header = ReadSpan::from(header);
        let mut sent = 0;
        let mut backoff = Backoff::default();
        while sent < header.len() + body.len() {
            let rest_of_header = header.part(sent.min(header.len()), header.len().saturating_sub(sent));
            let sent_of_body = sent.saturating_sub(header.len());
            let rest_of_body = body.part(sent_of_body, body.len() - sent_of_body);
            let Some(socket) = self.links[peer].socket() else { return Err(RemoteError::PeerLost) };
            match socket::send(socket, rest_of_header, rest_of_body) {
                Ok(count) => {
                    sent += count;
                    backoff.reset();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if rest_of_body.len() <= MOST_COPIED {
                        self.links[peer].keep(rest_of_header);
                        self.links[peer].keep(rest_of_body);
                        return Ok(());
                    }
                    if !self.await_room(peer, &mut backoff) {
                        return Err(RemoteError::PeerLost);
                    }
                }
                Err(_) => {
                    _ = self.receive_from(peer);
                    self.break_link(peer, "its connection broke");
                    return Err(RemoteError::PeerLost);
                }
            }
        }
        Ok(())
    }
}

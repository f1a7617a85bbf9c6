//! Remote writes: their bytes go from the sender's memory to the socket, and no more than a short rest of them is ever copied.
//!
//! What the socket does not take stays the caller's, who comes again with it. So nothing here knows the program's memory beyond a call. But
//! a frame whose header has left must be finished before anything else leaves: while one is *under way*, all other frames wait in the
//! outbox, and other writes are told that there is no room.
#![forbid(unsafe_code)]

use std::io;

use crate::tcp::TcpFabric;
use crate::tcp::frame::{Frame, HEADER, Kind, MAX_WRITE};
use crate::tcp::link::Link;
use crate::tcp::socket;
use crate::{ReadSpan, RemoteError};

/// Bytes of remote writes that may wait in an outbox.
const MOST_COPIED: usize = 64 << 10;

/// The frame of a remote write that the socket has not taken as a whole.
#[derive(Debug)]
pub(crate) struct UnderWay {
    header: [u8; HEADER],
    /// How many bytes of the frame have left.
    sent: usize,
    space: u64,
    place: u64,
    len: usize,
}

impl UnderWay {
    fn sent_of_body(&self) -> usize {
        self.sent.saturating_sub(HEADER)
    }

    /// Whether what comes next is what belongs to `place` in `space`.
    fn goes_on_at(&self, space: u64, place: u64) -> bool {
        self.space == space && self.place + self.sent_of_body() as u64 == place
    }
}

impl Link {
    /// Sends as much of a write as goes now; returns how many of its bytes are on their way.
    fn write(&mut self, space: u64, place: u64, body: ReadSpan) -> io::Result<usize> {
        if self.under_way.is_none() {
            self.flush();
            if self.socket().is_none() || self.has_something_to_send() {
                return Ok(self.write_behind(space, place, body));
            }
            let header = self.frame(Kind::Write, body.len(), Frame::target_words(space, place));
            self.under_way = Some(UnderWay { header, sent: 0, space, place, len: body.len() });
        }
        let (Some(frame), Some(socket)) = (&self.under_way, self.socket()) else { return Ok(0) };
        if !frame.goes_on_at(space, place) {
            return Ok(0);
        }
        let before = frame.sent_of_body();
        let header = &frame.header[frame.sent.min(HEADER)..];
        let body = body.part(0, body.len().min(frame.len - before));
        let sent = match socket::send(socket, header.into(), body) {
            Ok(count) => frame.sent + count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => frame.sent,
            Err(error) => return Err(error),
        };
        Ok(self.advance_write(sent) - before)
    }

    /// So much of the frame that is under way has left; returns how much of its body that is.
    fn advance_write(&mut self, sent: usize) -> usize {
        let Some(frame) = &mut self.under_way else { return 0 };
        frame.sent = sent;
        let of_body = frame.sent_of_body();
        if sent == HEADER + frame.len {
            self.under_way = None;
            self.flush();
        }
        of_body
    }

    /// The same where other frames have to leave before: as much as may be copied.
    fn write_behind(&mut self, space: u64, place: u64, body: ReadSpan) -> usize {
        let len = body.len().min(MOST_COPIED.saturating_sub(self.outbox_len()));
        if len > 0 {
            self.post(Kind::Write, Frame::target_words(space, place), body.part(0, len));
        }
        len
    }
}

impl TcpFabric {
    /// Sends as much of a remote write as goes now.
    pub(crate) fn write(&mut self, peer: usize, space: u64, place: u64, from: ReadSpan) -> Result<usize, RemoteError> {
        let mut written = 0;
        while written < from.len() {
            let part = from.part(written, (from.len() - written).min(MAX_WRITE));
            match self.links[peer].write(space, place + written as u64, part) {
                Ok(0) => break,
                Ok(count) => written += count,
                Err(_) => {
                    // What had arrived before comes first.
                    _ = self.receive_from(peer);
                    self.break_link(peer, "its connection broke");
                    return Err(RemoteError::PeerLost);
                }
            }
        }
        self.watch_for_room(peer);
        Ok(written)
    }
}

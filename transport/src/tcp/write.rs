//! Remote writes: their bytes go from the sender's memory to the socket, and no more than a short rest of them is ever
//! copied.
//!
//! What the socket does not take stays the caller's, who comes again with it. So nothing here knows the program's
//! memory beyond a call. But a frame whose header has left must be finished before anything else leaves: while one is
//! *under way*, all other frames wait in the outbox, and other writes are told that there is no room.
//!
//! A cell that says of a write that it is complete leaves in the same system call, if there is credit for it when the
//! write begins.
#![forbid(unsafe_code)]

use std::io;

use crate::tcp::TcpFabric;
use crate::tcp::frame::{Frame, HEADER, Kind, MAX_WRITE};
use crate::tcp::handed_out::HandedOut;
use crate::tcp::link::Link;
use crate::tcp::socket;
use crate::{Enqueue, INLINE_PAYLOAD, Notice, Queue, ReadSpan, RemoteAddress, RemoteError, Way, Written};

/// Bytes of remote writes that may wait in an outbox.
const MOST_COPIED: usize = 64 << 10;

/// The frame of a remote write that the socket has not taken as a whole, and the cell behind it.
#[derive(Debug)]
pub(crate) struct UnderWay {
    header: [u8; HEADER],
    /// How many bytes of both have left.
    sent: usize,
    space: u64,
    place: u64,
    len: usize,
    /// The frame of the cell, and its length: 0 if there is none.
    notice: [u8; HEADER + INLINE_PAYLOAD],
    notice_len: usize,
}

impl UnderWay {
    fn sent_of_body(&self) -> usize {
        self.sent.saturating_sub(HEADER).min(self.len)
    }

    /// Whether what comes next is what belongs to `place` in `space`.
    fn goes_on_at(&self, space: u64, place: u64) -> bool {
        self.space == space && self.place + self.sent_of_body() as u64 == place
    }

    /// Has a cell follow.
    fn add_notice(&mut self, header: &[u8; HEADER], payload: ReadSpan) {
        self.notice_len = HEADER + payload.len();
        self.notice[..HEADER].copy_from_slice(header);
        payload.copy_to((&mut self.notice[HEADER..self.notice_len]).into());
    }
}

impl Link {
    /// Sends as much of a write as goes now; returns how many of its bytes are on their way, and whether the notice is.
    fn write(
        &mut self,
        space: u64,
        place: u64,
        body: ReadSpan,
        notice: Option<Notice<'_>>,
    ) -> io::Result<(usize, bool)> {
        if self.under_way.is_none() {
            self.flush();
            if self.socket().is_none() || self.has_something_to_send() {
                return Ok((self.write_behind(space, place, body), false));
            }
            self.begin_write(space, place, body.len(), notice);
        }
        let (Some(frame), Some(socket)) = (&self.under_way, self.socket()) else { return Ok((0, false)) };
        if !frame.goes_on_at(space, place) {
            return Ok((0, false));
        }
        let before = frame.sent_of_body();
        let header = &frame.header[frame.sent.min(HEADER)..];
        let body = body.part(0, body.len().min(frame.len - before));
        // Behind all of the body, or not yet.
        let notice = if before + body.len() == frame.len { &frame.notice[..frame.notice_len] } else { &[] };
        let sent = match socket::send(socket, [header.into(), body, notice.into()]) {
            Ok(count) => frame.sent + count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => frame.sent,
            Err(error) => return Err(error),
        };
        let (of_body, notified) = self.advance_write(sent);
        Ok((of_body - before, notified))
    }

    fn begin_write(&mut self, space: u64, place: u64, len: usize, notice: Option<Notice<'_>>) {
        let header = self.frame(Kind::Write, len, Frame::target_words(space, place));
        let mut frame =
            UnderWay { header, sent: 0, space, place, len, notice: [0; HEADER + INLINE_PAYLOAD], notice_len: 0 };
        if let Some(Notice { header: words, payload }) = notice
            && self.windows[Queue::Messages as usize].take(Enqueue::Next, payload.len())
        {
            frame.add_notice(&self.frame(Kind::Cell(Queue::Messages), payload.len(), words), payload);
        }
        self.under_way = Some(frame);
    }

    /// So much of what is under way has left; returns how much of the body that is, and whether the notice follows it
    /// by itself.
    fn advance_write(&mut self, sent: usize) -> (usize, bool) {
        let Some(frame) = &mut self.under_way else { return (0, false) };
        frame.sent = sent;
        let of_body = frame.sent_of_body();
        if of_body < frame.len || sent < HEADER {
            return (of_body, false);
        }
        let rest = frame.notice;
        let rest = &rest[sent - HEADER - frame.len..frame.notice_len];
        let notified = frame.notice_len > 0;
        self.under_way = None;
        self.put_in_front(rest);
        self.flush();
        (of_body, notified)
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
    /// Sends as much of a remote write as goes now, and with its end a notice, if there is credit.
    pub(super) fn write(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        from: ReadSpan,
        notice: Option<Notice<'_>>,
    ) -> Result<Written, RemoteError> {
        let place = address.part(offset, from.len()).ok_or(RemoteError::Refused)?;
        if !HandedOut::is_name(address.space) {
            return Err(RemoteError::Refused);
        }
        if peer == self.book.me {
            let span = self.handed_out.find(peer, address.space, place, from.len());
            from.copy_to(span.ok_or(RemoteError::Refused)?);
            return Ok(Written { way: Way::Network, len: from.len(), told: false });
        }
        if self.links[peer].is_over() {
            return Err(RemoteError::PeerLost);
        }
        self.reach_out(peer);
        let (mut done, mut told) = (0, false);
        while done < from.len() {
            let part = from.part(done, (from.len() - done).min(MAX_WRITE));
            let notice = notice.filter(|_| done + part.len() == from.len());
            match self.links[peer].write(address.space, place + done as u64, part, notice) {
                Ok((0, _)) => break,
                Ok((count, is_told)) => (done, told) = (done + count, is_told),
                Err(_) => {
                    // What had arrived before comes first.
                    _ = self.receive_from(peer);
                    self.break_link(peer, "its connection broke");
                    return Err(RemoteError::PeerLost);
                }
            }
        }
        self.watch_for_room(peer);
        Ok(Written { way: Way::Network, len: done, told })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::ReadSpan;
    use crate::tcp::link::State;

    const BODY: [u8; 100] = [7; 100];
    const TOLD: &[u8] = b"it is there";

    /// Wherever a socket stops taking bytes of a write and its notice, what follows on the wire is the rest of that,
    /// and only then what was said meanwhile.
    #[test]
    fn the_rest_of_a_notice_leaves_before_all_others() {
        let all = HEADER + BODY.len() + HEADER + TOLD.len();
        for cut in 0..=all {
            let mut link = Link::new(1);
            link.begin_write(1 << 32, 5000, BODY.len(), Some(Notice { header: [3; 4], payload: TOLD.into() }));
            let write =
                Frame { kind: Kind::Write, len: 100, popped: [0; 2], words: Frame::target_words(1 << 32, 5000) };
            let told = Frame { kind: Kind::Cell(Queue::Messages), len: TOLD.len(), popped: [0; 2], words: [3; 4] };
            let meanwhile = Frame { kind: Kind::Cell(Queue::Messages), len: 3, popped: [0; 2], words: [4; 4] };
            link.post(meanwhile.kind, meanwhile.words, ReadSpan::from(&b"and"[..]));
            let (of_body, is_told) = link.advance_write(cut);
            assert_eq!(of_body, cut.saturating_sub(HEADER).min(BODY.len()), "cut at {cut}");
            assert_eq!(is_told, cut >= HEADER + BODY.len(), "cut at {cut}");
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            link.state = State::Up(ours.into());
            link.flush();
            if !is_told {
                assert!(link.under_way.is_some() && link.outbox_len() > 0, "cut at {cut}: others wait");
                let place = 5000 + of_body as u64;
                let rest = ReadSpan::from(&BODY[of_body..]);
                let mut write = |space, place, part| link.write(space, place, part, None).unwrap();
                assert_eq!(write(1 << 32, place + 1, rest), (0, false), "another place");
                assert_eq!(write(2 << 32, place, rest), (0, false), "in other memory");
                // In two goes, the second of which has more to write than belongs to the frame.
                let half = rest.len() / 2;
                assert_eq!(write(1 << 32, place, rest.part(0, half)), (half, false));
                let longer = [7; 2 * BODY.len()];
                assert_eq!(write(1 << 32, place + half as u64, longer[..].into()), (rest.len() - half, true));
            }
            drop(link);
            let mut said = Vec::new();
            theirs.read_to_end(&mut said).unwrap();
            let whole = [&write.encode()[..], &BODY, &told.encode(), TOLD, &meanwhile.encode(), b"and"].concat();
            assert!(said == whole[cut..], "cut at {cut}: {said:?}");
        }
    }
    #[test]
    fn what_may_be_copied_is_limited() {
        let mut link = Link::new(1);
        let body = vec![7; 3 * MOST_COPIED];
        let mut write = || link.write(1 << 32, 0, ReadSpan::from(&body[..]), None).unwrap();
        assert_eq!([write(), write()], [(MOST_COPIED, false), (0, false)]);
        assert_eq!(link.outbox_len(), HEADER + MOST_COPIED);
    }

    #[test]
    fn the_goodbye_leaves_behind_all_signals_and_is_the_last() {
        let mut link = Link::new(1);
        link.send_signal(2);
        link.send_signal(4);
        link.say_goodbye();
        // Nothing comes behind it.
        link.give_credit();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        link.state = State::Up(ours.into());
        link.flush();
        drop(link);
        let mut said = Vec::new();
        theirs.read_to_end(&mut said).unwrap();
        let [signals, goodbye] = [(Kind::Control, 6), (Kind::Goodbye, 0)]
            .map(|(kind, signals)| Frame { kind, len: 0, popped: [0; 2], words: [signals, 0, 0, 0] }.encode());
        assert_eq!(said, [signals, goodbye].concat());
    }
}

//! A link: all that a peer has to do with one other over their connection.
//!
//! Invariants:
//! 1. Bytes leave in the order of the calls that made them: straight to the socket only while nothing waits in
//!    `outbox`, and no frame in the middle of another.
//! 2. `outbox` is bounded: by the credit of both queues, by `MOST_COPIED` for writes; of what is due to be said
//!    (credit, signals) only the state is kept, and a frame made of it when there is room.
//! 3. What arrives is taken off the socket at once: cells within the credit that was lent, writes into memory that is
//!    handed out. So two peers that send to each other cannot block each other.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use crate::control::Presence;
use crate::layout::QUEUES;
use crate::tcp::connect::Attempt;
use crate::tcp::credit::{Cell, Inbox, Rooms, Window};
use crate::tcp::frame::{Decoder, Event, Frame, HEADER, Kind, SIGNALS, word_of};
use crate::tcp::handed_out::HandedOut;
use crate::tcp::socket;
use crate::tcp::write::UnderWay;
use crate::{Arrival, Header, Queue, ReadSpan, Signal, WriteSpan};

/// Bytes that are read at once from a connection whose next frame is not known yet: a frame of 16 KiB and what says
/// that it was the last. To read such a one in two goes costs more than a copy of it.
const AT_ONCE: usize = (16 << 10) + 2 * HEADER;
/// The same, where frames have lately been longer than that: most of them goes where it belongs without a copy.
const AT_ONCE_OF_LONG: usize = (2 << 10) + HEADER;
/// A payload of which at least so much is still to come is worth being placed directly: as long as a copy of it takes
/// the look that stops before.
const WORTH_DIVERTING: usize = 2 << 10;
/// How often a connection is read before the others have their turn.
const MOST_READS: usize = 32;

/// How it stands with a connection.
#[derive(Debug)]
pub(crate) enum State {
    /// Nobody has wanted it yet.
    Unused,
    /// It is being made.
    Connecting(Attempt),
    /// It stands.
    Up(OwnedFd),
    /// The peer has said goodbye.
    Gone,
    /// It broke, and why.
    Lost(&'static str),
}

/// What the kernel is to say of a socket to whoever waits for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    /// Nothing: it is looked at.
    Not,
    /// When something has arrived.
    ForArrivals,
    /// And when it takes more.
    ForRoom,
}

/// Where the body that is arriving goes.
#[derive(Debug)]
enum Incoming {
    Nothing,
    /// `shown`: whether the fabric's user has been asked where the payload belongs.
    Cell {
        queue: Queue,
        cell: Cell,
        filled: usize,
        shown: bool,
    },
    Write {
        space: u64,
        place: u64,
    },
    /// The payload of a cell on its way to memory that was handed out; so much is still to come, then that is said.
    Diverted {
        space: u64,
        place: u64,
        left: usize,
        note: Header,
    },
}

/// One peer's side of a pair.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) peer: usize,
    pub(crate) state: State,
    pub(crate) windows: [Window; QUEUES],
    pub(crate) inboxes: [Inbox; QUEUES],
    /// Bytes of whole frames that the socket has not taken yet.
    outbox: VecDeque<u8>,
    /// What the first word of a control frame is due to say.
    signals_due: u32,
    /// Credit is due to be given back even if there is nothing else to say.
    credit_due: bool,
    /// A remote write whose caller still has to come with the rest.
    pub(crate) under_way: Option<UnderWay>,
    /// What the kernel says of the socket.
    pub(crate) watched: Watched,
    /// What the two have to say to each other goes another way: this one only rings, and that it breaks means nothing.
    pub(crate) only_rings: bool,
    /// The last frame is in the outbox or sent.
    pub(crate) said_goodbye: bool,
    goodbye_heard: bool,
    /// What the peer has said of itself, after all that it had sent before.
    pub(crate) presence: Presence,
    /// Since when somebody has waited for the peer, without a connection.
    pub(crate) awaited_since: Option<Instant>,
    /// There was nothing to say when the connection was opened: whoever waits for the peer wants to hear how it stands
    /// with it.
    pub(crate) only_asks: bool,
    decoder: Decoder,
    incoming: Incoming,
    /// How many bytes to read where the next frame is not known.
    at_once: usize,
    /// Bytes of all frames that were to be sent so far, be they in the outbox still; and bytes that were taken in.
    pub(crate) sent: u64,
    pub(crate) taken: u64,
    /// The last look has left nothing in the socket.
    pub(crate) emptied: bool,
    /// The requests that are there were all that the last look for requests has found.
    pub(crate) has_no_more_requests: bool,
}

/// What a link needs of its fabric to take in what arrives.
pub(crate) struct Context<'a> {
    pub(crate) handed_out: &'a HandedOut,
    pub(crate) signals: &'a mut u32,
    pub(crate) rooms: &'a mut Rooms,
    /// The room that sockets are read into.
    pub(crate) room: &'a mut Vec<u8>,
}

impl Link {
    pub(crate) fn new(peer: usize) -> Link {
        Link {
            peer,
            state: State::Unused,
            windows: Default::default(),
            inboxes: Default::default(),
            outbox: VecDeque::new(),
            signals_due: 0,
            credit_due: false,
            under_way: None,
            watched: Watched::Not,
            only_rings: false,
            said_goodbye: false,
            goodbye_heard: false,
            presence: Presence::Here,
            awaited_since: None,
            only_asks: false,
            decoder: Decoder::default(),
            incoming: Incoming::Nothing,
            at_once: AT_ONCE,
            sent: 0,
            taken: 0,
            emptied: false,
            has_no_more_requests: false,
        }
    }

    /// The socket, if the connection stands.
    pub(crate) fn socket(&self) -> Option<&OwnedFd> {
        if let State::Up(socket) = &self.state { Some(socket) } else { None }
    }

    /// Whether nothing can be sent any more, not even later. To a peer that has said goodbye it still can: it takes in
    /// all that comes until it hears one too.
    pub(crate) fn is_over(&self) -> bool {
        self.said_goodbye || matches!(self.state, State::Gone | State::Lost(_))
    }

    /// What broke the connection, if anything is lost by that.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        match self.state {
            State::Lost(what) if !self.only_rings => Some(what),
            _ => None,
        }
    }

    /// Whether the peer has ended in good order or the connection is broken: nothing more will come.
    pub(crate) fn is_closed_by_peer(&self) -> bool {
        self.goodbye_heard || matches!(self.state, State::Gone | State::Lost(_))
    }

    pub(crate) fn outbox_len(&self) -> usize {
        self.outbox.len()
    }

    /// Whether something waits that can be sent as soon as the socket takes it: after the goodbye nothing does that is
    /// not in the outbox already.
    pub(crate) fn has_something_to_send(&self) -> bool {
        !self.outbox.is_empty() || !self.said_goodbye && (self.credit_due || self.signals_due != 0)
    }

    /// Whether the peer does not know yet of cells that were popped.
    pub(crate) fn owes_credit(&self) -> bool {
        self.inboxes.iter().any(Inbox::owes)
    }

    /// The connection is over, with an error unless the peer has said goodbye.
    pub(crate) fn lose(&mut self, what: &'static str) {
        self.end(if self.goodbye_heard { State::Gone } else { State::Lost(what) });
    }

    /// Ends the link, once.
    fn end(&mut self, state: State) {
        if !matches!(self.state, State::Gone | State::Lost(_)) {
            self.state = state;
            self.outbox = VecDeque::new();
            (self.signals_due, self.credit_due) = (0, false);
        }
    }

    /// The header of a frame that leaves now; it carries all credit that is owed.
    pub(crate) fn frame(&mut self, kind: Kind, len: usize, words: Header) -> [u8; HEADER] {
        self.credit_due = false;
        self.sent += (HEADER + len) as u64;
        Frame { kind, len, popped: self.inboxes.each_mut().map(Inbox::announce), words }.encode()
    }

    /// Sends a frame, or the part of it that the socket takes; the rest waits in the outbox.
    pub(crate) fn post(&mut self, kind: Kind, words: Header, body: ReadSpan) {
        let header = self.frame(kind, body.len(), words);
        let mut sent = 0;
        if self.outbox.is_empty()
            && self.under_way.is_none()
            && let Some(socket) = self.socket()
        {
            match socket::send(socket, [header[..].into(), body]) {
                Ok(count) => sent = count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The reading side finds out what the matter is.
                Err(_) => {}
            }
        }
        if sent < HEADER {
            self.outbox.extend(&header[sent..]);
        }
        let sent_of_body = sent.saturating_sub(HEADER);
        self.keep(body.part(sent_of_body, body.len() - sent_of_body));
    }

    /// Puts a copy of `bytes` behind what waits in the outbox.
    fn keep(&mut self, bytes: ReadSpan) {
        let mut piece = [0; 512];
        let mut kept = 0;
        while kept < bytes.len() {
            let part = bytes.part(kept, (bytes.len() - kept).min(piece.len()));
            part.copy_to(WriteSpan::from(&mut piece[..]));
            self.outbox.extend(&piece[..part.len()]);
            kept += part.len();
        }
    }

    /// The rest of a frame that has begun to leave goes before all others.
    pub(crate) fn put_in_front(&mut self, rest: &[u8]) {
        rest.iter().rev().for_each(|&byte| self.outbox.push_front(byte));
    }

    /// Credit is to be given back as soon as possible.
    pub(crate) fn give_credit(&mut self) {
        self.credit_due = true;
        self.flush();
    }

    /// The peer is to learn how it stands with this one, and to look around: behind all that waits.
    pub(crate) fn tell(&mut self, presence: Presence) {
        self.send_signal(word_of(presence) | Signal::Wake as u32);
    }

    /// Whether a connection to it is being opened for nothing but to hear how it stands with it.
    pub(crate) fn still_only_asks(&self) -> bool {
        self.only_asks && !self.has_something_to_send() && matches!(self.state, State::Connecting(_))
    }

    /// A signal is to be sent as soon as possible.
    pub(crate) fn send_signal(&mut self, bits: u32) {
        self.signals_due |= bits;
        self.flush();
    }

    /// Says goodbye behind all that waits.
    pub(crate) fn say_goodbye(&mut self) {
        self.flush();
        let signals = std::mem::take(&mut self.signals_due);
        if signals != 0 {
            self.post(Kind::Control, [signals, 0, 0, 0], ReadSpan::EMPTY);
        }
        self.post(Kind::Goodbye, [0; 4], ReadSpan::EMPTY);
        self.said_goodbye = true;
    }

    /// Sends what waits, as much as the socket takes.
    pub(crate) fn flush(&mut self) {
        if self.under_way.is_some() {
            return;
        }
        while !self.outbox.is_empty() {
            let State::Up(socket) = &self.state else { return };
            let (first, second) = self.outbox.as_slices();
            match socket::send(socket, [first.into(), second.into()]) {
                Ok(count) => drop(self.outbox.drain(..count)),
                // If it is an error, the reading side finds out which.
                Err(_) => return,
            }
        }
        if (self.credit_due || self.signals_due != 0) && !self.said_goodbye && matches!(self.state, State::Up(_)) {
            let signals = std::mem::take(&mut self.signals_due);
            self.post(Kind::Control, [signals, 0, 0, 0], ReadSpan::EMPTY);
        }
    }

    /// Takes in what has arrived. Returns whether anything has.
    pub(crate) fn receive(&mut self, context: &mut Context) -> bool {
        let mut anything = false;
        for _ in 0..MOST_READS {
            let State::Up(socket) = &self.state else { break };
            let direct = match Self::target(&mut self.incoming, self.peer, self.decoder.body(), context.handed_out) {
                Ok(direct) => direct,
                Err(what) => {
                    self.end(State::Lost(what));
                    return true;
                }
            };
            let room = direct.len();
            let wanted = room + self.at_once;
            let count = match socket::receive(socket, direct, WriteSpan::from(&mut context.room[..self.at_once])) {
                Ok(0) => {
                    self.lose("its connection was closed, and it had not finished: it has died or was killed");
                    return true;
                }
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.emptied |= anything;
                    return anything;
                }
                Err(error) => {
                    self.lose(words_for(&error));
                    return true;
                }
            };
            anything = true;
            self.taken += count as u64;
            self.emptied = false;
            let in_place = count.min(room);
            self.advance(in_place);
            self.decoder.skip_body(in_place);
            match self.take_apart(count - in_place, context) {
                // The socket is empty, in all likelihood; if not, the next look finds the rest. More of a body comes at
                // once.
                Ok(()) if count < wanted && self.decoder.body() == 0 => {
                    self.emptied = true;
                    break;
                }
                Ok(()) if self.is_coming() => break,
                Ok(()) => {}
                // A fault of its own, even after its goodbye.
                Err(what) => {
                    self.end(State::Lost(what));
                    break;
                }
            }
        }
        anything
    }

    /// Whether most of a message's payload is still to come, nothing is before it, and nobody has been asked where it
    /// belongs.
    pub(crate) fn is_coming(&self) -> bool {
        matches!(&self.incoming, Incoming::Cell { queue: Queue::Messages, cell, filled, shown: false }
            if cell.len - filled >= WORTH_DIVERTING)
            && self.inboxes[Queue::Messages as usize].front().is_none()
    }

    /// The cell of that message, once.
    pub(crate) fn coming(&mut self) -> Option<Arrival> {
        if !self.is_coming() {
            return None;
        }
        let Incoming::Cell { cell, shown, .. } = &mut self.incoming else { return None };
        *shown = true;
        Some(Arrival { header: cell.header, len: cell.len, place: 0 })
    }

    /// The cell that is coming is popped, and its payload goes to `place` in `space`. Returns what [`Inbox::pop`] does.
    pub(crate) fn place_directly(&mut self, space: u64, place: u64, note: Header, context: &mut Context) -> bool {
        let Incoming::Cell { queue, cell, filled, .. } = std::mem::replace(&mut self.incoming, Incoming::Nothing)
        else {
            panic!("nothing that could be placed directly is coming");
        };
        let into = context.handed_out.find(self.peer, space, place, cell.len).expect("memory that was handed out");
        ReadSpan::from(&cell.payload()[..filled]).copy_to(into);
        self.incoming = Incoming::Diverted { space, place: place + filled as u64, left: cell.len - filled, note };
        self.inboxes[queue as usize].drop_cell(cell, context.rooms)
    }

    /// Where the next bytes of the body belong: nowhere if none is arriving. Writes are checked anew for each portion,
    /// as the memory may have been withdrawn meanwhile.
    fn target<'a>(
        incoming: &'a mut Incoming,
        peer: usize,
        body: usize,
        handed_out: &HandedOut,
    ) -> Result<WriteSpan<'a>, &'static str> {
        match incoming {
            _ if body == 0 => Ok(WriteSpan::EMPTY),
            Incoming::Nothing => Ok(WriteSpan::EMPTY),
            Incoming::Cell { cell, filled, .. } => Ok(WriteSpan::from(&mut cell.payload_mut()[*filled..])),
            // What was withdrawn meanwhile is dropped.
            Incoming::Diverted { space, place, .. } => {
                Ok(handed_out.find(peer, *space, *place, body).unwrap_or(WriteSpan::EMPTY))
            }
            Incoming::Write { space, place } => {
                handed_out.find(peer, *space, *place, body).ok_or("wrote to memory that it had not been given")
            }
        }
    }

    /// So many bytes of the body have got where they belong.
    fn advance(&mut self, count: usize) {
        match &mut self.incoming {
            Incoming::Nothing => {}
            Incoming::Cell { filled, .. } => *filled += count,
            Incoming::Write { place, .. } => *place += count as u64,
            Incoming::Diverted { place, left, .. } => {
                *place += count as u64;
                *left -= count;
            }
        }
        self.complete();
    }

    /// A cell whose payload is whole goes to its queue, or what was to be said of it.
    fn complete(&mut self) {
        if let Incoming::Diverted { left: 0, note, .. } = self.incoming {
            self.incoming = Incoming::Nothing;
            self.inboxes[Queue::Messages as usize].note(note);
        }
        if matches!(&self.incoming, Incoming::Cell { cell, filled, .. } if *filled == cell.len)
            && let Incoming::Cell { queue, cell, .. } = std::mem::replace(&mut self.incoming, Incoming::Nothing)
        {
            self.inboxes[queue as usize].arrive(cell);
        }
    }

    /// Deals with the first `len` bytes of the room. A cell whose payload is longer than what has arrived behind it
    /// keeps the room, so that the shorter of the two is copied.
    fn take_apart(&mut self, mut len: usize, context: &mut Context) -> Result<(), &'static str> {
        let mut done = 0;
        loop {
            let mut bytes = &context.room[done..len];
            let before = self.decoder.body();
            let event = self.decoder.next(&mut bytes).map_err(|malformed| malformed.0)?;
            let (start, behind) = (done, bytes.len());
            done = len - behind;
            match event {
                None => return Ok(()),
                Some(Event::Frame(frame)) => self.begin(&frame, context)?,
                Some(Event::Body(part)) => {
                    let count = part.len();
                    if behind < count
                        && let Incoming::Cell { cell, filled: 0, .. } = &mut self.incoming
                        && cell.keep(context.room, start)
                    {
                        context.room[..behind].copy_from_slice(&cell.behind(count)[..behind]);
                        (done, len) = (0, behind);
                    } else {
                        let target = Self::target(&mut self.incoming, self.peer, before, context.handed_out)?;
                        if !target.is_empty() {
                            ReadSpan::from(&context.room[start..][..count]).copy_to(target);
                        }
                    }
                    self.advance(count);
                }
            }
        }
    }

    /// A frame begins.
    fn begin(&mut self, frame: &Frame, context: &mut Context) -> Result<(), &'static str> {
        if self.goodbye_heard {
            return Err("went on after its goodbye");
        }
        if frame.len > AT_ONCE_OF_LONG {
            self.at_once = if HEADER + frame.len <= AT_ONCE { AT_ONCE } else { AT_ONCE_OF_LONG };
        }
        for (window, popped) in self.windows.iter_mut().zip(frame.popped) {
            window.give_back(popped)?;
        }
        match frame.kind {
            Kind::Cell(queue) => {
                let cell = self.inboxes[queue as usize].begin(frame.words, frame.len, context.rooms)?;
                self.incoming = Incoming::Cell { queue, cell, filled: 0, shown: false };
                self.complete();
            }
            Kind::Write => {
                let (space, place) = frame.target();
                // Before the first byte, and of no bytes too.
                context
                    .handed_out
                    .find(self.peer, space, place, frame.len)
                    .ok_or("wrote to memory that it had not been given")?;
                self.incoming = Incoming::Write { space, place };
            }
            Kind::Control => {
                *context.signals |= frame.words[0] & SIGNALS;
                self.presence = frame.presence().unwrap_or(self.presence);
            }
            Kind::Goodbye => self.goodbye_heard = true,
        }
        Ok(())
    }
}

/// What an error of a connection means.
fn words_for(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "its connection was reset, and it had not finished: it has died or was killed"
        }
        io::ErrorKind::TimedOut => "its machine does not answer any more",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable | io::ErrorKind::NetworkDown => {
            "there is no way through the network to its machine any more"
        }
        _ => "its connection failed",
    }
}

//! What lies between simulated ranks: tiny queues whose cells arrive late, claim words, and everything that can go
//! wrong there.

use std::collections::VecDeque;

use rwmpi_transport::{Header, Queue, ReadSpan, RemoteAddress, Way, WriteSpan};

use super::memory::Memory;

/// What the network does wrong on purpose, to show that the simulation would notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sabotage {
    /// A cell is lost now and then.
    LosesCells,
    /// A cell arrives twice now and then.
    RepeatsCells,
    /// A cell overtakes another now and then.
    SwapsCells,
    /// Every claim succeeds.
    GrantsAllClaims,
    /// Only the first half of a remote write arrives, now and then.
    WritesHalf,
    /// `accepted` says more than the truth.
    AcceptsEarly,
}

/// What happens to the job in the middle of a run, by nobody's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accident {
    /// That rank stops.
    Dies(usize),
    /// Remote writes and reads begin to fail.
    CopiesFail,
    /// A queue can't be had.
    NoMemory,
    /// A peer writes nonsense.
    Nonsense,
    /// Rank 0 writes what it likes: cells of all kinds, of any length, with any numbers in them.
    Hostile,
}

/// Spaces from here on are names of what was handed out.
const NAMES: u64 = 16;

/// One run's conditions.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    pub(super) ranks: usize,
    /// Cells in each queue.
    pub(super) cells: usize,
    pub(super) max_payload: usize,
    /// Slots with claim words; 0: peers share no memory.
    pub(super) slots: usize,
    /// By owner, accessor and space (shared heap, other memory).
    pub(super) ways: Vec<[Option<Way>; 2]>,
    /// Whether all memory is reached through connections instead: written by its owner's doing, where it has been
    /// handed out, not read.
    pub(super) over_network: bool,
    /// How often of a hundred times another rank gets its turn in the middle of something.
    pub(super) switch_percent: u8,
    /// How often of a hundred times a queue is said to be full although it is not.
    pub(super) refuse_percent: u8,
    /// Steps for which a cell is on its way, at most.
    pub(super) delay: u64,
    pub(super) sabotage: Option<Sabotage>,
    /// What happens, and after how many steps.
    pub(super) accident: Option<(Accident, u64)>,
}

pub(super) struct Cell {
    pub(super) header: Header,
    pub(super) payload: Vec<u8>,
    /// From when on the receiver sees it.
    visible: u64,
    arriving: Arriving,
}

/// How a cell arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arriving {
    /// As a whole, as far as anybody knows.
    Whole,
    /// It was shown before it is whole.
    Shown,
    /// Its payload goes to memory of that name; the second half is still to come.
    Diverted(u64),
    /// Its payload is there; it counts for nothing.
    Note,
}

/// One queue of one ordered pair of peers.
#[derive(Default)]
pub(super) struct Line {
    cells: VecDeque<Cell>,
    /// Whether a refusal has not been retried.
    pub(super) refused: bool,
    pub(super) pushed: u64,
    pub(super) popped: u64,
    /// What the sender has last seen of `popped`.
    pub(super) published: u64,
}

pub(super) struct Network {
    pub(super) conditions: Conditions,
    random: fastrand::Rng,
    /// Steps so far.
    pub(super) now: u64,
    lines: Vec<Line>,
    pub(super) claims: Vec<Vec<u64>>,
    pub(super) memory: Memory,
    /// What is handed out over a network: by whom, to whom.
    handed_out: Vec<Option<(usize, usize, WriteSpan<'static>)>>,
    /// By owner and writer: the write that a connection has taken a part of, and where its rest belongs.
    under_way: Vec<Option<(u64, u64)>>,
    pub(super) dead: Vec<bool>,
    /// Whether the ranks have been told that the job is over.
    pub(super) aborted: bool,
    /// Ranks that have ended the job.
    pub(super) ended: Vec<bool>,
    /// How many cells of each kind were pushed: messages, requests.
    pub(super) kinds: [[u64; 16]; 2],
    /// The first broken promise.
    pub(super) violation: Option<String>,
}

impl Network {
    pub(super) fn new(conditions: Conditions, seed: u64) -> Self {
        let ranks = conditions.ranks;
        Network {
            random: fastrand::Rng::with_seed(seed),
            now: 0,
            lines: (0..ranks * ranks * 2).map(|_| Line::default()).collect(),
            claims: vec![vec![0; conditions.slots * rwmpi_transport::WORDS_PER_LINE]; ranks],
            memory: Memory::default(),
            handed_out: Vec::new(),
            under_way: vec![None; ranks * ranks],
            dead: vec![false; ranks],
            aborted: false,
            ended: vec![false; ranks],
            kinds: [[0; 16]; 2],
            violation: None,
            conditions,
        }
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.random.usize(..limit)
    }

    pub(super) fn chance(&mut self, percent: u8) -> bool {
        self.random.u8(..100) < percent
    }

    pub(super) fn violated(&mut self, what: impl Into<String>) {
        self.violation.get_or_insert(what.into());
    }

    pub(super) fn line(&mut self, to: usize, from: usize, queue: Queue) -> &mut Line {
        &mut self.lines[(to * self.conditions.ranks + from) * 2 + queue as usize]
    }

    /// The accident that has happened by now.
    pub(super) fn accident(&self) -> Option<Accident> {
        self.conditions.accident.filter(|&(_, when)| when <= self.now).map(|(accident, _)| accident)
    }

    /// Whether rank 0 may write anything by now: nothing can be expected of the run but that the others come to no
    /// harm.
    pub(super) fn is_hostile(&self) -> bool {
        self.accident() == Some(Accident::Hostile)
    }

    /// What a hostile peer makes of a cell: its kind or its numbers are others, or its payload is.
    pub(super) fn spoil(&mut self, queue: Queue, mut header: Header, mut payload: Vec<u8>) -> (Header, Vec<u8>) {
        let most = if queue == Queue::Requests { rwmpi_transport::INLINE_PAYLOAD } else { self.conditions.max_payload };
        match self.below(4) {
            0 => return (header, payload),
            1 => header[0] = header[0] & !0xff | self.random.u32(..14),
            2 => header[self.random.usize(1..4)] = self.number(),
            _ => header = [self.number() & !0xff | self.random.u32(..14), self.number(), self.number(), self.number()],
        }
        if self.chance(50) {
            payload.resize(self.random.usize(..=most), 0);
            payload.chunks_exact_mut(4).for_each(|word| word.copy_from_slice(&self.number().to_le_bytes()));
        }
        (header, payload)
    }

    /// Numbers at which code breaks: small ones, powers of two, the largest.
    fn number(&mut self) -> u32 {
        match self.below(4) {
            0 => self.random.u32(..12),
            1 => u32::MAX - self.random.u32(..3),
            2 => 1 << self.random.u32(..32),
            _ => self.random.u32(..),
        }
    }

    fn sabotaged(&mut self, sabotage: Sabotage) -> bool {
        self.conditions.sabotage == Some(sabotage) && self.chance(5)
    }

    /// Puts a cell into a queue that has room.
    pub(super) fn append(&mut self, to: usize, from: usize, queue: Queue, header: Header, payload: Vec<u8>) {
        self.kinds[queue as usize][(header[0] & 15) as usize] += 1;
        let delay = self.random.u64(..=self.conditions.delay);
        let mut visible = self.now + delay;
        if self.conditions.slots == 0 {
            // Both queues of a pair without common memory are one connection.
            let before = |queue| self.line(to, from, queue).cells.back().map(|last| last.visible);
            visible = [Queue::Messages, Queue::Requests].into_iter().filter_map(before).fold(visible, u64::max);
        }
        let (lost, repeated, swapped) = (
            self.sabotaged(Sabotage::LosesCells),
            self.sabotaged(Sabotage::RepeatsCells),
            self.sabotaged(Sabotage::SwapsCells),
        );
        let line = self.line(to, from, queue);
        let visible = line.cells.back().map_or(visible, |last| last.visible.max(visible));
        line.pushed += 1;
        if lost {
            return;
        }
        if repeated {
            line.cells.push_back(Cell { header, payload: payload.clone(), visible, arriving: Arriving::Whole });
        }
        line.cells.push_back(Cell { header, payload, visible, arriving: Arriving::Whole });
        let len = line.cells.len();
        if swapped && len > 2 {
            // Never the oldest: the receiver may be looking at it.
            line.cells.swap(len - 1, len - 2);
        }
    }

    pub(super) fn has_room(&mut self, to: usize, from: usize, queue: Queue) -> bool {
        let cells = self.conditions.cells;
        self.line(to, from, queue).cells.len() < cells && {
            let refuse = self.conditions.refuse_percent;
            !self.chance(refuse)
        }
    }

    /// Whether requests are under way on a connection: news of what has been popped can't be faster.
    pub(super) fn hides_requests(&mut self, to: usize, from: usize) -> bool {
        let now = self.now;
        self.conditions.slots == 0
            && self.line(to, from, Queue::Requests).cells.back().is_some_and(|last| last.visible > now)
    }

    /// The oldest cell that has arrived.
    pub(super) fn front(&mut self, to: usize, from: usize, queue: Queue) -> Option<&Cell> {
        if queue == Queue::Messages {
            self.end_diversion(to, from);
        }
        let now = self.now;
        self.line(to, from, queue).cells.front().filter(|cell| cell.visible <= now)
    }

    /// Whether the oldest message has begun to arrive and is not whole: now and then, over a network.
    pub(super) fn is_coming(&mut self, to: usize, from: usize) -> bool {
        let now = self.now;
        let request = self.line(to, from, Queue::Requests).cells.front().map_or(0, |cell| cell.visible);
        let message = self.line(to, from, Queue::Messages).cells.front();
        let is_coming = message.is_some_and(|cell| {
            // What was sent before it on the same connection has arrived.
            let is_next = request <= now || request > cell.visible;
            cell.visible > now && is_next && cell.payload.len() > 1 && cell.arriving == Arriving::Whole
        });
        is_coming && self.conditions.over_network && self.chance(50)
    }

    /// Shows that message.
    pub(super) fn coming(&mut self, to: usize, from: usize) -> Option<&Cell> {
        if !self.is_coming(to, from) {
            return None;
        }
        let cell = self.line(to, from, Queue::Messages).cells.front_mut()?;
        cell.arriving = Arriving::Shown;
        Some(cell)
    }

    /// Puts half of what is coming there, and the rest later.
    pub(super) fn place_directly(&mut self, to: usize, from: usize, space: u64, note: Header) {
        let line = self.line(to, from, Queue::Messages);
        line.popped += 1;
        let cell = line.cells.front_mut().expect("it was shown");
        assert_eq!(cell.arriving, Arriving::Shown, "shown and not placed yet");
        (cell.header, cell.arriving) = (note, Arriving::Diverted(space));
        let half = cell.payload.len() / 2;
        let rest = cell.payload.split_off(half);
        let first = std::mem::replace(&mut cell.payload, rest);
        self.put(to, from, space, 0, &first);
    }

    /// The rest of a payload that is placed directly arrives.
    fn end_diversion(&mut self, to: usize, from: usize) {
        let now = self.now;
        let Some(cell) = self.line(to, from, Queue::Messages).cells.front_mut() else { return };
        if let Arriving::Diverted(space) = cell.arriving
            && cell.visible <= now
        {
            cell.arriving = Arriving::Note;
            let rest = std::mem::take(&mut cell.payload);
            self.put(to, from, space, usize::MAX, &rest);
        }
    }

    /// Writes to memory that `to` has handed out to `from`, if it still is: at `offset`, or at its end.
    fn put(&mut self, to: usize, from: usize, space: u64, offset: usize, bytes: &[u8]) {
        let Some(span) = self.named(to, from, space) else { return };
        let into = span.part(offset.min(span.len() - bytes.len()), bytes.len());
        if !self.memory.writable(into) {
            self.violated(format!("rank {to} left memory handed out that it has given back"));
        }
        ReadSpan::from(bytes).copy_to(into);
    }

    pub(super) fn pop(&mut self, to: usize, from: usize, queue: Queue) {
        let line = self.line(to, from, queue);
        let cell = line.cells.pop_front().expect("only after a front");
        line.popped += u64::from(cell.arriving != Arriving::Note);
    }

    /// A name under which `peer` may write to `span` of `owner`.
    pub(super) fn hand_out(&mut self, owner: usize, peer: usize, span: WriteSpan<'static>) -> RemoteAddress {
        self.handed_out.push(Some((owner, peer, span)));
        let space = NAMES + self.handed_out.len() as u64 - 1;
        RemoteAddress { space, place: 0, len: span.len() as u64 }
    }

    /// Ends the use of such a name.
    pub(super) fn withdraw(&mut self, space: u64) {
        self.handed_out[(space - NAMES) as usize] = None;
    }

    /// What `peer` may write to under such a name.
    pub(super) fn named(&self, owner: usize, peer: usize, space: u64) -> Option<WriteSpan<'static>> {
        let (given_by, given_to, span) = (*self.handed_out.get(space.checked_sub(NAMES)? as usize)?)?;
        (owner == given_by && peer == given_to).then_some(span)
    }

    /// How many bytes of a write a connection takes now. Once it has begun with one, it takes nothing but the rest of
    /// that.
    pub(super) fn take_write(&mut self, owner: usize, writer: usize, space: u64, offset: u64, len: usize) -> usize {
        let pair = owner * self.conditions.ranks + writer;
        if self.under_way[pair].is_some_and(|rest| rest != (space, offset)) {
            return 0;
        }
        let percent = self.conditions.refuse_percent;
        let taken = if self.chance(percent) { self.below(len + 1) } else { len };
        let has_begun = taken > 0 || self.under_way[pair].is_some() || self.chance(50);
        self.under_way[pair] = (taken < len && has_begun).then_some((space, offset + taken as u64));
        taken
    }

    /// How `accessor` reaches memory of `owner` in that space.
    pub(super) fn way(&self, owner: usize, accessor: usize, space: u64) -> Option<Way> {
        if self.conditions.over_network {
            return Some(Way::Network);
        }
        *self.conditions.ways[owner * self.conditions.ranks + accessor].get(space as usize)?
    }
}

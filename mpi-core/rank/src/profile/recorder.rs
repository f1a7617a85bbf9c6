//! Takes the notes of one rank.
//!
//! Invariant: it belongs to whoever has the rank's lock. Calls may be in each other, as a function of the program's may
//! call MPI, and threads may let each other in within them: so each call remembers when it began, and what a wait adds
//! goes to the call that is present then.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;
use rwmpi_transport::{ActivityRecord, ProcessorTime, Records};

use super::layout::{self, Reason};
use super::recorded::WAYS;
use crate::activity;
use crate::context::is_collective;
use crate::engine::{Completion, Notes};
use crate::waiting::{self, Kind, Partner};

/// What a call that there is no room for is counted as.
const NOWHERE: u32 = u32::MAX;

/// A call that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    function: u32,
    since: u64,
    /// How long the rank had waited by then.
    waited: u64,
}

/// The call in which another is, if there is one.
pub type Outer = Option<Call>;

/// A call until its end.
#[derive(Debug)]
pub struct Begun {
    /// The call itself.
    pub call: Call,
    /// The one that it is in.
    outer: Outer,
}

/// Whom a wait was for.
#[derive(Debug)]
pub struct Awaiting {
    since: u64,
    words: [u64; 2],
}

/// The notes of one rank.
pub struct Recorder {
    records: Records,
    activity: ActivityRecord,
    peers: usize,
    event_room: usize,
    /// Whether a front end says when calls begin and end.
    has_front_end: bool,
    /// The numbers of functions, by where their names are.
    functions: RefCell<FxHashMap<usize, u32>>,
    present: Cell<Outer>,
    /// What the engine does that no call has announced.
    part: Cell<Option<Begun>>,
    waited: Cell<u64>,
    /// Who has sent the message that was received last.
    heard: Cell<Option<u32>>,
    /// What the rank had of the processors before it joined.
    before: Option<ProcessorTime>,
}

impl Recorder {
    /// Begins; `peers`: how many ranks the job has.
    pub fn new(records: Records, activity: ActivityRecord, peers: usize, has_front_end: bool) -> Recorder {
        let room = records.len().saturating_sub(layout::events_at(peers)) / layout::EVENT;
        records.set(layout::BEGAN, records.now());
        records.set(layout::PEERS, peers as u64);
        let event_room = records.hint().min(room as u64) as usize;
        records.set(layout::EVENT_ROOM, event_room as u64);
        records.set(layout::STATE, layout::RUNNING);
        Recorder {
            records,
            activity,
            peers,
            event_room,
            has_front_end,
            functions: RefCell::default(),
            present: Cell::new(None),
            part: Cell::new(None),
            waited: Cell::new(0),
            heard: Cell::new(None),
            before: ProcessorTime::of_thread(),
        }
    }

    /// Whether a front end says when calls begin and end; else the engine does, as far as it knows.
    pub fn has_front_end(&self) -> bool {
        self.has_front_end
    }

    /// A call of that function begins, in that other one of the same thread, if it is in one. It has told nothing yet.
    pub fn begin(&self, name: &'static str, outer: Outer) -> Begun {
        let told = self.activity.read::<1>(0)[0];
        self.activity.publish(0, [activity::over(told)]);
        self.begin_told(name, outer)
    }

    /// The same of a call that has told what it is.
    pub fn begin_told(&self, name: &'static str, outer: Outer) -> Begun {
        let call = Call { function: self.function(name), since: self.records.now(), waited: self.waited.get() };
        self.set_present(Some(call));
        Begun { call, outer }
    }

    /// It ends.
    pub fn end(&self, begun: Begun) {
        self.end_counted(begun, 1);
    }

    /// It, or a part of one, ends, which counts as so many calls.
    fn end_counted(&self, Begun { call, outer }: Begun, calls: u64) {
        let now = self.records.now();
        self.set_present(outer);
        let time = now.saturating_sub(call.since);
        let waiting = (self.waited.get() - call.waited).min(time);
        if outer.is_none() {
            self.records.add(layout::INSIDE, time);
            self.records.add(layout::WAITED, waiting);
        }
        let Some(at) = self.place_of(call.function) else {
            self.records.add(layout::UNCOUNTED, calls);
            return;
        };
        self.records.add(at + layout::CALLS, calls);
        self.records.add(at + layout::TIME, time);
        self.records.add(at + layout::WAITING, waiting);
        if time > self.records.get(at + layout::LONGEST) {
            self.records.set(at + layout::LONGEST, time);
        }
        self.event([layout::event_word(layout::CALL, call.function, layout::NOBODY), call.since, now, 0]);
        if calls > 0
            && let Some((communicator, bytes)) = activity::collective(self.activity.read(0))
        {
            self.records.add(at + layout::BYTES, bytes);
            self.count_collective(call.function, communicator, [calls, time, waiting, bytes]);
        }
    }

    /// The call begins that the rank has told, if no call is known to be under way.
    #[cold]
    pub fn begin_driven(&self) -> Option<Begun> {
        let is_part = self.has_front_end || self.present.get().is_some();
        (!is_part).then(|| self.begin_told(self.told_name(), None))
    }

    fn told_name(&self) -> &'static str {
        activity::name_of(&self.activity.read(0)).unwrap_or("other")
    }

    /// The rank looks in vain for what it waits for.
    pub fn begin_wait(&self, words: [u64; 2]) -> Awaiting {
        let since = self.records.now();
        let (peer, reason) = self.whom(words);
        self.records.set(layout::OPEN_WAIT_FOR, wait_word(peer, reason));
        self.records.set(layout::OPEN_WAIT, since);
        Awaiting { since, words }
    }

    /// For whom a wait is, and why, as far as it is known.
    fn whom(&self, words: [u64; 2]) -> (Option<u32>, Option<Reason>) {
        let peer = match waiting::partner(words[0]) {
            Partner::Rank(peer) => u32::try_from(peer).ok(),
            // Once it is over.
            Partner::Any => self.heard.get(),
            Partner::Unknown => None,
        };
        (peer, reason((words[0] & 0xff) as u8, (words[1] >> 32) as u32))
    }

    /// Something has happened.
    pub fn end_wait(&self, Awaiting { since, words }: Awaiting) {
        let now = self.records.now();
        let time = now.saturating_sub(since);
        self.waited.set(self.waited.get() + time);
        if self.present.get().is_none() && !self.has_front_end {
            self.add_wait_of_told_call(time);
        }
        self.records.set(layout::OPEN_WAIT, 0);
        let (peer, reason) = self.whom(words);
        if let (Some(at), Some(reason)) = (peer.and_then(|peer| self.place_of_peer(peer)), reason) {
            self.records.add(at + layout::PEER_WAITS + 2 * reason as usize, 1);
            self.records.add(at + layout::PEER_WAITS + 2 * reason as usize + 1, time);
        }
        self.event([wait_word(peer, reason), since, now, 0]);
    }

    fn add_wait_of_told_call(&self, time: u64) {
        self.records.add(layout::INSIDE, time);
        self.records.add(layout::WAITED, time);
        if let Some(at) = self.place_of(self.function(self.told_name())) {
            self.records.add(at + layout::TIME, time);
            self.records.add(at + layout::WAITING, time);
        }
    }

    /// The call that is present, for a thread that may let others in.
    pub fn present(&self) -> Outer {
        self.present.get()
    }

    /// The thread goes on that is in this call.
    pub fn set_present(&self, call: Outer) {
        self.present.set(call);
        self.records.set(layout::PRESENT_SINCE, call.map_or(0, |call| call.since));
        self.records.set(layout::PRESENT, call.map_or(0, |call| u64::from(call.function.wrapping_add(1))));
    }

    fn message(&self, kind: u64, peer: u32, (context, tag): (u32, u32), bytes: u64) {
        if let Some(at) = self.present.get().and_then(|call| self.place_of(call.function)) {
            self.records.add(at + layout::BYTES, bytes);
        }
        let envelope = u64::from(context) << 32 | u64::from(tag);
        self.event([layout::event_word(kind, 0, peer), self.records.now(), envelope, bytes]);
    }

    /// The rank has finalized, and has sent all this by these ways ([`WAYS`]).
    pub fn finish(&self, ways: [u64; WAYS.len()]) {
        ways.into_iter().enumerate().for_each(|(place, value)| self.records.set(layout::WAYS + place, value));
        if let (Some(before), Some(now)) = (self.before, ProcessorTime::of_thread()) {
            self.records.set(layout::RAN, now.ran.saturating_sub(before.ran));
            self.records.set(layout::QUEUED, now.queued.saturating_sub(before.queued));
        }
        self.records.set(layout::ENDED, self.records.now());
        self.records.set(layout::STATE, layout::FINALIZED);
    }

    fn event(&self, words: [u64; layout::EVENT]) {
        if self.event_room == 0 {
            return;
        }
        let number = self.records.get(layout::EVENTS);
        let at = layout::events_at(self.peers) + (number as usize % self.event_room) * layout::EVENT;
        words.into_iter().enumerate().for_each(|(place, word)| self.records.set(at + place, word));
        self.records.set(layout::EVENTS, number + 1);
    }

    fn count_collective(&self, function: u32, communicator: u32, amounts: [u64; 4]) {
        let key = layout::group_key(function, communicator, layout::bits(amounts[3]));
        let first = (key ^ key >> 29 ^ key >> 43) as usize;
        for step in 0..layout::GROUPS_MAX {
            let at = layout::GROUPS_AT + (first + step) % layout::GROUPS_MAX * layout::GROUP;
            let found = self.records.get(at);
            if found == 0 {
                self.records.set(at, key);
            } else if found != key {
                continue;
            }
            amounts.into_iter().enumerate().for_each(|(place, amount)| self.records.add(at + 1 + place, amount));
            return;
        }
        self.records.add(layout::UNCOUNTED, 1);
    }

    /// The number of a function, which it gets at its first call.
    fn function(&self, name: &'static str) -> u32 {
        *self.functions.borrow_mut().entry(name.as_ptr() as usize).or_insert_with(|| self.name_function(name))
    }

    #[cold]
    fn name_function(&self, name: &str) -> u32 {
        let known = self.records.get(layout::FUNCTIONS) as usize;
        let mut words = [0; layout::NAME_WORDS];
        for (word, bytes) in words.iter_mut().zip(name.as_bytes().chunks(8)) {
            let mut all = [0; 8];
            all[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(all);
        }
        let at = |function: usize| layout::FUNCTIONS_AT + function * layout::FUNCTION;
        // The same name may lie at several places.
        let is_it =
            |&function: &usize| (0..words.len()).all(|word| self.records.get(at(function) + word) == words[word]);
        if let Some(function) = (0..known).find(is_it) {
            return function as u32;
        }
        if known == layout::FUNCTIONS_MAX {
            return NOWHERE;
        }
        words.into_iter().enumerate().for_each(|(place, word)| self.records.set(at(known) + place, word));
        self.records.set(layout::FUNCTIONS, known as u64 + 1);
        known as u32
    }

    fn place_of(&self, function: u32) -> Option<usize> {
        (function != NOWHERE).then_some(layout::FUNCTIONS_AT + function as usize * layout::FUNCTION)
    }

    /// Ranks of other jobs have none.
    fn place_of_peer(&self, peer: u32) -> Option<usize> {
        ((peer as usize) < self.peers).then_some(layout::PEERS_AT + peer as usize * layout::PEER)
    }
}

impl Notes for Recorder {
    fn begin_part(&self) -> bool {
        let Some(begun) = self.begin_driven() else { return false };
        self.part.set(Some(begun));
        true
    }

    fn end_part(&self, calls: Option<u64>) {
        match (self.part.take(), calls) {
            (Some(begun), Some(calls)) => self.end_counted(begun, calls),
            _ => self.set_present(None),
        }
    }

    fn sent(&self, peer: u32, context: u32, tag: u32, bytes: u64) {
        let is_own = is_collective(context);
        if let Some(at) = self.place_of_peer(peer) {
            let (messages, lengths) = match is_own {
                true => (layout::PEER_OWN_MESSAGES, layout::PEER_OWN_BYTES),
                false => (layout::PEER_MESSAGES, layout::PEER_BYTES),
            };
            self.records.add(at + messages, 1);
            self.records.add(at + lengths, bytes);
        }
        if is_own {
            return;
        }
        let size = layout::SIZES_AT + layout::bits(bytes) as usize * layout::SIZE;
        self.records.add(size, 1);
        self.records.add(size + 1, bytes);
        self.message(layout::SENT, peer, (context, tag), bytes);
    }

    fn received(&self, context: u32, completion: &Completion) {
        if completion.is_of_nobody() {
            return;
        }
        self.heard.set(Some(completion.source));
        if !is_collective(context) {
            self.message(layout::RECEIVED, completion.source, (context, completion.tag), completion.bytes);
        }
    }
}

/// The first word of a wait's event.
fn wait_word(peer: Option<u32>, reason: Option<Reason>) -> u64 {
    let number = reason.map_or(0, |reason| reason as u32 + 1);
    layout::event_word(layout::WAIT, number, peer.unwrap_or(layout::NOBODY))
}

/// Why a rank waits that waits for something of that kind.
fn reason(kind: u8, context: u32) -> Option<Reason> {
    const SEND: u8 = Kind::Send as u8;
    const RECEIVE: u8 = Kind::Receive as u8;
    const PROBE: u8 = Kind::Probe as u8;
    const STEP: u8 = Kind::Step as u8;
    match kind {
        SEND | RECEIVE | PROBE if is_collective(context) => Some(Reason::Collective),
        SEND => Some(Reason::Receiver),
        RECEIVE | PROBE => Some(Reason::Message),
        STEP => Some(Reason::Collective),
        kind if kind == Kind::Epoch as u8 || kind == Kind::Lock as u8 => Some(Reason::Window),
        _ => None,
    }
}

//! Short data on one node: every rank of a communicator has a *shelf* in shared memory, puts its data there, and takes what it needs from
//! the shelves of others. There are no messages, no matching and no partners, so no rank waits for one that only passes things on: with
//! more ranks than cores, that saves a change of process for each step of an algorithm.
//!
//! A shelf has two halves, used in turn by the blocking collectives that use shelves at all. In each half a stamp says which of them the
//! data belong to. Invariants:
//! 1. Only the owner writes to its shelf, but for the count of those who have left.
//! 2. Every rank stamps its shelf once in every such collective, whether or not it has data.
//! 3. A rank writes to a half again, in collective `n`, once all have stamped `n - 1`: whoever did had finished with `n - 2`.
//! 4. A shelf's memory is used for something else once all other ranks have left the communicator.

use std::cell::{Cell, OnceCell};

use bytemuck::Zeroable;
use rwmpi_transport::{ReadSpan, RemoteAddress, SharedPart, SharedWord, WriteSpan};

use super::alltoall::send_to_all;
use super::published::Told;
use super::reduction::Reduction;
use super::scratch::{Scratch, append};
use super::team::Team;
use crate::Mark;
use crate::engine::Failure;
use crate::process::Process;
use crate::shared_buffer::Buffer;
use crate::waiting::Awaited;

/// Most bytes that a rank puts on its shelf.
pub(crate) const CAPACITY: usize = 16 << 10;
/// With more ranks, everybody looking at everybody costs more than it saves.
const MOST_RANKS: usize = 16;
const LINE: usize = 64;
/// Where a half has its stamp, the length of the data, and the data: those that fit beside stamp and length share their line.
const STAMP: usize = 0;
const LEN: usize = 8;
const SHORT_DATA: usize = 16;
const LONG_DATA: usize = LINE;
/// In place of a length: its rank is in trouble. In the upper half of the same word is what the data are marked with.
const NOTHING: u64 = u32::MAX as u64;
/// The first line has the count of those who have left.
const SHELF: usize = LINE + 2 * HALF;
const HALF: usize = LONG_DATA + CAPACITY;

/// The shelves of a communicator, once they are known; `None` inside: there are none.
pub(crate) type OnceShelves = OnceCell<Option<Shelves>>;

pub(crate) struct Shelves {
    mine: Buffer<u128>,
    /// By rank.
    shelves: Box<[Shelf]>,
    /// How many collectives have used them.
    count: Cell<u64>,
}

struct Shelf {
    peer: u32,
    memory: SharedPart,
    halves: [Half; 2],
    left: SharedWord,
    /// The last collective for which it has been seen stamped.
    seen: Cell<u64>,
}

struct Half {
    stamp: SharedWord,
    len: SharedWord,
}

/// A shelf that its owner uses no more.
pub(crate) struct Retired {
    _memory: Buffer<u128>,
    left: SharedWord,
    others: u64,
}

/// One collective's use of the shelves.
pub(crate) struct Round<'a> {
    team: Team<'a>,
    shelves: &'a Shelves,
    number: u64,
}

impl<'a> Team<'a> {
    /// The team's shelves, if it has any and `len` bytes of each rank have room there. The same on all ranks.
    #[inline]
    pub(super) fn shelves(self, len: usize) -> Result<Option<&'a Shelves>, Failure> {
        let Some(shelves) = self.shelves.filter(|_| self.waits && len <= CAPACITY) else { return Ok(None) };
        if shelves.get().is_none() {
            let made = self.process.block_on(self.make_shelves())?;
            let _ = shelves.set(made);
        }
        Ok(shelves.get().and_then(Option::as_ref))
    }

    #[cold]
    async fn make_shelves(self) -> Result<Option<Shelves>, Failure> {
        if !(2..=MOST_RANKS).contains(&self.size()) || !self.may_publish() {
            return Ok(None);
        }
        self.process.reuse_retired();
        let mine = Buffer::recycled(self.process.engine().heap(), SHELF / size_of::<u128>());
        let told = self.tell_where(ReadSpan::from(bytemuck::cast_slice(&mine)));
        let shelf = Shelf::new(self, self.peers[self.rank], told.address());
        if let Some(shelf) = shelf.as_ref().filter(|_| mine.is_shared()) {
            let mut engine = self.process.engine();
            let words = shelf.halves.iter().map(|half| half.stamp).chain([shelf.left]);
            words.for_each(|word| engine.set_word(word, 0, &[]));
        }
        let told = if mine.is_shared() && shelf.is_some() { told } else { Told::UNREADABLE };
        let mut heard = vec![Told::zeroed(); self.size()];
        let sent = ReadSpan::from(bytemuck::bytes_of(&told));
        let received = WriteSpan::from(bytemuck::cast_slice_mut(&mut heard));
        send_to_all(self.always_sends(), |_| sent, |rank| received.part(rank * sent.len(), sent.len())).await?;
        let shelves = heard.iter().zip(self.peers);
        let shelves: Option<Box<[Shelf]>> =
            shelves.map(|(told, &peer)| Shelf::new(self, peer, told.address())).collect();
        Ok(shelves.map(|shelves| Shelves { mine, shelves, count: Cell::new(0) }))
    }
}

impl Shelf {
    /// `None` if the memory is not shared, or not as long as a shelf.
    fn new(team: Team<'_>, peer: u32, address: RemoteAddress) -> Option<Shelf> {
        let memory = team.process.engine().shared_part(peer, &address).filter(|memory| memory.len() == SHELF)?;
        let half = |which| {
            let start = Shelves::start(which);
            Some(Half { stamp: memory.word(start + STAMP)?, len: memory.word(start + LEN)? })
        };
        Some(Shelf { peer, memory, halves: [half(0)?, half(1)?], left: memory.word(0)?, seen: Cell::new(0) })
    }

    /// A part of it.
    ///
    /// # Panics
    /// If it reaches beyond the end: what has more than [`CAPACITY`] bytes is not put on shelves.
    #[inline]
    fn part(&self, place: usize, len: usize) -> SharedPart {
        self.memory.part(place, len).expect("a part of the shelf")
    }

    fn half(&self, number: u64) -> &Half {
        &self.halves[(number % 2) as usize]
    }
}

impl Shelves {
    fn start(which: usize) -> usize {
        LINE + which * HALF
    }

    /// Where the data of collective `number` lie on a shelf.
    fn data(number: u64, len: usize) -> usize {
        Self::start((number % 2) as usize) + if len <= LONG_DATA - SHORT_DATA { SHORT_DATA } else { LONG_DATA }
    }

    /// Puts `parts`, one behind the other, on this rank's shelf.
    pub(super) fn put<'a, 's>(
        &'a self,
        team: Team<'a>,
        parts: impl Iterator<Item = ReadSpan<'s>> + Clone,
    ) -> Result<Round<'a>, Failure> {
        let number = self.count.get() + 1;
        self.count.set(number);
        let round = Round { team, shelves: self, number };
        if number > 2 {
            (0..team.size()).try_for_each(|rank| round.wait(rank, number - 1))?;
        }
        let mine = &self.shelves[team.rank];
        let half = mine.half(number);
        let mut engine = team.process.engine();
        let says = if team.poisons && team.is_in_trouble() {
            NOTHING
        } else {
            let len = parts.clone().map(|part| part.len()).sum();
            let mut place = Self::data(number, len);
            for part in parts {
                engine.write_shared(mine.part(place, part.len()), part);
                place += part.len();
            }
            len as u64
        };
        engine.set_word(half.len, u64::from(team.mark.word()) << 32 | says, &[]);
        engine.set_word(half.stamp, number, team.peers);
        mine.seen.set(number);
        Ok(round)
    }

    /// Leaves the others' shelves, and gives the own one to the process, to be reused when all others have left it.
    pub(crate) fn retire(self, process: &Process) {
        let (me, others) = (process.me_and_peers().0, self.shelves.len() as u64 - 1);
        let mut engine = process.engine();
        let theirs = self.shelves.iter().filter(|shelf| shelf.peer != me);
        theirs.for_each(|shelf| engine.add_to_word(shelf.left, 1));
        drop(engine);
        if let Some(mine) = self.shelves.iter().find(|shelf| shelf.peer == me) {
            process.retire(Retired { _memory: self.mine, left: mine.left, others });
        }
    }
}

impl Retired {
    /// Whether others may still look at it.
    pub(crate) fn is_in_use(&self, process: &Process) -> bool {
        process.engine().word(self.left) < self.others
    }
}

impl Round<'_> {
    /// Waits until `rank` has put its data up; their length, unless it is in trouble.
    pub(super) fn see(&self, rank: usize) -> Result<Option<usize>, Failure> {
        self.wait(rank, self.number)?;
        let len = self.shelves.shelves[rank].half(self.number).len;
        let word = self.team.process.engine().word(len);
        let source = self.team.peers[rank];
        self.team.listen(source, Mark::heard((word >> 32) as u32));
        match word & NOTHING {
            NOTHING => {
                self.team.note(Failure::Nothing { source });
                Ok(None)
            }
            len => Ok(Some(len as usize)),
        }
    }

    /// Waits until `rank` has put up as many bytes as `len`, of which it takes those from `offset` on.
    pub(super) fn take(&self, rank: usize, len: usize, offset: usize, into: WriteSpan<'_>) -> Result<(), Failure> {
        let Some(put) = self.see(rank)? else { return Ok(()) };
        if put != len {
            let (source, tag, bytes, capacity) = (self.team.peers[rank], self.team.tag, put as u64, len as u64);
            return self.team.check(Err(Failure::Truncated { source, tag, bytes, capacity }), capacity);
        }
        let part = self.shelves.shelves[rank].part(Shelves::data(self.number, len) + offset, into.len());
        self.team.process.engine().read_shared(part, into);
        Ok(())
    }

    /// Waits until all have come as far.
    pub(super) fn meet(&self) -> Result<(), Failure> {
        (0..self.team.size()).filter(|&rank| rank != self.team.rank).try_for_each(|rank| self.see(rank).map(drop))
    }

    /// Combines what all ranks have put up, in rank order.
    pub(super) fn combine(&self, result: WriteSpan<'_>, op: &dyn Reduction) -> Result<(), Failure> {
        let len = result.len();
        self.take(0, len, 0, result)?;
        let mut theirs = Scratch::new(self.team, len);
        let theirs = theirs.span();
        for rank in 1..self.team.size() {
            self.take(rank, len, 0, theirs)?;
            append(self.team, op, result, theirs.as_read());
        }
        Ok(())
    }

    /// Waits until `rank` has stamped its shelf for collective `number`.
    #[inline]
    fn wait(&self, rank: usize, number: u64) -> Result<(), Failure> {
        let shelf = &self.shelves.shelves[rank];
        if shelf.seen.get() >= number {
            return Ok(());
        }
        self.look_for(shelf, number)?;
        shelf.seen.set(number);
        Ok(())
    }

    fn look_for(&self, shelf: &Shelf, number: u64) -> Result<(), Failure> {
        let process = self.team.process;
        let stamp = shelf.half(number).stamp;
        // Patient once only: later, others are to be served in between.
        let patience = process.looks(&process.engine());
        if process.engine().has_word(stamp, number, patience) {
            return Ok(());
        }
        let done = || process.engine().has_word(stamp, number, 1).then_some(());
        process.wait_for_awaited(Awaited::Step(shelf.peer), done)
    }
}

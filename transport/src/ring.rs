//! The Memory-Based FIFO: a bounded ring of cache lines in the receiver's memory, one producer, one consumer.
//!
//! A cell is exactly one cache line: stamp, length, header and up to 40 bytes of payload. The producer fills the line
//! and publishes it by a Release store of the stamp, so a small message moves one line and nothing else. What is a
//! little too long for that goes on in the next cell: the two are one *wide* cell, whose second line who waits for the
//! first asks for at the same time. Longer payloads lie in the *data area* beside the cells, or in a *baton* that
//! passes to the consumer ([`batons`]); the cell says where. Where there are batons and the producer has none left,
//! traffic goes one way: then what is long goes round in the area if the consumer is [near](crate::distance), else past
//! the caches. The consumer publishes one number, how many cells it has consumed, on a line of its own, which the
//! producer reads only when its last knowledge says "full". Neither side takes a lock, does a read-modify-write or
//! makes a system call.
//!
//! Invariants:
//! 1. The cell of position `p` (counted from 0) is published if and only if its stamp is `p + 1` modulo 2^32, and the
//!    second half of a wide cell if and only if the first is. Before that it has the stamp of the previous lap, or 0 in
//!    memory never written: an old lap is never mistaken for a new one.
//! 2. The producer writes the cell of position `p` only after it has seen `consumed > p - CELLS` (Acquire), and bytes
//!    of the data area only after it has seen that the cell which described them was consumed, and a baton only while
//!    it holds it.
//! 3. The consumer trusts no length or place before it was checked, and the producer no counter that runs backwards or
//!    ahead.
#![allow(unsafe_code)]

use std::any::Any;
use std::cell::Cell as Plain;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::caches::LINE;
use crate::copy::copy;
use crate::distance::Distance;
use crate::handover::{copy_for_reader, copy_past_caches, fetch, fetch_to_write, owns_what_others_read};
use crate::primitive::{AtomicU64, Ordering, publishing};
use crate::small_copy::copy_small;
use crate::{Enqueue, Header, INLINE_PAYLOAD, LentSpan, ReadSpan, WriteSpan};
use batons::{BATON_SIZE, Batons};
pub(crate) use cell::Cell;
use cell::{Body, stamp_of};
use data_area::DataArea;

/// What the second half of a wide cell holds: all of it but the stamp.
const SECOND_HALF: usize = size_of::<Body>();
/// The longest payload of a wide cell.
const WIDE: usize = INLINE_PAYLOAD + SECOND_HALF;
/// The least amount of the data area that is put to use, bytes.
const SMALLEST_DATA: usize = 4096;
/// A payload of at least this many bytes is better written where the consumer has not read lately: its lines have left
/// the consumer's first cache by then, and are taken from it sooner.
const LONG: usize = 256;
/// Payloads of at least so many bytes are written past the caches where all batons are with the consumer and that is
/// not near: the first where pushes follow each other, else the second.
const PAST_CACHES: [usize; 2] = [512, 4096];
/// The most of the data area that is put to use unless the consumer is near.
const USED_AT_A_DISTANCE: usize = 256 << 10;
/// How far ahead of the next cell the producer has lines fetched while cells follow each other.
const FETCHED_AHEAD: u64 = 3;
/// So many cells' lines the producer takes back at a time, where it has to write to them for that.
const TAKEN_BACK: u64 = 4;
/// In a cell, besides a place in the data area, which begins a line: its payload was written through the caches, and
/// its reader had better [write it back](LentSpan).
const TO_WRITE_BACK: usize = 1;
/// More of the area is put to use once so many times what is in use has passed in long payloads.
const LAPS: usize = 16;

/// Where one ring lies. Keeps the memory alive.
pub(crate) struct RingMemory {
    cells: NonNull<Cell>,
    /// Stored (Release) by the consumer in `pop`; loaded (Acquire) by the producer in `refresh`.
    consumed: NonNull<AtomicU64>,
    data: NonNull<u8>,
    data_size: usize,
    /// Those of producer and consumer, and how many, if they have any.
    batons: Option<(NonNull<u8>, usize)>,
    _owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the memory is shared by design, all access to it goes through atomics or is ordered by them, and the owner
// that keeps it alive is `Send` itself.
unsafe impl Send for RingMemory {}

impl RingMemory {
    /// Describes a ring.
    ///
    /// # Safety
    /// While `owner` lives, `cells` must point to as many cells as the producer and the consumer are compiled for,
    /// `consumed` to a counter, and `data` to `data_size` bytes at a multiple of 16, all of them readable and writable,
    /// zero at first, and used for nothing else; and `batons`, if there are any, to so many times [`BATON_SIZE`] such
    /// bytes, which the ring in the other direction may use too.
    pub(crate) unsafe fn new(
        cells: NonNull<Cell>,
        consumed: NonNull<AtomicU64>,
        (data, data_size): (NonNull<u8>, usize),
        batons: Option<(NonNull<u8>, usize)>,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        RingMemory { cells, consumed, data, data_size, batons, _owner: owner }
    }

    /// Where a baton with a payload of `len` bytes begins, if that is what `place` says: `Err` if there is none such.
    #[inline(always)]
    fn baton(&self, place: usize, len: usize) -> Option<Result<NonNull<u8>, &'static str>> {
        let (start, all) = self.batons.unwrap_or((NonNull::dangling(), 0));
        let number = batons::number_of(place, len, all)?;
        // SAFETY: there are as many batons as numbers, by the contract of `new`.
        let start = number.map(|number| unsafe { start.add(number * BATON_SIZE) });
        Some(start.map_err(|()| "a cell whose payload lies in no baton"))
    }

    #[inline(always)]
    fn cell<const CELLS: usize>(&self, position: u64) -> &Cell {
        const { assert!(CELLS.is_power_of_two()) };
        // SAFETY: the index is below `CELLS`, and there are that many cells by the contract of `new`.
        unsafe { &*self.cells.as_ptr().add(position as usize & (CELLS - 1)) }
    }

    #[inline(always)]
    fn consumed(&self) -> &AtomicU64 {
        // SAFETY: valid by the contract of `new`.
        unsafe { self.consumed.as_ref() }
    }
}

/// Memory of a ring besides its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    /// The data area.
    Data,
    /// The batons.
    Batons,
}

/// Why a push had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// No room now.
    Full,
    /// The data area's first pages could not be reserved.
    NoMemory,
}

/// The sending end of a ring.
pub(crate) struct Producer<const CELLS: usize> {
    memory: RingMemory,
    /// How many cells were pushed.
    pushed: u64,
    /// How many of them were consumed when we last looked.
    consumed: u64,
    /// The last push was refused and not retried yet.
    refused: bool,
    /// Pushes follow each other: nothing has come back since the last one.
    in_a_row: bool,
    /// What had come back by then.
    answers: u64,
    data: DataArea,
    distance: Distance,
}

impl<const CELLS: usize> Producer<CELLS> {
    /// The sending end of a ring that nothing was pushed to yet.
    ///
    /// # Safety
    /// There must be no other producer for this memory.
    pub(crate) unsafe fn new(memory: RingMemory) -> Self {
        Producer {
            memory,
            pushed: 0,
            consumed: 0,
            refused: false,
            in_a_row: false,
            answers: u64::MAX,
            data: DataArea::default(),
            distance: Distance::default(),
        }
    }

    /// How many cells were pushed so far.
    #[inline]
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Before a push: how many messages have come back from the consumer so far. If there is none since the last push,
    /// this one follows it.
    ///
    /// Then the lines of later cells are fetched meanwhile: the consumer has read them a lap ago, so to write them
    /// means to take them away there, which takes several times as long as to fill a cell. One that stands alone is
    /// handed over instead, as its consumer waits for it.
    #[inline]
    pub(crate) fn note_answers(&mut self, answers: u64) {
        self.in_a_row = self.answers == answers;
        self.answers = answers;
    }

    /// Whether the last push was refused and not retried since.
    pub(crate) fn is_refused(&self) -> bool {
        self.refused
    }

    /// How many cells the consumer has consumed by now. A counter that no correct consumer can have published counts as
    /// no news.
    #[inline]
    pub(crate) fn refresh(&mut self) -> u64 {
        let consumed = self.memory.consumed().load(Ordering::Acquire);
        if consumed > self.consumed && consumed <= self.pushed {
            self.consumed = consumed;
        }
        self.consumed
    }

    /// Refreshes as there is no room for a payload, and notes how long that takes if the payload might go past the
    /// caches.
    #[cold]
    #[inline(never)]
    fn look_again(&mut self, may_pass_caches: bool) {
        if !may_pass_caches {
            self.refresh();
            return;
        }
        let (before, mut distance) = (self.consumed, std::mem::take(&mut self.distance));
        distance.measure(|| self.refresh() != before);
        self.distance = distance;
    }

    /// Whether the consumer has consumed anything since we last looked.
    pub(crate) fn has_news(&self) -> bool {
        self.memory.consumed().load(Ordering::Acquire) != self.consumed
    }

    /// Appends a cell. `reserve(area, from, to)` makes sure that there are pages behind these bytes. A payload goes by
    /// a baton if there is one.
    ///
    /// The payload must not be longer than half the data area.
    #[inline(always)]
    pub(crate) fn try_push(
        &mut self,
        enqueue: Enqueue,
        header: Header,
        payload: ReadSpan,
        batons: Option<&mut Batons>,
        reserve: impl FnMut(Area, usize, usize) -> bool,
    ) -> Result<(), Refused> {
        if self.refused && enqueue == Enqueue::Next {
            return Err(Refused::Full);
        }
        if payload.len() > INLINE_PAYLOAD {
            self.try_push_beyond(header, payload, batons, reserve).inspect_err(|_| self.refused = true)?;
        } else if self.has_room(1, false) {
            self.publish(1, header, payload.len(), payload, batons.is_some());
        } else {
            self.refused = true;
            return Err(Refused::Full);
        }
        self.refused = false;
        Ok(())
    }

    /// Whether so many cells are free.
    #[inline]
    fn has_room(&mut self, cells: u64, may_pass_caches: bool) -> bool {
        let last_user = self.pushed + cells - 1;
        last_user - self.consumed < CELLS as u64 || {
            self.look_again(may_pass_caches);
            last_user - self.consumed < CELLS as u64
        }
    }

    /// As [`Producer::try_push`] of a payload that goes on beyond its cell.
    #[inline(never)]
    fn try_push_beyond(
        &mut self,
        header: Header,
        payload: ReadSpan,
        batons: Option<&mut Batons>,
        mut reserve: impl FnMut(Area, usize, usize) -> bool,
    ) -> Result<(), Refused> {
        let (passes_batons, may_pass_caches) = (batons.is_some(), payload.len() >= PAST_CACHES[0]);
        let is_wide = payload.len() <= WIDE;
        if !self.has_room(if is_wide { 2 } else { 1 }, passes_batons && may_pass_caches) {
            return Err(Refused::Full);
        }
        if is_wide {
            self.publish_wide(header, payload, passes_batons);
            return Ok(());
        }
        let takes_back = passes_batons && may_pass_caches && self.distance.is_near();
        if let Some(baton) =
            batons.and_then(|batons| batons.give(payload.len(), |from, to| reserve(Area::Batons, from, to)))
            && let place = batons::place_of(baton)
            && let Some(Ok(start)) = self.memory.baton(place, payload.len())
        {
            // SAFETY: the baton, which is this long (just checked), is held here; the payload is readable by the
            // contract of its span.
            unsafe { copy(start.as_ptr(), payload.start(), payload.len()) };
            self.publish(1, header, payload.len(), ReadSpan::from(&(place as u32).to_ne_bytes()[..]), takes_back);
            return Ok(());
        }
        let mut place = self.place_data(payload.len(), passes_batons, |from, to| reserve(Area::Data, from, to))?;
        let is_long = payload.len() >= PAST_CACHES[usize::from(!self.in_a_row)];
        let passes_caches = passes_batons && is_long && !self.distance.is_near();
        // SAFETY: `place_data` gave us room for the payload within the data area, at whole lines of it, which no cell
        // in flight describes, so the consumer does not read there; the payload is readable by the contract of its
        // span.
        unsafe {
            let place = self.memory.data.as_ptr().add(place);
            if passes_caches {
                copy_past_caches(place, payload.start(), payload.len());
            } else if self.in_a_row {
                if payload.len() < LONG {
                    // Longer ones the processor sees coming by itself.
                    fetch_to_write(place.wrapping_add(FETCHED_AHEAD as usize * LINE));
                }
                copy(place, payload.start(), payload.len());
            } else {
                copy_for_reader(place, payload.start(), payload.len());
            }
        }
        if !passes_caches && owns_what_others_read() {
            place |= TO_WRITE_BACK;
        }
        self.publish(1, header, payload.len(), ReadSpan::from(&(place as u32).to_ne_bytes()[..]), takes_back);
        Ok(())
    }

    /// Fills the next two cells, which are free, and publishes them as one.
    #[inline]
    fn publish_wide(&mut self, header: Header, payload: ReadSpan, takes_back: bool) {
        let second = self.pushed + 1;
        let (inline, rest) =
            (payload.part(0, INLINE_PAYLOAD), payload.part(INLINE_PAYLOAD, payload.len() - INLINE_PAYLOAD));
        let cell = self.memory.cell::<CELLS>(second);
        // SAFETY: the consumer has left this cell, too, and looks into it only once the first is published; all of a
        // body may hold bytes.
        cell.body.with_mut(|body| unsafe { copy_small(body.cast(), rest.start(), rest.len()) });
        // As after any lap. Nobody looks at it before the next.
        cell.stamp.store(stamp_of(second), Ordering::Relaxed);
        self.publish(2, header, payload.len(), inline, takes_back);
    }

    /// Fills the next cell, which is free, and publishes it; so many are published in all.
    #[inline(always)]
    fn publish(&mut self, cells: u64, header: Header, len: usize, inline: ReadSpan, takes_back: bool) {
        let cell = self.memory.cell::<CELLS>(self.pushed);
        // SAFETY: the consumer has left this cell (invariant 2), so we alone use the body until the stamp is stored;
        // `inline` has at most `INLINE_PAYLOAD` bytes.
        cell.body.with_mut(|body| unsafe { Body::fill(body, header, len, inline) });
        cell.stamp.store(stamp_of(self.pushed), publishing());
        self.pushed += cells;
        if self.in_a_row && takes_back {
            self.take_lines_back(cells);
        } else if self.in_a_row {
            fetch_to_write(ptr::from_ref(self.memory.cell::<CELLS>(self.pushed + FETCHED_AHEAD)).cast());
        }
    }

    /// Takes the lines of the next cells back from the consumer, all at once, so that they come together: by writing to
    /// them, as processors on which batons are passed do not heed a mere request for the right to write to a line that
    /// they hold together with its reader.
    #[inline(always)]
    fn take_lines_back(&self, just_pushed: u64) {
        if self.pushed % TAKEN_BACK < just_pushed && self.pushed + TAKEN_BACK <= self.consumed + CELLS as u64 {
            for position in self.pushed..self.pushed + TAKEN_BACK {
                self.memory.cell::<CELLS>(position).body.with_mut(|body| {
                    // SAFETY: the consumer has left this cell (just looked), so we alone use the body until its stamp
                    // is stored.
                    unsafe { (&raw mut (*body).len).write_volatile(0) };
                });
            }
        }
    }

    /// Room for a payload in the data area, which might go past the caches.
    fn place_data(
        &mut self,
        len: usize,
        may_pass_caches: bool,
        mut reserve: impl FnMut(usize, usize) -> bool,
    ) -> Result<usize, Refused> {
        assert!(len <= self.memory.data_size / 2, "payload longer than the queue takes");
        let rounded = len.next_multiple_of(LINE);
        self.data.release(self.consumed);
        let mut place = self.data.place(rounded);
        if place.is_none() {
            self.look_again(may_pass_caches);
            self.data.release(self.consumed);
            place = self.data.place(rounded);
        }
        if rounded >= LONG || self.in_a_row {
            self.data.passed += rounded;
        }
        let more = place.is_none() || self.data.passed > LAPS * self.data.limit;
        let most = if self.distance.is_near() { usize::MAX } else { USED_AT_A_DISTANCE }.min(self.memory.data_size);
        if more && !self.data.is_wrapped() && self.data.limit < most {
            self.data.passed = 0;
            let limit = (2 * self.data.limit.max(rounded.next_power_of_two())).clamp(SMALLEST_DATA.min(most), most);
            if reserve(self.data.limit, limit) {
                self.data.limit = limit;
                place = place.or_else(|| self.data.place(rounded));
            } else if self.data.limit < rounded {
                return Err(Refused::NoMemory);
            }
        }
        let place = place.ok_or(Refused::Full)?;
        self.data.in_flight.push_back((self.pushed, place + rounded));
        Ok(place)
    }
}

/// The oldest cell of a ring, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    pub(crate) header: Header,
    pub(crate) len: usize,
    /// Where the payload lies in the data area or which baton it is in, if it does not lie in the cell.
    pub(crate) place: usize,
}

/// What belongs to a cell.
#[derive(Clone, Copy)]
enum Beyond {
    Nothing,
    /// The next cell.
    Cell,
    /// The baton at this place.
    Baton(usize),
}

/// The receiving end of a ring.
pub(crate) struct Consumer<const CELLS: usize> {
    memory: RingMemory,
    /// How many cells were consumed: the position of the front.
    consumed: u64,
    /// What belongs to the front.
    beyond: Plain<Beyond>,
}

impl<const CELLS: usize> Consumer<CELLS> {
    /// The receiving end of a ring that nothing was popped from yet.
    ///
    /// # Safety
    /// There must be no other consumer for this memory.
    pub(crate) unsafe fn new(memory: RingMemory) -> Self {
        Consumer { memory, consumed: 0, beyond: Plain::new(Beyond::Nothing) }
    }

    /// How many cells were popped so far.
    #[inline]
    pub(crate) fn popped(&self) -> u64 {
        self.consumed
    }

    /// Whether something is at the front, be it a correct cell or not.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        let stamp = self.memory.cell::<CELLS>(self.consumed).stamp.load(Ordering::Acquire);
        stamp == stamp_of(self.consumed) || !self.is_vacant(stamp)
    }

    /// The oldest cell; `Err` says what is wrong with it.
    #[inline(always)]
    pub(crate) fn front(&self) -> Result<Option<Front>, &'static str> {
        let cell = self.memory.cell::<CELLS>(self.consumed);
        let stamp = cell.stamp.load(Ordering::Acquire);
        if stamp != stamp_of(self.consumed) {
            return if self.is_vacant(stamp) { Ok(None) } else { Err("a cell with an impossible stamp") };
        }
        let (len, header, place) = cell.body.with(|body| {
            // SAFETY: the stamp says that the producer has published the body and does not touch it until we pop it.
            // (One that does is broken, and gets us nothing but wrong numbers, which are checked below.)
            unsafe { ((*body).len as usize, (*body).header, (&raw const (*body).inline).cast::<u32>().read()) }
        });
        if len <= INLINE_PAYLOAD {
            return Ok(Some(Front { header, len, place: 0 }));
        }
        if len <= WIDE {
            self.beyond.set(Beyond::Cell);
            return Ok(Some(Front { header, len, place: 0 }));
        }
        let place = place as usize;
        if let Some(baton) = self.memory.baton(place, len) {
            baton?;
            self.beyond.set(Beyond::Baton(place));
            return Ok(Some(Front { header, len, place }));
        }
        let start = place & !TO_WRITE_BACK;
        if len > self.memory.data_size || start > self.memory.data_size - len || !start.is_multiple_of(LINE) {
            return Err("a cell whose payload lies outside its queue");
        }
        Ok(Some(Front { header, len, place }))
    }

    /// Whether a cell with this stamp, which is not the front's, is what it should be before the front is published.
    #[inline]
    fn is_vacant(&self, stamp: u32) -> bool {
        let previous_lap = if self.consumed < CELLS as u64 { 0 } else { stamp_of(self.consumed - CELLS as u64) };
        stamp == previous_lap
    }

    /// Has the line of the cell fetched that stands so many behind the front. If the producer has not written it yet,
    /// it has to take the line back.
    #[inline]
    pub(crate) fn expect_more(&self, cells: usize) {
        fetch(ptr::from_ref(self.memory.cell::<CELLS>(self.consumed + cells as u64)).cast());
    }

    /// Copies bytes `offset ..` of the front's payload, as many as `into` holds.
    ///
    /// # Panics
    /// If the payload has not that many bytes.
    #[inline(always)]
    pub(crate) fn read(&self, len: usize, place: usize, offset: usize, into: WriteSpan) {
        assert!(offset <= len && into.len() <= len - offset, "read beyond the payload of a cell");
        if len <= INLINE_PAYLOAD {
            self.memory.cell::<CELLS>(self.consumed).body.with(|body| {
                // SAFETY: the bytes lie within `inline` (just checked), which the producer leaves alone until the front
                // is popped; `into` is writable by the contract of its span.
                unsafe {
                    copy_small(into.start(), (&raw const (*body).inline).cast::<u8>().add(offset), into.len());
                }
            });
            return;
        }
        if len <= WIDE {
            return self.read_wide(offset, into);
        }
        let (start, is_written_back) = match self.memory.baton(place, len) {
            // Which this side writes to next.
            Some(baton) => (baton.expect("not an arrival of this queue"), false),
            None => {
                let (place, is_written_back) = (place & !TO_WRITE_BACK, place & TO_WRITE_BACK != 0);
                let within = place <= self.memory.data_size && len <= self.memory.data_size - place;
                assert!(within, "not an arrival of this queue");
                // SAFETY: within the data area (just checked).
                (unsafe { self.memory.data.add(place) }, is_written_back)
            }
        };
        // SAFETY: so many bytes are there, as has been checked; until the front is popped they are the consumer's
        // alone.
        let from = unsafe { LentSpan::new(ReadSpan::new(start.as_ptr().add(offset), into.len()), is_written_back) };
        from.copy_to(into);
    }

    /// As [`Consumer::read`] of a wide cell, which has checked that it has so many bytes.
    #[inline]
    fn read_wide(&self, offset: usize, into: WriteSpan) {
        let in_first = INLINE_PAYLOAD.saturating_sub(offset).min(into.len());
        let (first, second) = (into.part(0, in_first), into.part(in_first, into.len() - in_first));
        self.memory.cell::<CELLS>(self.consumed).body.with(|body| {
            // SAFETY: the bytes lie within `inline`, or there are none; for the rest as in `read`.
            unsafe {
                copy_small(first.start(), (&raw const (*body).inline).cast::<u8>().wrapping_add(offset), first.len());
            }
        });
        let offset = (offset + in_first).saturating_sub(INLINE_PAYLOAD);
        self.memory.cell::<CELLS>(self.consumed + 1).body.with(|body| {
            // SAFETY: the bytes lie within the body; for the rest as in `read`.
            unsafe { copy_small(second.start(), body.cast::<u8>().wrapping_add(offset), second.len()) };
        });
    }

    /// Gives the front's room back to the producer. Only after a `front` that returned it. The baton that has come with
    /// it, if any, is held by this side from now on.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<usize> {
        let beyond = self.beyond.get();
        self.consumed += 1;
        if !matches!(beyond, Beyond::Nothing) {
            self.beyond.set(Beyond::Nothing);
            self.consumed += u64::from(matches!(beyond, Beyond::Cell));
        }
        self.memory.consumed().store(self.consumed, Ordering::Release);
        if let Beyond::Baton(place) = beyond { Some(batons::number_at(place)) } else { None }
    }
}

pub(crate) mod batons;
mod cell;
mod data_area;
#[cfg(all(test, loom))]
mod loom_model;
#[cfg(all(test, not(loom)))]
mod tests;

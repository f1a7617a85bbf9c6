//! Objects by handle.
//!
//! A code carries the generation of its place in the table, so that the handle of an object that was freed is known as
//! such even if another object has its place now. Places are used again in the order in which they became free, a few
//! always resting: the same code comes back only after thousands of other objects.
//!
//! A table has an end: what does not fit any more is an error of the call that makes it.
//!
//! Where the rank has several lanes, codes of what belongs to a lane name it, in the upper bits of the place.

use std::cell::{Ref, RefCell, RefMut};
use std::mem::forget;

use rwmpi_core::{Error, ErrorClass, MOST_LANES, Result};

/// What a handle stands for; its number is part of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A communicator.
    Communicator = 1,
    /// A group.
    Group = 2,
    /// A datatype.
    Datatype = 3,
    /// An error handler.
    ErrorHandler = 5,
    /// A reduction operation.
    Operation = 6,
    /// An info object.
    Info = 7,
    /// A window.
    Window = 8,
    /// A key of attributes.
    Keyval = 9,
    /// A message that a matched probe took.
    Message = 10,
    /// A request.
    Request = 11,
    /// A request that is one send or receive.
    SimpleRequest = 12,
    /// A request of a receive that had completed when it was started.
    CompletedReceive = 13,
    /// A session.
    Session = 14,
    /// A file.
    File = 15,
}

const INDEX_BITS: u32 = 22;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
/// Where the kind stands.
const KIND_SHIFT: u32 = 26;
/// How many bits of the generation stand beside the index; one more stands above the kind.
const LOW_BITS: u32 = KIND_SHIFT - INDEX_BITS;
const LOW_GENERATIONS: u32 = ((1 << LOW_BITS) - 1) << INDEX_BITS;
const GENERATION_MAX: u32 = (2 << LOW_BITS) - 1;
/// Free places that rest before one is used again.
const RESTING: usize = 64;

/// Where a lane stands in the code of what belongs to it.
const LANE_SHIFT: u32 = 19;
/// The places of such a table.
const LANE_INDEX_MASK: u32 = (1 << LANE_SHIFT) - 1;
const _: () = assert!(MOST_LANES << LANE_SHIFT <= 1 << INDEX_BITS);

/// No place is left for an object of that kind.
#[cold]
fn too_many(kind: Kind, places: u32) -> Error {
    let what = match kind {
        Kind::Communicator => "communicators",
        Kind::Group => "groups",
        Kind::Datatype => "datatypes",
        Kind::ErrorHandler => "error handlers",
        Kind::Operation => "operations",
        Kind::Info => "info objects",
        Kind::Window => "windows",
        Kind::Keyval => "keyvals",
        Kind::Message => "messages from matched probes",
        Kind::Request | Kind::SimpleRequest | Kind::CompletedReceive => "requests",
        Kind::Session => "sessions",
        Kind::File => "files",
    };
    let text =
        format!("there are {places} {what} already, more than handles can tell apart: complete or free some first");
    Error::new(ErrorClass::NoMemory, text)
}

/// Objects of one kind.
pub struct Table<T> {
    kind: Kind,
    /// Whether those who insert objects say where.
    is_placed: bool,
    /// What of a code is the place.
    index_mask: u32,
    /// What stands above it.
    lane: u32,
    content: RefCell<Content<T>>,
}

struct Content<T> {
    places: Vec<Place<T>>,
    /// How many of them are free.
    free: usize,
    /// The one that has been free for longest, if any is.
    longest: u32,
    /// The one that became free last, if any is.
    last: u32,
}

struct Place<T> {
    code: u32,
    /// Of a free place: the one that became free after it, if any has.
    next: u32,
    object: Option<T>,
}

impl<T> Content<T> {
    /// A place has become free.
    #[inline]
    fn rest(&mut self, index: u32) {
        if self.free == 0 {
            self.longest = index;
        } else {
            self.places[self.last as usize].next = index;
        }
        self.last = index;
        self.free += 1;
    }
}

impl<T> Place<T> {
    /// Whatever comes here next has another code than what has gone.
    #[inline]
    fn renew(&mut self, kind: Kind, index: u32) {
        // As a rule the lower bits of the generation have not come to their end.
        self.code = match self.code.wrapping_add(1 << INDEX_BITS) {
            next if next & LOW_GENERATIONS != 0 => next,
            _ => code(kind, generation(self.code) % GENERATION_MAX + 1, index),
        };
    }
}

const fn code(kind: Kind, generation: u32, index: u32) -> u32 {
    let (high, low) = (generation >> LOW_BITS, generation << INDEX_BITS & LOW_GENERATIONS);
    1 << 31 | high << 30 | (kind as u32) << KIND_SHIFT | low | index
}

/// A code of that kind at which no table ever has an object: for what needs no place.
pub const fn code_without_place(kind: Kind) -> u32 {
    code(kind, 0, INDEX_MASK)
}

/// Whether it is a code of that kind.
#[inline]
pub const fn is_of(kind: Kind, code: u32) -> bool {
    const MASK: u32 = 1 << 31 | 0xf << KIND_SHIFT;
    code & MASK == 1 << 31 | (kind as u32) << KIND_SHIFT
}

/// The lane that a code names, of so many: the first, if it names none.
pub fn lane_of(code: u32, lanes: usize) -> usize {
    let lane = ((code & INDEX_MASK) >> LANE_SHIFT) as usize;
    if code >> 31 == 1 && lane < lanes { lane } else { 0 }
}

fn generation(code: u32) -> u32 {
    (code >> 30 & 1) << LOW_BITS | (code & LOW_GENERATIONS) >> INDEX_BITS
}

impl<T> Table<T> {
    /// An empty table.
    pub fn new(kind: Kind) -> Self {
        let content = Content { places: Vec::new(), free: 0, longest: 0, last: 0 };
        Table { kind, is_placed: false, index_mask: INDEX_MASK, lane: 0, content: RefCell::new(content) }
    }

    /// The same for what belongs to that one of so many lanes.
    pub fn in_lane(self, lane: usize, lanes: usize) -> Self {
        if lanes == 1 {
            return self;
        }
        Table { index_mask: LANE_INDEX_MASK, lane: (lane as u32) << LANE_SHIFT, ..self }
    }

    /// An empty table for objects that have numbers of their own: only for [`Table::insert_at`].
    pub fn placed(kind: Kind) -> Self {
        Table { is_placed: true, ..Table::new(kind) }
    }

    /// Takes the object with that number in, which no other has, and returns the code of its handle. `make` makes it
    /// where it stays.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM if there is no such place: then `make` has not been called.
    #[inline(always)]
    pub fn insert_at(&self, index: u32, make: impl FnOnce() -> T) -> Result<u32> {
        let content = &mut *self.content.borrow_mut();
        if index as usize >= content.places.len() {
            self.make_room(content, index)?;
        }
        let place = &mut content.places[index as usize];
        assert!(place.object.is_none(), "two objects with one number");
        // So there is nothing to drop, which the compiler does not see.
        forget(place.object.replace(make()));
        Ok(place.code)
    }

    #[cold]
    fn make_room(&self, content: &mut Content<T>, index: u32) -> Result<()> {
        if index >= self.index_mask {
            return Err(too_many(self.kind, self.index_mask));
        }
        let first = content.places.len() as u32;
        let place = |index| self.new_place(index);
        content.places.extend((first..=index).map(place));
        Ok(())
    }

    fn new_place(&self, index: u32) -> Place<T> {
        Place { code: code(self.kind, 1, self.lane | index), next: 0, object: None }
    }

    /// Takes an object in, and returns the code of its handle.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM if all places are taken: then the object is dropped.
    #[inline]
    pub fn insert(&self, object: T) -> Result<u32> {
        self.insert_made(|| object)
    }

    /// As [`Table::insert`], of what `make` makes, if there is a place for it.
    #[inline]
    pub fn insert_made(&self, make: impl FnOnce() -> T) -> Result<u32> {
        let content = &mut *self.content.borrow_mut();
        let index = content.places.len() as u32;
        let place = if content.free > RESTING || content.free > 0 && index >= self.index_mask {
            let place = &mut content.places[content.longest as usize];
            content.longest = place.next;
            content.free -= 1;
            place
        } else {
            self.make_room(content, index)?;
            &mut content.places[index as usize]
        };
        // As in `insert_at`.
        forget(place.object.replace(make()));
        Ok(place.code)
    }

    /// Forgets an object.
    #[inline]
    pub fn remove(&self, code: u32) -> Option<T> {
        self.occupied(code).map(Occupied::remove)
    }

    /// The object with that code, to be looked at. Meanwhile nobody may change the table.
    #[inline(always)]
    pub fn look_at(&self, code: u32) -> Option<Ref<'_, T>> {
        let place = (code & self.index_mask) as usize;
        Ref::filter_map(self.content.borrow(), |content| match content.places.get(place) {
            Some(place) if place.code == code => place.object.as_ref(),
            _ => None,
        })
        .ok()
    }

    /// Puts another object where one is.
    pub fn replace(&self, code: u32, object: T) -> Option<T> {
        let content = &mut *self.content.borrow_mut();
        let place = content.places.get_mut((code & self.index_mask) as usize).filter(|place| place.code == code)?;
        place.object.as_mut().map(|old| std::mem::replace(old, object))
    }

    /// The object with that code, to be looked at and perhaps forgotten. Meanwhile nobody may use the table.
    #[inline(always)]
    pub fn occupied(&self, code: u32) -> Option<Occupied<'_, T>> {
        let content = self.content.borrow_mut();
        let index = code & self.index_mask;
        let place = content.places.get(index as usize)?;
        if place.code != code || place.object.is_none() {
            return None;
        }
        Some(Occupied { table: self, content, index })
    }

    /// Lends an object out; its place waits for it until [`Table::restore`] or [`Table::release`].
    #[inline]
    pub fn take(&self, code: u32) -> Option<T> {
        let content = &mut *self.content.borrow_mut();
        let place = content.places.get_mut((code & self.index_mask) as usize).filter(|place| place.code == code)?;
        place.object.take()
    }

    /// Puts back what was lent out.
    #[inline]
    pub fn restore(&self, code: u32, object: T) {
        if let Some(place) = self.content.borrow_mut().places.get_mut((code & self.index_mask) as usize) {
            place.object = Some(object);
        }
    }

    /// Gives up the place of what was lent out.
    #[inline]
    pub fn release(&self, code: u32) {
        let content = &mut *self.content.borrow_mut();
        let index = code & self.index_mask;
        if let Some(place) = content.places.get_mut(index as usize) {
            place.renew(self.kind, self.lane | index);
            if !self.is_placed {
                content.rest(index);
            }
        }
    }

    /// The object with that code.
    #[inline]
    pub fn get(&self, code: u32) -> Option<T>
    where
        T: Clone,
    {
        let content = self.content.borrow();
        let place = content.places.get((code & self.index_mask) as usize)?;
        if place.code == code { place.object.clone() } else { None }
    }

    /// Keeps an object from being found by its code.
    pub fn hide(&self, code: u32) {
        if let Some(place) = self.content.borrow_mut().places.get_mut((code & self.index_mask) as usize)
            && place.code == code
        {
            place.code = !code;
        }
    }

    /// The object with that code, if it is hidden.
    pub fn get_hidden(&self, code: u32) -> Option<T>
    where
        T: Clone,
    {
        let content = self.content.borrow();
        let place = content.places.get((code & self.index_mask) as usize)?;
        if place.code == !code { place.object.clone() } else { None }
    }

    /// The converse of [`Table::hide`].
    pub fn show(&self, code: u32) {
        if let Some(place) = self.content.borrow_mut().places.get_mut((code & self.index_mask) as usize)
            && place.code == !code
        {
            place.code = code;
        }
    }

    /// Whether there is an object with that code.
    #[inline]
    pub fn has(&self, code: u32) -> bool {
        let content = self.content.borrow();
        let place = content.places.get((code & self.index_mask) as usize);
        place.is_some_and(|place| place.code == code && place.object.is_some())
    }

    /// Looks at the object with that code. `look` must not use the table.
    pub fn with<R>(&self, code: u32, look: impl FnOnce(&T) -> R) -> Option<R> {
        let content = self.content.borrow();
        let place = content.places.get((code & self.index_mask) as usize).filter(|place| place.code == code)?;
        place.object.as_ref().map(look)
    }

    /// The codes of all objects.
    pub fn codes(&self) -> Vec<u32> {
        let content = self.content.borrow();
        content.places.iter().filter(|place| place.object.is_some()).map(|place| place.code).collect()
    }
}

/// An object in its place.
pub struct Occupied<'a, T> {
    table: &'a Table<T>,
    content: RefMut<'a, Content<T>>,
    index: u32,
}

impl<T> Occupied<'_, T> {
    /// The object.
    #[inline(always)]
    pub fn get(&self) -> &T {
        self.content.places[self.index as usize].object.as_ref().expect("has been looked at")
    }

    /// Takes it out.
    #[inline(always)]
    pub fn remove(mut self) -> T {
        let content = &mut *self.content;
        let place = &mut content.places[self.index as usize];
        place.renew(self.table.kind, self.table.lane | self.index);
        let object = place.object.take().expect("has been looked at");
        if !self.table.is_placed {
            content.rest(self.index);
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_freed_handle_is_known_as_such() {
        let table = Table::new(Kind::Group);
        let first = table.insert(1).unwrap();
        assert_eq!((table.get(first), table.remove(first)), (Some(1), Some(1)));
        assert_eq!((table.get(first), table.remove(first)), (None, None));
        for _ in 0..1000 {
            let code = table.insert(2).unwrap();
            assert_ne!(code, first);
            assert_eq!(table.get(first), None);
            table.remove(code);
        }
    }

    #[test]
    fn codes_are_ours_and_of_their_kind() {
        let (groups, operations) = (Table::new(Kind::Group), Table::new(Kind::Operation));
        let (group, operation) = (groups.insert('g').unwrap(), operations.insert('o').unwrap());
        assert!(group >> 31 == 1 && operation >> 31 == 1);
        assert_eq!(
            (groups.get(operation), operations.get(group), groups.get(0), groups.get(u32::MAX)),
            (None, None, None, None)
        );
        assert_eq!(groups.codes(), [group]);
        assert_eq!((groups.replace(group, 'h'), groups.get(group)), (Some('g'), Some('h')));
    }

    #[test]
    fn what_is_lent_out_is_nobody_elses() {
        let table = Table::new(Kind::Request);
        let code = table.insert('r').unwrap();
        assert_eq!(table.take(code), Some('r'));
        assert_eq!((table.take(code), table.get(code), table.remove(code)), (None, None, None));
        table.restore(code, 's');
        assert_eq!((table.get(code), table.take(code)), (Some('s'), Some('s')));
        table.release(code);
        assert_eq!((table.take(code), table.codes().len()), (None, 0));
    }

    #[test]
    fn what_was_looked_at_can_be_taken_out() {
        let table = Table::new(Kind::Request);
        let code = table.insert(7).unwrap();
        assert_eq!(table.occupied(code).map(|object| *object.get()), Some(7));
        assert_eq!(table.occupied(code).map(Occupied::remove), Some(7));
        assert_eq!((table.occupied(code).is_none(), table.get(code)), (true, None));
        let lent = table.insert(9).unwrap();
        table.take(lent);
        assert!(table.occupied(lent).is_none());
    }

    #[test]
    fn objects_with_numbers_stand_there() {
        let table = Table::placed(Kind::SimpleRequest);
        let codes = [5, 2].map(|index| table.insert_at(index, || index).unwrap());
        assert_eq!(codes.map(|code| table.get(code)), [Some(5), Some(2)]);
        assert_eq!(table.occupied(codes[0]).map(Occupied::remove), Some(5));
        let mut seen = HashSet::from(codes);
        for round in 0..GENERATION_MAX - 1 {
            let code = table.insert_at(5, || round).unwrap();
            assert!(is_of(Kind::SimpleRequest, code) && seen.insert(code), "a code came back too soon");
            assert_eq!((table.get(code), table.get(codes[0])), (Some(round), None));
            table.remove(code);
        }
        assert!(!is_of(Kind::Request, codes[1]) && !is_of(Kind::SimpleRequest, 0));
    }

    #[test]
    fn codes_name_their_lane() {
        let tables: Vec<_> = (0..3).map(|lane| Table::placed(Kind::SimpleRequest).in_lane(lane, 3)).collect();
        for (lane, table) in tables.iter().enumerate() {
            for round in 0..300 {
                let code = table.insert_at(LANE_INDEX_MASK - 1, || round).unwrap();
                assert_eq!((lane_of(code, 3), lane_of(code, lane.max(1))), (lane, if lane == 0 { lane } else { 0 }));
                let found: Vec<_> = tables.iter().map(|table| table.get(code)).collect();
                assert!(found.iter().enumerate().all(|(other, found)| found.is_some() == (other == lane)));
                assert_eq!(table.occupied(code).map(Occupied::remove), Some(round));
            }
        }
        let everybodys = Table::new(Kind::Group);
        assert_eq!(lane_of(everybodys.insert(()).unwrap(), 8), 0);
        assert_eq!(lane_of(0x4400_0000, 8), 0);
    }

    #[test]
    fn objects_come_and_go_in_any_order() {
        let table = Table::new(Kind::CompletedReceive);
        let (mut living, mut gone) = (Vec::new(), HashSet::new());
        let mut random = 1_u32;
        for object in 0..4000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let comes = match object / 1000 {
                0 => random >> 30 != 0,
                1 => random >> 30 == 0,
                2 => random >> 31 == 0,
                _ => false,
            };
            if comes {
                let code = table.insert(object).unwrap();
                assert!(!gone.contains(&code), "a code came back too soon");
                living.push((code, object));
            } else if !living.is_empty() {
                let (code, object) = living.swap_remove(random as usize / 2 % living.len());
                assert_eq!(if random.is_multiple_of(3) { table.take(code) } else { table.remove(code) }, Some(object));
                if random.is_multiple_of(3) {
                    table.release(code);
                }
                gone.insert(code);
            }
            assert!(living.iter().all(|&(code, object)| table.get(code) == Some(object)));
            assert!(gone.iter().all(|&code| table.get(code).is_none()));
        }
        assert!(living.is_empty() && gone.len() > 1000, "{} came and went", gone.len());
    }

    #[test]
    fn places_are_used_again() {
        let table = Table::new(Kind::Request);
        let mut seen = HashSet::new();
        for _ in 0..RESTING * GENERATION_MAX as usize {
            let code = table.insert(()).unwrap();
            assert!(seen.insert(code), "a code came back too soon");
            table.remove(code);
        }
        assert!(table.content.borrow().places.len() <= RESTING + 2);
    }

    #[test]
    fn a_full_table_says_so_until_something_is_freed() {
        let table = Table::new(Kind::Group).in_lane(1, 2);
        let codes: Vec<u32> = (0..LANE_INDEX_MASK).map(|object| table.insert(object).unwrap()).collect();
        let refused = table.insert(0).unwrap_err();
        assert_eq!(refused.class(), ErrorClass::NoMemory);
        assert!(refused.to_string().contains("524287 groups"), "{refused}");
        assert_eq!((table.remove(codes[7]), table.get(codes[8])), (Some(7), Some(8)));
        let again = table.insert(9).unwrap();
        assert_eq!((table.get(again), table.get(codes[7]), table.insert(0).is_err()), (Some(9), None, true));
        let placed = Table::placed(Kind::SimpleRequest);
        assert!(placed.insert_at(INDEX_MASK, || unreachable!("there is no such place")).is_err());
        assert!(placed.insert_at(INDEX_MASK - 1, || ()).is_ok());
    }
}

//! Memory that comes and goes (MPI-5.0 section 12.2.4).
//!
//! Each rank has a list in its shared heap of what is attached there, with a version. Whoever accesses its memory looks
//! at the version, and reads the list again if that has changed: odd while it is being changed. A list that has become
//! too short is replaced by a longer one, and kept until the window is freed: others may be reading it.
#![allow(unsafe_code)]

use std::cell::RefMut;
use std::rc::Rc;

use rwmpi_transport::{Presence, ReadSpan, RemoteAddress};

use super::create::OUT_OF_REACH_OF_OTHERS;
use super::target::Memory;
use super::{Flavour, Window};
use crate::Buffer;
use crate::engine::{Failure, JobEngine};
use crate::error::ErrorClass;
use crate::untyped::window_memory;
use crate::{Error, Result};

/// Words about the list: its version, how many regions are in it, and where it lies.
const VERSION: usize = 0;
const COUNT: usize = 1;
const LIST: [usize; 3] = [2, 3, 4];
/// Words of a region: its address at its rank, its length, and the space and place by which others reach it.
const REGION: usize = 4;
/// Regions of the first list.
const FIRST: usize = 64;

/// A region of memory at some rank.
type Region = [u64; REGION];

/// The regions of a rank: where each begins there, and the memory.
type Regions = Vec<(u64, Rc<Memory>)>;

/// What is attached, here and, as far as this rank has looked, elsewhere.
pub(super) struct Attached {
    own: Vec<Region>,
    list: Option<Buffer<u64>>,
    /// Lists that have become too short.
    outgrown: Vec<Buffer<u64>>,
    /// By rank: the version that was seen, and its regions.
    seen: Vec<(u64, Regions)>,
}

impl Attached {
    pub(super) fn new(ranks: usize) -> Self {
        Attached { own: Vec::new(), list: None, outgrown: Vec::new(), seen: vec![(0, Vec::new()); ranks] }
    }
}

impl Window {
    /// Lets the others use memory of this rank's (MPI_Win_attach).
    ///
    /// # Errors
    /// The window has other memory; this is attached already, in part at least; others can't reach it; there is no
    /// memory for the list.
    ///
    /// # Safety
    /// As of [`Elements::new`](crate::untyped::Elements::new), for all of the memory, until it is detached or the
    /// window is freed.
    pub unsafe fn attach(&self, base: *mut u8, size: u64) -> Result<()> {
        self.check_dynamic("MPI_Win_attach")?;
        // SAFETY: the caller's.
        let span = unsafe { window_memory(base, size) };
        let start = base.addr() as u64;
        let mut attached = self.shared.attached.borrow_mut();
        let overlaps = |region: &&Region| start < region[0] + region[1] && region[0] < start.saturating_add(size);
        if let Some([other, len, ..]) = attached.own.iter().find(overlaps) {
            let what =
                format!("{size} bytes at {start:#x} overlap {len} bytes at {other:#x}, which are attached already");
            return Err(self.error(ErrorClass::RmaAttach, what));
        }
        let RemoteAddress { space, place, .. } = {
            let mut engine = self.process().engine();
            if !engine.is_reachable(self.group().peers(), span.as_read()) {
                let what = format!("the memory at {start:#x} {OUT_OF_REACH_OF_OTHERS}");
                return Err(self.error(ErrorClass::RmaAttach, what));
            }
            engine.address_of(span.as_read())
        };
        attached.own.push([start, size, space, place]);
        if !self.publish(&mut attached) {
            attached.own.pop();
            return Err(
                self.error(ErrorClass::NoMemory, "there is no memory for the list of what is attached".to_owned())
            );
        }
        Ok(())
    }

    /// The converse, of memory that begins there (MPI_Win_detach).
    ///
    /// # Errors
    /// No memory that begins there is attached.
    pub fn detach(&self, base: *const u8) -> Result<()> {
        self.check_dynamic("MPI_Win_detach")?;
        let mut attached = self.shared.attached.borrow_mut();
        let Some(place) = attached.own.iter().position(|region| region[0] == base.addr() as u64) else {
            let what = format!("no memory that begins at {base:p} is attached");
            return Err(self.error(ErrorClass::RmaAttach, what));
        };
        attached.own.remove(place);
        self.publish(&mut attached);
        Ok(())
    }

    fn check_dynamic(&self, name: &str) -> Result<()> {
        if self.flavour() == Flavour::Dynamic {
            return Ok(());
        }
        let what = format!("{name} is for windows of MPI_Win_create_dynamic");
        Err(self.error(ErrorClass::RmaFlavour, what))
    }

    /// Writes the list anew; false if there is no memory for it.
    fn publish(&self, attached: &mut RefMut<'_, Attached>) -> bool {
        let process = self.process();
        let needed = attached.own.len() * REGION;
        if attached.list.as_ref().is_none_or(|list| list.len() < needed) {
            let heap = process.engine().heap().clone();
            let len = needed.next_power_of_two().max(FIRST * REGION);
            let Some(list) = Buffer::<u64>::shared_zeros(&heap, len) else { return false };
            let old = attached.list.replace(list);
            attached.outgrown.extend(old);
        }
        let control = self.own();
        let mut engine = process.engine();
        let Some(list) = &attached.list else { return false };
        let RemoteAddress { space, place, len } =
            engine.address_of(ReadSpan::from(bytemuck::cast_slice::<u64, u8>(list)));
        let me = self.shared.targets[self.rank()].peer;
        let Some(part) = engine.shared_part(me, &RemoteAddress { space, place, len }) else { return false };
        let version = engine.word(control.attached(VERSION));
        engine.set_words([(control.attached(VERSION), version + 1)], &[]);
        rwmpi_transport::full_fence();
        let regions: Vec<u64> = attached.own.iter().flatten().copied().collect();
        if let Some(part) = part.part(0, size_of_val(&regions[..])) {
            engine.write_shared(part, ReadSpan::from(bytemuck::cast_slice::<u64, u8>(&regions)), false);
        }
        let count = attached.own.len() as u64;
        let words = [(COUNT, count), (LIST[0], space), (LIST[1], place), (LIST[2], len), (VERSION, version + 2)];
        engine.set_words(words.map(|(number, value)| (control.attached(number), value)), &[]);
        true
    }

    /// The memory at a rank to which the bytes from `reach` on, of the address `displacement`, belong; how far into it
    /// that address is.
    pub(super) fn attached_place(
        &self,
        rank: usize,
        displacement: i64,
        reach: Option<(i64, i64)>,
    ) -> Result<(Rc<Memory>, i64)> {
        let unattached = |what: &str| Err(self.unattached(rank, displacement, what));
        let Some((low, end)) = reach else { return unattached("more bytes than memory has") };
        let at_rank = &self.shared.targets[rank].memory;
        if let Some(memory) = at_rank.as_ref().filter(|_| low == end) {
            return Ok((memory.clone(), 0));
        }
        let (first, len) = (displacement.wrapping_add(low) as u64, (end - low) as u64);
        let mut attached = self.shared.attached.borrow_mut();
        self.look_at(&mut attached, rank)?;
        let holds = |(start, memory): &&(u64, Rc<Memory>)| {
            first >= *start && first - start <= memory.size() && len <= memory.size() - (first - start)
        };
        match attached.seen[rank].1.iter().find(holds) {
            Some((start, memory)) => Ok((memory.clone(), displacement.wrapping_sub(start.cast_signed()))),
            None => unattached(&format!("{len} bytes")),
        }
    }

    /// As [`Window::attached_place`], of a rank on another node.
    pub(super) fn check_attached_elsewhere(
        &self,
        rank: usize,
        displacement: i64,
        reach: Option<(i64, i64)>,
    ) -> Result<()> {
        let Some((low, end)) = reach else {
            return Err(self.unattached(rank, displacement, "more bytes than memory has"));
        };
        let (first, len) = (displacement.wrapping_add(low) as u64, (end - low) as u64);
        match len == 0 || self.is_attached_elsewhere(rank, first, len)? {
            true => Ok(()),
            false => Err(self.unattached(rank, displacement, &format!("{len} bytes"))),
        }
    }

    #[cold]
    fn unattached(&self, rank: usize, displacement: i64, what: &str) -> Error {
        let what = format!(
            "{what} at address {displacement:#x} of target {rank} are not within memory that is attached there"
        );
        self.error(ErrorClass::RmaRange, what)
    }

    /// What is attached here: where each region begins, and how many bytes it has.
    pub(super) fn own_regions(&self) -> Vec<[u64; 2]> {
        joined(self.shared.attached.borrow().own.clone()).into_iter().map(|[start, len, ..]| [start, len]).collect()
    }

    /// Reads the list of a rank, if it has changed.
    fn look_at(&self, attached: &mut RefMut<'_, Attached>, rank: usize) -> Result<()> {
        let Some(control) = &self.shared.controls[rank] else {
            return Err(Error::new(ErrorClass::Internal, NO_MEMORY_IN_COMMON));
        };
        let peer = self.shared.targets[rank].peer;
        let seen = attached.seen[rank].0;
        let (version, regions) = {
            let mut engine = self.process().engine();
            if engine.word(control.attached(VERSION)) == seen {
                return Ok(());
            }
            loop {
                match read_list(&mut engine, peer, |number| control.attached(number)) {
                    Seen::List(version, regions) => break (version, regions),
                    // If it has died in the middle of that, it is being changed for good.
                    Seen::Changing if engine.presence(peer) == Presence::Died => {
                        drop(engine);
                        return Err(self.failed(Failure::Died { peer }));
                    }
                    Seen::Changing => engine.give_way(),
                    Seen::Nothing => return Err(self.error(ErrorClass::NoMemory, NO_LIST.to_owned())),
                }
            }
        };
        let regions = joined(regions);
        let memory = |&[start, len, space, place]: &Region| {
            let memory = Memory::new(self.process(), peer, RemoteAddress { space, place, len })?;
            Some((start, Rc::new(memory)))
        };
        let regions: Option<Vec<_>> = regions.iter().map(memory).collect();
        let no_way = || Error::new(ErrorClass::Internal, NO_MEMORY_IN_COMMON);
        attached.seen[rank] = (version, regions.ok_or_else(no_way)?);
        Ok(())
    }
}

/// The same memory, in which regions that lie side by side are one: an access may go from one to the next.
fn joined(mut regions: Vec<Region>) -> Vec<Region> {
    regions.sort_unstable();
    let mut joined: Vec<Region> = Vec::with_capacity(regions.len());
    for region in regions {
        let len = region[1];
        match joined.last_mut() {
            Some(last) if follows(last, &region) => last[1] += len,
            _ => joined.push(region),
        }
    }
    joined
}

/// Whether a region begins where another ends, at its rank and for those who reach it.
fn follows(last: &Region, [start, len, space, place]: &Region) -> bool {
    let ends = |number: usize| last[number].checked_add(last[1]);
    last[1].checked_add(*len).is_some() && ends(0) == Some(*start) && last[2] == *space && ends(3) == Some(*place)
}

/// What can't be said of a rank whose words this one reads.
const NO_MEMORY_IN_COMMON: &str = "a window has a rank of this node with which no memory is shared";

/// Why a list can't be read.
const NO_LIST: &str = "this process has no room to map the list of what another rank has attached";

/// What a look at a rank's list has come to.
enum Seen {
    /// The list as it is at one time, with its version.
    List(u64, Vec<Region>),
    /// It is being changed.
    Changing,
    /// It can't be seen from here.
    Nothing,
}

fn read_list(engine: &mut JobEngine, peer: u32, word: impl Fn(usize) -> rwmpi_transport::SharedWord) -> Seen {
    let version = engine.word(word(VERSION));
    if !version.is_multiple_of(2) {
        return Seen::Changing;
    }
    let count = usize::try_from(engine.word(word(COUNT))).unwrap_or(usize::MAX);
    let [space, place, len] = LIST.map(|number| engine.word(word(number)));
    let list = engine.shared_part(peer, &RemoteAddress { space, place, len }).filter(|_| count > 0);
    let mut regions = vec![[0; REGION]; count.min(list.map_or(0, |list| list.len() / size_of::<Region>()))];
    if let Some(list) = list.and_then(|list| list.part(0, size_of_val(&regions[..]))) {
        engine.shared_span(list).copy_to(bytemuck::cast_slice_mut::<Region, u8>(&mut regions).into());
    }
    rwmpi_transport::full_fence();
    match engine.word(word(VERSION)) == version {
        true if regions.len() == count => Seen::List(version, regions),
        true => Seen::Nothing,
        false => Seen::Changing,
    }
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn regions_side_by_side_are_one() {
        let regions =
            vec![[300, 50, 1, 1300], [100, 50, 1, 1100], [150, 50, 1, 1150], [200, 50, 1, 1210], [250, 50, 2, 1260]];
        let expected = vec![[100, 100, 1, 1100], [200, 50, 1, 1210], [250, 50, 2, 1260], [300, 50, 1, 1300]];
        assert_eq!(joined(regions), expected);
        assert!(joined(Vec::new()).is_empty());
    }
}

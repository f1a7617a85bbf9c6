//! Memory that comes and goes (MPI-5.0 section 12.2.4).
//!
//! Each rank has a list in its shared heap of what is attached there, with a version. Whoever accesses its memory looks at the version, and reads the list
//! again if that has changed: odd while it is being changed. A list that has become too short is replaced by a longer one, and kept until the
//! window is freed: others may be reading it.
#![allow(unsafe_code)]

use std::cell::RefMut;
use std::rc::Rc;

use rwmpi_transport::{ReadSpan, RemoteAddress, WriteSpan};

use super::target::Memory;
use super::{Flavour, Window};
use crate::error::ErrorClass;
use crate::job_engine::JobEngine;
use crate::shared_buffer::Buffer;
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
    /// The window has other memory; this is attached already, in part at least; there is no memory for the list.
    ///
    /// # Safety
    /// As of [`Elements::new`](crate::untyped::Elements::new), for all of the memory, until it is detached or the window is freed.
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
        let RemoteAddress { space, place, .. } = self.process().engine().address_of(span.as_read());
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
        let control = &self.shared.controls[self.rank()];
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

    /// The memory at a rank to which the bytes from `reach` on, of the address `displacement`, belong; how far into it that address is.
    pub(super) fn attached_place(
        &self,
        rank: usize,
        displacement: i64,
        reach: Option<(i64, i64)>,
    ) -> Result<(Rc<Memory>, i64)> {
        let unattached = |what: &str| {
            let what = format!(
                "{what} at address {displacement:#x} of target {rank} are not within memory that is attached there"
            );
            Err(self.error(ErrorClass::RmaRange, what))
        };
        let Some((low, end)) = reach else { return unattached("more bytes than memory has") };
        if low == end {
            return Ok((self.shared.targets[rank].memory.clone(), 0));
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

    /// Reads the list of a rank, if it has changed.
    fn look_at(&self, attached: &mut RefMut<'_, Attached>, rank: usize) -> Result<()> {
        let (control, peer) = (&self.shared.controls[rank], self.shared.targets[rank].peer);
        let seen = attached.seen[rank].0;
        let (version, regions) = {
            let mut engine = self.process().engine();
            if engine.word(control.attached(VERSION)) == seen {
                return Ok(());
            }
            loop {
                if let Some(read) = read_list(&mut engine, peer, |number| control.attached(number)) {
                    break read;
                }
                std::hint::spin_loop();
            }
        };
        let memory = |&[start, len, space, place]: &Region| {
            let memory = Memory::new(self.process(), peer, RemoteAddress { space, place, len })?;
            Some((start, Rc::new(memory)))
        };
        let regions: Option<Vec<_>> = regions.iter().map(memory).collect();
        let no_way = || Error::new(ErrorClass::Internal, "a window has a rank with which no memory is shared");
        attached.seen[rank] = (version, regions.ok_or_else(no_way)?);
        Ok(())
    }
}

/// A rank's list as it is at one time; `None`: it is being changed.
fn read_list(
    engine: &mut JobEngine,
    peer: u32,
    word: impl Fn(usize) -> rwmpi_transport::SharedWord,
) -> Option<(u64, Vec<Region>)> {
    let version = engine.word(word(VERSION));
    if !version.is_multiple_of(2) {
        return None;
    }
    let count = usize::try_from(engine.word(word(COUNT))).ok()?;
    let [space, place, len] = LIST.map(|number| engine.word(word(number)));
    let mut regions = vec![[0; REGION]; count.min(len as usize / size_of::<Region>())];
    if !regions.is_empty() {
        let part = engine.shared_part(peer, &RemoteAddress { space, place, len })?;
        let part = part.part(0, size_of_val(&regions[..]))?;
        let bytes = WriteSpan::from(bytemuck::cast_slice_mut::<Region, u8>(&mut regions));
        engine.shared_span(part).copy_to(bytes);
    }
    rwmpi_transport::full_fence();
    (engine.word(word(VERSION)) == version && regions.len() == count).then_some((version, regions))
}

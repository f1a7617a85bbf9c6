//! What an origin asks of a target on another node: operations, locks, and that an epoch has begun or ended there.
//!
//! What is wrong with an operation it finds out itself, before it asks.

use std::rc::Rc;

use rwmpi_protocol::window::LockKind;
use rwmpi_transport::{ReadSpan, WriteSpan};

use super::request::{Outcome, Request};
use super::{Answer, Regions, There};
use crate::Result;
use crate::activity::Call;
use crate::error::ErrorClass;
use crate::reduction::Predefined;
use crate::select;
use crate::untyped::Elements;
use crate::window::{Flavour, Window};

/// Regions that the first answer about what is attached has room for.
const REGIONS: usize = 64;

/// Writes the elements behind a request.
fn packed(elements: &Elements) -> impl FnOnce(&mut [u8]) + '_ {
    |into| elements.pack_span(into.into())
}

impl Window {
    /// Copies elements to there. They may be used otherwise when this returns.
    pub(in crate::window) fn put_elsewhere(&self, rank: usize, origin: &Elements, there: There) -> Result<()> {
        match origin.bytes() {
            0 => Ok(()),
            bytes => self.tell_elsewhere(rank, &Request::Put(there.shortened()), bytes, packed(origin)),
        }
    }

    /// The same; if they are long, they leave from where they lie, until everything asked of the target is done.
    pub(in crate::window) fn put_elsewhere_in_place(&self, rank: usize, origin: &Elements, there: There) -> Result<()> {
        let there = there.shortened();
        let is_apart = self.shared.flavour != Flavour::Dynamic
            && there.datatype.run(there.count).is_some()
            && select::window::goes_apart(self.process().tuning(), origin.bytes());
        match origin.read_span() {
            Some(span) if is_apart => self.put_apart(rank, span, there),
            _ => self.put_elsewhere(rank, origin, there),
        }
    }

    /// Copies elements from there, which have come when this returns.
    pub(in crate::window) fn get_elsewhere(&self, rank: usize, result: &Elements, there: There) -> Result<()> {
        let bytes = result.bytes();
        if bytes == 0 {
            return Ok(());
        }
        let answer = self.ask_elsewhere(rank, &Request::Get(there.shortened()), 0, |_| {}, bytes)?;
        self.take_answer(answer, bytes, |packed| result.unpack_span(packed))
    }

    /// Combines elements with those there.
    pub(in crate::window) fn accumulate_elsewhere(
        &self,
        rank: usize,
        origin: &Elements,
        there: There,
        operation: Predefined,
    ) -> Result<()> {
        match origin.bytes() {
            0 => Ok(()),
            bytes => {
                let request = Request::Accumulate(there.shortened(), operation);
                self.tell_elsewhere(rank, &request, bytes, packed(origin))
            }
        }
    }

    /// The same, and fetches what was there before; where the operation has no operand, there is no origin.
    pub(in crate::window) fn fetch_elsewhere(
        &self,
        rank: usize,
        origin: Option<&Elements>,
        result: &Elements,
        there: There,
        operation: Predefined,
    ) -> Result<()> {
        let bytes = result.bytes();
        if bytes == 0 {
            return Ok(());
        }
        let fill = |into: &mut [u8]| origin.into_iter().for_each(|origin| origin.pack_span(into.into()));
        let request = Request::Fetch(there.shortened(), operation);
        let answer = self.ask_elsewhere(rank, &request, origin.map_or(0, Elements::bytes), fill, bytes)?;
        self.take_answer(answer, bytes, |packed| result.unpack_span(packed))
    }

    /// Compares and swaps an element there.
    pub(in crate::window) fn swap_elsewhere(
        &self,
        rank: usize,
        [value, compared]: [ReadSpan<'_>; 2],
        fetched: WriteSpan<'_>,
        there: There,
    ) -> Result<()> {
        let bytes = fetched.len();
        let fill = |into: &mut [u8]| {
            let (first, second) = into.split_at_mut(bytes);
            value.copy_to(first.into());
            compared.copy_to(second.into());
        };
        let answer = self.ask_elsewhere(rank, &Request::Swap(there), 2 * bytes, fill, bytes)?;
        self.take_answer(answer, bytes, |found| found.copy_to(fetched))
    }

    /// Waits for the elements of an answer.
    fn take_answer(&self, answer: Answer, bytes: usize, take: impl FnOnce(ReadSpan<'_>)) -> Result<()> {
        let rank = answer.rank;
        let answer = self.answered(Call::UseWindow, answer)?;
        let elements = &answer[Outcome::BYTES..];
        if elements.len() != bytes {
            let what = format!("target {rank} has answered with {} bytes instead of {bytes}", elements.len());
            return Err(self.error(ErrorClass::Other, what));
        }
        take(elements.into());
        Ok(())
    }

    /// Waits in line for the lock of a target.
    pub(in crate::window) fn take_elsewhere(&self, rank: usize, kind: LockKind) -> Result<()> {
        let answer = self.ask_elsewhere(rank, &Request::Lock(kind), 0, |_| {}, 0)?;
        self.answered(Call::LockWindow, answer).map(drop)
    }

    /// Gives the locks of some targets back, when everything that has been asked of them has been done. Of those that
    /// are not elsewhere there is nothing to do.
    pub(in crate::window) fn give_back_elsewhere(&self, ranks: impl Iterator<Item = usize>) -> Result<()> {
        let unlock = |rank: usize| {
            self.elsewhere().attached.borrow_mut()[rank] = None;
            self.ask_elsewhere(rank, &Request::Unlock, 0, |_| {}, 0).map(Some)
        };
        let asked = ranks.filter(|&rank| self.is_elsewhere(rank)).map(unlock).collect();
        self.all_answered(Call::UseWindow, asked)
    }

    /// Tells a rank how often this one has posted for it.
    pub(in crate::window) fn posted_elsewhere(&self, rank: usize, count: u64) -> Result<()> {
        self.tell_elsewhere(rank, &Request::Posted(count), 0, |_| {})?;
        self.send_requests(rank)
    }

    /// Tells a rank how often this one has completed an access to it: behind all that it has asked for.
    pub(in crate::window) fn completed_elsewhere(&self, rank: usize, count: u64) -> Result<()> {
        self.elsewhere().attached.borrow_mut()[rank] = None;
        self.tell_elsewhere(rank, &Request::Completed(count), 0, |_| {})?;
        self.send_requests(rank)
    }

    /// Whether these bytes are attached at a rank: as far as has been heard, or else as it says now.
    pub(in crate::window) fn is_attached_elsewhere(&self, rank: usize, first: u64, len: u64) -> Result<bool> {
        let holds =
            |&[start, size]: &[u64; 2]| first >= start && first - start <= size && len <= size - (first - start);
        let known = self.elsewhere().attached.borrow()[rank].clone();
        if known.is_some_and(|regions| regions.iter().any(holds)) {
            return Ok(true);
        }
        let regions = self.ask_for_regions(rank)?;
        self.elsewhere().attached.borrow_mut()[rank] = Some(regions.clone());
        Ok(regions.iter().any(holds))
    }

    fn ask_for_regions(&self, rank: usize) -> Result<Regions> {
        let mut room = REGIONS;
        loop {
            let bytes = size_of::<u64>() + room * size_of::<[u64; 2]>();
            let answer = self.ask_elsewhere(rank, &Request::List(room as u64), 0, |_| {}, bytes)?;
            let answer = self.answered(Call::UseWindow, answer)?;
            let words: Vec<u64> =
                answer[Outcome::BYTES..].chunks_exact(size_of::<u64>()).map(bytemuck::pod_read_unaligned).collect();
            let (count, regions) = words.split_first().unwrap_or((&0, &[]));
            let regions: Rc<[[u64; 2]]> = regions.chunks_exact(2).map(|region| [region[0], region[1]]).collect();
            if regions.len() as u64 >= *count {
                return Ok(regions);
            }
            // Others may be attached before it is asked again.
            room = usize::try_from(*count).unwrap_or(usize::MAX / 64).min(usize::MAX / 64).saturating_mul(2);
        }
    }
}

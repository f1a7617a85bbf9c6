//! Parts of any length, which only those know who give and who get them. In a slot they lie behind a table that says
//! where each begins; who has no room for them there says where they lie, or that they come by messages. Each rank goes
//! its own way, and the others see which.

use std::iter;

use rwmpi_transport::{ReadSpan, Reading, RemoteError, WriteSpan};

use super::epoch::Epoch;
use super::layout::{LONG, NOTHING, PLACE};
use crate::Outcome;
use crate::direct_access::ExposedAddress;
use crate::engine::{Completion, Failure};
use crate::select::Collective;
use crate::tuning::SLOT_ROOM;

/// An entry of the table: where the part of a rank begins, and that of the rank before it ends, counted from the end of
/// the table.
type Border = u16;
const _: () = assert!(SLOT_ROOM <= 1 << Border::BITS);
/// So many entries before the first are 0: in a slot they cover the word by which its owner says that it is done with
/// the others' data.
const BEFORE: usize = size_of::<u64>() / size_of::<Border>();

/// A place has room for the addresses of parts for so many ranks.
pub(crate) const MOST_TAKERS: usize = PLACE / size_of::<ExposedAddress>();

/// How a part comes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comes {
    /// It was in a slot.
    FromSlot,
    /// It was read where it lies, so its owner waits until others have left.
    FromThere,
    /// By a message.
    ByMessage,
}

/// Where the parts for so many ranks begin.
fn end_of_table(ranks: usize) -> usize {
    (BEFORE + ranks + 1) * size_of::<Border>()
}

/// What a rank posts whose parts for so many ranks have so many bytes in all.
fn len_of(bytes: usize, ranks: usize) -> usize {
    bytes.saturating_add(end_of_table(ranks))
}

/// A rank's parts for so many ranks, of so many bytes in all.
pub(crate) fn parts(bytes: usize, ranks: usize) -> Collective {
    Collective::Uneven { len: len_of(bytes, ranks) }
}

impl Epoch<'_> {
    /// Puts what this rank has for all, by rank, in its slot, which has room for it.
    pub(crate) fn post_parts(&mut self, parts: &[ReadSpan<'_>]) -> Outcome {
        let mut table = [0; BEFORE + MOST_TAKERS + 1];
        let (table, mut end) = (&mut table[..BEFORE + parts.len() + 1], 0);
        for (border, part) in table[BEFORE + 1..].iter_mut().zip(parts) {
            end += part.len();
            *border = end as Border;
        }
        let (_, places) = self.slots_of(self.team.rank).data(self.number(), len_of(end, parts.len()));
        self.wait_for_turn(places)?;
        let done = self.slots_of(self.team.rank).slot(self.number()).done();
        self.team.process.engine().set_words([(done, 0)], &[]);
        let table = ReadSpan::from(bytemuck::cast_slice(table));
        self.post(iter::once(table).chain(parts.iter().copied()))
    }

    /// Waits until `rank` has posted or announced its parts, and takes this rank's, unless it comes later. The
    /// collective goes through `working_set` bytes of memory in all ranks together.
    pub(crate) fn read_part(&self, rank: usize, into: WriteSpan<'_>, working_set: usize) -> Result<Comes, Failure> {
        let me = self.team.rank;
        match self.said(rank, None)? {
            NOTHING => self.team.note(Failure::Nothing { source: self.team.peers[rank] }),
            LONG => return self.take_announced(rank, into, working_set),
            len => {
                let (place, _) = self.slots_of(rank).data(self.number(), len as usize);
                let [start, end]: [Border; 2] = self.value(rank, place + (BEFORE + me) * size_of::<Border>())?;
                let peer = self.team.peers[rank];
                let bytes = end.checked_sub(start).ok_or(Failure::Remote { peer, error: RemoteError::Refused })?;
                let parts = place + end_of_table(self.team.size());
                let taken = self.fitting(rank, u64::from(bytes), into)?;
                let part = self.slots_of(rank).part(parts + start as usize, taken.len())?;
                self.given(part).copy_to(taken);
            }
        }
        Ok(Comes::FromSlot)
    }

    fn take_announced(&self, rank: usize, into: WriteSpan<'_>, working_set: usize) -> Result<Comes, Failure> {
        let (me, peer) = (self.team.rank, self.team.peers[rank]);
        if self.announced(rank)?.in_trouble != 0 {
            self.team.note(Failure::Nothing { source: peer });
        }
        let addresses = self.slots_of(rank).addresses(self.number());
        let address: ExposedAddress = self.value(rank, addresses + me * size_of::<ExposedAddress>())?;
        if !address.is_readable() {
            return Ok(Comes::ByMessage);
        }
        let taken = self.fitting(rank, address.address().len, into)?;
        if !taken.is_empty() {
            let reading = Reading { working_set: working_set as u64, with_others: self.team.size() > 2 };
            self.team.process.engine().read_published(peer, &address.address(), 0, taken, reading)?;
        }
        Ok(Comes::FromThere)
    }

    /// As much of `into` as `bytes` bytes of `rank` take up, if it may be so many.
    fn fitting<'w>(&self, rank: usize, bytes: u64, into: WriteSpan<'w>) -> Result<WriteSpan<'w>, Failure> {
        let (source, tag, capacity, mark) = (self.team.peers[rank], self.team.tag, into.len() as u64, self.team.mark);
        let outcome = match bytes <= capacity {
            true => Ok(Completion { source, tag, bytes, mark }),
            false => Err(Failure::Truncated { source, tag, bytes, capacity }),
        };
        self.team.check(outcome, capacity)?;
        Ok(into.part(0, bytes.min(capacity) as usize))
    }
}

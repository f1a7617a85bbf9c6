//! The memory that this peer has handed out: the only memory that a frame from the network is ever written to.
//!
//! An entry names one span for one peer, from [`hand_out`](crate::RemoteMemory::hand_out) until it is withdrawn. Its
//! name has a generation: a name that was withdrawn never means anything again, though its place in the table is used
//! anew.
#![forbid(unsafe_code)]

use crate::{RemoteAddress, WriteSpan};

#[derive(Debug, Default)]
struct Entry {
    generation: u32,
    given: Option<Given>,
}

#[derive(Clone, Copy, Debug)]
struct Given {
    peer: usize,
    span: WriteSpan<'static>,
}

/// All that is handed out at present.
#[derive(Debug, Default)]
pub(crate) struct HandedOut {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

impl HandedOut {
    /// Whether this may be the name of something that was handed out, here or elsewhere.
    pub(crate) fn is_name(space: u64) -> bool {
        space >> 32 != 0
    }

    /// Lets `peer` write to `span`.
    pub(crate) fn add(&mut self, peer: usize, span: WriteSpan<'static>) -> RemoteAddress {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry::default());
            self.entries.len() as u32 - 1
        });
        let entry = &mut self.entries[index as usize];
        // Never 0, so that no name is.
        entry.generation = entry.generation.wrapping_add(1).max(1);
        entry.given = Some(Given { peer, span });
        let space = u64::from(entry.generation) << 32 | u64::from(index);
        RemoteAddress { space, place: span.start() as u64, len: span.len() as u64 }
    }

    /// Ends what `add` began. Of a name that is not, or no more, in use: nothing.
    pub(crate) fn remove(&mut self, peer: usize, space: u64) {
        if self.given(peer, space).is_some() {
            self.entries[space as u32 as usize].given = None;
            self.free.push(space as u32);
        }
    }

    fn given(&self, peer: usize, space: u64) -> Option<Given> {
        let entry = self.entries.get(space as u32 as usize)?;
        entry.given.filter(|given| given.peer == peer && entry.generation == (space >> 32) as u32)
    }

    /// The `len` bytes at `place`, if `peer` may write to all of them at present.
    pub(crate) fn find(&self, peer: usize, space: u64, place: u64, len: usize) -> Option<WriteSpan<'static>> {
        let span = self.given(peer, space)?.span;
        let offset = usize::try_from(place.checked_sub(span.start() as u64)?).ok()?;
        (offset <= span.len() && len <= span.len() - offset).then(|| span.part(offset, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span() -> WriteSpan<'static> {
        Box::leak(vec![0_u8; 100].into_boxed_slice()).into()
    }

    #[test]
    fn only_what_is_handed_out_can_be_found() {
        let mut table = HandedOut::default();
        let span = span();
        let RemoteAddress { space, place, len } = table.add(3, span);
        assert_eq!((place, len), (span.start() as u64, 100));
        for (offset, len, found) in
            [(0, 100, true), (100, 0, true), (99, 1, true), (0, 101, false), (100, 1, false), (101, 0, false)]
        {
            let part = table.find(3, space, place + offset, len);
            assert_eq!(part.is_some(), found, "{len} at {offset}");
            assert!(part.is_none_or(|part| part.start() as u64 == place + offset && part.len() == len));
        }
        for wrong in [place - 1, 0, u64::MAX] {
            assert!(table.find(3, space, wrong, 1).is_none());
        }
        assert!(table.find(2, space, place, 1).is_none(), "somebody else's");
        for wrong in [0, space + 1, space ^ 1 << 32, u64::MAX] {
            assert!(table.find(3, wrong, place, 1).is_none(), "no such name");
        }
    }

    #[test]
    fn a_withdrawn_name_stays_dead() {
        let mut table = HandedOut::default();
        let first = table.add(1, span());
        table.remove(2, first.space);
        assert!(table.find(1, first.space, first.place, 1).is_some(), "not that peer's to withdraw");
        table.remove(1, first.space);
        let second = table.add(1, span());
        assert_ne!(first.space, second.space);
        assert!(table.find(1, first.space, first.place, 1).is_none());
        table.remove(1, first.space);
        assert!(table.find(1, second.space, second.place, 1).is_some());
    }

    #[test]
    fn places_are_used_again_and_no_name_is_zero() {
        let mut table = HandedOut::default();
        let span = span();
        for _ in 0..100 {
            let address = table.add(1, span);
            assert!(HandedOut::is_name(address.space));
            table.remove(1, address.space);
        }
        assert_eq!(table.entries.len(), 1);
        table.entries[0].generation = u32::MAX;
        assert!(HandedOut::is_name(table.add(1, span).space), "the generations begin again");
    }
}

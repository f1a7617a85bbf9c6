//! Slots of advertised receives: each names one receive to the senders that hold its request, and has a claim word.
//!
//! The word of a slot is `generation << 1`, plus 1 once somebody has claimed the receive. Claimants use
//! compare-and-swap, so one wins; a request from an earlier use of the slot names an earlier generation and finds
//! nothing to claim.

use rwmpi_transport::RemoteAddress;

use super::OperationId;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    generation: u64,
    receive: Option<OperationId>,
    /// To whom its buffer was handed out last, and under which name.
    handed_out: Option<(u32, RemoteAddress)>,
}

/// The slots of one rank.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

/// The claim word of a receive that nobody has claimed.
pub(super) fn open(generation: u64) -> u64 {
    generation << 1
}

/// The claim word of a receive that somebody has claimed.
pub(super) fn claimed(generation: u64) -> u64 {
    generation << 1 | 1
}

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        Slots { slots: vec![Slot::default(); count], free: (0..count as u32).rev().collect() }
    }

    /// A slot for `receive`, and its new generation; `None` if all are in use.
    pub(super) fn take(&mut self, receive: OperationId) -> Option<(u32, u64)> {
        let index = self.free.pop()?;
        let slot = &mut self.slots[index as usize];
        slot.generation += 1;
        slot.receive = Some(receive);
        Some((index, slot.generation))
    }

    pub(super) fn generation(&self, index: u32) -> u64 {
        self.slots[index as usize].generation
    }

    /// The receive that a notice for that use of that slot means; `None` for nonsense.
    pub(super) fn receive(&self, index: u32, generation: u64) -> Option<OperationId> {
        self.slots.get(index as usize).filter(|slot| slot.generation == generation)?.receive
    }

    /// Ends the use of a slot. What its buffer was handed out as is to be withdrawn.
    pub(super) fn give_back(&mut self, index: u32) -> Option<(u32, RemoteAddress)> {
        let slot = &mut self.slots[index as usize];
        slot.receive = None;
        self.free.push(index);
        slot.handed_out.take()
    }

    /// Under which name the buffer is handed out to `source`, if it is.
    pub(super) fn handed_out_to(&self, index: u32, source: u32) -> Option<RemoteAddress> {
        let (owner, address) = self.slots[index as usize].handed_out?;
        (owner == source).then_some(address)
    }

    /// The buffer was handed out to `source`. Only the last one is kept: a receive is advertised to several where all
    /// have claim words in common, and there memory can't be withdrawn.
    pub(super) fn hand_out_to(&mut self, index: u32, source: u32, address: RemoteAddress) {
        self.slots[index as usize].handed_out = Some((source, address));
    }

    /// How many are taken.
    #[cfg(any(test, fuzzing))]
    pub(super) fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

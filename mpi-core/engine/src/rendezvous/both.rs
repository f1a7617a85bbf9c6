//! Transfers by both sides: a large message is cut into chunks, and sender and receiver, as far as they are here, each
//! take chunks from an end of their own until none is left. So both cores copy, neither waits for the other to come,
//! and one alone does it all. A sender that is much slower leaves the rest to the receiver, and a message of a few
//! pages it leaves to it from the beginning, for a while.
//!
//! The slot of the receive carries, on the line of its claim word, how many chunks each side has taken and how many are
//! done, tagged with the slot's generation so that a late look at a slot in new use takes nothing. All of that is one
//! word, as each side has to fetch its line from the other: to say that a chunk is done and to take the next is one
//! exchange. Whoever does the last one tells the other; before, the slot cannot be given back.

use rwmpi_transport::{
    Arrival, Enqueue, Fabric, Header, Queue, ReadSpan, Reading, RemoteAddress, WORDS_PER_LINE, WriteSpan,
};

use crate::arrivals::fault;
use crate::operation::{Left, ReceiveOperation, Stage, Transfer};
use crate::rendezvous::Answer;
use crate::{Engine, Failure, Operation, OperationId, wire};

/// How often a sender looks for other things before it no longer leaves a message to its receiver.
const LOOKS_FOR_RECEIVER: u32 = 64;

/// Bits of the word for each number of chunks: those that the sender has taken, those that the receiver has, and those
/// that are done. The generation is above them.
const COUNT_BITS: u32 = 12;

/// A sender whose receiver takes more chunks than this while it copies one leaves the rest to it: some processors write
/// what another core has read much more slowly than they read what it has written (docs/decisions/0027).
const WRITERS_LEAD: u64 = 2;

/// As many as can be counted: no message has so many chunks, and no more can be taken.
const ALL_TAKEN: u64 = (1 << COUNT_BITS) - 1;

/// The claim word of a slot.
pub(crate) fn claim_word(slot: u32) -> usize {
    slot as usize * WORDS_PER_LINE
}

/// The word for its chunks.
fn chunks_word(slot: u32) -> usize {
    claim_word(slot) + 1
}

/// Who copies. As each has an end of its own, in messages that follow each other between the same buffers a line is
/// written by the core that wrote it last, which has not to be taken from the other's caches (docs/decisions/0044).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// From the first on.
    Sender,
    /// From the last on.
    Receiver,
}

impl Side {
    /// Which of so many chunks a side takes that has taken so many.
    fn next(self, taken: u64, chunks: u64) -> u64 {
        match self {
            Side::Sender => taken,
            Side::Receiver => chunks - 1 - taken,
        }
    }
}

/// What that word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chunks(u64);

impl Chunks {
    fn none_taken(generation: u64) -> Chunks {
        Chunks(generation << (3 * COUNT_BITS))
    }

    fn are_of(self, generation: u64) -> bool {
        self.0 >> (3 * COUNT_BITS) == Chunks::none_taken(generation).0 >> (3 * COUNT_BITS)
    }

    fn taken_by(self, side: Side) -> u64 {
        self.0 >> (COUNT_BITS * side as u32) & ALL_TAKEN
    }

    fn taken(self) -> u64 {
        self.taken_by(Side::Sender) + self.taken_by(Side::Receiver)
    }

    fn done(self) -> u64 {
        self.0 >> (2 * COUNT_BITS) & ALL_TAKEN
    }

    /// After that side has done a chunk, if it `has_done` one, and has taken the next, if it `takes` one.
    fn after(self, side: Side, takes: bool, has_done: bool) -> Chunks {
        let taken = u64::from(takes) << (COUNT_BITS * side as u32);
        Chunks(self.0.wrapping_add(taken).wrapping_add(u64::from(has_done) << (2 * COUNT_BITS)))
    }

    fn all_taken(self) -> Chunks {
        Chunks(self.0 | ALL_TAKEN)
    }
}

/// Both sides cut alike: four chunks, as each costs both a passage of its line, or more if they were so long that the
/// slower side keeps the other waiting.
fn chunk_len(len: u64) -> u64 {
    (len / 4).clamp(1, 64 << 10).max(len / (ALL_TAKEN / 2)).next_multiple_of(4096)
}

/// How a side's part of a transfer ended.
struct Copied {
    /// It did the last chunk, so that the transfer is complete.
    complete: bool,
    /// The other side was so much faster that the rest, if there is one, is left to it.
    outpaced: bool,
}

impl<F: Fabric> Engine<F> {
    /// How many slots the transport's claim words allow.
    pub(crate) fn slots_with_claims(fabric: &F) -> usize {
        fabric.claim_words() / WORDS_PER_LINE
    }

    /// Makes an own slot ready for a transfer.
    pub(crate) fn prepare_transfer(&mut self, slot: u32, generation: u64) {
        self.fabric.set_claim(chunks_word(slot), Chunks::none_taken(generation).0);
    }

    /// Takes all chunks of an own slot that nobody has begun; true if those begun are done, so that nobody copies any
    /// more.
    pub(crate) fn close_transfer(&mut self, slot: u32) -> bool {
        let me = self.fabric.me();
        let mut seen = Chunks::none_taken(self.slots.generation(slot));
        while let Err(found) = self.fabric.swap_claim(me, chunks_word(slot), seen.0, seen.all_taken().0) {
            seen = Chunks(found);
        }
        seen.taken() == seen.done()
    }

    /// Copies chunks until none is left, or until the other side takes more than `lead` of them while this one copies
    /// one.
    fn copy_chunks(
        &mut self,
        transfer: &Transfer,
        side: Side,
        lead: u64,
        mut copy: impl FnMut(&mut F, u64, usize) -> Result<(), Failure>,
    ) -> Result<Copied, Failure> {
        let chunk_len = chunk_len(transfer.len);
        let chunks = transfer.len.div_ceil(chunk_len);
        let (mut limit, mut has_done) = (chunks, false);
        let mut seen = Chunks::none_taken(transfer.generation);
        while seen.are_of(transfer.generation) {
            let takes = seen.taken() < chunks.min(limit);
            if !takes && !has_done {
                break;
            }
            let next = seen.after(side, takes, has_done);
            if let Err(found) =
                self.fabric.swap_claim(transfer.owner as usize, chunks_word(transfer.slot), seen.0, next.0)
            {
                seen = Chunks(found);
                continue;
            }
            let (taken, taken_here) = (seen.taken(), seen.taken_by(side));
            seen = next;
            if !takes {
                break;
            }
            limit = taken.saturating_add(lead).saturating_add(2);
            let offset = side.next(taken_here, chunks) * chunk_len;
            copy(&mut self.fabric, offset, chunk_len.min(transfer.len - offset) as usize)?;
            has_done = true;
        }
        let complete = has_done && seen.done() == chunks;
        Ok(Copied { complete, outpaced: has_done && !complete && seen.taken() >= limit })
    }
}

/// The receive was first: its sender, which answers its request, asks it to help.
impl<F: Fabric> Engine<F> {
    /// Tells the receiver that it may help to write into its buffer; false if it can't.
    pub(crate) fn invite(
        &mut self,
        id: OperationId,
        peer: u32,
        transfer: &Transfer,
        data: ReadSpan<'static>,
    ) -> Result<bool, Failure> {
        let address = self.fabric.address_of(data);
        if self.fabric.way_from(peer as usize, &address).is_none() {
            return Ok(false);
        }
        let body = wire::Sharing { address: wire::address_words(&address), generation: transfer.generation };
        let header = [wire::WRITING | self.mark_of(id).word(), transfer.slot, self.tag_of(id), id];
        let invited = self.try_push(peer, Enqueue::Next, header, bytemuck::bytes_of(&body).into())?;
        if invited {
            self.expose(id);
        }
        Ok(invited)
    }

    /// Writes chunks of `data` into the receiver's buffer; true if that completes the transfer.
    pub(crate) fn write_chunks(
        &mut self,
        transfer: &Transfer,
        target: &RemoteAddress,
        data: ReadSpan<'static>,
    ) -> Result<bool, Failure> {
        let peer = transfer.owner;
        let copied = self.copy_chunks(transfer, Side::Sender, WRITERS_LEAD, |fabric, offset, len| {
            let part = data.part(offset as usize, len);
            let written = fabric.remote_write(peer as usize, target, offset, part, None);
            written.map(drop).map_err(|error| Failure::Remote { peer, error })
        })?;
        if copied.outpaced {
            self.policy.outpaced(peer, transfer.len);
        }
        Ok(copied.complete)
    }

    /// Tells the receiver that its buffer is complete, by the message of that send. `after`: if it is just leaving.
    pub(crate) fn notify_written(
        &mut self,
        transfer: &Transfer,
        id: OperationId,
        after: Option<OperationId>,
    ) -> Result<(), Failure> {
        let (header, body) = self.written_cell(transfer, id);
        self.push_cell(transfer.owner, header, bytemuck::bytes_of(&body), after)
    }

    /// The notice that a transfer is complete.
    pub(crate) fn written_cell(&self, transfer: &Transfer, id: OperationId) -> (Header, wire::Written) {
        let header = [wire::WRITTEN | self.mark_of(id).word(), transfer.slot, self.tag_of(id), 0];
        (header, wire::Written { len: transfer.len, generation: transfer.generation })
    }

    /// A sender is writing into a receive, and this rank can help.
    pub(crate) fn writing(
        &mut self,
        source: u32,
        tag: u32,
        slot: u32,
        answer: u32,
        arrival: &Arrival,
    ) -> Result<(), Failure> {
        let body: [u8; size_of::<wire::Sharing>()] = self.body(source, Queue::Messages, arrival)?;
        let wire::Sharing { address, generation } = bytemuck::cast(body);
        let address = wire::address(address);
        let Some(id) = self.slots.receive(slot, generation) else {
            return Err(fault(source, "a transfer to a receive that is not advertised"));
        };
        let Operation::Receive(receive) = &self.operations[id] else { return Ok(()) };
        let Some(buffer) = receive.buffer.span() else { return Ok(()) };
        if address.len > buffer.len() as u64 {
            return Err(fault(source, "a transfer longer than the receive"));
        }
        let transfer = Transfer { owner: self.me(), slot, generation, len: address.len };
        if self.read_chunks(&transfer, source, &address, buffer)? {
            self.completed_by_sender(source, tag, slot, id, address.len);
            self.answer(source, Answer::Matched(answer))?;
        }
        Ok(())
    }
}

/// The message was first: its receiver, which has met the announcement, asks its sender to help.
impl<F: Fabric> Engine<F> {
    /// Fetches an announced message, asking the sender for help.
    pub(crate) fn fetch_together(
        &mut self,
        id: OperationId,
        source: u32,
        tag: u32,
        from: &RemoteAddress,
        answer: u32,
        buffer: WriteSpan<'static>,
    ) -> Result<(), Failure> {
        let Some((slot, generation)) = self.slot_of(id) else {
            let part = buffer.part(0, from.len as usize);
            let read = self.fabric.remote_read(source as usize, from, 0, part, Reading::alone(2 * from.len));
            read.map_err(|error| Failure::Remote { peer: source, error })?;
            self.finish(id, ReceiveOperation::outcome(buffer.len(), source, tag, from.len));
            return self.answer(source, Answer::Matched(answer));
        };
        let address = self.fabric.address_of(buffer.as_read());
        if self.fabric.way_from(source as usize, &address).is_some() {
            let body = wire::Sharing { address: wire::address_words(&address), generation };
            let body = bytemuck::bytes_of(&body).into();
            let header = [wire::FETCHING, answer, slot, 0];
            // Without room for the invitation this side does it alone.
            let _ = self.push(source, Queue::Requests, Enqueue::Retry, header, body);
        }
        let transfer = Transfer { owner: self.me(), slot, generation, len: from.len };
        if self.read_chunks(&transfer, source, from, buffer)? {
            self.give_back_slot(slot);
            self.finish(id, ReceiveOperation::outcome(buffer.len(), source, tag, from.len));
            self.answer(source, Answer::Matched(answer))?;
        }
        Ok(())
    }

    /// Reads chunks out of the sender's memory into an own buffer; true if that completes the transfer.
    pub(crate) fn read_chunks(
        &mut self,
        transfer: &Transfer,
        source: u32,
        from: &RemoteAddress,
        buffer: WriteSpan<'static>,
    ) -> Result<bool, Failure> {
        // Both where it is and where it goes.
        let reading = Reading::alone(transfer.len.saturating_mul(2));
        let copied = self.copy_chunks(transfer, Side::Receiver, u64::MAX, |fabric, offset, len| {
            let part = buffer.part(offset as usize, len);
            let read = fabric.remote_read(source as usize, from, offset, part, reading);
            read.map(drop).map_err(|error| Failure::Remote { peer: source, error })
        })?;
        Ok(copied.complete)
    }

    /// A receiver is fetching a message, and this rank can help.
    pub(crate) fn fetching(
        &mut self,
        peer: u32,
        id: OperationId,
        slot: u32,
        sharing: wire::Sharing,
    ) -> Result<(), Failure> {
        let len = match self.operations.get_mut(id) {
            Some(Operation::Send(send)) if send.peer == peer => {
                if send.stage == Stage::Announced {
                    send.stage = Stage::Waiting;
                }
                send.data.len() as u64
            }
            _ => return Err(fault(peer, "a transfer of a message that was not sent")),
        };
        let target = wire::address(sharing.address);
        if target.len < len || !self.claims_with(peer) || slot as usize >= Self::slots_with_claims(&self.fabric) {
            return Err(fault(peer, "a transfer to a receive that does not fit"));
        }
        if self.policy.leaves(peer, len) {
            return Ok(());
        }
        self.help(peer, id, &Transfer { owner: peer, slot, generation: sharing.generation, len }, &target)
    }

    /// The receiver has met an announced message and asks its sender to help.
    pub(crate) fn help(
        &mut self,
        peer: u32,
        id: OperationId,
        transfer: &Transfer,
        target: &RemoteAddress,
    ) -> Result<(), Failure> {
        let Operation::Send(send) = &self.operations[id] else { return Ok(()) };
        let Some(data) = send.data.span() else { return Ok(()) };
        debug_assert_eq!(send.peer, peer);
        if data.len() as u64 == transfer.len && self.write_chunks(transfer, target, data)? {
            self.notify_written(transfer, id, None)?;
            self.matched(peer, id)?;
        }
        Ok(())
    }
}

/// A message that its sender leaves to the receiver.
impl<F: Fabric> Engine<F> {
    /// Whether this rank may go on by itself later, though nothing comes.
    pub fn acts_later(&self) -> bool {
        !self.left.is_empty()
    }

    /// Nothing happens: after some time this rank itself writes the first message that it has left to its receiver, if
    /// that has not begun to fetch it. Whether it has.
    #[cold]
    pub(crate) fn take_over(&mut self) -> Result<bool, Failure> {
        self.looks_for_receiver += 1;
        if self.looks_for_receiver < LOOKS_FOR_RECEIVER {
            return Ok(false);
        }
        self.looks_for_receiver = 0;
        let Some(id) = self.left.pop_front() else { return Ok(false) };
        let Operation::Send(send) = &mut self.operations[id] else { return Ok(false) };
        let Stage::Left(left) = std::mem::replace(&mut send.stage, Stage::Waiting) else { return Ok(false) };
        let Left { transfer, target } = *left;
        let is_needed = !self.has_begun(&transfer);
        if is_needed {
            self.help(transfer.owner, id, &transfer, &target)?;
        }
        Ok(is_needed)
    }

    /// Whether anybody has taken a chunk, and so is about to take all that others leave.
    pub(crate) fn has_begun(&mut self, transfer: &Transfer) -> bool {
        // No word ever has this value.
        const NEVER: u64 = u64::MAX;
        let found = self.fabric.swap_claim(transfer.owner as usize, chunks_word(transfer.slot), NEVER, NEVER);
        found != Err(Chunks::none_taken(transfer.generation).0)
    }

    /// The receiver has fetched a message that was left to it.
    pub(crate) fn is_fetched(&mut self, id: OperationId) {
        self.looks_for_receiver = 0;
        if self.left.front() == Some(&id) {
            self.left.pop_front();
        } else {
            self.left.retain(|&left| left != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_any_length_can_be_counted() {
        for len in (0..64).map(|bits| u64::MAX >> 2 >> bits).chain([24 << 10, 64 << 10, 1 << 20]) {
            let chunk_len = chunk_len(len);
            assert!(len.div_ceil(chunk_len) < ALL_TAKEN && chunk_len.is_multiple_of(4096), "{len}");
        }
        assert_eq!([24_u64 << 10, 64 << 10, 1 << 20].map(|len| len.div_ceil(chunk_len(len))), [3, 4, 16]);
    }

    #[test]
    fn what_is_taken_and_done_is_told_apart() {
        use Side::{Receiver, Sender};
        let begun =
            Chunks::none_taken(7).after(Receiver, true, false).after(Sender, true, false).after(Receiver, true, true);
        assert_eq!([begun.taken_by(Sender), begun.taken_by(Receiver), begun.taken(), begun.done()], [1, 2, 3, 1]);
        let closed = begun.all_taken();
        assert!(closed.taken() >= ALL_TAKEN && closed.done() == 1);
        let over = closed.after(Sender, false, true);
        assert_eq!((over.taken(), over.done(), over.are_of(7), over.are_of(8)), (closed.taken(), 2, true, false));
    }

    #[test]
    fn whoever_is_faster_each_chunk_is_taken_once() {
        const CHUNKS: u64 = 7;
        for by_receiver in 0..1 << CHUNKS {
            let mut word = Chunks::none_taken(7);
            let mut taken: Vec<u64> = (0..CHUNKS)
                .map(|turn| {
                    let side = if by_receiver >> turn & 1 == 1 { Side::Receiver } else { Side::Sender };
                    let next = side.next(word.taken_by(side), CHUNKS);
                    word = word.after(side, true, false);
                    next
                })
                .collect();
            taken.sort_unstable();
            assert!(taken.into_iter().eq(0..CHUNKS), "{by_receiver:b}");
        }
    }
}

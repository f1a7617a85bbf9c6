//! What a peer has to do with another one of its node.

use crate::layout::{CELLS, QUEUES};
use crate::remote_memory::Reach;
use crate::ring::batons::Batons;
use crate::ring::{Consumer, Producer};
use crate::{Arrival, PeerFault, Queue, WriteSpan};

/// The queues between two peers, and what else this one knows of the other.
pub(super) struct Link {
    pub(super) outgoing: [Option<Producer<CELLS>>; QUEUES],
    pub(super) incoming: [Option<Consumer<CELLS>>; QUEUES],
    /// What this peer holds of those that it has in common with the other.
    pub(super) batons: Batons,
    /// How this peer reaches the other's private memory.
    pub(super) reach: Reach,
    pub(super) pid: u32,
}

impl Link {
    /// The oldest cell of a queue from that peer; `None` if the queue was not seen to be open yet.
    #[inline(always)]
    pub(super) fn front(&self, from: usize, queue: Queue) -> Option<Result<Option<Arrival>, PeerFault>> {
        let consumer = self.incoming[queue as usize].as_ref()?;
        Some(match consumer.front() {
            Ok(None) => Ok(None),
            Ok(Some(front)) => Ok(Some(Arrival { header: front.header, len: front.len, place: front.place })),
            Err(what) => Err(PeerFault { peer: from, what }),
        })
    }

    /// As [`Queues::read`](crate::Queues::read).
    #[inline(always)]
    pub(super) fn read(&mut self, queue: Queue, arrival: &Arrival, offset: usize, into: WriteSpan) {
        let consumer = self.incoming[queue as usize].as_ref().expect("read without an arrival");
        consumer.read(arrival.len, arrival.place, offset, into);
    }

    /// As [`Queues::pop`](crate::Queues::pop).
    #[inline(always)]
    pub(super) fn pop(&mut self, queue: Queue) {
        let consumer = self.incoming[queue as usize].as_mut().expect("pop without an arrival");
        if let Some(baton) = consumer.pop() {
            self.batons.take(baton);
        }
    }
}

//! What TCP does, of the contract of a fabric.
#![forbid(unsafe_code)]

use super::TcpFabric;
use super::frame::{Kind, MAX_PAYLOAD};
use crate::{
    Arrival, Backoff, Enqueue, Fabric, Header, INLINE_PAYLOAD, Network, Notice, PeerFault, PushError, Queue, Queues,
    ReadSpan, Reading, RemoteAddress, RemoteError, RemoteMemory, SharedMemory, Signal, SignalSet, Waiting, Way,
    WriteSpan, Written,
};

impl Fabric for TcpFabric {
    #[inline]
    fn me(&self) -> usize {
        self.book.me
    }

    #[inline]
    fn peers(&self) -> usize {
        self.links.len()
    }

    fn carried(&self) -> [u64; 2] {
        self.links.iter().fold([0; 2], |[sent, taken], link| [sent + link.sent, taken + link.taken])
    }

    fn end_job(&mut self, code: i32, reason: &str) -> ! {
        self.abort();
        eprintln!("the job ends: {reason}");
        std::process::exit(code)
    }
}

impl Queues for TcpFabric {
    #[inline]
    fn max_payload(&self, _: usize) -> usize {
        MAX_PAYLOAD
    }

    fn try_push(
        &mut self,
        to: usize,
        queue: Queue,
        enqueue: Enqueue,
        header: Header,
        payload: ReadSpan,
    ) -> Result<(), PushError> {
        let most = if queue == Queue::Messages { MAX_PAYLOAD } else { INLINE_PAYLOAD };
        assert!(payload.len() <= most, "payload longer than the queue takes");
        if self.links[to].is_over() {
            return Err(PushError::PeerLost { peer: to });
        }
        if !self.links[to].windows[queue as usize].take(enqueue, payload.len()) {
            // One that has said goodbye will never make room.
            let never = self.links[to].is_closed_by_peer();
            return Err(if never { PushError::PeerLost { peer: to } } else { PushError::Full });
        }
        if to == self.book.me {
            self.push_to_self(queue, header, payload);
            return Ok(());
        }
        self.reach_out(to);
        self.links[to].post(Kind::Cell(queue), header, payload);
        self.watch_for_room(to);
        Ok(())
    }

    fn front(&mut self, from: usize, queue: Queue) -> Result<Option<Arrival>, PeerFault> {
        let link = &mut self.links[from];
        if link.inboxes[queue as usize].front().is_none() {
            // Where the socket was found empty just now, not at once again; and not into a payload that may be
            // placed directly.
            let is_known = match queue {
                Queue::Messages => std::mem::take(&mut link.emptied) || link.is_coming(),
                Queue::Requests => std::mem::take(&mut link.has_no_more_requests),
            };
            if !is_known {
                self.look_at(from);
                let link = &mut self.links[from];
                link.has_no_more_requests =
                    queue == Queue::Requests && link.emptied && link.inboxes[queue as usize].front().is_some();
            }
        }
        let link = &self.links[from];
        if let Some(cell) = link.inboxes[queue as usize].front() {
            return Ok(Some(Arrival { header: cell.header, len: cell.len, place: 0 }));
        }
        link.fault().map_or(Ok(None), |what| Err(PeerFault { peer: from, what }))
    }

    fn read(&mut self, from: usize, queue: Queue, _: &Arrival, offset: usize, into: WriteSpan) {
        let cell = self.links[from].inboxes[queue as usize].front().expect("read without an arrival");
        ReadSpan::from(cell.payload()).part(offset, into.len()).copy_to(into);
    }

    fn pop(&mut self, from: usize, queue: Queue) {
        let link = &mut self.links[from];
        let is_due = link.inboxes[queue as usize].pop(&mut self.rooms);
        if from == self.book.me {
            let popped = link.inboxes[queue as usize].announce();
            link.windows[queue as usize].give_back(popped).expect("what was popped was pushed");
        } else {
            self.owe(from, is_due);
        }
    }

    fn coming(&mut self, from: usize) -> Option<Arrival> {
        self.links[from].coming()
    }

    fn place_directly(&mut self, from: usize, address: &RemoteAddress, note: Header) {
        let (link, mut context) = self.link_and_context(from);
        let is_due = link.place_directly(address.space, address.place, note, &mut context);
        self.owe(from, is_due);
        self.receive_from(from);
    }

    fn ready(&mut self, queue: Queue) -> Option<usize> {
        let is_fresh = match queue {
            Queue::Messages => std::mem::take(&mut self.served),
            Queue::Requests => std::mem::take(&mut self.looked),
        };
        let mut found = self.next_waiting(queue);
        if found.is_none() && !is_fresh {
            self.look_around();
            found = self.next_waiting(queue);
        }
        if queue == Queue::Messages {
            (self.looked, self.served) = (found.is_none(), found.is_some());
        }
        found
    }

    #[inline]
    fn popped(&self, from: usize) -> u64 {
        self.links[from].inboxes[Queue::Messages as usize].popped()
    }

    #[inline]
    fn pushed(&self, to: usize) -> u64 {
        self.links[to].windows[Queue::Messages as usize].pushed()
    }

    #[inline]
    fn accepted(&mut self, to: usize) -> Option<u64> {
        Some(self.links[to].windows[Queue::Messages as usize].popped())
    }
}

impl RemoteMemory for TcpFabric {
    fn address_of(&self, span: ReadSpan) -> RemoteAddress {
        // A name in a space that is never handed out.
        RemoteAddress { space: 0, place: span.start() as u64, len: span.len() as u64 }
    }

    fn hand_out(&mut self, peer: usize, span: WriteSpan<'static>) -> RemoteAddress {
        self.handed_out.add(peer, span)
    }

    fn withdraw(&mut self, peer: usize, address: &RemoteAddress) -> bool {
        self.handed_out.remove(peer, address.space);
        true
    }

    fn way_from(&self, _: usize, _: &RemoteAddress) -> Option<Way> {
        Some(Way::Network)
    }

    fn remote_write(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        from: ReadSpan,
        notice: Option<Notice>,
    ) -> Result<Written, RemoteError> {
        self.write(peer, address, offset, from, notice)
    }

    fn remote_read(
        &mut self,
        _: usize,
        address: &RemoteAddress,
        offset: u64,
        into: WriteSpan,
        _: Reading,
    ) -> Result<Way, RemoteError> {
        address.part(offset, into.len()).ok_or(RemoteError::Refused)?;
        Err(RemoteError::NoWay)
    }
}

impl SharedMemory for TcpFabric {}

impl Waiting for TcpFabric {
    fn signal(&mut self, peer: usize, signal: Signal) {
        if peer == self.book.me {
            self.signals |= signal as u32;
            self.news = true;
        } else if !self.links[peer].is_over() {
            self.reach_out(peer);
            self.links[peer].send_signal(signal as u32);
            self.watch_for_room(peer);
        }
    }

    #[inline]
    fn take_signals(&mut self) -> SignalSet {
        SignalSet(std::mem::take(&mut self.signals))
    }

    #[inline]
    fn patience(&self) -> u32 {
        self.spin.looks()
    }

    fn idle(&mut self, backoff: &mut Backoff) {
        if self.pass_round(backoff) {
            self.sleep();
        }
    }
}

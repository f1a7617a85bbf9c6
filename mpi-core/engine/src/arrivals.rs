//! What arrives: cells of the message queues and of the queues for requests, dealt with one by one.

use rwmpi_protocol::Envelope;
use rwmpi_transport::{Arrival, Fabric, PeerFault, Queue};

use super::{Engine, Failure, wire};
use crate::Mark;

pub(super) fn fault(source: u32, what: &'static str) -> Failure {
    Failure::Fault(PeerFault { peer: source as usize, what })
}

impl<F: Fabric> Engine<F> {
    /// Deals with one cell of `source`'s message queue and pops it.
    #[inline(always)]
    pub(super) fn arrival(&mut self, source: u32, arrival: &Arrival) -> Result<(), Failure> {
        let [_, context, tag, extra] = arrival.header;
        let envelope = Envelope { context, source, tag };
        self.heard = Mark::heard(arrival.header[0]);
        match wire::kind(&arrival.header) {
            wire::EAGER => self.eager(&envelope, extra, arrival)?,
            _ => self.not_eager(&envelope, extra, arrival)?,
        }
        self.fabric.pop(source as usize, Queue::Messages);
        Ok(())
    }

    fn not_eager(&mut self, envelope: &Envelope, extra: u32, arrival: &Arrival) -> Result<(), Failure> {
        let Envelope { context, source, tag } = *envelope;
        match wire::kind(&arrival.header) {
            wire::BEGIN => self.begin(envelope, extra, arrival)?,
            wire::CONTINUE => self.continued(source, arrival)?,
            wire::ANNOUNCE => self.announced(envelope, extra, arrival)?,
            wire::WRITTEN => self.written(source, tag, context, arrival)?,
            wire::WRITING => self.writing(source, tag, context, extra, arrival)?,
            wire::BARRIER => self.rounds.arrived([context, extra, tag]),
            wire::WITHDRAW => self.forget_request(source, &arrival.header)?,
            wire::PULLED => {
                let space: [u8; 8] = self.body(source, Queue::Messages, arrival)?;
                self.pull_done(source, context, bytemuck::cast(space))?;
            }
            wire::PLACED_DIRECTLY => self.pull_done(source, context, u64::from(extra) << 32 | u64::from(tag))?,
            wire::WITHDRAWN => {
                let (slot, generation) = wire::withdrawn_slot(&arrival.header);
                self.forgotten(slot, generation);
            }
            _ => return Err(fault(source, "a cell of unknown kind")),
        }
        Ok(())
    }

    /// A message begins to arrive, with its sender's *next request number*.
    #[inline]
    pub(super) fn message_begins(&mut self, source: u32, next_request: u32) -> Result<(), Failure> {
        if self.peers[source as usize].stream.is_some() {
            return Err(fault(source, "a message begins inside another"));
        }
        self.receiver.next_request(source, next_request);
        Ok(())
    }

    /// Reads a payload of exactly `N` bytes.
    pub(super) fn body<const N: usize>(
        &mut self,
        source: u32,
        queue: Queue,
        arrival: &Arrival,
    ) -> Result<[u8; N], Failure> {
        if arrival.len != N {
            return Err(fault(source, "a cell of wrong length"));
        }
        let mut body = [0; N];
        self.fabric.read(source as usize, queue, arrival, 0, body.as_mut_slice().into());
        Ok(body)
    }

    /// Deals with everything in `peer`'s queue for requests.
    pub(super) fn collect_requests(&mut self, peer: usize) -> Result<bool, Failure> {
        let mut any = false;
        while let Some(arrival) = self.fabric.front(peer, Queue::Requests).map_err(Failure::Fault)? {
            any = true;
            match wire::kind(&arrival.header) {
                wire::REQUEST => {
                    let body = self.body(peer as u32, Queue::Requests, &arrival)?;
                    let request = wire::decode_request(&arrival.header, body);
                    self.peers[peer].sender.on_request(request);
                }
                wire::MATCHED => self.matched(peer as u32, arrival.header[1])?,
                wire::FETCHING => {
                    let body: [u8; size_of::<wire::Sharing>()] = self.body(peer as u32, Queue::Requests, &arrival)?;
                    let [_, id, slot, _] = arrival.header;
                    self.fetching(peer as u32, id, slot, bytemuck::cast(body))?;
                }
                wire::PULL => {
                    let target: [u8; 24] = self.body(peer as u32, Queue::Requests, &arrival)?;
                    let [_, id, key, _] = arrival.header;
                    self.pulled(peer as u32, id, key, wire::address(bytemuck::cast(target)))?;
                }
                _ => return Err(fault(peer as u32, "a request of unknown kind")),
            }
            self.fabric.pop(peer, Queue::Requests);
        }
        Ok(any)
    }
}

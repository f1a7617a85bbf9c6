//! What cells say: the meaning of their headers and short payloads.
//!
//! A header is four words: the kind in the lowest byte of the first, then what the kind needs. Everything a peer wrote
//! is checked here before anybody acts on it.

use bytemuck::{Pod, Zeroable};
use rwmpi_protocol::RequestForSend;
use rwmpi_transport::{Header, RemoteAddress};

/// A whole message: `[kind, context, tag, next request number]`, data.
pub(super) const EAGER: u32 = 1;
/// The beginning of a message whose data follow in [`CONTINUE`] cells, or are to be asked for, or that wants an answer:
/// header as [`EAGER`], [`Begin`].
pub(super) const BEGIN: u32 = 2;
/// The next data of the message that has begun.
pub(super) const CONTINUE: u32 = 3;
/// A message whose data wait at the sender: header as [`EAGER`], [`Announce`].
pub(super) const ANNOUNCE: u32 = 4;
/// A receive has been written to: `[kind, slot, tag, 0]`, [`Written`].
pub(super) const WRITTEN: u32 = 5;
/// A receive is being written to, and the receiver may help: `[kind, slot, tag, number to answer with]`, [`Sharing`]
/// with where the data are.
pub(super) const WRITING: u32 = 7;
/// The receiver would like to cancel a receive that it has advertised: `[kind, slot, generation, its upper half]`. Sent
/// where there are no claim words.
pub(super) const WITHDRAW: u32 = 8;
/// The answer, behind whatever the sender has written before: the request is forgotten. The same words.
pub(super) const WITHDRAWN: u32 = 9;
/// The data that were asked for have been written: `[kind, number of the pull, 0, 0]`, the name of the memory that they
/// were written to.
pub(super) const PULLED: u32 = 10;
/// Not from a peer, but the note of a message that was placed directly: its pull in the second word, space in the
/// others.
pub(super) const PLACED_DIRECTLY: u32 = 11;
/// A step of a barrier: `[kind, context, round, number of the barrier]`.
pub(super) const BARRIER: u32 = 6;

/// A request for send: `[kind | ANY_TAG | slot << 16, context, tag, serial]`, [`Request`]. In the queue for requests.
pub(super) const REQUEST: u32 = 1;
/// The receiver has matched, and if it was announced fetched, the message that carried this number:
/// `[kind, number, 0, 0]`. In the queue for requests.
pub(super) const MATCHED: u32 = 2;

/// The receiver is fetching an announced message, and the sender may help: `[kind, number, slot, 0]`, [`Sharing`] with
/// where the data go. In the queue for requests.
pub(super) const FETCHING: u32 = 3;

/// The receiver asks for a message whose data wait: `[kind, number, number of the pull, 0]`, space, place and length of
/// the memory for them. In the queue for requests.
pub(super) const PULL: u32 = 4;

const ANY_TAG: u32 = 1 << 8;

/// "No answer wanted" in [`Begin`].
pub(super) const NO_ANSWER: u32 = u32::MAX;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Begin {
    /// Length of the message, bytes.
    pub(super) total: u64,
    /// The number to answer with, or [`NO_ANSWER`].
    pub(super) answer: u32,
    /// 1: the data wait until the receiver answers by [`PULL`]; 0: they follow.
    pub(super) waits: u32,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Announce {
    /// Space, place and length of the data.
    pub(super) address: [u64; 3],
    /// The number to answer with.
    pub(super) answer: u32,
    pub(super) reserved: u32,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Written {
    /// Length of the message, bytes.
    pub(super) len: u64,
    /// Which use of the slot is meant.
    pub(super) generation: u64,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Sharing {
    /// Space, place and length of the other side's memory.
    pub(super) address: [u64; 3],
    /// Which use of the slot is meant.
    pub(super) generation: u64,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Request {
    accepted: u64,
    target: [u64; 3],
    generation: u64,
}

/// The header of [`WITHDRAW`] or [`WITHDRAWN`].
pub(super) fn withdrawal(kind: u32, slot: u32, generation: u64) -> Header {
    [kind, slot, generation as u32, (generation >> 32) as u32]
}

/// Slot and generation in such a header.
pub(super) fn withdrawn_slot(header: &Header) -> (u32, u64) {
    (header[1], u64::from(header[3]) << 32 | u64::from(header[2]))
}

/// The kind of a cell.
pub(super) fn kind(header: &Header) -> u32 {
    header[0] & 0xff
}

pub(super) fn address(words: [u64; 3]) -> RemoteAddress {
    RemoteAddress { space: words[0], place: words[1], len: words[2] }
}

pub(super) fn address_words(address: &RemoteAddress) -> [u64; 3] {
    [address.space, address.place, address.len]
}

pub(super) const REQUEST_BYTES: usize = size_of::<Request>();

pub(super) fn encode_request(request: &RequestForSend) -> (Header, [u8; REQUEST_BYTES]) {
    let any = if request.tag.is_none() { ANY_TAG } else { 0 };
    let header = [REQUEST | any | request.slot << 16, request.context, request.tag.unwrap_or(0), request.serial];
    let body = Request { accepted: request.accepted, target: request.target, generation: request.generation };
    (header, bytemuck::cast(body))
}

pub(super) fn decode_request(header: &Header, body: [u8; REQUEST_BYTES]) -> RequestForSend {
    let Request { accepted, target, generation } = bytemuck::cast(body);
    RequestForSend {
        serial: header[3],
        accepted,
        context: header[1],
        tag: (header[0] & ANY_TAG == 0).then_some(header[2]),
        slot: header[0] >> 16,
        generation,
        target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_withdrawal_survives_the_wire() {
        let header = withdrawal(WITHDRAW, 7, 5 << 33 | 3);
        assert_eq!((kind(&header), withdrawn_slot(&header)), (WITHDRAW, (7, 5 << 33 | 3)));
    }

    #[test]
    fn a_request_survives_the_wire() {
        for tag in [None, Some(0), Some(u32::MAX >> 1)] {
            let request = RequestForSend {
                serial: 7,
                accepted: u64::MAX - 1,
                context: 3,
                tag,
                slot: 255,
                generation: 1 << 40,
                target: [1, 2, 3],
            };
            let (header, body) = encode_request(&request);
            assert_eq!(kind(&header), REQUEST);
            assert_eq!(decode_request(&header, body), request);
        }
    }
}

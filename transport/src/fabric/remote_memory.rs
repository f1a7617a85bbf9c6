//! Remote Write and its converse: a peer's memory, used by others without its help where they can reach it.

use super::Header;
use crate::{ReadSpan, WriteSpan};

/// The way by which bytes reach a peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The peer is a thread of this process: a copy.
    SameProcess,
    /// The memory is in the job's shared file, which is mapped here too: a copy.
    SharedHeap,
    /// The kernel copies (`process_vm_writev`, `process_vm_readv`).
    Kernel,
    /// Through a connection: the peer's own engine puts the bytes where they belong.
    Network,
}

impl Way {
    /// Whether memory can be read by this way, and not only written.
    pub fn reads(self) -> bool {
        self != Way::Network
    }
}

/// The cell that tells a peer that a remote write is complete, for its queue of messages.
#[derive(Clone, Copy, Debug)]
pub struct Notice<'a> {
    /// Its header.
    pub header: Header,
    /// Its payload, up to [`INLINE_PAYLOAD`](super::INLINE_PAYLOAD) bytes.
    pub payload: ReadSpan<'a>,
}

/// What a remote write has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// By which way.
    pub way: Way,
    /// How many bytes: fewer than wanted only through a network.
    pub len: usize,
    /// The notice was pushed behind the last of them.
    pub told: bool,
}

/// Memory of one peer as another may name it. Made by [`RemoteMemory::hand_out`], or by [`RemoteMemory::address_of`];
/// three words on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RemoteAddress {
    /// What `place` is relative to; the fabric's own business.
    pub space: u64,
    /// Where the bytes start.
    pub place: u64,
    /// How many bytes were handed out: nothing beyond is ever touched.
    pub len: u64,
}

impl RemoteAddress {
    /// The place of `len` bytes from `offset`, if they lie within what was handed out.
    #[cfg_attr(loom, allow(dead_code))]
    pub(crate) fn part(&self, offset: u64, len: usize) -> Option<u64> {
        self.place.checked_add(self.len)?;
        let is_part = offset <= self.len && len as u64 <= self.len - offset;
        is_part.then(|| self.place + offset)
    }
}

/// The operation that a remote read is part of.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// How many bytes of memory it goes through in all, before what is read is used. What no cache holds until then is
    /// read past them.
    pub working_set: u64,
    /// Whether other peers read the same: then it is not [written back](crate::LentSpan), so as not to go back and
    /// forth between them.
    pub with_others: bool,
}

impl Reading {
    /// By this peer alone.
    pub const fn alone(working_set: u64) -> Reading {
        Reading { working_set, with_others: false }
    }
}

/// Why a remote write or read had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// Not within what the peer handed out.
    #[error("outside the memory that the peer handed out")]
    Refused,
    /// There is no way to that memory.
    #[error("no way to that memory of the peer")]
    NoWay,
    /// The peer has exited.
    #[error("the peer has exited")]
    PeerLost,
}

/// Memory of peers that they have lent, by whatever way leads there.
pub trait RemoteMemory {
    /// The name under which peers may reach `span`, where the memory needs not be handed out for that: for reading by a
    /// way that [reads](Way::reads), and to ask [`RemoteMemory::way_from`].
    fn address_of(&self, span: ReadSpan) -> RemoteAddress;
    /// Lets `peer` write to `span` until [`RemoteMemory::withdraw`], under the name that this gives. The span must stay
    /// valid until then: what arrives over a network is written by this peer itself, in any method.
    fn hand_out(&mut self, _peer: usize, span: WriteSpan<'static>) -> RemoteAddress {
        self.address_of(span.as_read())
    }
    /// Ends what [`RemoteMemory::hand_out`] began: from now on nothing that arrives from `peer` is written there.
    /// (Where peers write without this peer's help, nothing can be withdrawn: then this does nothing and is false.)
    fn withdraw(&mut self, _peer: usize, _address: &RemoteAddress) -> bool {
        false
    }
    /// For a process that is about to fork: no peer uses memory of this peer's any more that it has been told of, but
    /// for what the library itself has of it.
    fn forget_lent(&mut self) {}
    /// How `peer` can reach memory of this peer at `address`; `None`: not at all. Known from a real test transfer at
    /// wire-up.
    fn way_from(&self, peer: usize, address: &RemoteAddress) -> Option<Way>;
    /// Writes `from` into `peer`'s memory, `offset` bytes into `address`. Over a network, that means that the bytes are
    /// on their way, in front of all later cells; an address that the peer has not handed out is a fault there, and
    /// breaks the connection.
    ///
    /// Where a network takes no more at present, only the first bytes are written, or none. Whoever has begun has to
    /// come again with the rest, or the connection is of no more use: other writes to that peer find no room until
    /// then, and cells wait behind.
    ///
    /// A notice is pushed behind the last byte where both can leave together; if it is not, all is as if it had not
    /// been mentioned. Whoever has begun with one has to come again with it.
    fn remote_write(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        from: ReadSpan,
        notice: Option<Notice>,
    ) -> Result<Written, RemoteError>;
    /// Reads from `peer`'s memory, `offset` bytes into `address`; [`RemoteError::NoWay`] where the way does not
    /// [read](Way::reads).
    fn remote_read(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        into: WriteSpan,
        reading: Reading,
    ) -> Result<Way, RemoteError>;
    /// Where `peer`'s memory at `address` lies in this process, if it is mapped here: for loads, stores and [atomic
    /// operations](WriteSpan::word) as long as its owner lends it, and this fabric is there.
    fn direct(&self, _peer: usize, _address: &RemoteAddress) -> Option<WriteSpan<'static>> {
        None
    }
}

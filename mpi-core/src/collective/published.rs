//! What the ranks of a team let each other use while a collective lasts: for long data on one node.
//!
//! Each rank tells the others where its data lie; everybody then copies or combines what it needs straight from there, at its own pace, or
//! puts it where others want it; and whoever is done waits in a barrier until all are, so that the data may change again. Nothing is copied
//! twice, and nobody waits for a particular message.

use bytemuck::Zeroable;
use rwmpi_transport::{ReadSpan, RemoteAddress, WriteSpan};
use smallvec::SmallVec;

use super::alltoall::send_to_all;
use super::at_once;
use super::barrier::meet;
use super::broadcast::tree;
use super::reduction::Reduction;
use super::scratch::{Scratch, append, prepend};
use super::team::Team;
use crate::engine::Failure;

/// Data are combined in portions of so many bytes, which stay in the nearest cache.
const PORTION: usize = 8 << 10;
/// Rounds of a barrier are fewer.
const ROUNDS: u32 = 32;

/// One address on the wire. Nothing at all can be told by a length that none has.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Told {
    space: u64,
    place: u64,
    len: u64,
}

type Addresses = SmallVec<[[Told; 2]; 8]>;

impl Told {
    pub(super) const UNREADABLE: Told = Told { space: 0, place: 0, len: u64::MAX };

    pub(super) fn address(self) -> RemoteAddress {
        RemoteAddress { space: self.space, place: self.place, len: self.len }
    }
}

fn all_readable(told: &[[Told; 2]]) -> bool {
    told.iter().flatten().all(|told| told.len != Told::UNREADABLE.len)
}

/// Of every rank, two pieces of memory that can be read and, as the collective has it, written.
pub(crate) struct Published<'a> {
    team: Team<'a>,
    /// By rank.
    addresses: SmallVec<[[RemoteAddress; 2]; 8]>,
    meetings: u32,
}

impl<'a> Team<'a> {
    /// Whether it pays to ask for each other's memory. The same on all ranks of a team.
    pub(crate) fn may_publish(&self) -> bool {
        self.process.engine().may_publish(self.peers)
    }

    /// Lets every other rank read what `mine` says for it until [`Published::meet`] has returned for the last time, and learns where
    /// theirs lies. `None`, on all ranks, where some memory cannot be shared.
    pub(crate) async fn publish<'s>(
        self,
        mine: impl Fn(usize) -> [ReadSpan<'s>; 2],
    ) -> Result<Option<Published<'a>>, Failure> {
        let mut told: Addresses = (0..self.size()).map(|rank| mine(rank).map(|span| self.tell_where(span))).collect();
        if !all_readable(&told) {
            told.fill([Told::UNREADABLE; 2]);
        }
        let mut heard = told.clone();
        let len = size_of_val(&told[0]);
        let sent = ReadSpan::from(bytemuck::cast_slice(&told));
        let received = WriteSpan::from(bytemuck::cast_slice_mut(&mut heard));
        let (team, part) = (self.always_sends(), |rank| rank * len);
        let (to, from) = (|rank| sent.part(part(rank), len), |rank| received.part(part(rank), len));
        if !at_once::alltoall(team, to, from)? {
            send_to_all(team, to, from).await?;
        }
        Ok(Published::new(self, &heard))
    }

    /// As [`Team::publish`], only `root`'s memory, as its first piece.
    pub(crate) async fn publish_from(self, root: usize, data: ReadSpan<'_>) -> Result<Option<Published<'a>>, Failure> {
        let mut told = if self.rank == root { self.tell_where(data) } else { Told::zeroed() };
        let (team, place) = (self.always_sends(), WriteSpan::from(bytemuck::bytes_of_mut(&mut told)));
        if !at_once::broadcast(team, place, root)? {
            tree(team, place, root).await?;
        }
        let told: Addresses = SmallVec::from_elem([told, Told::zeroed()], self.size());
        Ok(Published::new(self, &told))
    }

    /// What is told by this team says what happens next, so it is told in any case.
    pub(super) fn always_sends(self) -> Self {
        Team { poisons: false, ..self }
    }

    pub(super) fn tell_where(self, span: ReadSpan<'_>) -> Told {
        let address = self.process.engine().published(self.peers, span);
        address.map_or(Told::UNREADABLE, |RemoteAddress { space, place, len }| Told { space, place, len })
    }
}

impl<'a> Published<'a> {
    fn new(team: Team<'a>, told: &[[Told; 2]]) -> Option<Self> {
        let addresses = || told.iter().map(|both| both.map(Told::address)).collect();
        all_readable(told).then(|| Published { team, addresses: addresses(), meetings: 0 })
    }

    /// Waits until all ranks have come as far.
    pub(crate) async fn meet(&mut self) -> Result<(), Failure> {
        let first_round = self.meetings * ROUNDS;
        self.meetings += 1;
        meet(self.team, first_round).await
    }

    /// Copies from `rank`'s piece `which`. (Where nothing lies, it may lie anywhere.)
    pub(crate) fn read(&self, rank: usize, which: usize, offset: usize, into: WriteSpan<'_>) -> Result<(), Failure> {
        if into.is_empty() {
            return Ok(());
        }
        let peer = self.team.peers[rank];
        self.team.process.engine().read_published(peer, &self.addresses[rank][which], offset, into)
    }

    /// Combines, in rank order, what all ranks have at `offset` of their first piece, and puts it at `offset` of the second piece of
    /// those in `to` and, if there is such a place, into `result`. This rank's contribution is `own`, which may be the same memory as
    /// `result`.
    pub(crate) fn combine(
        &self,
        offset: usize,
        own: ReadSpan<'_>,
        result: Option<WriteSpan<'_>>,
        op: &dyn Reduction,
        to: impl Iterator<Item = usize> + Clone,
    ) -> Result<(), Failure> {
        let (me, element) = (self.team.rank, op.element().max(1));
        let portion = (PORTION / element).max(1) * element;
        let stride = portion.next_multiple_of(size_of::<u128>());
        let mut scratch = Scratch::new(self.team, 3 * stride);
        let scratch = scratch.span();
        let mut done = 0;
        while done < own.len() {
            let len = portion.min(own.len() - done);
            let (earlier, theirs) = (scratch.part(0, len), scratch.part(stride, len));
            let own = own.part(done, len);
            let kept = result.map_or(scratch.part(2 * stride, len), |result| result.part(done, len));
            if me > 0 {
                self.read(0, 0, offset + done, earlier)?;
            }
            for rank in 1..me {
                self.read(rank, 0, offset + done, theirs)?;
                append(self.team, op, earlier, theirs.as_read());
            }
            if own.start() != kept.start() {
                own.copy_to(kept);
            }
            if me > 0 {
                prepend(self.team, op, earlier.as_read(), kept);
            }
            for rank in me + 1..self.team.size() {
                self.read(rank, 0, offset + done, theirs)?;
                append(self.team, op, kept, theirs.as_read());
            }
            to.clone().try_for_each(|rank| self.write(rank, 1, offset + done, kept.as_read()))?;
            done += len;
        }
        Ok(())
    }

    /// Copies to `rank`'s piece `which`.
    fn write(&self, rank: usize, which: usize, offset: usize, from: ReadSpan<'_>) -> Result<(), Failure> {
        let peer = self.team.peers[rank];
        self.team.process.engine().write_published(peer, &self.addresses[rank][which], offset, from)
    }
}

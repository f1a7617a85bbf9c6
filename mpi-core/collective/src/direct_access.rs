//! Direct access to each other's memory while a collective lasts: for long data on one node.
//!
//! Each rank exposes its data: it says where they lie. Every other rank copies or combines what it needs straight from
//! there, at its own pace, or writes it where others want it. A rank that is done waits until all are, so that the data
//! may change again. Nothing is copied twice, and nobody waits for a particular message.

use rwmpi_transport::{LentSpan, ReadSpan, Reading, RemoteAddress, RemoteError, WriteSpan};
use smallvec::SmallVec;

use crate::Outcome;
use crate::alltoall::send_to_all;
use crate::apart::apart;
use crate::barrier::barrier;
use crate::broadcast::tree;
use crate::engine::Failure;
use crate::reduction::Reduction;
use crate::scratch::{Scratch, combine};
use crate::select::collective::{chunk, copies_aside, portion, without_slots};
use crate::select::{Collective, CollectiveWay};
use crate::slots::{Epoch, Slots};
use crate::team::Team;

/// One address on the wire. A length that no memory has says that it can't be read.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct ExposedAddress {
    space: u64,
    place: u64,
    len: u64,
}

/// Of few ranks in place: the futures that hold them pass over the stack.
pub(crate) type Addresses = SmallVec<[[ExposedAddress; 2]; 2]>;

impl ExposedAddress {
    pub(crate) const UNREADABLE: ExposedAddress = ExposedAddress { space: 0, place: 0, len: u64::MAX };
    /// Of a rank that has nothing there.
    pub(crate) const NOTHING: ExposedAddress = ExposedAddress { space: 0, place: 0, len: 0 };

    pub(crate) fn is_readable(self) -> bool {
        self.len != ExposedAddress::UNREADABLE.len
    }

    pub(crate) fn address(self) -> RemoteAddress {
        RemoteAddress { space: self.space, place: self.place, len: self.len }
    }
}

/// How far apart the pieces of a row begin.
fn distance_in_row(whole: u64, piece: u64, pieces: usize) -> u64 {
    whole.saturating_sub(piece) / (pieces as u64 - 1).max(1)
}

fn all_readable(addresses: &[[ExposedAddress; 2]]) -> bool {
    addresses.iter().flatten().all(|address| address.is_readable())
}

/// Of every rank, two pieces of memory that can be read and, as the collective has it, written.
pub(crate) struct DirectAccess<'a> {
    team: Team<'a>,
    /// By rank.
    addresses: Addresses,
    /// By which they were exchanged, if not by messages.
    slots: Option<&'a Slots>,
}

/// How a collective on long data goes on once ranks have looked at each other's slots.
pub(crate) enum Way {
    /// It does not: all is done, or not all have as long data, which has been noted.
    Done,
    /// By messages: some memory can't be read by others.
    Messages,
    /// By messages, and nobody knows yet how long the others' data are: there are no slots.
    Unsettled,
}

impl<'a> Team<'a> {
    /// Whether it pays to ask for each other's memory. The same on all ranks of a team.
    pub(crate) fn may_access_directly(&self) -> bool {
        self.process.engine().may_publish(self.peers)
    }

    /// Has all ranks use each other's memory where it lies, if it can be read. Exposes `mine`, does `meanwhile` once
    /// the others can know that, then `with` what all have exposed, and returns when no rank uses the others' memory
    /// any more. Where there are no slots, `agree` finds out first whether all have as long data. False: it is to go by
    /// messages.
    pub(crate) async fn access_directly(
        self,
        what: Collective,
        mine: impl Fn() -> [ExposedAddress; 2],
        meanwhile: impl Fn() -> Outcome,
        with: impl Fn(&DirectAccess<'_>) -> Outcome,
        agree: impl AsyncFnOnce() -> Result<bool, Failure>,
    ) -> Result<bool, Failure> {
        match self.access_by_slots(what.announced(), &mine, &meanwhile, &with).await? {
            Way::Done => Ok(true),
            Way::Messages => Ok(false),
            Way::Unsettled if !apart(|| agree()).await? => Ok(true),
            Way::Unsettled => apart(|| self.access_by_messages(what, mine, meanwhile, with)).await,
        }
    }

    /// The same where the addresses go by slots, if all have `len` bytes.
    #[inline]
    async fn access_by_slots(
        self,
        len: usize,
        mine: impl FnOnce() -> [ExposedAddress; 2],
        meanwhile: impl FnOnce() -> Outcome,
        with: impl FnOnce(&DirectAccess<'_>) -> Outcome,
    ) -> Result<Way, Failure> {
        if let Some(nonblocking) = self.nonblocking {
            return apart(|| nonblocking.access_directly(self, len, mine(), meanwhile, with)).await;
        }
        let Some(slots) = self.slots()? else { return Ok(Way::Unsettled) };
        let epoch = slots.announce(&self, len, &mine())?;
        meanwhile()?;
        epoch.let_all_come()?;
        let Some(addresses) = epoch.all_addresses(len)? else { return Ok(Way::Done) };
        let Some(access) = DirectAccess::new(self, addresses, Some(slots)) else { return Ok(Way::Messages) };
        with(&access)?;
        epoch.leave();
        epoch.all_leave()?;
        Ok(Way::Done)
    }

    /// The same where they go by messages, and all are known to have as long data.
    pub(crate) async fn access_by_messages(
        self,
        what: Collective,
        mine: impl FnOnce() -> [ExposedAddress; 2],
        meanwhile: impl FnOnce() -> Outcome,
        with: impl FnOnce(&DirectAccess<'_>) -> Outcome,
    ) -> Result<bool, Failure> {
        let way = without_slots(self.process.tuning(), what, self.size(), self.may_access_directly());
        if way != CollectiveWay::DirectAccess {
            return Ok(false);
        }
        let Some(access) = apart(|| self.exchange_addresses(mine())).await? else { return Ok(false) };
        meanwhile()?;
        with(&access)?;
        apart(|| access.meet()).await.map(|()| true)
    }

    /// Exposes `mine` to all others, until [`DirectAccess::meet`] has returned, and learns where their memory lies.
    /// `None`, on all ranks, where some can't be read.
    async fn exchange_addresses(self, mine: [ExposedAddress; 2]) -> Result<Option<DirectAccess<'a>>, Failure> {
        let mine = if all_readable(&[mine]) { mine } else { [ExposedAddress::UNREADABLE; 2] };
        let mut theirs: Addresses = SmallVec::from_elem(mine, self.size());
        let (sent, len) = (ReadSpan::from(bytemuck::bytes_of(&mine)), size_of_val(&mine));
        let received = WriteSpan::from(bytemuck::cast_slice_mut(&mut theirs));
        apart(|| send_to_all(self.always_sends(), |_| sent, |rank| received.part(rank * len, len))).await?;
        Ok(DirectAccess::new(self, theirs, None))
    }

    /// Says that data of `len` bytes, too many for slots, go another way; `None`: there are no slots.
    pub(crate) fn announce_len(&self, len: usize) -> Result<Option<Epoch<'_>>, Failure> {
        let Some(slots) = self.slots()? else { return Ok(None) };
        slots.announce(self, len, &[ExposedAddress::UNREADABLE; 2]).map(Some)
    }

    /// As [`Team::access_directly`] by slots, of `root`'s memory only, which is copied to the `data` of all others.
    /// They need not wait for each other.
    pub(crate) async fn access_root(self, root: usize, data: WriteSpan<'_>) -> Result<Way, Failure> {
        let (mine, nothing, len) = (self.address_of(data.as_read()), ExposedAddress::NOTHING, data.len());
        let mine = if self.rank == root { [mine, nothing] } else { [nothing, mine] };
        if let Some(nonblocking) = self.nonblocking {
            return apart(|| nonblocking.access_root(self, root, data, mine)).await;
        }
        let Some(slots) = self.slots()? else { return Ok(Way::Unsettled) };
        let epoch = slots.announce(&self, len, &mine)?;
        if !epoch.agrees(root, len)? {
            return Ok(Way::Done);
        }
        if let Some(access) = DirectAccess::of(self, root, &epoch, slots)? {
            access.spread(epoch, root, data)?;
            return Ok(Way::Done);
        }
        // What is done instead takes all.
        Ok(if epoch.all_agree(len)? { Way::Messages } else { Way::Done })
    }

    /// As [`Team::access_root`] at the root, where it pays to copy the data aside and go: readers come later than that
    /// where they share processors. False: nothing has happened.
    pub(crate) fn spread_copy(self, data: ReadSpan<'_>) -> Result<bool, Failure> {
        match self.slots()? {
            Some(slots) if copies_aside(self.process.tuning(), data.len(), slots.is_oversubscribed()) => {
                slots.announce_copy(&self, data)
            }
            _ => Ok(false),
        }
    }

    /// As `exchange_addresses`, only `root`'s memory, as its first piece.
    pub(crate) async fn exchange_address(
        self,
        root: usize,
        data: ReadSpan<'_>,
    ) -> Result<Option<DirectAccess<'a>>, Failure> {
        let mut address = if self.rank == root { self.address_of(data) } else { ExposedAddress::NOTHING };
        apart(|| tree(self.always_sends(), WriteSpan::from(bytemuck::bytes_of_mut(&mut address)), root)).await?;
        let addresses: Addresses = SmallVec::from_elem([address, ExposedAddress::NOTHING], self.size());
        Ok(DirectAccess::new(self, addresses, None))
    }

    /// For messages that say what happens next: a rank in trouble sends them, too.
    pub(crate) fn always_sends(self) -> Self {
        Team { spreads_trouble: false, ..self }
    }

    /// Where pieces for all ranks lie, if they lie at equal distances: from where the first begins to where the last
    /// ends.
    pub(crate) fn address_of_row<'s>(self, piece: impl Fn(usize) -> ReadSpan<'s>) -> ExposedAddress {
        let row: SmallVec<[ExposedAddress; 8]> = (0..self.size()).map(|rank| self.address_of(piece(rank))).collect();
        let (first, last) = (row[0], row[row.len() - 1]);
        let whole = last.place.wrapping_add(last.len).wrapping_sub(first.place);
        let distance = distance_in_row(whole, first.len, row.len());
        let is_there = |(rank, address): (usize, &ExposedAddress)| {
            let place = first.place + rank as u64 * distance;
            address.is_readable() && (address.space, address.place) == (first.space, place)
        };
        let is_row = last.place >= first.place && row.iter().enumerate().all(is_there);
        if is_row { ExposedAddress { len: whole, ..first } } else { ExposedAddress::UNREADABLE }
    }

    pub(crate) fn address_of(self, span: ReadSpan<'_>) -> ExposedAddress {
        let address = self.process.engine().published(self.peers, span);
        address.map_or(ExposedAddress::UNREADABLE, |RemoteAddress { space, place, len }| ExposedAddress {
            space,
            place,
            len,
        })
    }
}

impl<'a> DirectAccess<'a> {
    /// If all of these can be read.
    pub(crate) fn new(team: Team<'a>, addresses: Addresses, slots: Option<&'a Slots>) -> Option<Self> {
        all_readable(&addresses).then_some(DirectAccess { team, addresses, slots })
    }

    /// Of `root`'s memory alone.
    pub(crate) fn of(
        team: Team<'a>,
        root: usize,
        epoch: &Epoch<'_>,
        slots: &'a Slots,
    ) -> Result<Option<Self>, Failure> {
        Ok(DirectAccess::new(team, SmallVec::from_elem(epoch.addresses(root)?, team.size()), Some(slots)))
    }

    /// Waits until no rank uses the others' memory any more, where the addresses went by messages.
    pub(crate) async fn meet(self) -> Outcome {
        apart(|| barrier(self.team)).await
    }

    /// As [`DirectAccess::spread`], where the address went by messages.
    pub(crate) async fn read_from(self, root: usize, data: WriteSpan<'_>) -> Outcome {
        if self.team.rank != root {
            self.read(root, 0, 0, data, self.team.size().saturating_mul(data.len()))?;
        }
        self.meet().await
    }

    /// Copies `root`'s first piece to the `data` of all others, and waits until nobody uses this rank's memory any
    /// more. Each reads it in chunks; the root, which would only wait, puts there what its owner has not come to yet.
    fn spread(&self, epoch: Epoch<'_>, root: usize, data: WriteSpan<'_>) -> Outcome {
        if self.team.rank == root {
            return self.help_all(epoch, data);
        }
        let left = self.take_chunks(epoch, root, data)?;
        epoch.leave();
        epoch.wait_for_help(root, left)
    }

    /// Copies chunks of `root`'s first piece to `data` until none is left; how many the root puts there.
    pub(crate) fn take_chunks(&self, epoch: Epoch<'_>, root: usize, data: WriteSpan<'_>) -> Result<u64, Failure> {
        let working_set = self.team.size().saturating_mul(data.len());
        let mut left = data.len().div_ceil(self.chunk(data.len())) as u64;
        let mut next = Some(0);
        while let Some((start, part)) = next.and_then(|number| self.part_of_chunk(data, number)) {
            self.read(root, 0, start, part, working_set)?;
            left = left.saturating_sub(1);
            next = Some(epoch.take_chunk(self.team.rank));
        }
        Ok(left)
    }

    /// Puts this rank's `data` where `rank` wants them, chunk by chunk, until none is left.
    pub(crate) fn bring_chunks(&self, epoch: Epoch<'_>, rank: usize, data: WriteSpan<'_>) -> Outcome {
        let [_, into] = epoch.addresses(rank)?;
        while into.is_readable()
            && let Some((start, part)) = self.part_of_chunk(data, epoch.take_chunk(rank))
        {
            self.write_to(rank, &into.address(), start, part.as_read())?;
            epoch.has_helped(rank);
        }
        Ok(())
    }

    /// Brings all the others their chunks, and waits until all have them.
    fn help_all(&self, epoch: Epoch<'_>, data: WriteSpan<'_>) -> Outcome {
        let help = |rank: usize| -> Result<bool, Failure> {
            let agrees = epoch.agrees(rank, data.len())?;
            if agrees {
                self.bring_chunks(epoch, rank, data)?;
            }
            Ok(agrees)
        };
        epoch.let_all_come()?;
        epoch.others().filter(|&rank| epoch.has_come(rank)).try_for_each(|rank| help(rank).map(drop))?;
        for rank in epoch.others() {
            if help(rank)? {
                epoch.has_left(rank)?;
            }
        }
        Ok(())
    }

    /// How long the chunks are in which so many bytes go to one place.
    fn chunk(&self, len: usize) -> usize {
        chunk(self.team.process.tuning(), len, self.team.size())
    }

    /// Where that chunk of `data` begins, if there is one, and its bytes.
    fn part_of_chunk<'s>(&self, data: WriteSpan<'s>, number: u64) -> Option<(usize, WriteSpan<'s>)> {
        let chunk = self.chunk(data.len());
        let start = usize::try_from(number).ok()?.checked_mul(chunk)?;
        (start < data.len()).then(|| (start, data.part(start, chunk.min(data.len() - start))))
    }

    /// Copies from `rank`'s piece `which`, in a collective that goes through `working_set` bytes of memory in all ranks
    /// together. (Where nothing lies, it may lie anywhere.)
    pub(crate) fn read(
        &self,
        rank: usize,
        which: usize,
        offset: usize,
        into: WriteSpan<'_>,
        working_set: usize,
    ) -> Outcome {
        if into.is_empty() {
            return Ok(());
        }
        let (peer, address) = (self.team.peers[rank], self.addresses[rank][which].address());
        // The parts of an all-to-all have one reader each, but to write them back gains nothing where more than two
        // ranks have two cores.
        let with_others = self.team.size() > 2;
        let reading = Reading { working_set: working_set as u64, with_others };
        self.team.process.engine().read_published(peer, &address, offset, into, reading)
    }

    /// Copies this rank's piece of `rank`'s row ([`Team::address_of_row`]), where each piece is `len` bytes long.
    pub(crate) fn read_of_row(&self, rank: usize, len: usize, into: WriteSpan<'_>, working_set: usize) -> Outcome {
        let distance = distance_in_row(self.addresses[rank][0].len, len as u64, self.team.size());
        let offset = (self.team.rank as u64).saturating_mul(distance);
        self.read(rank, 0, usize::try_from(offset).unwrap_or(usize::MAX), into, working_set)
    }

    /// Combines, in rank order, what all ranks have at `offset` of their first piece, and puts it at `offset` of the
    /// second piece of those in `to` and, if there is such a place, into `result`. This rank's contribution is `own`,
    /// which may be the same memory as `result`.
    pub(crate) fn combine(
        &self,
        offset: usize,
        own: ReadSpan<'_>,
        result: Option<WriteSpan<'_>>,
        op: &dyn Reduction,
        to: impl Iterator<Item = usize> + Clone,
    ) -> Outcome {
        let element = op.element().max(1);
        let portion = (portion(self.team.process.tuning(), own.len()) / element).max(1) * element;
        let stride = portion.next_multiple_of(size_of::<u128>());
        let combine = |room: WriteSpan<'_>| -> Outcome {
            let mut done = 0;
            while done < own.len() {
                let len = portion.min(own.len() - done);
                let kept = result.map_or(room.part(0, len), |result| result.part(done, len));
                self.combine_portion(offset + done, own.part(done, len), kept, op, room, stride)?;
                to.clone().try_for_each(|rank| self.write(rank, 1, offset + done, kept.as_read()))?;
                done += len;
            }
            Ok(())
        };
        let strides = if op.where_it_lies().is_some() { 1 } else { 2 };
        match self.slots {
            Some(slots) => slots.with_room(strides * stride, combine),
            None => combine(Scratch::new(self.team, strides * stride).span()),
        }
    }

    /// Combines, in rank order, what all ranks have at `offset`, this one `own`, which may be the same memory as
    /// `kept`, where the result goes; if it is, what comes before it is kept where `room` begins. One `stride` on there
    /// is room for what has to be copied to be combined.
    fn combine_portion<'s>(
        &self,
        offset: usize,
        own: ReadSpan<'s>,
        kept: WriteSpan<'s>,
        op: &dyn Reduction,
        room: WriteSpan<'s>,
        stride: usize,
    ) -> Outcome
    where
        'a: 's,
    {
        let (me, len) = (self.team.rank, own.len());
        let is_in_place = own.start().addr().abs_diff(kept.start().addr()) < len;
        let own = if is_in_place && own.start() != kept.start().cast_const() {
            own.copy_to(kept);
            kept.as_read()
        } else {
            own
        };
        let place = |rank| if is_in_place && rank < me { room.part(0, len) } else { kept };
        // What has to be copied goes where the result will be, unless something is there.
        let given = |rank, earlier: LentSpan<'s>| -> Result<LentSpan<'s>, Failure> {
            if rank == me {
                return Ok(own.into());
            }
            if op.where_it_lies().is_some() {
                return self.part_of(rank, offset, len);
            }
            let is_free = earlier.as_read().start() != place(rank).start().cast_const();
            let into = if is_free { place(rank) } else { room.part(stride, len) };
            self.read(rank, 0, offset, into, 3 * len)?;
            Ok(into.as_read().into())
        };
        let mut earlier = given(0, ReadSpan::EMPTY.into())?;
        for rank in 1..self.team.size() {
            combine(&self.team, op, earlier, given(rank, earlier)?, place(rank));
            earlier = place(rank).as_read().into();
        }
        Ok(())
    }

    /// So many bytes from `offset` on of `rank`'s first piece, where they lie.
    fn part_of(&self, rank: usize, offset: usize, len: usize) -> Result<LentSpan<'a>, Failure> {
        let (peer, address) = (self.team.peers[rank], self.addresses[rank][0].address());
        let part = self.team.process.engine().shared_part(peer, &address).and_then(|whole| whole.part(offset, len));
        let part = part.ok_or(Failure::Remote { peer, error: RemoteError::Refused })?;
        Ok(self.team.shared_span(part))
    }

    /// Copies to `rank`'s piece `which`.
    fn write(&self, rank: usize, which: usize, offset: usize, from: ReadSpan<'_>) -> Outcome {
        self.write_to(rank, &self.addresses[rank][which].address(), offset, from)
    }

    fn write_to(&self, rank: usize, address: &RemoteAddress, offset: usize, from: ReadSpan<'_>) -> Outcome {
        self.team.process.engine().write_published(self.team.peers[rank], address, offset, from)
    }
}

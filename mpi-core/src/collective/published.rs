//! What the ranks of a team let each other use while a collective lasts: for long data on one node.
//!
//! Each rank tells the others where its data lie; everybody then copies or combines what it needs straight from there,
//! at its own pace, or puts it where others want it; and whoever is done waits in a barrier until all are, so that the
//! data may change again. Nothing is copied twice, and nobody waits for a particular message.

use rwmpi_transport::{LentSpan, ReadSpan, Reading, RemoteAddress, RemoteError, WriteSpan};
use smallvec::SmallVec;

use super::alltoall::send_to_all;
use super::barrier::barrier;
use super::broadcast::tree;
use super::reduction::Reduction;
use super::scratch::{Scratch, combine};
use super::shelves::{Round, Shelves};
use super::team::Team;
use crate::apart::apart;
use crate::engine::Failure;
use crate::select::collective::{chunk, copies_aside, portion};

/// One address on the wire. Nothing at all can be told by a length that none has.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Told {
    space: u64,
    place: u64,
    len: u64,
}

/// Of few ranks in place: the futures that hold them pass over the stack.
pub(super) type Addresses = SmallVec<[[Told; 2]; 2]>;

impl Told {
    pub(super) const UNREADABLE: Told = Told { space: 0, place: 0, len: u64::MAX };
    /// Of one that has nothing there.
    pub(super) const NOTHING: Told = Told { space: 0, place: 0, len: 0 };

    pub(super) fn is_readable(self) -> bool {
        self.len != Told::UNREADABLE.len
    }

    pub(super) fn address(self) -> RemoteAddress {
        RemoteAddress { space: self.space, place: self.place, len: self.len }
    }
}

/// How far apart the pieces of a row begin.
fn distance_in_row(whole: u64, piece: u64, pieces: usize) -> u64 {
    whole.saturating_sub(piece) / (pieces as u64 - 1).max(1)
}

fn all_readable(told: &[[Told; 2]]) -> bool {
    told.iter().flatten().all(|told| told.is_readable())
}

/// Of every rank, two pieces of memory that can be read and, as the collective has it, written.
pub(crate) struct Published<'a> {
    team: Team<'a>,
    /// By rank.
    told: Addresses,
    /// By which they were told, if not by messages.
    shelves: Option<&'a Shelves>,
}

/// How a collective on long data goes on, once ranks have looked at each other's shelves.
pub(super) enum Way {
    /// It does not: all is done, or not all have as long data, which has been noted.
    Done,
    /// By messages: some memory can't be read by others.
    Messages,
    /// By messages, and nobody knows yet how long the others' data are: there are no shelves.
    Unsettled,
}

impl<'a> Team<'a> {
    /// Whether it pays to ask for each other's memory. The same on all ranks of a team.
    pub(crate) fn may_publish(&self) -> bool {
        self.process.engine().may_publish(self.peers)
    }

    /// Lets every other rank read what `mine` says for it until [`Published::meet`] has returned, and learns where
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
        apart(|| send_to_all(team, to, from)).await?;
        Ok(Published::new(self, heard, None))
    }

    /// As [`Team::publish`], `mine` for all, by shelves, if all have `len` bytes. Does `meanwhile` once the others can
    /// know, then `with` all that has been told, and returns when no rank uses the others' memory any more.
    #[inline]
    pub(super) async fn show(
        self,
        len: usize,
        mine: impl FnOnce() -> [Told; 2],
        meanwhile: impl FnOnce() -> Result<(), Failure>,
        with: impl FnOnce(&Published<'_>) -> Result<(), Failure>,
    ) -> Result<Way, Failure> {
        if let Some(later) = self.later {
            return apart(|| later.show(self, len, mine(), meanwhile, with)).await;
        }
        let Some(shelves) = self.shelves()? else { return Ok(Way::Unsettled) };
        let round = shelves.announce(&self, len, &mine())?;
        meanwhile()?;
        round.let_all_come()?;
        let Some(told) = round.all_told(len)? else { return Ok(Way::Done) };
        let Some(published) = Published::new(self, told, Some(shelves)) else { return Ok(Way::Messages) };
        with(&published)?;
        round.leave();
        round.all_leave()?;
        Ok(Way::Done)
    }

    /// Says that data of `len` bytes, too many for shelves, go another way; `None`: there are no shelves.
    pub(super) fn announce_len(&self, len: usize) -> Result<Option<Round<'_>>, Failure> {
        let Some(shelves) = self.shelves()? else { return Ok(None) };
        shelves.announce(self, len, &[Told::UNREADABLE; 2]).map(Some)
    }

    /// As [`Team::show`], only `root`'s memory, which is copied to the `data` of all others. They need not wait for
    /// each other.
    pub(super) async fn show_from(self, root: usize, data: WriteSpan<'_>) -> Result<Way, Failure> {
        let (mine, nothing, len) = (self.tell_where(data.as_read()), Told::NOTHING, data.len());
        let mine = if self.rank == root { [mine, nothing] } else { [nothing, mine] };
        if let Some(later) = self.later {
            return apart(|| later.show_from(self, root, data, mine)).await;
        }
        let Some(shelves) = self.shelves()? else { return Ok(Way::Unsettled) };
        let round = shelves.announce(&self, len, &mine)?;
        if !round.agrees(root, len)? {
            return Ok(Way::Done);
        }
        if let Some(published) = Published::of(self, root, &round, shelves)? {
            published.spread(round, root, data)?;
            return Ok(Way::Done);
        }
        // What is done instead takes all.
        Ok(if round.all_agree(len)? { Way::Messages } else { Way::Done })
    }

    /// As [`Team::show_from`] at the root, where it pays to copy the data aside and go: readers come later than that
    /// where they share processors. False: nothing has happened.
    pub(super) fn spread_copy(self, data: ReadSpan<'_>) -> Result<bool, Failure> {
        match self.shelves()? {
            Some(shelves) if copies_aside(self.process.tuning(), data.len(), shelves.is_crowded()) => {
                shelves.announce_copy(&self, data)
            }
            _ => Ok(false),
        }
    }

    /// As [`Team::publish`], only `root`'s memory, as its first piece.
    pub(crate) async fn publish_from(self, root: usize, data: ReadSpan<'_>) -> Result<Option<Published<'a>>, Failure> {
        let mut told = if self.rank == root { self.tell_where(data) } else { Told::NOTHING };
        apart(|| tree(self.always_sends(), WriteSpan::from(bytemuck::bytes_of_mut(&mut told)), root)).await?;
        let told: Addresses = SmallVec::from_elem([told, Told::NOTHING], self.size());
        Ok(Published::new(self, told, None))
    }

    /// What is told by this team says what happens next, so it is told in any case.
    pub(super) fn always_sends(self) -> Self {
        Team { poisons: false, ..self }
    }

    /// Where pieces for all ranks lie, if they lie at equal distances: from where the first begins to where the last
    /// ends.
    pub(super) fn tell_row<'s>(self, piece: impl Fn(usize) -> ReadSpan<'s>) -> Told {
        let row: SmallVec<[Told; 8]> = (0..self.size()).map(|rank| self.tell_where(piece(rank))).collect();
        let (first, last) = (row[0], row[row.len() - 1]);
        let whole = last.place.wrapping_add(last.len).wrapping_sub(first.place);
        let is_there = |rank: usize, told: &Told| {
            let distance = distance_in_row(whole, first.len, row.len());
            told.is_readable() && told.space == first.space && told.place == first.place + rank as u64 * distance
        };
        let is_row = last.place >= first.place && row.iter().enumerate().all(|(rank, told)| is_there(rank, told));
        if is_row { Told { len: whole, ..first } } else { Told::UNREADABLE }
    }

    pub(super) fn tell_where(self, span: ReadSpan<'_>) -> Told {
        let address = self.process.engine().published(self.peers, span);
        address.map_or(Told::UNREADABLE, |RemoteAddress { space, place, len }| Told { space, place, len })
    }
}

impl<'a> Published<'a> {
    /// What ranks have told, if all of that can be read.
    pub(super) fn new(team: Team<'a>, told: Addresses, shelves: Option<&'a Shelves>) -> Option<Self> {
        all_readable(&told).then_some(Published { team, told, shelves })
    }

    /// What `root` alone has told.
    pub(super) fn of(
        team: Team<'a>,
        root: usize,
        round: &Round<'_>,
        shelves: &'a Shelves,
    ) -> Result<Option<Self>, Failure> {
        Ok(Published::new(team, SmallVec::from_elem(round.told(root)?, team.size()), Some(shelves)))
    }

    /// Waits until no rank uses the others' memory any more, where it was told by messages.
    pub(crate) async fn meet(self) -> Result<(), Failure> {
        apart(|| barrier(self.team)).await
    }

    /// As [`Published::spread`], where it was told by messages.
    pub(crate) async fn read_from(self, root: usize, data: WriteSpan<'_>) -> Result<(), Failure> {
        if self.team.rank != root {
            self.read(root, 0, 0, data, self.team.size().saturating_mul(data.len()))?;
        }
        self.meet().await
    }

    /// Copies `root`'s first piece to the `data` of all others, and waits until nobody uses this rank's memory any
    /// more. Each reads it in chunks; the root, which would only wait, puts there what its owner has not come to yet.
    fn spread(&self, round: Round<'_>, root: usize, data: WriteSpan<'_>) -> Result<(), Failure> {
        if self.team.rank == root {
            return self.help_all(round, data);
        }
        let left = self.take_chunks(round, root, data)?;
        round.leave();
        round.wait_for_help(root, left)
    }

    /// Copies chunks of `root`'s first piece to `data` until none is left; how many the root puts there.
    pub(super) fn take_chunks(&self, round: Round<'_>, root: usize, data: WriteSpan<'_>) -> Result<u64, Failure> {
        let working_set = self.team.size().saturating_mul(data.len());
        let mut left = data.len().div_ceil(self.chunk(data.len())) as u64;
        let mut next = Some(0);
        while let Some((start, part)) = next.and_then(|number| self.part_of_chunk(data, number)) {
            self.read(root, 0, start, part, working_set)?;
            left = left.saturating_sub(1);
            next = Some(round.take_chunk(self.team.rank));
        }
        Ok(left)
    }

    /// Puts this rank's `data` where `rank` wants them, chunk by chunk, until none is left.
    pub(super) fn bring_chunks(&self, round: Round<'_>, rank: usize, data: WriteSpan<'_>) -> Result<(), Failure> {
        let [_, into] = round.told(rank)?;
        while into.is_readable()
            && let Some((start, part)) = self.part_of_chunk(data, round.take_chunk(rank))
        {
            self.write_to(rank, &into.address(), start, part.as_read())?;
            round.has_helped(rank);
        }
        Ok(())
    }

    /// Brings all the others their chunks, and waits until all have them.
    fn help_all(&self, round: Round<'_>, data: WriteSpan<'_>) -> Result<(), Failure> {
        let help = |rank: usize| -> Result<bool, Failure> {
            let agrees = round.agrees(rank, data.len())?;
            if agrees {
                self.bring_chunks(round, rank, data)?;
            }
            Ok(agrees)
        };
        round.let_all_come()?;
        round.others().filter(|&rank| round.has_come(rank)).try_for_each(|rank| help(rank).map(drop))?;
        for rank in round.others() {
            if help(rank)? {
                round.has_left(rank)?;
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
    ) -> Result<(), Failure> {
        if into.is_empty() {
            return Ok(());
        }
        let (peer, address) = (self.team.peers[rank], self.told[rank][which].address());
        // The parts of an all-to-all have one reader each, but to write them back gains nothing where more than two
        // ranks have two cores.
        let with_others = self.team.size() > 2;
        let reading = Reading { working_set: working_set as u64, with_others };
        self.team.process.engine().read_published(peer, &address, offset, into, reading)
    }

    /// Copies this rank's piece of what `rank` has told by [`Team::tell_row`], where each piece is `len` bytes long.
    pub(super) fn read_of_row(
        &self,
        rank: usize,
        len: usize,
        into: WriteSpan<'_>,
        working_set: usize,
    ) -> Result<(), Failure> {
        let distance = distance_in_row(self.told[rank][0].len, len as u64, self.team.size());
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
    ) -> Result<(), Failure> {
        let element = op.element().max(1);
        let portion = (portion(self.team.process.tuning(), own.len()) / element).max(1) * element;
        let stride = portion.next_multiple_of(size_of::<u128>());
        let combine = |room: WriteSpan<'_>| -> Result<(), Failure> {
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
        match self.shelves {
            Some(shelves) => shelves.with_room(strides * stride, combine),
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
    ) -> Result<(), Failure>
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
        let (peer, address) = (self.team.peers[rank], self.told[rank][0].address());
        let part = self.team.process.engine().shared_part(peer, &address).and_then(|whole| whole.part(offset, len));
        let part = part.ok_or(Failure::Remote { peer, error: RemoteError::Refused })?;
        Ok(self.team.shared_span(part))
    }

    /// Copies to `rank`'s piece `which`.
    fn write(&self, rank: usize, which: usize, offset: usize, from: ReadSpan<'_>) -> Result<(), Failure> {
        self.write_to(rank, &self.told[rank][which].address(), offset, from)
    }

    fn write_to(&self, rank: usize, address: &RemoteAddress, offset: usize, from: ReadSpan<'_>) -> Result<(), Failure> {
        self.team.process.engine().write_published(self.team.peers[rank], address, offset, from)
    }
}

//! Collectives of values, whatever they are ([`Message`]): the algorithms. What programs call is in `value_calls`.
//!
//! Values whose type has one size are buffers of bytes to the algorithms of all other collectives. Of others the ranks exchange
//! lengths first; reductions of them go up a tree, in rank order, each message behind its length.
//!
//! A value that can't be made into bytes, bytes that are no value, an operation that panics: the rank concerned goes on taking part, and
//! what it passes on says that it has nothing, so that every rank whose result depends on it gets an error and none waits in vain.

use std::any::type_name;
use std::panic::resume_unwind;

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::combining::{AnyLength, Combining, NOTHING, Obstacle};
use super::{
    Team, Trouble, allgather, allreduce, alltoall, broadcast, exchange_with_neighbours, gather, reduce, scatter,
};
use crate::activity::Call;
use crate::engine::Failure;
use crate::error::{Error, ErrorClass};
use crate::message::{Writer, encoded};
use crate::values::{Room, room};
use crate::{Communicator, Message, Neighbours, Result};

/// One collective of values, of the ranks of a team.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) communicator: &'a Communicator,
    pub(super) call: Call,
    pub(super) team: Team<'a>,
}

/// Where parts of these lengths lie, one behind the other.
struct Lengths {
    counts: Vec<usize>,
    starts: Vec<usize>,
}

impl Lengths {
    fn new(lengths: &[u64]) -> Self {
        let counts: Vec<usize> =
            lengths.iter().map(|&length| if length == NOTHING { 0 } else { length as usize }).collect();
        let start = |end: &mut usize, &count: &usize| {
            *end = end.saturating_add(count);
            Some(*end - count)
        };
        let starts = counts.iter().scan(0, start).collect();
        Lengths { counts, starts }
    }

    fn total(&self) -> u64 {
        self.counts.iter().fold(0_u64, |sum, &count| sum.saturating_add(count as u64))
    }

    /// Each rank's part of what is sent.
    fn of<'a>(&self, all: &'a [u8]) -> impl Fn(usize) -> ReadSpan<'a> {
        let all = ReadSpan::from(all);
        move |rank| all.part(self.starts[rank], self.counts[rank])
    }

    /// Each rank's part of what is received.
    fn place<'a>(&self, all: &'a mut [u8]) -> impl Fn(usize) -> WriteSpan<'a> {
        let all = WriteSpan::from(all);
        move |rank| all.part(self.starts[rank], self.counts[rank])
    }
}

impl Values<'_> {
    /// The same ranks, for values of that type.
    pub(super) fn of<T: Message>(self) -> Self {
        Values { team: Team { mark: T::mark(), ..self.team }, ..self }
    }

    /// A value's bytes. Where they can't be had this rank has nothing to give.
    fn encoded<T: Message>(&self, value: &T) -> Result<Writer> {
        self.communicator.encode(self.call, value)
    }

    fn decoded<T: Message>(&self, bytes: &[u8], from: Option<usize>) -> Result<T> {
        self.communicator.decode(self.call, bytes, from)
    }

    fn failed(&self, failure: Failure) -> Error {
        self.communicator.failed(self.call)(failure)
    }

    #[cold]
    fn nothing<T>(&self, rank: usize) -> Error {
        let what = format!("rank {rank} had no {} to give: it, or a rank before it, says why", type_name::<T>());
        Error::argument(ErrorClass::Other, self.communicator, self.call, what)
    }

    pub(super) async fn broadcast<T: Message>(self, value: T, root: usize) -> Result<T> {
        let at_root = self.team.rank == root;
        let own = if at_root { self.encoded(&value) } else { Ok(Writer::default()) };
        let shared = self.share(T::FIXED_SIZE, own.as_ref().ok(), root).await?;
        own?;
        match shared {
            None => Err(self.nothing::<T>(root)),
            Some(_) if at_root => Ok(value),
            Some(bytes) => self.decoded(&bytes, Some(root)),
        }
    }

    /// Bytes of `root`, of a length that all know or none, to all, if it has any.
    async fn share(&self, size: Option<usize>, own: Option<&Writer>, root: usize) -> Result<Option<Room>> {
        let mut bytes = match size {
            Some(size) => room(size),
            None => {
                let mut length = own.map_or(NOTHING, |own| own.bytes().len() as u64);
                let told = WriteSpan::from(bytemuck::bytes_of_mut(&mut length));
                broadcast(self.team, told, root).await.map_err(|failure| self.failed(failure))?;
                if length == NOTHING {
                    return Ok(None);
                }
                self.communicator.room(length)?.into()
            }
        };
        if self.team.rank == root
            && let Some(own) = own
        {
            bytes.copy_from_slice(own.bytes());
        }
        broadcast(self.team, bytes[..].as_mut().into(), root).await.map_err(|failure| self.failed(failure))?;
        Ok(Some(bytes))
    }

    pub(super) async fn allreduce<T: Message>(self, value: T, op: impl Fn(&T, &T) -> T) -> Result<T> {
        if let Some(size) = T::FIXED_SIZE {
            let (mut bytes, own) = self.sized(&value, size);
            let op = Combining::new(op);
            let place = WriteSpan::from(&mut bytes[..]);
            allreduce(self.poisoning(), place.as_read(), place, &op).await.map_err(|failure| self.failed(failure))?;
            own?;
            self.settle(op.outcome())?;
            return self.decoded(&bytes, None);
        }
        let combining = AnyLength::new(op);
        let reduced = combining.reduce(self.team, value, 0).await.map_err(|failure| self.failed(failure))?;
        let own = reduced.as_ref().map(|value| combining.encode(value)).unwrap_or_default();
        let shared = self.share(None, own.as_ref(), 0).await?;
        self.outcome(combining)?;
        match (reduced, shared) {
            (_, None) => Err(self.nothing::<T>(0)),
            (Some(value), _) if self.team.rank == 0 => Ok(value),
            (_, Some(bytes)) => self.decoded(&bytes, Some(0)),
        }
    }

    pub(super) async fn reduce<T: Message>(self, value: T, op: impl Fn(&T, &T) -> T, root: usize) -> Result<Option<T>> {
        let at_root = self.team.rank == root;
        if let Some(size) = T::FIXED_SIZE {
            let ((bytes, own), mut result) = (self.sized(&value, size), room(size));
            let op = Combining::new(op);
            let place = WriteSpan::from(&mut result[..]);
            let reduced = reduce(self.poisoning(), bytes[..].as_ref().into(), place, &op, root).await;
            reduced.map_err(|failure| self.failed(failure))?;
            own?;
            self.settle(op.outcome())?;
            return at_root.then(|| self.decoded(&result, None)).transpose();
        }
        let combining = AnyLength::new(op);
        let reduced = combining.reduce(self.team, value, root).await.map_err(|failure| self.failed(failure))?;
        self.outcome(combining)?;
        Ok(reduced.filter(|_| at_root))
    }

    /// What is made of the values of the ranks up to this one, and of those before it.
    pub(super) async fn scan<T: Message>(self, value: T, op: impl Fn(&T, &T) -> T) -> Result<(T, Option<T>)> {
        let combining = AnyLength::new(op);
        let scanned = combining.scan(self.team, value).await.map_err(|failure| self.failed(failure))?;
        self.outcome(combining)?;
        Ok((scanned.0.ok_or_else(|| self.nothing::<T>(self.team.rank))?, scanned.1))
    }

    /// A value's bytes, of which there are `size`. A rank that has none takes part all the same, in trouble.
    fn sized<T: Message>(&self, value: &T, size: usize) -> (Room, Result<()>) {
        let mut bytes = room(size);
        let encoded = value.encode_sized(&mut bytes).map_err(|error| {
            self.team.note(Failure::Nothing { source: self.team.peers[self.team.rank] });
            self.communicator.not_encoded::<T>(self.call, &error)
        });
        (bytes, encoded)
    }

    /// The ranks where all messages are data.
    fn poisoning(&self) -> Team<'_> {
        Team { poisons: true, ..self.team }
    }

    /// What a reduction of values of one size has come to: what went wrong here, or what this rank was told.
    fn settle(&self, outcome: std::result::Result<(), Failure>) -> Result<()> {
        let told = self.team.trouble.and_then(Trouble::get).map_or(Ok(()), Err);
        outcome.and(told).map_err(|failure| self.failed(failure))
    }

    /// What has gone wrong here in a reduction of values of any length. If the operation has panicked, it does so now.
    fn outcome<T: Message, F: Fn(&T, &T) -> T>(&self, combining: AnyLength<T, F>) -> Result<()> {
        match combining.into_obstacle() {
            None => Ok(()),
            Some(Obstacle::Codec(error)) => {
                let what = format!("a {} could not be passed on: {error}", type_name::<T>());
                Err(Error::argument(ErrorClass::Datatype, self.communicator, self.call, what))
            }
            Some(Obstacle::Elsewhere(rank)) => Err(self.nothing::<T>(rank)),
            Some(Obstacle::Panic(panic)) => resume_unwind(panic),
        }
    }

    /// What all ranks' parts have in common where their lengths are known, and what each says otherwise.
    fn known_lengths<T: Message>(&self) -> Vec<u64> {
        vec![T::FIXED_SIZE.map_or(NOTHING, |size| size as u64); self.team.size()]
    }

    pub(super) async fn gather<T: Message>(self, own: Result<Writer>, root: usize) -> Result<Option<Vec<T>>> {
        let bytes = own.as_ref().map_or(&[][..], Writer::bytes);
        let at_root = self.team.rank == root;
        let mut lengths = if at_root { self.known_lengths::<T>() } else { Vec::new() };
        if T::FIXED_SIZE.is_none() {
            let length = own.as_ref().map_or(NOTHING, |own| own.bytes().len() as u64);
            let heard = WriteSpan::from(bytemuck::cast_slice_mut(&mut lengths));
            let each = size_of::<u64>();
            let told = ReadSpan::from(bytemuck::bytes_of(&length));
            let gathered = gather(self.team, Some(told), |rank| heard.part(rank * each, each), root).await;
            gathered.map_err(|failure| self.failed(failure))?;
        }
        let parts = Lengths::new(&lengths);
        let mut all = self.communicator.room(parts.total())?;
        let gathered = gather(self.team, Some(bytes.into()), parts.place(&mut all), root).await;
        gathered.map_err(|failure| self.failed(failure))?;
        own?;
        if at_root { self.decode_parts(&all, &lengths).map(Some) } else { Ok(None) }
    }

    pub(super) async fn allgather<T: Message>(self, own: Result<Writer>) -> Result<Vec<T>> {
        let bytes = own.as_ref().map_or(&[][..], Writer::bytes);
        let mut lengths = self.known_lengths::<T>();
        if T::FIXED_SIZE.is_none() {
            lengths[self.team.rank] = own.as_ref().map_or(NOTHING, |own| own.bytes().len() as u64);
            let each = size_of::<u64>();
            let heard = WriteSpan::from(bytemuck::cast_slice_mut(&mut lengths));
            let gathered = allgather(self.team, |rank| heard.part(rank * each, each)).await;
            gathered.map_err(|failure| self.failed(failure))?;
        }
        let parts = Lengths::new(&lengths);
        let mut all = self.communicator.room(parts.total())?;
        let place = parts.place(&mut all);
        self.team.copy(bytes.into(), place(self.team.rank)).map_err(|failure| self.failed(failure))?;
        allgather(self.team, place).await.map_err(|failure| self.failed(failure))?;
        own?;
        self.decode_parts(&all, &lengths)
    }

    pub(super) async fn scatter<T: Message>(self, all: Writer, lengths: Vec<u64>, root: usize) -> Result<T> {
        let mut length = T::FIXED_SIZE.map_or(NOTHING, |size| size as u64);
        if T::FIXED_SIZE.is_none() {
            let each = size_of::<u64>();
            let told = ReadSpan::from(bytemuck::cast_slice(&lengths));
            let heard = WriteSpan::from(bytemuck::bytes_of_mut(&mut length));
            let scattered = scatter(self.team, |rank| told.part(rank * each, each), Some(heard), root).await;
            scattered.map_err(|failure| self.failed(failure))?;
        }
        let parts = Lengths::new(&lengths);
        let mut part = self.communicator.room(if length == NOTHING { 0 } else { length })?;
        let place = WriteSpan::from(&mut part[..]);
        let scattered = scatter(self.team, parts.of(all.bytes()), Some(place), root).await;
        scattered.map_err(|failure| self.failed(failure))?;
        if length == NOTHING {
            return Err(self.nothing::<T>(root));
        }
        self.decoded(&part, Some(root))
    }

    pub(super) async fn alltoall<T: Message>(self, data: Writer, sent: Vec<u64>) -> Result<Vec<T>> {
        let mut received = self.known_lengths::<T>();
        if T::FIXED_SIZE.is_none() {
            let each = size_of::<u64>();
            let told = ReadSpan::from(bytemuck::cast_slice(&sent));
            let heard = WriteSpan::from(bytemuck::cast_slice_mut(&mut received));
            let (told, heard) = (|rank| told.part(rank * each, each), |rank| heard.part(rank * each, each));
            alltoall(self.team, told, heard, true).await.map_err(|failure| self.failed(failure))?;
        }
        let (outgoing, incoming) = (Lengths::new(&sent), Lengths::new(&received));
        let mut result = self.communicator.room(incoming.total())?;
        let exchanged = alltoall(self.team, outgoing.of(data.bytes()), incoming.place(&mut result), false).await;
        exchanged.map_err(|failure| self.failed(failure))?;
        self.decode_parts(&result, &received)
    }

    /// Of what a neighbour has sent, at its place; `None` where there is nobody.
    pub(super) async fn with_neighbours<T: Message>(
        self,
        data: Writer,
        sent: Vec<u64>,
        with: &Neighbours,
    ) -> Result<Vec<Option<T>>> {
        let sources: Vec<Option<usize>> = with.sources.iter().map(|source| source.rank()).collect();
        let destinations: Vec<Option<usize>> = with.destinations.iter().map(|destination| destination.rank()).collect();
        let grid = self.communicator.cartesian().is_ok();
        let mut received = vec![T::FIXED_SIZE.map_or(NOTHING, |size| size as u64); sources.len()];
        if T::FIXED_SIZE.is_none() {
            let each = size_of::<u64>();
            let told = ReadSpan::from(bytemuck::cast_slice(&sent));
            let heard = WriteSpan::from(bytemuck::cast_slice_mut(&mut received));
            let (told, heard) = (|place| told.part(place * each, each), |place| heard.part(place * each, each));
            let exchanged = exchange_with_neighbours(self.team, &sources, &destinations, grid, told, heard).await;
            exchanged.map_err(|failure| self.failed(failure))?;
        }
        let (outgoing, incoming) = (Lengths::new(&sent), Lengths::new(&received));
        let mut all = self.communicator.room(incoming.total())?;
        let (from, to) = (outgoing.of(data.bytes()), incoming.place(&mut all));
        let exchanged = exchange_with_neighbours(self.team, &sources, &destinations, grid, from, to).await;
        exchanged.map_err(|failure| self.failed(failure))?;
        let value = |(place, source): (usize, &Option<usize>)| {
            let Some(rank) = *source else { return Ok(None) };
            if received[place] == NOTHING {
                return Err(self.nothing::<T>(rank));
            }
            self.decoded(&all[incoming.starts[place]..][..incoming.counts[place]], Some(rank)).map(Some)
        };
        sources.iter().enumerate().map(value).collect()
    }

    fn decode_parts<T: Message>(&self, all: &[u8], lengths: &[u64]) -> Result<Vec<T>> {
        let mut rest = all;
        let decode = |(rank, &length): (usize, &u64)| {
            if length == NOTHING {
                return Err(self.nothing::<T>(rank));
            }
            let (bytes, behind) = rest.split_at(length as usize);
            rest = behind;
            self.decoded(bytes, Some(rank))
        };
        lengths.iter().enumerate().map(decode).collect()
    }
}

/// The values' bytes one behind the other, and their lengths.
pub(super) fn encode_parts<T: Message>(values: &[T]) -> (Writer, Vec<u64>) {
    let mut all = Writer::default();
    let length = |value: &T| match encoded(value) {
        Ok(bytes) => {
            all.put(bytes.bytes());
            bytes.bytes().len() as u64
        }
        Err(_) => NOTHING,
    };
    let lengths = values.iter().map(length).collect();
    (all, lengths)
}

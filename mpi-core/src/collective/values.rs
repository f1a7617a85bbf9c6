//! Collectives of values, whatever they are ([`Message`]): the algorithms. What programs call is in `value_calls`.
//!
//! Values whose type has one size are buffers of bytes to the algorithms of all other collectives. Of others the ranks
//! exchange lengths first; reductions of them go up a tree, in rank order, each message behind its length.
//!
//! A value that can't be made into bytes, bytes that are no value, an operation that panics: the rank concerned goes on
//! taking part, and what it passes on says that it has nothing, so that every rank whose result depends on it gets an
//! error and none waits in vain.

use std::any::type_name;
use std::panic::resume_unwind;

use rwmpi_collective::{
    Allreduce, Reduce, Reduction, Team, Trouble, allgather, allreduce, alltoall, broadcast, exchange_with_neighbours,
    gather, reduce, scatter,
};
use rwmpi_transport::{ReadSpan, WriteSpan};

use super::combining::{AnyLength, Combining, NOTHING, Obstacle};
use super::places::{Parcels, Places};
use crate::activity::Call;
use crate::engine::Failure;
use crate::error::{Error, ErrorClass};
use crate::message::{CodecError, Parcel, Place};
use crate::{Communicator, Message, Neighbours, Result};

/// Where each length of a list is, as one to give,
fn each<'a>(lengths: &'a [u64]) -> impl Fn(usize) -> ReadSpan<'a> {
    let all = ReadSpan::from(bytemuck::cast_slice(lengths));
    move |place| all.part(place * size_of::<u64>(), size_of::<u64>())
}

/// and as a place for one.
fn each_place<'a>(lengths: &'a mut [u64]) -> impl Fn(usize) -> WriteSpan<'a> {
    let all = WriteSpan::from(bytemuck::cast_slice_mut(lengths));
    move |place| all.part(place * size_of::<u64>(), size_of::<u64>())
}

/// One collective of values, of the ranks of a team.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) communicator: &'a Communicator,
    pub(super) call: Call,
    pub(super) team: Team<'a>,
}

impl Values<'_> {
    /// The same ranks, for values of that type.
    pub(super) fn of<T: Message>(self) -> Self {
        Values { team: Team { mark: T::mark(), ..self.team }, ..self }
    }

    /// What a step comes to.
    async fn done<R>(&self, step: impl Future<Output = std::result::Result<R, Failure>>) -> Result<R> {
        step.await.map_err(self.communicator.failed(self.call))
    }

    #[cold]
    fn nothing<T>(&self, rank: usize) -> Error {
        let what = format!("rank {rank} had no {} to give: it, or a rank before it, says why", type_name::<T>());
        Error::argument(ErrorClass::Other, self.communicator, self.call, what)
    }

    /// This rank has nothing to give.
    fn note_nothing(&self) {
        self.team.note(Failure::Nothing { source: self.team.peers[self.team.rank] });
    }

    /// What went wrong here, or what this rank was told.
    fn settle(&self, outcome: std::result::Result<(), Failure>) -> Result<()> {
        let told = self.team.trouble.map_or(Ok(()), Trouble::outcome);
        outcome.and(told).map_err(self.communicator.failed(self.call))
    }

    /// The value that a collective which has come to its end has brought to all of `place`, unless this rank is in
    /// trouble.
    pub(super) fn landed<T: Message>(&self, place: Place<T>, from: Option<usize>) -> Result<T> {
        self.settle(Ok(()))?;
        let len = place.len();
        place.value(len).map_err(|error| self.communicator.not_decoded::<T>(self.call, len, from, &error))
    }

    pub(super) async fn broadcast<T: Message>(self, value: T, root: usize) -> Result<T> {
        if self.team.rank != root {
            return self.see(root).await;
        }
        let own = self.communicator.parcel(self.call, &value);
        self.show::<T>(own.as_ref().ok()).await?;
        own?;
        Ok(value)
    }

    /// Gives this rank's message to all, if it has any.
    async fn show<T: Message>(&self, own: Option<&Parcel<'_>>) -> Result<()> {
        let me = self.team.rank;
        if T::FIXED_SIZE.is_none() {
            let mut length = own.map_or(NOTHING, |own| own.bytes().len() as u64);
            let told = WriteSpan::from(bytemuck::bytes_of_mut(&mut length));
            self.done(broadcast(self.team, told, me)).await?;
        }
        match (own, T::FIXED_SIZE) {
            (Some(own), _) => self.done(broadcast(self.team, own.at_root(), me)).await,
            (None, None) => Ok(()),
            (None, Some(size)) => {
                self.note_nothing();
                let mut nothing = Place::<T>::of_zeros(size);
                self.done(broadcast(self.spreading_trouble(), nothing.span(), me)).await
            }
        }
    }

    /// The value that `root` shows.
    async fn see<T: Message>(&self, root: usize) -> Result<T> {
        let mut length = T::FIXED_SIZE.map_or(NOTHING, |size| size as u64);
        if T::FIXED_SIZE.is_none() {
            let told = WriteSpan::from(bytemuck::bytes_of_mut(&mut length));
            self.done(broadcast(self.team, told, root)).await?;
            if length == NOTHING {
                return Err(self.nothing::<T>(root));
            }
        }
        let mut place = self.communicator.place::<T>(length)?;
        self.done(broadcast(self.team, place.span(), root)).await?;
        self.landed(place, Some(root))
    }

    pub(super) async fn allreduce<T: Message>(self, value: T, op: impl Fn(&T, &T) -> T) -> Result<T> {
        if let Some(size) = T::FIXED_SIZE {
            let (mut held, own) = self.held(value, size);
            let op = Combining::new(op);
            let place = held.span();
            let reduced = Allreduce { data: place.as_read(), result: place, op: &op as &dyn Reduction };
            self.done(allreduce(self.spreading_trouble(), reduced)).await?;
            own?;
            self.settle(op.outcome())?;
            return self.landed(held, None);
        }
        let combining = AnyLength::new(op);
        let reduced = self.done(combining.reduce(self.team, value, 0)).await?;
        let at_root = self.team.rank == 0;
        let shared = if at_root {
            self.show::<T>(reduced.as_ref().and_then(|value| combining.parcel(value)).as_ref()).await?;
            reduced.ok_or_else(|| self.nothing::<T>(0))
        } else {
            self.see(0).await
        };
        self.outcome(combining)?;
        shared
    }

    pub(super) async fn reduce<T: Message>(self, value: T, op: impl Fn(&T, &T) -> T, root: usize) -> Result<Option<T>> {
        let at_root = self.team.rank == root;
        if let Some(size) = T::FIXED_SIZE {
            let (mut held, own) = self.held(value, size);
            let op = Combining::new(op);
            let place = held.span();
            let reduced = Reduce { data: place.as_read(), result: place, op: &op as &dyn Reduction, root };
            self.done(reduce(self.spreading_trouble(), reduced)).await?;
            own?;
            self.settle(op.outcome())?;
            return at_root.then(|| self.landed(held, None)).transpose();
        }
        let combining = AnyLength::new(op);
        let reduced = self.done(combining.reduce(self.team, value, root)).await?;
        self.outcome(combining)?;
        Ok(reduced.filter(|_| at_root))
    }

    /// What is made of the values of the ranks up to this one, and of those before it.
    pub(super) async fn scan<T: Message>(self, value: T, op: impl Fn(&T, &T) -> T) -> Result<(T, Option<T>)> {
        let combining = AnyLength::new(op);
        let scanned = self.done(combining.scan(self.team, value)).await?;
        self.outcome(combining)?;
        Ok((scanned.0.ok_or_else(|| self.nothing::<T>(self.team.rank))?, scanned.1))
    }

    /// A value of `size` bytes, where it is to be combined with others. A rank that has none takes part all the same,
    /// in trouble.
    fn held<T: Message>(&self, value: T, size: usize) -> (Place<T>, Result<()>) {
        match Place::holding(value) {
            Ok(place) if place.len() == size => (place, Ok(())),
            other => {
                self.note_nothing();
                let error = other.err().unwrap_or_else(|| CodecError::new(format!("it has not {size} bytes")));
                (Place::of_zeros(size), Err(self.communicator.not_encoded::<T>(self.call, &error)))
            }
        }
    }

    /// The ranks where all messages are data.
    fn spreading_trouble(&self) -> Team<'_> {
        Team { spreads_trouble: true, ..self.team }
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

    /// What has arrived in places of these lengths.
    fn all_landed<T: Message>(&self, places: Places<T>, lengths: &[u64]) -> Result<Vec<T>> {
        if let Some(rank) = lengths.iter().position(|&length| length == NOTHING) {
            return Err(self.nothing::<T>(rank));
        }
        places.each(|place, rank| self.landed(place, rank), |together| self.landed(together, None))
    }

    /// Room for messages of these lengths.
    fn places<T: Message>(&self, lengths: &[u64]) -> Result<Places<T>> {
        Places::new(lengths)
            .ok_or_else(|| self.communicator.no_room(lengths.iter().fold(0, |sum, &length| sum.saturating_add(length))))
    }

    pub(super) async fn gather<T: Message>(self, own: Result<Parcel<'_>>, root: usize) -> Result<Option<Vec<T>>> {
        let bytes = own.as_ref().map_or(&[][..], Parcel::bytes);
        let at_root = self.team.rank == root;
        let mut lengths = if at_root { self.known_lengths::<T>() } else { Vec::new() };
        if T::FIXED_SIZE.is_none() {
            let length = own.as_ref().map_or(NOTHING, |own| own.bytes().len() as u64);
            let told = ReadSpan::from(bytemuck::bytes_of(&length));
            self.done(gather(self.team, Some(told), each_place(&mut lengths), root, true)).await?;
        }
        let mut places = self.places::<T>(&lengths)?;
        let spans = places.spans();
        self.done(gather(self.team, Some(bytes.into()), |rank| spans[rank], root, false)).await?;
        own?;
        if at_root { self.all_landed(places, &lengths).map(Some) } else { Ok(None) }
    }

    pub(super) async fn allgather<T: Message>(self, own: Result<Parcel<'_>>) -> Result<Vec<T>> {
        let bytes = own.as_ref().map_or(&[][..], Parcel::bytes);
        let mut lengths = self.known_lengths::<T>();
        if T::FIXED_SIZE.is_none() {
            lengths[self.team.rank] = own.as_ref().map_or(NOTHING, |own| own.bytes().len() as u64);
            let place = each_place(&mut lengths);
            self.done(allgather(self.team, place(self.team.rank).as_read(), place)).await?;
        }
        let mut places = self.places::<T>(&lengths)?;
        let places_are_one = matches!(places, Places::Together(..));
        let spans = places.spans();
        let place = spans[self.team.rank];
        self.team.copy(bytes.into(), place).map_err(self.communicator.failed(self.call))?;
        let team = Team { nodes: self.team.nodes.filter(|_| places_are_one), ..self.team };
        self.done(allgather(team, place.as_read(), |rank| spans[rank])).await?;
        own?;
        self.all_landed(places, &lengths)
    }

    pub(super) async fn scatter<T: Message>(self, all: Parcels<'_>, root: usize) -> Result<T> {
        let mut length = T::FIXED_SIZE.map_or(NOTHING, |size| size as u64);
        if T::FIXED_SIZE.is_none() {
            let heard = WriteSpan::from(bytemuck::bytes_of_mut(&mut length));
            self.done(scatter(self.team, each(all.lengths()), Some(heard), root, true)).await?;
        }
        let mut place = self.communicator.place::<T>(if length == NOTHING { 0 } else { length })?;
        self.done(scatter(self.team, |rank| all.span(rank), Some(place.span()), root, false)).await?;
        if length == NOTHING {
            return Err(self.nothing::<T>(root));
        }
        self.landed(place, Some(root))
    }

    pub(super) async fn alltoall<T: Message>(self, data: Parcels<'_>) -> Result<Vec<T>> {
        let mut lengths = self.known_lengths::<T>();
        if T::FIXED_SIZE.is_none() {
            let (told, heard) = (each(data.lengths()), each_place(&mut lengths));
            self.done(alltoall(self.team, told, heard, true)).await?;
        }
        let mut places = self.places::<T>(&lengths)?;
        let spans = places.spans();
        self.done(alltoall(self.team, |rank| data.span(rank), |rank| spans[rank], false)).await?;
        self.all_landed(places, &lengths)
    }

    /// Of what a neighbour has sent, at its place; `None` where there is nobody.
    pub(super) async fn with_neighbours<T: Message>(
        self,
        data: Parcels<'_>,
        with: &Neighbours,
    ) -> Result<Vec<Option<T>>> {
        let sources: Vec<Option<usize>> = with.sources.iter().map(|source| source.rank()).collect();
        let destinations: Vec<Option<usize>> = with.destinations.iter().map(|destination| destination.rank()).collect();
        let grid = self.communicator.cartesian().is_ok();
        let mut lengths = vec![T::FIXED_SIZE.map_or(NOTHING, |size| size as u64); sources.len()];
        if T::FIXED_SIZE.is_none() {
            let (told, heard) = (each(data.lengths()), each_place(&mut lengths));
            self.done(exchange_with_neighbours(self.team, &sources, &destinations, grid, told, heard)).await?;
        }
        let mut places = sources
            .iter()
            .zip(&lengths)
            .map(|(source, &length)| match (source, length) {
                (None, _) | (_, NOTHING) => self.communicator.place::<T>(0),
                (Some(_), length) => self.communicator.place(length),
            })
            .collect::<Result<Vec<_>>>()?;
        let spans: Vec<WriteSpan<'_>> = places.iter_mut().map(Place::span).collect();
        let (from, to) = (|place| data.span(place), |place: usize| spans[place]);
        self.done(exchange_with_neighbours(self.team, &sources, &destinations, grid, from, to)).await?;
        let value = |((place, source), length): ((Place<T>, Option<usize>), u64)| match (source, length) {
            (None, _) => Ok(None),
            (Some(rank), NOTHING) => Err(self.nothing::<T>(rank)),
            (Some(_), _) => self.landed(place, source).map(Some),
        };
        places.into_iter().zip(sources.iter().copied()).zip(lengths).map(value).collect()
    }
}

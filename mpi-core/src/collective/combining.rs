//! Reductions of values: of one size, as elements of bytes; of any length, each message behind its length, up a tree in
//! rank order.

use std::any::{Any, type_name};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rwmpi_collective::{Flights, Named, Reduction, Team};
use rwmpi_transport::ReadSpan;

use super::checking::named;
use super::mishap::Mishap;
use crate::Message;
use crate::engine::Failure;
use crate::message::{CodecError, Parcel, Place};

/// In place of a length: there is nothing.
pub(super) const NOTHING: u64 = u64::MAX;

/// A function of two values of one size, on their bytes.
pub(super) struct Combining<T, F> {
    function: F,
    mishap: Mishap,
    values: PhantomData<T>,
}

impl<T: Message, F: Fn(&T, &T) -> T> Combining<T, F> {
    pub(super) fn new(function: F) -> Self {
        Combining { function, mishap: Mishap::default(), values: PhantomData }
    }

    #[inline]
    fn combine(&self, kept: &mut [u8], other: &[u8], combine: impl Fn(&T, &T) -> T) {
        self.mishap.guard(|| {
            if let (Some(value), Some(other)) = (T::FORM.at(kept), T::FORM.at(other)) {
                let combined = combine(value, other);
                return kept.copy_from_slice(T::FORM.lend(&combined).unwrap_or_default());
            }
            let combined = T::decode_sized(kept).and_then(|value| {
                let other = T::decode_sized(other)?;
                combine(&value, &other).encode_sized(kept)
            });
            if combined.is_err() {
                self.mishap.no_value.set(true);
            }
        });
    }
}

impl<T: Message, F: Fn(&T, &T) -> T> Reduction for Combining<T, F> {
    fn append(&self, kept: &mut [u8], later: &[u8]) {
        self.combine(kept, later, |kept, later| (self.function)(kept, later));
    }

    fn prepend(&self, earlier: &[u8], kept: &mut [u8]) {
        self.combine(kept, earlier, |kept, earlier| (self.function)(earlier, kept));
    }

    /// One value is all there is.
    fn element(&self) -> usize {
        T::FIXED_SIZE.unwrap_or(1).max(1)
    }

    fn named(&self) -> Option<Named> {
        named(&self.function)
    }

    fn failure(&self) -> Option<Failure> {
        self.mishap.failure(type_name::<T>())
    }

    #[inline]
    fn outcome(&self) -> Result<(), Failure> {
        self.mishap.outcome(type_name::<T>())
    }
}

/// Why a rank has nothing to pass on.
pub(super) enum Obstacle {
    /// A value could not be made into bytes, or bytes into a value.
    Codec(CodecError),
    /// That rank passed nothing on.
    Elsewhere(usize),
    /// The operation panicked.
    Panic(Box<dyn Any + Send>),
}

/// A function of two values of any length, and what has gone wrong with it first.
pub(super) struct AnyLength<T, F> {
    function: F,
    obstacle: RefCell<Option<Obstacle>>,
    values: PhantomData<T>,
}

impl<T: Message, F: Fn(&T, &T) -> T> AnyLength<T, F> {
    pub(super) fn new(function: F) -> Self {
        AnyLength { function, obstacle: RefCell::default(), values: PhantomData }
    }

    pub(super) fn into_obstacle(self) -> Option<Obstacle> {
        self.obstacle.into_inner()
    }

    fn note(&self, obstacle: Obstacle) {
        self.obstacle.borrow_mut().get_or_insert(obstacle);
    }

    fn combine(&self, earlier: &Option<T>, later: &Option<T>) -> Option<T> {
        let (earlier, later) = (earlier.as_ref()?, later.as_ref()?);
        // The others are to learn of a panic before it goes on: `into_obstacle` gives it back.
        let combined = catch_unwind(AssertUnwindSafe(|| (self.function)(earlier, later)));
        combined.map_err(|panic| self.note(Obstacle::Panic(panic))).ok()
    }

    pub(super) fn parcel<'v>(&self, value: &'v T) -> Option<Parcel<'v>> {
        Parcel::new(value).map_err(|error| self.note(Obstacle::Codec(error))).ok()
    }

    /// At `root`, the value made of all ranks', if there is one; elsewhere it has no meaning.
    pub(super) async fn reduce(&self, team: Team<'_>, value: T, root: usize) -> Result<Option<T>, Failure> {
        let (rank, size) = (team.rank, team.size());
        let mut combined = Some(value);
        let mut distance = 1;
        while distance < size {
            if !rank.is_multiple_of(2 * distance) {
                self.pass(team, &combined, rank - distance).await?;
                break;
            }
            if rank + distance < size {
                let later = self.take(team, rank + distance).await?;
                combined = self.combine(&combined, &later);
            }
            distance *= 2;
        }
        // The tree ends at rank 0, so that neighbours are combined in rank order.
        if root != 0 && rank == 0 {
            self.pass(team, &combined, root).await?;
        } else if root != 0 && rank == root {
            combined = self.take(team, 0).await?;
        }
        Ok(combined)
    }

    /// What is made of the values up to this rank's, and of those before it.
    pub(super) async fn scan(&self, team: Team<'_>, value: T) -> Result<(Option<T>, Option<T>), Failure> {
        let (rank, size) = (team.rank, team.size());
        let (mut inclusive, mut before): (_, Option<T>) = (Some(value), None);
        let mut distance = 1;
        while distance < size {
            let mut received = None;
            {
                let outgoing = Outgoing::new(inclusive.as_ref().and_then(|value| self.parcel(value)));
                let mut sends = team.flights();
                if rank + distance < size {
                    outgoing.start(&mut sends, rank + distance)?;
                }
                if rank >= distance {
                    received = self.take(team, rank - distance).await?;
                }
                sends.await?;
            }
            if rank >= distance {
                inclusive = self.combine(&received, &inclusive);
                before = if distance == 1 { received } else { self.combine(&received, &before) };
            }
            distance *= 2;
        }
        Ok((inclusive, before))
    }

    async fn pass(&self, team: Team<'_>, value: &Option<T>, to: usize) -> Result<(), Failure> {
        let outgoing = Outgoing::new(value.as_ref().and_then(|value| self.parcel(value)));
        let mut sends = team.flights();
        outgoing.start(&mut sends, to)?;
        sends.await
    }

    async fn take(&self, team: Team<'_>, from: usize) -> Result<Option<T>, Failure> {
        let mut length = [0; size_of::<u64>()];
        team.receive(length[..].as_mut().into(), from).await?;
        let length = u64::from_ne_bytes(length);
        if length == NOTHING {
            self.note(Obstacle::Elsewhere(from));
            return Ok(None);
        }
        let Some(mut place) = Place::<T>::new(length as usize) else {
            self.note(Obstacle::Codec(CodecError::new(format!("there is no memory for {length} bytes"))));
            return Ok(None);
        };
        team.receive(place.span(), from).await?;
        // Without trouble the message was as long as the place.
        let value = if team.is_in_trouble() {
            Err(Obstacle::Elsewhere(from))
        } else {
            let len = place.len();
            place.value(len).map_err(Obstacle::Codec)
        };
        Ok(value.map_err(|obstacle| self.note(obstacle)).ok())
    }
}

/// A message and its length, which goes before it.
struct Outgoing<'v> {
    length: [u8; size_of::<u64>()],
    parcel: Option<Parcel<'v>>,
}

impl<'v> Outgoing<'v> {
    fn new(parcel: Option<Parcel<'v>>) -> Self {
        let length = parcel.as_ref().map_or(NOTHING, |parcel| parcel.bytes().len() as u64);
        Outgoing { length: length.to_ne_bytes(), parcel }
    }

    fn start<'a>(&'a self, sends: &mut Flights<'a>, to: usize) -> Result<(), Failure> {
        sends.send(self.length[..].into(), to)?;
        match &self.parcel {
            Some(parcel) => sends.send(ReadSpan::from(parcel.bytes()), to),
            None => Ok(()),
        }
    }
}

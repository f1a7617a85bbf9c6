//! Many values at once: the messages that this rank sends, and where those that it receives belong.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::combining::NOTHING;
use crate::message::{CodecError, Parcel, Place};
use crate::{Message, Result};

/// Messages of this rank, by their places in the list that they were made of.
pub(super) struct Parcels<'a> {
    /// `None`: the value can't be taken apart.
    parcels: Vec<Option<Parcel<'a>>>,
    lengths: Vec<u64>,
}

impl<'a> Parcels<'a> {
    pub(super) fn new<'v, T>(
        values: &'v [T],
        parcel: fn(&'v T) -> std::result::Result<Parcel<'a>, CodecError>,
    ) -> Self {
        let parcels: Vec<_> = values.iter().map(|value| parcel(value).ok()).collect();
        let length = |parcel: &Option<Parcel<'_>>| parcel.as_ref().map_or(NOTHING, |it| it.bytes().len() as u64);
        let lengths = parcels.iter().map(length).collect();
        Parcels { parcels, lengths }
    }

    pub(super) fn lengths(&self) -> &[u64] {
        &self.lengths
    }

    pub(super) fn span(&self, place: usize) -> ReadSpan<'_> {
        self.parcels[place].as_ref().map_or(ReadSpan::EMPTY, |parcel| parcel.bytes().into())
    }
}

/// Where each rank's message belongs.
pub(super) enum Places<T> {
    /// Side by side, where they are values at once.
    Together(Place<Vec<T>>, usize),
    Each(Vec<Place<T>>),
}

impl<T: Message> Places<T> {
    /// For messages of these lengths; `None` if there is no memory.
    pub(super) fn new(lengths: &[u64]) -> Option<Self> {
        let len = |&length: &u64| if length == NOTHING { Some(0) } else { usize::try_from(length).ok() };
        match T::FIXED_SIZE {
            Some(size @ 1..) if T::FORM.is_itself() => {
                Some(Places::Together(Place::new(size.checked_mul(lengths.len())?)?, size))
            }
            _ => Some(Places::Each(lengths.iter().map(|length| Place::new(len(length)?)).collect::<Option<_>>()?)),
        }
    }

    /// By rank.
    pub(super) fn spans(&mut self) -> Vec<WriteSpan<'_>> {
        match self {
            Places::Together(all, size) => {
                let (size, count) = (*size, all.len() / *size);
                let all = all.span();
                (0..count).map(|rank| all.part(rank * size, size)).collect()
            }
            Places::Each(places) => places.iter_mut().map(Place::span).collect(),
        }
    }

    /// What has arrived.
    pub(super) fn each(
        self,
        value: impl Fn(Place<T>, Option<usize>) -> Result<T>,
        values: impl FnOnce(Place<Vec<T>>) -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        match self {
            Places::Together(all, _) => values(all),
            Places::Each(places) => {
                places.into_iter().enumerate().map(|(rank, place)| value(place, Some(rank))).collect()
            }
        }
    }
}

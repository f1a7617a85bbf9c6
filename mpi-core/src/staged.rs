//! Slices of plain data as the bytes that messages carry: their own where they travel directly, otherwise packed ones.

use crate::engine::{Completion, Failure};
use crate::plain::{direct, direct_mut, packed, unpack};
use crate::{Datatype, Mark};

/// A slice that is sent.
pub(crate) struct Outgoing<'a, T> {
    values: &'a [T],
    packed: Vec<u8>,
}

/// A slice that is received into.
pub(crate) struct Incoming<'a, T> {
    values: &'a mut [T],
    packed: Vec<u8>,
}

/// Whether a message can be elements of `T`.
#[inline(always)]
pub(crate) fn checked<T: Datatype>(completion: &Completion) -> Result<(), Failure> {
    said(completion, Mark::of(T::SIGNATURE), std::any::type_name::<T>)?;
    let Completion { source, bytes, .. } = *completion;
    if T::SIZE > 1 && !bytes.is_multiple_of(T::SIZE as u64) {
        return Err(Failure::NotWhole { source, bytes, of: std::any::type_name::<T>() });
    }
    Ok(())
}

/// Whether a message says of its type what is expected.
#[inline(always)]
pub(crate) fn said(completion: &Completion, expected: Mark, of: fn() -> &'static str) -> Result<(), Failure> {
    if completion.mark.contradicts(expected) {
        return Err(Failure::OtherType { source: completion.source, sent: completion.mark, of: of() });
    }
    Ok(())
}

/// What an operation in flight needs besides the buffer it was given.
pub(crate) trait Staged {
    /// The first `bytes` bytes have been received: makes values of them.
    fn arrived(&mut self, bytes: u64) -> Result<(), Failure>;
}

impl<'a, T: Datatype> Outgoing<'a, T> {
    #[inline(always)]
    pub(crate) fn new(values: &'a [T]) -> Self {
        Outgoing { values, packed: if T::DIRECT { Vec::new() } else { packed(values) } }
    }

    /// Moving `self` leaves them where they are.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        direct(self.values).unwrap_or(&self.packed)
    }
}

impl<'a, T: Datatype> Incoming<'a, T> {
    /// Room for as many values.
    #[inline(always)]
    pub(crate) fn new(values: &'a mut [T]) -> Self {
        let packed = if T::DIRECT { Vec::new() } else { vec![0; values.len() * T::SIZE] };
        Incoming { values, packed }
    }

    /// Moving `self` leaves them where they are.
    #[inline(always)]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        match direct_mut(self.values) {
            Some(memory) => memory,
            None => &mut self.packed,
        }
    }
}

impl<T> Staged for Outgoing<'_, T> {
    fn arrived(&mut self, _: u64) -> Result<(), Failure> {
        Ok(())
    }
}

impl<T: Datatype> Staged for Incoming<'_, T> {
    #[inline(always)]
    fn arrived(&mut self, bytes: u64) -> Result<(), Failure> {
        if T::DIRECT {
            return Ok(());
        }
        let bytes = self.packed.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
        unpack(&self.packed[..bytes], self.values)
            .map_err(|place| Failure::NoValue { place: Some(place), of: std::any::type_name::<T>() })
    }
}

//! Put and get (MPI-5.0 section 12.3): copies, by whichever way reaches the target's memory.

use super::Window;
use super::elsewhere::There;
use crate::datatype::Datatype;
use crate::error::ErrorClass;
use crate::untyped::Elements;
use crate::{Destination, Result};

/// What an access names at its target.
#[derive(Clone, Copy, Debug)]
pub struct Remote<'a> {
    /// Whose memory.
    pub rank: Destination,
    /// In units of the target's.
    pub displacement: i64,
    /// How many elements
    pub count: u64,
    /// of which type.
    pub datatype: &'a Datatype,
}

impl Window {
    /// Copies elements to a target (MPI_Put).
    ///
    /// # Errors
    /// The target is in no epoch, the elements are not within its memory, or not as many bytes as there are.
    #[inline]
    pub fn put(&self, origin: &Elements, remote: Remote<'_>) -> Result<()> {
        self.put_by(origin, remote, Window::put_elsewhere)
    }

    /// The same; the operation has been completed, and so the elements here are the program's again, only when the
    /// target has been flushed or the epoch has ended.
    ///
    /// # Errors
    /// As [`Window::put`].
    #[inline]
    pub fn put_in_place(&self, origin: &Elements, remote: Remote<'_>) -> Result<()> {
        self.put_by(origin, remote, Window::put_elsewhere_in_place)
    }

    #[inline]
    fn put_by(
        &self,
        origin: &Elements,
        remote: Remote<'_>,
        put_elsewhere: impl FnOnce(&Window, usize, &Elements, There) -> Result<()>,
    ) -> Result<()> {
        let Some(rank) = self.checked_target(remote.rank)? else { return Ok(()) };
        self.operate(rank)?;
        if self.is_elsewhere(rank) {
            return put_elsewhere(self, rank, origin, self.there_for(rank, &remote, &[origin])?);
        }
        let place = self.place(rank, remote.displacement, remote.count, remote.datatype)?;
        if let (Some(from), Some(into)) = (origin.read_span(), place.direct_run())
            && from.len() == into.len()
        {
            from.copy_long_to(into);
            return Ok(());
        }
        self.check_lengths(origin, place.bytes()?)?;
        if let Some(elements) = place.direct() {
            return origin.copy_to(&elements);
        }
        match origin.read_span() {
            Some(span) => place.write(span),
            None => place.write(origin.packed()?.as_slice().into()),
        }
    }

    /// Copies elements from a target (MPI_Get).
    ///
    /// # Errors
    /// As [`Window::put`].
    #[inline]
    pub fn get(&self, origin: &Elements, remote: Remote<'_>) -> Result<()> {
        let Some(rank) = self.checked_target(remote.rank)? else { return Ok(()) };
        self.operate(rank)?;
        if self.is_elsewhere(rank) {
            return self.get_elsewhere(rank, origin, self.there_for(rank, &remote, &[origin])?);
        }
        let place = self.place(rank, remote.displacement, remote.count, remote.datatype)?;
        if let (Some(from), Some(into)) = (place.direct_run(), origin.write_span())
            && from.len() == into.len()
        {
            from.as_read().copy_long_to(into);
            return Ok(());
        }
        self.check_lengths(origin, place.bytes()?)?;
        if let Some(elements) = place.direct() {
            return elements.copy_to(origin);
        }
        match origin.write_span() {
            Some(span) => place.read(span),
            None => {
                let mut packed = origin.room()?;
                place.read(packed.as_mut_slice().into())?;
                origin.unpack_span(packed.as_slice().into());
                Ok(())
            }
        }
    }

    /// An operation on a target is about to be done.
    ///
    /// # Errors
    /// The target is in no epoch, or has died.
    #[inline]
    pub(super) fn operate(&self, rank: usize) -> Result<()> {
        self.shared.epochs.borrow_mut().operation(rank).map_err(|misuse| self.misuse(misuse))?;
        self.touch(rank)
    }

    /// Whether an operation that gives a request may be done.
    ///
    /// # Errors
    /// Not if the target is not locked.
    pub fn check_request(&self, target: Destination) -> Result<()> {
        let Some(rank) = self.checked_target(target)? else { return Ok(()) };
        self.shared.epochs.borrow().operation_with_request(rank).map_err(|misuse| self.misuse(misuse))
    }

    /// What an access names at a target of another node, as many bytes as elements here.
    pub(super) fn there_for(&self, rank: usize, remote: &Remote<'_>, here: &[&Elements]) -> Result<There> {
        let there = self.there(rank, remote.displacement, remote.count, remote.datatype)?;
        let bytes = usize::try_from(remote.datatype.packed_size(remote.count)?).unwrap_or(usize::MAX);
        here.iter().try_for_each(|elements| self.check_lengths(elements, bytes))?;
        Ok(there)
    }

    /// Whether elements here are as many bytes as those at the target.
    pub(super) fn check_lengths(&self, origin: &Elements, target: usize) -> Result<()> {
        match origin.packed_size()? {
            bytes if bytes == target => Ok(()),
            bytes => {
                let what = format!("the elements here have {bytes} bytes, those at the target {target}");
                Err(self.error(ErrorClass::Truncate, what))
            }
        }
    }
}

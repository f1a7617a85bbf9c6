//! What each constructor does, said once: its meaning in terms of a few operations.
//!
//! Bounds and layout are two answers to the same question, "where do the elements lie?". Both implement [`Shape`], and
//! [`construct`] translates a constructor into its operations, so the two can't disagree.

use super::constructor::Constructor;
use super::{Datatype, distribution};
use crate::Result;

/// Something known about where elements lie, that can be computed from the same of the constituents. All displacements
/// are bytes.
///
/// Bounds are computed first and report what doesn't fit 64 bits; others may rely on that.
pub(super) trait Shape: Clone {
    /// No elements.
    fn empty() -> Self;
    /// `count` ≥ 0 copies, `stride` apart.
    fn repeat(&self, count: i64, stride: i64) -> Result<Self>;
    /// Blocks of copies: at each (displacement, length ≥ 0), `length` copies, `extent` apart.
    fn scatter(&self, blocks: impl Iterator<Item = Result<(i64, i64)>>, extent: i64) -> Result<Self>;
    /// The parts, each moved by its displacement, in this order.
    fn join(parts: impl Iterator<Item = Result<(i64, Self)>>) -> Result<Self>;
    /// The same elements with other bounds.
    fn resized(self, lower_bound: i64, extent: i64) -> Result<Self>;
    /// The same elements as a structure of C: its extent rounded up to the alignment.
    fn padded(self) -> Result<Self>;

    /// Moved by `displacement`.
    fn moved(self, displacement: i64) -> Result<Self> {
        Self::join(std::iter::once(Ok((displacement, self))))
    }
}

/// What doesn't fit 64 bits.
pub(super) fn fits(value: Option<i64>) -> Result<i64> {
    value.ok_or_else(too_large)
}

#[cold]
pub(super) fn too_large() -> crate::Error {
    let text = "the datatype's bounds or size exceed 64 bits: use smaller counts, strides or displacements";
    crate::Error::new(crate::ErrorClass::Argument, text)
}

/// The shape that `constructor` makes of the shapes of its constituents, which `of` looks up. Not for predefined
/// datatypes.
pub(super) fn construct<S: Shape>(constructor: &Constructor, of: impl Fn(&Datatype) -> S) -> Result<S> {
    let scaled = |displacement: &i64, by: &Datatype| fits(displacement.checked_mul(by.extent()));
    match constructor {
        Constructor::Named(_) | Constructor::Fortran(_) => Ok(S::empty()),
        Constructor::Dup { old } => Ok(of(old)),
        Constructor::Contiguous { count, old } => of(old).repeat(*count, old.extent()),
        Constructor::Vector { count, blocklength, stride, old } => {
            let block = of(old).repeat(*blocklength, old.extent())?;
            // The distance matters only if there is something at it.
            let stride = if *count > 1 { scaled(stride, old)? } else { 0 };
            block.repeat(*count, stride)
        }
        Constructor::Hvector { count, blocklength, stride, old } => {
            of(old).repeat(*blocklength, old.extent())?.repeat(*count, *stride)
        }
        Constructor::Indexed { blocklengths, displacements, old } => of(old).scatter(
            displacements.iter().zip(blocklengths).map(|(place, length)| Ok((scaled(place, old)?, *length))),
            old.extent(),
        ),
        Constructor::Hindexed { blocklengths, displacements, old } => of(old)
            .scatter(displacements.iter().zip(blocklengths).map(|(place, length)| Ok((*place, *length))), old.extent()),
        Constructor::IndexedBlock { blocklength, displacements, old } => of(old).scatter(
            displacements.iter().map(|place| Ok((scaled(place, old)?, *blocklength))), //
            old.extent(),
        ),
        Constructor::HindexedBlock { blocklength, displacements, old } => of(old).scatter(
            displacements.iter().map(|place| Ok((*place, *blocklength))), //
            old.extent(),
        ),
        Constructor::Struct { blocklengths, displacements, old } => {
            let parts = old.iter().zip(blocklengths).zip(displacements);
            S::join(parts.map(|((old, length), place)| Ok((*place, of(old).repeat(*length, old.extent())?))))?.padded()
        }
        Constructor::Subarray { sizes, subsizes, starts, order, old } => {
            distribution::subarray(sizes, subsizes, starts, *order, of(old), old.extent())
        }
        Constructor::Darray { distribution, old } => distribution.part(of(old), old.extent()),
        Constructor::Resized { lower_bound, extent, old } => of(old).resized(*lower_bound, *extent),
    }
}

//! Size, lower and upper bound, true bounds, alignment.
//!
//! Invariant: whatever is kept here fits 64 bits; an operation that would exceed them is an error.

use super::basic::Basic;
use super::shape::{Shape, fits};
use crate::Result;

/// A range of bytes, relative to the buffer's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    low: i64,
    high: i64,
}

impl Range {
    fn spread(self, first: i64, last: i64) -> Result<Range> {
        Ok(Range { low: fits(self.low.checked_add(first))?, high: fits(self.high.checked_add(last))? })
    }

    fn union(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

fn either<T>(one: Option<T>, other: Option<T>, both: impl Fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(both(one, other)),
        (one, other) => one.or(other),
    }
}

/// How far a datatype reaches (MPI-5.0 sections 5.1.6 and 5.1.7).
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// Bytes of data.
    size: i64,
    /// Basic elements; a pair is two.
    elements: i64,
    /// The bytes from the first to the last with data.
    data: Option<Range>,
    /// Bounds where no markers say otherwise: the same with the padding of structures.
    natural: Option<Range>,
    /// The smallest lower bound marker.
    lower_marker: Option<i64>,
    /// The largest upper bound marker.
    upper_marker: Option<i64>,
    /// The largest alignment of an element.
    alignment: i64,
}

impl Bounds {
    pub(super) fn basic(basic: Basic) -> Self {
        let mut bounds = Bounds::empty();
        match basic {
            Basic::LowerBound => bounds.lower_marker = Some(0),
            Basic::UpperBound => bounds.upper_marker = Some(0),
            _ => {
                let end = match (basic.index_offset(), basic.pair()) {
                    (Some(offset), Some(pair)) => offset + pair.index.size(),
                    _ => basic.size(),
                };
                bounds = Bounds {
                    size: basic.size() as i64,
                    elements: if basic.pair().is_some() { 2 } else { 1 },
                    data: Some(Range { low: 0, high: end as i64 }),
                    natural: Some(Range { low: 0, high: basic.extent() as i64 }),
                    alignment: basic.alignment() as i64,
                    ..bounds
                };
            }
        }
        bounds
    }

    pub(super) fn size(&self) -> u64 {
        self.size as u64
    }

    pub(super) fn elements(&self) -> u64 {
        self.elements as u64
    }

    pub(super) fn lower_bound(&self) -> i64 {
        self.lower_marker.or(self.natural.map(|range| range.low)).unwrap_or(0)
    }

    fn upper_bound(&self) -> i64 {
        self.upper_marker.or(self.natural.map(|range| range.high)).unwrap_or(0)
    }

    pub(super) fn extent(&self) -> i64 {
        // `checked` has made sure that it fits.
        self.upper_bound().wrapping_sub(self.lower_bound())
    }

    pub(super) fn true_lower_bound(&self) -> i64 {
        self.data.map_or(0, |range| range.low)
    }

    pub(super) fn true_extent(&self) -> i64 {
        self.data.map_or(0, |range| range.high.wrapping_sub(range.low))
    }

    fn checked(self) -> Result<Self> {
        fits(self.upper_bound().checked_sub(self.lower_bound()))?;
        fits(self.data.map_or(Some(0), |range| range.high.checked_sub(range.low)))?;
        Ok(self)
    }

    /// `copies` of these, the lowest moved by `first` and the highest by `last`.
    fn spread(&self, copies: i64, first: i64, last: i64) -> Result<Self> {
        let range = |range: Option<Range>| range.map(|range| range.spread(first, last)).transpose();
        let marker = |marker: Option<i64>, by: i64| marker.map(|marker| fits(marker.checked_add(by))).transpose();
        Bounds {
            size: fits(self.size.checked_mul(copies))?,
            elements: fits(self.elements.checked_mul(copies))?,
            data: range(self.data)?,
            natural: range(self.natural)?,
            lower_marker: marker(self.lower_marker, first)?,
            upper_marker: marker(self.upper_marker, last)?,
            alignment: self.alignment,
        }
        .checked()
    }
}

impl Shape for Bounds {
    fn empty() -> Self {
        Bounds { size: 0, elements: 0, data: None, natural: None, lower_marker: None, upper_marker: None, alignment: 1 }
    }

    fn repeat(&self, count: i64, stride: i64) -> Result<Self> {
        if count <= 0 {
            return Ok(Bounds::empty());
        }
        let reach = fits(stride.checked_mul(count - 1))?;
        self.spread(count, reach.min(0), reach.max(0))
    }

    fn scatter(&self, blocks: impl Iterator<Item = Result<(i64, i64)>>, extent: i64) -> Result<Self> {
        let (mut copies, mut first, mut last) = (0i64, i64::MAX, i64::MIN);
        for block in blocks {
            let (place, length) = block?;
            if length > 0 {
                let end = fits(extent.checked_mul(length - 1).and_then(|reach| reach.checked_add(place)))?;
                copies = fits(copies.checked_add(length))?;
                first = first.min(place).min(end);
                last = last.max(place).max(end);
            }
        }
        if copies == 0 { Ok(Bounds::empty()) } else { self.spread(copies, first, last) }
    }

    fn join(parts: impl Iterator<Item = Result<(i64, Self)>>) -> Result<Self> {
        let mut all = Bounds::empty();
        for part in parts {
            let (place, part) = part?;
            let part = part.spread(1, place, place)?;
            all = Bounds {
                size: fits(all.size.checked_add(part.size))?,
                elements: fits(all.elements.checked_add(part.elements))?,
                data: either(all.data, part.data, Range::union),
                natural: either(all.natural, part.natural, Range::union),
                lower_marker: either(all.lower_marker, part.lower_marker, i64::min),
                upper_marker: either(all.upper_marker, part.upper_marker, i64::max),
                alignment: all.alignment.max(part.alignment),
            };
        }
        all.checked()
    }

    fn resized(self, lower_bound: i64, extent: i64) -> Result<Self> {
        let upper_bound = fits(lower_bound.checked_add(extent))?;
        Bounds { lower_marker: Some(lower_bound), upper_marker: Some(upper_bound), ..self }.checked()
    }

    fn padded(mut self) -> Result<Self> {
        // Where a marker gives a bound, the extent is what the markers say.
        let marked = self.lower_marker.is_some() || self.upper_marker.is_some();
        if let (Some(range), false) = (&mut self.natural, marked) {
            let excess = (range.high - range.low) % self.alignment;
            if excess > 0 {
                range.high = fits(range.high.checked_add(self.alignment - excess))?;
            }
        }
        self.checked()
    }
}

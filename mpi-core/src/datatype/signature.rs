//! Which predefined datatypes follow each other in the packed bytes, and how many of them some bytes are.

use std::ops::ControlFlow;

use super::basic::Basic;
use super::{Constructor, Datatype};

impl Datatype {
    /// Basic elements in an element; a pair is two.
    pub fn basic_elements(&self) -> u64 {
        self.0.bounds.elements()
    }

    /// How many whole elements `bytes` packed bytes are (`MPI_Get_count`, MPI-5.0 section 3.2.5); `None` if the last is
    /// not whole.
    pub fn whole_elements(&self, bytes: u64) -> Option<u64> {
        match self.size() {
            0 => (bytes == 0).then_some(0),
            size => bytes.is_multiple_of(size).then(|| bytes / size),
        }
    }

    /// How many basic elements `bytes` packed bytes are (`MPI_Get_elements`, MPI-5.0 section 5.1.11); `None` if the
    /// last is not whole.
    pub fn elements(&self, bytes: u64) -> Option<u64> {
        match self.size() {
            0 => (bytes == 0).then_some(0),
            size => {
                (bytes / size).checked_mul(self.basic_elements())?.checked_add(self.elements_of_part(bytes % size)?)
            }
        }
    }

    /// The same for less than a whole element.
    fn elements_of_part(&self, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        if let Some(element) = self.element() {
            let whole = bytes / element.size();
            return match (element.pair(), bytes % element.size()) {
                (None, 0) => Some(whole),
                (Some(_), 0) => Some(2 * whole),
                (Some(pair), rest) if rest == pair.value.size() => Some(2 * whole + 1),
                _ => None,
            };
        }
        let (mut rest, mut elements) = (bytes, 0);
        for (old, count) in self.blocks() {
            let block = old.size() * count;
            if rest < block {
                return Some(elements + old.elements(rest)?);
            }
            rest -= block;
            elements += old.basic_elements() * count;
        }
        Some(elements)
    }

    /// How many packed bytes the first `elements` basic elements have (`MPI_Status_set_elements`, MPI-5.0 section
    /// 13.3); `None` if that exceeds 64 bits, or there are no elements.
    pub fn bytes_of_elements(&self, elements: u64) -> Option<u64> {
        match self.basic_elements() {
            0 => (elements == 0).then_some(0),
            each => (elements / each).checked_mul(self.size())?.checked_add(self.bytes_of_part(elements % each)),
        }
    }

    /// The same for less than a whole element.
    fn bytes_of_part(&self, elements: u64) -> u64 {
        if let Some(element) = self.element() {
            return match element.pair() {
                None => elements * element.size(),
                Some(pair) => elements / 2 * element.size() + elements % 2 * pair.value.size(),
            };
        }
        let (mut rest, mut bytes) = (elements, 0);
        for (old, count) in self.blocks() {
            let block = old.basic_elements() * count;
            if rest < block {
                let each = old.basic_elements();
                return bytes + rest / each * old.size() + old.bytes_of_part(rest % each);
            }
            rest -= block;
            bytes += old.size() * count;
        }
        bytes
    }

    /// The constituents in the order of the packed bytes, each with how often it occurs in a row.
    fn blocks(&self) -> impl Iterator<Item = (&Datatype, u64)> {
        let constructor = self.constructor();
        let lengths: &[i64] = match constructor {
            Constructor::Struct { blocklengths, .. } => blocklengths,
            _ => &[],
        };
        constructor.old().iter().enumerate().filter(|(_, old)| old.size() > 0).map(move |(index, old)| {
            let count = match lengths.get(index) {
                Some(&length) => length as u64,
                // All bytes come from the one constituent.
                None => self.size() / old.size(),
            };
            (old, count)
        })
    }

    /// Calls `visit` with the basic elements of `count` elements, in order, each with how many of them follow each
    /// other.
    pub(super) fn visit_basics(
        &self,
        count: u64,
        visit: &mut impl FnMut(Basic, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if let Some(element) = self.element() {
            let count = count * (self.size() / element.size());
            let Some(pair) = element.pair() else { return visit(element, count) };
            for _ in 0..count {
                visit(pair.value, 1)?;
                visit(pair.index, 1)?;
            }
            return ControlFlow::Continue(());
        }
        if self.size() > 0 {
            for _ in 0..count {
                for (old, count) in self.blocks() {
                    old.visit_basics(count, visit)?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

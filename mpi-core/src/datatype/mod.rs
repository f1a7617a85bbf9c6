//! Datatypes: which bytes of a buffer a message is made of (MPI-5.0 chapter 5).
//!
//! A [`Datatype`] remembers how it was made, for [`Contents`]; its bounds are computed at once, so that what does not
//! fit 64 bits is refused where it is made; its layout, the normal form that packing walks along, when it is committed
//! or first packed.
//!
//! The elements that are *one run of bytes* need no packing: ask [`Datatype::run`] first.

mod basic;
mod bounds;
mod constructor;
mod contents;
mod description;
mod distribution;
mod external;
mod fortran;
mod layout;
mod pack;
mod runs;
mod shape;
mod signature;
mod sizes;
#[cfg(test)]
mod tests;

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

pub use basic::{Basic, Group, Number, Pair};
pub use constructor::Constructor;
pub use contents::{Codes, Combiner, Contents};
pub use distribution::{Distribute, Distribution, Order};
pub use fortran::{Parameters, TypeClass, match_size};
pub use pack::{pack, pack_external, pack_into, unpack, unpack_external, unpack_from};
pub use runs::RunOrder;

use crate::Result;
use bounds::Bounds;
use layout::{Form, Layout};
use shape::{construct, too_large};

/// A datatype. Clones are the same datatype.
#[derive(Clone, Debug)]
pub struct Datatype(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    constructor: Constructor,
    bounds: Bounds,
    /// Bytes from one element to the next, which every call asks for.
    extent: i64,
    /// What its elements are, if all are the same; its true elements: a vector of pairs has pairs.
    element: Option<Basic>,
    committed: Cell<bool>,
    /// Made with a call whose counts have the type `MPI_Count`.
    large: Cell<bool>,
    /// What a front end calls it.
    handle: Cell<u32>,
    layout: OnceCell<Layout>,
}

impl Datatype {
    /// A predefined datatype, which is committed.
    pub fn basic(basic: Basic) -> Datatype {
        Datatype::new(
            Constructor::Named(basic),
            Bounds::basic(basic),
            Some(basic).filter(|basic| basic.size() > 0),
            true,
        )
    }

    /// A predefined datatype of Fortran by precision and range, which is committed (MPI-5.0 section 19.1.9).
    ///
    /// # Errors
    /// The compiler has no such kind.
    pub fn fortran(parameters: Parameters) -> Result<Datatype> {
        let basic = parameters.basic()?;
        Ok(Datatype::new(Constructor::Fortran(parameters), Bounds::basic(basic), Some(basic), true))
    }

    fn construct(constructor: Constructor) -> Result<Datatype> {
        let bounds = construct(&constructor, |old| old.0.bounds.clone())?;
        let element = common_element(&constructor);
        Ok(Datatype::new(constructor, bounds, element, false))
    }

    fn duplicate(&self) -> Datatype {
        let copy = Datatype::new(
            Constructor::Dup { old: self.clone() },
            self.0.bounds.clone(),
            self.0.element,
            self.is_committed(),
        );
        if let Some(layout) = self.0.layout.get() {
            copy.0.layout.get_or_init(|| layout.clone());
        }
        copy
    }

    /// The same datatype, so far as communication goes, but no clone: another thread may use it at the same time.
    #[must_use]
    pub fn detached(&self) -> Datatype {
        let Inner { constructor, bounds, element, .. } = &*self.0;
        let constructor = constructor.clone().with(Datatype::detached);
        let copy = Datatype::new(constructor, bounds.clone(), *element, self.is_committed());
        copy.0.large.set(self.0.large.get());
        copy.0.handle.set(self.0.handle.get());
        if let Some(layout) = self.0.layout.get() {
            copy.0.layout.get_or_init(|| layout.clone());
        }
        copy
    }

    fn new(constructor: Constructor, bounds: Bounds, element: Option<Basic>, committed: bool) -> Datatype {
        Datatype(Rc::new(Inner {
            constructor,
            extent: bounds.extent(),
            bounds,
            element,
            committed: Cell::new(committed),
            large: Cell::new(false),
            handle: Cell::new(0),
            layout: OnceCell::new(),
        }))
    }

    /// Makes it ready for communication (MPI-5.0 section 5.1.9).
    pub fn commit(&self) {
        self.0.committed.set(true);
        self.layout();
    }

    /// Whether it may be used for communication.
    pub fn is_committed(&self) -> bool {
        self.0.committed.get()
    }

    fn layout(&self) -> &Layout {
        self.0.layout.get_or_init(|| match &self.0.constructor {
            Constructor::Named(basic) => Layout::basic(*basic),
            Constructor::Fortran(_) => self.0.element.map_or_else(<Layout as shape::Shape>::empty, Layout::basic),
            // Whatever does not fit has been refused with the bounds.
            constructor => construct(constructor, |old| old.layout().clone())
                .unwrap_or_else(|_| unreachable!("the layout of a datatype with valid bounds")),
        })
    }

    /// How it was made.
    pub fn constructor(&self) -> &Constructor {
        &self.0.constructor
    }

    /// The predefined datatype that it is, if it is one by name.
    pub fn named(&self) -> Option<Basic> {
        match self.0.constructor {
            Constructor::Named(basic) => Some(basic),
            _ => None,
        }
    }

    /// Whether it is predefined: never freed, always committed.
    pub fn is_predefined(&self) -> bool {
        matches!(self.0.constructor, Constructor::Named(_) | Constructor::Fortran(_))
    }

    /// Whether the two are the same datatype, not only equal ones.
    pub fn is(&self, other: &Datatype) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The number that the front end has given it, or 0.
    pub fn handle(&self) -> u32 {
        self.0.handle.get()
    }

    /// Gives it a number by which the front end knows it.
    pub fn set_handle(&self, handle: u32) {
        self.0.handle.set(handle);
    }

    /// Remembers that it was made with a call whose counts have the type `MPI_Count`: its contents are then large
    /// counts.
    #[must_use]
    pub fn made_with_large_counts(self) -> Datatype {
        self.0.large.set(true);
        self
    }

    /// Bytes of data in an element.
    pub fn size(&self) -> u64 {
        self.0.bounds.size()
    }

    /// Where an element begins for its neighbours, bytes from the buffer's address (MPI-5.0 section 5.1.7).
    pub fn lower_bound(&self) -> i64 {
        self.0.bounds.lower_bound()
    }

    /// Bytes from one element to the next.
    pub fn extent(&self) -> i64 {
        self.0.extent
    }

    /// The first byte of data, from the buffer's address (MPI-5.0 section 5.1.8).
    pub fn true_lower_bound(&self) -> i64 {
        self.0.bounds.true_lower_bound()
    }

    /// Bytes from the first byte of data to the last.
    pub fn true_extent(&self) -> i64 {
        self.0.bounds.true_extent()
    }

    /// What its elements are, if all are of one predefined datatype.
    pub fn element(&self) -> Option<Basic> {
        self.0.element
    }

    /// If the bytes of `count` elements lie side by side: where they begin, from the buffer's address, and how many
    /// they are.
    #[inline]
    pub fn run(&self, count: u64) -> Option<(i64, u64)> {
        let layout = self.layout();
        match layout.form {
            _ if count == 0 || layout.size == 0 => Some((0, 0)),
            Form::Run if count == 1 || u64::try_from(self.extent()) == Ok(layout.size) => {
                Some((layout.offset, layout.size.checked_mul(count)?))
            }
            _ => None,
        }
    }

    /// From where to where the bytes of `count` elements lie, from the buffer's address; `None` if no memory is so
    /// long.
    #[inline]
    pub(crate) fn reach(&self, count: u64) -> Option<(i64, i64)> {
        if count == 0 || self.size() == 0 {
            return Some((0, 0));
        }
        let last = i64::try_from(count - 1).ok()?.checked_mul(self.extent())?;
        let (low, len) = (self.true_lower_bound(), self.true_extent());
        Some((low.checked_add(last.min(0))?, low.checked_add(len)?.checked_add(last.max(0))?))
    }

    /// Bytes of `count` packed elements.
    ///
    /// # Errors
    /// They exceed 64 bits.
    pub fn packed_size(&self, count: u64) -> Result<u64> {
        let size = self.size().checked_mul(count).filter(|&size| i64::try_from(size).is_ok());
        size.ok_or_else(too_large)
    }
}

/// The one predefined datatype that all elements are of.
fn common_element(constructor: &Constructor) -> Option<Basic> {
    let mut with_data = constructor.old().iter().filter(|old| old.size() > 0);
    let first = with_data.next()?.element()?;
    with_data.all(|old| old.element() == Some(first)).then_some(first)
}

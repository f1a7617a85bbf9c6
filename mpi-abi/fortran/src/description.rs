//! Which elements of a section a number of items of a datatype are, and the datatype that says so.
//!
//! MPI treats a section as if its elements lay side by side in a buffer, and the items of the datatype in that (MPI-5.0
//! section 19.1.2). A part of it may hold several items. An item that begins in one part and ends in another is
//! nothing that the constructors of datatypes describe.
#![allow(unsafe_code)]

use std::ffi::c_int;

use rwmpi_interface::Abi;
use smallvec::SmallVec;

use crate::section::{Dimension, Section};

// As the standard ABI has them; of handles, the MPICH ABI has the lower half. Results are set to zero before.
unsafe extern "C" {
    fn PMPI_Type_get_extent_c(datatype: usize, lower: *mut i64, extent: *mut i64) -> c_int;
    fn PMPI_Type_get_true_extent_c(datatype: usize, lower: *mut i64, extent: *mut i64) -> c_int;
    fn PMPI_Type_contiguous_c(count: i64, old: usize, new: *mut usize) -> c_int;
    fn PMPI_Type_create_hvector_c(count: i64, length: i64, stride: i64, old: usize, new: *mut usize) -> c_int;
    fn PMPI_Type_create_resized_c(old: usize, lower: i64, extent: i64, new: *mut usize) -> c_int;
    fn PMPI_Type_create_struct_c(
        count: i64,
        lengths: *const i64,
        places: *const i64,
        old: *const usize,
        new: *mut usize,
    ) -> c_int;
    fn PMPI_Type_commit(datatype: *mut usize) -> c_int;
    fn PMPI_Type_free(datatype: *mut usize) -> c_int;
}

/// Why there is no description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A function of C failed with that code; the error handler knows.
    Code(c_int),
    /// No datatype says it.
    Indescribable,
    /// The section has so many elements, the items need more.
    TooShort(i64),
}

/// A datatype in bytes: from where on the next item begins, where the data of one end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    extent: i64,
    begin: i64,
    end: i64,
}

/// Parts of the section at even distances in several dimensions, and how many items each of them holds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    displacement: i64,
    dimensions: SmallVec<[Dimension; 4]>,
    items: i64,
}

/// What takes the place of count and datatype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// The same count, of the datatype at another distance.
    Spaced(i64),
    /// One item, which is these parts.
    Parts(Vec<PartOfPlan>),
    /// One item for each block, which is the part, at that distance from the next.
    Block(PartOfPlan, i64),
}

impl Plan {
    /// What takes the place of the count.
    pub(crate) fn count(&self, count: i64) -> i64 {
        if matches!(self, Plan::Spaced(_)) { count } else { 1 }
    }
}

/// A part, for others to pass on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartOfPlan(Part);

/// How the count is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// So many items are all that there are.
    All(i64),
    /// So many are a block, and there are several blocks.
    Blocks(i64),
    /// Unknown here: blocks of several lengths, at places counted in items.
    Unknown,
}

impl Section {
    /// Checks that so many items lie within the elements.
    fn holds(&self, count: i64, item: Item) -> Result<(), Trouble> {
        let end = (count - 1).max(0).checked_mul(item.extent).and_then(|last| last.checked_add(item.end));
        let is_held = count <= 0 || end.is_some_and(|end| end <= self.bytes());
        if is_held { Ok(()) } else { Err(Trouble::TooShort(self.elements())) }
    }

    /// How to describe items of that datatype.
    pub(crate) fn plan(&self, extent: Extent, item: Item) -> Result<Plan, Trouble> {
        if let Extent::All(count) | Extent::Blocks(count) = extent {
            self.holds(count, item)?;
        }
        let is_within = item.extent > 0 && item.begin >= 0 && item.end <= item.extent;
        if !is_within || self.part % item.extent != 0 {
            return Err(Trouble::Indescribable);
        }
        let items = self.part / item.extent;
        if let (Some(distance), 1) = (self.distance(), items) {
            return Ok(Plan::Spaced(distance));
        }
        match extent {
            Extent::All(count) => Ok(Plan::Parts(self.first_items(count, items))),
            Extent::Blocks(count) => self.block(count, items).ok_or(Trouble::Indescribable),
            Extent::Unknown => Err(Trouble::Indescribable),
        }
    }

    /// The first `count` items: whole hyperplanes, then what is left over of one, and so on.
    fn first_items(&self, count: i64, items: i64) -> Vec<PartOfPlan> {
        let (mut whole_parts, rest) = (count / items, count % items);
        let mut parts = Vec::new();
        let mut displacement = 0;
        let mut part =
            |displacement, dimensions, items| parts.push(PartOfPlan(Part { displacement, dimensions, items }));
        if self.dimensions.is_empty() && whole_parts > 0 {
            part(0, SmallVec::new(), items);
        }
        for (index, one) in self.dimensions.iter().enumerate().rev() {
            let lower: i64 = self.dimensions[..index].iter().map(|one| one.count).product();
            let whole = whole_parts / lower.max(1);
            whole_parts %= lower.max(1);
            if whole > 0 {
                let mut dimensions: SmallVec<[Dimension; 4]> = self.dimensions[..index].into();
                dimensions.push(Dimension { count: whole, stride: one.stride });
                part(displacement, dimensions, items);
                displacement += whole * one.stride;
            }
        }
        if rest > 0 {
            part(displacement, SmallVec::new(), rest);
        }
        parts
    }

    /// Blocks of `count` items that are whole columns of a section of two dimensions: neighboring blocks are evenly
    /// spaced.
    fn block(&self, count: i64, items: i64) -> Option<Plan> {
        let (rows, columns) = self.dimensions.split_at(self.dimensions.len().checked_sub(1)?);
        let [columns] = columns else { return None };
        let column = match rows {
            [] => items,
            [rows] => rows.count.checked_mul(items)?,
            _ => return None,
        };
        if count <= 0 || column == 0 || count % column != 0 {
            return None;
        }
        let whole = count / column;
        let mut dimensions = SmallVec::from_slice(rows);
        dimensions.push(Dimension { count: whole, stride: columns.stride });
        Some(Plan::Block(PartOfPlan(Part { displacement: 0, dimensions, items }), whole.checked_mul(columns.stride)?))
    }
}

/// A datatype of ours, until it is dropped: what uses it goes on.
pub(crate) struct Made(usize);

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: a handle that C gave, and that nobody has freed.
        unsafe { PMPI_Type_free(&raw mut self.0) };
    }
}

fn checked(code: c_int) -> Result<(), Trouble> {
    if code == 0 { Ok(()) } else { Err(Trouble::Code(code)) }
}

impl Made {
    fn new(make: impl FnOnce(*mut usize) -> c_int) -> Result<Made, Trouble> {
        let mut handle = 0;
        checked(make(&raw mut handle)).map(|()| Made(handle))
    }

    /// The handle as an integer of Fortran.
    pub(crate) fn integer(&self) -> c_int {
        self.0 as c_int
    }

    fn part(part: &Part, datatype: usize) -> Result<Made, Trouble> {
        // SAFETY: calls of C with a handle of the program, or of ours, and a place for the new one.
        let mut made = Made::new(|new| unsafe { PMPI_Type_contiguous_c(part.items, datatype, new) })?;
        for one in &part.dimensions {
            // SAFETY: as above.
            made = Made::new(|new| unsafe { PMPI_Type_create_hvector_c(one.count, 1, one.stride, made.0, new) })?;
        }
        Ok(made)
    }

    fn resized(datatype: usize, extent: i64) -> Result<Made, Trouble> {
        // SAFETY: as above.
        Made::new(|new| unsafe { PMPI_Type_create_resized_c(datatype, 0, extent, new) })
    }

    fn structure<A: Abi>(parts: &[PartOfPlan], datatype: usize) -> Result<Made, Trouble> {
        let made: Vec<Made> = parts.iter().map(|one| Made::part(&one.0, datatype)).collect::<Result<_, _>>()?;
        let lengths = vec![1; parts.len()];
        let places: Vec<i64> = parts.iter().map(|one| one.0.displacement).collect();
        let handles: Vec<A::Handle> = made.iter().map(|one| A::handle(one.0 as u32)).collect();
        let (lengths, places, handles, count) = (lengths.as_ptr(), places.as_ptr(), handles.as_ptr(), parts.len());
        // SAFETY: arrays of that length.
        Made::new(|new| unsafe { PMPI_Type_create_struct_c(count as i64, lengths, places, handles.cast(), new) })
    }

    /// The datatype that a plan asks for, made of the one with that integer.
    pub(crate) fn of_plan<A: Abi>(plan: &Plan, datatype: c_int) -> Result<Made, Trouble> {
        let old = datatype.cast_unsigned() as usize;
        let mut made = match plan {
            Plan::Spaced(distance) => Made::resized(old, *distance)?,
            Plan::Block(part, distance) => Made::resized(Made::part(&part.0, old)?.0, *distance)?,
            Plan::Parts(parts) => Made::structure::<A>(parts, old)?,
        };
        // SAFETY: a handle of ours.
        checked(unsafe { PMPI_Type_commit(&raw mut made.0) }).map(|()| made)
    }
}

impl Item {
    /// The measures of the datatype with that integer.
    pub(crate) fn of(datatype: c_int) -> Result<Item, Trouble> {
        let handle = datatype.cast_unsigned() as usize;
        let (mut lower, mut extent, mut begin, mut length) = (0, 0, 0, 0);
        // SAFETY: places for results; C checks the handle.
        unsafe {
            checked(PMPI_Type_get_extent_c(handle, &raw mut lower, &raw mut extent))?;
            checked(PMPI_Type_get_true_extent_c(handle, &raw mut begin, &raw mut length))?;
        }
        Ok(Item { extent, begin, end: begin.saturating_add(length) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::tests::descriptor;

    fn section(dimensions: &[(isize, isize)]) -> Section {
        let full = descriptor(std::ptr::null_mut(), dimensions);
        // SAFETY: it is a descriptor.
        unsafe { Section::new(full.place()) }
    }

    fn item(extent: i64) -> Item {
        Item { extent, begin: 0, end: extent }
    }

    /// Where the items of a part begin, in bytes.
    fn places(part: &Part, extent: i64) -> Vec<i64> {
        let mut all: Vec<i64> = (0..part.items).map(|index| part.displacement + index * extent).collect();
        for one in &part.dimensions {
            all = (0..one.count).flat_map(|index| all.iter().map(move |place| place + index * one.stride)).collect();
        }
        all
    }

    #[test]
    fn parts_are_the_first_items_of_the_section() {
        let section = section(&[(3, 2), (4, 10), (2, 100)]);
        let mut all = Vec::new();
        section_places(&section, &mut all);
        for items in [1, 2, 4] {
            let extent = 4 / items;
            let expected: Vec<i64> =
                all.iter().flat_map(|place| (0..items).map(move |index| place + index * extent)).collect();
            for count in 1..=24 * items {
                let parts = section.first_items(count, items);
                let found: Vec<i64> = parts.iter().flat_map(|part| places(&part.0, extent)).collect();
                assert_eq!(found, expected[..count as usize], "{count} items, {items} in an element");
            }
        }
    }

    fn section_places(section: &Section, all: &mut Vec<i64>) {
        let [rows, columns, planes] = section.dimensions[..] else { panic!("three dimensions") };
        for plane in 0..planes.count {
            for column in 0..columns.count {
                all.extend(
                    (0..rows.count).map(|row| row * rows.stride + column * columns.stride + plane * planes.stride),
                );
            }
        }
    }

    #[test]
    fn what_datatypes_can_say_is_planned() {
        let (line, plane) = (section(&[(5, 2)]), section(&[(3, 2), (4, 10)]));
        assert_eq!(line.plan(Extent::Unknown, item(4)), Ok(Plan::Spaced(8)));
        assert_eq!(line.plan(Extent::All(6), item(4)), Err(Trouble::TooShort(5)));
        assert_eq!(line.plan(Extent::All(2), item(8)), Err(Trouble::Indescribable));
        assert_eq!(line.plan(Extent::All(3), item(8)), Err(Trouble::TooShort(5)));
        assert_eq!(plane.plan(Extent::Unknown, item(4)), Err(Trouble::Indescribable));
        assert!(matches!(plane.plan(Extent::Blocks(6), item(4)), Ok(Plan::Block(_, 80))));
        let columns = section(&[(3, 1), (4, 10)]);
        assert!(matches!(columns.plan(Extent::Blocks(2), item(12)), Ok(Plan::Spaced(40))));
        assert!(matches!(columns.plan(Extent::Blocks(3), item(4)), Ok(Plan::Block(_, 40))));
        assert!(matches!(columns.plan(Extent::All(5), item(6)), Ok(Plan::Parts(parts)) if parts.len() == 2));
        assert_eq!(plane.plan(Extent::Blocks(2), item(4)), Err(Trouble::Indescribable));
        assert_eq!(plane.plan(Extent::Blocks(2), Item { extent: 4, begin: -4, end: 0 }), Err(Trouble::Indescribable));
    }
}

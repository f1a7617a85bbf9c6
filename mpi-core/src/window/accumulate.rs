//! The accumulate family (MPI-5.0 section 12.3.4): every element is changed in one step, seen by all others of the
//! family.
//!
//! How that is achieved depends on where the element lies and on its length alone ([`rwmpi_transport::ElementLock`]),
//! never on the operation: so operations of any kind may meet at one element.
//!
//! Those of several elements have the lock of the target's memory from beginning to end besides: programs replace
//! structures as so many bytes, and expect others, who fetch as many, to see all or nothing. The standard does not
//! promise that, but every library has kept it. If they are many, those who change one element are kept out, too, and
//! the loops of reductions do the work.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::Window;
use super::element::Change;
use super::target::Place;
use super::transfer::Remote;
use crate::datatype::{Basic, Datatype, Group};
use crate::error::ErrorClass;
use crate::reduction::{Operation, Predefined};
use crate::untyped::Elements;
use crate::{Error, Result, select};

/// Most bytes of an element: a pair of a long double and an integer, a complex of long doubles.
const LONGEST: usize = 32;

impl Window {
    /// Combines elements with those at a target (MPI_Accumulate).
    ///
    /// # Errors
    /// As [`Window::put`]; the operation or the elements are not for that.
    pub fn accumulate(&self, origin: &Elements, remote: Remote<'_>, operation: &Operation) -> Result<()> {
        let Some(rank) = self.checked_target(remote.rank)? else { return Ok(()) };
        self.operate(rank)?;
        let Some(basic) = self.common_element(remote, &[origin])? else { return Ok(()) };
        let change = Change::new(operation, basic)?;
        if change.is_nothing() {
            let what = "MPI_NO_OP is for operations that fetch".to_owned();
            return Err(self.error(ErrorClass::Operation, what));
        }
        if self.is_elsewhere(rank) {
            let there = self.there_for(rank, &remote, &[origin])?;
            return self.accumulate_elsewhere(rank, origin, there, change.operation);
        }
        let place = self.place(rank, remote.displacement, remote.count, remote.datatype)?;
        self.check_lengths(origin, place.bytes()?)?;
        with_packed(origin, |operands| change_elements(&place, &change, operands, None))
    }

    /// The same, and fetches what was there before (MPI_Get_accumulate). Of MPI_NO_OP, `origin` is ignored.
    ///
    /// # Errors
    /// As [`Window::accumulate`].
    pub fn get_accumulate(
        &self,
        origin: Option<&Elements>,
        result: &Elements,
        remote: Remote<'_>,
        operation: &Operation,
    ) -> Result<()> {
        let Some(rank) = self.checked_target(remote.rank)? else { return Ok(()) };
        self.operate(rank)?;
        let origin = origin.filter(|_| !matches!(operation, Operation::Predefined(Predefined::NoOperation)));
        let here: Vec<&Elements> = origin.into_iter().chain([result]).collect();
        let Some(basic) = self.common_element(remote, &here)? else { return Ok(()) };
        let change = Change::new(operation, basic)?;
        if self.is_elsewhere(rank) {
            let there = self.there_for(rank, &remote, &here)?;
            return self.fetch_elsewhere(rank, origin, result, there, change.operation);
        }
        let place = self.place(rank, remote.displacement, remote.count, remote.datatype)?;
        here.iter().try_for_each(|elements| self.check_lengths(elements, place.bytes()?))?;
        let fetch = |operands: ReadSpan<'_>| match result.write_span() {
            Some(fetched) => change_elements(&place, &change, operands, Some(fetched)),
            None => {
                let mut fetched = result.room()?;
                change_elements(&place, &change, operands, Some(fetched.as_mut_slice().into()))?;
                result.unpack_span(fetched.as_slice().into());
                Ok(())
            }
        };
        match origin {
            Some(origin) => with_packed(origin, fetch),
            None => fetch(ReadSpan::EMPTY),
        }
    }

    /// Gives an element another value if it has that one, and fetches what it had (MPI_Compare_and_swap). All three are
    /// one element of the same predefined type.
    ///
    /// # Errors
    /// As [`Window::accumulate`].
    pub fn compare_and_swap(
        &self,
        value: &Elements,
        compared: &Elements,
        fetched: &Elements,
        remote: Remote<'_>,
    ) -> Result<()> {
        let Some(rank) = self.checked_target(remote.rank)? else { return Ok(()) };
        self.operate(rank)?;
        let basic = remote.datatype.named().filter(|basic| can_be_compared(*basic));
        if basic.is_none() {
            let what = "MPI_Compare_and_swap is for predefined integers, truth values and bytes".to_owned();
            return Err(self.error(ErrorClass::Datatype, what));
        }
        let three = [value, compared, fetched];
        let (Some(value), Some(compared), Some(into)) = (value.read_span(), compared.read_span(), fetched.write_span())
        else {
            let what = "the elements of MPI_Compare_and_swap here are of the target's predefined datatype".to_owned();
            return Err(self.error(ErrorClass::Datatype, what));
        };
        if self.is_elsewhere(rank) {
            let there = self.there_for(rank, &remote, &three)?;
            return self.swap_elsewhere(rank, [value, compared], into, there);
        }
        let place = self.place(rank, remote.displacement, remote.count, remote.datatype)?;
        let size = place.bytes()?;
        three.iter().try_for_each(|elements| self.check_lengths(elements, size))?;
        swap_element(&place, value, compared, into)
    }

    /// The predefined type of which all elements are, here and at the target; `None`: there are none, whatever their
    /// types.
    fn common_element(&self, remote: Remote<'_>, here: &[&Elements]) -> Result<Option<Basic>> {
        let is_any = |count: u64, datatype: &Datatype| count > 0 && datatype.size() > 0;
        let with_data = || here.iter().filter(|elements| is_any(elements.count(), elements.datatype()));
        if !is_any(remote.count, remote.datatype) && with_data().next().is_none() {
            return Ok(None);
        }
        let basic = remote.datatype.element();
        if basic.is_some() && with_data().all(|elements| elements.datatype().element() == basic) {
            return Ok(basic);
        }
        let what = "elements here and at the target must be of one and the same predefined datatype".to_owned();
        Err(self.error(ErrorClass::Datatype, what))
    }
}

/// Compares and swaps the one element of a place.
pub(super) fn swap_element(
    place: &Place<'_>,
    value: ReadSpan<'_>,
    compared: ReadSpan<'_>,
    fetched: WriteSpan<'_>,
) -> Result<()> {
    let size = value.len();
    if let Some(word) = word_of(place, 0, size) {
        let (expected, value) = (compared.number(), value.number());
        fetched.set_number(place.change(word, |word| word.compare_exchange(expected, value)));
        return Ok(());
    }
    if !place.all_are_locked() && place.direct().is_none() {
        return Err(place.not_mapped());
    }
    let mut bytes = [[0; LONGEST]; 2];
    let [found, expected] = &mut bytes;
    let (found, expected) = (&mut found[..size], &mut expected[..size]);
    compared.copy_to(WriteSpan::from(&mut *expected));
    let _locked = place.lock();
    place.read(WriteSpan::from(&mut *found))?;
    if found == expected {
        place.write(value)?;
    }
    ReadSpan::from(&*found).copy_to(fetched);
    Ok(())
}

/// Whether elements of that datatype can be compared and swapped.
pub(super) fn can_be_compared(basic: Basic) -> bool {
    matches!(
        basic.group(),
        Group::CInteger
            | Group::FortranInteger
            | Group::Logical
            | Group::Byte
            | Group::MultiLanguage
            | Group::Character
    )
}

/// Calls `with` with the packed bytes of elements.
fn with_packed<R>(elements: &Elements, with: impl FnOnce(ReadSpan<'_>) -> Result<R>) -> Result<R> {
    match elements.read_span() {
        Some(span) => with(span),
        None => with(elements.packed()?.as_slice().into()),
    }
}

/// The word that an element is, if an atomic operation is to change it.
#[inline]
fn word_of<'a>(place: &Place<'_>, offset: i64, size: usize) -> Option<rwmpi_transport::AtomicWord<'a>> {
    let element = place.direct_part(offset, size)?;
    if place.is_locked(element) { None } else { element.word() }
}

/// Changes all elements of a place. Operands and what is fetched are packed; where the operation has no operand, there
/// are none.
pub(super) fn change_elements(
    place: &Place<'_>,
    change: &Change,
    operands: ReadSpan<'_>,
    fetched: Option<WriteSpan<'_>>,
) -> Result<()> {
    if place.all_are_locked() {
        let _locked = place.lock();
        return change_copy(place, change, operands, fetched);
    }
    let bytes = place.bytes()?;
    if bytes > 0 && place.direct().is_none() {
        return Err(place.not_mapped());
    }
    let whole = (bytes > change.size()).then(|| place.lock());
    let elements = bytes as u64 / change.size() as u64;
    if let Some(locked) = &whole {
        let one_by_one = place.one_by_one().get().saturating_add(elements);
        if select::window::works_alone(place.tuning(), one_by_one, locked.ends(), locked.is_announced()) {
            place.one_by_one().set(0);
            locked.be_alone();
            return change_alone(place, change, operands, fetched);
        }
        place.one_by_one().set(one_by_one);
    }
    let mut elements = EachElement { size: change.size(), missing: 0, number: 0 };
    place.datatype.for_each_run(place.count, &mut |offset, len| {
        elements.of_run(offset, len as usize, |offset, number| {
            let (start, size) = (number * change.size(), change.size());
            let operand = if change.is_nothing() { ReadSpan::EMPTY } else { operands.part(start, size) };
            let fetched = fetched.map(|fetched| fetched.part(start, size));
            change_element(place, change, offset, operand, fetched, whole.is_some())
        })
    })
}

/// Finds where elements begin, in runs of bytes of which an element may have several.
struct EachElement {
    size: usize,
    /// Bytes of the last element that are still to come.
    missing: usize,
    number: usize,
}

impl EachElement {
    /// Calls `visit` with the offset and the number of each element that begins in a run.
    #[inline]
    fn of_run(&mut self, offset: i64, len: usize, mut visit: impl FnMut(i64, usize) -> Result<()>) -> Result<()> {
        let mut at = self.missing.min(len);
        self.missing -= at;
        while at < len {
            visit(offset + at as i64, self.number)?;
            self.number += 1;
            let here = self.size.min(len - at);
            self.missing = self.size - here;
            at += here;
        }
        Ok(())
    }
}

/// Changes one of them; is the lock held already?
#[inline]
fn change_element(
    place: &Place<'_>,
    change: &Change,
    offset: i64,
    operand: ReadSpan<'_>,
    fetched: Option<WriteSpan<'_>>,
    is_locked: bool,
) -> Result<()> {
    if let Some(word) = word_of(place, offset, change.size()) {
        let operand = operand.number();
        let before = match is_locked {
            // Whoever would change it otherwise than by atomic operations has to have the lock.
            true => change.on_word(word, operand),
            false => place.change(word, |word| change.on_word(word, operand)),
        };
        fetched.into_iter().for_each(|fetched| fetched.set_number(before));
        return Ok(());
    }
    let element = place.direct_element(offset, &Datatype::basic(change.basic)).ok_or_else(|| place.not_mapped())?;
    let (mut bytes, mut other) = ([0; LONGEST], [0; LONGEST]);
    let (bytes, other) = (&mut bytes[..change.size()], &mut other[..operand.len()]);
    operand.copy_to(WriteSpan::from(&mut *other));
    let _locked = (!is_locked).then(|| place.lock());
    element.pack_span(WriteSpan::from(&mut *bytes));
    fetched.into_iter().for_each(|fetched| ReadSpan::from(&*bytes).copy_to(fetched));
    if !change.is_nothing() {
        change.on_packed(bytes, other);
        element.unpack_span(ReadSpan::from(&*bytes));
    }
    Ok(())
}

/// The same while nobody else changes any element: of elements that lie side by side where they are, by the loops of
/// reductions.
fn change_alone(
    place: &Place<'_>,
    change: &Change,
    operands: ReadSpan<'_>,
    fetched: Option<WriteSpan<'_>>,
) -> Result<()> {
    let Some(kept) = place.direct_run().filter(|_| change.has_loop()) else {
        return change_copy(place, change, operands, fetched);
    };
    fetched.into_iter().for_each(|fetched| kept.as_read().copy_long_to(fetched));
    change.on_run(kept, operands);
    Ok(())
}

/// The same with a copy of them, which is written back, and while nobody else changes them.
fn change_copy(
    place: &Place<'_>,
    change: &Change,
    operands: ReadSpan<'_>,
    fetched: Option<WriteSpan<'_>>,
) -> Result<()> {
    let size = place.bytes()?;
    let no_memory = |_| Error::new(ErrorClass::NoMemory, format!("there is no memory for {size} bytes"));
    let room = || -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(no_memory)?;
        bytes.resize(size, 0);
        Ok(bytes)
    };
    let (mut bytes, mut other) = (room()?, if change.is_nothing() { Vec::new() } else { room()? });
    operands.copy_to(WriteSpan::from(other.as_mut_slice()));
    if fetched.is_some() || !change.replaces() {
        place.read(WriteSpan::from(bytes.as_mut_slice()))?;
    }
    fetched.into_iter().for_each(|fetched| ReadSpan::from(bytes.as_slice()).copy_to(fetched));
    if change.is_nothing() {
        return Ok(());
    }
    change.on_packed(&mut bytes, &other);
    place.write(bytes.as_slice().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_in_runs_that_end_within_them() {
        // Short integers with indices: two bytes, and four bytes after two of nothing.
        let runs = [(0, 2), (4, 6), (12, 6), (20, 4)];
        let (mut elements, mut found) = (EachElement { size: 6, missing: 0, number: 0 }, Vec::new());
        for (offset, len) in runs {
            elements
                .of_run(offset, len, |offset, number| {
                    found.push((number, offset));
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!((found, elements.missing), (vec![(0, 0), (1, 8), (2, 16)], 0));
    }
}

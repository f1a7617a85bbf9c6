//! The arguments of C, each wrapped as soon as it comes in, so that bodies are safe code.
//!
//! Whoever wraps a pointer (the exported functions alone) vouches that it is null, or what the standard demands of that
//! argument of that function: valid for the length that the standard defines, and for buffers until the operation has
//! completed. The bodies keep their side: they ask for the elements that the standard gives the function, and no
//! others.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::marker::PhantomData;

use rwmpi_core::datatype::{Basic, Datatype};
use rwmpi_core::untyped::{Elements, Run, Runs};
use rwmpi_core::window::Window;
use rwmpi_core::{Communicator, Error, ErrorClass, Info, Result};

use crate::error::Outcome;
use crate::interface::{Abi, StatusValue};
pub use crate::interface::{Function, c_char, c_int, c_void};

#[cold]
fn null(what: &str) -> Error {
    Error::new(ErrorClass::Argument, format!("the argument for {what} is a null pointer"))
}

#[cold]
fn no_place(of: &str) -> Error {
    Error::new(ErrorClass::Argument, format!("the place for {of} is a null pointer"))
}

/// A buffer, or another address whose meaning the call defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory(*mut c_void);

impl Memory {
    /// # Safety
    /// As the module says.
    pub unsafe fn new(start: *mut c_void) -> Self {
        Memory(start)
    }

    /// The address.
    #[inline]
    pub fn address(self) -> *mut u8 {
        self.0.cast()
    }

    /// Whether it is that constant of the interface, as MPI_IN_PLACE.
    #[inline]
    pub fn is(self, constant: isize) -> bool {
        self.0 as isize == constant
    }

    /// The place so many bytes behind it.
    #[inline]
    pub fn after(self, bytes: i64) -> Self {
        Memory(self.0.wrapping_byte_offset(bytes as isize))
    }

    /// Writes bytes there: as many as the standard gives this argument.
    ///
    /// # Errors
    /// MPI_ERR_ARG if the program passed a null pointer.
    pub fn write(self, bytes: &[u8]) -> Outcome {
        if self.0.is_null() {
            return Err(null("a result"));
        }
        // SAFETY: the memory is valid for that, by the contract of `new`.
        unsafe { self.address().copy_from(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Whether so many elements there would lie where no memory is: at a null pointer. MPI_BOTTOM is one, too; then the
    /// datatype has addresses for displacements. No memory lies in the first page.
    pub(crate) fn is_none_for(self, count: u64, datatype: &Datatype) -> bool {
        const PAGE: u64 = 4096;
        let first = (self.0 as i64).wrapping_add(datatype.true_lower_bound());
        first.cast_unsigned() < PAGE && count > 0 && datatype.size() > 0
    }

    /// No elements there.
    pub(crate) fn nothing(self) -> Elements {
        self.elements(0, Datatype::basic(Basic::Byte))
    }

    /// A window of so many bytes there: as many as the standard gives this argument.
    pub(crate) fn window(self, communicator: &Communicator, size: u64, unit: i64, info: &Info) -> Result<Window> {
        // SAFETY: the memory is valid until the window is freed, by the contract of `new`.
        unsafe { communicator.create_window(self.address(), size, unit, info) }
    }

    /// Attaches so many bytes there to a window: as many as the standard gives this argument.
    pub(crate) fn attach(self, window: &Window, size: u64) -> Outcome {
        // SAFETY: the memory is valid until it is detached, by the contract of `new`.
        unsafe { window.attach(self.address(), size) }
    }

    /// Such blocks of elements there: as many as the standard gives this argument.
    #[inline]
    pub fn runs(self, run: Run) -> Runs {
        // SAFETY: as in `elements`.
        unsafe { Runs::new(self.address(), run) }
    }

    /// As [`Memory::runs`], if the address is one.
    #[inline(always)]
    pub(crate) fn runs_unless_special<A: Abi>(self, run: Run) -> Option<Runs> {
        if self.0.is_null() || self.is(A::IN_PLACE) { None } else { Some(self.runs(run)) }
    }

    /// So many bytes there, as many as the standard gives this argument, if the address is one.
    #[inline(always)]
    pub(crate) fn bytes_unless_special<A: Abi>(self, bytes: usize) -> Option<Runs> {
        self.runs_unless_special::<A>(Run::packed(bytes))
    }

    /// The elements there: as many as the standard gives this argument.
    #[inline]
    pub fn elements(self, count: u64, datatype: Datatype) -> Elements {
        // SAFETY: the buffer is valid until the operation has completed, by the contract of `new`.
        unsafe { Elements::new(self.address(), count, datatype) }
    }
}

/// Where one result goes, or what is both argument and result.
#[derive(Clone, Copy, Debug)]
pub struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// # Safety
    /// As the module says.
    pub unsafe fn new(place: *mut T) -> Self {
        Out(place)
    }

    /// Gives the result.
    ///
    /// # Errors
    /// MPI_ERR_ARG if the program passed a null pointer.
    #[inline]
    pub fn set(self, value: T) -> Outcome {
        if self.0.is_null() {
            return Err(null("a result"));
        }
        // SAFETY: the pointer is valid, by the contract of `new`.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// What the program put there.
    ///
    /// # Errors
    /// MPI_ERR_ARG if the program passed a null pointer.
    #[inline]
    pub fn get(self) -> Result<T> {
        if self.0.is_null() {
            return Err(null("a value that the call changes"));
        }
        // SAFETY: as in `set`.
        Ok(unsafe { self.0.read() })
    }

    /// Whether the program passed no place.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Refuses a call that has no place for its result: nobody could wait for it or free it.
    ///
    /// # Errors
    /// MPI_ERR_ARG if the program passed a null pointer.
    #[inline(always)]
    pub fn check_place(self, of: &str) -> Result<()> {
        if self.0.is_null() { Err(no_place(of)) } else { Ok(()) }
    }
}

/// Where an integer goes that is an `int`, or an MPI_Count in the large-count form.
#[derive(Clone, Copy, Debug)]
pub enum IntegerOut {
    /// An `int`.
    Narrow(Out<c_int>),
    /// An MPI_Count.
    Wide(Out<i64>),
}

impl IntegerOut {
    /// # Safety
    /// As the module says.
    pub unsafe fn narrow(place: *mut c_int) -> Self {
        // SAFETY: passed on.
        IntegerOut::Narrow(unsafe { Out::new(place) })
    }

    /// # Safety
    /// As the module says.
    pub unsafe fn wide(place: *mut i64) -> Self {
        // SAFETY: passed on.
        IntegerOut::Wide(unsafe { Out::new(place) })
    }

    /// Gives the result; `overflow` if it does not fit into an `int`.
    ///
    /// # Errors
    /// MPI_ERR_ARG if the program passed a null pointer.
    #[inline]
    pub fn set_or(self, value: i64, overflow: c_int) -> Outcome {
        match self {
            IntegerOut::Narrow(place) => place.set(c_int::try_from(value).unwrap_or(overflow)),
            IntegerOut::Wide(place) => place.set(value),
        }
    }

    /// Gives the result.
    ///
    /// # Errors
    /// MPI_ERR_ARG if the program passed a null pointer; MPI_ERR_VALUE_TOO_LARGE if the result does not fit into an
    /// `int`.
    pub fn set(self, value: i64) -> Outcome {
        match self {
            IntegerOut::Narrow(place) => match c_int::try_from(value) {
                Ok(value) => place.set(value),
                Err(_) => Err(Error::new(
                    ErrorClass::ValueTooLarge,
                    format!(
                        "the result {value} is too large for an int: use the large-count form, whose name ends in _c"
                    ),
                )),
            },
            IntegerOut::Wide(place) => place.set(value),
        }
    }

    /// What the program put there.
    ///
    /// # Errors
    /// MPI_ERR_ARG if the program passed a null pointer.
    pub fn get(self) -> Result<i64> {
        match self {
            IntegerOut::Narrow(place) => place.get().map(i64::from),
            IntegerOut::Wide(place) => place.get(),
        }
    }
}

/// Elements that the call reads.
#[derive(Clone, Copy, Debug)]
pub struct Array<T>(*const T);

impl<T: Copy> Array<T> {
    /// # Safety
    /// As the module says.
    pub unsafe fn new(start: *mut T) -> Self {
        Array(start)
    }

    /// Whether the program passed no array.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Whether it is that constant of the interface, as MPI_UNWEIGHTED.
    pub fn is(self, constant: isize) -> bool {
        self.0 as isize == constant
    }

    /// All `len` elements: as many as the standard gives this argument.
    ///
    /// # Errors
    /// MPI_ERR_ARG if it is a null pointer and `len` is not 0.
    pub fn slice<'a>(self, len: usize) -> Result<&'a [T]> {
        match len {
            0 => Ok(&[]),
            _ if self.0.is_null() => Err(null("an array")),
            // SAFETY: the array is valid for that many elements, by the contract of `new`, for as long as the call
            // lasts.
            _ => Ok(unsafe { std::slice::from_raw_parts(self.0, len) }),
        }
    }
}

/// Elements that the call writes, or reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct OutArray<T>(*mut T);

impl<T: Copy> OutArray<T> {
    /// # Safety
    /// As the module says.
    pub unsafe fn new(start: *mut T) -> Self {
        OutArray(start)
    }

    /// Whether it is that constant of the interface, as MPI_UNWEIGHTED.
    pub fn is(self, constant: isize) -> bool {
        self.0 as isize == constant
    }

    /// Whether the program passed no array.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Gives element `index`, which must be one that the standard gives this argument.
    ///
    /// # Errors
    /// MPI_ERR_ARG if it is a null pointer.
    #[inline]
    pub fn set(self, index: usize, value: T) -> Outcome {
        if self.0.is_null() {
            return Err(null("an array of results"));
        }
        // SAFETY: the array has that element, by the contract of `new`.
        unsafe { self.0.add(index).write(value) };
        Ok(())
    }

    /// Element `index`, as [`OutArray::set`].
    ///
    /// # Errors
    /// MPI_ERR_ARG if it is a null pointer.
    #[inline]
    pub fn get(self, index: usize) -> Result<T> {
        if self.0.is_null() {
            return Err(null("an array"));
        }
        // SAFETY: as in `set`.
        Ok(unsafe { self.0.add(index).read() })
    }
}

/// Integers that are `int`, or wider in the large-count form.
#[derive(Clone, Copy, Debug)]
pub enum Integers {
    /// Of `int`.
    Narrow(Array<c_int>),
    /// Of MPI_Count or MPI_Aint.
    Wide(Array<i64>),
}

impl Integers {
    /// # Safety
    /// As the module says.
    pub unsafe fn narrow(start: *mut c_int) -> Self {
        // SAFETY: passed on.
        Integers::Narrow(unsafe { Array::new(start) })
    }

    /// # Safety
    /// As the module says.
    pub unsafe fn wide(start: *mut i64) -> Self {
        // SAFETY: passed on.
        Integers::Wide(unsafe { Array::new(start) })
    }

    /// Element `index`, which must be one that the standard gives this argument, unless it is a null pointer.
    #[inline(always)]
    pub(crate) fn get(self, index: usize) -> Option<i64> {
        match self {
            Integers::Narrow(array) => Some(i64::from(array.slice(index + 1).ok()?[index])),
            Integers::Wide(array) => Some(array.slice(index + 1).ok()?[index]),
        }
    }

    /// All `len` elements: as many as the standard gives this argument.
    ///
    /// # Errors
    /// MPI_ERR_ARG if it is a null pointer and `len` is not 0.
    pub fn to_vec(self, len: usize) -> Result<Vec<i64>> {
        match self {
            Integers::Narrow(array) => Ok(array.slice(len)?.iter().copied().map(i64::from).collect()),
            Integers::Wide(array) => Ok(array.slice(len)?.to_vec()),
        }
    }
}

/// Text from the program.
#[derive(Clone, Copy, Debug)]
pub struct Text(*const c_char);

impl Text {
    /// # Safety
    /// As the module says; it ends with a zero byte.
    pub unsafe fn new(start: *mut c_char) -> Self {
        Text(start)
    }

    /// The text.
    ///
    /// # Errors
    /// MPI_ERR_ARG if it is a null pointer.
    pub fn get(self) -> Result<String> {
        if self.0.is_null() {
            return Err(null("a text"));
        }
        // SAFETY: a text that ends with a zero byte, by the contract of `new`.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned())
    }
}

/// Texts from the program, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct TextList(*const *mut c_char);

impl TextList {
    /// # Safety
    /// As the module says; each of them ends with a zero byte.
    pub unsafe fn new(start: *mut *mut c_char) -> Self {
        TextList(start)
    }

    /// The text at `index`, which must be one that the standard gives this argument, or the null pointer behind them.
    fn at(self, index: usize) -> Text {
        // SAFETY: the list has that element, by the contract of `new`.
        Text(unsafe { self.0.add(index).read() })
    }

    /// Those before the null pointer; none if the program passed none.
    pub fn until_null(self) -> Result<Vec<String>> {
        if self.0.is_null() {
            return Ok(Vec::new());
        }
        (0..).map(|index| self.at(index)).take_while(|text| !text.0.is_null()).map(Text::get).collect()
    }

    /// So many: as many as the standard gives this argument.
    ///
    /// # Errors
    /// MPI_ERR_ARG if it, or one of them, is a null pointer.
    pub fn counted(self, count: usize) -> Result<Vec<String>> {
        if self.0.is_null() && count > 0 {
            return Err(null("an array of texts"));
        }
        (0..count).map(|index| self.at(index).get()).collect()
    }
}

/// Lists of texts from the program.
#[derive(Clone, Copy, Debug)]
pub struct TextTable(*const *mut *mut c_char);

impl TextTable {
    /// # Safety
    /// As the module says; each list ends with a null pointer, each text with a zero byte.
    pub unsafe fn new(start: *mut *mut *mut c_char) -> Self {
        TextTable(start)
    }

    /// The list at `index`, which must be one that the standard gives this argument; an empty one if the program passed
    /// none at all.
    pub fn row(self, index: usize) -> TextList {
        if self.0.is_null() {
            return TextList(std::ptr::null());
        }
        // SAFETY: the table has that row, by the contract of `new`.
        TextList(unsafe { self.0.add(index).read() })
    }
}

/// Where a text goes.
#[derive(Clone, Copy, Debug)]
pub struct TextOut(*mut c_char);

impl TextOut {
    /// # Safety
    /// As the module says.
    pub unsafe fn new(start: *mut c_char) -> Self {
        TextOut(start)
    }

    /// Writes as much of `text` as fits into `size` bytes with the zero byte at its end, and returns its length without
    /// that.
    ///
    /// # Errors
    /// MPI_ERR_ARG if it is a null pointer.
    pub fn set(self, text: &str, size: usize) -> Result<usize> {
        if self.0.is_null() {
            return Err(null("a text"));
        }
        let mut len = text.len().min(size.saturating_sub(1));
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        if size > 0 {
            // SAFETY: the place is valid for `size` bytes, by the contract of `new`.
            unsafe {
                self.0.copy_from_nonoverlapping(text.as_ptr().cast(), len);
                self.0.add(len).write(0);
            }
        }
        Ok(len)
    }
}

/// A status that the call reads.
#[derive(Clone, Copy)]
pub struct StatusIn<A: Abi>(*const A::Status);

impl<A: Abi> StatusIn<A> {
    /// # Safety
    /// As the module says.
    pub unsafe fn new(status: *mut A::Status) -> Self {
        StatusIn(status)
    }

    /// What it says.
    ///
    /// # Errors
    /// MPI_ERR_ARG if it is a null pointer or MPI_STATUS_IGNORE.
    pub fn get(self) -> Result<StatusValue> {
        if self.0.is_null() || self.0 as isize == A::STATUS_IGNORE {
            return Err(null("a status"));
        }
        // SAFETY: a status, by the contract of `new`.
        Ok(A::read_status(unsafe { &*self.0 }))
    }
}

/// Where a status goes, unless the program ignores it.
#[derive(Clone, Copy)]
pub struct StatusOut<A: Abi>(*mut A::Status);

impl<A: Abi> StatusOut<A> {
    /// # Safety
    /// As the module says.
    pub unsafe fn new(status: *mut A::Status) -> Self {
        StatusOut(status)
    }

    /// Whether the program ignores it.
    #[inline]
    pub fn is_ignored(self) -> bool {
        self.0.is_null() || self.0 as isize == A::STATUS_IGNORE
    }

    /// Gives the status; its error field stays as it is (MPI-5.0 section 3.2.5).
    #[inline]
    pub fn set(self, value: &StatusValue) {
        if !self.is_ignored() {
            // SAFETY: a place for a status, by the contract of `new`.
            A::write_status(unsafe { &mut *self.0 }, value);
        }
    }

    /// What it says.
    ///
    /// # Errors
    /// MPI_ERR_ARG if the program passed none.
    pub fn get(self) -> Result<StatusValue> {
        if self.is_ignored() {
            return Err(null("a status"));
        }
        // SAFETY: a status, by the contract of `new`.
        Ok(A::read_status(unsafe { &*self.0 }))
    }

    /// Sets its error field.
    ///
    /// # Errors
    /// MPI_ERR_ARG if the program passed none.
    pub fn set_error(self, code: c_int) -> Outcome {
        if self.is_ignored() {
            return Err(null("a status"));
        }
        // SAFETY: a status, by the contract of `new`.
        *A::status_error(unsafe { &mut *self.0 }) = code;
        Ok(())
    }
}

/// Where statuses go, unless the program ignores them.
#[derive(Clone, Copy)]
pub struct StatusArray<A: Abi>(*mut A::Status, PhantomData<A>);

impl<A: Abi> StatusArray<A> {
    /// # Safety
    /// As the module says.
    pub unsafe fn new(start: *mut A::Status) -> Self {
        StatusArray(start, PhantomData)
    }

    /// Whether the program ignores them.
    pub fn is_ignored(self) -> bool {
        self.0.is_null() || self.0 as isize == A::STATUSES_IGNORE
    }

    /// The place of status `index`, which must be one that the standard gives this argument.
    pub fn at(self, index: usize) -> StatusOut<A> {
        // The constant that says "ignore" is another one for a single status in principle.
        if self.is_ignored() { StatusOut(std::ptr::null_mut()) } else { StatusOut(self.0.wrapping_add(index)) }
    }
}

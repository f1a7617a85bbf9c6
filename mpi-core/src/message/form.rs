//! Values whose message is a piece of their memory: sent from where they lie, received in place, not packed.
//!
//! What is received in place is zeros before: a peer may write there, and say that it has written what it has not. So
//! whatever peers do, programs never see memory that was not written.
//!
//! Of plain data whose memory is their packed form that is the value itself, of vectors of such data and of strings
//! their contents. Which it is, a type says by a constant that only this file makes, out of what [`Datatype`] promises;
//! so no implementation of [`Message`] can claim more than is true, and the compiler removes all that is not the type's
//! case.
#![allow(unsafe_code)]

use std::fmt::{Debug, Formatter};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use rwmpi_transport::{ReadSpan, WriteSpan};
use smallvec::SmallVec;

use super::{CodecError, Message, Writer, decoded, encoded};
use crate::{Datatype, engine};

/// Which piece of a value's memory its message is.
#[doc(hidden)]
pub struct Form<T>(Kind<T>);

enum Kind<T> {
    /// None: it is encoded.
    Apart,
    /// The value itself, which any bytes are.
    Itself(PhantomData<fn(T) -> T>),
    /// What it owns.
    Contents(Contents<T>),
}

struct Contents<T> {
    /// Bytes of an element.
    unit: usize,
    lend: fn(&T) -> &[u8],
    /// An empty value with room for so many elements, if there is memory.
    empty: fn(usize) -> Option<T>,
    room: fn(&mut T) -> &mut [MaybeUninit<u8>],
    /// The first so many elements of its room have been written.
    filled: unsafe fn(T, usize) -> Result<T, CodecError>,
}

impl<T> Form<T> {
    pub const APART: Self = Form(Kind::Apart);

    /// Of plain data.
    pub const fn of_plain() -> Self
    where
        T: Datatype,
    {
        Form(if T::DIRECT { Kind::Itself(PhantomData) } else { Kind::Apart })
    }

    /// Of arrays of what has this form.
    pub(super) const fn of_arrays<const N: usize>(&self) -> Form<[T; N]> {
        Form(if self.is_itself() { Kind::Itself(PhantomData) } else { Kind::Apart })
    }

    /// Of vectors of what has this form.
    pub(super) const fn of_vectors(&self) -> Form<Vec<T>> {
        if !self.is_itself() || size_of::<T>() == 0 {
            return Form(Kind::Apart);
        }
        Form(Kind::Contents(Contents {
            unit: size_of::<T>(),
            // SAFETY: the elements' memory is initialised, as `Itself` says.
            lend: |vector| unsafe { std::slice::from_raw_parts(vector.as_ptr().cast(), size_of_val(&vector[..])) },
            empty: |count| {
                let mut vector = Vec::new();
                vector.try_reserve_exact(count).ok().map(|()| vector)
            },
            room: |vector| {
                let room = vector.spare_capacity_mut();
                // SAFETY: bytes that need not be initialised.
                unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), size_of_val(room)) }
            },
            filled: |mut vector, count| {
                // SAFETY: they have been written, says the caller, and any bytes are elements, says `Itself`.
                unsafe { vector.set_len(count) };
                Ok(vector)
            },
        }))
    }

    /// Whether the message is the value, which any bytes are.
    pub(crate) const fn is_itself(&self) -> bool {
        matches!(self.0, Kind::Itself(_))
    }

    /// The value that is itself its message, of which `len` bytes have arrived in this memory.
    ///
    /// # Safety
    /// They have been written, and the form [`Form::is_itself`].
    #[inline(always)]
    pub(crate) unsafe fn itself(&self, value: MaybeUninit<T>, len: usize) -> Result<T, CodecError> {
        debug_assert!(self.is_itself());
        if len != size_of::<T>() {
            return Err(CodecError::too_short(size_of::<T>(), len));
        }
        // SAFETY: all its bytes have been written, and any are a value.
        Ok(unsafe { value.assume_init() })
    }

    /// Where the value's message lies, if it is a piece of its memory.
    #[inline(always)]
    pub(crate) fn lend<'a>(&self, value: &'a T) -> Option<&'a [u8]> {
        match &self.0 {
            Kind::Apart => None,
            // SAFETY: all bytes of such a value are initialised.
            Kind::Itself(_) => Some(unsafe { std::slice::from_raw_parts((&raw const *value).cast(), size_of::<T>()) }),
            Kind::Contents(contents) => Some((contents.lend)(value)),
        }
    }

    /// The value that these bytes are where they lie, if they can be.
    #[inline]
    pub(crate) fn at<'a>(&self, bytes: &'a [u8]) -> Option<&'a T> {
        let is_one = self.is_itself() && bytes.len() == size_of::<T>() && bytes.as_ptr().cast::<T>().is_aligned();
        // SAFETY: of such a type any bytes are a value; length and place have been looked at.
        is_one.then(|| unsafe { &*bytes.as_ptr().cast::<T>() })
    }
}

impl Form<String> {
    pub(super) const TEXT: Self = Form(Kind::Contents(Contents {
        unit: 1,
        lend: |text| text.as_bytes(),
        empty: |len| {
            let mut text = String::new();
            text.try_reserve_exact(len).ok().map(|()| text)
        },
        room: |text| {
            // SAFETY: what is behind the text is no text yet, and only that is handed out.
            let room = unsafe { text.as_mut_vec() }.spare_capacity_mut();
            // SAFETY: bytes that need not be initialised.
            unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), room.len()) }
        },
        filled: |text, len| {
            let mut bytes = text.into_bytes();
            // SAFETY: they have been written, says the caller.
            unsafe { bytes.set_len(len) };
            String::from_utf8(bytes).map_err(|error| super::standard::no_text(error.utf8_error()))
        },
    }));
}

/// A value's message: lent by the value, or written for the purpose.
pub(crate) enum Parcel<'a> {
    Lent(&'a [u8]),
    Written(Writer),
}

impl<'a> Parcel<'a> {
    #[inline(always)]
    pub(crate) fn new<T: Message>(value: &'a T) -> Result<Self, CodecError> {
        match T::FORM.lend(value) {
            Some(bytes) => Ok(Parcel::Lent(bytes)),
            None => Ok(Parcel::Written(encoded(value)?)),
        }
    }

    /// One that owns its bytes.
    pub(crate) fn owned<T: Message>(value: &T) -> Result<Parcel<'static>, CodecError> {
        Ok(Parcel::Written(encoded(value)?))
    }

    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Parcel::Lent(bytes) => bytes,
            Parcel::Written(writer) => writer.bytes(),
        }
    }

    /// As the place of a broadcast at its root.
    pub(crate) fn at_root(&self) -> WriteSpan<'_> {
        let bytes = ReadSpan::from(self.bytes());
        // SAFETY: a broadcast only reads at its root.
        unsafe { WriteSpan::new(bytes.start().cast_mut(), bytes.len()) }
    }
}

/// Memory into which the message of a value is received.
pub(crate) struct Place<T> {
    room: Room<T>,
    len: usize,
}

enum Room<T> {
    Itself(MaybeUninit<T>),
    Contents(T),
    Bytes(SmallVec<[u8; 64]>),
}

impl<T: Message> Place<T> {
    /// For a message of `len` bytes, of zeros; `None` if there is no memory for it.
    #[inline(always)]
    pub(crate) fn new(len: usize) -> Option<Self> {
        let room = match &T::FORM.0 {
            Kind::Itself(_) if len == size_of::<T>() => Room::Itself(MaybeUninit::zeroed()),
            Kind::Contents(contents) => {
                let mut value = (contents.empty)(len.div_ceil(contents.unit))?;
                (contents.room)(&mut value)[..len].fill(MaybeUninit::new(0));
                Room::Contents(value)
            }
            _ => {
                let mut bytes = SmallVec::new();
                bytes.try_reserve_exact(len).ok()?;
                bytes.resize(len, 0);
                Room::Bytes(bytes)
            }
        };
        Some(Place { room, len })
    }

    /// One that has a value, which is replaced.
    pub(crate) fn holding(value: T) -> Result<Self, CodecError> {
        if T::FORM.is_itself() {
            return Ok(Place { room: Room::Itself(MaybeUninit::new(value)), len: size_of::<T>() });
        }
        let bytes = SmallVec::from_slice(encoded(&value)?.bytes());
        Ok(Place { len: bytes.len(), room: Room::Bytes(bytes) })
    }

    /// One of zeros, whatever these are.
    pub(crate) fn of_zeros(len: usize) -> Self {
        Place { room: Room::Bytes(SmallVec::from_elem(0, len)), len }
    }

    /// As how long a message it was made for.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Where the message belongs.
    #[inline(always)]
    pub(crate) fn span(&mut self) -> WriteSpan<'_> {
        let start: *mut u8 = match (&mut self.room, &T::FORM.0) {
            (Room::Itself(value), _) => value.as_mut_ptr().cast(),
            (Room::Contents(value), Kind::Contents(contents)) => (contents.room)(value).as_mut_ptr().cast(),
            (Room::Bytes(bytes), _) => bytes.as_mut_ptr(),
            (Room::Contents(_), _) => unreachable!("what has no contents has no room for them"),
        };
        // SAFETY: there is so much room, borrowed as long as the span.
        unsafe { WriteSpan::new(start, self.len) }
    }

    /// What has arrived there: the first `len` bytes of it, all of which are there.
    #[inline(always)]
    pub(crate) fn value(self, len: usize) -> Result<T, CodecError> {
        let len = len.min(self.len);
        match (self.room, &T::FORM.0) {
            // SAFETY: all of it was written when the place was made.
            (Room::Itself(value), _) => unsafe { T::FORM.itself(value, len) },
            (Room::Contents(value), Kind::Contents(contents)) => match len % contents.unit {
                // SAFETY: likewise.
                0 => unsafe { (contents.filled)(value, len / contents.unit) },
                rest => Err(CodecError::left_over(rest)),
            },
            (Room::Bytes(bytes), _) => decoded(&bytes[..len]),
            (Room::Contents(_), _) => unreachable!("what has no contents has no room for them"),
        }
    }
}

/// A place that is made when the message comes.
pub(crate) struct Arriving<T>(Option<Place<T>>);

impl<T> Arriving<T> {
    pub(crate) const NOTHING: Self = Arriving(None);

    /// What has been made; `None` if nothing has come, or there was no memory.
    pub(crate) fn take(&mut self) -> Option<Place<T>> {
        self.0.take()
    }
}

impl<T: Message> engine::Room for Arriving<T> {
    fn limit(&self) -> usize {
        T::FIXED_SIZE.unwrap_or(usize::MAX)
    }

    fn make(&mut self, len: usize) -> Option<WriteSpan<'static>> {
        let span = self.0.insert(Place::new(len)?).span();
        // SAFETY: whoever receives there keeps `self` where it is until the operation has completed.
        Some(unsafe { WriteSpan::new(span.start(), span.len()) })
    }
}

impl<T> Debug for Arriving<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Arriving").field(&self.0.as_ref().map(|place| place.len)).finish()
    }
}

/// As a receive does it: the bytes come into a place, and only then they are a value.
#[cfg(test)]
pub(super) fn received<T: Message>(bytes: &[u8]) -> Result<T, CodecError> {
    let mut place = Place::new(bytes.len()).expect("there is memory");
    ReadSpan::from(bytes).copy_to(place.span());
    place.value(bytes.len())
}

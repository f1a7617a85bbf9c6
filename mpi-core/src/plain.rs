//! Plain data: values that are nothing but their fields' bytes, so that slices of them can be sent and received.
//!
//! Where a type has no padding and every pattern of bits is a value, its slices travel *directly*: the transport reads
//! and writes them where they are. Others are packed, field by field: padding never travels, and what arrives becomes a
//! value only if it is one. Which of the two a type does is known to the compiler, so neither costs the other anything.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::{MaybeUninit, offset_of};

use bytemuck::{Pod, TransparentWrapper, Zeroable};

use crate::Signature;

/// Plain data: fixed in size, without pointers, copied freely. Derive it:
///
/// ```
/// # extern crate rwmpi_core as rwmpi;
/// # fn main() -> rwmpi::Result<()> {
/// use rwmpi::Datatype;
///
/// #[derive(Clone, Copy, Debug, PartialEq, Datatype)]
/// struct Particle {
///     position: [f64; 3],
///     charge: i8,
///     alive: bool,
/// }
///
/// rwmpi::run_threads(2, rwmpi::Protocol::Auto, |universe| {
///     let world = universe.world();
///     let mut particles = [Particle { position: [world.rank() as f64; 3], charge: -1, alive: true }; 10];
///     world.bcast(&mut particles, 1)?;
///     assert_eq!(particles[9].position, [1.0; 3]);
///     Ok(())
/// })?.into_iter().collect()
/// # }
/// ```
///
/// Of a value travel the bytes of its fields in the order in which they are declared, as of MPI's datatype of the same
/// C structure. A type without padding whose fields also lie in that order is sent from where it is, without a copy;
/// `#[repr(C)]` makes sure of the order. `bool`, `char`, enums and whatever contains them are checked when they arrive.
///
/// # Safety
/// If `DIRECT`, the type has no padding, every pattern of bits is a value, and `SIZE` is its size.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data, so it can't be an element of a buffer that is sent or received",
    label = "no plain data",
    note = "for a type of your own with plain fields: #[derive(Clone, Copy, rwmpi::Datatype)]",
    note = "for a type of another crate that bytemuck knows: rwmpi::Plain",
    note = "strings, vectors, maps and types that contain them are sent whole: send_value, recv_value, bcast_value, …"
)]
pub unsafe trait Datatype: Copy + 'static {
    /// Bytes of a value on its way.
    const SIZE: usize;
    /// Whether these are the value's memory as it is.
    const DIRECT: bool;

    /// Which basic types it consists of.
    #[doc(hidden)]
    const SIGNATURE: Signature = Signature::UNKNOWN;

    /// Writes the value to `bytes`, which are `SIZE` bytes.
    fn pack(&self, bytes: &mut [u8]);

    /// The value that was packed to `bytes`, which are `SIZE` bytes; `None` if they are no value.
    fn unpack(bytes: &[u8]) -> Option<Self>;
}

/// Says of a type that it travels directly.
#[derive(Clone, Copy)]
pub(crate) struct Direct<T>(PhantomData<T>);

impl<T: Datatype> Direct<T> {
    /// `None` if it does not.
    #[inline(always)]
    pub(crate) fn known() -> Option<Self> {
        T::DIRECT.then_some(Direct(PhantomData))
    }

    /// The values' memory.
    #[inline(always)]
    pub(crate) fn bytes(self, values: &[T]) -> &[u8] {
        // SAFETY: such a type has no padding, so all its bytes are initialised.
        unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
    }

    /// As [`Direct::bytes`], to be written.
    #[inline(always)]
    pub(crate) fn bytes_mut(self, values: &mut [T]) -> &mut [u8] {
        // SAFETY: as in `bytes`, and whatever is written there is a value.
        unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
    }
}

/// The values' memory, if their type travels directly.
#[inline(always)]
pub(crate) fn direct<T: Datatype>(values: &[T]) -> Option<&[u8]> {
    Direct::known().map(|direct| direct.bytes(values))
}

/// As [`direct`], to be written.
#[inline(always)]
pub(crate) fn direct_mut<T: Datatype>(values: &mut [T]) -> Option<&mut [u8]> {
    Direct::known().map(|direct| direct.bytes_mut(values))
}

/// The memory of such values as values again; `None` if the bytes are no whole number of them or do not lie as they
/// must.
#[inline(always)]
pub(crate) fn direct_values<T: Datatype>(bytes: &[u8]) -> Option<&[T]> {
    // SAFETY: for such a type any bytes are values.
    let (before, values, after) = unsafe { bytes.align_to::<T>() };
    (T::DIRECT && before.is_empty() && after.is_empty()).then_some(values)
}

/// As [`direct_values`], to be written.
#[inline(always)]
pub(crate) fn direct_values_mut<T: Datatype>(bytes: &mut [u8]) -> Option<&mut [T]> {
    // SAFETY: as in `direct_values`, and a value's bytes are initialised.
    let (before, values, after) = unsafe { bytes.align_to_mut::<T>() };
    (T::DIRECT && before.is_empty() && after.is_empty()).then_some(values)
}

/// A copy of the values that the bytes of a directly travelling type are: as many as are whole.
pub(crate) fn copied<T: Datatype>(bytes: &[u8]) -> Option<Vec<T>> {
    if !T::DIRECT || T::SIZE == 0 {
        return None;
    }
    let count = bytes.len() / T::SIZE;
    let mut values = Vec::<T>::with_capacity(count);
    // SAFETY: the vector has room for that many values, which any bytes are.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), values.as_mut_ptr().cast(), count * T::SIZE);
        values.set_len(count);
    }
    Some(values)
}

/// Packs the values to `bytes`, which are as many as they need.
pub(crate) fn pack_all<T: Datatype>(values: &[T], bytes: &mut [u8]) {
    if T::SIZE > 0 {
        values.iter().zip(bytes.chunks_exact_mut(T::SIZE)).for_each(|(value, bytes)| value.pack(bytes));
    }
}

/// The values, packed.
pub(crate) fn packed<T: Datatype>(values: &[T]) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * T::SIZE];
    pack_all(values, &mut bytes);
    bytes
}

/// Unpacks as many values as are whole; the first that is none, if there is one, ends it.
pub(crate) fn unpack<T: Datatype>(bytes: &[u8], values: &mut [T]) -> Result<(), usize> {
    if T::SIZE > 0 {
        for (place, (bytes, value)) in bytes.chunks_exact(T::SIZE).zip(values).enumerate() {
            *value = T::unpack(bytes).ok_or(place)?;
        }
    }
    Ok(())
}

macro_rules! numbers {
    ($($signature:ident: $($number:ty)*;)*) => {$($(
        // SAFETY: numbers have no padding, and any bits are one.
        unsafe impl Datatype for $number {
            const SIZE: usize = size_of::<$number>();
            const DIRECT: bool = true;
            const SIGNATURE: Signature = Signature::$signature(size_of::<$number>());
            #[inline(always)]
            fn pack(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
            #[inline(always)]
            fn unpack(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(<$number>::from_ne_bytes)
            }
        }
    )*)*};
}

numbers! {
    unsigned: u8 u16 u32 u64 u128 usize;
    signed: i8 i16 i32 i64 i128 isize;
    float: f32 f64;
}

/// Types that are checked when they arrive: what they travel as, how they become that, and how they come from it.
macro_rules! checked {
    ($($checked:ty, $number:ty, $signature:expr, $into:expr, $from:expr;)*) => {$(
        // SAFETY: it does not travel directly.
        unsafe impl Datatype for $checked {
            const SIZE: usize = size_of::<$number>();
            const DIRECT: bool = false;
            const SIGNATURE: Signature = $signature;
            #[inline]
            fn pack(&self, bytes: &mut [u8]) {
                let number: $number = $into(*self);
                number.pack(bytes);
            }
            #[inline]
            fn unpack(bytes: &[u8]) -> Option<Self> {
                $from(<$number>::unpack(bytes)?)
            }
        }
    )*};
}

checked! {
    bool, u8, Signature::BOOL, u8::from, |byte| match byte { 0 => Some(false), 1 => Some(true), _ => None };
    char, u32, Signature::CHAR, u32::from, char::from_u32;
    std::num::NonZeroU8, u8, u8::SIGNATURE, Self::get, Self::new;
    std::num::NonZeroU16, u16, u16::SIGNATURE, Self::get, Self::new;
    std::num::NonZeroU32, u32, u32::SIGNATURE, Self::get, Self::new;
    std::num::NonZeroU64, u64, u64::SIGNATURE, Self::get, Self::new;
    std::num::NonZeroUsize, usize, usize::SIGNATURE, Self::get, Self::new;
}

// SAFETY: an array has no padding between or behind its elements.
unsafe impl<T: Datatype, const N: usize> Datatype for [T; N] {
    const SIZE: usize = T::SIZE * N;
    const DIRECT: bool = T::DIRECT;
    const SIGNATURE: Signature = T::SIGNATURE.repeated(N);

    #[inline]
    fn pack(&self, bytes: &mut [u8]) {
        match direct(self) {
            Some(memory) => bytes.copy_from_slice(memory),
            None if T::SIZE > 0 => {
                self.iter().zip(bytes.chunks_exact_mut(T::SIZE)).for_each(|(element, bytes)| element.pack(bytes));
            }
            None => {}
        }
    }

    #[inline]
    fn unpack(bytes: &[u8]) -> Option<Self> {
        let mut array = MaybeUninit::<[T; N]>::uninit();
        for place in 0..N {
            let element = T::unpack(&bytes[place * T::SIZE..][..T::SIZE])?;
            // SAFETY: `place` lies within the array.
            unsafe { array.as_mut_ptr().cast::<T>().add(place).write(element) };
        }
        // SAFETY: all elements have been written.
        Some(unsafe { array.assume_init() })
    }
}

macro_rules! tuples {
    ($($($name:ident $place:tt)*;)*) => {$(
        // SAFETY: it travels directly only if its fields do and lie side by side, from the first to the last, without
        // padding.
        unsafe impl<$($name: Datatype),*> Datatype for ($($name,)*) {
            const SIZE: usize = 0 $(+ $name::SIZE)*;
            const SIGNATURE: Signature = Signature::sequence(&[$($name::SIGNATURE),*]);
            #[allow(unused_mut, unused_assignments)]
            const DIRECT: bool = {
                let (mut direct, mut end) = (true, 0);
                $(
                    direct = direct && $name::DIRECT && offset_of!(Self, $place) == end;
                    end += size_of::<$name>();
                )*
                direct && end == size_of::<Self>()
            };

            #[inline]
            fn pack(&self, bytes: &mut [u8]) {
                $(
                    let (field, bytes) = bytes.split_at_mut($name::SIZE);
                    self.$place.pack(field);
                )*
                let _ = bytes;
            }

            #[inline]
            #[allow(unused_mut, clippy::unused_unit)]
            fn unpack(bytes: &[u8]) -> Option<Self> {
                let mut rest = bytes;
                let value = ($({
                    let (field, bytes) = rest.split_at($name::SIZE);
                    rest = bytes;
                    $name::unpack(field)?
                },)*);
                let _ = rest;
                Some(value)
            }
        }
    )*};
}

tuples! {
    ;
    A 0;
    A 0 B 1;
    A 0 B 1 C 2;
    A 0 B 1 C 2 D 3;
    A 0 B 1 C 2 D 3 E 4;
    A 0 B 1 C 2 D 3 E 4 F 5;
    A 0 B 1 C 2 D 3 E 4 F 5 G 6;
    A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7;
}

// SAFETY: it has no bytes.
unsafe impl<T: 'static> Datatype for PhantomData<T> {
    const SIZE: usize = 0;
    const DIRECT: bool = true;
    const SIGNATURE: Signature = Signature::EMPTY;

    fn pack(&self, _: &mut [u8]) {}

    fn unpack(_: &[u8]) -> Option<Self> {
        Some(PhantomData)
    }
}

#[cfg(feature = "num-complex")]
// SAFETY: in memory it is an array of two.
unsafe impl<T: Datatype> Datatype for num_complex::Complex<T> {
    const SIZE: usize = <[T; 2]>::SIZE;
    const SIGNATURE: Signature = <[T; 2]>::SIGNATURE;
    const DIRECT: bool = T::DIRECT;

    #[inline]
    fn pack(&self, bytes: &mut [u8]) {
        [self.re, self.im].pack(bytes);
    }

    #[inline]
    fn unpack(bytes: &[u8]) -> Option<Self> {
        <[T; 2]>::unpack(bytes).map(|[re, im]| num_complex::Complex { re, im })
    }
}

/// A type of another crate that [`bytemuck`] knows as plain data: what can't derive [`Datatype`] travels wrapped.
///
/// ```
/// use rwmpi_core::Plain;
///
/// # #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
/// # #[repr(C)]
/// # struct Complex { re: f64, im: f64 }
/// # rwmpi_core::run_threads(1, rwmpi_core::Protocol::Auto, |universe| -> rwmpi_core::Result<()> {
/// # let world = universe.world();
/// let mut spectrum = vec![Complex { re: 1.0, im: 0.0 }; 8];
/// world.bcast(Plain::of_mut(&mut spectrum), 0)?;
/// # Ok(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Zeroable, TransparentWrapper)]
#[repr(transparent)]
pub struct Plain<T>(pub T);

impl<T> Plain<T> {
    /// A slice of such values.
    #[doc = example!(1
        "#[derive(Clone, Copy, PartialEq, rwmpi::Pod, rwmpi::Zeroable)]"
        "#[repr(transparent)]"
        "struct Metres(f64);"
        "world.buffered_send(rwmpi::Plain::of(&[Metres(1.5); 2]), 0, 0)?;"
        "world.recv(rwmpi::Plain::of_mut(&mut [Metres(0.0); 2]), 0, 0)?;"
    )]
    pub fn of(values: &[T]) -> &[Self] {
        Self::wrap_slice(values)
    }

    /// As [`Plain::of`], to be written.
    pub fn of_mut(values: &mut [T]) -> &mut [Self] {
        Self::wrap_slice_mut(values)
    }
}

// SAFETY: that is what `Pod` says.
unsafe impl<T: Pod> Datatype for Plain<T> {
    const SIZE: usize = size_of::<T>();
    const DIRECT: bool = true;

    #[inline]
    fn pack(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(bytemuck::bytes_of(&self.0));
    }

    #[inline]
    fn unpack(bytes: &[u8]) -> Option<Self> {
        bytemuck::try_pod_read_unaligned(bytes).ok().map(Plain)
    }
}

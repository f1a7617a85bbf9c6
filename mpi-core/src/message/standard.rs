//! The standard library's types as messages.
//!
//! Plain ones travel packed. A `Vec` or `String` that is all of a message is just its elements, so that it can also be
//! sent or received as a slice; within other values, and before other collections, stands how many they are.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::str::Utf8Error;

use super::{CodecError, Form, Message, Reader, Writer, sum};
use crate::{Mark, Plain, Pod, Signature};

/// What makes a message of a type that is plain data.
#[doc(hidden)]
#[macro_export]
macro_rules! message_of_plain_data {
    () => {
        const FIXED_SIZE: ::core::option::Option<usize> =
            ::core::option::Option::Some(<Self as $crate::Datatype>::SIZE);
        const SIGNATURE: $crate::Signature = <Self as $crate::Datatype>::SIGNATURE;
        const FORM: $crate::message::Form<Self> = $crate::message::Form::of_plain();
        #[inline]
        fn encode(&self, to: &mut $crate::message::Writer) -> ::core::result::Result<(), $crate::message::CodecError> {
            $crate::message::plain::encode(self, to)
        }
        #[inline]
        fn decode(from: &mut $crate::message::Reader<'_>) -> ::core::result::Result<Self, $crate::message::CodecError> {
            $crate::message::plain::decode(from)
        }
        #[inline]
        fn encode_sized(&self, to: &mut [u8]) -> ::core::result::Result<(), $crate::message::CodecError> {
            $crate::Datatype::pack(self, to);
            ::core::result::Result::Ok(())
        }
        #[inline]
        fn decode_sized(bytes: &[u8]) -> ::core::result::Result<Self, $crate::message::CodecError> {
            $crate::message::plain::decode_sized(bytes)
        }
        #[inline]
        fn encode_all(
            values: &[Self],
            to: &mut $crate::message::Writer,
        ) -> ::core::result::Result<(), $crate::message::CodecError> {
            $crate::message::plain::encode_all(values, to)
        }
        #[inline]
        fn decode_all(
            count: usize,
            from: &mut $crate::message::Reader<'_>,
        ) -> ::core::result::Result<::std::vec::Vec<Self>, $crate::message::CodecError> {
            $crate::message::plain::decode_all(count, from)
        }
    };
}

macro_rules! plain {
    ($($plain:ty)*) => {$(
        impl Message for $plain {
            message_of_plain_data!();
        }
    )*};
}

plain! {
    u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char
    std::num::NonZeroU8 std::num::NonZeroU16 std::num::NonZeroU32 std::num::NonZeroU64 std::num::NonZeroUsize
}

impl<T: 'static> Message for PhantomData<T> {
    message_of_plain_data!();
}

impl<T: Pod> Message for Plain<T> {
    message_of_plain_data!();
}

#[cfg(feature = "num-complex")]
impl<T: crate::Datatype> Message for num_complex::Complex<T> {
    message_of_plain_data!();
}

impl<T: Message, const N: usize> Message for [T; N] {
    const FIXED_SIZE: Option<usize> = match T::FIXED_SIZE {
        Some(size) => Some(size * N),
        None => None,
    };
    const SIGNATURE: Signature = T::SIGNATURE.repeated(N);
    const FORM: Form<Self> = T::FORM.of_arrays();

    fn encode(&self, to: &mut Writer) -> Result<(), CodecError> {
        T::encode_all(self, to)
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        let mut failed = None;
        let elements = [(); N].map(|()| match failed {
            None => T::decode(from).map_err(|error| failed = Some(error)).ok(),
            Some(_) => None,
        });
        match failed {
            None => Ok(elements.map(|element| element.expect("nothing failed"))),
            Some(error) => Err(error),
        }
    }
}

macro_rules! tuples {
    ($($($name:ident $place:tt)*;)*) => {$(
        impl<$($name: Message),*> Message for ($($name,)*) {
            const FIXED_SIZE: Option<usize> = sum(&[$($name::FIXED_SIZE),*]);
            const SIGNATURE: Signature = Signature::sequence(&[$($name::SIGNATURE),*]);

            fn encode(&self, _to: &mut Writer) -> Result<(), CodecError> {
                $(self.$place.encode(_to)?;)*
                Ok(())
            }

            fn decode(_from: &mut Reader<'_>) -> Result<Self, CodecError> {
                Ok(($($name::decode(_from)?,)*))
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

impl Message for String {
    const FORM: Form<Self> = Form::TEXT;

    fn mark() -> Mark {
        Mark::TEXT
    }

    fn encode(&self, to: &mut Writer) -> Result<(), CodecError> {
        to.put_count(self.len());
        self.encode_whole(to)
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        let len = from.take_count_of(Some(1))?;
        text(from.take(len)?)
    }

    fn encode_whole(&self, to: &mut Writer) -> Result<(), CodecError> {
        to.put(self.as_bytes());
        Ok(())
    }

    fn decode_whole(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        text(from.take(from.len())?)
    }
}

fn text(bytes: &[u8]) -> Result<String, CodecError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(no_text(error)),
    }
}

#[cold]
pub(super) fn no_text(error: Utf8Error) -> CodecError {
    CodecError::new(format!("byte {} is no UTF-8", error.valid_up_to()))
}

impl<T: Message> Message for Vec<T> {
    const FORM: Form<Self> = T::FORM.of_vectors();

    fn mark() -> Mark {
        match T::FIXED_SIZE {
            Some(1..) => T::mark(),
            _ => Mark::named(std::any::type_name::<Self>()),
        }
    }

    fn encode(&self, to: &mut Writer) -> Result<(), CodecError> {
        to.put_count(self.len());
        T::encode_all(self, to)
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        from.nested(|from| {
            let count = from.take_count_of(T::FIXED_SIZE)?;
            T::decode_all(count, from)
        })
    }

    fn encode_whole(&self, to: &mut Writer) -> Result<(), CodecError> {
        match T::FIXED_SIZE {
            Some(1..) => T::encode_all(self, to),
            _ => self.encode(to),
        }
    }

    fn decode_whole(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        match T::FIXED_SIZE {
            Some(size @ 1..) => T::decode_all(from.len() / size, from),
            _ => Self::decode(from),
        }
    }
}

impl<T: Message> Message for Option<T> {
    fn encode(&self, to: &mut Writer) -> Result<(), CodecError> {
        to.put(&[u8::from(self.is_some())]);
        self.iter().try_for_each(|value| value.encode(to))
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        bool::decode(from)?.then(|| T::decode(from)).transpose()
    }
}

impl<T: Message, E: Message> Message for Result<T, E> {
    fn encode(&self, to: &mut Writer) -> Result<(), CodecError> {
        to.put(&[u8::from(self.is_ok())]);
        match self {
            Ok(value) => value.encode(to),
            Err(error) => error.encode(to),
        }
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(match bool::decode(from)? {
            true => Ok(T::decode(from)?),
            false => Err(E::decode(from)?),
        })
    }
}

impl<T: Message> Message for Box<T> {
    fn mark() -> Mark {
        T::mark()
    }

    fn encode(&self, to: &mut Writer) -> Result<(), CodecError> {
        T::encode(self, to)
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        from.nested(T::decode).map(Box::new)
    }
}

/// What a collection's iterator gives.
trait Element {
    fn encode_to(self, to: &mut Writer) -> Result<(), CodecError>;
}

impl<T: Message> Element for &T {
    fn encode_to(self, to: &mut Writer) -> Result<(), CodecError> {
        self.encode(to)
    }
}

impl<K: Message, V: Message> Element for (&K, &V) {
    fn encode_to(self, to: &mut Writer) -> Result<(), CodecError> {
        self.0.encode(to)?;
        self.1.encode(to)
    }
}

macro_rules! collections {
    ($($collection:ty, [$($bounds:tt)*], $element:ty;)*) => {$(
        impl<$($bounds)*> Message for $collection {
            fn encode(&self, to: &mut Writer) -> Result<(), CodecError> {
                to.put_count(self.len());
                self.iter().try_for_each(|element| element.encode_to(to))
            }

            fn decode(from: &mut Reader<'_>) -> Result<Self, CodecError> {
                from.nested(|from| {
                    let count = from.take_count_of(<$element>::FIXED_SIZE)?;
                    (0..count).map(|_| <$element>::decode(from)).collect()
                })
            }
        }
    )*};
}

collections! {
    VecDeque<T>, [T: Message], T;
    BTreeSet<T>, [T: Message + Ord], T;
    BTreeMap<K, V>, [K: Message + Ord, V: Message], (K, V);
    HashSet<T, S>, [T: Message + Eq + Hash, S: BuildHasher + Default], T;
    HashMap<K, V, S>, [K: Message + Eq + Hash, V: Message, S: BuildHasher + Default], (K, V);
}

//! Plain data as messages: what `message_of_plain_data` calls.

use std::any::type_name;

use super::{CodecError, Reader, Writer};
use crate::Datatype;
use crate::plain::{copied, direct};

/// Appends the packed value.
#[inline]
pub fn encode<T: Datatype>(value: &T, to: &mut Writer) -> Result<(), CodecError> {
    to.put_with(T::SIZE, |bytes| value.pack(bytes));
    Ok(())
}

/// Takes the next packed value.
#[inline]
pub fn decode<T: Datatype>(from: &mut Reader<'_>) -> Result<T, CodecError> {
    let bytes = from.take(T::SIZE)?;
    T::unpack(bytes).ok_or_else(|| no_value::<T>(bytes))
}

/// The value that is packed in these bytes, and nothing else.
#[inline]
pub fn decode_sized<T: Datatype>(bytes: &[u8]) -> Result<T, CodecError> {
    let value = if bytes.len() == T::SIZE { T::unpack(bytes) } else { None };
    value.ok_or_else(|| no_value::<T>(bytes))
}

#[cold]
fn no_value<T>(bytes: &[u8]) -> CodecError {
    CodecError::new(format!("{bytes:?} are no {}", type_name::<T>()))
}

/// Appends packed values: in one piece, if their memory is their packed form.
pub fn encode_all<T: Datatype>(values: &[T], to: &mut Writer) -> Result<(), CodecError> {
    match direct(values) {
        Some(bytes) => to.put(bytes),
        None => values.iter().for_each(|value| to.put_with(T::SIZE, |bytes| value.pack(bytes))),
    }
    Ok(())
}

/// Takes the next `count` packed values.
pub fn decode_all<T: Datatype>(count: usize, from: &mut Reader<'_>) -> Result<Vec<T>, CodecError> {
    if T::SIZE == 0 {
        return (0..count).map(|_| decode(from)).collect();
    }
    let too_many = || CodecError::new(format!("{count} values do not fit into memory"));
    let bytes = from.take(count.checked_mul(T::SIZE).ok_or_else(too_many)?)?;
    match copied(bytes) {
        Some(values) => Ok(values),
        None => bytes.chunks_exact(T::SIZE).map(|bytes| decode(&mut Reader::new(bytes))).collect(),
    }
}

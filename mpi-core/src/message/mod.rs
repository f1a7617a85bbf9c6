//! Messages that are values: anything that can be taken apart into bytes and put together again.
//!
//! How a type travels is chosen when the program is compiled, by its implementation of [`Message`]: plain data as its
//! packed bytes, of a length that both sides know, so that nothing is probed or allocated, and if these are a piece of
//! its memory from there, as vectors of such data and strings do; other types field by field, runs of plain data in one
//! piece; types of other crates by `serde`. All of them are self-delimiting, so they nest.
//!
//! What arrives is checked: bytes that are no value give an error, whatever they are.

mod codec;
mod form;
#[doc(hidden)]
pub mod plain;
mod serialized;
mod standard;
#[cfg(test)]
mod tests;

pub use codec::{CodecError, Reader, Writer};
#[doc(hidden)]
pub use form::Form;
pub(crate) use form::{Arriving, Parcel, Place};
pub use serialized::Serialized;

use crate::{Mark, Signature};

/// A value that is sent whole, by [`Communicator::send_value`](crate::Communicator::send_value) and its relatives.
/// Derive it:
///
/// ```
/// # extern crate rwmpi_core as rwmpi;
/// # fn main() -> rwmpi::Result<()> {
/// use rwmpi::Message;
///
/// #[derive(Debug, PartialEq, Message)]
/// enum Task {
///     Factor { number: u64, name: String },
///     Sum(Vec<f64>),
///     Stop,
/// }
///
/// rwmpi::run_threads(2, rwmpi::Protocol::Auto, |universe| {
///     let world = universe.world();
///     if world.rank() == 0 {
///         return world.send_value(&Task::Sum(vec![1.0, 2.0]), 1, 0);
///     }
///     let (task, _) = world.recv_value::<Task>(0, 0)?;
///     assert_eq!(task, Task::Sum(vec![1.0, 2.0]));
///     Ok(())
/// })?.into_iter().collect()
/// # }
/// ```
///
/// Plain data derive [`Datatype`](crate::Datatype) instead, and are messages too. `#[message(serde)]` on the type makes
/// it travel by its `Serialize` and `Deserialize`; types of other crates travel as [`Serialized`] or
/// [`Plain`](crate::Plain).
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be sent as a message",
    label = "no message",
    note = "for a type of your own: #[derive(rwmpi::Message)], or #[derive(Clone, Copy, rwmpi::Datatype)] if it is plain data",
    note = "for a type of another crate that serde knows: rwmpi::Serialized"
)]
pub trait Message: Sized {
    /// Bytes of every value, if all have equally many.
    const FIXED_SIZE: Option<usize> = None;

    /// Which basic types every value consists of, if they are known.
    #[doc(hidden)]
    const SIGNATURE: Signature = Signature::UNKNOWN;

    /// Which piece of a value's memory its message is.
    #[doc(hidden)]
    const FORM: Form<Self> = Form::APART;

    /// What a message of such a value says about its type.
    #[doc(hidden)]
    fn mark() -> Mark {
        match Self::SIGNATURE {
            Signature::UNKNOWN => Mark::named(std::any::type_name::<Self>()),
            signature => Mark::of(signature),
        }
    }

    /// Appends the value's bytes.
    ///
    /// # Errors
    /// It can't be taken apart.
    fn encode(&self, to: &mut Writer) -> Result<(), CodecError>;

    /// Takes the next value.
    ///
    /// # Errors
    /// The bytes are none.
    fn decode(from: &mut Reader<'_>) -> Result<Self, CodecError>;

    /// Writes the bytes of a value of a type with a fixed size, which `to` has room for.
    #[doc(hidden)]
    fn encode_sized(&self, to: &mut [u8]) -> Result<(), CodecError> {
        let bytes = encoded(self)?;
        match bytes.bytes().len() == to.len() {
            true => to.copy_from_slice(bytes.bytes()),
            false => return Err(CodecError::new(format!("it has not {} bytes", to.len()))),
        }
        Ok(())
    }

    /// The value that these bytes are, of a type with a fixed size.
    #[doc(hidden)]
    fn decode_sized(bytes: &[u8]) -> Result<Self, CodecError> {
        decoded(bytes)
    }

    /// As [`Message::encode`], where the value is all of the message.
    ///
    /// # Errors
    /// As [`Message::encode`].
    fn encode_whole(&self, to: &mut Writer) -> Result<(), CodecError> {
        self.encode(to)
    }

    /// As [`Message::decode`], where the value is all of the message.
    ///
    /// # Errors
    /// As [`Message::decode`].
    fn decode_whole(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        Self::decode(from)
    }

    /// Appends the bytes of all values.
    ///
    /// # Errors
    /// As [`Message::encode`].
    fn encode_all(values: &[Self], to: &mut Writer) -> Result<(), CodecError> {
        values.iter().try_for_each(|value| value.encode(to))
    }

    /// Takes the next `count` values.
    ///
    /// # Errors
    /// As [`Message::decode`].
    fn decode_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Self>, CodecError> {
        // The number is only believed as far as the bytes go.
        let mut values = Vec::with_capacity(count.min(from.len() / size_of::<Self>().max(1)));
        for _ in 0..count {
            values.push(Self::decode(from)?);
        }
        Ok(values)
    }
}

/// The size of something with parts of these sizes, if all are known.
#[doc(hidden)]
pub const fn sum(parts: &[Option<usize>]) -> Option<usize> {
    let (mut sum, mut part) = (0, 0);
    while part < parts.len() {
        match parts[part] {
            Some(size) => sum += size,
            None => return None,
        }
        part += 1;
    }
    Some(sum)
}

/// The value's bytes, as a message of its own.
pub(crate) fn encoded<T: Message>(value: &T) -> Result<Writer, CodecError> {
    let mut to = Writer::default();
    value.encode_whole(&mut to)?;
    Ok(to)
}

/// The value that a message's bytes are.
pub(crate) fn decoded<T: Message>(bytes: &[u8]) -> Result<T, CodecError> {
    let mut from = Reader::new(bytes);
    let value = T::decode_whole(&mut from)?;
    match from.len() {
        0 => Ok(value),
        rest => Err(CodecError::left_over(rest)),
    }
}

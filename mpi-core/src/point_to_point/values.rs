//! Sending and receiving values, whatever they are ([`Message`]); buffers are for the module above.
//!
//! The receiver of a value of unknown length makes room when the length is known: of a short message while it is taken
//! off the queue, of any other between taking it ([`Communicator::matched_probe`]), so that no other receive can get
//! it, and receiving it.

use crate::activity::Call;
use crate::engine::{Completion, Failure, SendMode};
use crate::error::{Error, ErrorClass};
use crate::message::{CodecError, Parcel, Place};
use crate::staged::said;
use crate::{Communicator, Destination, Message, Result, Source, Status, TagSelector};

/// Whether a message can be a value of type `T`.
pub(crate) fn said_of_value<T: Message>(completion: &Completion) -> std::result::Result<(), Failure> {
    said(completion, T::mark(), std::any::type_name::<T>)
}

impl Communicator {
    /// A value's message, from where it lies if it can be.
    #[inline(always)]
    pub(crate) fn parcel<'a, T: Message>(&self, call: Call, value: &'a T) -> Result<Parcel<'a>> {
        Parcel::new(value).map_err(|error| self.not_encoded::<T>(call, &error))
    }

    /// As [`Communicator::parcel`], for what is sent when the value may be gone.
    pub(crate) fn owned_parcel<T: Message>(&self, call: Call, value: &T) -> Result<Parcel<'static>> {
        Parcel::owned(value).map_err(|error| self.not_encoded::<T>(call, &error))
    }

    #[cold]
    pub(crate) fn not_encoded<T>(&self, call: Call, error: &CodecError) -> Error {
        let what = format!("a {} can't be sent: {error}", std::any::type_name::<T>());
        Error::argument(ErrorClass::Datatype, self, call, what)
    }

    #[cold]
    pub(crate) fn not_decoded<T>(&self, call: Call, bytes: usize, from: Option<usize>, error: &CodecError) -> Error {
        let sender = from.map_or_else(String::new, |rank| format!(" from rank {rank}"));
        let what = format!(
            "the {bytes} bytes{sender} are no {}: {error}. Do both sides name the same type?",
            std::any::type_name::<T>()
        );
        Error::argument(ErrorClass::Datatype, self, call, what)
    }

    /// Sends a value of any type that is a [`Message`]: a number, a string, a vector, a type that derives it. A vector
    /// may also be received as a slice, and a slice of plain data as a vector.
    ///
    /// # Errors
    /// As [`Communicator::send`], or if the value can't be made into bytes.
    #[doc = example!(2
        "if rank == 0 {"
        "    world.send_value(&vec![\"any\", \"value\"].join(\" \"), 1, 0)?;"
        "} else {"
        "    assert_eq!(world.recv_value::<String>(0, 0)?.0, \"any value\");"
        "}"
    )]
    #[inline]
    pub fn send_value<T: Message>(&self, value: &T, destination: impl Into<Destination>, tag: i32) -> Result<()> {
        let parcel = self.parcel(Call::Send, value)?;
        self.send_in_mode(Call::Send, parcel.bytes(), destination.into(), tag, SendMode::Standard, T::mark())
    }

    /// Receives a value, however long its message is.
    ///
    /// # Errors
    /// As [`Communicator::recv`], or if what arrives is no such value: sender and receiver must name the same type.
    /// From nobody there is none.
    #[doc = example!(2
        "if rank == 0 {"
        "    world.send_value(&vec![Some(1.5), None], 1, 0)?;"
        "} else {"
        "    let (list, status) = world.recv_value::<Vec<Option<f64>>>(rwmpi::ANY_SOURCE, 0)?;"
        "    assert_eq!((list, status.source()), (vec![Some(1.5), None], Some(0)));"
        "}"
    )]
    #[inline]
    pub fn recv_value<T: Message>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<(T, Status)> {
        let (source, tag) = (source.into(), tag.into());
        if source == Source::Null {
            return Err(self.no_value::<T>());
        }
        match T::FIXED_SIZE {
            Some(_) if T::FORM.is_itself() => self.receive_itself(source, tag),
            Some(size) => self.receive_value(self.place(size as u64)?, source, tag),
            None => self.recv_value_of_any_length(source, tag),
        }
    }

    fn recv_value_of_any_length<T: Message>(&self, source: Source, tag: TagSelector) -> Result<(T, Status)> {
        if let Some(received) = self.receive_next_value(source, tag)? {
            return Ok(received);
        }
        let message = self.matched_probe(source, tag)?.ok_or_else(|| self.no_value::<T>())?;
        let place = self.place(message.status().bytes())?;
        self.receive_matched_value(place, message)
    }

    /// Memory for a message whose length another rank may have named.
    #[inline(always)]
    pub(crate) fn place<T: Message>(&self, bytes: u64) -> Result<Place<T>> {
        usize::try_from(bytes).ok().and_then(Place::new).ok_or_else(|| self.no_room(bytes))
    }

    #[cold]
    pub(crate) fn no_room(&self, bytes: u64) -> Error {
        let what = format!("there is no memory for a message of {bytes} bytes");
        Error::argument(ErrorClass::NoMemory, self, Call::Receive, what)
    }

    #[cold]
    pub(crate) fn no_value<T>(&self) -> Error {
        let what = format!("there is no {} to be had from nobody", std::any::type_name::<T>());
        Error::argument(ErrorClass::Rank, self, Call::Receive, what)
    }

    /// Sends a value to one and receives one of the same type from another at the same time.
    ///
    /// # Errors
    /// As [`Communicator::send_value`] and [`Communicator::recv_value`].
    #[doc = example!(2
        "let other = 1 - rank;"
        "let (heard, _) = world.sendrecv_value(&format!(\"from {rank}\"), other, 0, other, 0)?;"
        "assert_eq!(heard, format!(\"from {other}\"));"
    )]
    pub fn sendrecv_value<T: Message>(
        &self,
        value: &T,
        destination: impl Into<Destination>,
        send_tag: i32,
        source: impl Into<Source>,
        receive_tag: impl Into<TagSelector>,
    ) -> Result<(T, Status)> {
        let outgoing = self.isend_value(value, destination, send_tag)?;
        let received = self.recv_value(source, receive_tag)?;
        outgoing.wait()?;
        Ok(received)
    }
}

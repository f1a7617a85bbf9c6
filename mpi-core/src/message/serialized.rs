//! By serde: for types that are serialisable already. The format is postcard's.

use postcard::ser_flavors::Flavor;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{CodecError, Message, Reader, Writer};

/// A value that travels by its `Serialize` and `Deserialize`, in the compact format of
/// [`postcard`](https://docs.rs/postcard).
///
/// For types of other crates; a type of your own derives [`Message`], if need be with `#[message(serde)]`.
///
/// ```
/// use std::net::IpAddr;
/// use rwmpi_core::Serialized;
///
/// # rwmpi_core::run_threads(2, rwmpi_core::Protocol::Auto, |universe| -> rwmpi_core::Result<()> {
/// # let world = universe.world();
/// let mine = IpAddr::from([127, 0, 0, world.rank() as u8]);
/// let all = world.allgather_values(&Serialized(mine))?;
/// assert_eq!(all[1].0, IpAddr::from([127, 0, 0, 1]));
/// # Ok(()) }).unwrap().into_iter().for_each(Result::unwrap);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Serialized<T>(pub T);

impl<T: Serialize + DeserializeOwned> Message for Serialized<T> {
    fn encode(&self, to: &mut Writer) -> Result<(), CodecError> {
        Serialized::put(&self.0, to)
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        Serialized::take(from).map(Serialized)
    }
}

impl<T: Serialize> Serialized<T> {
    /// Appends a value: for implementations of [`Message`].
    ///
    /// # Errors
    /// What its `Serialize` says.
    #[doc = example!(1
        "use rwmpi::Serialized;"
        "use rwmpi::message::{CodecError, Message, Reader, Writer};"
        "use std::time::Duration;"
        "#[derive(Debug, PartialEq)]"
        "struct Lap(u8, Duration);"
        "impl Message for Lap {"
        "    fn encode(&self, to: &mut Writer) -> Result<(), CodecError> {"
        "        self.0.encode(to)?;"
        "        Serialized::put(&self.1, to)"
        "    }"
        "    fn decode(from: &mut Reader<'_>) -> Result<Self, CodecError> {"
        "        Ok(Lap(u8::decode(from)?, Serialized::take(from)?))"
        "    }"
        "}"
        "let lap = Lap(3, Duration::from_millis(1500));"
        "world.send_value(&lap, 0, 0)?;"
        "assert_eq!(world.recv_value::<Lap>(0, 0)?.0, lap);"
    )]
    pub fn put(value: &T, to: &mut Writer) -> Result<(), CodecError> {
        let refused = |error| CodecError::new(format!("{error}"));
        postcard::serialize_with_flavor(value, Appending(to)).map_err(refused)
    }
}

impl<T: DeserializeOwned> Serialized<T> {
    /// Takes the next value: for implementations of [`Message`].
    ///
    /// # Errors
    /// The bytes are none.
    pub fn take(from: &mut Reader<'_>) -> Result<T, CodecError> {
        let refused = |error| CodecError::new(format!("{error}"));
        let (value, rest) = postcard::take_from_bytes(from.rest()).map_err(refused)?;
        from.take(from.len() - rest.len())?;
        Ok(value)
    }
}

/// Where postcard writes to.
struct Appending<'a>(&'a mut Writer);

impl Flavor for Appending<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.put(&[byte]);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.put(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

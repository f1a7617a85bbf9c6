//! The one way in which ranks exchange numbers: receives, then sends, then work, then waiting for all of them.

use rwmpi::{Communicator, Result, Universe, scope, wait_all};
use std::ops::DerefMut;

/// A message to be received.
pub struct Incoming<'a> {
    /// Who sends it.
    pub source: usize,
    /// Its tag.
    pub tag: i32,
    /// Where it goes; exactly as long.
    pub buffer: &'a mut [f64],
}

/// A message to be sent.
pub struct Outgoing<'a> {
    /// Who receives it.
    pub destination: usize,
    /// Its tag.
    pub tag: i32,
    /// What it consists of.
    pub data: &'a [f64],
}

/// What carries messages between ranks.
pub trait Messenger {
    /// Memory that is good to send from and receive into.
    type Buffer: DerefMut<Target = [f64]>;

    /// Such memory for `length` numbers, all zero.
    fn buffer(&self, length: usize) -> Self::Buffer;

    /// Starts the receives, then the sends, calls `meanwhile`, and returns when all are complete.
    fn exchange<'a>(
        &self,
        incoming: impl IntoIterator<Item = Incoming<'a>>,
        outgoing: impl IntoIterator<Item = Outgoing<'a>>,
        meanwhile: impl FnOnce(),
    ) -> Result<()>;
}

/// Messages over a communicator, from and into memory that other ranks can reach.
#[derive(Clone)]
pub struct Mail<'u> {
    /// Where the memory comes from.
    pub universe: &'u Universe,
    /// The ranks.
    pub communicator: Communicator,
}

impl Messenger for Mail<'_> {
    type Buffer = rwmpi::Buffer<f64>;

    fn buffer(&self, length: usize) -> Self::Buffer {
        self.universe.alloc(length)
    }

    fn exchange<'a>(
        &self,
        incoming: impl IntoIterator<Item = Incoming<'a>>,
        outgoing: impl IntoIterator<Item = Outgoing<'a>>,
        meanwhile: impl FnOnce(),
    ) -> Result<()> {
        scope(|scope| {
            let mut requests = Vec::new();
            for message in incoming {
                requests.push(self.communicator.irecv(scope, message.buffer, message.source, message.tag)?);
            }
            for message in outgoing {
                requests.push(self.communicator.isend(scope, message.data, message.destination, message.tag)?);
            }
            meanwhile();
            wait_all(requests).map(drop)
        })
    }
}

//! The one way in which ranks exchange numbers: receives, then sends, then work, then waiting for all of them.

use rwmpi::{Buffer, Communicator, Result, Universe, scope, wait_all};

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

/// Messages over a communicator of their own, from and into memory that other ranks can reach.
pub struct Mail<'u> {
    universe: &'u Universe,
    communicator: Communicator,
}

impl<'u> Mail<'u> {
    /// Between the ranks of `communicator`. Collective.
    pub fn new(universe: &'u Universe, communicator: &Communicator) -> Result<Self> {
        Ok(Mail { universe, communicator: communicator.dup()? })
    }

    /// Memory to send from or receive into, for `length` numbers.
    pub fn buffer(&self, length: usize) -> Buffer<f64> {
        self.universe.alloc(length)
    }

    /// Starts the receives, then the sends, calls `meanwhile`, and returns when all are complete.
    pub fn exchange<'a>(
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

//! Memory that peers read without this rank's help: what collectives on one node stand on.

use rwmpi_protocol::Rule;
use rwmpi_transport::{Fabric, ReadSpan, RemoteAddress, Way, WriteSpan};

use super::{Engine, Failure};

impl<F: Fabric> Engine<F> {
    /// Whether collectives among `peers` may stand on memory that all can read. Not under SR and NSR, which say how every message
    /// travels.
    pub(crate) fn may_publish(&self, peers: &[u32]) -> bool {
        matches!(self.rule, Rule::Auto { .. }) && peers.iter().all(|&peer| peer == self.me() || self.claims_with(peer))
    }

    /// Where `span` lies, if each of `peers` can copy from there, and that even if this rank gives the memory back in the middle of it, as
    /// when an operation panics: so it has to lie in the shared file. Memory that threads have in common could be unmapped.
    pub(crate) fn published(&self, peers: &[u32], span: ReadSpan<'_>) -> Option<RemoteAddress> {
        let address = self.fabric.address_of(span);
        let copies =
            |&peer: &u32| peer == self.me() || self.fabric.way_from(peer as usize, &address) == Some(Way::SharedHeap);
        (span.is_empty() || peers.iter().all(copies)).then_some(address)
    }

    /// Reads from what `peer` has published.
    pub(crate) fn read_published(
        &mut self,
        peer: u32,
        address: &RemoteAddress,
        offset: usize,
        into: WriteSpan<'_>,
    ) -> Result<(), Failure> {
        let read = self.fabric.remote_read(peer as usize, address, offset as u64, into);
        read.map(drop).map_err(|error| Failure::Remote { peer, error })
    }
}

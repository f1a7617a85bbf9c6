//! Point-to-point communication on the typed API (MPI-5.0 chapter 3).

use crate::{Communicator, Destination, Pod, Request, Result, Scope, Source, Status, TagSelector};

#[allow(unused_variables)]
impl Communicator {
    /// Sends `data`; returns when the slice may be used again (MPI_Send).
    pub fn send<T: Pod>(&self, data: &[T], destination: impl Into<Destination>, tag: i32) -> Result<()> {
        todo!()
    }
    /// Receives a message of at most `buffer.len()` elements (MPI_Recv).
    pub fn recv<T: Pod>(
        &self,
        buffer: &mut [T],
        source: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Status> {
        todo!()
    }
    /// Sends one value.
    pub fn send_value<T: Pod>(&self, value: T, destination: impl Into<Destination>, tag: i32) -> Result<()> {
        self.send(std::slice::from_ref(&value), destination, tag)
    }
    /// Receives one value.
    pub fn recv_value<T: Pod>(&self, source: impl Into<Source>, tag: impl Into<TagSelector>) -> Result<(T, Status)> {
        todo!()
    }
    /// Starts a send (MPI_Isend).
    pub fn isend<'scope, T: Pod>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        destination: impl Into<Destination>,
        tag: i32,
    ) -> Result<Request<'scope>> {
        todo!()
    }
    /// Starts a receive (MPI_Irecv).
    pub fn irecv<'scope, T: Pod>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        buffer: &'scope mut [T],
        source: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Request<'scope>> {
        todo!()
    }
    /// Sends to one and receives from another at the same time (MPI_Sendrecv).
    pub fn sendrecv<S: Pod, R: Pod>(
        &self,
        data: &[S],
        destination: impl Into<Destination>,
        send_tag: i32,
        buffer: &mut [R],
        source: impl Into<Source>,
        receive_tag: impl Into<TagSelector>,
    ) -> Result<Status> {
        todo!()
    }
}

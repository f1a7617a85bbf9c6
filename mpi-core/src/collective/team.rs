//! Who takes part in a collective, as its algorithm sees it, and the messages between them.
//!
//! Every collective of a communicator has a tag of its own, so messages of two that are in flight at once never mix. Within one
//! collective, two ranks exchange messages in the order that the algorithm says.
#![allow(unsafe_code)]

use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use rwmpi_protocol::Pattern;
use rwmpi_transport::{ReadSpan, WriteSpan};
use smallvec::SmallVec;

use super::shelves::OnceShelves;
use crate::engine::{Failure, OperationId, Received, SendMode};
use crate::process::Process;
use crate::waiting::Awaited;

/// The ranks of one group and what is needed to exchange messages with them.
#[derive(Clone, Copy)]
pub(crate) struct Team<'a> {
    pub(crate) process: &'a Process,
    /// By rank.
    pub(crate) peers: &'a [u32],
    /// The caller's rank.
    pub(crate) rank: usize,
    pub(crate) context: u32,
    pub(crate) tag: u32,
    /// Whether the caller does nothing but wait for the collective: then looking at a queue for a while beats posting a receive.
    pub(crate) waits: bool,
    /// Those of its communicator.
    pub(crate) shelves: Option<&'a OnceShelves>,
}

/// Messages in flight that use memory borrowed for `'a`. Dropping it cancels those that can be and waits for the others, so
/// it must not be forgotten.
pub(crate) struct Flights<'a> {
    team: Team<'a>,
    ids: SmallVec<[OperationId; 4]>,
    memory: PhantomData<(&'a [u8], &'a mut [u8])>,
}

impl<'a> Team<'a> {
    pub(crate) fn size(&self) -> usize {
        self.peers.len()
    }

    pub(crate) fn flights(self) -> Flights<'a> {
        Flights { team: self, ids: SmallVec::new(), memory: PhantomData }
    }

    /// Returns when `data` may be used again.
    pub(crate) async fn send(self, data: ReadSpan<'_>, to: usize) -> Result<(), Failure> {
        let mut flights = self.flights();
        flights.send(data, to)?;
        flights.await
    }

    pub(crate) async fn receive(self, into: WriteSpan<'_>, from: usize) -> Result<(), Failure> {
        let mut flights = self.flights();
        flights.receive_next(into, from)?;
        flights.await
    }

    /// Sends and receives at once.
    pub(crate) async fn exchange(
        self,
        data: ReadSpan<'_>,
        to: usize,
        into: WriteSpan<'_>,
        from: usize,
    ) -> Result<(), Failure> {
        let mut flights = self.flights();
        if self.process.engine().advertises(into.len()) {
            flights.receive(into, from)?;
            flights.send(data, to)?;
        } else {
            flights.send(data, to)?;
            flights.receive_next(into, from)?;
        }
        flights.await
    }

    /// One round of a barrier: tells `to`; whether this rank has been told already by whoever has it as its `to`.
    pub(crate) fn tell(&self, round: u32, to: usize) -> Result<bool, Failure> {
        let step = [self.context, self.tag, round];
        let mut engine = self.process.engine();
        engine.barrier_signal(self.peers[to], step)?;
        Ok(engine.barrier_arrived(step))
    }

    /// Waits to be told by `from`.
    pub(crate) async fn hear(&self, round: u32, from: usize) {
        let step = [self.context, self.tag, round];
        poll_fn(|_| {
            if self.process.engine().barrier_arrived(step) {
                return Poll::Ready(());
            }
            self.process.now_awaits(Awaited::Step(self.peers[from]));
            Poll::Pending
        })
        .await;
    }

    /// Whether this rank's own `bytes` bytes fit into where they go.
    pub(crate) fn check_fits(self, bytes: usize, capacity: usize) -> Result<(), Failure> {
        if bytes <= capacity {
            return Ok(());
        }
        let (source, bytes, capacity) = (self.peers[self.rank], bytes as u64, capacity as u64);
        Err(Failure::Truncated { source, tag: self.tag, bytes, capacity })
    }

    /// Copies this rank's own data to where they go.
    pub(crate) fn copy(self, data: ReadSpan<'_>, into: WriteSpan<'_>) -> Result<(), Failure> {
        self.check_fits(data.len(), into.len())?;
        data.copy_to(into);
        Ok(())
    }

    fn pattern(&self, from: usize) -> Pattern {
        Pattern { context: self.context, source: Some(self.peers[from]), tag: Some(self.tag) }
    }
}

impl<'a> Flights<'a> {
    /// Starts a send.
    #[inline]
    pub(crate) fn send(&mut self, data: ReadSpan<'a>, to: usize) -> Result<(), Failure> {
        let Team { process, peers, context, tag, .. } = self.team;
        // SAFETY: `self` keeps the operation and completes it before `'a`, for which the memory is valid, ends.
        let data = unsafe { ReadSpan::new(data.start(), data.len()) };
        self.ids.extend(process.engine().start_send(peers[to], context, tag, data, SendMode::Standard)?);
        Ok(())
    }

    /// Starts a receive.
    #[inline]
    pub(crate) fn receive(&mut self, into: WriteSpan<'a>, from: usize) -> Result<(), Failure> {
        // SAFETY: as in `send`.
        let into = unsafe { WriteSpan::new(into.start(), into.len()) };
        self.ids.push(self.team.process.engine().start_receive(self.team.pattern(from), into.into())?);
        Ok(())
    }

    /// As [`Flights::receive`], for the message that the caller waits for next.
    #[inline]
    pub(crate) fn receive_next(&mut self, into: WriteSpan<'a>, from: usize) -> Result<(), Failure> {
        // SAFETY: as in `send`.
        let into = unsafe { WriteSpan::new(into.start(), into.len()) };
        let mut engine = self.team.process.engine();
        let pattern = self.team.pattern(from);
        let looks = if self.team.waits { self.team.process.looks(&engine) } else { 1 };
        let received = engine.receive(pattern, into, looks)?;
        if let Received::Later(id) = received {
            self.ids.push(id);
        }
        Ok(())
    }
}

/// Ends when all have completed. After an error the others are ended too.
impl Future for Flights<'_> {
    type Output = Result<(), Failure>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        if self.ids.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let mut engine = self.team.process.engine();
        while let Some(&id) = self.ids.last() {
            let Some(outcome) = engine.collect(id) else {
                self.team.process.now_awaits(Awaited::Operation(id));
                return Poll::Pending;
            };
            self.ids.pop();
            outcome?;
        }
        Poll::Ready(Ok(()))
    }
}

impl Flights<'_> {
    #[cold]
    fn end(&mut self) {
        for &id in &self.ids {
            // What can't be cancelled is waited for; where even that fails, the transport has, and nothing will come.
            let _ = self.team.process.engine().cancel(id);
        }
        for id in std::mem::take(&mut self.ids) {
            let _ = self.team.process.wait(id);
        }
    }
}

impl Drop for Flights<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.ids.is_empty() {
            self.end();
        }
    }
}

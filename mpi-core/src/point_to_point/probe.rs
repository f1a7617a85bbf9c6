//! Probes on the typed API: what has arrived, before it is received (MPI-5.0 section 3.8).

use crate::activity::Call;
use crate::engine;
use crate::partner::receive_target;
use crate::waiting::Awaited;
use crate::{Communicator, Result, Source, Status, TagSelector};

/// A message that [`Communicator::matched_probe`] has taken: nobody but its holder can receive it (MPI-5.0 section
/// 3.8.2).
#[doc = example!(1
    "world.buffered_send(&[1.5; 3], 0, 0)?;"
    "let message = world.matched_probe(rwmpi::ANY_SOURCE, rwmpi::ANY_TAG)?.expect(\"from somebody\");"
    "let mut data = vec![0.0; message.status().count::<f64>().expect(\"whole numbers\")];"
    "world.matched_recv(&mut data, message)?;"
)]
#[must_use = "the message is lost unless it is received"]
#[derive(Debug)]
pub struct MatchedMessage {
    pub(crate) message: engine::MatchedMessage,
    status: Status,
}

impl MatchedMessage {
    /// Its envelope and length.
    #[doc = example!(2
        "world.buffered_send(&[1_u16, 2], rank, 0)?;"
        "let message = world.matched_probe(rank.into(), 0)?.expect(\"from somebody\");"
        "assert_eq!(message.status().count::<u16>(), Some(2));"
        "world.matched_recv(&mut [0_u16; 2], message)?;"
    )]
    pub fn status(&self) -> Status {
        self.status
    }
}

impl Communicator {
    /// Waits for a message that a receive with these arguments would get, and tells its envelope and length
    /// (MPI_Probe).
    #[doc = example!(1
        "world.buffered_send(&[1, 2, 3], 0, 0)?;"
        "let status = world.probe(0, 0)?;"
        "let mut data = vec![0; status.count::<i32>().expect(\"whole numbers\")];"
        "world.recv(&mut data, 0, 0)?;"
        "assert_eq!(data, [1, 2, 3]);"
    )]
    #[doc(alias = "MPI_Probe")]
    pub fn probe(&self, source: impl Into<Source>, tag: impl Into<TagSelector>) -> Result<Status> {
        let (call, source, tag) = (Call::Probe, source.into(), tag.into());
        let Some(pattern) = self.checked_pattern(call, source, tag, self.context())? else { return Ok(Status::EMPTY) };
        drop(self.process().enter(call, receive_target(source, tag), pattern.context, 0));
        let found =
            self.process().wait_for_awaited(Awaited::Message(pattern), || self.process().engine().probe(&pattern));
        found.map(|completion| self.status_of(completion)).map_err(self.failed(call))
    }

    /// As [`Communicator::probe`], without waiting (MPI_Iprobe).
    #[doc = example!(1
        "assert!(world.probe_now(0, 0)?.is_none());"
        "world.buffered_send(&[7], 0, 0)?;"
        "assert_eq!(world.probe_now(0, 0)?.expect(\"it is there\").tag(), Some(0));"
        "world.recv(&mut [0], 0, 0)?;"
    )]
    #[doc(alias = "MPI_Iprobe")]
    pub fn probe_now(&self, source: impl Into<Source>, tag: impl Into<TagSelector>) -> Result<Option<Status>> {
        let (call, source, tag) = (Call::Probe, source.into(), tag.into());
        let Some(pattern) = self.checked_pattern(call, source, tag, self.context())? else {
            return Ok(Some(Status::EMPTY));
        };
        drop(self.process().enter(call, receive_target(source, tag), pattern.context, 0));
        let found = self
            .process()
            .look_for(Awaited::Message(pattern), |engine| engine.probe(&pattern))
            .map_err(self.failed(call))?;
        Ok(found.map(|completion| self.status_of(completion)))
    }

    /// Waits for a message and takes it, so that only the holder of the result can receive it (MPI_Mprobe).
    #[doc = example!(1
        "world.buffered_send(&[1, 2, 3], 0, 0)?;"
        "let message = world.matched_probe(rwmpi::ANY_SOURCE, 0)?.expect(\"from somebody\");"
        "let mut data = vec![0; message.status().count::<i32>().expect(\"whole numbers\")];"
        "world.matched_recv(&mut data, message)?;"
        "assert_eq!(data, [1, 2, 3]);"
    )]
    #[doc(alias = "MPI_Mprobe")]
    pub fn matched_probe(&self, source: Source, tag: impl Into<TagSelector>) -> Result<Option<MatchedMessage>> {
        let (call, tag) = (Call::Probe, tag.into());
        let Some(pattern) = self.checked_pattern(call, source, tag, self.context())? else { return Ok(None) };
        drop(self.process().enter(call, receive_target(source, tag), pattern.context, 0));
        let found = self
            .process()
            .wait_for_awaited(Awaited::Message(pattern), || self.process().engine().matched_probe(&pattern));
        let (message, completion) = found.map_err(self.failed(call))?;
        Ok(Some(MatchedMessage { message, status: self.status_of(completion) }))
    }

    /// As [`Communicator::matched_probe`], without waiting (MPI_Improbe): `None` if there is no such message now.
    #[doc = example!(1
        "assert!(world.matched_probe_now(rwmpi::ANY_SOURCE, 0)?.is_none());"
    )]
    #[doc(alias = "MPI_Improbe")]
    pub fn matched_probe_now(&self, source: Source, tag: impl Into<TagSelector>) -> Result<Option<MatchedMessage>> {
        let (call, tag) = (Call::Probe, tag.into());
        let Some(pattern) = self.checked_pattern(call, source, tag, self.context())? else { return Ok(None) };
        drop(self.process().enter(call, receive_target(source, tag), pattern.context, 0));
        let found = self
            .process()
            .look_for(Awaited::Message(pattern), |engine| engine.matched_probe(&pattern))
            .map_err(self.failed(call))?;
        Ok(found.map(|(message, completion)| MatchedMessage { message, status: self.status_of(completion) }))
    }
}

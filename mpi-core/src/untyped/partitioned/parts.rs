//! The messages that a partitioned operation consists of, one a partition of the send.

use crate::engine::{Failure, OperationId, Scattered};
use crate::process::Process;
use crate::untyped::Elements;
use crate::waiting::Awaited;

/// What has become of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The program has not said that it is ready.
    Unready,
    InFlight(OperationId),
    Done,
}

/// All of them, since the operation was started.
#[derive(Default)]
pub(super) struct Parts {
    parts: Vec<Part>,
    /// All before this one are done.
    first: usize,
    /// Of those that are done.
    pub(super) bytes: u64,
    pub(super) failure: Option<Failure>,
}

impl Parts {
    /// So many that are not ready.
    pub(super) fn reset(&mut self, parts: usize) {
        self.parts.clear();
        self.parts.resize(parts, Part::Unready);
        (self.first, self.bytes, self.failure) = (0, 0, None);
    }

    pub(super) fn is_unready(&self, place: usize) -> bool {
        self.parts[place] == Part::Unready
    }

    /// That one has been started; `None`: it has completed.
    pub(super) fn start(&mut self, place: usize, id: Option<OperationId>) {
        self.parts[place] = id.map_or(Part::Done, Part::InFlight);
    }

    /// That one has failed.
    pub(super) fn fail(&mut self, place: usize, failure: Failure) {
        self.parts[place] = Part::Done;
        self.failure.get_or_insert(failure);
    }

    /// Whether that one has completed. Makes no progress.
    pub(super) fn is_done(&mut self, process: &Process, place: usize) -> bool {
        let id = match self.parts[place] {
            Part::Unready => return false,
            Part::Done => return true,
            Part::InFlight(id) => id,
        };
        let mut engine = process.engine();
        engine.detach_local(id);
        let Some(outcome) = engine.collect(id) else { return false };
        self.parts[place] = Part::Done;
        match outcome {
            Ok(completion) => self.bytes += completion.bytes,
            Err(failure) => _ = self.failure.get_or_insert(failure),
        }
        true
    }

    /// Whether all have.
    pub(super) fn are_done(&mut self, process: &Process) -> bool {
        while self.first < self.parts.len() && self.is_done(process, self.first) {
            self.first += 1;
        }
        self.first == self.parts.len()
    }

    /// What a wait for all of them waits for next.
    pub(super) fn awaited(&self) -> Awaited {
        match self.parts.get(self.first) {
            Some(Part::InFlight(id)) => Awaited::Operation(*id),
            _ => Awaited::Unknown,
        }
    }

    /// Ends all that are in flight, after a failure.
    pub(super) fn give_up(&mut self, process: &Process) {
        for part in &mut self.parts {
            if let Part::InFlight(id) = std::mem::replace(part, Part::Done) {
                // Waiting on after a failure gives up, or ends the job.
                let _ = process.wait(id);
            }
        }
    }
}

/// A stretch of the packed bytes of elements that do not lie side by side.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) elements: Elements,
    pub(super) start: usize,
    pub(super) len: usize,
}

impl Scattered for Stretch {
    fn len(&self) -> usize {
        self.len
    }

    fn pack(&self, at: usize, into: &mut [u8]) {
        self.elements.pack_at((self.start + at) as u64, into);
    }

    fn unpack(&self, at: usize, bytes: &[u8]) {
        self.elements.unpack_at((self.start + at) as u64, bytes);
    }
}

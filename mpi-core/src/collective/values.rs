//! Collectives of values, whatever they are ([`Message`]).
//!
//! Values whose type has one size are buffers of bytes to the algorithms of all other collectives. Of others the ranks exchange
//! lengths first; reductions of them go up a tree, in rank order, each message behind its length.
//!
//! A value that can't be made into bytes, bytes that are no value, an operation that panics: the rank concerned goes on taking part, and
//! what it passes on says that it has nothing, so that every rank whose result depends on it gets an error and none waits in vain.

use std::any::type_name;
use std::panic::resume_unwind;

use rwmpi_transport::WriteSpan;

use super::combining::{AnyLength, Combining, NOTHING, Trouble};
use super::{Parts, Team, allreduce, reduce};
use crate::activity::Call;
use crate::engine::Failure;
use crate::error::{Error, ErrorClass};
use crate::message::{Writer, encoded};
use crate::values::{Room, room};
use crate::{Communicator, Message, Result};

/// Where parts of these lengths lie, one behind the other.
struct Lengths {
    counts: Vec<usize>,
    starts: Vec<usize>,
}

impl Lengths {
    fn new(lengths: &[u64]) -> Self {
        let counts: Vec<usize> =
            lengths.iter().map(|&length| if length == NOTHING { 0 } else { length as usize }).collect();
        let start = |end: &mut usize, &count: &usize| {
            *end = end.saturating_add(count);
            Some(*end - count)
        };
        let starts = counts.iter().scan(0, start).collect();
        Lengths { counts, starts }
    }

    fn total(&self) -> u64 {
        self.counts.iter().fold(0_u64, |sum, &count| sum.saturating_add(count as u64))
    }

    fn parts(&self) -> Parts<'_> {
        Parts { counts: &self.counts, starts: &self.starts }
    }
}

impl Communicator {
    /// `root`'s value to all; what the others give is ignored.
    ///
    /// # Errors
    /// As [`Communicator::bcast`], or if `root`'s value can't be made into bytes, or these are no such value elsewhere.
    pub fn bcast_value<T: Message>(&self, value: T, root: usize) -> Result<T> {
        let call = Call::Broadcast;
        let at_root = self.rank() == root;
        let own = if at_root { self.encode(call, &value) } else { Ok(Writer::default()) };
        let shared = self.share(T::FIXED_SIZE, own.as_ref().ok(), root)?;
        own?;
        match shared {
            None => Err(self.nothing::<T>(call, root)),
            Some(_) if at_root => Ok(value),
            Some(bytes) => self.decode(call, &bytes, Some(root)),
        }
    }

    /// Bytes of `root`, of a length that all know or none, to all, if it has any.
    fn share(&self, size: Option<usize>, own: Option<&Writer>, root: usize) -> Result<Option<Room>> {
        let at_root = self.rank() == root;
        let mut bytes = match size {
            Some(size) => room(size),
            None => {
                let mut length = [own.map_or(NOTHING, |own| own.bytes().len() as u64)];
                self.bcast(&mut length, root)?;
                if length[0] == NOTHING {
                    return Ok(None);
                }
                self.room(length[0])?.into()
            }
        };
        if at_root && let Some(own) = own {
            bytes.copy_from_slice(own.bytes());
        }
        self.bcast(&mut bytes, root)?;
        Ok(Some(bytes))
    }

    /// The value that `op` makes of all ranks' values, in rank order, on all.
    ///
    /// # Errors
    /// As [`Communicator::allreduce`], or if some rank's value can't be made into bytes, or these are no such value elsewhere.
    pub fn allreduce_value<T: Message>(&self, value: T, op: impl Fn(&T, &T) -> T) -> Result<T> {
        let call = Call::Allreduce;
        if let Some(size) = T::FIXED_SIZE {
            let mut bytes = self.sized(call, &value, size)?;
            let op = Combining::new(op);
            let place = WriteSpan::from(&mut bytes[..]);
            self.complete(call, async |team: Team<'_>| allreduce(team, place.as_read(), place, &op).await)?;
            return self.combined(call, &bytes, &op);
        }
        self.begin(call, size_of::<T>());
        let combining = AnyLength::new(op);
        let reduced = self.complete(call, async |team: Team<'_>| combining.reduce(team, value, 0).await)?;
        let own = reduced.as_ref().map(|value| combining.encode(value)).unwrap_or_default();
        let shared = self.share(None, own.as_ref(), 0)?;
        self.outcome(call, combining)?;
        match (reduced, shared) {
            (_, None) => Err(self.nothing::<T>(call, 0)),
            (Some(value), _) if self.rank() == 0 => Ok(value),
            (_, Some(bytes)) => self.decode(call, &bytes, Some(0)),
        }
    }

    /// As [`Communicator::allreduce_value`], at `root` only.
    ///
    /// # Errors
    /// As [`Communicator::allreduce_value`].
    pub fn reduce_value<T: Message>(&self, value: T, op: impl Fn(&T, &T) -> T, root: usize) -> Result<Option<T>> {
        let call = Call::Reduce;
        self.check_root(call, root)?;
        let at_root = self.rank() == root;
        if let Some(size) = T::FIXED_SIZE {
            let (bytes, mut result) = (self.sized(call, &value, size)?, room(size));
            let op = Combining::new(op);
            self.complete(call, async |team: Team<'_>| {
                reduce(team, bytes[..].as_ref().into(), result[..].as_mut().into(), &op, root).await
            })?;
            return at_root.then(|| self.combined(call, &result, &op)).transpose();
        }
        self.begin(call, size_of::<T>());
        let combining = AnyLength::new(op);
        let reduced = self.complete(call, async |team: Team<'_>| combining.reduce(team, value, root).await)?;
        self.outcome(call, combining)?;
        Ok(reduced.filter(|_| at_root))
    }

    /// The value that `op` makes of the values of the ranks up to this one.
    ///
    /// # Errors
    /// As [`Communicator::allreduce_value`].
    pub fn scan_value<T: Message>(&self, value: T, op: impl Fn(&T, &T) -> T) -> Result<T> {
        let both = self.scan_both(value, op)?;
        both.0.ok_or_else(|| self.nothing::<T>(Call::Scan, self.rank()))
    }

    /// The value that `op` makes of the values of the ranks before this one; none at rank 0.
    ///
    /// # Errors
    /// As [`Communicator::allreduce_value`].
    pub fn exscan_value<T: Message>(&self, value: T, op: impl Fn(&T, &T) -> T) -> Result<Option<T>> {
        Ok(self.scan_both(value, op)?.1)
    }

    fn scan_both<T: Message>(&self, value: T, op: impl Fn(&T, &T) -> T) -> Result<(Option<T>, Option<T>)> {
        let call = Call::Scan;
        self.begin(call, size_of::<T>());
        let combining = AnyLength::new(op);
        let scanned = self.complete(call, async |team: Team<'_>| combining.scan(team, value).await)?;
        self.outcome(call, combining)?;
        Ok(scanned)
    }

    /// A value's bytes, of which there are `size`.
    fn sized<T: Message>(&self, call: Call, value: &T, size: usize) -> Result<Room> {
        self.begin(call, size);
        let bytes = self.encode(call, value)?;
        Ok(Room::from_slice(bytes.bytes()))
    }

    /// What a reduction of values of one size has come to.
    fn combined<T: Message, F>(&self, call: Call, bytes: &[u8], op: &Combining<T, F>) -> Result<T> {
        if op.failed.get() {
            return Err(Error::failure(self, call, Failure::NoValue { place: None, of: type_name::<T>() }));
        }
        self.decode(call, bytes, None)
    }

    /// What has gone wrong here in a reduction of values of any length. If the operation has panicked, it does so now.
    fn outcome<T: Message, F: Fn(&T, &T) -> T>(&self, call: Call, combining: AnyLength<T, F>) -> Result<()> {
        match combining.into_trouble() {
            None => Ok(()),
            Some(Trouble::Codec(error)) => {
                let what = format!("a {} could not be passed on: {error}", type_name::<T>());
                Err(Error::argument(ErrorClass::Datatype, self, call, what))
            }
            Some(Trouble::Elsewhere(rank)) => Err(self.nothing::<T>(call, rank)),
            Some(Trouble::Panic(panic)) => resume_unwind(panic),
        }
    }

    #[cold]
    fn nothing<T>(&self, call: Call, rank: usize) -> Error {
        let what = format!("rank {rank} had no {} to give: it, or a rank before it, says why", type_name::<T>());
        Error::argument(ErrorClass::Other, self, call, what)
    }

    /// All ranks' values at `root`, in rank order. Gathering vectors gathers parts of any length.
    ///
    /// # Errors
    /// As [`Communicator::gatherv`], or if some rank's value can't be made into bytes, or these are no such value at `root`.
    pub fn gather_values<T: Message>(&self, value: &T, root: usize) -> Result<Option<Vec<T>>> {
        let call = Call::Gather;
        self.check_root(call, root)?;
        let own = self.encode(call, value);
        let bytes = own.as_ref().map_or(&[][..], Writer::bytes);
        let at_root = self.rank() == root;
        let mut lengths = vec![T::FIXED_SIZE.map_or(0, |size| size as u64); if at_root { self.size() } else { 0 }];
        if T::FIXED_SIZE.is_none() {
            self.gather(&[own.as_ref().map_or(NOTHING, |own| own.bytes().len() as u64)], &mut lengths, root)?;
        }
        let parts = Lengths::new(&lengths);
        let mut all = self.room(parts.total())?;
        self.gatherv(bytes, &mut all, parts.parts(), root)?;
        own?;
        if at_root { self.decode_parts(call, &all, &lengths).map(Some) } else { Ok(None) }
    }

    /// All ranks' values on all, in rank order. Gathering vectors gathers parts of any length.
    ///
    /// # Errors
    /// As [`Communicator::gather_values`].
    pub fn allgather_values<T: Message>(&self, value: &T) -> Result<Vec<T>> {
        let call = Call::Allgather;
        let own = self.encode(call, value);
        let bytes = own.as_ref().map_or(&[][..], Writer::bytes);
        let mut lengths = vec![T::FIXED_SIZE.map_or(0, |size| size as u64); self.size()];
        if T::FIXED_SIZE.is_none() {
            self.allgather(&[own.as_ref().map_or(NOTHING, |own| own.bytes().len() as u64)], &mut lengths)?;
        }
        let parts = Lengths::new(&lengths);
        let mut all = self.room(parts.total())?;
        self.allgatherv(bytes, &mut all, parts.parts())?;
        own?;
        self.decode_parts(call, &all, &lengths)
    }

    /// To each rank the value at its place in `root`'s `values`, which are ignored elsewhere and may be empty there. Scattering vectors
    /// scatters parts of any length.
    ///
    /// # Errors
    /// As [`Communicator::scatterv`], or if some value can't be made into bytes, or these are no such value where they arrive.
    pub fn scatter_values<T: Message>(&self, values: &[T], root: usize) -> Result<T> {
        let call = Call::Scatter;
        self.check_root(call, root)?;
        let at_root = self.rank() == root;
        if at_root {
            self.check_len(call, "the list of values", values.len(), self.size())?;
        }
        let (all, lengths) = encode_parts(if at_root { values } else { &[] });
        let mut length = [T::FIXED_SIZE.map_or(0, |size| size as u64)];
        if T::FIXED_SIZE.is_none() {
            self.scatter(&lengths, &mut length, root)?;
        }
        let parts = Lengths::new(&lengths);
        let mut part = self.room(if length[0] == NOTHING { 0 } else { length[0] })?;
        self.scatterv(all.bytes(), parts.parts(), &mut part, root)?;
        if length[0] == NOTHING {
            return Err(self.nothing::<T>(call, root));
        }
        self.decode(call, &part, Some(root))
    }

    /// Value `i` of `values` to rank `i`; the result has at place `j` the one from rank `j`. Exchanging vectors exchanges parts of any
    /// length.
    ///
    /// # Errors
    /// As [`Communicator::alltoallv`], or if some value can't be made into bytes, or these are no such value where they arrive.
    pub fn alltoall_values<T: Message>(&self, values: &[T]) -> Result<Vec<T>> {
        let call = Call::Alltoall;
        self.check_len(call, "the list of values", values.len(), self.size())?;
        let (data, sent) = encode_parts(values);
        let mut received = sent.clone();
        if T::FIXED_SIZE.is_none() {
            self.alltoall(&sent, &mut received)?;
        }
        let (outgoing, incoming) = (Lengths::new(&sent), Lengths::new(&received));
        let mut result = self.room(incoming.total())?;
        let (from, to) = (outgoing.parts(), incoming.parts());
        self.alltoallv(data.bytes(), from.counts, from.starts, &mut result, to.counts, to.starts)?;
        self.decode_parts(call, &result, &received)
    }

    fn decode_parts<T: Message>(&self, call: Call, all: &[u8], lengths: &[u64]) -> Result<Vec<T>> {
        let mut rest = all;
        let decode = |(rank, &length): (usize, &u64)| {
            if length == NOTHING {
                return Err(self.nothing::<T>(call, rank));
            }
            let (bytes, behind) = rest.split_at(length as usize);
            rest = behind;
            self.decode(call, bytes, Some(rank))
        };
        lengths.iter().enumerate().map(decode).collect()
    }
}

/// The values' bytes one behind the other, and their lengths.
fn encode_parts<T: Message>(values: &[T]) -> (Writer, Vec<u64>) {
    let mut all = Writer::default();
    let length = |value: &T| match encoded(value) {
        Ok(bytes) => {
            all.put(bytes.bytes());
            bytes.bytes().len() as u64
        }
        Err(_) => NOTHING,
    };
    let lengths = values.iter().map(length).collect();
    (all, lengths)
}

//! Partitioned communication for Rust programs (MPI-5.0 chapter 4): one message whose parts leave as they become ready,
//! possibly each in another thread.
//!
//! Only the rank's own thread talks to the engine. Another thread that has a part says that it is ready by a flag, and
//! the rank's thread, which waits meanwhile, sends it. A part is a value that is there once in each round: it can
//! neither be marked twice nor while nothing has been started.
//!
//! The buffer is on the heap, and is lent out only while nothing is under way: what is forgotten leaks it, and nothing
//! dangles.
#![allow(unsafe_code)]

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use rwmpi_transport::Backoff;

use crate::activity::Call;
use crate::datatype::{Basic, Datatype as Untyped};
use crate::error::{Error, ErrorClass};
use crate::untyped::{self, Elements};
use crate::{Communicator, Datatype, Destination, Result, Source, TagSelector};

/// Whatever bytes arrive are elements of such a type, and all bytes of these are sent.
const fn element<T: Datatype>() {
    assert!(
        T::DIRECT && T::SIZE > 0,
        "elements of a partitioned message are plain data without padding, of which any bits are a value"
    );
}

/// A buffer in parts of equal lengths, on the heap.
struct Buffer<T> {
    elements: ManuallyDrop<Vec<T>>,
    parts: usize,
}

impl<T: Datatype> Buffer<T> {
    fn new(communicator: &Communicator, elements: Vec<T>, parts: usize) -> Result<Self> {
        const { element::<T>() };
        if parts == 0 || !elements.len().is_multiple_of(parts) || i32::try_from(parts).is_err() {
            let what = format!("{} elements are not {parts} parts of equal lengths", elements.len());
            return Err(Error::argument(ErrorClass::Argument, communicator, Call::Send, what));
        }
        Ok(Buffer { elements: ManuallyDrop::new(elements), parts })
    }

    /// Elements of a part.
    fn len(&self) -> usize {
        self.elements.len() / self.parts
    }

    /// The first `parts` parts, for the engine.
    fn bytes(&mut self, parts: usize) -> Elements {
        let bytes = (self.len() * parts * T::SIZE) as u64;
        // SAFETY: the vector stays where it is until nothing is under way, and is lent out in that state only; what the
        // owners of this buffer do when they are dropped sees to that.
        unsafe { Elements::new(self.elements.as_mut_ptr().cast(), bytes, Untyped::basic(Basic::Byte)) }
    }

    /// Gives the memory back; nothing is under way.
    fn free(&mut self) {
        // SAFETY: its owner is being dropped, and does not touch it again.
        unsafe { ManuallyDrop::drop(&mut self.elements) };
    }
}

/// A message that leaves in parts, again and again (MPI_Psend_init).
#[doc = example!(2
    "// Four threads fill the parts of a message, which leave as soon as they are filled."
    "let (tag, parts) = (5, 4);"
    "if rank == 0 {"
    "    let mut send = world.partitioned_send(vec![0_u32; 400], parts, 1, tag)?;"
    "    for _ in 0..3 {"
    "        let (parts, round) = send.start()?;"
    "        std::thread::scope(|threads| {"
    "            for mut part in parts {"
    "                threads.spawn(move || {"
    "                    let number = part.number() as u32;"
    "                    part.fill(number);"
    "                    part.ready();"
    "                });"
    "            }"
    "            round.wait()"
    "        })?;"
    "        assert_eq!(send.buffer()?[399], 3);"
    "    }"
    "} else {"
    "    let mut receive = world.partitioned_receive(vec![0_u32; 400], 2, 0, tag)?;"
    "    for _ in 0..3 {"
    "        let mut round = receive.start()?;"
    "        // The first half may be here before the other."
    "        while round.arrived(0)?.is_none() {}"
    "        assert_eq!(round.arrived(0)?.map(|half| half[100]), Some(1));"
    "        round.wait()?;"
    "        assert_eq!(receive.buffer()?[200], 2);"
    "    }"
    "}"
)]
#[doc(alias = "MPI_Psend_init")]
pub struct PartitionedSend<T: Datatype> {
    buffer: Buffer<T>,
    request: Rc<untyped::PartitionedSend>,
    communicator: Communicator,
    /// Which parts are ready in this round. Written by whoever has the part (Release), read by the rank's thread
    /// (Acquire), which sends what was written before.
    ready: Box<[AtomicBool]>,
    /// Which parts the engine has been given.
    sent: Box<[bool]>,
    is_active: bool,
}

/// A part of a message, to be filled. When it is dropped, or told so, it is ready.
#[doc = example!(1
    "fn fill(mut part: rwmpi::Part<'_, f64>) {"
    "    part.fill(1.5);"
    "}"
    "let mut send = world.partitioned_send(vec![0.0; 8], 4, rwmpi::PROC_NULL, 0)?;"
    "let (parts, round): (_, rwmpi::SendRound<'_>) = send.start()?;"
    "parts.into_iter().for_each(fill);"
    "round.wait()?;"
    "assert_eq!(send.buffer()?, [1.5; 8]);"
)]
pub struct Part<'a, T> {
    elements: &'a mut [T],
    number: usize,
    ready: &'a AtomicBool,
}

impl<T> Part<'_, T> {
    /// Which part it is, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// It is filled, and may leave (MPI_Pready).
    #[doc(alias = "MPI_Pready")]
    pub fn ready(self) {}
}

impl<T> Drop for Part<'_, T> {
    fn drop(&mut self) {
        self.ready.store(true, Ordering::Release);
    }
}

impl<T> Deref for Part<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.elements
    }
}

impl<T> DerefMut for Part<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.elements
    }
}

/// A message that is leaving.
#[must_use = "parts leave while it is waited for"]
pub struct SendRound<'a> {
    request: &'a untyped::PartitionedSend,
    communicator: &'a Communicator,
    ready: &'a [AtomicBool],
    sent: &'a mut [bool],
    is_active: &'a mut bool,
}

impl SendRound<'_> {
    /// Sends the parts that are ready.
    fn send_ready(&mut self) -> Result<bool> {
        let mut are_all = true;
        for (number, (ready, sent)) in self.ready.iter().zip(&mut *self.sent).enumerate() {
            if !*sent && ready.load(Ordering::Acquire) {
                self.request.ready(number as i32)?;
                *sent = true;
            }
            are_all &= *sent;
        }
        Ok(are_all)
    }

    /// Sends each part when it is ready, and returns when all have left (MPI_Wait). To be called by the rank's thread
    /// while others fill the parts.
    ///
    /// # Errors
    /// Whatever keeps the rank from sending.
    pub fn wait(mut self) -> Result<()> {
        let mut backoff = Backoff::default();
        let process = self.communicator.process();
        let failed = self.communicator.failed(Call::Send);
        while !self.send_ready()? {
            if process.progress_all().map_err(&failed)? {
                backoff.reset();
            }
            process.stand_by_awake(&mut backoff).map_err(&failed)?;
        }
        self.communicator.tell_again(Call::Send);
        process.wait_for(|| self.request.is_done().then_some(())).map_err(&failed)?;
        *self.is_active = false;
        self.request.finish().map(drop)
    }
}

impl<T: Datatype> PartitionedSend<T> {
    fn round(&mut self) -> SendRound<'_> {
        let Self { request, communicator, ready, sent, is_active, .. } = self;
        SendRound { request, communicator, ready, sent, is_active }
    }

    /// Ends a round that nobody has waited for: there are no parts of it any more, so all are ready.
    fn settle(&mut self) -> Result<()> {
        if !self.is_active {
            return Ok(());
        }
        self.ready.iter_mut().for_each(|ready| *ready.get_mut() = true);
        self.round().wait()
    }

    /// Starts a round: the parts to fill, and what to wait for meanwhile (MPI_Start).
    ///
    /// # Errors
    /// As [`SendRound::wait`], if the last round was not waited for.
    pub fn start(&mut self) -> Result<(Vec<Part<'_, T>>, SendRound<'_>)> {
        self.settle()?;
        self.request.start()?;
        self.is_active = true;
        self.ready.iter_mut().for_each(|ready| *ready.get_mut() = false);
        self.sent.fill(false);
        let len = self.buffer.len();
        let Self { buffer, request, communicator, ready, sent, is_active } = self;
        let ready = &**ready;
        // Where parts have no elements there are as many of them.
        let mut rest = &mut buffer.elements[..];
        let part = |(number, ready)| {
            let (elements, after) = std::mem::take(&mut rest).split_at_mut(len);
            rest = after;
            Part { elements, number, ready }
        };
        let parts = ready.iter().enumerate().map(part).collect();
        Ok((parts, SendRound { request, communicator, ready, sent, is_active }))
    }

    /// All elements, between rounds.
    ///
    /// # Errors
    /// As [`PartitionedSend::start`].
    pub fn buffer(&mut self) -> Result<&mut [T]> {
        self.settle()?;
        Ok(&mut self.buffer.elements)
    }
}

impl<T: Datatype> Drop for PartitionedSend<T> {
    fn drop(&mut self) {
        // What the engine may still read from stays for ever.
        if self.request.is_done() {
            self.buffer.free();
        }
    }
}

/// A message that arrives in parts, again and again (MPI_Precv_init). Its parts need not be the sender's.
#[doc = example!(1
    "let mut receive = world.partitioned_receive(vec![0_u8; 6], 3, 0, 1)?;"
    "let mut send = world.partitioned_send(vec![7_u8; 6], 2, 0, 1)?;"
    "let round: rwmpi::ReceiveRound<'_, u8> = receive.start()?;"
    "let (parts, sending) = send.start()?;"
    "drop(parts);"
    "sending.wait()?;"
    "round.wait()?;"
    "assert_eq!(receive.buffer()?, [7; 6]);"
    "// Parts have equal lengths."
    "assert!(world.partitioned_send(vec![0_u8; 6], 4, 0, 1).is_err());"
)]
#[doc(alias = "MPI_Precv_init")]
pub struct PartitionedReceive<T: Datatype> {
    buffer: Buffer<T>,
    request: Rc<untyped::PartitionedReceive>,
    communicator: Communicator,
    is_active: bool,
}

/// A message that is arriving.
#[must_use = "it is complete when it has been waited for"]
pub struct ReceiveRound<'a, T: Datatype> {
    receive: &'a mut PartitionedReceive<T>,
}

impl<T: Datatype> ReceiveRound<'_, T> {
    /// A part, if all of it has arrived (MPI_Parrived). Makes progress if it has not.
    ///
    /// # Errors
    /// There is no such part; whatever keeps the rank from receiving.
    #[doc(alias = "MPI_Parrived")]
    pub fn arrived(&mut self, part: usize) -> Result<Option<&[T]>> {
        let PartitionedReceive { request, communicator, .. } = &*self.receive;
        let number = i32::try_from(part).unwrap_or(i32::MAX);
        if !request.has_arrived(number)? {
            communicator.process().progress_all().map_err(communicator.failed(Call::Receive))?;
            if !request.has_arrived(number)? {
                return Ok(None);
            }
        }
        let (start, len) = (self.receive.buffer.elements.as_ptr(), self.receive.buffer.len());
        // SAFETY: the part lies in the vector, any bits are elements, and nobody writes there before the next round,
        // which can't begin while this one is borrowed.
        Ok(Some(unsafe { std::slice::from_raw_parts(start.add(part * len), len) }))
    }

    /// Returns when everything has arrived (MPI_Wait).
    ///
    /// # Errors
    /// Whatever keeps the rank from receiving: the message is longer than the buffer, for one.
    pub fn wait(self) -> Result<()> {
        self.receive.settle()
    }
}

impl<T: Datatype> PartitionedReceive<T> {
    fn settle(&mut self) -> Result<()> {
        if !self.is_active {
            return Ok(());
        }
        let (process, request) = (self.communicator.process(), &self.request);
        self.communicator.tell_again(Call::Receive);
        let waited = process.wait_for_awaited(request.awaited(), || request.is_done().then_some(()));
        waited.map_err(self.communicator.failed(Call::Receive))?;
        self.is_active = false;
        self.request.finish().map(drop)
    }

    /// Starts a round (MPI_Start).
    ///
    /// # Errors
    /// As [`ReceiveRound::wait`], if the last round was not waited for.
    pub fn start(&mut self) -> Result<ReceiveRound<'_, T>> {
        self.settle()?;
        self.request.start()?;
        self.is_active = true;
        Ok(ReceiveRound { receive: self })
    }

    /// All elements, between rounds.
    ///
    /// # Errors
    /// As [`PartitionedReceive::start`].
    pub fn buffer(&mut self) -> Result<&mut [T]> {
        self.settle()?;
        Ok(&mut self.buffer.elements)
    }
}

impl<T: Datatype> Drop for PartitionedReceive<T> {
    fn drop(&mut self) {
        // What a peer may still write to stays for ever.
        if !self.is_active || self.request.is_done() {
            self.buffer.free();
        }
    }
}

impl Communicator {
    /// Prepares a message of so many parts of equal lengths (MPI_Psend_init), whose receiver does the same.
    ///
    /// # Errors
    /// The elements don't make such parts; a rank or tag that does not exist.
    #[doc = example!(1
        "let send = world.partitioned_send(vec![1.5; 8], 4, rwmpi::PROC_NULL, 0)?;"
        "# drop(send);"
    )]
    #[doc(alias = "MPI_Psend_init")]
    pub fn partitioned_send<T: Datatype>(
        &self,
        elements: Vec<T>,
        parts: usize,
        destination: impl Into<Destination>,
        tag: i32,
    ) -> Result<PartitionedSend<T>> {
        let mut buffer = Buffer::new(self, elements, parts)?;
        let first = buffer.bytes(1);
        let request = Rc::new(untyped::PartitionedSend::new(self, first, parts, destination.into(), tag)?);
        let ready = (0..parts).map(|_| AtomicBool::new(false)).collect();
        let (communicator, sent) = (self.clone(), vec![false; parts].into());
        Ok(PartitionedSend { buffer, request, communicator, ready, sent, is_active: false })
    }

    /// Prepares a receive of a message of so many parts of equal lengths (MPI_Precv_init), which need not be the
    /// sender's. Source and tag must be named.
    ///
    /// # Errors
    /// As [`Communicator::partitioned_send`].
    #[doc = example!(1
        "let receive = world.partitioned_receive(vec![1.5; 8], 2, rwmpi::PROC_NULL, 0)?;"
        "# drop(receive);"
    )]
    #[doc(alias = "MPI_Precv_init")]
    pub fn partitioned_receive<T: Datatype>(
        &self,
        elements: Vec<T>,
        parts: usize,
        source: impl Into<Source>,
        tag: i32,
    ) -> Result<PartitionedReceive<T>> {
        let mut buffer = Buffer::new(self, elements, parts)?;
        let (whole, tag) = (buffer.bytes(parts), TagSelector::from(tag));
        let request = Rc::new(untyped::PartitionedReceive::new(self, whole, parts, source.into(), tag)?);
        Ok(PartitionedReceive { buffer, request, communicator: self.clone(), is_active: false })
    }
}

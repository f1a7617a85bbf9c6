//! Slices of plain data whose memory is not their message.
//!
//! Short ones are packed beside the buffer: by blocking calls on the stack, otherwise as [`staged`](crate::staged).
//! Long ones go in pieces, which are packed and unpacked as the message moves: no packed copy of all of it is ever
//! made, and both ranks work at once. A piece may end within an element.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::fmt::{Debug, Formatter};
use std::rc::Rc;

use rwmpi_protocol::Pattern;
use smallvec::SmallVec;

use crate::activity::{Call, Target};
use crate::buffer::{read_span, scattered, staged, write_span};
use crate::engine::{Failure, OperationId, Scattered, SendMode, Sink};
use crate::partner::send_target;
use crate::plain::{pack_all, unpack};
use crate::select::message::goes_in_pieces;
use crate::staged::{Staged, checked};
use crate::tuning::Tuning;
use crate::{Communicator, Datatype, Destination, Mark, Request, Result, Scope, Source, Status, TagSelector};

/// Whether so many values go in pieces.
#[inline(always)]
pub(crate) fn go_in_pieces<T: Datatype>(tuning: &Tuning, values: usize) -> bool {
    !T::DIRECT && goes_in_pieces(tuning, values.saturating_mul(T::SIZE))
}

impl Communicator {
    /// As [`Communicator::send_in_mode`], of such a slice.
    pub(crate) fn send_packed<T: Datatype>(
        &self,
        call: Call,
        data: &[T],
        destination: Destination,
        tag: i32,
        mode: SendMode,
        mark: Mark,
    ) -> Result<()> {
        if !go_in_pieces::<T>(self.process().tuning(), data.len()) {
            let mut packed = Short::from_elem(0, data.len() * T::SIZE);
            pack_all(data, &mut packed);
            // SAFETY: the send has completed when the call returns, and the memory is there and stays where it is until
            // then.
            return self.send_span(call, unsafe { read_span(&packed) }, destination, tag, mode, mark);
        }
        let Some(peer) = self.checked_destination(call, destination, tag)? else { return Ok(()) };
        // SAFETY: the send has completed when the call returns, and the slice is borrowed until then.
        let data = unsafe { scattered(Departing(data)) };
        match self.start_pieces(call, data, (destination, peer), tag, mode, mark)? {
            Some(id) => self.process().wait(id).map(drop).map_err(self.failed(call)),
            None => Ok(()),
        }
    }

    /// As [`Communicator::recv`], into such a slice.
    pub(crate) fn recv_packed<T: Datatype>(
        &self,
        buffer: &mut [T],
        source: Source,
        tag: TagSelector,
    ) -> Result<Status> {
        if go_in_pieces::<T>(self.process().tuning(), buffer.len()) {
            return crate::scope(|scope| self.irecv(scope, buffer, source, tag)?.wait());
        }
        let mut packed = Short::from_elem(0, buffer.len() * T::SIZE);
        // SAFETY: the receive has completed when the call returns, and the memory is there and stays where it is until
        // then.
        match self.receive_span(unsafe { write_span(&mut packed) }, source, tag)? {
            None => Ok(Status::EMPTY),
            Some(completion) => self.arrived::<T>(completion, |bytes| {
                let failed = |place| Failure::NoValue { place: Some(place), of: std::any::type_name::<T>() };
                unpack(&packed[..bytes as usize], buffer).map_err(failed)
            }),
        }
    }

    /// Starts to send what goes in pieces.
    pub(crate) fn isend_in_pieces<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        call: Call,
        data: &'scope [T],
        destination: (Destination, u32),
        tag: i32,
        mode: SendMode,
    ) -> Result<Request<'scope>> {
        // SAFETY: the scope completes the send before the borrow of the slice, which lasts as long as the scope, ends.
        let data = unsafe { scattered(Departing(data)) };
        Ok(match self.start_pieces(call, data, destination, tag, mode, Mark::of(T::SIGNATURE))? {
            Some(id) => scope.adopt(self, call, id, checked::<T>, None),
            None => Request::done(Ok(Status::EMPTY)),
        })
    }

    fn start_pieces(
        &self,
        call: Call,
        data: Box<dyn Scattered>,
        (destination, peer): (Destination, u32),
        tag: i32,
        mode: SendMode,
        mark: Mark,
    ) -> Result<Option<OperationId>> {
        let mut engine = self.process().enter(call, send_target(destination, tag), self.context(), data.len());
        engine.mark(mark);
        let started = engine.start_scattered_send(peer, self.context(), tag as u32, data, mode);
        drop(engine);
        Ok(started.map_err(self.failed(call))?.filter(|&id| !self.process().leaves_from_copy(id)))
    }

    /// Starts to receive what comes in pieces.
    pub(crate) fn irecv_in_pieces<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        buffer: &'scope mut [T],
        pattern: Pattern,
        target: Target,
    ) -> Result<Request<'scope>> {
        let (call, landing) = (Call::Receive, Landing::new(buffer));
        // SAFETY: the scope completes or cancels the receive before the borrow of the slice, which lasts as long as the
        // scope, ends.
        let sink = Sink::scattered(unsafe { scattered(landing.shared()) });
        let mut engine = self.process().enter(call, target, pattern.context, sink.len());
        let started = engine.start_receive(pattern, sink);
        drop(engine);
        let id = started.map_err(self.failed(call))?;
        // SAFETY: the scope lets go of it when the receive has completed.
        Ok(scope.adopt(self, call, id, checked::<T>, Some(unsafe { staged(landing) })))
    }
}

/// A short slice, packed; up to this length without an allocation.
type Short = SmallVec<[u8; 512]>;

/// An element, packed.
type Packed = SmallVec<[u8; 64]>;

/// Values that are sent.
pub(crate) struct Departing<'a, T>(pub(crate) &'a [T]);

impl<T: Datatype> Departing<'_, T> {
    /// Packs what of an element lies from byte `skipped` on, as far as there is room; how many bytes that is.
    fn pack_part(&self, place: usize, skipped: usize, into: &mut [u8]) -> usize {
        let mut element = Packed::from_elem(0, T::SIZE);
        self.0[place].pack(&mut element);
        let part = &element[skipped..];
        let len = part.len().min(into.len());
        into[..len].copy_from_slice(&part[..len]);
        len
    }
}

impl<T: Datatype> Scattered for Departing<'_, T> {
    fn len(&self) -> usize {
        self.0.len() * T::SIZE
    }

    fn pack(&self, at: usize, mut into: &mut [u8]) {
        let (mut place, skipped) = (at / T::SIZE, at % T::SIZE);
        if skipped > 0 {
            let part = self.pack_part(place, skipped, into);
            into = &mut into[part..];
            place += 1;
        }
        let whole = into.len() / T::SIZE;
        let (elements, rest) = into.split_at_mut(whole * T::SIZE);
        pack_all(&self.0[place..place + whole], elements);
        if !rest.is_empty() {
            self.pack_part(place + whole, 0, rest);
        }
    }

    fn unpack(&self, _: usize, _: &[u8]) {
        unreachable!("nothing is received into what is sent");
    }
}

/// Values that are received, shared by the engine and whoever waits.
pub(crate) struct Landing<'a, T>(Rc<RefCell<Values<'a, T>>>);

struct Values<'a, T> {
    values: &'a mut [T],
    /// The beginning of the element that the last piece ended in.
    begun: Packed,
    /// The first element that is no value; nothing behind it is touched.
    wrong: Option<usize>,
}

impl<'a, T: Datatype> Landing<'a, T> {
    pub(crate) fn new(values: &'a mut [T]) -> Self {
        Landing(Rc::new(RefCell::new(Values { values, begun: Packed::new(), wrong: None })))
    }

    /// For the engine.
    pub(crate) fn shared(&self) -> Self {
        Landing(self.0.clone())
    }
}

impl<T: Datatype> Values<'_, T> {
    fn unpack(&mut self, at: usize, mut bytes: &[u8]) -> std::result::Result<(), usize> {
        let mut place = at / T::SIZE;
        debug_assert_eq!(self.begun.len(), at % T::SIZE, "pieces come in order");
        if !self.begun.is_empty() {
            let (rest, behind) = bytes.split_at(bytes.len().min(T::SIZE - self.begun.len()));
            self.begun.extend_from_slice(rest);
            bytes = behind;
            if self.begun.len() < T::SIZE {
                return Ok(());
            }
            self.values[place] = T::unpack(&self.begun).ok_or(place)?;
            self.begun.clear();
            place += 1;
        }
        let elements = bytes.chunks_exact(T::SIZE);
        self.begun.extend_from_slice(elements.remainder());
        for (place, (value, element)) in (place..).zip(self.values[place..].iter_mut().zip(elements)) {
            *value = T::unpack(element).ok_or(place)?;
        }
        Ok(())
    }
}

impl<T: Datatype> Scattered for Landing<'_, T> {
    fn len(&self) -> usize {
        self.0.borrow().values.len() * T::SIZE
    }

    fn pack(&self, _: usize, _: &mut [u8]) {
        unreachable!("nothing is sent from what is received into");
    }

    fn unpack(&self, at: usize, bytes: &[u8]) {
        let mut landing = self.0.borrow_mut();
        if landing.wrong.is_none() {
            landing.wrong = landing.unpack(at, bytes).err();
        }
    }
}

impl<T: Datatype> Staged for Landing<'_, T> {
    fn arrived(&mut self, _: u64) -> std::result::Result<(), Failure> {
        match self.0.borrow().wrong {
            None => Ok(()),
            place => Err(Failure::NoValue { place, of: std::any::type_name::<T>() }),
        }
    }
}

impl<T: Datatype> Debug for Departing<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Departing").field(&self.0.len()).finish()
    }
}

impl<T: Datatype> Debug for Landing<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Landing").field(&self.0.borrow().values.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::packed;

    /// Three bytes on their way, eight in memory.
    type Element = (bool, u16, [u32; 0]);

    fn elements() -> Vec<Element> {
        (0..50_u16).map(|number| (number % 3 == 0, number * 1000, [])).collect()
    }

    /// All ways to cut the message into pieces of two lengths by turns.
    #[test]
    fn pieces_may_end_anywhere() {
        let sent = elements();
        let whole = packed(&sent);
        for (first, second) in (1..=8).flat_map(|first| (1..=8).map(move |second| (first, second))) {
            let mut received = vec![(false, 0, []); sent.len()];
            let mut landing = Landing::new(&mut received);
            let (mut at, mut lens) = (0, [first, second].into_iter().cycle());
            while at < whole.len() {
                let mut piece = vec![0xaa; lens.next().unwrap().min(whole.len() - at)];
                Departing(&sent).pack(at, &mut piece);
                assert_eq!(piece, whole[at..at + piece.len()], "from byte {at}");
                landing.shared().unpack(at, &piece);
                at += piece.len();
            }
            landing.arrived(at as u64).unwrap();
            assert_eq!(received, sent, "{first} and {second} bytes");
        }
    }

    #[test]
    fn nothing_behind_what_is_no_value_is_touched() {
        let sent = packed(&elements());
        for cut in 28..=33 {
            let mut bytes = sent.clone();
            bytes[30] = 2;
            let mut received = vec![(true, 7, []); 50];
            let mut landing = Landing::new(&mut received);
            landing.unpack(0, &bytes[..cut]);
            landing.unpack(cut, &bytes[cut..]);
            let failed = landing.arrived(150);
            assert!(matches!(failed, Err(Failure::NoValue { place: Some(10), .. })), "{failed:?}");
            assert_eq!((&received[..10], &received[10..]), (&elements()[..10], &[(true, 7, []); 40][..]));
        }
    }
}

//! The target's part: what ranks of other nodes have asked for is done whenever this rank makes progress.
//!
//! Invariants: nothing here waits, or calls a function of the program. Requests of one origin are done in order, each
//! as a whole. Who stands in line for the lock has drawn a number in the same words as ranks of this node do.

use std::collections::VecDeque;

use rwmpi_protocol::Pattern;
use rwmpi_protocol::window::{LockKind, Ticket};
use rwmpi_transport::{PeerFault, ReadSpan, WriteSpan};

use super::request::{Outcome, Request};
use super::{OnItsWay, REQUEST, Started, There};
use crate::buffer::owned_span_mut;
use crate::engine::Failure;
use crate::error::Error;
use crate::reduction::{Operation, Predefined};
use crate::window::Window;
use crate::window::control::Listed;
use crate::window::element::Change;
use crate::window::target::Place;

/// What a rank serves.
pub(super) struct Service {
    /// Requests that are arriving, in the order in which they were sent, and whose they are.
    arriving: VecDeque<(usize, OnItsWay)>,
    /// By rank: what went wrong and has not been told yet.
    owed: Box<[Outcome]>,
    /// By rank: its place in the line for this rank's lock, once it has that.
    tickets: Box<[Option<Ticket>]>,
    line: Vec<Standing>,
}

/// A rank that stands in line.
#[derive(Clone, Copy)]
struct Standing {
    origin: usize,
    ticket: Ticket,
    /// The tag of the answer.
    answer: u32,
}

/// What becomes of a request.
enum Reply {
    Nothing,
    /// How it went, and these bytes.
    Answer(Vec<u8>),
    /// An answer comes later.
    Later,
}

type Served = std::result::Result<Reply, Outcome>;

impl Service {
    pub(super) fn new(ranks: usize) -> Service {
        Service {
            arriving: VecDeque::new(),
            owed: vec![Outcome::Done; ranks].into(),
            tickets: vec![None; ranks].into(),
            line: Vec::new(),
        }
    }

    pub(super) fn take_arriving(&mut self) -> impl Iterator<Item = OnItsWay> + use<> {
        std::mem::take(&mut self.arriving).into_iter().map(|(_, message)| message)
    }
}

/// Room for an answer with so many bytes besides how it went.
fn room(bytes: usize) -> std::result::Result<Vec<u8>, Outcome> {
    let mut answer = Vec::new();
    let total = bytes.checked_add(Outcome::BYTES).ok_or(Outcome::NoMemory)?;
    answer.try_reserve_exact(total).map_err(|_| Outcome::NoMemory)?;
    answer.resize(total, 0);
    Ok(answer)
}

fn outcome(error: &Error) -> Outcome {
    Outcome::of_error(error.class())
}

impl Window {
    /// Does what ranks of other nodes have asked for, as far as that is possible now; true if there was anything.
    pub(in crate::window) fn serve(&self) -> std::result::Result<bool, Failure> {
        let mut service = self.elsewhere().service.borrow_mut();
        let mut any = self.accept(&mut service)?;
        // Of each rank's requests in order, until one has not arrived as a whole.
        let (mut place, mut late) = (0, Vec::new());
        while let Some((origin, message)) = service.arriving.get(place) {
            let arrived = if late.contains(origin) { None } else { self.process().engine().collect(message.id) };
            let Some(arrived) = arrived else {
                late.push(*origin);
                place += 1;
                continue;
            };
            any = true;
            if let Some((origin, message)) = service.arriving.remove(place) {
                let request = arrived.ok().and_then(|_| Request::of(&message.bytes));
                self.serve_request(&mut service, origin, request)?;
            }
        }
        Ok(self.serve_line(&mut service)? || any)
    }

    /// Takes the requests that have begun to arrive.
    fn accept(&self, service: &mut Service) -> std::result::Result<bool, Failure> {
        let pattern = Pattern { context: self.shared.communicator.context(), source: None, tag: Some(REQUEST) };
        let mut any = false;
        loop {
            let mut engine = self.process().engine();
            let Some((message, found)) = engine.matched_probe(&pattern) else { return Ok(any) };
            any = true;
            let Some(origin) = self.group().find(found.source) else {
                let what = "asks something of a window that it has no part in";
                let fault = PeerFault { peer: found.source as usize, what };
                return Err(engine.fail(Failure::Fault(fault)));
            };
            let mut bytes = Vec::new();
            if bytes.try_reserve_exact(found.bytes as usize).is_ok() {
                bytes.resize(found.bytes as usize, 0);
            }
            // What has no room is cut short, and so is no request.
            let id = engine.start_matched_receive(message, owned_span_mut(&mut bytes).into())?;
            drop(engine);
            service.arriving.push_back((origin, OnItsWay { id, bytes }));
        }
    }

    fn serve_request(&self, service: &mut Service, origin: usize, request: Option<(Request, u32, &[u8])>) -> Started {
        let Some((request, answer, body)) = request else {
            service.owed[origin] = service.owed[origin].max(Outcome::Refused);
            return Ok(());
        };
        let is_answered = request.is_answered() && answer != REQUEST;
        match self.served(service, origin, &request, answer, body) {
            Ok(Reply::Answer(bytes)) if is_answered => self.answer(service, origin, answer, Outcome::Done, bytes),
            Ok(Reply::Nothing | Reply::Later | Reply::Answer(_)) => Ok(()),
            Err(outcome) if is_answered => self.answer(service, origin, answer, outcome, vec![0; Outcome::BYTES]),
            Err(outcome) => {
                service.owed[origin] = service.owed[origin].max(outcome);
                Ok(())
            }
        }
    }

    fn served(&self, service: &mut Service, origin: usize, request: &Request, answer: u32, body: &[u8]) -> Served {
        match request {
            Request::Put(there) => {
                let place = self.place_of(there)?;
                whole(&place, body)?;
                place.write(body.into()).map_err(|error| outcome(&error))?;
                Ok(Reply::Nothing)
            }
            Request::Get(there) => {
                let place = self.place_of(there)?;
                let mut answer = room(place.bytes().map_err(|error| outcome(&error))?)?;
                place.read(WriteSpan::from(&mut answer[Outcome::BYTES..])).map_err(|error| outcome(&error))?;
                Ok(Reply::Answer(answer))
            }
            Request::Accumulate(there, operation) => self.change(there, *operation, body, false),
            Request::Fetch(there, operation) => self.change(there, *operation, body, true),
            Request::Swap(there) => self.swap(there, body),
            Request::Flush => room(0).map(Reply::Answer),
            Request::Lock(kind) => self.stand_in_line(service, origin, *kind, answer),
            Request::Unlock => {
                let ticket = service.tickets[origin].take().ok_or(Outcome::Refused)?;
                self.leave(self.own(), ticket);
                room(0).map(Reply::Answer)
            }
            Request::Posted(count) => {
                self.own().mapped(Listed::PostsOf(origin)).set(*count);
                Ok(Reply::Nothing)
            }
            Request::Completed(count) => {
                self.order();
                self.own().mapped(Listed::CompletionsOf(origin)).set(*count);
                Ok(Reply::Nothing)
            }
            Request::List(most) => self.list(*most),
        }
    }

    /// Where the elements lie that a request names, all of which are within this rank's memory.
    fn place_of<'a>(&'a self, there: &'a There) -> std::result::Result<Place<'a>, Outcome> {
        let There { offset, count, datatype } = there;
        self.place_at(self.rank(), *offset, *count, datatype).map_err(|error| outcome(&error))
    }

    /// Changes elements by an operation of the accumulate family.
    fn change(&self, there: &There, operation: Predefined, body: &[u8], fetches: bool) -> Served {
        let place = self.place_of(there)?;
        let basic = there.datatype.element().ok_or(Outcome::Refused)?;
        let change = Change::new(&Operation::Predefined(operation), basic).map_err(|error| outcome(&error))?;
        if !change.is_nothing() {
            whole(&place, body)?;
        }
        let bytes = place.bytes().map_err(|error| outcome(&error))?;
        let mut answer = room(if fetches { bytes } else { 0 })?;
        let fetched = fetches.then(|| WriteSpan::from(&mut answer[Outcome::BYTES..]));
        crate::window::accumulate::change_elements(&place, &change, body.into(), fetched)
            .map_err(|error| outcome(&error))?;
        Ok(if fetches { Reply::Answer(answer) } else { Reply::Nothing })
    }

    fn swap(&self, there: &There, body: &[u8]) -> Served {
        let is_one = there.count == 1 && there.datatype.named().is_some_and(crate::window::accumulate::can_be_compared);
        let place = self.place_of(there)?;
        let bytes = place.bytes().map_err(|error| outcome(&error))?;
        if !is_one || body.len() != 2 * bytes {
            return Err(Outcome::Refused);
        }
        let (value, compared) = body.split_at(bytes);
        let mut answer = room(bytes)?;
        let fetched = WriteSpan::from(&mut answer[Outcome::BYTES..]);
        let swapped = crate::window::accumulate::swap_element(&place, value.into(), ReadSpan::from(compared), fetched);
        swapped.map_err(|error| outcome(&error))?;
        Ok(Reply::Answer(answer))
    }

    /// What is attached here, as much of it as there is room for.
    fn list(&self, most: u64) -> Served {
        let regions = self.own_regions();
        let told = usize::try_from(most).unwrap_or(usize::MAX).min(regions.len());
        let words = std::iter::once(regions.len() as u64).chain(regions[..told].iter().flatten().copied());
        let words: Vec<u64> = words.collect();
        let mut answer = room(0)?;
        answer.extend_from_slice(bytemuck::cast_slice(&words));
        Ok(Reply::Answer(answer))
    }

    fn stand_in_line(&self, service: &mut Service, origin: usize, kind: LockKind, answer: u32) -> Served {
        if service.tickets[origin].is_some() || service.line.iter().any(|standing| standing.origin == origin) {
            return Err(Outcome::Refused);
        }
        let ticket = self.own().line.draw(kind);
        // Whoever moves the gate to that number wakes this rank.
        self.write_down(self.own(), ticket);
        service.line.push(Standing { origin, ticket, answer });
        Ok(Reply::Later)
    }

    /// Gives the lock to those whose turn it is.
    fn serve_line(&self, service: &mut Service) -> std::result::Result<bool, Failure> {
        let mut any = false;
        let mut place = 0;
        while let Some(&Standing { origin, ticket, answer }) = service.line.get(place) {
            let mut engine = self.process().engine();
            if !engine.has_word(self.own().gate(ticket.gate()), ticket.number(), 1, None) {
                place += 1;
                continue;
            }
            drop(engine);
            self.enter(self.own(), ticket, self.shared.targets[origin].peer);
            service.line.remove(place);
            service.tickets[origin] = Some(ticket);
            self.answer(service, origin, answer, Outcome::Done, vec![0; Outcome::BYTES])?;
            // Who shares the lock lets in those who follow, and those stand behind.
            any = true;
        }
        Ok(any)
    }

    /// Sends an answer, unless something went wrong: then it says only that.
    fn answer(&self, service: &mut Service, origin: usize, tag: u32, outcome: Outcome, mut bytes: Vec<u8>) -> Started {
        let outcome = std::mem::take(&mut service.owed[origin]).max(outcome);
        if outcome != Outcome::Done {
            bytes.truncate(Outcome::BYTES);
        }
        bytes[..Outcome::BYTES].copy_from_slice(&outcome.bytes());
        self.elsewhere().leaving.borrow_mut().forget_left(self.process());
        self.start_message(origin, tag, bytes)
    }
}

/// Whether as many bytes have come as the elements have.
fn whole(place: &Place<'_>, body: &[u8]) -> std::result::Result<(), Outcome> {
    match place.bytes() {
        Ok(bytes) if bytes == body.len() => Ok(()),
        Ok(_) => Err(Outcome::Refused),
        Err(error) => Err(outcome(&error)),
    }
}

//! The target's part: what ranks of other nodes have asked for is done whenever this rank makes progress.
//!
//! Invariants: nothing here waits, or calls a function of the program. Requests of one origin are done in order, each
//! as a whole, but for puts whose elements come in messages of their own: several may be arriving, and what is no such
//! put is done after them. Who stands in line for the lock has drawn a number in the same words as ranks of this node
//! do.

use std::collections::VecDeque;

use rwmpi_protocol::Pattern;
use rwmpi_protocol::window::{LockKind, Ticket};
use rwmpi_transport::{PeerFault, ReadSpan, WriteSpan};

use super::request::{Outcome, Read, Request};
use super::{DATA, OnItsWay, REQUEST, Started, There};
use crate::buffer::owned_span_mut;
use crate::engine::{Failure, OperationId};
use crate::error::Error;
use crate::reduction::{Operation, Predefined};
use crate::window::Window;
use crate::window::control::Listed;
use crate::window::element::Change;
use crate::window::target::Place;

/// What a rank serves.
pub(super) struct Service {
    /// Messages of requests, in the order in which they were sent.
    arriving: VecDeque<Arriving>,
    /// Elements that go straight to this rank's memory.
    receiving: Vec<Receiving>,
    /// By rank: what went wrong and has not been told yet.
    owed: Box<[Outcome]>,
    /// By rank: its place in the line for this rank's lock, once it has that.
    tickets: Box<[Option<Ticket>]>,
    line: Vec<Standing>,
}

/// A message of requests.
struct Arriving {
    origin: usize,
    message: OnItsWay,
    has_arrived: bool,
    /// How many bytes of it have been served.
    served: usize,
}

/// Elements of an origin that arrive where they belong.
struct Receiving {
    origin: usize,
    id: OperationId,
    bytes: usize,
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
    /// Its elements come next, and belong there.
    Elements(WriteSpan<'static>),
}

type Served = std::result::Result<Reply, Outcome>;

impl Service {
    pub(super) fn new(ranks: usize) -> Service {
        Service {
            arriving: VecDeque::new(),
            receiving: Vec::new(),
            owed: vec![Outcome::Done; ranks].into(),
            tickets: vec![None; ranks].into(),
            line: Vec::new(),
        }
    }

    /// What the engine still writes to.
    pub(super) fn take_arriving(&mut self) -> impl Iterator<Item = OnItsWay> + use<> {
        let messages = std::mem::take(&mut self.arriving).into_iter();
        let receiving = std::mem::take(&mut self.receiving).into_iter();
        let in_place = receiving.map(|one| OnItsWay { id: one.id, bytes: Vec::new() });
        messages.filter(|one| !one.has_arrived).map(|one| one.message).chain(in_place)
    }

    fn is_receiving(&self, origin: usize) -> bool {
        self.receiving.iter().any(|one| one.origin == origin)
    }

    /// Tells the origin with the next answer, if it was worse than what is to be told already.
    fn owe(&mut self, origin: usize, outcome: Outcome) {
        self.owed[origin] = self.owed[origin].max(outcome);
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
    /// Does what ranks of other nodes have asked for, as far as that is possible now, and sends what this rank asks
    /// for; true if there was anything.
    pub(in crate::window) fn serve(&self) -> std::result::Result<bool, Failure> {
        let unsent = self.elsewhere().unsent.borrow().ranks.clone();
        unsent.iter().try_for_each(|&rank| self.start_requests(rank))?;
        let mut service = self.elsewhere().service.borrow_mut();
        let mut any = self.accept(&mut service)? | self.collect_received(&mut service);
        // Of each rank's messages in order, until one can't be served as a whole.
        let (mut place, mut held) = (0, Vec::new());
        while place < service.arriving.len() {
            let origin = service.arriving[place].origin;
            if held.contains(&origin) || !self.has_arrived(&mut service.arriving[place]) {
                held.push(origin);
                place += 1;
                continue;
            }
            let Some(mut arrived) = service.arriving.remove(place) else { break };
            let before = arrived.served;
            let is_done = self.serve_message(&mut service, &mut arrived)?;
            any |= arrived.served > before;
            if !is_done {
                held.push(origin);
                service.arriving.insert(place, arrived);
                place += 1;
            }
        }
        Ok(self.serve_line(&mut service)? || any)
    }

    /// Whether a message is here. What can't be received is a message without a request.
    fn has_arrived(&self, arriving: &mut Arriving) -> bool {
        if !arriving.has_arrived
            && let Some(arrived) = self.process().engine().collect(arriving.message.id)
        {
            arriving.has_arrived = true;
            if arrived.is_err() {
                arriving.message.bytes = vec![0];
            }
        }
        arriving.has_arrived
    }

    /// Serves the requests of a message; false if one of them has to wait for elements that are still to come.
    fn serve_message(&self, service: &mut Service, arrived: &mut Arriving) -> std::result::Result<bool, Failure> {
        let Arriving { origin, message, served, .. } = arrived;
        while *served < message.bytes.len() {
            let Some((read, rest)) = Request::of(&message.bytes[*served..]) else {
                service.owe(*origin, Outcome::Refused);
                return Ok(true);
            };
            if service.is_receiving(*origin) && !matches!(read.request, Request::PutApart(_)) {
                return Ok(false);
            }
            *served = message.bytes.len() - rest.len();
            self.serve_request(service, *origin, read)?;
        }
        Ok(true)
    }

    /// Forgets what has come to where it belongs; true if there was anything.
    fn collect_received(&self, service: &mut Service) -> bool {
        let before = service.receiving.len();
        let mut receiving = std::mem::take(&mut service.receiving);
        receiving.retain(|one| match self.process().engine().collect(one.id) {
            None => true,
            Some(Ok(completion)) if completion.bytes == one.bytes as u64 => false,
            Some(_) => {
                service.owe(one.origin, Outcome::Refused);
                false
            }
        });
        service.receiving = receiving;
        service.receiving.len() < before
    }

    /// Has the next elements of an origin that have a message of their own arrive there.
    fn receive_apart(&self, service: &mut Service, origin: usize, into: WriteSpan<'static>) -> Started {
        let (context, source) = (self.shared.communicator.context(), self.shared.targets[origin].peer);
        let pattern = Pattern { context, source: Some(source), tag: Some(DATA) };
        let id = self.process().engine().start_span_receive(pattern, into)?;
        service.receiving.push(Receiving { origin, id, bytes: into.len() });
        Ok(())
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
            let message = OnItsWay { id, bytes };
            service.arriving.push_back(Arriving { origin, message, has_arrived: false, served: 0 });
        }
    }

    fn serve_request(&self, service: &mut Service, origin: usize, read: Read<'_>) -> Started {
        let Read { request, answer, body } = read;
        let is_answered = request.is_answered() && answer != REQUEST;
        match self.served(service, origin, &request, answer, body) {
            Ok(Reply::Answer(bytes)) if is_answered => self.answer(service, origin, answer, Outcome::Done, bytes),
            Ok(Reply::Elements(into)) => self.receive_apart(service, origin, into),
            Ok(Reply::Nothing | Reply::Later | Reply::Answer(_)) => Ok(()),
            Err(outcome) if is_answered => self.answer(service, origin, answer, outcome, vec![0; Outcome::BYTES]),
            Err(outcome) => {
                service.owe(origin, outcome);
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
            Request::PutApart(there) => {
                let run = self.place_of(there).and_then(|place| place.direct_run().ok_or(Outcome::Refused));
                // What does not belong to this rank's memory is received, too, but finds no room.
                Ok(Reply::Elements(run.unwrap_or_else(|outcome| {
                    service.owe(origin, outcome);
                    WriteSpan::EMPTY
                })))
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
        self.write_down(self.own(), ticket, false);
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

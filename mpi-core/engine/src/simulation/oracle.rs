//! What MPI says about who gets which message (MPI-5.0 sections 3.5 and 3.7.4), stated naively over the record of a
//! whole run.

use rwmpi_protocol::{Envelope, Pattern};

/// A message that was sent.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) source: usize,
    pub(super) dest: usize,
    pub(super) context: u32,
    pub(super) tag: u32,
    pub(super) len: usize,
    pub(super) synchronous: bool,
    /// When the send was called.
    pub(super) begun: u64,
    /// When it was seen to be done.
    pub(super) done: Option<u64>,
    pub(super) cancelled: bool,
}

/// A receive, or a matched probe that found a message.
#[derive(Clone, Debug)]
pub(super) struct Receive {
    pub(super) rank: usize,
    pub(super) pattern: Pattern,
    pub(super) capacity: usize,
    /// When it was called.
    pub(super) begun: u64,
    pub(super) got: Got,
    /// What a probe before it has promised: source, tag, bytes.
    pub(super) promised: Option<(usize, u32, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Got {
    Nothing,
    Cancelled,
    /// A message of that source, tag and length; its beginning; when it was seen.
    Message {
        source: usize,
        tag: u32,
        bytes: usize,
        beginning: Bytes,
        at: u64,
    },
}

/// Bytes of a message, which nobody wants to read.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} bytes", self.0.len())
    }
}

/// All that happened in a run.
#[derive(Default)]
pub(super) struct Record {
    clock: u64,
    pub(super) messages: Vec<Message>,
    pub(super) receives: Vec<Receive>,
    /// How many messages were copied as their receivers had been late.
    pub(super) copied: usize,
}

/// The bytes of message number `name`.
pub(super) fn contents(name: usize, len: usize) -> Vec<u8> {
    let salt = name.wrapping_mul(197);
    let mut bytes: Vec<u8> = (0..len).map(|place| (place ^ place >> 8 ^ salt) as u8).collect();
    if len >= 4 {
        bytes[..4].copy_from_slice(&(name as u32).to_le_bytes());
    }
    bytes
}

impl Message {
    fn envelope(&self) -> Envelope {
        Envelope { context: self.context, source: self.source as u32, tag: self.tag }
    }

    fn fits(&self, receive: &Receive) -> bool {
        self.dest == receive.rank && receive.pattern.matches(&self.envelope())
    }
}

impl Record {
    /// A moment after all earlier ones.
    pub(super) fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Messages that were sent, not cancelled, and not received yet.
    pub(super) fn unreceived(&self) -> usize {
        let received = self.receives.iter().filter(|receive| matches!(receive.got, Got::Message { .. })).count();
        // More may be received than was sent if the network is broken.
        self.messages.iter().filter(|message| !message.cancelled).count().saturating_sub(received)
    }

    /// Whether nothing is left to be done.
    pub(super) fn settled(&self) -> bool {
        self.unreceived() == 0
            && self.messages.iter().all(|message| message.done.is_some())
            && self.receives.iter().all(|receive| receive.got != Got::Nothing)
    }

    /// Which message each receive got. Messages too short to carry their name are given out in order.
    fn matches(&self) -> Result<Vec<Option<usize>>, String> {
        let mut matches = vec![None; self.receives.len()];
        let mut taken = vec![false; self.messages.len()];
        let mut nameless = Vec::new();
        for (place, receive) in self.receives.iter().enumerate() {
            let Got::Message { beginning, .. } = &receive.got else { continue };
            let Some(name) = beginning.0.first_chunk().map(|name| u32::from_le_bytes(*name) as usize) else {
                nameless.push(place);
                continue;
            };
            if self.messages.get(name).is_none() || std::mem::replace(&mut taken[name], true) {
                return Err(format!("{receive:?} got nonsense, or what another got"));
            }
            matches[place] = Some(name);
        }
        for place in nameless {
            let receive = &self.receives[place];
            let Got::Message { source, tag, bytes, .. } = &receive.got else { continue };
            let name = (0..self.messages.len()).find(|&name| {
                let message = &self.messages[name];
                let same = (message.source, message.tag, message.len) == (*source, *tag, *bytes);
                same && !taken[name] && !message.cancelled && message.fits(receive)
            });
            let name = name.ok_or_else(|| format!("nobody sent what {receive:?} got"))?;
            taken[name] = true;
            matches[place] = Some(name);
        }
        Ok(matches)
    }

    /// Checks a run; `complete`: it came to its end, so that nothing may be left.
    pub(super) fn check(&self, complete: bool) -> Result<(), String> {
        let matches = self.matches()?;
        let mut receive_of = vec![None; self.messages.len()];
        for (place, name) in matches.iter().enumerate() {
            if let Some(name) = *name {
                receive_of[name] = Some(place);
                // Which of several alike a receive has got is known only if all were seen.
                if complete || self.messages[name].len >= 4 {
                    self.check_pair(&self.receives[place], name)?;
                }
            }
        }
        if !complete {
            // What was matched but not seen is not known.
            return Ok(());
        }
        for (place, name) in matches.iter().enumerate() {
            match *name {
                Some(name) => self.check_order(place, name, &receive_of)?,
                None if self.receives[place].got == Got::Nothing => self.check_waiting(place, &receive_of)?,
                None => {}
            }
        }
        if !self.settled() {
            return Err("something is left over".into());
        }
        Ok(())
    }

    /// Whether that receive could get that message, and got all of it.
    fn check_pair(&self, receive: &Receive, name: usize) -> Result<(), String> {
        let message = &self.messages[name];
        let Got::Message { source, tag, bytes, beginning, at } = &receive.got else { return Ok(()) };
        let arrived = message.len.min(receive.capacity);
        let envelope_right = (message.source, message.tag, message.len) == (*source, *tag, *bytes);
        if !message.fits(receive) || !envelope_right || message.cancelled {
            return Err(format!("{receive:?} got {message:?}"));
        }
        if beginning.0 != contents(name, message.len)[..arrived] {
            return Err(format!("wrong bytes: {message:?} to a receive of {} bytes", receive.capacity));
        }
        if receive.promised.is_some_and(|promised| promised != (*source, *tag, *bytes)) {
            return Err(format!("the probe promised something else to {receive:?}"));
        }
        if *at < message.begun {
            return Err(format!("{receive:?} was done before {message:?}"));
        }
        if message.synchronous && message.done.is_some_and(|done| done < receive.begun) {
            return Err(format!("{message:?} was done before its receive, {receive:?}"));
        }
        Ok(())
    }

    /// Nothing has overtaken: neither this message an earlier one, nor this receive an earlier one.
    fn check_order(&self, place: usize, name: usize, receive_of: &[Option<usize>]) -> Result<(), String> {
        let (receive, message) = (&self.receives[place], &self.messages[name]);
        for (other_name, other) in self.messages.iter().enumerate() {
            let earlier = other.source == message.source && other.begun < message.begun && !other.cancelled;
            if earlier && other.fits(receive) {
                let before = receive_of[other_name].is_some_and(|other| self.receives[other].begun < receive.begun);
                if !before {
                    return Err(format!("{message:?} overtook {other:?}, which {receive:?} should have got"));
                }
            }
        }
        let Got::Message { at, .. } = receive.got else { return Ok(()) };
        for (other_place, other) in self.receives.iter().enumerate() {
            let earlier = other.rank == receive.rank && other.begun < receive.begun && message.fits(other);
            if !earlier || other.got == Got::Cancelled {
                continue;
            }
            // Its own message must have been on its way when this one was matched.
            let own = receive_of.iter().position(|&receive| receive == Some(other_place));
            if own.is_none_or(|own| self.messages[own].begun > at) {
                return Err(format!("{receive:?} overtook {other:?} in getting {message:?}"));
            }
        }
        Ok(())
    }

    /// A receive that still waits has no message to wait for.
    fn check_waiting(&self, place: usize, receive_of: &[Option<usize>]) -> Result<(), String> {
        let receive = &self.receives[place];
        let later = |other: &Receive| other.begun > receive.begun;
        for (name, message) in self.messages.iter().enumerate() {
            let taken_by_later = receive_of[name].is_some_and(|other| later(&self.receives[other]));
            if message.fits(receive) && taken_by_later {
                return Err(format!("{receive:?} waits although {message:?} went to a later receive"));
            }
        }
        Ok(())
    }
}

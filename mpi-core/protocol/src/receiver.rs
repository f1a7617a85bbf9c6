//! The receiving half of the protocol: matching, and which receives to advertise to whom.

use std::collections::VecDeque;

use crate::posted::{PostedQueue, ReceiveId};
use crate::unexpected::{MessageId, UnexpectedQueue};
use crate::{Counters, Envelope, Pattern, Rule};

/// How many receives at most are looked at to find out whether one may be advertised. Beyond, it is held back: safe,
/// and a program with that many small receives pending gains nothing from requests.
const LOOK_BACK: usize = 16;

/// What became of a receive that was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posting {
    /// This unexpected message completes it; it was not posted. The message has been taken out of the queue.
    Matched(MessageId, Envelope),
    /// It waits.
    Posted,
}

/// The caller is to send a request for this receive, or report [`Receiver::not_advertised`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The receive.
    pub receive: ReceiveId,
    /// To whom; `None`: to everybody in its communicator.
    pub source: Option<u32>,
    /// Number of the request in the series to that source (SR).
    pub serial: u32,
}

/// What the receiver knows about the requests it sent to one source.
#[derive(Clone, Copy, Debug, Default)]
struct Series {
    /// Number of the oldest request that was not answered: the sender's *next request number* as far as known (SR).
    base: u32,
    /// Number that the next request gets (SR).
    next: u32,
    /// Whether a pending receive was not advertised, so that no later one may be until all are posted again (SR).
    gap: bool,
    /// Pending receives from this source that are worth advertising but held back (AUTO).
    held: usize,
}

/// Matching and advertising for one rank.
#[derive(Clone, Debug)]
pub struct Receiver {
    rule: Rule,
    posted: PostedQueue,
    unexpected: UnexpectedQueue,
    series: Vec<Series>,
    /// Pending receives that were not advertised; counted for AUTO.
    unadvertised: usize,
    /// Pending receives that are worth advertising but held back (AUTO), receives from any source included.
    held: usize,
    outgoing: VecDeque<Advertisement>,
    counters: Counters,
}

impl Receiver {
    /// A receiver with `peers` possible sources.
    pub fn new(rule: Rule, peers: usize) -> Self {
        Receiver {
            rule,
            posted: PostedQueue::default(),
            unexpected: UnexpectedQueue::default(),
            series: vec![Series::default(); peers],
            unadvertised: 0,
            held: 0,
            outgoing: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether neither a receive nor a message waits.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.posted.is_empty() && self.unexpected.is_empty()
    }

    /// Whether no unexpected message waits.
    #[inline]
    pub fn no_unexpected(&self) -> bool {
        self.unexpected.is_empty()
    }

    /// A receive begins. `worth`: advertise it if the rules allow (ignored in SR, where all are, and in NSR).
    #[inline(always)]
    pub fn post(&mut self, receive: ReceiveId, pattern: Pattern, worth: bool) -> Posting {
        if !self.unexpected.is_empty()
            && let Some(message) = self.unexpected.find(&pattern)
        {
            let envelope = self.unexpected.remove(message);
            return Posting::Matched(message, envelope);
        }
        let wildcard_waits = self.posted.any_source_waits();
        self.posted.push(receive, pattern, worth);
        self.unadvertised += 1;
        if worth || self.rule == Rule::Sr {
            self.consider(receive, pattern, wildcard_waits);
        }
        Posting::Posted
    }

    /// Advertises a receive that has been posted, if it may be. `wildcard_waits`: an earlier one from any source waits.
    fn consider(&mut self, receive: ReceiveId, pattern: Pattern, wildcard_waits: bool) {
        match (self.rule, pattern.source) {
            (Rule::Sr, Some(source)) => {
                let series = &mut self.series[source as usize];
                series.gap |= wildcard_waits;
                if !series.gap {
                    self.advertise_in_series(receive, source);
                }
            }
            (Rule::Auto { .. }, _) if self.fenced(receive) => self.hold(pattern.source, 1),
            (Rule::Auto { .. }, _) => self.advertise(receive),
            (Rule::Sr, None) | (Rule::Nsr, _) => {}
        }
    }

    /// Whether there may be a request to send.
    #[inline]
    pub fn has_advertisements(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// The next request that is to be sent.
    pub fn next_advertisement(&mut self) -> Option<Advertisement> {
        while let Some(advertisement) = self.outgoing.pop_front() {
            let receive = advertisement.receive;
            // An earlier one, which was decided on together with it, may have failed to be sent.
            if !matches!(self.rule, Rule::Auto { .. }) || !self.fenced(receive) {
                return Some(advertisement);
            }
            let posted = self.posted.get_mut(receive);
            posted.advertised = false;
            let source = posted.key.source();
            self.unadvertised += 1;
            self.counters.posted -= 1;
            self.hold(source, 1);
        }
        None
    }

    /// A request could not be sent (to everybody), so the receive counts as not advertised. In SR the request is simply
    /// lost, as in the thesis: the series shows it.
    pub fn not_advertised(&mut self, receive: ReceiveId) {
        self.counters.dropped += 1;
        if matches!(self.rule, Rule::Auto { .. }) {
            self.posted.get_mut(receive).advertised = false;
            self.posted.get_mut(receive).worth = false;
            self.unadvertised += 1;
        }
    }

    /// The receive that a message which has just come out of the FIFO completes, if nobody else has claimed it.
    #[inline(always)]
    pub fn candidate(&self, envelope: &Envelope) -> Option<ReceiveId> {
        self.posted.candidate(envelope)
    }

    /// Whether it is the oldest posted receive that a message which has just come out of the FIFO completes. If there
    /// are many, it may be said that it is not.
    #[inline]
    pub fn is_for_oldest(&self, envelope: &Envelope) -> bool {
        self.posted.is_for_oldest(envelope)
    }

    /// That receive is completed by a message from the FIFO.
    #[inline(always)]
    pub fn deliver(&mut self, receive: ReceiveId) {
        self.forget(receive);
    }

    /// A sender has claimed that receive before us: nothing else may complete it.
    pub fn reserve(&mut self, receive: ReceiveId) {
        self.posted.unlink(receive);
    }

    /// `source` has written straight into that receive's buffer.
    pub fn written(&mut self, receive: ReceiveId, source: u32) {
        let serial = self.posted.get(receive).serial;
        if self.rule == Rule::Sr {
            self.series[source as usize].base = serial.wrapping_add(1);
        }
        self.forget(receive);
    }

    /// That receive is withdrawn. Only once no sender can use its request any more.
    pub fn cancel(&mut self, receive: ReceiveId) {
        if let (Rule::Sr, Some(source)) = (self.rule, self.posted.get(receive).key.source()) {
            // The sender will find a request missing, and all later ones useless until they are posted again.
            self.series[source as usize].gap = true;
        }
        self.forget(receive);
    }

    /// No receive waits for this message: it joins the unexpected queue.
    pub fn store(&mut self, envelope: Envelope) -> MessageId {
        self.unexpected.push(envelope)
    }

    /// The first unexpected message that `pattern` matches; it stays (probe).
    pub fn find(&mut self, pattern: &Pattern) -> Option<(MessageId, Envelope)> {
        let message = self.unexpected.find(pattern)?;
        Some((message, self.unexpected.envelope(message)))
    }

    /// Whether there are unexpected messages.
    #[inline]
    pub fn has_unexpected(&self) -> bool {
        !self.unexpected.is_empty()
    }

    /// All unexpected messages, in order of arrival. For reports.
    pub fn all_unexpected(&self) -> Vec<(MessageId, Envelope)> {
        self.unexpected.all()
    }

    /// Takes an unexpected message out of the queue.
    pub fn take(&mut self, message: MessageId) -> Envelope {
        self.unexpected.remove(message)
    }

    /// A message from the FIFO of `source` carried its *next request number* (SR).
    #[inline]
    pub fn next_request(&mut self, source: u32, number: u32) {
        let series = &mut self.series[source as usize];
        if (number.wrapping_sub(series.base) as i32) > 0 {
            series.base = number;
        }
    }

    /// The FIFO of `source` had messages and has been emptied: posts all requests to it again, to keep them fresh (SR).
    pub fn drained(&mut self, source: u32) {
        if self.rule != Rule::Sr {
            return;
        }
        let series = &mut self.series[source as usize];
        if self.posted.any_source_waits() {
            series.gap = true;
            return;
        }
        series.next = series.base;
        series.gap = false;
        let pending: Vec<ReceiveId> = self.posted.naming_source(Some(source)).map(|(receive, _)| receive).collect();
        for receive in pending {
            self.counters.reposted += 1;
            self.advertise_in_series(receive, source);
        }
    }

    /// The receive's request is next in the series to `source` (SR).
    fn advertise_in_series(&mut self, receive: ReceiveId, source: u32) {
        let series = &mut self.series[source as usize];
        let serial = series.next;
        series.next = serial.wrapping_add(1);
        self.posted.get_mut(receive).serial = serial;
        self.counters.posted += 1;
        self.outgoing.push_back(Advertisement { receive, source: Some(source), serial });
    }

    /// Whether an earlier receive that was not advertised could take a message meant for this one (AUTO).
    fn fenced(&self, receive: ReceiveId) -> bool {
        let posted = self.posted.get(receive);
        if self.unadvertised == usize::from(!posted.advertised) {
            return false;
        }
        let Some(source) = posted.key.source() else {
            // Several sources are concerned: not worth a search.
            return true;
        };
        [Some(source), None].into_iter().any(|source| {
            let mut earlier = self.posted.naming_source(source).take_while(|(_, other)| other.order < posted.order);
            let conflict = earlier
                .by_ref()
                .take(LOOK_BACK)
                .any(|(_, other)| !other.advertised && Pattern::from(other.key).overlaps(&posted.key.into()));
            conflict || earlier.next().is_some()
        })
    }

    fn advertise(&mut self, receive: ReceiveId) {
        let posted = self.posted.get_mut(receive);
        posted.advertised = true;
        let source = posted.key.source();
        self.unadvertised -= 1;
        self.counters.posted += 1;
        self.outgoing.push_back(Advertisement { receive, source, serial: 0 });
    }

    /// Counts a receive from `source` in (`by` = 1) or out of (`by` = -1) those held back.
    fn hold(&mut self, source: Option<u32>, by: isize) {
        self.held = self.held.wrapping_add_signed(by);
        if let Some(source) = source {
            let held = &mut self.series[source as usize].held;
            *held = held.wrapping_add_signed(by);
        }
    }

    #[inline(always)]
    fn forget(&mut self, receive: ReceiveId) {
        let posted = self.posted.remove(receive);
        self.unadvertised -= usize::from(!posted.advertised);
        if self.held > 0 || self.rule == Rule::Sr || !self.outgoing.is_empty() {
            self.forgotten(receive, posted.key.source(), posted.advertised, posted.worth);
        }
    }

    /// What the end of a receive means to others.
    fn forgotten(&mut self, receive: ReceiveId, source: Option<u32>, advertised: bool, worth: bool) {
        match self.rule {
            Rule::Auto { .. } if !advertised => {
                if worth {
                    self.hold(source, -1);
                }
                self.release(source);
            }
            Rule::Sr if source.is_none() && !self.posted.any_source_waits() => {
                for source in 0..self.series.len() as u32 {
                    if self.series[source as usize].gap {
                        self.drained(source);
                    }
                }
            }
            _ => {}
        }
        self.outgoing.retain(|advertisement| advertisement.receive != receive);
    }

    /// A receive that was not advertised is gone: those it held back may be advertised now (AUTO).
    fn release(&mut self, source: Option<u32>) {
        if self.held == 0 {
            return;
        }
        match source {
            Some(source) => self.release_from(Some(source)),
            None => (0..self.series.len() as u32).for_each(|source| self.release_from(Some(source))),
        }
        self.release_from(None);
    }

    fn release_from(&mut self, source: Option<u32>) {
        if source.is_some_and(|source| self.series[source as usize].held == 0) {
            return;
        }
        let held: Vec<ReceiveId> = self
            .posted
            .naming_source(source)
            .take(LOOK_BACK)
            .filter(|(_, posted)| posted.worth && !posted.advertised)
            .map(|(receive, _)| receive)
            .collect();
        for receive in held {
            if !self.fenced(receive) {
                self.hold(source, -1);
                self.counters.reposted += 1;
                self.advertise(receive);
            }
        }
    }
}

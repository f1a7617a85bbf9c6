//! Random programs and the conditions they run under, all from one seed.
//!
//! A program that waits must not wait for ever. Messages in [`MEETING`] are waited for: they are made in pairs in one
//! global order, with exact sources, so the first incomplete pair can always go on. In the other contexts anything
//! goes, nothing is waited for, and when all ranks have done their part what is left over is received, cancelled or
//! answered.

use rwmpi_protocol::Pattern;
use rwmpi_transport::Way;

use super::network::{Accident, Conditions, Sabotage};
use rwmpi_protocol::Rule;

/// Contexts in which nothing is waited for.
pub(super) const FREE: [u32; 2] = [4, 6];
/// The context of messages that are waited for.
pub(super) const MEETING: u32 = 8;
/// The context of barriers.
pub(super) const BARRIERS: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Standard,
    Synchronous,
    Buffered,
}

/// How a receive is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// In one call that waits.
    Blocking,
    /// After waiting for the message in a probe.
    Probed,
    /// After taking the message by a matched probe.
    Matched,
    /// Started before an own send, and waited for after it.
    Around { dest: usize, tag: u32, len: usize },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Starts a send.
    Send { dest: usize, context: u32, tag: u32, len: usize, mode: Mode },
    /// Sends in [`MEETING`] and waits.
    Meet { dest: usize, tag: u32, len: usize, mode: Mode },
    /// Starts a receive.
    Receive { pattern: Pattern, capacity: usize },
    /// Receives in [`MEETING`] and waits.
    Met { source: usize, tag: Option<u32>, capacity: usize, how: How },
    /// Looks for a message, and receives what it finds.
    Probe { pattern: Pattern, matched: bool },
    /// Looks whether something pending is done.
    Test,
    /// Tries to cancel something pending.
    Cancel,
    /// Waits for all others.
    Barrier,
}

pub(super) struct Program {
    pub(super) rule: Rule,
    pub(super) conditions: Conditions,
    pub(super) steps: Vec<Vec<Step>>,
}

/// What kind of run is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    pub(super) accident: bool,
    pub(super) hostile: bool,
    pub(super) sabotage: Option<Sabotage>,
}

struct Maker {
    random: fastrand::Rng,
    ranks: usize,
    max_payload: usize,
    /// How many tags there are: the fewer, the more messages compete for the same receives.
    tags: u32,
    contexts: usize,
    /// How many more messages may be large: each costs many steps.
    large: usize,
    /// Whether most messages are large.
    heavy: bool,
}

impl Program {
    pub(super) fn of_seed(seed: u64, wish: Wish) -> Program {
        let mut random = fastrand::Rng::with_seed(seed);
        let ranks = random.usize(2..=4);
        // Half of the programs are mostly about what does not go through the FIFO.
        let heavy = random.bool();
        let max_payload = if heavy { 5000 } else { [40, 64, 200, 1000][random.usize(..4)] };
        let rule = [Rule::Auto { claims: true }, Rule::Auto { claims: true }, Rule::Sr, Rule::Nsr][random.usize(..4)];
        let mut conditions = conditions(&mut random, ranks, max_payload, wish);
        conditions.over_network = conditions.slots == 0 && seed.is_multiple_of(2);
        let large = if heavy { 40 } else { 2 };
        let (tags, contexts) = (random.u32(1..=3), random.usize(1..=FREE.len()));
        let mut maker = Maker { random, ranks, max_payload, tags, contexts, large, heavy };
        let events = maker.random.usize(5..40);
        let mut steps = vec![Vec::new(); ranks];
        (0..events).for_each(|_| maker.event(&mut steps));
        Program { rule, conditions, steps }
    }
}

fn conditions(random: &mut fastrand::Rng, ranks: usize, max_payload: usize, wish: Wish) -> Conditions {
    let ways = [Some(Way::SharedHeap), Some(Way::SameProcess), Some(Way::SharedHeap), Some(Way::Kernel), None];
    let choices = if random.bool() { 3 } else { ways.len() };
    let mut way = |_| [ways[random.usize(..choices)], ways[random.usize(..choices)]];
    let ways = (0..ranks * ranks).map(&mut way).collect();
    let accident = wish.accident.then(|| {
        let accidents = [
            Accident::Dies(random.usize(..ranks)),
            Accident::CopiesFail,
            Accident::NoMemory,
            Accident::Nonsense,
            Accident::Dies(random.usize(..ranks)),
            Accident::CopiesFail,
        ];
        (accidents[random.usize(..accidents.len())], random.u64(1..4000))
    });
    let accident = if wish.hostile { Some((Accident::Hostile, random.u64(1..1000))) } else { accident };
    Conditions {
        ranks,
        cells: random.usize(1..=3),
        max_payload,
        slots: [0, 1, 2, 8][random.usize(..4)],
        ways,
        over_network: false,
        switch_percent: [2, 10, 40][random.usize(..3)],
        refuse_percent: [0, 10, 50][random.usize(..3)],
        delay: [0, 5, 100][random.usize(..3)],
        sabotage: wish.sabotage,
        accident,
    }
}

impl Maker {
    fn one_in(&mut self, of: usize) -> bool {
        self.random.usize(..of) == 0
    }

    fn rank(&mut self) -> usize {
        self.random.usize(..self.ranks)
    }

    fn tag(&mut self) -> u32 {
        self.random.u32(..self.tags)
    }

    fn some_tag(&mut self) -> Option<u32> {
        if self.one_in(4) { None } else { Some(self.tag()) }
    }

    fn len(&mut self) -> usize {
        let border = [self.max_payload, self.max_payload, 8192, 24 << 10, 65536][self.random.usize(..5)];
        let kind = if self.heavy { self.random.usize(4..14) } else { self.random.usize(..10) };
        let len = match kind {
            0 => 0,
            1..=3 => self.random.usize(..64),
            4..=5 => border + self.random.usize(..4) - 2,
            6..=7 | 10..=12 => self.random.usize(7000..20_000),
            8 => self.random.usize(..3 * self.max_payload),
            _ => self.random.usize(60_000..250_000),
        };
        // What carries its name has room for it.
        let len = if len > 0 { len.max(4) } else { 0 };
        if len < 4000 {
            return len;
        }
        if self.large == 0 {
            return len % 500 + 4;
        }
        self.large -= 1;
        len
    }

    fn mode(&mut self) -> Mode {
        [Mode::Standard, Mode::Standard, Mode::Synchronous, Mode::Buffered][self.random.usize(..4)]
    }

    fn pattern(&mut self) -> Pattern {
        let source = if self.one_in(3) { None } else { Some(self.rank() as u32) };
        Pattern { context: FREE[self.random.usize(..self.contexts)], source, tag: self.some_tag() }
    }

    /// A receive's capacity for a message of `len` bytes: mostly enough.
    fn capacity(&mut self, len: usize) -> usize {
        match self.random.usize(..8) {
            0 => len / 2,
            1..=3 => len + self.random.usize(..100),
            _ => len,
        }
    }

    fn event(&mut self, steps: &mut [Vec<Step>]) {
        let rank = self.rank();
        match self.random.usize(..20) {
            0..=5 => self.free_message(steps),
            6..=8 => self.volley(steps),
            9..=13 => self.meeting(steps),
            14 => {
                let receive = Step::Receive { pattern: self.pattern(), capacity: self.random.usize(..10_000) };
                steps[rank].push(receive);
            }
            15 => steps[rank].push(Step::Probe { pattern: self.pattern(), matched: self.one_in(2) }),
            16..=17 => steps[rank].push(Step::Test),
            18 => steps[rank].push(Step::Cancel),
            _ if self.one_in(3) => steps.iter_mut().for_each(|steps| steps.push(Step::Barrier)),
            _ => {}
        }
    }

    /// A message and, usually, a receive that might get it.
    fn free_message(&mut self, steps: &mut [Vec<Step>]) {
        let (source, dest, context) = (self.rank(), self.rank(), FREE[self.random.usize(..self.contexts)]);
        let (tag, len, mode) = (self.tag(), self.len(), self.mode());
        let send = Step::Send { dest, context, tag, len, mode };
        let pattern = Pattern {
            context,
            source: if self.one_in(3) { None } else { Some(source as u32) },
            tag: if self.one_in(4) { None } else { Some(tag) },
        };
        let receive = Step::Receive { pattern, capacity: self.capacity(len) };
        let wanted = !self.one_in(6);
        if source == dest && self.one_in(2) {
            steps[dest].push(receive);
            steps[source].push(send);
            return;
        }
        steps[source].push(send);
        if wanted {
            steps[dest].push(receive);
        }
    }

    /// Messages, and receives that compete for them.
    fn volley(&mut self, steps: &mut [Vec<Step>]) {
        let source = self.rank();
        let dest = (source + self.random.usize(1..self.ranks)) % self.ranks;
        let (context, tag) = (FREE[self.random.usize(..self.contexts)], self.tag());
        for _ in 0..self.random.usize(2..6) {
            let (len, mode) = (self.len(), self.mode());
            let pattern = Pattern { context, source: Some(source as u32), tag: Some(tag) };
            steps[source].push(Step::Send { dest, context, tag, len, mode });
            steps[dest].push(Step::Receive { pattern, capacity: len.max(self.random.usize(..20_000)) });
        }
    }

    /// A message, and a receive that waits for it.
    fn meeting(&mut self, steps: &mut [Vec<Step>]) {
        let source = self.rank();
        let dest = (source + self.random.usize(1..self.ranks)) % self.ranks;
        let (tag, len, mode) = (self.tag(), self.len(), self.mode());
        let (back_tag, back_len) = (self.tag(), self.len());
        let capacity = self.capacity(len);
        let received = |tag| if tag % 2 == 0 { None } else { Some(tag) };
        let how = match self.random.usize(..5) {
            0..=1 => How::Blocking,
            2 => How::Probed,
            3 => How::Matched,
            _ => How::Around { dest: source, tag: back_tag, len: back_len },
        };
        if let How::Around { .. } = how {
            let back = How::Around { dest, tag, len };
            steps[source].push(Step::Met { source: dest, tag: received(back_tag), capacity: back_len, how: back });
        } else {
            steps[source].push(Step::Meet { dest, tag, len, mode });
        }
        steps[dest].push(Step::Met { source, tag: received(tag), capacity, how });
    }
}

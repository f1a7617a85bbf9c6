//! Reads what a rank has noted ([`super::layout`]). The notes may be of a rank that was killed in the middle of one, or
//! wrote what it liked into its memory: whatever they say, reading them does no harm.

use super::layout;
pub use super::layout::{Reason, words};

/// So many of a rank's words have its [`Totals`].
pub const TOTALS: usize = layout::SIZES_AT;

/// What is known of the ways of messages, by name.
pub const WAYS: [&str; 13] = [
    "messages",
    "bytes",
    "messages written into the receiver's buffer",
    "bytes in them",
    "messages of 8 KiB and more",
    "bytes in them",
    "bytes of them that were copied once",
    "requests for send posted",
    "requests for send posted again",
    "requests for send answered",
    "requests for send found stale",
    "requests for send skipped",
    "requests for send dropped",
];
const _: () = assert!(WAYS.len() <= layout::WAYS_MAX);

/// What a rank has noted. Times are in what its records count in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// When it joined the job.
    pub began: u64,
    /// When it finalized, if it did.
    pub ended: Option<u64>,
    /// The call in which it was, by its place among the functions, and since when.
    pub present: Option<(usize, u64)>,
    /// The wait in which it was.
    pub open_wait: Option<OpenWait>,
    /// Time in calls.
    pub inside: u64,
    /// Time in them in which nothing happened.
    pub waited: u64,
    /// For how long a processor has run the rank, in nanoseconds; 0 if that is not known.
    pub ran: u64,
    /// For how long it was ready to run and had no processor, in nanoseconds.
    pub queued: u64,
    /// Calls and collectives that found no room in the tables.
    pub uncounted: u64,
    /// The functions that it has called.
    pub functions: Vec<Function>,
    /// Messages and bytes sent, by how many bits the length has.
    pub sizes: Vec<[u64; 2]>,
    /// Its collectives.
    pub collectives: Vec<Collective>,
    /// What it has had to do with each rank.
    pub peers: Vec<Peer>,
    /// What it has sent by which way ([`WAYS`]), if it finalized.
    pub ways: [u64; WAYS.len()],
    /// The latest events, in the order in which they ended.
    pub events: Vec<Event>,
    /// How many earlier ones are gone.
    pub events_gone: u64,
}

/// What a rank has noted up to a moment, all in all. Times are in what its records count in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// The moment.
    pub now: u64,
    /// Time in calls.
    pub inside: u64,
    /// Time in them in which nothing happened.
    pub waited: u64,
    /// Bytes of its messages, and of what it gave to collectives.
    pub bytes: u64,
    /// Whether it waits at that moment.
    pub waits: bool,
}

/// A wait that never ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenWait {
    /// Why, if it is known.
    pub reason: Option<Reason>,
    /// For whom, if it is known.
    pub peer: Option<u32>,
    /// From when.
    pub since: u64,
}

/// What calls of one function have cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// The function's name.
    pub name: String,
    /// How many calls.
    pub calls: u64,
    /// Time in them.
    pub time: u64,
    /// Time in them in which nothing happened.
    pub waiting: u64,
    /// The longest call.
    pub longest: u64,
    /// Bytes of their messages, or of what each rank gave to a collective.
    pub bytes: u64,
}

/// What collectives of one function, communicator and size have cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collective {
    /// The function, by its place among all.
    pub function: usize,
    /// The number of the communicator; 0 is the world.
    pub communicator: u32,
    /// How many bits the length has.
    pub bits: u32,
    /// Calls, time, waiting, bytes.
    pub amounts: [u64; 4],
}

/// What a rank has sent to another, and has waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// Messages of the program.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Messages of the library's own: parts of collectives, and the like.
    pub own_messages: u64,
    /// Bytes in them.
    pub own_bytes: u64,
    /// How often it was waited for, and how long, by [`Reason`].
    pub waits: [[u64; 2]; Reason::ALL.len()],
}

/// Something that has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A call of that function, by its place among all.
    Call {
        /// The function.
        function: usize,
        /// From when,
        since: u64,
        /// until when.
        until: u64,
    },
    /// Nothing happened.
    Wait {
        /// Why, if it is known.
        reason: Option<Reason>,
        /// For whom, if it is known.
        peer: Option<u32>,
        /// From when,
        since: u64,
        /// until when.
        until: u64,
    },
    /// A message left.
    Sent(Message),
    /// A message was received.
    Received(Message),
}

/// A message that was sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// To or from whom.
    pub peer: u32,
    /// When.
    pub at: u64,
    /// Context and tag: what messages of the same two ranks are told apart by.
    pub envelope: u64,
    /// Its length.
    pub bytes: u64,
}

/// Words of one rank.
struct Words<'a>(&'a [u64]);

impl Words<'_> {
    /// A word; 0 where there is none.
    fn at(&self, place: usize) -> u64 {
        self.0.get(place).copied().unwrap_or(0)
    }

    fn array<const N: usize>(&self, place: usize) -> [u64; N] {
        std::array::from_fn(|word| self.at(place + word))
    }

    fn functions(&self) -> Vec<Function> {
        let known = (self.at(layout::FUNCTIONS) as usize).min(layout::FUNCTIONS_MAX);
        let function = |number: usize| {
            let at = layout::FUNCTIONS_AT + number * layout::FUNCTION;
            let bytes: Vec<u8> = (0..layout::NAME_WORDS).flat_map(|word| self.at(at + word).to_le_bytes()).collect();
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            Function {
                name: String::from_utf8_lossy(&bytes[..end]).into_owned(),
                calls: self.at(at + layout::CALLS),
                time: self.at(at + layout::TIME),
                waiting: self.at(at + layout::WAITING),
                longest: self.at(at + layout::LONGEST),
                bytes: self.at(at + layout::BYTES),
            }
        };
        (0..known).map(function).collect()
    }

    fn collectives(&self, functions: usize) -> Vec<Collective> {
        let group = |number: usize| {
            let at = layout::GROUPS_AT + number * layout::GROUP;
            let (function, communicator, bits) = layout::parts_of_key(self.at(at));
            let is_one = self.at(at) != 0 && function < functions;
            is_one.then(|| Collective { function, communicator, bits, amounts: self.array(at + 1) })
        };
        (0..layout::GROUPS_MAX).filter_map(group).collect()
    }

    fn peer(&self, peer: usize) -> Peer {
        let at = layout::PEERS_AT + peer * layout::PEER;
        Peer {
            messages: self.at(at + layout::PEER_MESSAGES),
            bytes: self.at(at + layout::PEER_BYTES),
            own_messages: self.at(at + layout::PEER_OWN_MESSAGES),
            own_bytes: self.at(at + layout::PEER_OWN_BYTES),
            waits: std::array::from_fn(|reason| self.array(at + layout::PEER_WAITS + 2 * reason)),
        }
    }

    fn open_wait(&self) -> Option<OpenWait> {
        let since = self.at(layout::OPEN_WAIT);
        let (reason, peer) = whom(self.at(layout::OPEN_WAIT_FOR));
        (since > 0).then_some(OpenWait { reason, peer, since })
    }

    fn event(&self, at: usize, functions: usize) -> Option<Event> {
        let [first, second, third, fourth] = self.array(at);
        let (number, peer) = ((first >> 8) as usize & 0xff_ffff, (first >> 32) as u32);
        let is_interval = second <= third;
        let message = Message { peer, at: second, envelope: third, bytes: fourth };
        match first & 0xff {
            layout::CALL if is_interval && number < functions => {
                Some(Event::Call { function: number, since: second, until: third })
            }
            layout::WAIT if is_interval => {
                let (reason, peer) = whom(first);
                Some(Event::Wait { reason, peer, since: second, until: third })
            }
            layout::SENT => Some(Event::Sent(message)),
            layout::RECEIVED => Some(Event::Received(message)),
            _ => None,
        }
    }
}

/// Why a wait was, and for whom, by the first word of its event.
fn whom(first: u64) -> (Option<Reason>, Option<u32>) {
    let (number, peer) = ((first >> 8) as usize & 0xff_ffff, (first >> 32) as u32);
    let reason = number.checked_sub(1).and_then(|place| Reason::ALL.get(place).copied());
    (reason, (peer != layout::NOBODY).then_some(peer))
}

/// What the words say that a rank of a job of so many has written; `None` if it has not joined the job.
pub fn read(words: &[u64], peers: usize) -> Option<Recorded> {
    let words = Words(words);
    if words.at(layout::STATE) == 0 {
        return None;
    }
    let functions = words.functions();
    let (noted, room) = (words.at(layout::EVENTS), words.at(layout::EVENT_ROOM));
    // Zeros at the end may have been left out.
    let most = words.0.len().saturating_sub(layout::events_at(peers)).div_ceil(layout::EVENT);
    let room = room.min(most as u64);
    let kept = noted.min(room);
    let at = |number: u64| layout::events_at(peers) + (number % room.max(1)) as usize * layout::EVENT;
    let is_final = words.at(layout::STATE) == layout::FINALIZED;
    let present = (words.at(layout::PRESENT) as usize).checked_sub(1).filter(|&function| function < functions.len());
    Some(Recorded {
        began: words.at(layout::BEGAN),
        ended: is_final.then(|| words.at(layout::ENDED)),
        present: present.map(|function| (function, words.at(layout::PRESENT_SINCE))),
        open_wait: words.open_wait(),
        inside: words.at(layout::INSIDE),
        waited: words.at(layout::WAITED),
        ran: words.at(layout::RAN),
        queued: words.at(layout::QUEUED),
        uncounted: words.at(layout::UNCOUNTED),
        sizes: (0..layout::SIZES).map(|bits| words.array(layout::SIZES_AT + bits * layout::SIZE)).collect(),
        collectives: words.collectives(functions.len()),
        peers: (0..peers).map(|peer| words.peer(peer)).collect(),
        ways: words.array(layout::WAYS),
        events: (noted - kept..noted).filter_map(|number| words.event(at(number), functions.len())).collect(),
        events_gone: noted - kept,
        functions,
    })
}

/// What the first words of a rank say, at the moment `now`; `None` if it has not joined the job.
pub fn totals(words: &[u64], now: u64) -> Option<Totals> {
    let words = Words(words);
    if words.at(layout::STATE) == 0 {
        return None;
    }
    let open = |since: u64| if since > 0 { now.saturating_sub(since) } else { 0 };
    let is_inside = words.at(layout::PRESENT) > 0;
    let called = if is_inside { open(words.at(layout::PRESENT_SINCE)) } else { 0 };
    let waits = words.at(layout::OPEN_WAIT);
    Some(Totals {
        now,
        inside: words.at(layout::INSIDE).saturating_add(called),
        waited: words.at(layout::WAITED).saturating_add(open(waits)),
        bytes: words.functions().iter().fold(0, |sum, function| sum.saturating_add(function.bytes)),
        waits: waits > 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_read_without_harm() {
        assert_eq!(read(&[], 2), None);
        assert_eq!(totals(&[], 7), None);
        assert!(totals(&[u64::MAX; TOTALS], 7).is_some_and(|totals| totals.bytes == u64::MAX));
        assert_eq!(read(&vec![0; words(2, 8)], 2), None);
        let nonsense = read(&vec![u64::MAX; words(2, 8)], 2).expect("it has a state");
        assert!(nonsense.events.len() <= 8 && nonsense.functions.len() <= layout::FUNCTIONS_MAX);
        assert!(read(&[1; 3], 1000).expect("it has a state").events.is_empty());
    }

    #[test]
    fn what_has_not_ended_counts_up_to_now() {
        let mut words = [0; TOTALS];
        (words[layout::STATE], words[layout::INSIDE], words[layout::WAITED]) = (layout::RUNNING, 100, 40);
        assert_eq!(totals(&words, 1000), Some(Totals { now: 1000, inside: 100, waited: 40, bytes: 0, waits: false }));
        (words[layout::PRESENT], words[layout::PRESENT_SINCE], words[layout::OPEN_WAIT]) = (1, 800, 900);
        assert_eq!(totals(&words, 1000), Some(Totals { now: 1000, inside: 300, waited: 140, bytes: 0, waits: true }));
    }

    #[test]
    fn the_latest_events_are_kept_in_order() {
        let mut all = vec![0; words(1, 4)];
        (all[layout::STATE], all[layout::EVENT_ROOM], all[layout::EVENTS]) = (layout::RUNNING, 4, 6);
        for number in 0..6_u64 {
            let at = layout::events_at(1) + (number as usize % 4) * layout::EVENT;
            all[at..at + 3].copy_from_slice(&[layout::event_word(layout::WAIT, 1, 7), number, number + 1]);
        }
        let recorded = read(&all, 1).unwrap();
        let since = recorded.events.iter().map(|event| match event {
            Event::Wait { since, peer: Some(7), reason: Some(Reason::Message), .. } => *since,
            other => panic!("{other:?}"),
        });
        assert_eq!(read(&all[..all.len() - 1], 1), Some(recorded.clone()), "zeros at the end are left out");
        assert_eq!((since.collect::<Vec<u64>>(), recorded.events_gone), (vec![2, 3, 4, 5], 2));
    }
}

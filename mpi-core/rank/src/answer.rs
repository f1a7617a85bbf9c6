//! What a rank that waits answers when the launcher calls it: what for, and whether only other ranks can help.
//!
//! The launcher proves by these answers that a job hangs. A rank gives one each time that it is woken while it waits,
//! after a look at all that could end the wait, which has found nothing. It counts the answers of a *period*: as long
//! as nothing at all happens in it. So if all ranks have answered twice in the periods in which they were before they
//! were called, there was a moment at which nobody did anything, and after it all have looked and found nothing: there
//! was nothing under way, and nobody is left to begin something.
//!
//! What is under way on a network nobody sees. So an answer has how many bytes the rank has sent there and how many
//! have come, and a change of these begins a period, too: all are as they were at that moment, and if the sums over all
//! ranks are the same, nothing is under way.
//!
//! That holds for waits that are *closed*: other threads of the program, timers and the like can't end them, nor can
//! the rank itself, later. A wait is closed if it is known what for. Invariant: whatever a rank does for others while
//! it waits either counts as progress of its engine, completes an operation of it, or is counted here
//! ([`Answers::moved`]).

use std::cell::Cell;

use rwmpi_protocol::Envelope;
use rwmpi_transport::DETAIL_WORDS;

use crate::activity;
use crate::context::is_collective;
use crate::waiting::{self, Partner};

/// What the first words are: period and answers; flags and numbers; from here on the name of the call,
const NAME: usize = 2;
const NAME_BYTES: usize = 64;
/// two words for each thing that is awaited,
const AWAITED: usize = NAME + NAME_BYTES / 8;
const AWAITED_MAX: usize = 8;
/// two for each message without a receive.
const MESSAGES: usize = AWAITED + 2 * AWAITED_MAX;
const MESSAGES_MAX: usize = 8;
/// How many bytes the rank has sent over the network, and how many it has taken in.
const CARRIED: usize = MESSAGES + 2 * MESSAGES_MAX;
const _: () = assert!(CARRIED + 2 <= DETAIL_WORDS);

const CLOSED: u64 = 1;
const SHARED: u64 = 2;
const ANY: u64 = 4;
/// Where in the second word the numbers of things and messages begin, and what each may be at most.
const AWAITED_SHIFT: u32 = 8;
const MESSAGES_SHIFT: u32 = 32;
const MOST_TOLD: u64 = 0xff_ffff;

/// Names the present function of a front end.
pub type Namer = fn() -> Option<String>;

/// What a rank remembers between answers.
#[derive(Default)]
pub struct Answers {
    period: Cell<u32>,
    given: Cell<u32>,
    /// Steps that neither made progress of the engine nor completed an operation.
    moves: Cell<u64>,
    /// How many of them, and of completions, and of bytes on the network, there were at the last answer.
    seen: Cell<[u64; 4]>,
    /// Names the function of the program's interface in which the rank is.
    namer: Cell<Option<Namer>>,
}

impl Answers {
    /// Something was done for others, or found, that shows nowhere else.
    #[inline]
    pub fn moved(&self) {
        self.moves.set(self.moves.get().wrapping_add(1));
    }

    pub fn set_namer(&self, namer: Namer) {
        self.namer.set(Some(namer));
    }

    /// Whether the functions of the program's interface have names of their own.
    pub fn have_names(&self) -> bool {
        self.namer.get().is_some()
    }

    /// The function of the program's interface in which the rank is, if that can be told.
    pub fn name(&self) -> Option<String> {
        self.namer.get().and_then(|namer| namer())
    }

    /// Counts an answer of a wait in which nothing has happened since its last one, in that period; the first word. A
    /// period begins if something has: another wait may have come and gone within this one.
    fn count(&self, quiet_in: u32, completions: u64, [sent, taken]: [u64; 2]) -> u64 {
        let seen = [self.moves.get(), completions, sent, taken];
        if self.seen.replace(seen) != seen || quiet_in != self.period.get() || quiet_in == 0 {
            self.period.set(self.period.get().checked_add(1).unwrap_or(1));
            self.given.set(0);
        }
        self.given.set(self.given.get().wrapping_add(1));
        u64::from(self.period.get()) << 32 | u64::from(self.given.get())
    }

    /// The words of an answer, and the period in which it is. Nothing has happened since the wait has answered in
    /// period `quiet_in`, if that is not 0; `completions`: how many operations have completed so far.
    pub(crate) fn give(&self, quiet_in: u32, completions: u64, told: &Told<'_>) -> ([u64; DETAIL_WORDS], u32) {
        let mut words = told.words();
        words[0] = self.count(quiet_in, completions, told.carried);
        (words, self.period.get())
    }
}

/// What a rank tells in an answer.
pub(crate) struct Told<'a> {
    /// Whether only other ranks can end the wait.
    pub(crate) is_closed: bool,
    /// Whether other threads of the program may be the rank, too.
    pub(crate) is_shared: bool,
    /// Whether the first of what is awaited is enough.
    pub(crate) any: bool,
    /// The function of the program's interface in which the rank is; empty if that can't be told.
    pub(crate) name: &'a str,
    /// What is awaited, in the words of [`waiting`].
    pub(crate) awaited: &'a [[u64; 2]],
    /// The messages that no receive wants, and their lengths.
    pub(crate) messages: &'a [(Envelope, u64)],
    /// How many bytes the rank has sent over the network so far, and how many it has taken in.
    pub(crate) carried: [u64; 2],
}

impl Told<'_> {
    /// All words but the first.
    fn words(&self) -> [u64; DETAIL_WORDS] {
        let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
        let number = |len: usize, shift: u32| (len as u64).min(MOST_TOLD) << shift;
        let mut words = [0; DETAIL_WORDS];
        words[1] = flag(self.is_closed, CLOSED)
            | flag(self.is_shared, SHARED)
            | flag(self.any, ANY)
            | number(self.awaited.len(), AWAITED_SHIFT)
            | number(self.messages.len(), MESSAGES_SHIFT);
        for (word, bytes) in words[NAME..AWAITED].iter_mut().zip(self.name.as_bytes().chunks(8)) {
            let mut all = [0; 8];
            all[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(all);
        }
        for (place, one) in words[AWAITED..MESSAGES].chunks_mut(2).zip(self.awaited) {
            place.copy_from_slice(one);
        }
        for (place, (envelope, len)) in words[MESSAGES..CARRIED].chunks_mut(2).zip(self.messages) {
            let Envelope { context, source, tag, .. } = *envelope;
            let len = u32::try_from(*len).unwrap_or(u32::MAX);
            place.copy_from_slice(&[
                u64::from(tag) << 32 | u64::from(source),
                u64::from(context) << 32 | u64::from(len),
            ]);
        }
        words[CARRIED..CARRIED + 2].copy_from_slice(&self.carried);
        words
    }
}

/// What a rank that was woken while it waits has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// It changes whenever anything happens in the rank.
    pub period: u32,
    /// How many times the rank has answered in this period.
    pub given: u32,
    /// Whether only other ranks can end the wait.
    pub is_closed: bool,
    /// Whether other threads of the program may be the rank, too.
    pub is_shared: bool,
    /// Whether the first of what is awaited is enough.
    pub any: bool,
    /// The function that the program has called, if its interface tells; else what kind of call it is.
    pub call: String,
    /// The collective that the rank is in: the number of its communicator.
    pub collective: Option<u32>,
    /// How many things the rank waits for,
    pub awaited: usize,
    /// and the first of them: for whom, and for what.
    pub first_awaited: Vec<(Partner, String)>,
    /// How many messages have come that no receive wants,
    pub messages: usize,
    /// and the first of them, in words.
    pub first_messages: Vec<String>,
    /// How many bytes the rank has sent over the network so far, and how many it has taken in.
    pub carried: [u64; 2],
}

/// An answer as its rank has published it, with the rank's activity record.
pub fn read_answer(words: &[u64; DETAIL_WORDS], record: &[u64; 8]) -> Answer {
    let flags = words[1];
    let awaited = (flags >> AWAITED_SHIFT & MOST_TOLD) as usize;
    let messages = (flags >> MESSAGES_SHIFT & MOST_TOLD) as usize;
    let things = words[AWAITED..MESSAGES].chunks(2).take(awaited).map(|pair| [pair[0], pair[1]]);
    let is_part = things
        .clone()
        .any(|[first, second]| first & 0xff == waiting::Kind::Step as u64 || is_collective((second >> 32) as u32));
    let name: Vec<u8> = words[NAME..AWAITED].iter().flat_map(|word| word.to_le_bytes()).collect();
    let name = String::from_utf8_lossy(&name);
    let (kind, communicator) = activity::call_and_communicator(record).unwrap_or(("", 0));
    let call = match name.trim_end_matches('\0') {
        "" => kind.to_owned(),
        name => name.to_owned(),
    };
    Answer {
        period: (words[0] >> 32) as u32,
        given: words[0] as u32,
        is_closed: flags & CLOSED != 0,
        is_shared: flags & SHARED != 0,
        any: flags & ANY != 0,
        call,
        collective: is_part.then_some(communicator),
        awaited,
        first_awaited: things.filter_map(waiting::describe_awaited).collect(),
        messages,
        first_messages: words[MESSAGES..CARRIED].chunks(2).take(messages).map(message).collect(),
        carried: [words[CARRIED], words[CARRIED + 1]],
    }
}

fn message(pair: &[u64]) -> String {
    let (source, tag, len) = (pair[0] as u32, (pair[0] >> 32) as u32, pair[1] as u32);
    let communicator = waiting::in_communicator((pair[1] >> 32) as u32);
    format!("from rank {source}, tag {tag}, {len} bytes{communicator}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_ends_with_whatever_happens() {
        let answers = Answers::default();
        let parts = |word: u64| (word >> 32, word as u32);
        assert_eq!(parts(answers.count(0, 5, [0, 0])), (1, 1));
        assert_eq!(parts(answers.count(1, 5, [0, 0])), (1, 2));
        assert_eq!(parts(answers.count(1, 6, [0, 0])), (2, 1), "an operation has completed");
        answers.moved();
        assert_eq!(parts(answers.count(2, 6, [0, 0])), (3, 1), "a step was made");
        assert_eq!(parts(answers.count(0, 6, [0, 0])), (4, 1), "progress was made");
        assert_eq!(parts(answers.count(4, 6, [0, 0])), (4, 2));
        assert_eq!(parts(answers.count(3, 6, [0, 0])), (5, 1), "another wait has answered meanwhile");
        assert_eq!(parts(answers.count(5, 6, [32, 0])), (6, 1), "something was sent over the network");
        assert_eq!(parts(answers.count(6, 6, [32, 40])), (7, 1), "something has come from there");
    }

    #[test]
    fn nonsense_is_read_without_harm() {
        let answer = read_answer(&[u64::MAX; DETAIL_WORDS], &[u64::MAX; 8]);
        assert!(answer.first_awaited.len() <= AWAITED_MAX && answer.first_messages.len() <= MESSAGES_MAX);
        let silent = read_answer(&[0; DETAIL_WORDS], &[0; 8]);
        assert!(!silent.is_closed && silent.first_awaited.is_empty() && silent.call.is_empty());
    }
}

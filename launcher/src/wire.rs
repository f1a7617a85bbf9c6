//! What the launcher and its daemon on a host say to each other: orders one way, events the other, over the agent's
//! standard input and output.
//!
//! So nobody listens anywhere, and what passes here, the job's secret included, is as safe from others as the agent
//! makes it.

use crate::faults::Backtrace;
use crate::hang::Waiting;
use crate::job_spec::JobSpec;
use crate::output::Which;
use crate::pmi::Entry;
use crate::profile::RankNotes;
use crate::rank_state::{RankEnd, RankSeen};
use crate::samples::Sample;
use crate::spawn_request::{SpawnAnswer, SpawnRequest};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rwmpi_core::read_answer;
use rwmpi_transport::Threads;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// Longest message. The longest there is holds what all ranks have left for each other.
const MESSAGE_BYTES_MAX: usize = 256 << 20;
/// Most that is read at once, so that other things get their turn.
const READ_BYTES: usize = 1 << 18;
const LENGTH: usize = 4;

/// What a host's daemon is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Find and check everything.
    Prepare(Box<Task>),
    /// Start the ranks.
    Start,
    /// Send all ranks a signal.
    Signal(i32),
    /// All ranks of the job have met, and have left these words.
    Release(Vec<Entry>),
    /// Tell the ranks that the job ends with this code.
    Abort(i32),
    /// Say what each rank is doing.
    SayStates,
    /// Say what there is to be seen of each rank.
    Sample,
    /// Say what each rank waits for, if all do.
    SayWaits,
    /// Have each rank answer what it waits for.
    CallRanks,
    /// Say that you are there.
    Answer,
    /// Give this to rank 0 to read; nothing: it is at its end.
    Input(Vec<u8>),
    /// Leave the ranks' output where it is, or no longer.
    Hold(bool),
    /// What became of the further ranks that this process has asked for.
    Spawned { process: usize, answer: SpawnAnswer },
    /// Nobody takes this output any more.
    Close(Which),
    /// All ranks of the job have ended: let nothing be left of those here.
    Finish,
}

/// A host's part of a job.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) spec: JobSpec,
    /// The numbers of the ranks of this host.
    pub(crate) ranks: Vec<usize>,
    /// For each rank of the job, the number of its host.
    pub(crate) nodes: Vec<usize>,
    /// The launcher's working directory and environment.
    pub(crate) directory: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// What the user's own agent calls this host.
    pub(crate) name: Option<String>,
    /// Another host of the job, if the name is one by which it can be reached.
    pub(crate) neighbor: Option<String>,
}

/// What has happened on a host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Event {
    /// Everything was found and checked.
    Ready,
    /// The ranks cannot be started: why, and the exit code for it.
    Refused { text: String, code: u8 },
    /// What the user ought to know, or asked for.
    Note(String),
    /// Lines that ranks wrote.
    Output(Which, Vec<u8>),
    /// All ranks here wait for the others, and have left this.
    Left(Vec<Entry>),
    /// A rank has ended.
    Ended(RankEnd),
    /// A rank has died, and the others go on: they know.
    Died(RankEnd),
    /// A rank is none any more, although what was started in its place goes on.
    Vanished(RankEnd),
    /// Whether a rank takes part in the job: it has joined and not begun to leave it.
    InJob(bool),
    /// A rank asked for the end of the job.
    Aborted { rank: Option<usize>, code: i32, text: String },
    /// The process of that rank asks for further ranks.
    Spawn { rank: usize, process: usize, request: SpawnRequest },
    /// Where ranks were that a fault of their own has killed.
    Backtraces(Vec<Backtrace>),
    /// What the ranks that still run are doing.
    States(Vec<RankSeen>),
    /// What there is to be seen of the ranks that still run.
    Samples(Vec<Sample>),
    /// Whether all ranks here wait, and have for a while.
    AllWait(bool),
    /// What the ranks here wait for, if all of them do; else nothing.
    Waits(Vec<WaitSeen>),
    /// The daemon is there.
    Answered,
    /// What rank 0 was given to read is read.
    InputTaken,
    /// What a rank has noted.
    Notes(RankNotes),
    /// No process of the job is left here.
    Over,
    /// The host, or the way to it, is lost.
    Lost(String),
}

impl Event {
    /// Whether all the ranks that it names are among these.
    pub(crate) fn is_of(&self, ranks: &[usize]) -> bool {
        match self {
            Event::Ended(end) | Event::Died(end) | Event::Vanished(end) => ranks.contains(&end.seen.rank),
            Event::Aborted { rank: Some(rank), .. } | Event::Spawn { rank, .. } => ranks.contains(rank),
            Event::Notes(notes) => ranks.contains(&notes.rank),
            Event::Backtraces(all) => all.iter().flat_map(|one| &one.ranks).all(|rank| ranks.contains(rank)),
            Event::Samples(samples) => samples.iter().all(|sample| ranks.contains(&sample.seen.rank)),
            Event::Waits(waits) => waits.iter().all(|wait| ranks.contains(&wait.rank)),
            Event::States(states) => states.iter().all(|seen| ranks.contains(&seen.rank)),
            _ => true,
        }
    }
}

/// What a rank waits for, as it has published it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitSeen {
    pub(crate) rank: usize,
    pub(crate) details: Vec<u64>,
    pub(crate) record: [u64; 8],
    pub(crate) threads: Option<ThreadsSeen>,
    pub(crate) is_leaving: bool,
}

/// What the threads of a process are about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ThreadsSeen {
    asleep: Vec<(u32, u64)>,
    others: usize,
    catches: bool,
}

impl From<Threads> for ThreadsSeen {
    fn from(Threads { asleep, others, catches }: Threads) -> ThreadsSeen {
        ThreadsSeen { asleep, others, catches }
    }
}

impl From<ThreadsSeen> for Threads {
    fn from(ThreadsSeen { asleep, others, catches }: ThreadsSeen) -> Threads {
        Threads { asleep, others, catches }
    }
}

impl TryFrom<WaitSeen> for Waiting {
    /// They are not as many words as there are.
    type Error = Vec<u64>;

    fn try_from(WaitSeen { rank, details, record, threads, is_leaving }: WaitSeen) -> Result<Waiting, Vec<u64>> {
        let answer = read_answer(&details.try_into()?, &record);
        Ok(Waiting { rank, answer, threads: threads.map(Into::into), is_leaving })
    }
}

/// One end of the connection. Nothing here blocks.
#[derive(Debug)]
pub(crate) struct Link {
    reader: OwnedFd,
    writer: OwnedFd,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// How much of the outbox was written already.
    written: usize,
}

impl Link {
    pub(crate) fn new(reader: OwnedFd, writer: OwnedFd) -> io::Result<Link> {
        rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)?;
        rustix::fs::fcntl_setfl(&writer, OFlags::NONBLOCK)?;
        Ok(Link { reader, writer, inbox: Vec::new(), outbox: Vec::new(), written: 0 })
    }

    /// What to wait for.
    pub(crate) fn poll<'a>(&'a self, polled: &mut Vec<PollFd<'a>>) {
        polled.push(PollFd::new(&self.reader, PollFlags::IN));
        if self.unwritten() > 0 {
            polled.push(PollFd::new(&self.writer, PollFlags::OUT));
        }
    }

    /// Bytes that wait for the other side to read on.
    pub(crate) fn unwritten(&self) -> usize {
        self.outbox.len() - self.written
    }

    /// Writes what the other side takes now, and keeps the rest.
    pub(crate) fn send<M: Serialize>(&mut self, message: &M) -> io::Result<()> {
        let bytes = postcard::to_stdvec(message).map_err(io::Error::other)?;
        self.outbox.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.outbox.extend_from_slice(&bytes);
        self.flush()
    }

    /// Writes bytes that are no message.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.outbox.extend_from_slice(bytes);
        self.flush()
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while self.unwritten() > 0 {
            match rustix::io::write(&self.writer, &self.outbox[self.written..]) {
                Ok(count) => self.written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        if self.unwritten() == 0 || self.written > READ_BYTES {
            self.outbox.drain(..self.written);
            self.written = 0;
        }
        Ok(())
    }

    /// Reads what there is. False: nothing will come any more.
    pub(crate) fn read(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 1 << 14];
        let before = self.inbox.len();
        while self.inbox.len() - before < READ_BYTES {
            match rustix::io::read(&self.reader, &mut bytes) {
                Ok(0) => return Ok(false),
                Ok(count) => self.inbox.extend_from_slice(&bytes[..count]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// What was read and is no message yet; to be taken from where it is.
    pub(crate) fn inbox(&mut self) -> &mut Vec<u8> {
        &mut self.inbox
    }

    /// The messages that have arrived whole.
    pub(crate) fn messages<M: DeserializeOwned>(&mut self) -> io::Result<Vec<M>> {
        let mut messages = Vec::new();
        let mut rest = &self.inbox[..];
        while let Some((length, behind)) = rest.split_first_chunk::<LENGTH>() {
            let length = u32::from_le_bytes(*length) as usize;
            if length > MESSAGE_BYTES_MAX {
                return Err(io::Error::other(format!("a message of {length} bytes, longer than any there is")));
            }
            let Some((message, behind)) = behind.split_at_checked(length) else { break };
            let (message, unread) = postcard::take_from_bytes(message)
                .map_err(|error| io::Error::other(format!("no message that there is: {error}")))?;
            if !unread.is_empty() {
                return Err(io::Error::other("a message longer than what it says"));
            }
            messages.push(message);
            rest = behind;
        }
        let taken = self.inbox.len() - rest.len();
        self.inbox.drain(..taken);
        Ok(messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank_state::Ending;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::os::unix::net::UnixStream;

    fn pair() -> [Link; 2] {
        let (one, other) = UnixStream::pair().unwrap();
        [one, other].map(|end| Link::new(end.try_clone().unwrap().into(), end.into()).unwrap())
    }

    #[test]
    fn messages_arrive_whole_and_in_order() {
        let [mut one, mut other] = pair();
        let long = vec![7; 1 << 20];
        one.send(&Order::Signal(3)).unwrap();
        one.send(&Order::Input(long.clone())).unwrap();
        one.send(&Order::Finish).unwrap();
        let mut orders: Vec<Order> = Vec::new();
        while orders.len() < 3 {
            one.flush().unwrap();
            assert!(other.read().unwrap());
            orders.extend(other.messages().unwrap());
        }
        assert!(matches!(&orders[..], [Order::Signal(3), Order::Input(bytes), Order::Finish] if *bytes == long));
        drop(one);
        assert!(!other.read().unwrap());
    }

    #[test]
    fn a_host_speaks_of_its_own_ranks() {
        assert!(events().iter().all(|event| event.is_of(&[2, 3])));
        assert_eq!(events().iter().filter(|event| event.is_of(&[])).count(), 5);
    }

    #[test]
    fn nonsense_is_an_error() {
        for (nonsense, what) in [
            (&[0xff; 8][..], "a message of 4294967295 bytes"),
            (&[1, 0, 0, 0, 0xff], "no message that there is"),
            // `Start`, and a byte.
            (&[2, 0, 0, 0, 1, 0], "a message longer than what it says"),
        ] {
            let [mut one, mut other] = pair();
            one.send_bytes(nonsense).unwrap();
            other.read().unwrap();
            let error = other.messages::<Order>().unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    fn wait() -> WaitSeen {
        let threads = Threads { asleep: vec![(8, 3)], others: 1, catches: false };
        WaitSeen { rank: 2, details: vec![0; 48], record: [0; 8], threads: Some(threads.into()), is_leaving: false }
    }

    #[test]
    fn a_wait_is_taken_if_it_is_whole() {
        let waiting = Waiting::try_from(wait()).unwrap();
        assert_eq!((waiting.rank, waiting.threads.map(|threads| threads.asleep)), (2, Some(vec![(8, 3)])));
        assert!(Waiting::try_from(WaitSeen { details: vec![0; 7], ..wait() }).is_err());
    }

    fn events() -> Vec<Event> {
        let seen = RankSeen { rank: 3, pid: 7, joined: true, finished: false, activity: Some([1; 8]), now: 9 };
        vec![
            Event::Note("a".repeat(300)),
            Event::Output(Which::Stderr, vec![b'\n'; 1000]),
            Event::Left(vec![("key".to_owned(), "value".to_owned()); 20]),
            Event::Ended(RankEnd { seen, ending: Ending::Exited { code: 3 } }),
            Event::Aborted { rank: Some(2), code: -1, text: "why".to_owned() },
            Event::States(vec![seen; 4]),
            Event::AllWait(true),
            Event::Waits(vec![wait()]),
            Event::Over,
        ]
    }

    /// What arrives of `bytes` in pieces, as text; an error ends it.
    fn arrivals(bytes: &[u8], piece: usize) -> (Vec<String>, Option<String>) {
        let [mut one, mut other] = pair();
        let mut heard = Vec::new();
        for piece in bytes.chunks(piece) {
            one.send_bytes(piece).unwrap();
            other.read().unwrap();
            match other.messages::<Event>() {
                Ok(events) => heard.extend(events.iter().map(|event| format!("{event:?}"))),
                Err(error) => return (heard, Some(error.to_string())),
            }
        }
        (heard, None)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn messages_survive_any_cut_and_spoilt_ones_are_an_error_at_most(
            piece in 1..400_usize, spoilt in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)
        ) {
            let mut bytes = Vec::new();
            let mut ends = Vec::new();
            for event in events() {
                let message = postcard::to_stdvec(&event).unwrap();
                bytes.extend((message.len() as u32).to_le_bytes());
                bytes.extend(message);
                ends.push(bytes.len());
            }
            let places: Vec<usize> = spoilt.iter().map(|(place, _)| place.index(bytes.len())).collect();
            places.iter().zip(&spoilt).for_each(|(&place, (_, byte))| bytes[place] = *byte);
            let intact = places.iter().copied().min().unwrap_or(bytes.len());
            let (heard, error) = arrivals(&bytes, piece);
            let before = ends.iter().filter(|&&end| end <= intact).count();
            // Those that came in one piece with an error are lost with it.
            let expected: Vec<String> = events().iter().take(before).map(|event| format!("{event:?}")).collect();
            prop_assert!(error.is_some() || heard.len() >= before);
            prop_assert!(heard.iter().zip(&expected).all(|(heard, expected)| heard == expected));
            prop_assert!(!spoilt.is_empty() || (heard.len(), error) == (ends.len(), None));
        }
    }
}

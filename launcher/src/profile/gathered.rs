//! All that is known of a job: the notes of its ranks, on one clock.

use super::clock::Clock;
use super::notes::RankNotes;
use rwmpi_core::profile::recorded::{self, Event, Message, OpenWait, Reason, Recorded};

/// A job that is over. Times are nanoseconds since its first rank joined.
pub(super) struct Job {
    /// The program and its arguments.
    pub(super) title: String,
    /// From the first rank's joining to the last one's end.
    pub(super) duration: u64,
    pub(super) ranks: Vec<Rank>,
}

/// A rank that is no more.
pub(super) struct Rank {
    pub(super) host: String,
    /// When it joined, and when it finalized or its notes end.
    pub(super) began: u64,
    pub(super) ended: u64,
    /// What it has noted; nothing, if it never joined as a program of this library. Its times are of the job's clock,
    /// too.
    pub(super) notes: Option<Recorded>,
}

impl Job {
    /// The job of so many ranks that have left these notes, each with its host.
    pub(super) fn new(title: &str, ranks: usize, notes: Vec<(String, RankNotes)>) -> Job {
        let mut found: Vec<Rank> = Vec::new();
        found.resize_with(ranks, || Rank { host: String::new(), began: 0, ended: 0, notes: None });
        for (host, RankNotes { rank, words, clock }) in notes {
            let Some(place) = found.get_mut(rank) else { continue };
            place.host = host;
            if let Some(notes) = recorded::read(&words, ranks) {
                place.began = clock.time(notes.began);
                place.ended = clock.time(notes.ended.unwrap_or(clock.end())).max(place.began);
                let mut notes = with_open_call(on_clock(notes, &clock), place.ended);
                // The call that finalizes ends a little after the rank has.
                notes.inside = notes.inside.min(place.ran());
                notes.waited = notes.waited.min(notes.inside);
                place.notes = Some(notes);
            }
        }
        let present = || found.iter().filter(|rank| rank.notes.is_some());
        let zero = present().map(|rank| rank.began).min().unwrap_or(0);
        found.iter_mut().for_each(|rank| rank.shift(zero));
        let duration = found.iter().map(|rank| rank.ended).max().unwrap_or(0);
        Job { title: title.to_owned(), duration, ranks: found }
    }

    /// The ranks that have left notes, by number.
    pub(super) fn noted(&self) -> impl Iterator<Item = (usize, &Rank, &Recorded)> {
        let ranks = self.ranks.iter().enumerate();
        ranks.filter_map(|(number, rank)| Some((number, rank, rank.notes.as_ref()?)))
    }

    /// How long all ranks together have run.
    pub(super) fn run(&self) -> u64 {
        self.noted().map(|(_, rank, _)| rank.ran()).sum()
    }

    /// Ranks whose notes end before they have finalized.
    pub(super) fn broken_off(&self) -> Vec<usize> {
        self.noted().filter(|(_, _, notes)| notes.ended.is_none()).map(|(number, ..)| number).collect()
    }

    /// Ranks that have left none.
    pub(super) fn silent(&self) -> Vec<usize> {
        (0..self.ranks.len()).filter(|&number| self.ranks[number].notes.is_none()).collect()
    }
}

impl Rank {
    /// From its joining to its end.
    pub(super) fn ran(&self) -> u64 {
        self.ended - self.began
    }

    fn shift(&mut self, zero: u64) {
        let shift = |time: &mut u64| *time = time.saturating_sub(zero);
        [&mut self.began, &mut self.ended].into_iter().for_each(shift);
        let Some(notes) = &mut self.notes else { return };
        notes.began = self.began;
        notes.ended = notes.ended.map(|_| self.ended);
        if let Some((_, since)) = &mut notes.present {
            shift(since);
        }
        for event in &mut notes.events {
            match event {
                Event::Call { since, until, .. } | Event::Wait { since, until, .. } => {
                    [since, until].into_iter().for_each(shift);
                }
                Event::Sent(message) | Event::Received(message) => shift(&mut message.at),
            }
        }
    }
}

/// The same with times of that clock.
fn on_clock(mut notes: Recorded, clock: &Clock) -> Recorded {
    let lasts = |ticks: &mut u64| *ticks = clock.duration(*ticks);
    let at = |ticks: &mut u64| *ticks = clock.time(*ticks);
    [&mut notes.inside, &mut notes.waited].into_iter().for_each(lasts);
    for function in &mut notes.functions {
        [&mut function.time, &mut function.waiting, &mut function.longest].into_iter().for_each(lasts);
    }
    for collective in &mut notes.collectives {
        let [_, time, waiting, _] = &mut collective.amounts;
        [time, waiting].into_iter().for_each(lasts);
    }
    notes.peers.iter_mut().flat_map(|peer| &mut peer.waits).for_each(|[_, time]| lasts(time));
    let open_since = notes.open_wait.as_mut().map(|wait| &mut wait.since);
    notes.present.as_mut().map(|(_, since)| since).into_iter().chain(open_since).for_each(at);
    for event in &mut notes.events {
        match event {
            Event::Call { since, until, .. } | Event::Wait { since, until, .. } => {
                [since, until].into_iter().for_each(at)
            }
            Event::Sent(message) | Event::Received(message) => at(&mut message.at),
        }
    }
    notes
}

/// The same, with the call in which the notes end counted to the end of the rank.
fn with_open_call(mut notes: Recorded, ended: u64) -> Recorded {
    if let (Some((function, since)), None) = (notes.present, notes.ended) {
        let time = ended.saturating_sub(since);
        notes.inside += time;
        notes.functions[function].calls += 1;
        notes.functions[function].time += time;
        notes.functions[function].longest = notes.functions[function].longest.max(time);
        if let Some(OpenWait { reason, peer, since }) = notes.open_wait {
            let waited = ended.saturating_sub(since).min(time);
            notes.waited += waited;
            notes.functions[function].waiting += waited;
            let awaited = peer.and_then(|peer| notes.peers.get_mut(peer as usize));
            if let (Some(of), Some(reason)) = (awaited, reason) {
                let [times, time] = &mut of.waits[reason as usize];
                (*times, *time) = (*times + 1, *time + waited);
            }
            notes.events.push(Event::Wait { reason, peer, since, until: ended });
        }
    }
    notes
}

/// Why a rank waited, in a word or two.
pub(super) fn said(reason: Reason) -> &'static str {
    match reason {
        Reason::Message => "messages that it sends late",
        Reason::Receiver => "messages that it takes late",
        Reason::Collective => "its part of collectives",
        Reason::Window => "its part of epochs and locks",
    }
}

/// Pairs messages that were sent with those that were received, between the same two ranks with the same envelope, in
/// order. Where events are gone, from the end: the latest are there.
pub(super) fn pairs(job: &Job) -> Vec<(usize, Message, usize, Message)> {
    use std::collections::HashMap;
    let mut sent: HashMap<(usize, u32, u64), Vec<Message>> = HashMap::new();
    for (number, _, notes) in job.noted() {
        for event in &notes.events {
            if let Event::Sent(message) = event {
                sent.entry((number, message.peer, message.envelope)).or_default().push(*message);
            }
        }
    }
    let mut taken: HashMap<(usize, u32, u64), Vec<Message>> = HashMap::new();
    for (number, _, notes) in job.noted() {
        for event in &notes.events {
            if let Event::Received(message) = event {
                let key = (message.peer as usize, number as u32, message.envelope);
                taken.entry(key).or_default().push(*message);
            }
        }
    }
    let are_whole = job.noted().all(|(_, _, notes)| notes.events_gone == 0);
    let mut pairs = Vec::new();
    for (key @ (from, to, _), received) in taken {
        let Some(sent) = sent.get(&key) else { continue };
        // The program's last messages may be under way still, so ends fit only where beginnings are missing.
        let skipped = |len: usize, other: usize| if are_whole { 0 } else { len.saturating_sub(other) };
        let sent = &sent[skipped(sent.len(), received.len())..];
        let received = &received[skipped(received.len(), sent.len())..];
        let both = sent.iter().zip(received).filter(|(sent, received)| sent.at <= received.at);
        pairs.extend(both.map(|(sent, received)| (from, *sent, to as usize, *received)));
    }
    pairs.sort_by_key(|(from, sent, ..)| (sent.at, *from));
    pairs
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use rwmpi_core::profile::recorded::{Function, Peer};

    /// A job in which rank 1 receives from rank 0, which computes first.
    pub(in super::super) fn late_sender() -> Job {
        let function = |name: &str, time, waiting| Function {
            name: name.to_owned(),
            calls: 1,
            time,
            waiting,
            longest: time,
            bytes: 8,
        };
        let rank = |functions: Vec<Function>, waited_for_0: u64, events| {
            let mut peers = vec![Peer::default(); 2];
            peers[0].waits[Reason::Message as usize] = [u64::from(waited_for_0 > 0), waited_for_0];
            let inside = functions.iter().map(|function| function.time).sum();
            let waited = functions.iter().map(|function| function.waiting).sum();
            let notes = Recorded { functions, inside, waited, peers, events, ended: Some(1000), ..Recorded::default() };
            Rank { host: "here".to_owned(), began: 0, ended: 1000, notes: Some(notes) }
        };
        let message = |peer, at| Message { peer, at, envelope: 7, bytes: 8 };
        let mut sender = rank(
            vec![function("MPI_Send", 20, 0)],
            0,
            vec![Event::Sent(message(1, 805)), Event::Call { function: 0, since: 800, until: 820 }],
        );
        if let Some(notes) = &mut sender.notes {
            notes.peers[1] = Peer { messages: 1, bytes: 8, ..Peer::default() };
        }
        let wait = Event::Wait { reason: Some(Reason::Message), peer: Some(0), since: 10, until: 810 };
        let receiver = rank(
            vec![function("MPI_Recv", 815, 800)],
            800,
            vec![wait, Event::Received(message(0, 812)), Event::Call { function: 0, since: 5, until: 820 }],
        );
        Job { title: "./late".to_owned(), duration: 1000, ranks: vec![sender, receiver] }
    }

    /// A job of ranks that run for 1000 and wait for each other's messages as long as that says; else they compute.
    pub(in super::super) fn job_of<const RANKS: usize>(waits: &[[u64; RANKS]; RANKS]) -> Job {
        let rank = |waits: &[u64; RANKS]| {
            let waited = waits.iter().sum();
            let peers = waits.map(|time| {
                let mut peer = Peer::default();
                peer.waits[Reason::Message as usize] = [u64::from(time > 0), time];
                peer
            });
            let receive = Function {
                name: "MPI_Recv".to_owned(),
                calls: 1,
                time: waited,
                waiting: waited,
                longest: waited,
                bytes: 8,
            };
            let (functions, peers) = (vec![receive], peers.to_vec());
            let notes = Recorded { functions, inside: waited, waited, peers, ended: Some(1000), ..Recorded::default() };
            Rank { host: "here".to_owned(), began: 0, ended: 1000, notes: Some(notes) }
        };
        Job { title: "./job".to_owned(), duration: 1000, ranks: waits.iter().map(rank).collect() }
    }

    #[test]
    fn messages_are_paired_in_order() {
        let mut job = late_sender();
        assert_eq!(pairs(&job).len(), 1);
        let more = |events: &mut Vec<Event>, event: fn(Message) -> Event, peer, times: &[u64]| {
            events.extend(times.iter().map(|&at| event(Message { peer, at, envelope: 9, bytes: at })));
        };
        if let [Rank { notes: Some(sender), .. }, Rank { notes: Some(receiver), .. }] = &mut job.ranks[..] {
            more(&mut sender.events, Event::Sent, 1, &[1, 2, 3]);
            more(&mut receiver.events, Event::Received, 0, &[4, 5]);
        }
        let times = |job: &Job| -> Vec<(u64, u64)> {
            pairs(job).iter().map(|(_, sent, _, received)| (sent.at, received.at)).collect()
        };
        assert_eq!(times(&job), [(1, 4), (2, 5), (805, 812)], "the last is under way");
        if let Some(notes) = &mut job.ranks[1].notes {
            notes.events_gone = 1;
        }
        assert_eq!(times(&job), [(2, 4), (3, 5), (805, 812)], "the first receive is gone");
    }

    #[test]
    fn a_call_that_never_ended_counts() {
        let functions = vec![Function { calls: 2, time: 10, longest: 9, ..Function::default() }];
        let open_wait = Some(OpenWait { reason: Some(Reason::Message), peer: Some(1), since: 70 });
        let (present, peers) = (Some((0, 60)), vec![Peer::default(); 2]);
        let open = Recorded { functions, present, open_wait, peers, inside: 10, ..Recorded::default() };
        let notes = with_open_call(open.clone(), 100);
        let Function { calls, time, longest, waiting, .. } = notes.functions[0];
        assert_eq!((notes.inside, calls, time, longest, waiting), (50, 3, 50, 40, 30));
        assert_eq!((notes.waited, notes.peers[1].waits[Reason::Message as usize]), (30, [1, 30]));
        assert_eq!(with_open_call(Recorded { ended: Some(70), ..open.clone() }, 100).inside, 10, "it has finalized");
    }

    #[test]
    fn times_count_from_the_first_rank_on() {
        let silent = RankNotes { rank: 1, words: Vec::new(), clock: Clock::EVEN };
        let job = Job::new("./a", 3, vec![("a".to_owned(), silent)]);
        assert_eq!((job.silent(), job.duration, job.run()), (vec![0, 1, 2], 0, 0));
    }
}

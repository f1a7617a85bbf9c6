//! Why a job takes as long as it does, in a few sentences: what a user is to know who reads no further.

use super::blame::{self, asked, idled};
use super::gathered::{Job, Rank, said};
use super::summary::{Awaited, LITTLE, bytes, per_cent, per_mille, time};
use rwmpi_core::profile::recorded::{Function, Recorded};

/// A rank that computes this much longer than the others on average, per cent, has more to do.
const UNEVEN: u64 = 120;
/// What a short message costs both sides together, in nanoseconds, about; and how long short ones are at most.
const MESSAGE: u64 = 300;
const SHORT: u64 = 1024;
/// A function with less of the time than this, per mille, is not worth its name.
const UNNAMED: u64 = 10;

/// What has been summed up of a job.
pub(super) struct Sums<'a> {
    pub(super) functions: &'a [Function],
    pub(super) awaited: &'a [Awaited],
    /// Time in MPI, and what of it was waiting.
    pub(super) inside: u64,
    pub(super) waited: u64,
}

/// The sentences, the most important first.
pub(super) fn of(job: &Job, sums: &Sums<'_>) -> Vec<String> {
    let count = job.noted().count();
    if count == 0 {
        return vec!["No rank has left notes: none has joined the job by this library.".to_owned()];
    }
    let run = job.run();
    let ranks = if count == 1 { "1 rank".to_owned() } else { format!("{count} ranks") };
    let waiting =
        if count == 1 { String::new() } else { format!(", {} is waiting for other ranks", per_cent(sums.waited, run)) };
    let mut answer = vec![
        format!("{ranks}, {}: {} of their time is in MPI{waiting}.", time(job.duration), per_cent(sums.inside, run)),
        who(job, sums),
    ];
    if let Some((queued, words)) = oversubscribed(job) {
        // Where it is more than what they wait, it is what to mend first.
        answer.insert(if queued > sums.waited { 1 } else { 2 }, words);
    }
    answer.extend(short_messages(job));
    answer.push(calls(job, sums.functions));
    answer
}

/// Who holds the others up, or what else takes the time.
fn who(job: &Job, sums: &Sums<'_>) -> String {
    let run = job.run();
    let asking: u64 = job.noted().map(|(_, _, notes)| asked(notes)).sum();
    if per_mille(asking, run) >= LITTLE && asking > sums.waited {
        return format!(
            "The ranks ask again and again whether something has come, {} of their time: they wait, but for whom is not known.{}",
            per_cent(asking, run),
            busiest(job).map_or(String::new(), |rank| format!(" Rank {rank} does so least.{}", work(job, rank)))
        );
    }
    if per_mille(sums.waited, run) < LITTLE {
        return nobody_waits(job, sums);
    }
    let shares = blame::shares(job);
    let Some(worst) = sums.awaited.iter().max_by_key(|awaited| shares[awaited.rank]) else {
        return "Whom they wait for is not known.".to_owned();
    };
    // Twice its share; of few ranks, half of all.
    let all: u64 = shares.iter().sum();
    if shares[worst.rank] * job.ranks.len().max(4) as u64 >= 2 * all {
        return format!("{}.{}", holds_up(worst, shares[worst.rank], sums.waited), work(job, worst.rank));
    }
    // Who has no processor holds others up without work of its own.
    if is_a_chain(job) && oversubscribed(job).is_none() {
        return format!(
            "The ranks work one after the other, each waiting for the one before it: what they do outside MPI takes {} \
             together, and the job {}.",
            time(job.noted().map(|(_, rank, notes)| outside(rank, notes)).sum()),
            time(job.duration)
        );
    }
    match busiest(job) {
        Some(rank) => {
            let idle = idled(&job.ranks[rank]);
            format!(
                "Rank {rank} waits least, {} of {}: the others wait for it, or for those that do.{}",
                time(idle),
                time(sums.waited),
                work(job, rank)
            )
        }
        None => format!(
            "They wait for each other in turn, and no rank stands out: of {} waited, {} are for rank {}, mostly for {}.",
            time(sums.waited),
            time(worst.time),
            worst.rank,
            said(worst.reason)
        ),
    }
}

/// What takes time where nobody waits.
fn nobody_waits(job: &Job, sums: &Sums<'_>) -> String {
    let what = if per_mille(sums.inside, job.run()) < 4 * LITTLE {
        "the program's own work"
    } else if sums.functions.first().is_some_and(|function| function.name.starts_with("MPI_File_")) {
        "reading and writing files"
    } else {
        "moving data in MPI"
    };
    match job.noted().count() {
        1 => format!("What takes time is {what}."),
        _ => format!("The ranks hardly wait for each other; what takes time is {what}."),
    }
}

/// One rank that others wait for, directly or by way of others.
fn holds_up(worst: &Awaited, share: u64, waited: u64) -> String {
    let &Awaited { rank, time: direct, reason, most: (most, longest) } = worst;
    let waited = time(waited);
    if direct * 4 < share * 3 {
        return format!(
            "Rank {rank} holds the others up: of {waited} waited, {} come down to it; rank {most} waits for it, {}, and others for rank {most}",
            time(share),
            time(longest)
        );
    }
    let who = if longest < direct { format!("; rank {most} waited most, {}", time(longest)) } else { String::new() };
    format!(
        "Rank {rank} holds the others up: of {waited} waited, {} are for it, mostly for {}{who}",
        time(direct),
        said(reason)
    )
}

fn outside(rank: &Rank, notes: &Recorded) -> u64 {
    rank.ran().saturating_sub(notes.inside)
}

/// The rank that waits much less than the others do, if there is one.
fn busiest(job: &Job) -> Option<usize> {
    let idle: Vec<(u64, usize)> = job.noted().map(|(number, rank, _)| (idled(rank), number)).collect();
    let &(least, rank) = idle.iter().min()?;
    let average = idle.iter().map(|(idle, _)| idle).sum::<u64>() / idle.len() as u64;
    (idle.len() > 1 && 2 * least <= average).then_some(rank)
}

/// Whether each rank works while all others wait, and each waits for another one.
fn is_a_chain(job: &Job) -> bool {
    let count = job.ranks.len();
    let work: u64 = job.noted().map(|(_, rank, notes)| outside(rank, notes)).sum();
    if count < 3 || !(60..=120).contains(&(per_mille(work, job.duration) / 10)) {
        return false;
    }
    let most_awaited = |rank: &Rank| {
        let notes = rank.notes.as_ref()?;
        (0..count).max_by_key(|&other| blame::waits(notes, other))
    };
    let next: Option<Vec<usize>> = job.ranks.iter().map(most_awaited).collect();
    next.is_some_and(|next| {
        let mut seen = vec![false; count];
        let mut rank = 0;
        (0..count).all(|_| {
            let is_new = !std::mem::replace(&mut seen[rank], true);
            rank = next[rank];
            is_new
        })
    })
}

/// What a rank does longer than the others, if it does.
fn work(job: &Job, rank: usize) -> String {
    let others = job.noted().filter(|(number, ..)| *number != rank).count() as u64;
    let own = job.ranks[rank].notes.as_ref().filter(|_| others > 0);
    let Some(notes) = own else { return String::new() };
    let busy = |notes: &Recorded, name: &str| -> u64 {
        let found = notes.functions.iter().filter(|function| function.name == name);
        found.map(|function| function.time.saturating_sub(function.waiting)).sum()
    };
    let average = |of: &dyn Fn(&Rank, &Recorded) -> u64| {
        job.noted().filter(|(number, ..)| *number != rank).map(|(_, rank, notes)| of(rank, notes)).sum::<u64>() / others
    };
    let functions = notes.functions.iter().map(|function| {
        let name = function.name.as_str();
        (
            format!("It spends {} in {name}", time(busy(notes, name))),
            busy(notes, name),
            average(&|_, notes| busy(notes, name)),
        )
    });
    let spent = outside(&job.ranks[rank], notes);
    let alone = (format!("Outside MPI it spends {}", time(spent)), spent, average(&outside));
    let most = functions.chain([alone]).max_by_key(|&(_, own, average)| own.saturating_sub(average));
    match most {
        Some((words, own, average))
            if own * 100 >= average * UNEVEN && per_mille(own - average, job.ranks[rank].ran()) >= LITTLE =>
        {
            format!(" {words}, the others {} on average.", time(average))
        }
        _ => String::new(),
    }
}

/// How long ranks wait for a processor, if that is much.
fn oversubscribed(job: &Job) -> Option<(u64, String)> {
    let queued = job.noted().map(|(_, _, notes)| notes.queued).sum();
    let words = || {
        format!(
            "For {} of their time ranks are ready to run and have no processor, as more runs here than there are \
             processors: whoever waits for such a rank waits for that, too.",
            per_cent(queued, job.run())
        )
    };
    (per_mille(queued, job.run()) >= 2 * LITTLE).then(|| (queued, words()))
}

/// Whether there are so many short messages that their number costs time.
fn short_messages(job: &Job) -> Option<String> {
    let sent = job.noted().flat_map(|(_, _, notes)| &notes.peers);
    let (messages, sum) = sent.fold((0, 0), |(messages, sum), peer| (messages + peer.messages, sum + peer.bytes));
    let is_much = per_mille(messages * MESSAGE, job.run()) >= LITTLE && sum / messages.max(1) < SHORT;
    is_much.then(|| {
        format!(
            "The program sends {messages} messages of {} on average: fewer, longer ones would take less time.",
            bytes(sum / messages)
        )
    })
}

fn calls(job: &Job, functions: &[Function]) -> String {
    let run = job.run();
    let told = |function: &Function| {
        let waiting = match per_mille(function.waiting, function.time) {
            0..LITTLE => String::new(),
            _ => format!(", {} of it waiting", per_cent(function.waiting, function.time)),
        };
        let calls = if function.calls == 1 { "call" } else { "calls" };
        format!("{} {} ({} {calls}{waiting})", function.name, per_cent(function.time, run), function.calls)
    };
    let first = functions.iter().take(1);
    let more = functions.iter().take(3).skip(1).filter(|function| per_mille(function.time, run) >= UNNAMED);
    let most: Vec<String> = first.chain(more).map(told).collect();
    if most.is_empty() { "No call was made.".to_owned() } else { format!("Of the ranks' time: {}.", most.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::super::gathered::tests::{job_of, late_sender};
    use super::super::summary;
    use super::*;

    fn answer(job: &Job) -> String {
        summary::of(job).answer.join("\n")
    }

    fn notes(job: &mut Job, rank: usize) -> &mut Recorded {
        job.ranks[rank].notes.as_mut().unwrap()
    }

    fn function(name: &str, time: u64) -> Function {
        Function { name: name.to_owned(), calls: 1, time, longest: time, ..Function::default() }
    }

    #[test]
    fn the_late_sender_is_named() {
        let mut job = late_sender();
        // Its one message would be too short for so short a job.
        notes(&mut job, 0).peers[1].messages = 0;
        let summary = summary::of(&job);
        let [shares, who, calls] = &summary.answer[..] else { panic!("{:?}", summary.answer) };
        assert_eq!(shares, "2 ranks, 1.00 µs: 42 % of their time is in MPI, 40 % is waiting for other ranks.");
        assert!(
            who.starts_with("Rank 0 holds the others up: of 800 ns waited, 800 ns are for it, mostly for messages that it sends late."),
            "{who}"
        );
        assert!(who.ends_with("Outside MPI it spends 980 ns, the others 185 ns on average."), "{who}");
        assert!(
            calls.starts_with("Of the ranks' time: MPI_Recv 41 % (1 call, 98 % of it waiting), MPI_Send 1.0 %"),
            "{calls}"
        );
    }

    #[test]
    fn who_is_waited_for_by_way_of_others_is_named() {
        let text = answer(&job_of(&[[0, 900, 0, 0], [0; 4], [900, 0, 0, 0], [900, 0, 0, 0]]));
        assert!(text.contains("Rank 1 holds the others up: of 2.70 µs waited, 2.5"), "{text}");
        assert!(text.contains("come down to it; rank 0 waits for it, 900 ns, and others for rank 0"), "{text}");
    }

    #[test]
    fn ranks_one_after_the_other_are_told_from_ranks_in_turn() {
        let ring = [[0, 0, 0, 750], [750, 0, 0, 0], [0, 750, 0, 0], [0, 0, 750, 0]];
        assert!(answer(&job_of(&ring)).contains("work one after the other"));
        let pairs = [[0, 750, 0, 0], [750, 0, 0, 0], [0, 0, 0, 750], [0, 0, 750, 0]];
        assert!(answer(&job_of(&pairs)).contains("no rank stands out"), "{}", answer(&job_of(&pairs)));
        let busy = ring.map(|waits| waits.map(|wait| wait / 3));
        assert!(answer(&job_of(&busy)).contains("no rank stands out"), "they work at the same time");
        let mut preempted = job_of(&ring);
        (0..4).for_each(|rank| notes(&mut preempted, rank).queued = 700);
        let text = answer(&preempted);
        assert!(text.contains("no rank stands out") && text.contains("have no processor"), "{text}");
    }

    #[test]
    fn what_the_rank_does_that_holds_others_up_is_said() {
        let mut job = job_of(&[[0, 0, 0], [900, 0, 0], [900, 0, 0]]);
        notes(&mut job, 0).functions.push(function("MPI_File_write_at", 850));
        notes(&mut job, 0).inside = 850;
        let text = answer(&job);
        assert!(text.contains("It spends 850 ns in MPI_File_write_at, the others 0 ns on average."), "{text}");
    }

    #[test]
    fn who_asks_waits() {
        let mut job = job_of(&[[0, 0], [0, 0]]);
        notes(&mut job, 1).functions.push(function("MPI_Test", 900));
        notes(&mut job, 1).inside = 900;
        let text = answer(&job);
        assert!(text.contains("ask again and again whether something has come, 45 %"), "{text}");
        assert!(text.contains("Rank 0 does so least. Outside MPI it spends 1.00 µs, the others 100 ns"), "{text}");
    }

    #[test]
    fn too_few_processors_and_short_messages_are_said() {
        let mut job = job_of(&[[0, 0], [0, 0]]);
        assert_eq!(summary::of(&job).answer.len(), 3);
        notes(&mut job, 0).queued = 500;
        notes(&mut job, 0).peers[1] =
            rwmpi_core::profile::recorded::Peer { messages: 3, bytes: 24, ..Default::default() };
        let text = answer(&job);
        assert!(text.contains("For 25 % of their time ranks are ready to run and have no processor"), "{text}");
        assert!(text.contains("3 messages of 8 B on average"), "{text}");
    }
}

//! The trace: what each rank did when, and arrows from messages' departures to their arrivals, in the form of Chrome's
//! trace events, which Perfetto opens.
//!
//! A rank is a thread there. Intervals of a rank lie in each other or beside each other; they are written in the order
//! in which they begin, the longer first. An arrow has two ends or is not written.

use super::gathered::{Job, Rank, pairs, said};
use super::json::string;
use rwmpi_core::profile::recorded::{Event, Recorded};
use std::io::{self, Write};

/// Something that lasts.
struct Interval {
    since: u64,
    until: u64,
    name: String,
    category: &'static str,
    /// The job ended in it.
    is_open: bool,
}

/// Writes the trace.
pub(super) fn write(file: &mut dyn Write, job: &Job) -> io::Result<()> {
    writeln!(file, "{{\"displayTimeUnit\": \"ns\",\n\"otherData\": {{\"cut\": {}}},\n\"traceEvents\": [", gone(job))?;
    let name = string(&job.title);
    write!(file, "{{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_name\",\"args\":{{\"name\":{name}}}}}")?;
    for (number, rank, notes) in job.noted() {
        let label = string(&format!("rank {number}, {}", rank.host));
        let told = format!(",\n{{\"ph\":\"M\",\"pid\":0,\"tid\":{number},\"name\":");
        write!(file, "{told}\"thread_name\",\"args\":{{\"name\":{label}}}}}")?;
        write!(file, "{told}\"thread_sort_index\",\"args\":{{\"sort_index\":{number}}}}}")?;
        for interval in intervals(rank, notes) {
            write!(file, ",\n{}", of_interval(number, &interval))?;
        }
    }
    for (id, (from, sent, to, received)) in pairs(job).into_iter().enumerate() {
        let tag = sent.envelope as u32;
        let common = format!("\"pid\":0,\"id\":{id},\"name\":\"message\",\"cat\":\"message\"");
        let about = format!("\"args\":{{\"bytes\":{},\"tag\":{tag}}}", received.bytes);
        write!(file, ",\n{{\"ph\":\"s\",\"tid\":{from},\"ts\":{},{common},{about}}}", microseconds(sent.at))?;
        let end =
            format!("{{\"ph\":\"f\",\"bp\":\"e\",\"tid\":{to},\"ts\":{},{common},{about}}}", microseconds(received.at));
        write!(file, ",\n{end}")?;
    }
    writeln!(file, "\n]}}")
}

/// What the user is to know about events that are gone.
pub(super) fn cut(job: &Job) -> String {
    let cut: Vec<u64> = job.noted().map(|(_, _, notes)| notes.events_gone).filter(|&gone| gone > 0).collect();
    if cut.is_empty() {
        return String::new();
    }
    format!(
        "; the first {} events of {} ranks are not in it, as there is room for the latest only",
        gone(job),
        cut.len()
    )
}

fn gone(job: &Job) -> u64 {
    job.noted().map(|(_, _, notes)| notes.events_gone).sum()
}

/// What a rank did, in the order in which it began.
fn intervals(rank: &Rank, notes: &Recorded) -> Vec<Interval> {
    let named =
        |function: usize| notes.functions.get(function).map_or("", |function| function.name.as_str()).to_owned();
    let of_event = |event: &Event| match *event {
        Event::Call { function, since, until } => {
            Some(Interval { since, until, name: named(function), category: "call", is_open: false })
        }
        Event::Wait { reason, peer, since, until } => {
            let whom = peer.map_or("another rank".to_owned(), |peer| format!("rank {peer}"));
            let what = reason.map_or(String::new(), |reason| format!(": {}", said(reason)));
            let name = format!("waits for {whom}{what}");
            Some(Interval { since, until, name, category: "wait", is_open: false })
        }
        Event::Sent(_) | Event::Received(_) => None,
    };
    let mut all: Vec<Interval> = notes.events.iter().filter_map(of_event).collect();
    if let Some((function, since)) = notes.present
        && since <= rank.ended
        && notes.ended.is_none()
    {
        all.push(Interval { since, until: rank.ended, name: named(function), category: "call", is_open: true });
    }
    all.sort_by_key(|interval| (interval.since, std::cmp::Reverse(interval.until)));
    all
}

fn of_interval(rank: usize, interval: &Interval) -> String {
    let Interval { since, until, name, category, is_open } = interval;
    let open = if *is_open { ",\"args\":{\"unfinished\":true}" } else { "" };
    format!(
        "{{\"ph\":\"X\",\"pid\":0,\"tid\":{rank},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":\"{category}\"{open}}}",
        microseconds(*since),
        microseconds(until - since),
        string(name)
    )
}

/// Trace events count in these.
fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

#[cfg(test)]
mod tests {
    use super::super::gathered::tests::late_sender;
    use super::*;

    fn written(job: &Job) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes, job).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn an_arrow_leads_from_the_send_to_the_receive() {
        let text = written(&late_sender());
        let start = text.lines().find(|line| line.contains("\"ph\":\"s\"")).unwrap();
        assert!(start.contains("\"tid\":0,\"ts\":0.805") && start.contains("\"id\":0"), "{start}");
        let end = text.lines().find(|line| line.contains("\"ph\":\"f\"")).unwrap();
        assert!(end.contains("\"tid\":1,\"ts\":0.812") && end.contains("\"id\":0"), "{end}");
        assert!(text.contains("waits for rank 0: messages that it sends late"), "{text}");
    }

    #[test]
    fn a_call_that_never_ended_lasts_to_the_end() {
        let mut job = late_sender();
        if let Some(notes) = &mut job.ranks[1].notes {
            (notes.ended, notes.present) = (None, Some((0, 900)));
        }
        let text = written(&job);
        let open = text.lines().find(|line| line.contains("unfinished")).unwrap();
        assert!(open.contains("\"ts\":0.900,\"dur\":0.100") && open.contains("MPI_Recv"), "{open}");
    }

    #[test]
    fn what_is_gone_is_said() {
        let mut job = late_sender();
        assert_eq!(cut(&job), "");
        if let Some(notes) = &mut job.ranks[0].notes {
            notes.events_gone = 5;
        }
        assert!(cut(&job).contains("the first 5 events of 1 ranks"));
        assert!(written(&job).contains("\"cut\": 5"));
    }
}

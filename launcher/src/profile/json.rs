//! The profile's numbers for other programs. Times are nanoseconds, lengths bytes.

use super::gathered::{Job, Rank};
use rwmpi_core::profile::recorded::{Reason, Recorded, WAYS};
use std::fmt::Write as _;
use std::io::{self, Write};

/// A text as JSON has it.
pub(super) fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if (control as u32) < 0x20 => _ = write!(quoted, "\\u{:04x}", control as u32),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

/// Writes all numbers.
pub(super) fn write(file: &mut dyn Write, job: &Job) -> io::Result<()> {
    writeln!(file, "{{\n\"version\": 1,\n\"program\": {},\n\"duration\": {},", string(&job.title), job.duration)?;
    writeln!(file, "\"ranks\": [")?;
    for (number, rank) in job.ranks.iter().enumerate() {
        let comma = if number + 1 < job.ranks.len() { "," } else { "" };
        writeln!(file, "{}{comma}", of_rank(number, rank))?;
    }
    writeln!(file, "]\n}}")
}

fn of_rank(number: usize, rank: &Rank) -> String {
    let head = format!("{{\"rank\": {number}, \"host\": {}", string(&rank.host));
    let Some(notes) = &rank.notes else { return head + ", \"joined\": false}" };
    format!(
        "{head}, \"joined\": true, \"finalized\": {}, \"began\": {}, \"ended\": {}, \"inMPI\": {}, \"waiting\": {}, \"onProcessor\": {}, \"queued\": {}, \"uncounted\": {},\n \
         \"functions\": [{}],\n \"peers\": [{}],\n \"sizes\": [{}],\n \"collectives\": [{}],\n \"ways\": {}}}",
        notes.ended.is_some(),
        rank.began,
        rank.ended,
        notes.inside,
        notes.waited,
        notes.ran,
        notes.queued,
        notes.uncounted,
        functions(notes),
        peers(notes),
        sizes(notes),
        collectives(notes),
        ways(notes),
    )
}

fn listed(entries: impl Iterator<Item = String>) -> String {
    entries.collect::<Vec<_>>().join(",\n  ")
}

fn functions(notes: &Recorded) -> String {
    listed(notes.functions.iter().map(|function| {
        format!(
            "{{\"name\": {}, \"calls\": {}, \"time\": {}, \"waiting\": {}, \"longest\": {}, \"bytes\": {}}}",
            string(&function.name),
            function.calls,
            function.time,
            function.waiting,
            function.longest,
            function.bytes
        )
    }))
}

/// What a reason is called.
fn key(reason: Reason) -> &'static str {
    match reason {
        Reason::Message => "message",
        Reason::Receiver => "receiver",
        Reason::Collective => "collective",
        Reason::Window => "window",
    }
}

fn peers(notes: &Recorded) -> String {
    let all = notes.peers.iter().enumerate().filter(|(_, peer)| **peer != Default::default());
    listed(all.map(|(number, peer)| {
        let waits = Reason::ALL.map(|reason| {
            let [times, time] = peer.waits[reason as usize];
            format!("\"{}\": {{\"times\": {times}, \"time\": {time}}}", key(reason))
        });
        format!(
            "{{\"rank\": {number}, \"messages\": {}, \"bytes\": {}, \"ownMessages\": {}, \"ownBytes\": {}, \"waits\": {{{}}}}}",
            peer.messages,
            peer.bytes,
            peer.own_messages,
            peer.own_bytes,
            waits.join(", ")
        )
    }))
}

fn sizes(notes: &Recorded) -> String {
    let all = notes.sizes.iter().enumerate().filter(|(_, [messages, _])| *messages > 0);
    listed(all.map(|(bits, [messages, bytes])| {
        let from = if bits == 0 { 0 } else { 1_u64 << (bits - 1) };
        format!("{{\"from\": {from}, \"messages\": {messages}, \"bytes\": {bytes}}}")
    }))
}

fn collectives(notes: &Recorded) -> String {
    listed(notes.collectives.iter().map(|collective| {
        let [calls, time, waiting, bytes] = collective.amounts;
        format!(
            "{{\"function\": {}, \"communicator\": {}, \"calls\": {calls}, \"time\": {time}, \"waiting\": {waiting}, \"bytes\": {bytes}}}",
            string(&notes.functions[collective.function].name),
            collective.communicator
        )
    }))
}

fn ways(notes: &Recorded) -> String {
    if notes.ended.is_none() {
        return "null".to_owned();
    }
    let all = WAYS.iter().zip(notes.ways).map(|(name, value)| format!("[{}, {value}]", string(name)));
    format!("[{}]", all.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::gathered::tests::late_sender;
    use super::*;

    #[test]
    fn texts_are_quoted() {
        assert_eq!(string("a\"b\\c\n"), r#""a\"b\\c\u000a""#);
    }

    #[test]
    fn what_was_sent_is_in_it() {
        let mut written = Vec::new();
        write(&mut written, &late_sender()).unwrap();
        let text = String::from_utf8(written).unwrap();
        assert!(text.contains(r#""rank": 1, "messages": 1, "bytes": 8, "ownMessages": 0"#), "{text}");
        assert!(text.contains(r#""message": {"times": 1, "time": 800}"#), "{text}");
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }
}

//! The profile as a page: one file, which needs nothing else.

use super::gathered::{Job, said};
use super::matrix;
use super::summary::{Summary, bytes, per_cent, time};
use super::text::{missing, most_awaited};
use rwmpi_core::profile::recorded::{Function, Peer, Reason, WAYS};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

const STYLE: &str = include_str!("page.css");
/// Most ranks that have a line.
const RANKS_MAX: usize = 64;
/// Columns of words.
const WAITS_FOR: &str = "waits most for";
const REASON: &str = "mostly for";
/// What calls for files and windows begin with.
const FILES: [&str; 1] = ["MPI_File_"];
const WINDOWS: [&str; 11] = [
    "MPI_Win_",
    "MPI_Put",
    "MPI_Get",
    "MPI_Rput",
    "MPI_Rget",
    "MPI_Accumulate",
    "MPI_Raccumulate",
    "MPI_Fetch_and_op",
    "MPI_Compare_and_swap",
    "operation on a window",
    "window",
];
/// What only begins like one.
const NO_WINDOWS: [&str; 3] = ["MPI_Get_", "MPI_Win_get_", "MPI_Get_address"];

/// Writes the page.
pub(super) fn write(file: &mut dyn Write, job: &Job, summary: &Summary) -> io::Result<()> {
    let title = escape(&job.title);
    write!(
        file,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Profile of {title}</title>\n\
         <style>\n{STYLE}</style></head>\n<body>\n<h1>Profile</h1>\n<p class=\"about\">{title}</p>\n"
    )?;
    for sentence in &summary.answer {
        writeln!(file, "<p class=\"answer\">{}</p>", escape(sentence))?;
    }
    for line in missing(job) {
        writeln!(file, "<p>Note: {}.</p>", escape(&line))?;
    }
    let sections = [
        ranks(job),
        waits(job, summary),
        functions(
            "Functions",
            "Calls of all ranks together.",
            &summary.functions.iter().collect::<Vec<_>>(),
            job.run(),
        ),
        messages(job),
        sizes(job),
        collectives(job),
        of_kind("Windows", summary, job, &WINDOWS),
        of_kind("Files", summary, job, &FILES),
        ways(job),
    ];
    sections.iter().try_for_each(|section| file.write_all(section.as_bytes()))?;
    writeln!(file, "</body></html>")
}

/// A text as a page has it.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A table with a heading and some words; nothing, if it has no lines.
fn section(heading: &str, words: &str, columns: &[&str], lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let head = columns.iter().map(|column| match *column {
        WAITS_FOR | REASON => format!("<th class=\"words\">{column}</th>"),
        _ => format!("<th>{column}</th>"),
    });
    let head: String = head.collect();
    format!(
        "<h2>{heading}</h2>\n<p class=\"about\">{words}</p>\n<div class=\"table\"><table><thead><tr>{head}</tr></thead><tbody>\n{}\n</tbody></table></div>\n",
        lines.join("\n")
    )
}

fn ranks(job: &Job) -> String {
    let mut ranks: Vec<_> = job.noted().collect();
    let mut words = "Where each rank's time goes.".to_owned();
    if ranks.len() > RANKS_MAX {
        ranks.sort_by_key(|(_, _, notes)| notes.waited);
        words = format!("Where the time goes, of the {RANKS_MAX} ranks that wait least: the others wait for them.");
    }
    words.push_str(
        "</p><p class=\"legend\"><span><i class=\"work\"></i>outside MPI</span><span><i class=\"move\"></i>in MPI, busy</span>\
         <span><i class=\"wait\"></i>waiting</span>",
    );
    let several_hosts = job.ranks.iter().any(|rank| rank.host != job.ranks[0].host);
    let line = |(number, rank, notes): &(usize, &super::gathered::Rank, &rwmpi_core::profile::recorded::Recorded)| {
        let run = rank.ran();
        let share = |part: u64| part as f64 * 100.0 / run.max(1) as f64;
        let host = if several_hosts { format!(" ({})", escape(&rank.host)) } else { String::new() };
        let busy = notes.inside.saturating_sub(notes.waited);
        format!(
            "<tr><th>{number}{host}</th><td><div class=\"bar\"><i class=\"work\" style=\"width:{:.1}%\"></i>\
             <i class=\"move\" style=\"width:{:.1}%\"></i><i class=\"wait\" style=\"width:{:.1}%\"></i></div></td>\
             <td>{}</td><td>{}</td><td>{}</td><td class=\"words\">{}</td></tr>",
            share(run.saturating_sub(notes.inside)),
            share(busy),
            share(notes.waited),
            time(run),
            per_cent(notes.inside, run),
            per_cent(notes.waited, run),
            escape(&most_awaited(notes)),
        )
    };
    let lines: Vec<String> = ranks.iter().take(RANKS_MAX).map(line).collect();
    section("Ranks", &words, &["rank", "", "time", "in MPI", "waiting", WAITS_FOR], &lines)
}

fn waits(job: &Job, summary: &Summary) -> String {
    let line = |awaited: &super::summary::Awaited| {
        format!(
            "<tr><th>{}</th><td>{}</td><td>{}</td><td class=\"words\">{}</td><td>rank {}: {}</td></tr>",
            awaited.rank,
            time(awaited.time),
            per_cent(awaited.time, summary.waited),
            said(awaited.reason),
            awaited.most.0,
            time(awaited.most.1)
        )
    };
    let lines: Vec<String> = summary.awaited.iter().take(RANKS_MAX).map(line).collect();
    let columns = ["rank", "all waited for it", "share", REASON, "who waited most"];
    let sum = |peer: &Peer| peer.waits.iter().map(|[_, time]| time).sum();
    let mut text = section("Who waits for whom", "Ranks that others wait for.", &columns, &lines);
    text.push_str(&matrix::table(job, "Each line's rank waits for each column's.", sum, time));
    for (reason, words) in [(Reason::Message, "Late senders"), (Reason::Receiver, "Late receivers")] {
        let caption = format!("{words}: of that, for {}.", said(reason));
        text.push_str(&matrix::table(job, &caption, |peer| peer.waits[reason as usize][1], time));
    }
    text
}

fn functions(heading: &str, words: &str, functions: &[&Function], run: u64) -> String {
    let line = |function: &&Function| {
        format!(
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&function.name),
            function.calls,
            time(function.time),
            per_cent(function.time, run),
            per_cent(function.waiting, function.time),
            time(function.time / function.calls.max(1)),
            time(function.longest),
            if function.bytes > 0 { bytes(function.bytes) } else { String::new() }
        )
    };
    let lines: Vec<String> = functions.iter().map(line).collect();
    let columns = ["function", "calls", "time", "of all time", "waiting", "a call", "the longest", "bytes"];
    section(heading, words, &columns, &lines)
}

fn of_kind(heading: &str, summary: &Summary, job: &Job, prefixes: &[&str]) -> String {
    let is_one = |function: &&Function| {
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| function.name.starts_with(prefix));
        begins(prefixes) && (!begins(&NO_WINDOWS) || function.name == "MPI_Get_accumulate")
    };
    let found: Vec<&Function> = summary.functions.iter().filter(is_one).collect();
    functions(heading, "", &found, job.run())
}

fn messages(job: &Job) -> String {
    let of_program = matrix::table(job, "Bytes from each line's rank to each column's.", |peer| peer.bytes, bytes);
    let count = matrix::table(job, "Messages.", |peer| peer.messages, |count| count.to_string());
    let own = matrix::table(
        job,
        "The library's own messages: parts of collectives, and the like.",
        |peer| peer.own_bytes,
        bytes,
    );
    if of_program.is_empty() && own.is_empty() {
        return String::new();
    }
    format!(
        "<h2>Messages</h2>\n<p class=\"about\">What passes through shared memory in collectives is no message.</p>\n{of_program}{count}{own}"
    )
}

fn sizes(job: &Job) -> String {
    let mut sums: BTreeMap<usize, [u64; 2]> = BTreeMap::new();
    for (bits, [messages, bytes]) in job.noted().flat_map(|(_, _, notes)| notes.sizes.iter().enumerate()) {
        if *messages > 0 {
            let sum = sums.entry(bits).or_default();
            *sum = [sum[0] + messages, sum[1] + bytes];
        }
    }
    let most = sums.values().map(|sum| sum[0]).max().unwrap_or(0);
    let line = |(&bits, [messages, sum]): (&usize, &[u64; 2])| {
        format!(
            "<tr><th>{}</th><td><div class=\"bar\"><i class=\"move\" style=\"width:{:.1}%\"></i></div></td><td>{messages}</td><td>{}</td></tr>",
            range(bits as u32),
            *messages as f64 * 100.0 / most.max(1) as f64,
            bytes(*sum)
        )
    };
    let lines: Vec<String> = sums.iter().map(line).collect();
    section("Sizes", "Messages of the program by their length.", &["length", "", "messages", "bytes"], &lines)
}

/// The lengths with so many bits.
fn range(bits: u32) -> String {
    match bits {
        0 => "nothing".to_owned(),
        1 => "1 B".to_owned(),
        64.. => format!("from {}", bytes(1 << 63)),
        _ => format!("from {} to below {}", bytes(1 << (bits - 1)), bytes(1 << bits)),
    }
}

fn collectives(job: &Job) -> String {
    let mut sums: BTreeMap<(&str, u32, u32), [u64; 4]> = BTreeMap::new();
    for (_, _, notes) in job.noted() {
        for one in &notes.collectives {
            let sum = sums.entry((&notes.functions[one.function].name, one.communicator, one.bits)).or_default();
            sum.iter_mut().zip(one.amounts).for_each(|(sum, amount)| *sum += amount);
        }
    }
    let line = |(&(name, communicator, bits), [calls, spent, waiting, _]): (&(&str, u32, u32), &[u64; 4])| {
        let communicator = match communicator {
            0 => "world".to_owned(),
            1 => "this rank alone".to_owned(),
            number => number.to_string(),
        };
        format!(
            "<tr><th>{}</th><td>{communicator}</td><td>{}</td><td>{calls}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(name),
            range(bits),
            time(*spent),
            time(spent / (*calls).max(1)),
            per_cent(*waiting, *spent)
        )
    };
    let lines: Vec<String> = sums.iter().map(line).collect();
    let columns = ["function", "communicator", "length", "calls", "time", "a call", "waiting"];
    section("Collectives", "By communicator and by what each rank gives or gets.", &columns, &lines)
}

fn ways(job: &Job) -> String {
    let finalized = || job.noted().filter(|(_, _, notes)| notes.ended.is_some());
    let sum = |way: usize| finalized().map(|(_, _, notes)| notes.ways[way]).sum::<u64>();
    let line = |(way, name): (usize, &&str)| {
        let value = sum(way);
        let value = if name.contains("bytes") { bytes(value) } else { value.to_string() };
        format!("<tr><th>{name}</th><td>{value}</td></tr>")
    };
    if sum(0) == 0 {
        return String::new();
    }
    let lines: Vec<String> = WAYS.iter().enumerate().map(line).collect();
    let mut words = "How messages went, those of collectives included.".to_owned();
    if finalized().count() < job.noted().count() {
        let _ = write!(words, " Of the ranks that finalized.");
    }
    section("Ways", &words, &["", ""], &lines)
}

#[cfg(test)]
mod tests {
    use super::super::gathered::tests::late_sender;
    use super::super::summary;
    use super::*;

    #[test]
    fn the_page_has_the_answer_the_matrix_and_no_markup_of_the_program() {
        let mut job = late_sender();
        job.title = "./a<b>".to_owned();
        let mut written = Vec::new();
        write(&mut written, &job, &summary::of(&job)).unwrap();
        let page = String::from_utf8(written).unwrap();
        assert!(page.contains("Profile of ./a&lt;b&gt;") && !page.contains("a<b>"));
        assert!(page.contains("Rank 0 holds the others up"));
        assert!(page.contains("<td class=\"s5\">800 ns</td>") && page.contains("<td class=\"s5\">8 B</td>"), "{page}");
        assert!(!page.contains("Files") && !page.contains("http"), "it needs nothing else");
    }

    #[test]
    fn windows_are_told_from_what_begins_alike() {
        let function = |name: &str| Function { name: name.to_owned(), calls: 1, ..Function::default() };
        let names = ["MPI_Put", "MPI_Get", "MPI_Get_count", "MPI_Get_accumulate", "MPI_Win_fence", "MPI_Send"];
        let summary = Summary { functions: names.map(function).into(), ..summary::of(&late_sender()) };
        let text = of_kind("Windows", &summary, &late_sender(), &WINDOWS);
        assert!(
            names.map(|name| text.contains(&format!(">{name}<"))) == [true, true, false, true, true, false],
            "{text}"
        );
    }
}
